"""The behavior ``polynomial``: an actor follows a random polynomial, as in DynaBARN (Nair, Jiang,
Hou, Xu, Li, Xiao 2022). It does not react to obstacles, the robot or other actors."""

from typing import ClassVar, Sequence, Tuple

import numpy as np
import shapely
from pydantic import BeforeValidator, Field, model_validator
from shapely.geometry.base import BaseGeometry
from typing_extensions import Annotated, Literal

from gz_testauto.actors.creation import TRIES_TO_START, NewActor, reach_of
from gz_testauto.actors.script import Script, Timetable
from gz_testauto.base.errors import PlacementError
from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.actors import ActorSpec, BodySpec
from gz_testauto.spec.distributions import PositiveDistribution, Uniform
from gz_testauto.spec.model import Interval, NotNegative, Point, as_tuple

MOST_ORDER = 9


class PolynomialSpec(ActorSpec):
    """An actor that moves back and forth along a random polynomial through a square field, like the
    obstacles of DynaBARN. The speed on each leg of the path is drawn around a mean that is drawn
    once for the actor."""

    behavior: Literal["polynomial"]
    body: BodySpec = BodySpec(radius_m=0.5, height_m=1.0)
    """The shape of an actor without ``model``. The default is a cylinder with a radius of 0.5 m and
    a height of 1 m."""
    center_m: Point = (0.0, 0.0)
    """Center ``[x, y]`` (m, world frame) of the field."""
    half_size_m: Annotated[float, Field(ge=2, le=1000)] = 10.0
    """Half the side length (m) of the field."""
    order: Annotated[Tuple[int, int], BeforeValidator(as_tuple)] = (1, 3)
    """Smallest and largest order of the polynomial."""
    mean_speed_mps: PositiveDistribution = Uniform(min=0.5, max=1.0)
    """Mean speed (m/s), drawn once for each actor."""
    speed_stddev_mps: NotNegative = 0.2
    """Standard deviation (m/s) of the speeds of the legs of a path."""
    speed_bounds_mps: Interval = (0.1, 3.0)
    """Smallest and largest speed (m/s) on a leg. Speeds outside of this interval are drawn
    again."""
    min_robot_gap_m: NotNegative = 1.5
    """Smallest gap (m) between the outlines of the actor and the robot at the start."""

    @property
    def ground(self) -> BaseGeometry:
        x_m, y_m = self.center_m
        return shapely.box(
            x_m - self.half_size_m,
            y_m - self.half_size_m,
            x_m + self.half_size_m,
            y_m + self.half_size_m,
        )

    @model_validator(mode="after")
    def _require_drawable_paths(self) -> "PolynomialSpec":
        low, high = self.order
        if not 1 <= low <= high <= MOST_ORDER:
            raise ValueError(
                f"'order' must be two integers from 1 to {MOST_ORDER}, in increasing order"
            )
        columns = 2 * int(self.half_size_m) + 1
        if high + 1 > columns:
            raise ValueError(
                f"order {high} needs {high + 1} columns of points, and a field of half_size_m "
                f"{self.half_size_m:g} has {columns}; lower order or enlarge half_size_m"
            )
        low_mps, high_mps = self.speed_bounds_mps
        if low_mps <= 0:
            raise ValueError("'speed_bounds_mps' must be above 0")
        for mean_mps in self.mean_speed_mps.support:
            if not low_mps <= mean_mps < high_mps:
                raise ValueError(
                    f"'mean_speed_mps' can be {mean_mps:g}, which is outside 'speed_bounds_mps'; "
                    "widen these bounds"
                )
        return self

    has_several_starts: ClassVar[bool] = True

    def create(self, new: NewActor) -> Tuple[Script, Pose2D]:
        mean_mps = new.draw(self.mean_speed_mps)
        order = int(new.random.integers(self.order[0], self.order[1] + 1))
        reach_m = reach_of(self)
        for _ in range(TRIES_TO_START):
            points = dynabarn_path(new.random, order, self.half_size_m) + np.array(self.center_m)
            if new.is_free(tuple(points[0].tolist()), reach_m, self.min_robot_gap_m):
                break
        else:
            raise PlacementError(
                f"actor {new.name!r} has no path with a free start after {TRIES_TO_START} tries; "
                "reduce 'count' or 'min_robot_gap_m'"
            )
        speeds = dynabarn_speeds(
            new.random, len(points) - 1, mean_mps, self.speed_stddev_mps, self.speed_bounds_mps
        )
        script = Script(new.name, self.tags, Timetable(points, speeds, repeat="back_and_forth"))
        return script, Pose2D(*script.start_pose)


HALF_M, LEGS = 10, 10  # half the side length of DynaBARN's field, inner waypoints of its paths

TRIES = 1000  # largest number of draws of a polynomial, and of the speed of a leg

LEAST_SHARE = 0.1  # smallest length of a path along x, as a share of ``half_m``


def dynabarn_path(random: np.random.Generator, order: int, half_m: float = HALF_M) -> np.ndarray:
    """Return the waypoints (n, 2) of a random path through a square field around the origin, whose
    sides are ``2 * half_m`` long.

    They are on a polynomial through ``order + 1`` random points, or on a straight line if no drawn
    polynomial is long enough. Raises ``ValueError`` if the field is too small for the order.
    """
    reach = int(half_m)
    low, high, curve = -half_m, half_m, np.polynomial.Polynomial([0.0, 0.0])
    for _ in range(TRIES):
        xs = random.choice(np.arange(-reach, reach + 1), size=order + 1, replace=False)
        ys = random.integers(-reach, reach + 1, size=order + 1)
        drawn = np.polynomial.Polynomial.fit(xs, ys, order).convert()
        ends = _longest_inside(drawn, half_m)
        if ends[1] - ends[0] >= LEAST_SHARE * half_m:
            (low, high), curve = ends, drawn
            break
    even = np.linspace(low, high, LEGS + 2)
    points = np.column_stack([even, np.clip(curve(even), -half_m, half_m)])
    return points[::-1].copy() if random.random() < 0.5 else points


def _longest_inside(curve: np.polynomial.Polynomial, half_m: float) -> Tuple[float, float]:
    """Return the first and last x (m) of the longest part of a curve y(x) inside the field, or
    (0, 0) if no part is inside."""
    roots = np.concatenate([(curve - edge).roots() for edge in (-half_m, half_m)])
    real = roots.real[np.abs(roots.imag) < 1e-9]
    cuts = np.unique(np.concatenate([[-half_m, half_m], real[np.abs(real) < half_m]]))
    middles = 0.5 * (cuts[:-1] + cuts[1:])
    lengths = np.where(np.abs(curve(middles)) <= half_m, np.diff(cuts), 0.0)
    longest = int(np.argmax(lengths))
    if lengths[longest] == 0.0:
        return 0.0, 0.0
    return float(cuts[longest]), float(cuts[longest + 1])


def dynabarn_speeds(
    random: np.random.Generator,
    legs: int,
    mean_speed_mps: float,
    speed_stddev_mps: float,
    bounds_mps: Sequence[float],
) -> np.ndarray:
    """Draw the speed (m/s) of each leg from a normal distribution or, if no draw is within
    ``bounds_mps``, uniformly from them."""
    low, high = bounds_mps
    speeds = np.empty(legs)
    for leg in range(legs):
        for _ in range(TRIES):
            speeds[leg] = random.normal(mean_speed_mps, speed_stddev_mps)
            if low <= speeds[leg] < high:
                break
        else:
            speeds[leg] = random.uniform(low, high)
    return speeds
