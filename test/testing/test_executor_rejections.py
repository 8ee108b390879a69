"""Rejection of trial executors that break one rule of the interface, by the suite for executors."""

import contextlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
from faults import Fault, rejections

from gz_testauto.base.errors import SimulatorError
from gz_testauto.simulators.kinematic import KinematicSimulator
from gz_testauto.spec.worlds import RandomNumbers
from gz_testauto.testing.executor_conformance import ExecutorConformance
from gz_testauto.trial.executor import SimulatorIdentity, TrialStopped
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.outcome import Outcome


class Executor(LockstepExecutor):
    """A correct executor that stores its simulators, so that a test can close the last
    simulator."""

    can_open = True

    def __init__(self, bed):
        super().__init__(bed, self.start)
        self.simulators = []

    def start(self, bed):
        if not self.can_open:
            raise SimulatorError("the simulator cannot be started")
        self.simulators.append(KinematicSimulator())
        return self.simulators[-1]


class Resulting(Executor):
    """An executor that returns a modified result."""

    def execute(self, trial, should_stop):
        return self.other(super().execute(trial, should_stop), trial)

    def other(self, result, trial):
        raise NotImplementedError


class Recorded(Resulting):
    """An executor that returns a modified recording."""

    def other(self, result, trial):
        return replace(result, recording=replace(result.recording, **self.of(result.recording)))

    def of(self, recording):
        raise NotImplementedError


# results


class Nameless(Executor):
    identity = SimulatorIdentity("", "1")


class VersionIsANumber(Executor):
    identity = SimulatorIdentity("planar", 1)


class AlwaysReached(Resulting):
    def other(self, result, trial):
        return replace(result, outcome=Outcome.REACHED)


class AlwaysTimedOut(Resulting):
    def other(self, result, trial):
        return replace(result, outcome=Outcome.TIMED_OUT)


class WithoutDetail(Resulting):
    def other(self, result, trial):
        return replace(result, detail="")


class NeverCompleted(Recorded):
    def of(self, recording):
        return {"completed": False}


class PosesFromTheStart(Recorded):
    def of(self, recording):
        return {"pose": recording.pose - recording.pose[0]}


class HalfOfTheRecording(Recorded):
    def of(self, recording):
        half = len(recording.time_s) // 2
        fields = ("time_s", "pose", "twist", "command", "clearance_m", "z_m", "roll_pitch_rad")
        return {field: getattr(recording, field)[:half] for field in fields}


class NoTwist(Recorded):
    def of(self, recording):
        return {"twist": np.zeros_like(recording.twist)}


class NoContacts(Recorded):
    def of(self, recording):
        return {"contacts": ()}


class ConstantClearance(Recorded):
    def of(self, recording):
        return {"clearance_m": np.full_like(recording.clearance_m, 2.0)}


class TimeBeginsLate(Recorded):
    def of(self, recording):
        return {"time_s": recording.time_s + 0.1}


class TimeRunsTwiceAsFast(Recorded):
    def of(self, recording):
        return {"time_s": 0.5 * recording.time_s}


class LeavesPeriodsOut(Recorded):
    def of(self, recording):
        fields = ("time_s", "pose", "twist", "command", "clearance_m", "z_m", "roll_pitch_rad")
        kept = np.r_[0 : len(recording.time_s) - 1 : 2, len(recording.time_s) - 1]
        return {field: getattr(recording, field)[kept] for field in fields}


class NoCommands(Recorded):
    def of(self, recording):
        return {"command": np.full_like(recording.command, np.nan)}


class NoCycleTimes(Recorded):
    def of(self, recording):
        return {"cycle_time_s": np.empty(0), "cycle_cpu_s": np.empty(0)}


class NoWallTime(Recorded):
    def of(self, recording):
        return {"wall_time_s": 0.0}


class OneTimeForAllGoals(Recorded):
    def of(self, recording):
        times_s = recording.goal_times_s
        return {"goal_times_s": None if times_s is None else np.full_like(times_s, times_s[-1])}


class NoGoalTimes(Recorded):
    def of(self, recording):
        return {"goal_times_s": None}


class DriftsFromTrialToTrial(Recorded):
    trials = 0

    def of(self, recording):
        self.trials += 1
        return {"pose": recording.pose + 1e-12 * self.trials}


class RunsAnotherTrial(Executor):
    first = None

    def execute(self, trial, should_stop):
        self.first = self.first or trial
        return super().execute(self.first, should_stop)


