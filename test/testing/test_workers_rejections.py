"""Rejection of workers that break one rule of the interface, and acceptance of workers that are
threads, by the suite for workers."""

import contextlib
import queue
import threading
import time
from dataclasses import replace

import pytest
from faults import Fault, rejections

from gz_testauto.base.errors import SimulatorError
from gz_testauto.results.attempts import FAILURES
from gz_testauto.testing import workers_conformance
from gz_testauto.testing.workers_conformance import OrderedExecutor, WorkersConformance
from gz_testauto.trial.executor import SimulatorIdentity, TrialStopped
from gz_testauto.workers.interface import Attempt, RenewableExecutor, Workers


class Died(BaseException):
    """The error that replaces the death of a process in a thread."""


class ThreadWorkers(Workers):
    """Workers that are threads of this process, each with its own executor."""

    def __init__(self, make_executor, bed, size=2):
        self.size = size
        self.executors = [RenewableExecutor(make_executor(bed)) for _ in range(size)]
        self.free = list(self.executors)
        self.ended = queue.Queue()
        self.stopping = threading.Event()
        self.threads = {}

    def open(self, should_stop):
        for executor in self.executors:
            executor.open()

    @property
    def identity(self):
        return self.executors[0].identity

    def begin(self, trial):
        executor = self.free.pop()
        executor.renew()
        thread = threading.Thread(target=self.run, args=(executor, trial), daemon=True)
        self.threads[trial.index] = thread
        thread.start()

    def run(self, executor, trial):
        """Run a trial, and put the attempt or an unexpected error into the queue of ended
        trials."""
        began_s = time.monotonic()
        try:
            result = executor.execute(trial, self.stopping.is_set)
            ended = Attempt(trial, time.monotonic() - began_s, result)
        except FAILURES as error:
            ended = Attempt.invalid(trial, time.monotonic() - began_s, error)
        except Died:
            wall_s = time.monotonic() - began_s
            ended = Attempt(trial, wall_s, cause="the worker died", worker_died=True)
        except Exception as error:
            ended = error
        self.ended.put((executor, trial, ended))

    def next_ended(self, should_stop):
        while True:
            if should_stop():
                self.stopping.set()
                for thread in self.threads.values():
                    thread.join(60)
                raise TrialStopped
            try:
                executor, trial, ended = self.ended.get(timeout=0.01)
            except queue.Empty:
                continue
            self.free.append(executor)
            del self.threads[trial.index]
            if isinstance(ended, Exception):
                raise ended
            return self.answer(ended)

    def answer(self, attempt):
        """Return the attempt to report. Subclasses modify it."""
        return attempt

    def close(self):
        self.stopping.set()
        for thread in self.threads.values():
            thread.join(60)
        for executor in self.executors:
            executor.close()


# answers


class AnswersAboutTheFirst(ThreadWorkers):
    first = None

    def answer(self, attempt):
        self.first = self.first or attempt.trial
        return replace(attempt, trial=self.first)


class SwapsResults(ThreadWorkers):
    """Workers that report the result of the previous trial."""

    before = None

    def answer(self, attempt):
        other, self.before = self.before or attempt, attempt
        return replace(attempt, result=other.result)


class RunsTheFirstTrialTwice(ThreadWorkers):
    """Workers that run the first trial twice and report the second result."""

    def run(self, executor, trial):
        if trial.index == 0:
            executor.execute(trial, self.stopping.is_set)
        super().run(executor, trial)


class TakesNoTime(ThreadWorkers):
    def answer(self, attempt):
        return replace(attempt, wall_s=0.0)


class AllMayBeRepeated(ThreadWorkers):
    def answer(self, attempt):
        return replace(attempt, repeatable=True)


class AllWorkersDie(ThreadWorkers):
    def answer(self, attempt):
        return replace(attempt, worker_died=attempt.result is None)


class NeverRepeatable(ThreadWorkers):
    def answer(self, attempt):
        return replace(attempt, repeatable=False)


class RoundsRecordings(ThreadWorkers):
    """Workers that round results to single precision."""

    def answer(self, attempt):
        if attempt.result is None:
            return attempt
        recording = attempt.result.recording
        pose = recording.pose.astype("float32").astype(float)
        return replace(
            attempt, result=replace(attempt.result, recording=replace(recording, pose=pose))
        )


