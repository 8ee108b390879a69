"""Conformance suite for workers.

Subclass the suite in a pytest file and create the workers in ``make_workers``::

    from gz_testauto.testing.workers_conformance import WorkersConformance

    class TestMyWorkers(WorkersConformance):
        size = 3

        def make_workers(self, make_executor, bed):
            return MyWorkers(make_executor, bed, size=3)

The trials run in the simulator ``kinematic``, in a world with a free path and in a world with a
blocked path. A test can trigger the :data:`EVENTS` in an executor.
"""

import collections
import contextlib
import functools
import os
import signal
import time
from pathlib import Path
from typing import (
    Callable,
    ClassVar,
    ContextManager,
    Deque,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
)

import pytest

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.errors import NavigatorError, SceneError, SimulatorError
from gz_testauto.simulators.kinematic import KinematicSimulator
from gz_testauto.testing.two_worlds import CLEAR, two_worlds
from gz_testauto.trial.executor import SimulatorIdentity, StopRequest, TrialResult, TrialStopped
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.testbed import BuiltinTestBed, TestBed
from gz_testauto.trial.trial import Trial
from gz_testauto.workers.interface import Attempt, ExecutorFactory, Workers, WorkersFactory

WAIT_TIMEOUT_S = 120.0
"""Timeout (s of wall time) of each wait, long enough for a busy machine."""

ERRORS = {
    "fail": SimulatorError("the simulator died"),
    "lose": NavigatorError("the navigation died"),
    "fault": SceneError("crate_1 flew 12 m"),
    "crash": ZeroDivisionError("a bug"),
}
EVENTS = ("die", *ERRORS, "wait", "meet")
"""Events that a test can trigger in an executor by creating a file. ``die`` kills the process,
``wait`` waits for a stop, and ``meet`` for a second trial. Keys of :data:`ERRORS` raise errors."""


def kinematic(bed: BuiltinTestBed) -> KinematicSimulator:
    """Return the simulator in which the trials of the suite run."""
    return KinematicSimulator()


class OrderedExecutor(LockstepExecutor):
    """An executor in which a test can trigger events by creating files in ``directory``. For
    example, the file ``die-2`` makes the process exit in trial 2. The executor also creates a file
    in ``directory`` for each of its actions."""

    def __init__(self, bed: TestBed, directory: Path) -> None:
        super().__init__(bed, kinematic)
        self._directory = directory

    def open(self) -> None:
        """Start the simulator, or raise ``SimulatorError`` if the file ``cannot-open`` exists."""
        if (self._directory / "cannot-open").exists():
            raise SimulatorError("the simulator cannot be started")
        super().open()
        self._record_event("opened")

    def recover(self) -> None:
        """Restart the simulator."""
        super().recover()
        self._record_event("recovered")

    def close(self) -> None:
        """Close the simulator."""
        super().close()
        self._record_event("closed")

    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        """Execute the requested events, then run the trial."""
        self._record_event(f"began-{trial.index}")
        for event in EVENTS:
            order = self._directory / f"{event}-{trial.index}"
            if order.exists():
                order.unlink()
                self._execute_event(event, should_stop)
        return super().execute(trial, should_stop)

    def _record_event(self, event: str) -> None:
        executor_id = f"{os.getpid()}-{id(self)}"
        (self._directory / f"{event}-{executor_id}-{time.monotonic_ns()}").touch()

    def _die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def _execute_event(self, event: str, should_stop: StopRequest) -> None:
        if event == "die":
            self._die()
        if event in ERRORS:
            raise ERRORS[event]
        deadline = time.monotonic() + WAIT_TIMEOUT_S
        while event == "wait" or len(set(started_trials(self._directory))) < 2:
            if should_stop():
                raise TrialStopped
            assert event == "wait" or time.monotonic() < deadline, "no other trial started"
            time.sleep(0.01)


def started_trials(directory: Path) -> List[int]:
    """Return the indices of the started trials. A trial that was started several times occurs
    several times."""
    return sorted(int(path.name.split("-")[1]) for path in directory.glob("began-*"))


def executors_with(event: str, directory: Path) -> List[Tuple[int, int]]:
    """Return (process id, object id) of the executor for each recorded event."""
    notes = (path.name.split("-") for path in directory.glob(f"{event}-*-*"))
    return sorted((int(note[-3]), int(note[-2])) for note in notes)


def never() -> bool:
    """Return False. This function is a stop request that never stops a trial."""
    return False


def in_time(failure: str) -> StopRequest:
    """Return a stop request that never stops a trial. After :data:`WAIT_TIMEOUT_S`, it raises
    ``AssertionError`` with the message ``failure``."""
    deadline_s = time.monotonic() + WAIT_TIMEOUT_S

    def check_time() -> bool:
        assert time.monotonic() < deadline_s, f"{failure} within {WAIT_TIMEOUT_S:g} s"
        return False

    return check_time