class SeedsPlannersAlike(Executor):
    """An executor that uses the same seed in each trial."""

    def execute(self, trial, should_stop):
        return super().execute(replace(trial, numbers=RandomNumbers(seed=0)), should_stop)


class SeedsPlannersByTheOrderOfTrials(Executor):
    trials = 0

    def execute(self, trial, should_stop):
        self.trials += 1
        return super().execute(replace(trial, numbers=RandomNumbers(seed=self.trials)), should_stop)


# stopping


class AsksOnce(Executor):
    def execute(self, trial, should_stop):
        if should_stop():
            raise TrialStopped
        return super().execute(trial, lambda: False)


class FinishesWhenStopped(Executor):
    def execute(self, trial, should_stop):
        def ask():
            should_stop()
            return False

        return super().execute(trial, ask)


class StopsLater(Executor):
    def execute(self, trial, should_stop):
        answers = []

        def ask():
            answers.append(should_stop())
            return sum(answers) > 5

        return super().execute(trial, ask)


class IgnoresAStopBeforeTheTrial(Executor):
    """An executor that ignores the first stop request of a trial."""

    def execute(self, trial, should_stop):
        if should_stop():
            return super().execute(trial, lambda: False)
        return super().execute(trial, should_stop)


class StopsByAnError(Executor):
    def execute(self, trial, should_stop):
        try:
            return super().execute(trial, should_stop)
        except TrialStopped:
            raise SimulatorError("the simulation was interrupted") from None


# ends


class NeverRecovers(Executor):
    def recover(self): ...


class FailsByAnyError(Executor):
    def execute(self, trial, should_stop):
        try:
            return super().execute(trial, should_stop)
        except SimulatorError as error:
            raise RuntimeError(str(error)) from error


class FailsWithoutACause(Executor):
    def execute(self, trial, should_stop):
        try:
            return super().execute(trial, should_stop)
        except SimulatorError:
            raise SimulatorError("") from None


class FailsWithAnotherCause(Executor):
    def execute(self, trial, should_stop):
        try:
            return super().execute(trial, should_stop)
        except SimulatorError:
            raise SimulatorError("the trial is invalid") from None


class ReachedWhenHarmed(Executor):
    """An executor that returns the previous result if its simulator fails."""

    last = None

    def execute(self, trial, should_stop):
        try:
            self.last = super().execute(trial, should_stop)
        except SimulatorError:
            assert self.last is not None
        return self.last


class AnotherNameAfterRecovery(Executor):
    @property
    def identity(self):
        return SimulatorIdentity("planar", str(len(self.simulators)))


class LeavesAProcess(Executor):
    """An executor that starts a process, which exits after some seconds."""

    def open(self):
        super().open()
        command = [sys.executable, "-c", "import time; time.sleep(4)"]
        self.helper = subprocess.Popen(command)


class FailsWhenClosedTwice(Executor):
    def close(self):
        assert self._simulator is not None, "not open"
        super().close()


class FailsWhenNeverOpened(Executor):
    def close(self):
        self.simulators[-1].close()
        super().close()


class OpensAnyway(Executor):
    def open(self):
        with contextlib.suppress(SimulatorError):
            super().open()


class CannotBeClosedAfterAFailure(Executor):
    def open(self):
        self.is_open = False
        super().open()
        self.is_open = True

    def close(self):
        assert getattr(self, "is_open", True), "half open"
        super().close()


class Suite(ExecutorConformance):
    """A suite with a function that closes the simulator of these executors."""

    cause = "this simulation is over"
    ending_timeout_s = 0.3
    kind = Executor

    def make_executor(self, bed, directory):
        executor = self.kind(bed)
        type(self).made = executor
        return executor

    def make_broken_executor(self, bed, directory):
        executor = self.kind(bed)
        executor.can_open = False
        return executor

    def harm(self):
        self.made.simulators[-1].close()
        return True


def fault(name, executor, test, message, raises=()):
    return Fault(name, test, message, {"kind": executor}, raises=raises)


