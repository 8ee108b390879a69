"""The interface of local planners: one velocity command per control period.

Each trial has a new planner. ``begin`` is called once per goal, and ``plan`` in every control
period, in order of time. A planner runs in the process that executes the trial, in lock-step, or in
the ``planner`` node. :mod:`gz_testauto.testing.planner_conformance` checks an implementation.
"""

import abc
import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, FrozenSet, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from gz_testauto.base.observation import LaserScan, SensorReading, TrackedObject, Twist2D
from gz_testauto.base.pose import Pose2D


@dataclass(frozen=True)
class RobotLimits:
    """The footprint of a robot and the limits of its base.

    ``footprint_m`` is the outline in the base frame, shape (n, 2), counter-clockwise and not
    closed. Speeds are magnitudes. A base with car-like steering has its rear axle at the origin of
    the base frame. The distance between its axles is ``wheelbase_m``, and its front wheels turn by
    up to ``max_steer_rad``. With ``wheelbase_m`` 0, the base can turn in place.
    """

    footprint_m: Tuple[Tuple[float, float], ...]
    max_linear_mps: float = 1.0
    max_angular_radps: float = 1.5
    max_linear_accel_mps2: float = 1.0
    max_angular_accel_radps2: float = 3.0
    can_reverse: bool = False
    wheelbase_m: float = 0.0
    max_steer_rad: float = 0.0

    @functools.cached_property
    def circumscribed_radius_m(self) -> float:
        """Largest distance from the base frame's origin to the outline."""
        return float(np.hypot(*np.asarray(self.footprint_m).T).max())

    @functools.cached_property
    def half_width_m(self) -> float:
        """Largest lateral (y) extent of the outline."""
        return float(np.abs(np.asarray(self.footprint_m)[:, 1]).max())


@dataclass(frozen=True, eq=False)
class Lane:
    """A lane of a road: the center line in the direction of driving (m, world frame), shape (n, 2),
    and the width (m) of the lane at each of these points, shape (n,)."""

    center_m: np.ndarray
    width_m: np.ndarray


@dataclass(frozen=True, eq=False)
class Task:
    """The task of a planner: a goal and the global plan to this goal.

    ``waypoints_m`` is the global plan on the static map, or the center line of the route on a road.
    It has shape (n, 2), in the world frame, and leads from the robot or the previous goal to the
    goal. On a road, ``lanes`` contains the joined lane of the route, from behind the robot to
    beyond the goal, followed by the lanes next to it.

    ``seed``, in [0, 2**31), is the seed of all random numbers that the planner draws in this task.
    It does not depend on the planner, so that all planners use common random numbers.
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
    """The input of a planner in one cycle.

    ``pose`` is the robot's pose in the world frame, an estimate in a campaign with
    ``localization``. ``twist`` is the measured twist in the base frame. ``scan`` is the last scan,
    or None before the first one. ``objects`` are the tracked objects, for planners that request
    them. ``sensors`` contains the newest reading of each sensor that the planner declares, by name.
    """

    time_s: float
    pose: Pose2D
    twist: Twist2D
    scan: Optional[LaserScan]
    objects: Tuple[TrackedObject, ...] = ()
    sensors: Mapping[str, SensorReading] = field(default_factory=dict)


class PlannerAborted(Exception):
    """Raised by a planner if no path to the goal exists, and in place of other errors of a planner.

    The trial ends with the outcome ``planner_aborted``, with the message as reason.
    """


class Provenance(NamedTuple):
    """The provenance of a planner, which depends on its parameters.

    ``description`` is one line for results and reports. ``trained_in`` are the SHA-256 sums of the
    world files in which the planner was trained and must not be evaluated. ``runs`` are files whose
    code is executed when the planner is constructed. ``needs_objects`` is True for a planner that
    was trained with tracked objects.
    """

    description: str = ""
    trained_in: FrozenSet[str] = frozenset()
    runs: Tuple[Path, ...] = ()
    needs_objects: bool = False


class LocalPlanner(abc.ABC):
    """The base class of all local planners.

    A subclass declares its parameters as keyword arguments of its constructor, each with a default
    and a unit suffix. If ``wants_objects`` is True, the planner receives tracked objects. If
    ``needs_warm_up`` is True, the planner compiles or loads code in its first cycle, and runs one
    cycle before it is measured (:func:`~gz_testauto.planners.timed.warm_up`).

    ``sensors`` contains the names of the sensors that the planner reads in addition to the scan,
    as they are named in the model of the robot. The constructor can set it from a parameter. Only
    these sensors are simulated. In the warm-up, an observation has no readings.
    """

    wants_objects = False
    needs_warm_up = False
    sensors: Tuple[str, ...] = ()

    @classmethod
    def origin(cls, **parameters: Any) -> Provenance:
        """Return the provenance of a planner with these parameters, without constructing it. Raises
        ``SpecError`` if a file of the planner cannot be read."""
        return Provenance()

    @property
    def numbers(self) -> Mapping[str, float]:
        """Numbers, by name, that the planner adds to the results of the trial."""
        return {}

    @abc.abstractmethod
    def begin(self, task: Task) -> None:
        """Start a new task, and discard the state of the previous task."""

    @abc.abstractmethod
    def plan(self, observation: Observation) -> Twist2D:
        """Return the command for the coming control period, within the task's limits on speed *and*
        acceleration.

        The commands must be deterministic: they depend only on the task, with its ``seed``, and on
        the sequence of observations. Raises ``PlannerAborted`` if no path to the goal exists.
        """
