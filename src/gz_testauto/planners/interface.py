"""The interface of local planners: one velocity command per control period.

The inputs are those of a robot: its pose, its last scan, and the waypoints of the global plan
on the *static* map. Obstacles that the map does not contain appear only in the scan. Planners that
request them also receive tracked objects, if the campaign has tracking. A planner runs in-process
and in lock-step, or in the ``planner`` node.

Call order: construct once per trial with parameters; ``begin`` once per goal, of which a trial has
one or several; ``plan`` every control period, in order of time.
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
    ``~footprint_m`` (:mod:`gz_testauto.ros.planner.interface`). Speeds are magnitudes. A base that
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
    """A lane: a center line (n, 2) in the direction of driving, world frame, and its width (m) at
    each of these points (n,)."""

    center_m: np.ndarray
    width_m: np.ndarray


@dataclass(frozen=True, eq=False)
class Task:
    """A goal and the global plan to it.

    ``waypoints_m`` (world frame, shape (n, 2)) starts at the robot, or at the previous goal, and
    ends at the goal; it is the global plan on the static map. On a road, it is the center line of
    the route, and ``lanes`` are the joined lane of the route, from before the robot to beyond the
    goal, followed by the lanes next to it.

    ``seed``, in [0, 2**31), seeds all random numbers that the planner draws in this task. It
    depends on the campaign's seed, the world, the repetition, the robot's name and the goal, but
    not on the planner: all planners of a campaign get the same, so two of one plug-in draw the same
    numbers (common random numbers).
    """

    goal: Pose2D
    goal_tolerance_m: float
    waypoints_m: np.ndarray
    limits: RobotLimits
    control_period_s: float = 0.1
    lanes: Tuple[Lane, ...] = ()
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Observation:
    """The input of a planner in one cycle: simulated time, the robot's pose in the world frame, its
    measured twist in its own frame, its last scan (None before the first), and tracked objects for
    planners that request them."""

    time_s: float
    pose: Pose2D
    twist: Twist2D
    scan: Optional[LaserScan]
    objects: Tuple[TrackedObject, ...] = ()


class PlannerAborted(Exception):
    """Raised by ``plan`` when no path exists and none will appear; the message is the reason.

    The trial ends as ``planner_aborted``; this is an outcome, not an error.
    """


class Provenance(NamedTuple):
    """Facts about a planner that depend on its parameters.

    ``description`` is one line for results and reports. ``trained_in`` are the SHA-256 sums of the
    world files in which it was trained, where it must not be evaluated. ``runs`` are files whose
    code is executed when it is constructed.
    """

    description: str = ""
    trained_in: FrozenSet[str] = frozenset()
    runs: Tuple[Path, ...] = ()


class LocalPlanner(abc.ABC):
    """The base class of all local planners.

    A subclass declares its parameters as the keyword arguments of its constructor, each with a
    default, a unit suffix and a docstring line. With ``wants_objects``, it receives tracked
    objects. With ``needs_warm_up``, it compiles or loads code in its first cycle, and must run once
    before it is measured (:func:`~gz_testauto.planners.timed.warm_up`).
    """

    wants_objects = False
    needs_warm_up = False

    @classmethod
    def origin(cls, **parameters: Any) -> Provenance:
        """Return the provenance of a planner with these parameters without constructing it. Raises
        ``SpecError`` for a file that cannot be read."""
        return Provenance()

    @property
    def numbers(self) -> Mapping[str, float]:
        """Return the planner's numbers for the results of the trial, by name; default: none."""
        return {}

    @abc.abstractmethod
    def begin(self, task: Task) -> None:
        """Start a new task, and forget the previous one."""

    @abc.abstractmethod
    def plan(self, observation: Observation) -> Twist2D:
        """Return the command for the coming control period, within the task's limits on speed *and*
        acceleration.

        It is deterministic: the same task, with the same ``seed``, and the same sequence of
        observations give the same commands. Raises ``PlannerAborted``.
        """
