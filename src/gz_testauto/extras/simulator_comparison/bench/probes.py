"""Probes of the ground of each simulator on each terrain of a bench, without maneuvers."""

import tempfile
from pathlib import Path
from typing import Callable, Iterator, NamedTuple, Sequence

from gz_testauto.base.errors import SimulatorError
from gz_testauto.extras.simulator_comparison.bench.simulator_process import SimulatorProcess
from gz_testauto.extras.simulator_comparison.bench.simulator_runner import sampling_options
from gz_testauto.extras.simulator_comparison.probe import GroundProbe
from gz_testauto.extras.simulator_comparison.run_conditions import GroundProbeSummary
from gz_testauto.extras.simulator_comparison.spec import BenchSpec, EntrySpec
from gz_testauto.extras.simulator_comparison.terrain import Terrain, make_terrain


class ProbeRow(NamedTuple):
    """Result of one entry on one terrain, with its simulator."""

    ground: GroundProbeSummary
    simulator: str


def probe_bench(
    spec: BenchSpec, entries: Sequence[str], report_progress: Callable[[str], None]
) -> Iterator[ProbeRow]:
    """Probe all terrains for these entries. Raises ``MissingDependencyError``."""
    terrains = [make_terrain(terrain, spec.seed) for terrain in spec.terrains]
    for name in entries:
        with SimulatorProcess() as station, tempfile.TemporaryDirectory() as folder:
            for terrain in terrains:
                report_progress(f"{name}: {terrain.name}")
                yield _row(station, spec.entry(name), terrain, Path(folder))


def summarize_probe(entry: str, terrain: Terrain, found: GroundProbe) -> GroundProbeSummary:
    """Return the summary of a probe."""
    return GroundProbeSummary(
        entry,
        terrain.name,
        float(found.worst_m),
        float("nan") if found.friction is None else float(found.friction),
        float(found.expected_friction),
        found.refusal,
    )


def summarize_failed_probe(
    entry: str, terrain: Terrain, error: SimulatorError
) -> GroundProbeSummary:
    """Return the summary of a failed probe; the entry is not compared on this terrain."""
    nothing = float("nan")
    why = f"its ground could not be probed: {error}"
    return GroundProbeSummary(entry, terrain.name, nothing, nothing, terrain.friction, why)


def _row(station: SimulatorProcess, entry: EntrySpec, terrain: Terrain, folder: Path) -> ProbeRow:
    assert entry.simulator is not None, "a simulated entry"
    identity = station.open(entry.simulator, sampling_options(entry.simulator, entry.options))
    try:
        ground = summarize_probe(entry.name, terrain, station.probe(terrain, folder))
    except SimulatorError as error:
        station.end()
        ground = summarize_failed_probe(entry.name, terrain, error)
    return ProbeRow(ground, f"{identity.name} {identity.version}")
