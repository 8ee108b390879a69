"""Drives what is missing of a bench, and stores every drive as it ends.

Owns the loop over turns, what becomes of a simulator that dies, and where to go on: what is stored
is done. A drive that fails is tried again once, on a fresh simulator; after that it is invalid.
Entries may drive side by side, since simulated time does not pass with the clock; while load is
measured there is one alone.
"""

import concurrent.futures
import json
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Sequence, TypeVar

from typing_extensions import Protocol

from gz_testauto.base.errors import GzTestautoError, MissingDependencyError, SimulatorError
from gz_testauto.extras.simulator_comparison.bench.believable import unbelievable
from gz_testauto.extras.simulator_comparison.bench.host import Identity, sampling_options
from gz_testauto.extras.simulator_comparison.bench.manifest import BenchManifest
from gz_testauto.extras.simulator_comparison.bench.perform import Driven, DriveOrder
from gz_testauto.extras.simulator_comparison.bench.plan import Job, Plan, Turn
from gz_testauto.extras.simulator_comparison.bench.probes import ground_of, unprobed
from gz_testauto.extras.simulator_comparison.bench.simulated import BUSY, Simulated, read_simulated
from gz_testauto.extras.simulator_comparison.bench.station import Station
from gz_testauto.extras.simulator_comparison.bench.store import BenchDirectory, StoredDrive
from gz_testauto.extras.simulator_comparison.circumstances import Ground
from gz_testauto.extras.simulator_comparison.measures.load import LOAD
from gz_testauto.extras.simulator_comparison.probe import GroundProbe
from gz_testauto.extras.simulator_comparison.recordings.recording import Load, Recording
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.extras.simulator_comparison.terrain import Terrain
from gz_testauto.results.attempts import run_attempts
from gz_testauto.results.directory import write_atomically

MEASURED_AGAIN = 2
"""How often a load is measured again while the machine is busy with other things."""

Tell = Callable[[str], None]
Found = TypeVar("Found")


class Server(Protocol):
    """What is asked of a simulator: a :class:`Station`, or a ``Host`` in this process."""

    def open(self, name: str, options: Mapping[str, Any]) -> Identity:
        """Have this simulator open."""

    def perform(self, order: DriveOrder) -> Driven:
        """Drive."""

    def measure_load(self, order: DriveOrder) -> Load:
        """Drive on and on."""

    def probe(self, terrain: Terrain, folder: Path) -> GroundProbe:
        """Look at the ground."""

    def close(self) -> None:
        """Close the simulator."""

    def end(self) -> None:
        """Close it, and whatever it runs in."""

    def abandon(self) -> None:
        """Have whoever waits for it wait no longer; asked from another thread."""


def run_bench(
    spec: BenchSpec,
    out: Path,
    tell: Tell,
    should_stop: Callable[[], bool],
    make_server: Callable[[], Server] = Station,
    workers: int = 1,
) -> Simulated:
    """Drive what is missing in ``out``, so many ``workers`` side by side, until done or told to
    stop; what is stored then.

    Raises ``SpecError`` for what cannot be driven, ``ResultsError`` for a directory with another
    bench or other files, ``MissingDependencyError`` where the reference's simulator is not
    installed.
    """
    directory = BenchDirectory(out)
    directory.require_fresh_or_begun()
    plan = Plan(spec)
    with directory.locked():
        directory.remove_unfinished()
        manifest = BenchManifest(directory, plan)
        store_bench(spec, directory)  # first: it makes the directory a comparison's
        manifest.write()
        runner = _Runner(plan, directory, manifest, tell, make_server)
        try:
            runner.run(should_stop, workers)
        finally:
            runner.end()
    return read_simulated(spec, directory, runner.unavailable)


def store_bench(spec: BenchSpec, directory: BenchDirectory) -> None:
    """Keep the bench beside its results. Raises ``ResultsError`` when the disk refuses."""
    text = json.dumps(spec.model_dump(mode="json"), indent=1, ensure_ascii=False)
    write_atomically(directory.bench, text.encode())


