"""Stored runs of a comparison of simulators, and their conditions."""

import json
from dataclasses import dataclass, field, replace
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from gz_testauto.extras.simulator_comparison.bench.plan import LOADS, supported_loads
from gz_testauto.extras.simulator_comparison.bench.store import HALF, BenchDirectory, StoredRun
from gz_testauto.extras.simulator_comparison.measures.load import LOAD
from gz_testauto.extras.simulator_comparison.probe import GroundProbe
from gz_testauto.extras.simulator_comparison.recordings.recording import (
    RecordingsByCase,
    RunRecording,
)
from gz_testauto.extras.simulator_comparison.spec import BenchSpec

BUSY = 0.1  # share of processors in use by other programs that disturbs a measurement of cost


@dataclass(frozen=True)
class InvalidRun:
    entry: str
    case: str
    repetition: int
    reason: str


@dataclass(frozen=True)
class RunConditions:
    """Conditions of simulated runs. ``simulators`` has name, version and options by entry, and
    ``notes`` sentences on missing and disturbed runs."""

    simulators: Mapping[str, str] = field(default_factory=dict)
    grounds: Tuple[GroundProbe, ...] = ()
    invalid: Tuple[InvalidRun, ...] = ()
    notes: Tuple[str, ...] = ()


NO_CONDITIONS = RunConditions()


class SimulatedData(NamedTuple):
    """Recordings by entry, and the conditions of the runs. ``complete`` is true if all planned runs
    are finished and compared."""

    recordings: Mapping[str, RecordingsByCase]
    conditions: RunConditions
    complete: bool


def read_simulated(
    spec: BenchSpec, directory: BenchDirectory, unavailable: Optional[Mapping[str, str]] = None
) -> SimulatedData:
    """Return all stored runs. ``unavailable`` has the reasons why entries were not simulated."""
    reader = _RunReader(spec, directory)
    recordings = {entry.name: reader.read(entry.name) for entry in spec.simulated}
    missing = [f"{name}: {why}" for name, why in (unavailable or {}).items()] + reader.missing
    conditions = RunConditions(
        simulators=_simulator_texts(spec, directory),
        grounds=tuple(reader.grounds),
        invalid=tuple(reader.invalid),
        notes=(*missing, *reader.unsupported, *reader.disturbed),
    )
    refused = any(ground.refusal is not None for ground in reader.grounds)
    return SimulatedData(recordings, conditions, not (refused or reader.invalid or missing))


def _simulator_texts(spec: BenchSpec, directory: BenchDirectory) -> Dict[str, str]:
    stored = (directory.read_manifest() or {}).get("simulators", {})
    texts = {}
    for entry in spec.simulated:
        if entry.name in stored:
            options = f" {json.dumps(entry.options)}" if entry.options else ""
            simulator = stored[entry.name]
            texts[entry.name] = f"{simulator['name']}, {simulator['version']}{options}"
    return texts


class _RunReader:
    def __init__(self, spec: BenchSpec, directory: BenchDirectory) -> None:
        self._spec, self._directory = spec, directory
        self.grounds: List[GroundProbe] = []
        self.invalid: List[InvalidRun] = []
        self.missing: List[str] = []
        self.unsupported: List[str] = []
        self.disturbed: List[str] = []

    def read(self, entry: str) -> RecordingsByCase:
        """Return the valid recordings by case, without terrains whose ground is incorrect. Add
        missing, invalid and disturbed runs to the lists of this reader."""
        by_case: Dict[str, List[RunRecording]] = {}
        for terrain in self._spec.terrains:
            if self._is_correct_ground(entry, terrain.name):
                for case in self._spec.cases:
                    if case.startswith(f"{terrain.name}/"):
                        by_case[case] = self._read_case(entry, case)
        if self._spec.measure_load:
            supported = supported_loads(self._spec.entry(entry))
            for name, robots in LOADS.items():
                case = f"{LOAD}/{name}"
                if name in supported:
                    by_case[case] = self._read_case(entry, case)
                    self._list_disturbances(entry, case, by_case[case])
                else:
                    simulator = self._spec.entry(entry).simulator
                    self.unsupported.append(
                        f"{entry}: {case} is not simulated, because it has {robots} robots and "
                        f"{simulator} supports only one"
                    )
        return {case: recordings for case, recordings in by_case.items() if recordings}

    def _is_correct_ground(self, entry: str, terrain: str) -> bool:
        stored = self._directory.read_probe(entry, terrain)
        if stored is None:
            return True  # missing runs are reported by case
        self.grounds.append(stored)
        return stored.refusal is None

    def _read_case(self, entry: str, case: str) -> List[RunRecording]:
        recordings: List[RunRecording] = []
        missing = 0
        for repetition in range(self._spec.repetitions):
            stored = self._read_run(entry, case, repetition)
            if stored is None:
                missing += 1
            elif stored.recording is not None:
                half = self._read_run(entry, case + HALF, repetition)
                halved = None if half is None else half.recording
                recordings.append(replace(stored.recording, half_step=halved))
        if missing:
            repetitions = self._spec.repetitions
            self.missing.append(
                f"{entry}: {case}: {missing} of {repetitions} repetitions are missing"
            )
        return recordings

    def _read_run(self, entry: str, case: str, repetition: int) -> Optional[StoredRun]:
        stored = self._directory.read_run(self._directory.run_path(entry, case, repetition))
        if stored is not None and stored.recording is None:
            self.invalid.append(InvalidRun(entry, case, repetition, stored.invalid))
        return stored

    def _list_disturbances(self, entry: str, case: str, recordings: List[RunRecording]) -> None:
        shares = [run.load.others for run in recordings if run.load is not None]
        large = [share for share in shares if share > BUSY]
        if large:
            self.disturbed.append(
                f"{entry}: {case}: other programs used the machine in {len(large)} of "
                f"{len(shares)} repetitions (up to {100 * max(large):.0f} % of its processors)"
            )