def run_all(workers: Workers, trials: Sequence[Trial]) -> List[Attempt]:
    """Run one attempt at each trial, as a campaign does."""
    waiting_trials: Deque[Trial] = collections.deque(trials)
    running_count, attempts = 0, []
    while waiting_trials or running_count:
        while waiting_trials and running_count < workers.size:
            workers.begin(waiting_trials.popleft())
            running_count += 1
        attempt = workers.next_ended(in_time("no trial ended"))
        if attempt is not None:
            attempts.append(attempt)
            running_count -= 1
    return sorted(attempts, key=lambda attempt: attempt.trial.index)


class Bench:
    """The workers under test with a campaign of four trials, the first two in the world with a free
    path. ``directory`` contains the files that trigger events and the files that the executors
    create."""

    def __init__(self, directory: Path, factory: WorkersFactory) -> None:
        self.campaign = two_worlds(directory / "campaign", repetitions=2)
        self.directory = directory / "orders"
        self.directory.mkdir()
        make_executor = functools.partial(OrderedExecutor, directory=self.directory)
        self.workers = factory(make_executor, self.campaign.bed)

    def open(self, size: int = 1) -> None:
        """Open the workers, and wait until ``size`` workers are available."""
        self.workers.open(in_time("the workers did not open"))
        has_time = in_time(f"there were not {size} workers")
        while self.workers.size < size:
            has_time()
            time.sleep(0.05)

    def order(self, *orders: str) -> None:
        """Trigger events in executors, such as ``die-2``."""
        for order in orders:
            (self.directory / order).touch()

    def run(self, trials: Optional[Sequence[Trial]] = None) -> List[Attempt]:
        """Run one attempt at each of the specified trials, by default all four. The records of
        earlier starts are removed first."""
        for note_file in self.directory.glob("began-*"):
            note_file.unlink()
        return run_all(self.workers, self.campaign.trials if trials is None else trials)


Growing = Tuple[WorkersFactory, Callable[[], None]]


