"""Execution of the missing runs of a comparison of simulators.

Each run is stored when it finishes. A failed run is repeated once with a new simulator; after a
second failure it is invalid. Cost is measured in one simulator at a time.
"""

import concurrent.futures
import math
import threading
import time
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Sequence, Tuple, TypeVar

from gz_testauto.base.errors import GzTestautoError, MissingDependencyError, SimulatorError
from gz_testauto.base.scratch import scratch_directory
from gz_testauto.extras.simulator_comparison.bench.manifest import BenchManifest
from gz_testauto.extras.simulator_comparison.bench.plan import Plan, PlannedRun, RunGroup
from gz_testauto.extras.simulator_comparison.bench.run_maneuver import (
    ManeuverRequest,
    implausibility,
)
from gz_testauto.extras.simulator_comparison.bench.simulated import (
    BUSY,
    SimulatedData,
    read_simulated,
)
from gz_testauto.extras.simulator_comparison.bench.simulator_process import (
    SimulatorProcess,
    SimulatorRunner,
    sampling_options,
)
from gz_testauto.extras.simulator_comparison.bench.store import BenchDirectory, StoredRun
from gz_testauto.extras.simulator_comparison.measures.load import LOAD
from gz_testauto.extras.simulator_comparison.probe import GroundProbe
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording, SimulatorCost
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.extras.simulator_comparison.terrain import Terrain, make_terrain
from gz_testauto.results.attempts import run_attempts

MAX_LOAD_REPEATS = 2  # repetitions of a disturbed cost measurement

ProgressCallback = Callable[[str], None]
Found = TypeVar("Found")


def run_bench(
    spec: BenchSpec,
    out: Path,
    report_progress: ProgressCallback,
    should_stop: Callable[[], bool],
    create_handle: Callable[[], SimulatorRunner] = SimulatorProcess,
    workers: int = 1,
) -> SimulatedData:
    """Execute the missing runs of a comparison, and return all stored data.

    Raises ``ResultsError`` for a directory with other contents, and ``MissingDependencyError`` if
    the simulator of the reference is not installed.
    """
    directory = BenchDirectory(out)
    directory.require_fresh_or_begun()
    plan = Plan(spec)
    with directory.locked():
        directory.remove_unfinished()
        manifest = BenchManifest(directory, plan)
        # first, since this file marks the directory as a comparison
        directory.write_json(directory.bench, spec.model_dump(mode="json"))
        manifest.write()
        runner = _BenchRunner(plan, directory, manifest, report_progress, create_handle)
        try:
            runner.run(should_stop, workers)
        finally:
            runner.end()
    return read_simulated(spec, directory, runner.unavailable)