class DropsDetails(ThreadWorkers):
    def answer(self, attempt):
        result = attempt.result
        return attempt if result is None else replace(attempt, result=replace(result, detail=""))


class OfNoSimulator(ThreadWorkers):
    identity = SimulatorIdentity("threads", "1")


# side by side


class OneAfterTheOther(ThreadWorkers):
    """Workers that report a size of two and run one trial at a time."""

    def __init__(self, make_executor, bed):
        super().__init__(make_executor, bed)
        self.turn = threading.Lock()

    def run(self, executor, trial):
        with self.turn:
            super().run(executor, trial)


class AnotherSize(ThreadWorkers):
    def __init__(self, make_executor, bed):
        super().__init__(make_executor, bed, size=3)


# invalid trials, bugs


class CauseOfTheError(ThreadWorkers):
    """Workers that report the type of an error without its message."""

    def answer(self, attempt):
        return replace(attempt, cause="SimulatorError" if attempt.cause else "")


class InvalidComesThrough(ThreadWorkers):
    def answer(self, attempt):
        if attempt.result is None:
            raise SimulatorError(attempt.cause)
        return attempt


class NeverRecovers(ThreadWorkers):
    def begin(self, trial):
        for executor in self.executors:
            executor._needs_restart = False
        super().begin(trial)


class RecoversBeforeEachTrial(ThreadWorkers):
    def begin(self, trial):
        self.free[-1]._needs_restart = True
        super().begin(trial)


class TriesInvalidTrialsAgain(ThreadWorkers):
    def run(self, executor, trial):
        try:
            executor.execute(trial, self.stopping.is_set)
        except FAILURES:
            pass
        except Exception as error:
            self.ended.put((executor, trial, error))
            return
        super().run(executor, trial)


class BugIsInvalid(ThreadWorkers):
    def run(self, executor, trial):
        try:
            super().run(executor, trial)
            executor, trial, ended = self.ended.get(timeout=60)
            if isinstance(ended, Exception):
                ended = Attempt(trial, 1.0, cause=str(ended))
            self.ended.put((executor, trial, ended))
        except TrialStopped:
            pass


class BugHasAnotherType(ThreadWorkers):
    def next_ended(self, should_stop):
        try:
            return super().next_ended(should_stop)
        except ZeroDivisionError as error:
            raise RuntimeError(f"a worker failed: {error}") from error


# opening and closing


class OpensAnyway(ThreadWorkers):
    def open(self, should_stop):
        with contextlib.suppress(SimulatorError):
            super().open(should_stop)


class OpensWithoutTheCause(ThreadWorkers):
    def open(self, should_stop):
        try:
            super().open(should_stop)
        except SimulatorError:
            raise SimulatorError("the workers did not open") from None


class ClosedBadly(ThreadWorkers):
    """Workers that count the calls of ``close``; the fixture of the suite closes them once more."""

    is_open, closed = False, 0

    def open(self, should_stop):
        super().open(should_stop)
        self.is_open = True

    def close(self):
        self.closed += 1
        super().close()


class CannotBeClosedWhenNeverOpened(ClosedBadly):
    def close(self):
        super().close()
        assert self.is_open or self.closed > 1, "never opened"


class FailsWhenClosedTwice(ClosedBadly):
    def close(self):
        super().close()
        assert self.closed != 2, "already closed"


class LeavesOneExecutor(ThreadWorkers):
    def close(self):
        del self.executors[1:]
        super().close()


class ReturnsWhenStopped(ThreadWorkers):
    """Workers that return None after a stop, as if a worker had joined."""

    def next_ended(self, should_stop):
        try:
            return super().next_ended(should_stop)
        except TrialStopped:
            return None


class IgnoresAStop(ThreadWorkers):
    """Workers that wait for the running trials after a stop, for a limited time."""

    def next_ended(self, should_stop):
        deadline_s = time.monotonic() + 0.3

        def ask():
            should_stop()
            return time.monotonic() > deadline_s

        try:
            return super().next_ended(ask)
        except TrialStopped:
            raise AssertionError("the stop was ignored") from None


# workers that die


class DeathIsABug(ThreadWorkers):
    def answer(self, attempt):
        if attempt.worker_died:
            raise RuntimeError(attempt.cause)
        return attempt


