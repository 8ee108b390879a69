"""What a local planner is: asked once per control period where to drive.

A planner sees what a robot sees: its own pose, its last scan, and the way-points that the
global planner laid through the *known* map. Obstacles that the map does not show reach it
through the scan alone, and what moves, to planners that ask for it, as tracked objects where the
campaign has tracking. It runs in-process and in lock-step, or inside the ``planner`` node.

Call order: construct once per trial with parameters; ``begin`` once per goal, of which a trial
has one or several; ``plan`` every control period, in order of time.
:mod:`gz_testauto.testing.planner_conformance` checks an implementation.
"""

import abc
from dataclasses import dataclass
from pathlib import Path
from typing import Any, FrozenSet, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from gz_testauto.base.observation import LaserScan, TrackedObject, Twist2D
from gz_testauto.base.pose import Pose2D


@dataclass(frozen=True)
class RobotLimits:
    """The footprint of a robot and the limits of its base; a planner gets it as ``task.limits``.

    ``footprint_m`` is the outline in the base frame, shape (n, 2), counter-clockwise, not
    closed, as nested tuples so that the value is hashable. In a campaign it is
    ``robot.footprint_m``, or the outline of the collision shapes of the robot's model
    (:func:`gz_testauto.trial.setup.robot_limits`); the planner node reads the parameter
    ``~footprint`` (:mod:`gz_testauto.ros.planner.settings`). Speeds are magnitudes. A base that
    steers like a car has its rear axle at the base frame's origin, ``wheelbase_m`` between the
    axles, and front wheels that turn by ``max_steer_rad``; 0 is a base that turns on the spot.
    """

    footprint_m: Tuple[Tuple[float, float], ...]
    max_linear_mps: float = 1.0
    max_angular_radps: float = 1.5
    max_linear_accel_mps2: float = 1.0
    max_angular_accel_radps2: float = 3.0
    can_reverse: bool = False
    wheelbase_m: float = 0.0
    max_steer_rad: float = 0.0

    @property
    def circumscribed_radius_m(self) -> float:
        """Largest distance from the base frame's origin to the outline."""
        return float(np.hypot(*np.asarray(self.footprint_m).T).max())

    @property
    def half_width_m(self) -> float:
        """Largest lateral (y) extent of the outline: the half width of a straight corridor."""
        return float(np.abs(np.asarray(self.footprint_m)[:, 1]).max())


@dataclass(frozen=True, eq=False)
class Lane:
    """A strip of road: a center line (n, 2) in the direction of driving, world frame, and its
    width (m) at each of these points (n,)."""

    center_m: np.ndarray
    width_m: np.ndarray


@dataclass(frozen=True, eq=False)
class Task:
    """Where to go. ``waypoints_m`` (world frame, shape (n, 2)) starts at the robot, or at the goal
    that it has just reached, and ends at the goal; it is what the global planner found on the
    known map. Where there is a road, these are the center of the way through its lanes, and
    ``lanes`` the lane that leads along it, from before the robot to beyond the goal, and after it
    those beside it.

    ``seed``, in [0, 2**31), seeds all random numbers that the planner draws on this task. It
    depends on the campaign's seed, the world, the repetition, the robot's name and the goal, and
    not on the planner: all planners of a campaign get the same, so two of one plugin draw the same
    numbers (common random numbers)."""

    goal: Pose2D
    goal_tolerance_m: float
    waypoints_m: np.ndarray
    limits: RobotLimits
    control_period_s: float = 0.1
    lanes: Tuple[Lane, ...] = ()
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Observation:
    """What the robot knows now: simulated time, its pose in the world frame, its measured
    twist in its own frame, its last scan (None until the first arrived), and what is tracked, for
    planners that ask for it."""

    time_s: float
    pose: Pose2D
    twist: Twist2D
    scan: Optional[LaserScan]
    objects: Tuple[TrackedObject, ...] = ()


class PlannerGaveUp(Exception):
    """Raised by ``plan`` when the planner sees no way and will not find one later; the message is
    its reason.

    The trial ends as ``planner_aborted``; this is an outcome, not an error.
    """


class Origin(NamedTuple):
    """Where a planner comes from that is not this code alone.

    ``told`` says it in a line, for results and reports; ``trained_in`` are the SHA-256 of the
    worlds' files in which it was trained, and must not be judged; ``runs`` are files that run as a
    program when it is made.
    """

    told: str = ""
    trained_in: FrozenSet[str] = frozenset()
    runs: Tuple[Path, ...] = ()


class LocalPlanner(abc.ABC):
    """Base of all local planners. A subclass declares its parameters as the keyword
    arguments of its constructor, each with a default, a unit suffix and a docstring line.

    ``wants_objects`` says that it asks for what is tracked; others are not shown it. ``rehearses``
    says that it compiles or loads something when it first plans, and is to plan once before that
    counts (:func:`~gz_testauto.planners.rehearsal.rehearse`).
    """

    wants_objects = False
    rehearses = False

    @classmethod
    def origin(cls, **parameters: Any) -> Origin:
        """Where a planner with these parameters comes from, without making it. Raises
        ``SpecError`` for a file that cannot be read."""
        return Origin()

    @property
    def numbers(self) -> Mapping[str, float]:
        """What it has to say of its trial, by name, for the results; nothing unless written."""
        return {}

    @abc.abstractmethod
    def begin(self, task: Task) -> None:
        """Forget everything and take on a new task."""

    @abc.abstractmethod
    def plan(self, observation: Observation) -> Twist2D:
        """Return the command for the coming control period, within the task's limits on
        speed *and* acceleration. Deterministic: the same task, of the same ``seed``, and the same
        sequence of observations give the same commands. Raises ``PlannerGaveUp``."""