CLEAR = "test_a_robot_with_a_free_path_drives_from_start_to_goal"
BLOCKED = "test_a_collision_ends_the_trial_and_names_the_obstacle"
SEVERAL = "test_several_goals_are_reached_in_order"
CLEARANCE = "test_the_clearance_is_zero_at_the_collision_and_larger_before"
TIME = "test_recorded_times_match_the_control_period_and_the_speed_limit"
KEPT = "test_commands_and_cycle_times_are_recorded"
SEEDS = "test_a_planner_draws_random_numbers_from_the_seed_of_the_trial"
ASKED = "test_the_stop_request_is_checked_in_every_control_period"
STOP = "test_a_stop_ends_the_trial_immediately_and_the_next_trial_runs"
BEFORE = "test_a_stop_request_before_the_start_ends_the_trial"
DIES = "test_a_trial_whose_process_dies_is_invalid_and_the_process_is_replaced"
CLOSING = "test_closing_an_executor_twice_ends_all_started_processes"
BROKEN = "test_an_executor_that_fails_to_open_raises_an_error_and_can_be_closed"

FAULTS = [
    fault(
        "its simulator has no name",
        Nameless,
        "test_the_executor_reports_the_name_of_its_simulator",
        "''",
    ),
    fault(
        "its version is a number",
        VersionIsANumber,
        "test_the_executor_reports_the_name_of_its_simulator",
        "str",
    ),
    fault("always timed out", AlwaysTimedOut, CLEAR, "TIMED_OUT"),
    fault("never completed", NeverCompleted, CLEAR, "completed"),
    fault("poses from the start", PosesFromTheStart, CLEAR, "-3.0"),
    fault("half of the recording", HalfOfTheRecording, CLEAR, "0.5"),
    fault("no twist", NoTwist, CLEAR, "the twist does not fit"),
    fault("runs another trial", RunsAnotherTrial, BLOCKED, "REACHED"),
    fault("always reached", AlwaysReached, BLOCKED, "REACHED"),
    fault("without detail", WithoutDetail, BLOCKED, "obstacle_box_0"),
    fault("no contacts", NoContacts, BLOCKED, "obstacle_box_0"),
    fault("constant clearance", ConstantClearance, CLEARANCE, "0.05"),
    fault("no times of the goals", NoGoalTimes, SEVERAL, "None"),
    fault("one time for all goals", OneTimeForAllGoals, SEVERAL, "all"),
    fault("time begins late", TimeBeginsLate, TIME, "0.1"),
    fault("time runs twice as fast", TimeRunsTwiceAsFast, TIME, "duration_s"),
    fault("leaves periods out", LeavesPeriodsOut, TIME, "0.2"),
    fault("no commands", NoCommands, KEPT, "any"),
    fault("no cycle times", NoCycleTimes, KEPT, "0 > 0|len"),
    fault("no wall time", NoWallTime, KEPT, "wall_time_s"),
    fault(
        "drifts from trial to trial",
        DriftsFromTrialToTrial,
        "test_a_repeated_trial_is_bit_identical_after_other_trials",
        "identical",
    ),
    fault("seeds planners alike", SeedsPlannersAlike, SEEDS, "draw the same random numbers"),
    fault(
        "seeds planners by the order of trials",
        SeedsPlannersByTheOrderOfTrials,
        SEEDS,
        "repeated draws other random numbers",
    ),
    fault("asks once whether to stop", AsksOnce, ASKED, "1 >="),
    fault("finishes when stopped", FinishesWhenStopped, STOP, "DID NOT RAISE"),
    fault("stops later", StopsLater, STOP, "10"),
    fault("ignores a stop before the trial", IgnoresAStopBeforeTheTrial, BEFORE, "DID NOT RAISE"),
    fault("stops by an error", StopsByAnError, BEFORE, "interrupted", (SimulatorError,)),
    fault("never recovers", NeverRecovers, DIES, "has been closed", (SimulatorError,)),
    fault("fails by any error", FailsByAnyError, DIES, "is over", (RuntimeError,)),
    fault("fails without a cause", FailsWithoutACause, DIES, "''"),
    fault("fails with another cause", FailsWithAnotherCause, DIES, "the trial is invalid"),
    fault("takes the last result when harmed", ReachedWhenHarmed, DIES, "DID NOT RAISE"),
    fault("another version after recovery", AnotherNameAfterRecovery, DIES, "version='2'"),
    fault("leaves a process", LeavesAProcess, CLOSING, "still run"),
    fault("fails when closed twice", FailsWhenClosedTwice, CLOSING, "not open"),
    fault(
        "fails when never opened",
        FailsWhenNeverOpened,
        "test_an_executor_that_was_never_opened_can_be_closed",
        "index",
        (IndexError,),
    ),
    fault("opens anyway", OpensAnyway, BROKEN, "DID NOT RAISE"),
    fault("cannot be closed after a failure", CannotBeClosedAfterAFailure, BROKEN, "half open"),
]
globals().update(rejections(Suite, {}, FAULTS))
del Suite
