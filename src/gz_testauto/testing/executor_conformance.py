"""Conformance suite for trial executors.

Subclass the suite in a pytest file and create the executor in ``make_executor``::

    from gz_testauto.testing.executor_conformance import ExecutorConformance

    class TestMyExecutor(ExecutorConformance):
        def make_executor(self, bed, directory):
            return MyExecutor(bed, logs=directory)

One executor runs all trials of the suite in succession, as in a campaign. The planner drives
straight to the goal, in a world with a free path and in a world with a box on the path
(:mod:`~gz_testauto.testing.two_worlds`). A third trial has several goals.
"""

import contextlib
import functools
import os
import time
import uuid
from pathlib import Path
from typing import Callable, ClassVar, Dict, Iterator, List, Optional, Tuple

import numpy as np
import pytest

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.planners import PLANNERS
from gz_testauto.results.attempts import FAILURES
from gz_testauto.testing.two_worlds import (
    BLOCKED,
    CLEAR,
    OBSTACLE,
    PLACES,
    SEVERAL,
    STRAIGHT,
    WAY_M,
    two_worlds,
)
from gz_testauto.trial.executor import (
    SimulatorIdentity,
    TrialExecutor,
    TrialResult,
    TrialStopped,
)
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.testbed import TestBed
from gz_testauto.trial.trial import Trial

MARK = "GZ_TESTAUTO_CONFORMANCE"
ATTEMPTS = 4
"""Number of attempts at a trial after which the test fails."""


class CountingStopRequest:
    """A stop request that counts its calls, and returns ``answer(number of the call)``."""

    def __init__(self, answer: Callable[[int], bool] = lambda number: False) -> None:
        self.answer = answer
        self.calls = 0

    def __call__(self) -> bool:
        """Return whether the trial must stop, and count the call."""
        self.calls += 1
        return self.answer(self.calls)


class _SharedExecutor:
    """The campaign and the executor that all tests of a suite share, with the results of two
    trials."""

    def __init__(self, campaign: PreparedCampaign, executor: TrialExecutor) -> None:
        self.campaign = campaign
        self.executor = executor
        self.results: Dict[str, Tuple[TrialResult, int]] = {}

    def drive(
        self, world: str, answer: Callable[[int], bool] = lambda number: False
    ) -> Tuple[TrialResult, int]:
        """Run the trial in a world, and repeat it while it is invalid, which a busy machine can
        cause. Return the result and the number of calls of the stop request, which returns
        ``answer(number of the call)``."""
        trial = next(trial for trial in self.campaign.trials if trial.world.name == world)
        return _execute_with_retries(self.executor, trial, answer)