class WorkersConformance:
    """The conformance suite for workers. Override :meth:`make_workers`. The same workers run most
    trials of the suite in succession, as in a campaign."""

    size = 2
    """Number of trials that the open workers run in parallel."""
    can_die = True
    """True if trials run in separate processes that a test can kill."""
    ends_processes = True
    """True if the processes exit when the workers are closed, False if another program owns the
    processes."""

    def make_workers(self, make_executor: ExecutorFactory, bed: TestBed) -> Workers:
        """Return the workers under test, without opening them."""
        raise NotImplementedError("override make_workers()")

    def growing(self) -> ContextManager[Optional[Growing]]:
        """Return a context with a factory of workers that start with one worker, and a function
        that adds a second worker. Its value is None if workers cannot be added."""
        return contextlib.nullcontext()

    # fixtures

    _serving: ClassVar[Optional[Bench]] = None

    @pytest.fixture
    def serving(self, tmp_path_factory: pytest.TempPathFactory) -> Bench:
        """Return the workers of the suite. The first call opens them."""
        suite = type(self)
        if suite._serving is None:
            suite._serving = Bench(tmp_path_factory.mktemp("serving"), self.make_workers)
            suite._serving.open(self.size)
        return suite._serving

    @classmethod
    def teardown_class(cls) -> None:
        """Close the workers of the suite."""
        serving, cls._serving = cls._serving, None
        if serving is not None:
            serving.workers.close()

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        """Yield workers for a single test, without opening them."""
        bench = Bench(tmp_path, self.make_workers)
        yield bench
        bench.workers.close()

    # trials

    def test_each_trial_is_reported_once_with_its_result(self, serving: Bench) -> None:
        attempts = serving.run()
        reported_indexes = [attempt.trial.index for attempt in attempts]
        assert reported_indexes == [0, 1, 2, 3], (
            f"attempts at these trials were reported: {reported_indexes}"
        )
        assert [attempt.trial for attempt in attempts] == list(serving.campaign.trials)
        for attempt in attempts:
            clear = attempt.trial.world.name == CLEAR
            assert attempt.result is not None
            assert attempt.result.outcome is (Outcome.REACHED if clear else Outcome.COLLIDED)
            assert attempt.wall_s > 0.0
            assert (attempt.cause, attempt.repeatable, attempt.worker_died) == ("", False, False)
        assert started_trials(serving.directory) == [0, 1, 2, 3]

    def test_results_are_bit_identical_to_those_of_one_executor(self, serving: Bench) -> None:
        attempts = serving.run()
        single_executor = LockstepExecutor(serving.campaign.bed, kinematic)
        single_executor.open()
        try:
            expected_results = [
                single_executor.execute(trial, never) for trial in serving.campaign.trials
            ]
        finally:
            single_executor.close()
        for attempt, result in zip(attempts, expected_results):
            assert attempt.result is not None
            assert attempt.result.detail == result.detail, "the detail differs"
            assert compare_recordings(attempt.result.recording, result.recording).identical

    def test_open_workers_report_the_name_and_version_of_the_simulator(
        self, serving: Bench
    ) -> None:
        expected_identity = SimulatorIdentity(KinematicSimulator.name, KinematicSimulator.version)
        assert serving.workers.identity == expected_identity

    def test_the_size_of_workers_is_the_number_of_parallel_trials(self, serving: Bench) -> None:
        assert serving.workers.size == self.size
        if self.size > 1:
            serving.order("meet-0", "meet-1")
        assert all(attempt.result is not None for attempt in serving.run())

    # failures

    def test_an_invalid_trial_is_reported_with_its_cause_and_its_executor_recovers(
        self, serving: Bench
    ) -> None:
        serving.order("fail-0", "lose-1", "fault-2")
        attempts = serving.run()
        assert [(attempt.cause, attempt.repeatable) for attempt in attempts] == [
            ("the simulator died", False),
            ("the navigation died", False),
            ("crate_1 flew 12 m", True),
            ("", False),
        ]
        assert [attempt.result is None for attempt in attempts] == [True, True, True, False]
        assert not any(attempt.worker_died for attempt in attempts)
        assert all(attempt.result is not None for attempt in serving.run())
        assert 1 <= len(executors_with("recovered", serving.directory)) <= 3

    def test_a_worker_that_died_is_reported_and_replaced(self, serving: Bench) -> None:
        if not self.can_die:
            pytest.skip("trials run in the process of the campaign, which must not be killed")
        serving.order("die-1")
        died_attempt = serving.run()[1]
        assert (died_attempt.result, died_attempt.worker_died, died_attempt.repeatable) == (
            None,
            True,
            False,
        )
        assert died_attempt.cause != ""
        assert started_trials(serving.directory) == [0, 1, 2, 3]
        assert all(attempt.result is not None for attempt in serving.run())

    def test_an_unexpected_exception_of_an_executor_is_raised(self, bench: Bench) -> None:
        bench.order("crash-0")
        bench.open()
        with pytest.raises(ZeroDivisionError, match="a bug"):
            bench.run()

    def test_workers_that_fail_to_open_raise_the_cause_and_can_be_closed(
        self, bench: Bench
    ) -> None:
        bench.order("cannot-open")
        with pytest.raises(SimulatorError, match="the simulator cannot be started"):
            bench.open()
        bench.workers.close()

    def test_a_worker_that_joins_receives_a_trial_immediately(self, tmp_path: Path) -> None:
        with self.growing() as growing:
            if growing is None:
                pytest.skip("no worker can join")
            factory, join = growing
            bench = Bench(tmp_path, factory)
            workers = bench.workers
            try:
                bench.open()
                assert workers.size == 1
                join_flags: List[bool] = []
                in_time_to_join = in_time("no worker joined")

                def join_once() -> bool:
                    if not join_flags:
                        join_flags.append(True)
                        join()
                    return in_time_to_join()

                first, second, *_ = bench.campaign.trials
                bench.order("meet-0")
                workers.begin(first)
                assert workers.next_ended(join_once) is None
                assert workers.size == 2
                workers.begin(second)  # the first trial waits for this one
                ended_attempts = [workers.next_ended(in_time("no trial ended")) for _ in range(2)]
                assert {
                    attempt.trial.index for attempt in ended_attempts if attempt is not None
                } == {0, 1}
            finally:
                workers.close()

    # stopping and closing

    def test_a_stop_ends_running_trials_and_closing_ends_all_executors(self, bench: Bench) -> None:
        bench.open(self.size)
        trials = bench.campaign.trials[: self.size]
        bench.order(*(f"wait-{trial.index}" for trial in trials))
        for trial in trials:
            bench.workers.begin(trial)
        has_time = in_time("not all trials started")
        with pytest.raises(TrialStopped):
            bench.workers.next_ended(
                lambda: len(started_trials(bench.directory)) == len(trials) or has_time()
            )
        assert started_trials(bench.directory) == [trial.index for trial in trials]
        bench.workers.close()
        bench.workers.close()
        opened_executors = executors_with("opened", bench.directory)
        assert len(opened_executors) == self.size
        open_executors = set(opened_executors) - set(executors_with("closed", bench.directory))
        assert not open_executors, (
            f"executors of these processes were not closed: {sorted(open_executors)}"
        )
        if self.can_die and self.ends_processes:
            alive = [pid for pid, _ in opened_executors if is_alive(pid)]
            assert not alive, f"these processes still run: {alive}"

    def test_workers_that_were_never_opened_can_be_closed(self, bench: Bench) -> None:
        bench.workers.close()


def is_alive(pid: int) -> bool:
    """Return whether a process is running. A zombie process does not count as running."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(") ")[2][:1] not in ("Z", "X", "")