class _BenchRunner:
    def __init__(
        self,
        plan: Plan,
        directory: BenchDirectory,
        manifest: BenchManifest,
        report_progress: ProgressCallback,
        create_handle: Callable[[], SimulatorRunner],
    ) -> None:
        self._plan, self._directory, self._manifest = plan, directory, manifest
        self._report_progress, self._create_handle = report_progress, create_handle
        self._handles: Dict[str, SimulatorRunner] = {}
        self._lock = threading.RLock()
        """Lock of the shared state; not held during requests to a simulator."""
        self._aborted = False
        self._remaining = 0
        self._started_s = time.monotonic()
        self._finished_count = 0
        self.unavailable: Dict[str, str] = {}

    def run(self, should_stop: Callable[[], bool], workers: int) -> None:
        rounds = list(self._plan.rounds())
        groups = [group for groups_of_round in rounds for group in groups_of_round]
        self._remaining = sum(len(self._unfinished(group)) for group in groups)
        total = sum(len(group.runs) for group in groups)
        self._report_progress(f"{self._remaining} of {total} runs remain")
        for groups_of_round in rounds:
            unfinished = [group for group in groups_of_round if self._unfinished(group)]
            exclusive = any(group.terrain == LOAD for group in unfinished)
            self._process_all(unfinished, should_stop, 1 if exclusive else workers)

    def _process_all(
        self, groups: Sequence[RunGroup], should_stop: Callable[[], bool], workers: int
    ) -> None:
        with concurrent.futures.ThreadPoolExecutor(workers) as threads:
            futures = [threads.submit(self._process_group, group, should_stop) for group in groups]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                self._aborted = True
                for handle in list(self._handles.values()):
                    handle.abort()
                raise

    def end(self) -> None:
        for handle in self._handles.values():
            handle.end()

    def _unfinished(self, group: RunGroup) -> List[PlannedRun]:
        return [planned for planned in group.runs if not self._run_path(planned).is_file()]

    def _run_path(self, planned: PlannedRun) -> Path:
        return self._directory.run_path(planned.entry, planned.stored_case, planned.repetition)

    def _process_group(self, group: RunGroup, should_stop: Callable[[], bool]) -> None:
        if should_stop() or self._aborted or group.entry in self.unavailable:
            return
        handle = self._handles.get(group.entry)
        if handle is None:
            handle = self._handles[group.entry] = self._create_handle()
        try:
            refused = (
                group.terrain != LOAD and self._probed_ground(handle, group).refusal is not None
            )
            for planned in self._unfinished(group):
                if refused or should_stop() or self._aborted:
                    break
                self._execute(handle, planned)
        except MissingDependencyError as error:
            if group.entry == self._plan.spec.reference:
                raise
            self.unavailable[group.entry] = f"not simulated: {error}"
            self._report_progress(f"{group.entry}: {self.unavailable[group.entry]}")
        finally:
            if not self._aborted:
                handle.close()

    def _open_simulator(
        self, handle: SimulatorRunner, entry: str, halved: bool = False, load: bool = False
    ) -> None:
        spec = self._plan.spec.entry(entry)
        assert spec.simulator is not None, "a simulated entry"
        options = self._plan.options(spec, halved)
        if not load:
            options = sampling_options(spec.simulator, options)
        identity = handle.open(spec.simulator, options)
        with self._lock:
            self._manifest.note(entry, identity)

    def _probed_ground(self, handle: SimulatorRunner, group: RunGroup) -> GroundProbe:
        stored = self._directory.read_probe(group.entry, group.terrain)
        if stored is not None:
            return stored
        terrain = self._plan.terrains[group.terrain]
        folder = self._directory.path / "worlds" / "probe" / group.entry

        def probe() -> GroundProbe:
            self._open_simulator(handle, group.entry)
            return handle.probe(terrain, folder, group.entry)

        try:
            ground = self._with_retry(handle, f"{group.entry}: ground of {group.terrain}", probe)
        except SimulatorError as error:
            if self._aborted:  # an aborted request has no result
                raise
            ground = _failed_probe(group.entry, terrain, error)
        self._directory.write_probe(ground)
        if ground.refusal is not None:
            self._report_progress(
                f"{group.entry} is not compared on {group.terrain}: {ground.refusal}"
            )
        return ground

    def _execute(self, handle: SimulatorRunner, planned: PlannedRun) -> None:
        started_s = time.monotonic()
        with self._lock:
            request = self._plan.request(planned, self._directory)

        def execute() -> StoredRun:
            self._open_simulator(handle, planned.entry, planned.halved, planned.is_load)
            if planned.is_load:
                load = self._measure_load(handle, request)
                return StoredRun(RunRecording(request.source, load=load))
            simulated = handle.run_maneuver(request)
            fault = implausibility(simulated, self._plan.terrains[planned.terrain])
            recording = None if fault else simulated.recording
            return StoredRun(recording, fault or "", simulated.step_s)

        try:
            stored = self._with_retry(handle, str(planned), execute)
        except SimulatorError as error:
            stored = StoredRun(None, str(error))
        if self._aborted:  # an aborted request has no result
            return
        self._directory.write_run(self._run_path(planned), stored)
        with self._lock:
            self._finished_count += 1
            self._report_finished(planned, stored, time.monotonic() - started_s)

    def _report_finished(self, planned: PlannedRun, stored: StoredRun, duration_s: float) -> None:
        state = f"invalid: {stored.invalid}" if stored.invalid else "done"
        left_s = (
            (time.monotonic() - self._started_s)
            / self._finished_count
            * (self._remaining - self._finished_count)
        )
        self._report_progress(
            f"[{self._finished_count}/{self._remaining}, {left_s / 60:.0f} min left] "
            f"{planned}: {state} ({duration_s:.1f} s)"
        )

    def _measure_load(self, handle: SimulatorRunner, request: ManeuverRequest) -> SimulatorCost:
        """Measure the cost, and repeat it while other programs disturb the measurement. Return the
        cost with the lowest load by other programs."""
        costs = [handle.measure_load(request)]
        while costs[-1].others > BUSY and len(costs) <= MAX_LOAD_REPEATS:
            costs.append(handle.measure_load(request))
        return min(costs, key=lambda load: load.others)

    def _with_retry(
        self, handle: SimulatorRunner, task: str, execute: Callable[[], Found]
    ) -> Found:
        def on_failure(error: GzTestautoError, is_retried: bool) -> None:
            handle.end()
            if self._aborted:
                raise error
            if is_retried:
                self._report_progress(f"{task}: trying again after an error: {error}")

        return run_attempts(execute, on_failure)


def probe_bench(
    spec: BenchSpec, entries: Sequence[str], report_progress: Callable[[str], None]
) -> Iterator[Tuple[str, GroundProbe]]:
    """Probe all terrains in the simulators of ``entries``. Yield name and version of the simulator,
    and the result. A failed probe has a result with a refusal."""
    terrains = [make_terrain(terrain, spec.seed) for terrain in spec.terrains]
    for name in entries:
        entry = spec.entry(name)
        assert entry.simulator is not None, "a simulated entry"
        options = sampling_options(entry.simulator, entry.options)
        with SimulatorProcess() as process, scratch_directory() as folder:
            for terrain in terrains:
                report_progress(f"{name}: {terrain.name}")
                simulator = process.open(entry.simulator, options)
                try:
                    ground = process.probe(terrain, folder, name)
                except SimulatorError as error:
                    process.end()
                    ground = _failed_probe(name, terrain, error)
                yield f"{simulator.name} {simulator.version}", ground


def _failed_probe(entry: str, terrain: Terrain, error: SimulatorError) -> GroundProbe:
    reason = f"its ground could not be probed: {error}"
    return GroundProbe(entry, terrain.name, math.nan, math.nan, terrain.friction, reason)
