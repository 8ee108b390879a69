"""What a local planner is: asked once per control period where to drive.

A planner sees what a robot sees: its own pose, its last scan, and the way-points that the
global planner laid through the *known* map. Obstacles that the map does not show reach it
through the scan alone. It runs in-process and in lock-step, or inside the ``planner`` node.

Call order: construct once per trial with parameters; ``begin`` once per goal, of which a trial
has one or several; ``plan`` every control period, in order of time.
:mod:`gz_testauto.testing.planner_conformance` checks an implementation.
"""

import abc
from dataclasses import dataclass
from typing import Optional, Tuple

import numpy as np

from gz_testauto.observation import LaserScan, Twist2D
from gz_testauto.pose import Pose2D


@dataclass(frozen=True)
class RobotLimits:
    """What the base can do and where its body is.

    ``footprint_m`` is the outline in the base frame, shape (n, 2), counter-clockwise, not
    closed, as nested tuples so that the value is hashable. Speeds are magnitudes.
    """

    footprint_m: Tuple[Tuple[float, float], ...]
    max_linear_mps: float = 1.0
    max_angular_radps: float = 1.5
    max_linear_accel_mps2: float = 1.0
    max_angular_accel_radps2: float = 3.0
    can_reverse: bool = False

    @property
    def circumscribed_radius_m(self) -> float:
        """Largest distance from the base frame's origin to the outline."""
        return float(np.hypot(*np.asarray(self.footprint_m).T).max())

    @property
    def half_width_m(self) -> float:
        """Largest lateral (y) extent of the outline: the half width of a straight corridor."""
        return float(np.abs(np.asarray(self.footprint_m)[:, 1]).max())


@dataclass(frozen=True, eq=False)
class Task:
    """Where to go. ``waypoints_m`` (world frame, shape (n, 2)) starts at the robot, or at the goal
    that it has just reached, and ends at the goal; it is what the global planner found on the
    known map."""

    goal: Pose2D
    goal_tolerance_m: float
    waypoints_m: np.ndarray
    limits: RobotLimits
    control_period_s: float = 0.1


@dataclass(frozen=True, eq=False)
class Observation:
    """What the robot knows now: simulated time, its pose in the world frame, its measured
    twist in its own frame, and its last scan (None until the first arrived)."""

    time_s: float
    pose: Pose2D
    twist: Twist2D
    scan: Optional[LaserScan]


class PlannerGaveUp(Exception):
    """Raised by ``plan`` when the planner sees no way and will not find one later; the message is
    its reason.

    The trial ends as ``planner_aborted``; this is an outcome, not an error.
    """


class LocalPlanner(abc.ABC):
    """Base of all local planners. A subclass declares its parameters as the keyword
    arguments of its constructor, each with a default, a unit suffix and a docstring line."""

    @abc.abstractmethod
    def begin(self, task: Task) -> None:
        """Forget everything and take on a new task."""

    @abc.abstractmethod
    def plan(self, observation: Observation) -> Twist2D:
        """Return the command for the coming control period, within the task's limits on
        speed *and* acceleration. Deterministic: the same sequence of observations gives the
        same commands. Raises ``PlannerGaveUp``."""
