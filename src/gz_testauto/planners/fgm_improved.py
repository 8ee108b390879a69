"""The planner ``fgm_improved``, the Follow the Gap Method with published improvements.

- Gaps are selected by the direction of the goal and the previous choice, not only by width:
  M. Demir, V. Sezer, "Improved Follow the Gap Method for obstacle avoidance", IEEE AIM 2017, as
  its authors summarize it in M. D. Demir, V. Sezer, "Autonomous Overtaking Maneuver Design based
  on Follow the Gap Method", ICINCO 2019. The cost function is this package's.
- If the goal is in a gap, the robot drives towards it. Only gaps of sufficient width count: after
  the "high safety, goal in region" case and the navigable regions of
  J. Minguez, L. Montano, "Nearness Diagram (ND) Navigation: Collision Avoidance in Troublesome
  Scenarios", IEEE Transactions on Robotics and Automation 20(1), 2004.
- The dynamic window excludes commands, for the robot's true outline: after A. Özdemir, V. Sezer,
  "Follow the Gap with Dynamic Window Approach", International Journal of Semantic Computing 12(1),
  2018.
"""

import math
from typing import List, Optional

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.parameters import Fraction, NotNegative, Positive
from gz_testauto.base.pose import wrap_angle
from gz_testauto.planners.escape import STANDSTILL, Escape, first_exit, is_standstill
from gz_testauto.planners.fgm import Gap, find_gaps, nearest_distance, weighted_heading
from gz_testauto.planners.interface import Task
from gz_testauto.planners.limits import DefaultLength
from gz_testauto.planners.reactive import ReactivePlanner, Situation, turn_towards
from gz_testauto.planners.sweep import ConvexFootprint, sweep_arcs
from gz_testauto.planners.velocity_window import dynamic_window, stoppable

SAMPLES = (5, 13)  # speeds and yaw rates in the dynamic window
GROUPS = (4, 12, 28)  # indices at which the sorted commands are divided; see _nearest_safe
STEPS = 20  # collision checks along each arc


