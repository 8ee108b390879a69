"""Stored runs of a bench: recordings by entry and case, the conditions of their simulation, and
missing and invalid runs."""

import json
from dataclasses import dataclass, field, replace
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from gz_testauto.extras.simulator_comparison.bench.plan import LOADS
from gz_testauto.extras.simulator_comparison.bench.store import HALF, BenchDirectory, StoredRun
from gz_testauto.extras.simulator_comparison.estimates import RecordingsByCase
from gz_testauto.extras.simulator_comparison.measures.load import LOAD
from gz_testauto.extras.simulator_comparison.probe import GroundProbeSummary
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording
from gz_testauto.extras.simulator_comparison.spec import BenchSpec, EntrySpec

BUSY = 0.1
"""Share of the machine's processors used by other programs above which a cost is reported as
disturbed."""


@dataclass(frozen=True)
class InvalidRun:
    """An invalid run, with its reason."""

    entry: str
    case: str
    repetition: int
    why: str


@dataclass(frozen=True)
class RunConditions:
    """Simulators, probed terrains and invalid runs. ``simulators`` maps an entry to name, version
    and options of its simulator. ``notes`` are sentences on the machine and the run."""

    simulators: Mapping[str, str] = field(default_factory=dict)
    grounds: Tuple[GroundProbeSummary, ...] = ()
    invalid: Tuple[InvalidRun, ...] = ()
    notes: Tuple[str, ...] = ()


NO_CONDITIONS = RunConditions()
"""Conditions of recordings and of published values."""


class SimulatedData(NamedTuple):
    """Recordings of each entry, and the conditions. ``complete`` is whether all planned runs are
    done and compared."""

    recordings: Mapping[str, RecordingsByCase]
    conditions: RunConditions
    complete: bool


def read_simulated(
    spec: BenchSpec, directory: BenchDirectory, unavailable: Optional[Mapping[str, str]] = None
) -> SimulatedData:
    """Return all stored runs. ``unavailable`` has the reasons why entries were not simulated.
    Raises ``ResultsError`` for damaged files."""
    readers = [_SimulatedDataReader(spec, directory, entry) for entry in spec.simulated]
    recordings = {reader.entry: reader.read() for reader in readers}
    grounds = tuple(one for reader in readers for one in reader.grounds)
    invalid = tuple(one for reader in readers for one in reader.invalid)
    missing = [f"{name}: {why}" for name, why in (unavailable or {}).items()]
    missing += [line for reader in readers for line in reader.missing]
    disturbed = [line for reader in readers for line in reader.disturbed]
    conditions = RunConditions(
        simulators=_simulators(spec, directory),
        grounds=grounds,
        invalid=invalid,
        notes=(*missing, *disturbed),
    )
    refused = any(ground.refusal is not None for ground in grounds)
    return SimulatedData(recordings, conditions, not (refused or invalid or missing))


def _simulators(spec: BenchSpec, directory: BenchDirectory) -> Dict[str, str]:
    stored = (directory.read_manifest() or {}).get("simulators", {})
    found = {}
    for entry in spec.simulated:
        if entry.name in stored:
            options = f" {json.dumps(entry.options)}" if entry.options else ""
            one = stored[entry.name]
            found[entry.name] = f"{one['name']}, {one['version']}{options}"
    return found


class _SimulatedDataReader:
    """Reads the stored runs of one entry."""

    def __init__(self, spec: BenchSpec, directory: BenchDirectory, entry: EntrySpec) -> None:
        self._spec, self._directory, self.entry = spec, directory, entry.name
        self.grounds: List[GroundProbeSummary] = []
        self.invalid: List[InvalidRun] = []
        self.missing: List[str] = []
        self.disturbed: List[str] = []

    def read(self) -> RecordingsByCase:
        """Return the valid recordings on the correct ground by case."""
        found: Dict[str, List[RunRecording]] = {}
        for terrain in self._spec.terrains:
            if self._is_right(terrain.name):
                for case in self._spec.cases:
                    if case.startswith(f"{terrain.name}/"):
                        found[case] = self._case(case)
        if self._spec.measure_load:
            for maneuver in LOADS:
                case = f"{LOAD}/{maneuver}"
                found[case] = self._case(case)
                self._note_disturbances(case, found[case])
        return {case: recordings for case, recordings in found.items() if recordings}

    def _is_right(self, terrain: str) -> bool:
        stored = self._directory.read_probe(self.entry, terrain)
        if stored is None:
            return True  # missing runs are reported by case
        self.grounds.append(stored)
        return stored.refusal is None

    def _case(self, case: str) -> List[RunRecording]:
        found: List[RunRecording] = []
        missing = 0
        for repetition in range(self._spec.repetitions):
            stored = self._stored(case, repetition)
            if stored is None:
                missing += 1
            elif stored.recording is None:
                self.invalid.append(InvalidRun(self.entry, case, repetition, stored.invalid))
            else:
                half = self._stored(case + HALF, repetition)
                if half is not None and half.recording is None:
                    self.invalid.append(
                        InvalidRun(self.entry, case + HALF, repetition, half.invalid)
                    )
                halved = None if half is None else half.recording
                found.append(replace(stored.recording, half_step=halved))
        if missing:
            self.missing.append(
                f"{self.entry}: {case}: {missing} of {self._spec.repetitions} repetitions are "
                "missing"
            )
        return found

    def _stored(self, case: str, repetition: int) -> Optional[StoredRun]:
        return self._directory.read_run(self._directory.run_path(self.entry, case, repetition))

    def _note_disturbances(self, case: str, recordings: List[RunRecording]) -> None:
        shares = [one.load.others for one in recordings if one.load is not None]
        busy = [share for share in shares if share > BUSY]
        if busy:
            self.disturbed.append(
                f"{self.entry}: {case}: other programs used the machine in {len(busy)} of "
                f"{len(shares)} repetitions (up to {100 * max(busy):.0f} % of its processors)"
            )