class DeathIsAnInvalidTrial(ThreadWorkers):
    def answer(self, attempt):
        return replace(attempt, worker_died=False)


class DeathMayNotBeRepeated(ThreadWorkers):
    def answer(self, attempt):
        return replace(attempt, repeatable=attempt.worker_died)


class DeathHasNoCause(ThreadWorkers):
    def answer(self, attempt):
        return replace(attempt, cause="" if attempt.worker_died else attempt.cause)


class TriesAgainAfterADeath(ThreadWorkers):
    def run(self, executor, trial):
        with contextlib.suppress(Died):
            executor.execute(trial, self.stopping.is_set)
        super().run(executor, trial)


class NeverReplacesTheDead(ThreadWorkers):
    def answer(self, attempt):
        if attempt.worker_died:
            self.free.pop()
        return attempt


# workers that join


class GrowingThreads(ThreadWorkers):
    """Workers that start with one thread; a second thread can join."""

    def __init__(self, make_executor, bed):
        super().__init__(make_executor, bed, size=1)
        self.joining = RenewableExecutor(make_executor(bed))
        self.has_joined = False

    def next_ended(self, should_stop):
        def ask():
            should_stop_now = should_stop()
            if self.has_joined and self.size == 1:
                raise Joined
            return should_stop_now

        try:
            return super().next_ended(ask)
        except Joined:
            return self.grow()

    def grow(self):
        """Add the worker that joins."""
        self.joining.open()
        self.size = 2
        self.executors.append(self.joining)
        self.free.append(self.joining)


class Joined(Exception):
    pass


class NeverGrows(GrowingThreads):
    has_joined = property(lambda self: False, lambda self, value: None)


class GrowsInSilence(GrowingThreads):
    """Workers that add a joining worker without returning, and wait for a trial."""

    def next_ended(self, should_stop):
        attempt = super().next_ended(should_stop)
        return super().next_ended(should_stop) if attempt is None else attempt


class KeepsItsSize(GrowingThreads):
    def grow(self):
        super().grow()
        self.size, self.has_joined = 1, False


class GivesTheNewOneNothing(GrowingThreads):
    def begin(self, trial):
        if len(self.executors) > 1:
            self.threads[trial.index] = threading.Thread()
            self.threads[trial.index].start()
        else:
            super().begin(trial)


class Suite(WorkersConformance):
    """A suite for workers of class ``kind``. ``limit_s`` is the timeout of open workers, which is
    short for workers that never report a result."""

    kind = ThreadWorkers
    can_die, ends_processes = True, False
    limit_s = workers_conformance.WAIT_TIMEOUT_S

    def make_workers(self, make_executor, bed):
        return self.kind(make_executor, bed)

    @contextlib.contextmanager
    def growing(self):
        made = []

        def factory(make_executor, bed):
            made.append(self.grown(make_executor, bed))
            return made[0]

        yield factory, lambda: setattr(made[0], "has_joined", True)

    grown = GrowingThreads

    @pytest.fixture(autouse=True)
    def _limited(self, request, monkeypatch):
        """Replace the death of a process and the timeout, but only in the test and not in the
        shared fixtures."""
        for name in ("serving", "bench"):
            if name in request.fixturenames:
                request.getfixturevalue(name)
        monkeypatch.setattr(OrderedExecutor, "_die", die)
        monkeypatch.setattr(workers_conformance, "WAIT_TIMEOUT_S", self.limit_s)


def die(executor):
    raise Died


def fault(name, workers, test, message, raises=(), **declared):
    return Fault(name, test, message, {"kind": workers, **declared}, {}, raises)


ONCE = "test_each_trial_is_reported_once_with_its_result"
BITS = "test_results_are_bit_identical_to_those_of_one_executor"
SIDE = "test_the_size_of_workers_is_the_number_of_parallel_trials"
INVALID_ONE = "test_an_invalid_trial_is_reported_with_its_cause_and_its_executor_recovers"
BUG = "test_an_unexpected_exception_of_an_executor_is_raised"
OPEN = "test_workers_that_fail_to_open_raise_the_cause_and_can_be_closed"
STOP = "test_a_stop_ends_running_trials_and_closing_ends_all_executors"
DIES = "test_a_worker_that_died_is_reported_and_replaced"
JOINS = "test_a_worker_that_joins_receives_a_trial_immediately"
SHORT_S = 0.5