class ImprovedFollowTheGap(ReactivePlanner):
    """A planner that drives towards the goal if it is free, otherwise into the best gap.


    1. Obstacles are enlarged by half the robot's width and ``margin_m``.
    2. If the local goal is inside a gap, the heading is the goal's.
    3. Otherwise the gap with the least cost is selected: angle from the goal to the gap, plus
       ``memory`` times the angle from the previous heading to the gap. The heading is the
       weighted mean of ``fgm`` between the gap's center and the goal, limited to the gap. The
       center of a wide gap counts as no farther than ``inset_rad`` from its border.
    4. The command is the safe command of the dynamic window nearest to the desired command. It is
       safe if the robot's outline can stop before any point of the scan, and can leave again: by a
       turn, or by passing through. If this command is a stop, the robot turns in place.
    """

    memory_m = DefaultLength(1.5)

    def __init__(
        self,
        alpha_m: NotNegative = DefaultLength(1.0),
        horizon_m: Positive = DefaultLength(4.0),
        field_of_view_rad: Positive = 1.5 * math.pi,
        margin_m: NotNegative = DefaultLength(0.15),
        memory: Fraction = 0.4,
        inset_rad: NotNegative = 0.35,
        slowdown_m: Positive = DefaultLength(0.3),
        slowest: Fraction = 0.5,
        passage_m: Positive = DefaultLength(2.0),
        lookahead_m: Positive = DefaultLength(4.0),
        turn_gain_per_s: Positive = 1.5,
        slows_in_turns: bool = True,
    ) -> None:
        super().__init__(lookahead_m)
        self.alpha_m = alpha_m
        self.horizon_m = horizon_m
        self.field_of_view_rad = field_of_view_rad
        self.margin_m = margin_m
        self.memory = memory
        self.inset_rad = inset_rad
        self.slowdown_m = slowdown_m
        self.slowest = slowest
        self.passage_m = passage_m
        self.turn_gain_per_s = turn_gain_per_s
        self.slows_in_turns = slows_in_turns

    def begin(self, task: Task) -> None:
        super().begin(task)
        self._footprint = ConvexFootprint(task.limits.footprint_m)
        self._margin_m = self.for_robot(self.margin_m)
        self._escape = Escape(task.limits, self._footprint, self._margin_m / 2)

    def forget(self) -> None:
        self._desired_rad: Optional[float] = None

    def steer(self, situation: Situation) -> Twist2D:
        radius_m = self.limits.half_width_m + self._margin_m
        horizon_m = min(self.for_robot(self.horizon_m), situation.goal_distance_m + radius_m)
        gaps = find_gaps(situation.points_m, radius_m, horizon_m, self.field_of_view_rad)
        heading = self._desired_heading(gaps, situation, radius_m)
        self._desired_rad = heading
        nearest_m = nearest_distance(situation.points_m, self._footprint.radius_m)
        share = min(1.0, max(self.slowest, nearest_m / self.for_robot(self.slowdown_m)))
        speed = min(situation.speed_limit_mps, share * self.limits.max_linear_mps)
        desired_twist = turn_towards(
            heading, speed, self.turn_gain_per_s, self.limits, self.slows_in_turns
        )
        if self._escape.try_to_end(situation.points_m, situation.goal_distance_m):
            command = self._nearest_safe(desired_twist, situation)
            if not is_standstill(command):
                return command
        return self._escape.command(situation.points_m, situation.goal_bearing_rad)

    def _desired_heading(self, gaps: List[Gap], situation: Situation, radius_m: float) -> float:
        goal = situation.goal_bearing_rad
        previous_rad = self._previous_heading(situation)
        if not gaps:  # no gap is in view, so keep turning in the same direction
            return math.copysign(math.pi / 2, goal if previous_rad is None else previous_rad)
        if any(gap.contains(goal) for gap in gaps):
            return goal
        reference = goal if previous_rad is None else previous_rad

        def cost(gap: Gap) -> float:
            offset = abs(gap.nearest(goal) - goal)
            return offset + self.memory * abs(gap.nearest(reference) - reference)

        best_gap = min(gaps, key=cost)
        center = best_gap.nearest(goal, self.inset_rad)
        nearest_m = nearest_distance(situation.points_m, radius_m)
        return best_gap.nearest(
            weighted_heading(center, goal, nearest_m, self.for_robot(self.alpha_m))
        )

    def _previous_heading(self, situation: Situation) -> Optional[float]:
        """Return the previous desired heading relative to the current yaw, or None in the first
        cycle."""
        if self._desired_rad is None:
            return None
        turn_rad = situation.command.angular_radps * self.task.control_period_s
        return wrap_angle(self._desired_rad - turn_rad)

    def _nearest_safe(self, desired_twist: Twist2D, situation: Situation) -> Twist2D:
        """Return the safe command nearest to ``desired_twist`` that leads to space for a turn in
        place. Otherwise return the nearest safe command, or the slowest for a moving robot. Return
        a stop if no command is safe."""
        limits, period_s = self.limits, self.task.control_period_s
        window = dynamic_window(situation.command, limits, period_s, SAMPLES)
        error = np.abs(window[:, 0] - desired_twist.linear_mps) / limits.max_linear_mps
        error += np.abs(window[:, 1] - desired_twist.angular_radps) / limits.max_angular_radps
        window = window[np.argsort(error, kind="stable")]
        braking_m = limits.max_linear_mps**2 / (2 * limits.max_linear_accel_mps2)
        reach_m = max(self.for_robot(self.passage_m), 0.5 + braking_m)
        trapped_twists = []
        # usually, one of the first commands is safe, and the others are not checked
        for twists in np.split(window, GROUPS):
            sweep = sweep_arcs(
                self._footprint, twists, situation.points_m, reach_m, self._margin_m / 2, STEPS
            )
            safe = stoppable(twists, sweep, limits, period_s)
            exit_index = first_exit(
                self._footprint, twists, safe, sweep, situation.points_m, reach_m, limits, period_s
            )
            if exit_index is not None:
                return Twist2D(*twists[exit_index].tolist())
            trapped_twists.append(twists[safe])
        dead_ends = np.concatenate(trapped_twists)
        if len(dead_ends) == 0:
            return Twist2D(0.0, 0.0)
        if situation.command.linear_mps > STANDSTILL:  # the passage is a dead end, so stop in time
            slowest = dead_ends[:, 0] <= dead_ends[:, 0].min() + 1e-9
            dead_ends = dead_ends[slowest]
        return Twist2D(*dead_ends[0].tolist())