class _Runner:
    def __init__(
        self,
        plan: Plan,
        directory: BenchDirectory,
        manifest: BenchManifest,
        tell: Tell,
        make_server: Callable[[], Server],
    ) -> None:
        self._plan, self._directory, self._manifest = plan, directory, manifest
        self._tell, self._make_server = tell, make_server
        self._servers: Dict[str, Server] = {}
        self._lock = threading.RLock()
        """Held while anything but a simulator is asked for something."""
        self._given_up = False
        self._missing = 0
        self._begun_s = time.monotonic()
        self._done = 0
        self.unavailable: Dict[str, str] = {}

    def run(self, should_stop: Callable[[], bool], workers: int) -> None:
        """All turns of which something is missing."""
        rounds = list(self._plan.rounds())
        turns = [turn for one in rounds for turn in one]
        self._missing = sum(len(self._left(turn)) for turn in turns)
        total = sum(len(turn.jobs) for turn in turns)
        before = f", {total - self._missing} were done before" if self._missing < total else ""
        self._tell(f"{self._missing} of {total} drives to do{before}")
        for one in rounds:
            left = [turn for turn in one if self._left(turn)]
            alone = any(turn.terrain == LOAD for turn in left)
            self._take_all(left, should_stop, 1 if alone else workers)

    def _take_all(
        self, turns: Sequence[Turn], should_stop: Callable[[], bool], workers: int
    ) -> None:
        """Have entries take their turns, so many side by side."""
        with concurrent.futures.ThreadPoolExecutor(workers) as threads:
            taken = [threads.submit(self._take, turn, should_stop) for turn in turns]
            try:
                for one in taken:
                    one.result()
            except BaseException:
                self._given_up = True
                for server in list(self._servers.values()):
                    server.abandon()
                raise

    def end(self) -> None:
        """End all simulators."""
        for server in self._servers.values():
            server.end()

    def _left(self, turn: Turn) -> List[Job]:
        return [job for job in turn.jobs if not self._path(job).is_file()]

    def _path(self, job: Job) -> Path:
        return self._directory.drive(job.entry, job.stored_case, job.repetition)

    def _take(self, turn: Turn, should_stop: Callable[[], bool]) -> None:
        if should_stop() or self._given_up or turn.entry in self.unavailable:
            return
        server = self._servers.get(turn.entry)
        if server is None:
            server = self._servers[turn.entry] = self._make_server()
        try:
            refused = turn.terrain != LOAD and self._ground(server, turn).refusal is not None
            for job in self._left(turn):
                if refused or should_stop() or self._given_up:
                    break
                self._do(server, job)
        except MissingDependencyError as error:
            if turn.entry == self._plan.spec.reference:
                raise
            self.unavailable[turn.entry] = f"not driven: {error}"
            self._tell(f"{turn.entry}: {self.unavailable[turn.entry]}")
        finally:
            if not self._given_up:
                server.close()

    def _open(self, server: Server, entry: str, halved: bool = False, load: bool = False) -> None:
        spec = self._plan.spec.entry(entry)
        assert spec.simulator is not None, "asked of simulators"
        options = self._plan.options(spec, halved)
        if not load:
            options = sampling_options(spec.simulator, options)
        identity = server.open(spec.simulator, options)
        with self._lock:
            self._manifest.note(entry, identity)

    def _ground(self, server: Server, turn: Turn) -> Ground:
        stored = self._directory.read_ground(turn.entry, turn.terrain)
        if stored is not None:
            return stored
        terrain = self._plan.terrains[turn.terrain]
        folder = self._directory.path / "worlds" / "probe" / turn.entry

        def probe() -> Ground:
            self._open(server, turn.entry)
            return ground_of(turn.entry, terrain, server.probe(terrain, folder))

        try:
            ground = self._tried(server, f"{turn.entry}: ground of {turn.terrain}", probe)
        except SimulatorError as error:
            if self._given_up:  # what was abandoned says nothing
                raise
            ground = unprobed(turn.entry, terrain, error)
        self._directory.write_ground(ground)
        if ground.refusal is not None:
            self._tell(f"{turn.entry} is not compared on {turn.terrain}: {ground.refusal}")
        return ground

    def _do(self, server: Server, job: Job) -> None:
        began_s = time.monotonic()
        with self._lock:
            order = self._plan.order(job, self._directory)

        def drive() -> StoredDrive:
            self._open(server, job.entry, job.halved, job.is_load)
            if job.is_load:
                load = self._load(server, order)
                return StoredDrive(Recording(order.source, load=load))
            driven = server.perform(order)
            fault = unbelievable(driven, self._plan.terrains[job.terrain])
            recording = None if fault else driven.recording
            return StoredDrive(recording, fault or "", driven.step_s)

        try:
            done = self._tried(server, str(job), drive)
        except SimulatorError as error:
            done = StoredDrive(None, str(error))
        if self._given_up:  # what was abandoned says nothing
            return
        self._directory.write_drive(self._path(job), done)
        with self._lock:
            self._done += 1
            self._tell_done(job, done, time.monotonic() - began_s)

    def _tell_done(self, job: Job, done: StoredDrive, took_s: float) -> None:
        said = f"invalid: {done.invalid}" if done.invalid else "done"
        left_s = (time.monotonic() - self._begun_s) / self._done * (self._missing - self._done)
        self._tell(
            f"[{self._done}/{self._missing}, {left_s / 60:.0f} min left] {job}: {said} "
            f"({took_s:.1f} s)"
        )

    def _load(self, server: Server, order: DriveOrder) -> Load:
        """The one that was least disturbed of a few."""
        found = [server.measure_load(order)]
        while found[-1].others > BUSY and len(found) <= MEASURED_AGAIN:
            found.append(server.measure_load(order))
        return min(found, key=lambda load: load.others)

    def _tried(self, server: Server, what: str, act: Callable[[], Found]) -> Found:
        """Return the result of ``act``, which is repeated once on a fresh simulator. Raises the
        last error."""

        def failed(error: GzTestautoError, follows: bool) -> None:
            server.end()
            if self._given_up:
                raise error
            if follows:
                self._tell(f"{what}: is tried again: {error}")

        return run_attempts(act, failed)