FAULTS = [
    fault("answers about the first", AnswersAboutTheFirst, ONCE, r"reported: .(\d), \1, \1, \1"),
    fault("swaps results", SwapsResults, ONCE, "Outcome"),
    fault("runs the first trial twice", RunsTheFirstTrialTwice, ONCE, "0, 0, 1"),
    fault("takes no time", TakesNoTime, ONCE, "0.0 > 0.0"),
    fault("all may be repeated", AllMayBeRepeated, ONCE, "True"),
    fault("rounds recordings", RoundsRecordings, BITS, "identical"),
    fault("drops details", DropsDetails, BITS, "the detail differs"),
    fault(
        "of no simulator",
        OfNoSimulator,
        "test_open_workers_report_the_name_and_version_of_the_simulator",
        "threads",
    ),
    fault(
        "one after the other",
        OneAfterTheOther,
        SIDE,
        "no other trial started|no trial ended",
        limit_s=SHORT_S,
    ),
    fault("another size", AnotherSize, SIDE, "3 == 2"),
    fault("cause of the error", CauseOfTheError, INVALID_ONE, "the simulator died"),
    fault(
        "an invalid trial comes through",
        InvalidComesThrough,
        INVALID_ONE,
        "the .* died|crate_1",
        (SimulatorError,),
    ),
    fault("never repeatable", NeverRepeatable, INVALID_ONE, "crate_1 flew 12 m"),
    fault("all workers die", AllWorkersDie, INVALID_ONE, "any"),
    fault("never recovers", NeverRecovers, INVALID_ONE, "1 <= 0"),
    fault("recovers before each trial", RecoversBeforeEachTrial, INVALID_ONE, "<= 3"),
    fault("tries invalid trials again", TriesInvalidTrialsAgain, INVALID_ONE, "the simulator died"),
    fault("a death is a bug", DeathIsABug, DIES, "the worker died", (RuntimeError,)),
    fault("a death is an invalid trial", DeathIsAnInvalidTrial, DIES, "False"),
    fault("a death may not be repeated", DeathMayNotBeRepeated, DIES, "True"),
    fault("a death has no cause", DeathHasNoCause, DIES, "''"),
    fault("tries again after a death", TriesAgainAfterADeath, DIES, "True|None"),
    fault("never replaces the dead", NeverReplacesTheDead, DIES, "pop from empty", (IndexError,)),
    fault("a bug is an invalid trial", BugIsInvalid, BUG, "DID NOT RAISE"),
    fault("a bug has another type", BugHasAnotherType, BUG, "a worker failed", (RuntimeError,)),
    fault("opens anyway", OpensAnyway, OPEN, "DID NOT RAISE"),
    fault("opens without the cause", OpensWithoutTheCause, OPEN, "the simulator cannot be started"),
    fault(
        "never grows",
        None,
        JOINS,
        "no worker joined|no other trial started",
        grown=NeverGrows,
        limit_s=SHORT_S,
    ),
    fault(
        "grows in silence",
        None,
        JOINS,
        "no worker joined|no other trial started",
        grown=GrowsInSilence,
        limit_s=SHORT_S,
    ),
    fault("keeps its size", None, JOINS, "1 == 2", grown=KeepsItsSize),
    fault(
        "gives the new one nothing",
        None,
        JOINS,
        "no trial ended|no other trial started",
        grown=GivesTheNewOneNothing,
        limit_s=SHORT_S,
    ),
    fault(
        "cannot be closed when never opened",
        CannotBeClosedWhenNeverOpened,
        "test_workers_that_were_never_opened_can_be_closed",
        "never opened",
    ),
    fault("fails when closed twice", FailsWhenClosedTwice, STOP, "already closed"),
    fault("leaves one executor", LeavesOneExecutor, STOP, "were not closed"),
    fault("leaves its processes", ThreadWorkers, STOP, "still run", ends_processes=True),
    fault("returns when stopped", ReturnsWhenStopped, STOP, "DID NOT RAISE"),
    fault("ignores a stop", IgnoresAStop, STOP, "the stop was ignored"),
]


globals().update(rejections(Suite, {}, FAULTS))
del Suite
