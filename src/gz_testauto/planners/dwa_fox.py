"""The planner ``dwa_fox``, the Dynamic Window Approach as published.

D. Fox, W. Burgard, S. Thrun, "The dynamic window approach to collision avoidance", IEEE
Robotics & Automation Magazine 4(1), 1997, 23-33.
"""

import math

import numpy as np
from scipy import ndimage

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.elementary import arctan2
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.parameters import Count, NotNegative, Positive
from gz_testauto.planners.escape import Escape
from gz_testauto.planners.interface import Task
from gz_testauto.planners.limits import DefaultLength
from gz_testauto.planners.reactive import ReactivePlanner, Situation
from gz_testauto.planners.sweep import ConvexFootprint, Sweep, arc_poses, sweep_arcs
from gz_testauto.planners.velocity_window import dynamic_window, stoppable

STEPS = 16  # number of collision checks along each arc, about 0.2 m apart


class FoxDynamicWindow(ReactivePlanner):
    """A planner that selects the best command from which the robot can stop before any obstacle.

    The window V_d contains the commands that the accelerations allow within one control period. The
    admissible commands V_a have v ≤ sqrt(2 dist a_v) and ω ≤ sqrt(2 dist_ω a_ω), where dist is the
    length that the *footprint* drives along the arc before it touches a point of the scan. The
    score of a command is::

        G(v, ω) = σ(α heading + β dist + γ velocity)

    The heading term is 1 − |bearing of the local goal| / π, from the pose at which the robot stops
    if it brakes after the coming period. The distance term is dist / ``reach_m``, and the velocity
    term is v / v_max. σ smooths over neighbors in the window. If no command leads forward, the
    robot turns in place, as in the paper.
    """

    memory_m = DefaultLength(1.5)

    def __init__(
        self,
        heading_weight: NotNegative = 0.8,
        clearance_weight: NotNegative = 0.2,
        velocity_weight: NotNegative = 0.2,
        reach_m: Positive = DefaultLength(3.0),
        margin_m: NotNegative = DefaultLength(0.1),
        linear_samples: Count = 5,
        angular_samples: Count = 15,
        lookahead_m: Positive = DefaultLength(3.0),
    ) -> None:
        super().__init__(lookahead_m)
        self.weights = (heading_weight, clearance_weight, velocity_weight)
        self.reach_m = reach_m
        self.margin_m = margin_m
        self.samples = (linear_samples, angular_samples)

    def begin(self, task: Task) -> None:
        super().begin(task)
        self._footprint = ConvexFootprint(task.limits.footprint_m)
        self._margin_m = self.for_robot(self.margin_m)
        self._escape = Escape(task.limits, self._footprint, self._margin_m)

    def steer(self, situation: Situation) -> Twist2D:
        window = dynamic_window(
            situation.command, self.limits, self.task.control_period_s, self.samples
        )
        reach_m = min(
            self.for_robot(self.reach_m), situation.goal_distance_m + self._footprint.radius_m
        )
        sweep = sweep_arcs(
            self._footprint, window, situation.points_m, reach_m, self._margin_m, STEPS
        )
        admissible = stoppable(window, sweep, self.limits, self.task.control_period_s)
        admissible &= window[:, 0] <= situation.speed_limit_mps + 1e-9
        is_forward = admissible & (window[:, 0] > 1e-3)
        if not (self._escape.try_to_end(situation.points_m, reach_m) and is_forward.any()):
            return self._escape.command(situation.points_m, situation.goal_bearing_rad)
        score = self._score(window, sweep, situation, reach_m)
        smooth = ndimage.uniform_filter(
            np.where(admissible, score, 0.0).reshape(self.samples), size=3, mode="nearest"
        ).ravel()
        best_index = int(np.argmax(np.where(admissible, smooth, -np.inf)))
        return Twist2D(float(window[best_index, 0]), float(window[best_index, 1]))

    def _score(
        self, window: np.ndarray, sweep: Sweep, situation: Situation, reach_m: float
    ) -> np.ndarray:
        """Return the score G of each command in the window before smoothing, shape (c,)."""
        limits, period_s = self.limits, self.task.control_period_s
        rate = np.abs(window[:, 1])
        braking_s = np.maximum(
            window[:, 0] / limits.max_linear_accel_mps2, rate / limits.max_angular_accel_radps2
        )
        # Even braking covers half of the distance that full speed covers in the same time.
        pose = arc_poses(window, (period_s + braking_s / 2)[:, None])[:, 0]
        goal_x = situation.goal_distance_m * math.cos(situation.goal_bearing_rad)
        goal_y = situation.goal_distance_m * math.sin(situation.goal_bearing_rad)
        bearing = arctan2(goal_y - pose[:, 1], goal_x - pose[:, 0]) - pose[:, 2]
        heading = 1.0 - np.abs(np.remainder(bearing + np.pi, 2 * np.pi) - np.pi) / np.pi
        clearance = np.where(sweep.blocked, sweep.distance_m / reach_m, 1.0)
        velocity = window[:, 0] / limits.max_linear_mps
        terms = np.stack([heading, clearance, velocity])
        return matrix_product(np.asarray(self.weights), terms)
