"""Record every snapshot of a trial and evaluate the termination rules."""

import math
from dataclasses import replace
from typing import List, Optional

import numpy as np

from gz_testauto.actors.localization import PoseEstimator
from gz_testauto.base.observation import Snapshot, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.metrics.recording import TF_SERIES
from gz_testauto.trial.executor import TrialResult
from gz_testauto.trial.localization import EstimateRecorder, localization_errors
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.recorder import CycleTimes, Recorder
from gz_testauto.trial.stability import StabilityCheck
from gz_testauto.trial.termination import (
    TerminationRules,
    TrialEnd,
    check_termination,
    lost_motion,
    require_plausible,
    require_upright,
)
from gz_testauto.worlds.record import WorldRecord


class TrialMonitor:
    """The monitor of one trial, which starts when the goal is sent."""

    def __init__(
        self,
        rules: TerminationRules,
        recorder: Recorder,
        stability: StabilityCheck,
        world: Optional[WorldRecord] = None,
        estimate: Optional[EstimateRecorder] = None,
    ) -> None:
        """Create the monitor. Without ``estimate``, the robot's localization is exact."""
        self._rules = rules
        self._recorder = recorder
        self._stability = stability
        self._world = world
        self._estimate = estimate
        self._reached_s: List[float] = []
        self.goal_is_new = False
        """True if the latest snapshot changed :attr:`goal`, which must then be sent."""

    def require_upright(self, pose: Pose) -> None:
        """Raise ``SceneError`` if the robot with this base pose has fallen or tipped over.

        Nothing is recorded.
        """
        robot_body = self._recorder.body
        bottom_m = self._stability.levels.bottom_m(*pose.position[:2])
        require_upright(
            self._rules, pose.position, pose.tilt_rad, robot_body.span_m(pose)[1], bottom_m
        )

    def observe(self, snapshot: Snapshot) -> Optional[TrialEnd]:
        """Record a snapshot; return the end of the trial, or None while the trial continues.

        After a goal that is not the last, :attr:`goal` is the next goal, and :attr:`goal_is_new` is
        True. Raises ``SimulatorError`` if the robot is missing, its pose jumped, or simulated time
        did not advance. Raises ``SceneError`` if the robot fell or is tilted too far in the first
        snapshot, or if the :class:`StabilityCheck` fails.
        """
        recorder, rules = self._recorder, self._rules
        recorder.sample(snapshot)
        time_s, position_m = recorder.time_s, recorder.position_m
        if len(time_s) == 1:
            self.require_upright(snapshot.models[recorder.body.name].pose)
        bottom_m = self._stability.levels.bottom_m(*position_m[-1, :2].tolist())
        placed = snapshot.placed.get(recorder.body.name)
        require_plausible(rules, time_s, position_m, recorder.span_m[1], bottom_m, placed)
        self._stability.check(snapshot, float(time_s[-1]), recorder.collision)
        visited_count = self.visited
        verdict = self._check_termination()
        self.goal_is_new = verdict is None and self.visited > visited_count
        if self._estimate is not None:
            if placed is not None:
                self._estimate.estimator.place(placed.planar)
            self._estimate.advance(snapshot.time_s, recorder.pose, recorder.twist)
            if verdict is None:
                verdict = self._check_estimated_arrival(self._estimate, float(time_s[-1]))
        return verdict

    def commanded(self, command: Twist2D) -> None:
        self._recorder.commanded(command)

    def planner_aborted(self, reason: str) -> TrialEnd:
        """End the trial as ``planner_aborted``, unless an earlier rule of :mod:`.termination`
        holds. ``reason`` is the planner's message."""
        return self._end_at_planner_finish(reason, Outcome.PLANNER_ABORTED)

    def reported_arrival(self, reason: str) -> TrialEnd:
        """End the trial as ``false_arrival``, unless an earlier rule of :mod:`.termination` holds.
        ``reason`` is the planner's message."""
        return self._end_at_planner_finish(reason, Outcome.FALSE_ARRIVAL)

    @property
    def goal(self) -> Pose2D:
        return self._rules.goal

    @property
    def visited(self) -> int:
        """The number of reached goals, without the last goal of the trial."""
        return self._rules.visited

    @property
    def pose(self) -> Pose2D:
        return self._recorder.pose

    @property
    def twist(self) -> Twist2D:
        """The true forward speed (m/s) and yaw rate (rad/s)."""
        return self._recorder.twist

    @property
    def estimator(self) -> Optional[PoseEstimator]:
        """The simulated localization; None if it is exact."""
        return None if self._estimate is None else self._estimate.estimator

    def result(
        self, verdict: TrialEnd, cycles: CycleTimes, wall_time_s: float = math.nan
    ) -> TrialResult:
        recording = self._recorder.recording(
            verdict.outcome.success, cycles, wall_time_s, self._world
        )
        if self._rules.count > 1:
            recording = replace(recording, goal_times_s=self._goal_times_s(verdict))
        detail = verdict.detail
        if verdict.outcome is Outcome.STUCK:
            detail += lost_motion(
                self._rules, recording.time_s, recording.pose, recording.command[:, 0]
            )
        result = TrialResult(verdict.outcome, recording, detail)
        if self._estimate is None:
            return result
        poses = self._estimate.poses
        return result.with_values(localization_errors(poses, recording.pose), {TF_SERIES: poses})

    def _end_at_planner_finish(self, reason: str, outcome: Outcome) -> TrialEnd:
        verdict = self._check_termination(reason, outcome)
        assert verdict is not None  # every trial ends when its planner has finished
        return verdict

    def _check_estimated_arrival(
        self, estimate: EstimateRecorder, time_s: float
    ) -> Optional[TrialEnd]:
        if not estimate.has_arrived(self.goal, time_s, self.goal_is_new):
            return None
        goal, pose, estimated_pose = self.goal, self.pose, estimate.estimator.pose
        return self.reported_arrival(
            f"{goal.distance_to(pose.x_m, pose.y_m):.2f} m from {self._rules.goal_text} (the "
            f"tolerance is {self._rules.tolerance_m:g} m); the estimated pose is at "
            f"({estimated_pose.x_m:.2f}, {estimated_pose.y_m:.2f}), "
            f"{goal.distance_to(estimated_pose.x_m, estimated_pose.y_m):.2f} m from it"
        )

    def _check_termination(
        self,
        abort_reason: Optional[str] = None,
        abort_outcome: Outcome = Outcome.PLANNER_ABORTED,
    ) -> Optional[TrialEnd]:
        """Return the end of the trial, or None while it continues. If a goal is reached that is not
        the last, the next goal becomes the current goal."""
        recorder = self._recorder
        while True:
            verdict = check_termination(
                self._rules,
                recorder.time_s,
                recorder.position_m,
                recorder.collision,
                abort_reason,
                recorder.tilt_rad,
                abort_outcome,
                0.0 if math.isinf(self._rules.max_off_road_m) else recorder.off_road_m,
            )
            has_reached = verdict is not None and verdict.outcome.success
            if not (has_reached and self._rules.further):
                return verdict
            self._reached_s.append(float(recorder.time_s[-1]))
            self._rules = self._rules.for_next_goal

    def _goal_times_s(self, verdict: TrialEnd) -> np.ndarray:
        times_s = np.full(self._rules.count, math.nan)
        times_s[: len(self._reached_s)] = self._reached_s
        if verdict.outcome.success:
            times_s[-1] = self._recorder.time_s[-1]
        return times_s