class ExecutorConformance:
    """The conformance suite for executors. Override :meth:`make_executor`, and :meth:`harm` if
    trials depend on a process."""

    repeatable = True
    """True if repeated trials are bit-identical, False if they run in wall time."""
    planners = STRAIGHT
    """YAML of a campaign with one planner that drives straight to the goal."""
    stochastic = "planners: [{name: sst, parameters: {iterations: 50}}]"
    """YAML of a campaign with one planner of this package that draws random numbers. The test is
    skipped if the extra of the planner ``sst`` is not installed. An executor that cannot run
    planners of this package sets an empty text."""
    ending_timeout_s = 60.0
    """Wall time (s) within which processes must exit after the executor is closed."""
    harm_at = 10
    """Number of calls of the stop request within a trial after which a test stops the trial or
    kills a process."""
    cause = ""
    """Text that the error message must contain after a process of the executor was killed."""

    def make_executor(self, bed: TestBed, directory: Path) -> TrialExecutor:
        """Return the executor under test, without opening it. The executor can write files to
        ``directory``, which is empty."""
        raise NotImplementedError("override make_executor()")

    def make_broken_executor(self, bed: TestBed, directory: Path) -> Optional[TrialExecutor]:
        """Return an executor that cannot be opened, or None if opening an executor cannot fail."""
        return None

    def harm(self) -> bool:
        """Kill a process on which the running trial depends, and return True. Return False while
        this process does not exist. The method is called from call number ``harm_at`` of the stop
        request."""
        raise NotImplementedError

    # the executor that the tests share

    _shared: ClassVar[Optional[_SharedExecutor]] = None

    @pytest.fixture
    def shared(self, tmp_path_factory: pytest.TempPathFactory) -> _SharedExecutor:
        """Return the open executor of the suite, after it has run both trials."""
        suite = type(self)
        if suite._shared is None:
            directory = tmp_path_factory.mktemp("campaign")
            campaign = two_worlds(directory, self.planners, several=True)
            executor = self.make_executor(campaign.bed, tmp_path_factory.mktemp("executor"))
            suite._shared = shared = _SharedExecutor(campaign, executor)
            executor.open()
            for world in (CLEAR, BLOCKED):
                shared.results[world] = shared.drive(world)
        if len(suite._shared.results) < 2:
            pytest.fail("the executor ran no trial; see the error of the first test")
        return suite._shared

    @classmethod
    def teardown_class(cls) -> None:
        """Close the executor of the suite."""
        shared, cls._shared = cls._shared, None
        if shared is not None:
            shared.executor.close()

    # trials

    def test_the_executor_reports_the_name_of_its_simulator(self, shared: _SharedExecutor) -> None:
        identity = shared.executor.identity
        assert isinstance(identity, SimulatorIdentity)
        assert identity.name != ""
        assert isinstance(identity.version, str)

    def test_a_robot_with_a_free_path_drives_from_start_to_goal(
        self, shared: _SharedExecutor
    ) -> None:
        result, _ = shared.results[CLEAR]
        assert result.outcome is Outcome.REACHED, result.detail
        assert result.recording.completed
        first_pose, last_pose = result.recording.pose[0], result.recording.pose[-1]
        assert first_pose == pytest.approx((-3.0, 0.0, 0.0), abs=0.1)
        assert np.hypot(last_pose[0] - 3.0, last_pose[1]) <= 0.5
        assert np.abs(result.recording.pose[:, 1]).max() < 0.2
        speed_mps, steps_s = result.recording.twist[1:, 0], np.diff(result.recording.time_s)
        assert float(speed_mps @ steps_s) == pytest.approx(WAY_M, rel=0.2), (
            "the twist does not fit the path"
        )

    def test_several_goals_are_reached_in_order(self, shared: _SharedExecutor) -> None:
        result, _ = shared.drive(SEVERAL)
        assert result.outcome is Outcome.REACHED, result.detail
        recording = result.recording
        assert recording.goal_times_s is not None
        assert (np.diff(recording.goal_times_s) > 0.0).all()
        assert recording.goal_times_s[-1] == recording.time_s[-1]
        for reached_s, place in zip(recording.goal_times_s, PLACES):
            pose = recording.pose[np.searchsorted(recording.time_s, reached_s)]
            assert np.hypot(*(pose[:2] - place)) <= 0.5

    def test_a_collision_ends_the_trial_and_names_the_obstacle(
        self, shared: _SharedExecutor
    ) -> None:
        result, _ = shared.results[BLOCKED]
        assert result.outcome is Outcome.COLLIDED, result.detail
        assert OBSTACLE in result.detail
        assert not result.recording.completed
        assert {contact.partner for contact in result.recording.contacts} == {OBSTACLE}
        assert result.recording.pose[-1][0] < 0.0

    def test_the_clearance_is_zero_at_the_collision_and_larger_before(
        self, shared: _SharedExecutor
    ) -> None:
        clearance_m = shared.results[BLOCKED][0].recording.clearance_m
        assert clearance_m[-1] < 0.05
        assert clearance_m[0] > 1.0

    def test_recorded_times_match_the_control_period_and_the_speed_limit(
        self, shared: _SharedExecutor
    ) -> None:
        recording, spec = shared.results[CLEAR][0].recording, shared.campaign.spec
        assert recording.time_s[0] == pytest.approx(0.0, abs=1e-9)
        assert recording.duration_s >= WAY_M / spec.robot.max_linear_mps - 0.1
        gaps_s = np.diff(recording.time_s)
        if self.repeatable:
            assert gaps_s == pytest.approx(spec.control_period_s, abs=1e-6)
        else:
            assert np.median(gaps_s) < 5 * spec.control_period_s

    def test_commands_and_cycle_times_are_recorded(self, shared: _SharedExecutor) -> None:
        recording = shared.results[CLEAR][0].recording
        assert np.isfinite(recording.command[1:]).any()
        assert len(recording.cycle_time_s) > 0
        assert (recording.cycle_time_s >= 0.0).all()
        assert recording.wall_time_s > 0.0

    def test_the_stop_request_is_checked_in_every_control_period(
        self, shared: _SharedExecutor
    ) -> None:
        result, calls = shared.results[CLEAR]
        assert calls >= len(result.recording.time_s) - 1

    def test_a_repeated_trial_is_bit_identical_after_other_trials(
        self, shared: _SharedExecutor
    ) -> None:
        if not self.repeatable:
            pytest.skip("trials that run in wall time are not repeatable to the bit")
        self.assert_drives_as_before(shared, CLEAR)

    # stopping, failures and closing

    def test_a_stop_ends_the_trial_immediately_and_the_next_trial_runs(
        self, shared: _SharedExecutor
    ) -> None:
        calls: List[int] = []

        def stop(number: int) -> bool:
            calls.append(number)
            return number >= self.harm_at

        with pytest.raises(TrialStopped):
            shared.drive(CLEAR, stop)
        assert calls[-1] == self.harm_at
        shared.executor.recover()
        self.assert_drives_as_before(shared, BLOCKED)

    def test_a_stop_request_before_the_start_ends_the_trial(self, shared: _SharedExecutor) -> None:
        with pytest.raises(TrialStopped):
            shared.drive(CLEAR, lambda number: True)
        shared.executor.recover()

    def test_a_trial_whose_process_dies_is_invalid_and_the_process_is_replaced(
        self, shared: _SharedExecutor
    ) -> None:
        if type(self).harm is ExecutorConformance.harm:
            pytest.skip("the executor depends on no process that a test can end")
        identity = shared.executor.identity
        harmed_periods: List[int] = []

        def harm(number: int) -> bool:
            if number >= self.harm_at and not harmed_periods and self.harm():
                harmed_periods.append(number)
            return False

        trial = shared.campaign.trials[0]
        for _ in range(ATTEMPTS):
            with pytest.raises(FAILURES) as error_info:
                shared.executor.execute(trial, CountingStopRequest(harm))
            shared.executor.recover()
            if harmed_periods:
                break
        assert len(harmed_periods) == 1
        assert str(error_info.value) != "" and self.cause in str(error_info.value)
        assert shared.executor.identity == identity
        self.assert_drives_as_before(shared, BLOCKED)

    def test_closing_an_executor_twice_ends_all_started_processes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mark = uuid.uuid4().hex
        monkeypatch.setenv(MARK, mark)
        campaign = two_worlds(tmp_path / "campaign", self.planners)
        executor = self.make_executor(campaign.bed, tmp_path / "executor")
        try:
            executor.open()
            with contextlib.suppress(TrialStopped, *FAILURES):
                executor.execute(
                    campaign.trials[0],
                    CountingStopRequest(lambda call_count: call_count >= self.harm_at),
                )
        finally:
            executor.close()
            executor.close()
        deadline = time.monotonic() + self.ending_timeout_s
        while any(_marked(mark)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(_marked(mark)) == [], "processes that the executor started still run"

    def test_an_executor_that_was_never_opened_can_be_closed(self, tmp_path: Path) -> None:
        campaign = two_worlds(tmp_path / "campaign", self.planners)
        self.make_executor(campaign.bed, tmp_path / "executor").close()

    def test_an_executor_that_fails_to_open_raises_an_error_and_can_be_closed(
        self, tmp_path: Path
    ) -> None:
        campaign = two_worlds(tmp_path / "campaign", self.planners)
        executor = self.make_broken_executor(campaign.bed, tmp_path / "executor")
        if executor is None:
            pytest.skip("opening this executor cannot fail")
        with pytest.raises(FAILURES) as error_info:
            executor.open()
        assert str(error_info.value) != ""
        executor.close()

    def test_a_planner_draws_random_numbers_from_the_seed_of_the_trial(
        self, tmp_path: Path
    ) -> None:
        """The random numbers differ between repetitions, and are equal if the same trial runs
        again."""
        if not self.stochastic:
            pytest.skip("the executor runs no planners of this package")
        if self.stochastic == ExecutorConformance.stochastic and "sst" not in PLANNERS.names():
            pytest.skip("the planner sst is not installed")
        campaign = two_worlds(tmp_path / "campaign", self.stochastic, repetitions=2)
        first, second = [trial for trial in campaign.trials if trial.world.name == CLEAR]
        executor = self.make_executor(campaign.bed, tmp_path / "executor")
        executor.open()
        try:
            drive = functools.partial(_execute_with_retries, executor, answer=lambda number: False)
            recordings = [drive(trial)[0].recording for trial in (first, second, first)]
        finally:
            executor.close()
        assert not compare_recordings(recordings[0], recordings[1]).identical, (
            "two repetitions draw the same random numbers"
        )
        if self.repeatable:
            assert compare_recordings(recordings[0], recordings[2]).identical, (
                "a trial that is repeated draws other random numbers"
            )

    def assert_drives_as_before(self, shared: _SharedExecutor, world: str) -> None:
        """Assert that a trial has the same outcome as in its first execution and, if
        ``repeatable``, a bit-identical recording."""
        (first_result, _), (second_result, _) = shared.results[world], shared.drive(world)
        assert second_result.outcome is first_result.outcome
        if self.repeatable:
            assert second_result.detail == first_result.detail
            assert compare_recordings(first_result.recording, second_result.recording).identical


def _execute_with_retries(
    executor: TrialExecutor, trial: Trial, answer: Callable[[int], bool]
) -> Tuple[TrialResult, int]:
    """Return the result and the number of stop requests of the first valid attempt. Raises the last
    error if :data:`ATTEMPTS` attempts are invalid."""
    for attempt in range(ATTEMPTS):
        stop_request = CountingStopRequest(answer)
        try:
            return executor.execute(trial, stop_request), stop_request.calls
        except FAILURES:
            executor.recover()
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def _marked(mark: str) -> Iterator[int]:
    """Yield the ids of the running processes, except this process, that were started with ``mark``
    in their environment."""
    mark_entry = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            is_marked = mark_entry in (entry / "environ").read_bytes().split(b"\0")
            if (
                is_marked and (entry / "cmdline").read_bytes()
            ):  # a zombie process has no environment
                yield int(entry.name)
