"""The ground of each simulator on each terrain of a bench, looked at without driving."""

import tempfile
from pathlib import Path
from typing import Callable, Iterator, NamedTuple, Sequence

from gz_testauto.base.errors import SimulatorError
from gz_testauto.extras.simulator_comparison.bench.host import sampling_options
from gz_testauto.extras.simulator_comparison.bench.station import Station
from gz_testauto.extras.simulator_comparison.circumstances import Ground
from gz_testauto.extras.simulator_comparison.probe import GroundProbe
from gz_testauto.extras.simulator_comparison.spec import BenchSpec, EntrySpec
from gz_testauto.extras.simulator_comparison.terrain import Terrain, make_terrain


class ProbeRow(NamedTuple):
    """What was found of one entry on one terrain, and in which simulator."""

    ground: Ground
    simulator: str


def probe_bench(
    spec: BenchSpec, entries: Sequence[str], tell: Callable[[str], None]
) -> Iterator[ProbeRow]:
    """Of these entries, all terrains. Raises ``MissingDependencyError``."""
    terrains = [make_terrain(terrain, spec.seed) for terrain in spec.terrains]
    for name in entries:
        with Station() as station, tempfile.TemporaryDirectory() as folder:
            for terrain in terrains:
                tell(f"{name}: {terrain.name}")
                yield _row(station, spec.entry(name), terrain, Path(folder))


def ground_of(entry: str, terrain: Terrain, found: GroundProbe) -> Ground:
    """What is kept of a probe."""
    return Ground(
        entry,
        terrain.name,
        float(found.worst_m),
        float("nan") if found.friction is None else float(found.friction),
        float(found.expected_friction),
        found.refusal,
    )


def unprobed(entry: str, terrain: Terrain, error: SimulatorError) -> Ground:
    """Of one whose ground cannot be looked at, and on which it is not compared."""
    nothing = float("nan")
    why = f"its ground could not be probed: {error}"
    return Ground(entry, terrain.name, nothing, nothing, terrain.friction, why)


def _row(station: Station, entry: EntrySpec, terrain: Terrain, folder: Path) -> ProbeRow:
    assert entry.simulator is not None, "asked of simulators"
    identity = station.open(entry.simulator, sampling_options(entry.simulator, entry.options))
    try:
        ground = ground_of(entry.name, terrain, station.probe(terrain, folder))
    except SimulatorError as error:
        station.end()
        ground = unprobed(entry.name, terrain, error)
    return ProbeRow(ground, f"{identity.name} {identity.version}")
