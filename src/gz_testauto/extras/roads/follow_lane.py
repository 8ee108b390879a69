"""The behavior ``follow_lane``: a vehicle follows the lanes of a route, keeps its distance from the
models ahead (:mod:`.car_following`), and gives way (:mod:`.right_of_way`)."""

import math
from typing import ClassVar, Iterator, List, Optional, Tuple

import numpy as np
import shapely
from pydantic import BeforeValidator
from typing_extensions import Annotated, Literal, override

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import NewActor, ObstacleOutlines, sdf_of
from gz_testauto.actors.hook import StepContext
from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.base.pose import Pose, Pose2D, wrap_angle
from gz_testauto.base.registry import unknown_name
from gz_testauto.extras.roads.car_following import (
    MOST_BRAKING_MPS2,
    IntelligentDriver,
    advance,
    occupancy,
)
from gz_testauto.extras.roads.center_line import CenterLine
from gz_testauto.extras.roads.right_of_way import Conflict, OtherModel, RightOfWay
from gz_testauto.planners.global_plan import join_lanes
from gz_testauto.planners.interface import Lane
from gz_testauto.sdf.scene import placed_model
from gz_testauto.spec.actors import ActorSpec, BodySpec
from gz_testauto.spec.distributions import (
    Distribution,
    Fixed,
    NotNegativeDistribution,
    PositiveDistribution,
)
from gz_testauto.spec.model import LocatedSpec, Positive, as_tuple
from gz_testauto.spec.road import LaneSpec, RoadSpec, check_route

CAR = BodySpec(size_m=(4.5, 1.8, 1.4), mass_kg=1200.0)

LOOK_AHEAD_M = 150.0  # distance along the path within which a vehicle reacts to other models

SIDE_M = 0.3  # lateral distance from the vehicle within which another model is ahead

SPACING_M = 0.25  # distance between the points of the path of a vehicle that pulls out


class FollowLaneSpec(ActorSpec, LocatedSpec):
    """A vehicle that follows the lanes of a route, keeps its distance from the models ahead
    (Intelligent Driver Model), and gives way. Several vehicles of one entry start one behind the
    other."""

    behavior: Literal["follow_lane"]
    body: BodySpec = CAR
    """The shape and mass of a vehicle without ``model``; default: a car of 4.5 m × 1.8 m."""
    route: Annotated[Tuple[str, ...], BeforeValidator(as_tuple)] = ()
    """Names of consecutive lanes of the road; default: the route of the robot."""
    start_m: NotNegativeDistribution
    """Distance (m) along the route at which the origin of the first vehicle starts."""
    gap_m: PositiveDistribution = Fixed(value=20.0)
    """Gap (m) between a vehicle and the previous vehicle of the entry, which is ahead, at the
    start."""
    offset_m: Distribution = Fixed(value=0.0)
    """Lateral distance (m) from the center of the lane at the start, positive to the left. If it is
    not 0, the vehicle is parked there and pulls out."""
    pull_out_m: Positive = 20.0
    """Distance (m) along the lane on which a vehicle pulls out to the center of the lane."""
    speed_mps: PositiveDistribution
    """Desired speed (m/s)."""
    initial_speed_mps: NotNegativeDistribution = Fixed(value=0.0)
    """Speed (m/s) at which the vehicle starts."""
    time_headway_s: PositiveDistribution = Fixed(value=1.6)
    """Desired time (s) until the front of the vehicle is where the rear of the model ahead is."""
    standstill_gap_m: Positive = 2.0
    """Gap (m) to the model ahead at standstill."""
    acceleration_mps2: Positive = 0.73
    """Largest acceleration (m/s²)."""
    deceleration_mps2: Positive = 1.67
    """Comfortable deceleration (m/s²). In an emergency, the vehicle brakes with up to 8 m/s²."""
    give_way_to: Annotated[Tuple[str, ...], BeforeValidator(as_tuple)] = ()
    """Names of the lanes to which the vehicle gives way where its path first meets them. A vehicle
    that pulls out always gives way to the first lane of its route."""
    accepted_gap_s: PositiveDistribution = Fixed(value=6.2)
    """Smallest time (s) until the next model on another lane at which the vehicle enters it."""
    start_s: NotNegativeDistribution = Fixed(value=0.0)
    """Time (s) from the start of the trial, or from the trigger, until the vehicle starts."""
    trigger_distance_m: Optional[Positive] = None
    """Distance (m) between the origins of the robot and the vehicle at which the vehicle starts. If
    it is null, the vehicle does not wait for the robot."""
    at_end: Literal["stop", "delete"] = "stop"
    """At the end of the route, the vehicle stops or is deleted."""

    has_several_starts: ClassVar[bool] = True

    @override
    def check_road(self, road: Optional[RoadSpec]) -> None:
        with self.locating("route", "route"):
            self._lanes_of_route(road)
        with self.locating("give_way_to", "give_way_to"):
            assert road is not None, "checked with the route"
            for name in self.give_way_to:
                if name not in road.by_name:
                    problem = unknown_name("lane", name, road.by_name)
                    raise SpecError(f"actor {self.name!r}: {problem}")

    @override
    def create(self, new: NewActor) -> Tuple["FollowLane", Pose2D]:
        """Return the vehicle and its start pose. Raises ``PlacementError`` if the start is not on
        the route, or if the path does not meet a lane of ``give_way_to``.
        """
        start_m, gap_m = new.draw(self.start_m), new.draw(self.gap_m)
        offset_m, initial_mps = new.draw(self.offset_m), new.draw(self.initial_speed_mps)
        driver = IntelligentDriver(
            new.draw(self.speed_mps),
            new.draw(self.time_headway_s),
            self.standstill_gap_m,
            self.acceleration_mps2,
            self.deceleration_mps2,
        )
        accepted_s, start_s = new.draw(self.accepted_gap_s), new.draw(self.start_s)
        outline_m = _outline_of(self)
        if new.index:
            ahead = new.others[f"{self.name}_{new.index - 1}"]
            assert isinstance(ahead, FollowLane), "the previous vehicle of this entry"
            start_m = ahead.start_m - gap_m - float(np.ptp(outline_m[:, 0]))
        route = self._lanes_of_route(new.ground.road)
        lane = join_lanes(route)
        length_m = CenterLine(lane.center_m).length_m
        if not 0.0 <= start_m < length_m:
            raise PlacementError(
                f"actor {new.name!r} starts at {start_m:.1f} m along its route, which is from 0 to "
                f"{length_m:.1f} m; change 'start_m' or 'gap_m', or extend the route"
            )
        path = pull_out_path(lane, start_m, offset_m, self.pull_out_m)
        priority_lanes = [*self._priority_lanes(new.ground.road), *([lane] if offset_m else [])]
        front_m, width_m = float(outline_m[:, 0].max()), 2 * float(np.abs(outline_m[:, 1]).max())
        needed_m = float(np.ptp(outline_m[:, 0])) + self.standstill_gap_m
        conflicts = [
            Conflict.between(path, width_m, priority_lane, needed_m)
            for priority_lane in priority_lanes
        ]
        met_conflicts = [conflict for conflict in conflicts if conflict is not None]
        if len(met_conflicts) < len(conflicts):
            raise PlacementError(
                f"actor {new.name!r}: its path does not meet a lane in 'give_way_to'; remove the "
                "lane, or change 'route' or 'start_m'"
            )
        right_of_way = RightOfWay(
            met_conflicts, accepted_s, front_m, waits_at_start=offset_m != 0.0
        )
        vehicle = FollowLane(
            new, self, path, driver, outline_m, right_of_way, start_s, initial_mps, start_m
        )
        return vehicle, vehicle.pose_at(0.0)

    def _lanes_of_route(self, road: Optional[RoadSpec]) -> List[LaneSpec]:
        if road is None:
            raise SpecError(
                f"actor {self.name!r}: the behavior 'follow_lane' needs lanes, but the campaign "
                "has no road; add 'road'"
            )
        route = self.route or road.route
        try:
            check_route(route, road.by_name)
        except ValueError as error:
            raise SpecError(f"actor {self.name!r}: {error}") from error
        return [road.by_name[name] for name in route]

    def _priority_lanes(self, road: Optional[RoadSpec]) -> List[Lane]:
        assert road is not None, "checked with the route"
        return [join_lanes([road.by_name[name]]) for name in self.give_way_to]


def _outline_of(spec: ActorSpec) -> np.ndarray:
    shape = placed_model(sdf_of(spec), spec.name, Pose()).footprint(-math.inf, math.inf)
    return shapely.get_coordinates(shape)


def pull_out_path(lane: Lane, start_m: float, offset_m: float, pull_out_m: float) -> CenterLine:
    """Return the path of a vehicle that pulls out from the side of a lane.

    The path starts at the arc length ``start_m``, ``offset_m`` to the left of the center, which it
    reaches after ``pull_out_m``.
    """
    line = CenterLine(lane.center_m)
    corners = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line.points_m, axis=0).T))])
    arcs = [[start_m], corners[corners > start_m]]
    if offset_m:
        arcs.append(np.arange(start_m, min(start_m + pull_out_m, line.length_m), SPACING_M))
    arcs_m = np.unique(np.concatenate(arcs))
    # a polynomial of degree 5 has a continuous curvature at both ends
    share = np.clip((arcs_m - start_m) / pull_out_m, 0.0, 1.0)
    beside_m = offset_m * (1.0 - share**3 * (10.0 - 15.0 * share + 6.0 * share**2))
    points, headings = line.at(arcs_m)
    normals = np.column_stack([-np.sin(headings), np.cos(headings)])
    return CenterLine(points + beside_m[:, None] * normals)


class FollowLane(Actor):
    """A vehicle on a path, which starts at the arc length ``start_m`` of the route."""

    def __init__(
        self,
        new: NewActor,
        spec: FollowLaneSpec,
        path: CenterLine,
        driver: IntelligentDriver,
        outline_m: np.ndarray,
        right_of_way: RightOfWay,
        start_s: float,
        initial_speed_mps: float,
        start_m: float,
    ) -> None:
        super().__init__(new.name, spec.tags)
        self._spec, self.path, self.driver, self.start_m = spec, path, driver, start_m
        self._outlines, self._delay_s = new.outlines, start_s
        self._initial_mps = initial_speed_mps
        self._front_m, self._rear_m = float(outline_m[:, 0].max()), float(outline_m[:, 0].min())
        self._half_width_m = float(np.abs(outline_m[:, 1]).max())
        self._obstacles_m = _obstacles_on(
            path, 2 * self._half_width_m, self._front_m, new.ground.surroundings
        )
        self._right_of_way = right_of_way
        self.reset()

    @property
    @override
    def activity(self) -> str:
        return f"follow_lane, {self._activity}"

    def reset(self) -> None:
        self.arc_m, self.speed_mps = 0.0, 0.0
        self._start_s: Optional[float] = None
        self._activity = "waits"
        self._right_of_way.reset()

    def pose_at(self, arc_m: float) -> Pose2D:
        # Front and rear are on the path, so that the heading is continuous at corners.
        arcs_m = np.array([arc_m + self._rear_m, arc_m, arc_m + self._front_m])
        rear, (x_m, y_m), front = self.path.at(arcs_m)[0].tolist()
        return Pose2D(x_m, y_m, math.atan2(front[1] - rear[1], front[0] - rear[0]))

    def act(self, context: StepContext) -> None:
        if not self._is_started(context):
            self.stop()
            return
        if self._spec.at_end == "delete" and self.arc_m >= self.path.length_m:
            self.delete()
            return
        accel = self._acceleration(context)
        driven_m, self.speed_mps = advance(self.speed_mps, accel, context.duration_s)
        self.arc_m += driven_m
        goal, here = self.pose_at(self.arc_m), self.planar
        duration_s = context.duration_s
        turn = wrap_angle(goal.yaw_rad - here.yaw_rad) / duration_s
        speed = ((goal.x_m - here.x_m) / duration_s, (goal.y_m - here.y_m) / duration_s, 0.0)
        self.set_twist(speed, (0.0, 0.0, turn))

    def _is_started(self, context: StepContext) -> bool:
        if self._start_s is None:
            limit_m = self._spec.trigger_distance_m
            if limit_m is None:
                self._start_s = self._delay_s
            elif self.nearest("robot") <= limit_m:
                self._start_s = context.time_s + self._delay_s
        if self._start_s is None or context.time_s < self._start_s - 1e-9:
            return False
        if self._activity == "waits":
            self.speed_mps, self._activity = self._initial_mps, "drives"
        return True

    def _acceleration(self, context: StepContext) -> float:
        """Return the largest acceleration (m/s²) that the free road, the models ahead, obstacles
        and the right of way all permit, and update the activity."""
        driver, speed_mps, front_m = self.driver, self.speed_mps, self.arc_m + self._front_m
        models = list(self._other_models(context))
        are_velocities_known = context.before is not None
        accel, self._activity = driver.acceleration(speed_mps), "drives"
        for gap_m, leader_mps in self._leaders(models, are_velocities_known):
            accel_behind = driver.acceleration(speed_mps, gap_m, leader_mps)
            if accel_behind < accel:
                accel, self._activity = accel_behind, "follows"
        still_m = [place_m - front_m for place_m in self._obstacles_m]
        if self._spec.at_end == "stop":
            still_m.append(self.path.length_m - self.arc_m + driver.standstill_gap_m)
        braking = (driver.deceleration_mps2, MOST_BRAKING_MPS2)
        right_of_way = self._right_of_way
        if not are_velocities_known or right_of_way.waits(models, front_m, speed_mps, braking):
            still_m.append(right_of_way.stop_m - front_m + driver.standstill_gap_m)
            self._activity = "gives way"
        return min([accel, *(driver.acceleration(speed_mps, gap_m) for gap_m in still_m)])

    def _other_models(self, context: StepContext) -> Iterator[OtherModel]:
        for name, outline_m in self._outlines.items():
            state = context.state(name)
            if name != self.name and state is not None:
                yield outline_m, state.pose.planar, context.velocity_mps(name)[:2]

    def _leaders(
        self, models: List[OtherModel], are_velocities_known: bool
    ) -> Iterator[Tuple[float, float]]:
        """Yield the gap (m) to each model ahead, and its speed along the path (m/s).

        Without known velocities, the speed is that of this vehicle.
        """
        lowest_m = max(0.0, self.arc_m + self._rear_m)
        for outline_m, pose, velocity in models:
            if self.planar.distance_to(pose.x_m, pose.y_m) > LOOK_AHEAD_M:
                continue
            occupied = occupancy(self.path, outline_m, pose, velocity, lowest_m, LOOK_AHEAD_M)
            center_m = self.arc_m + 0.5 * (self._front_m + self._rear_m)
            if occupied.center_m > center_m and occupied.is_within(self._half_width_m + SIDE_M):
                speed_mps = occupied.speed_mps if are_velocities_known else self.speed_mps
                yield occupied.rear_m - self.arc_m - self._front_m, speed_mps


def _obstacles_on(
    path: CenterLine, width_m: float, front_m: float, surroundings: ObstacleOutlines
) -> Tuple[float, ...]:
    """Return the sorted arc lengths beyond ``front_m`` of obstacles that a vehicle of ``width_m``
    would touch."""
    strip = shapely.LineString(path.points_m).buffer(width_m / 2, cap_style="flat")
    starts = [
        min(path.arc_of(x_m, y_m) for x_m, y_m in shapely.get_coordinates(part).tolist())
        for part in surroundings.parts_in(strip)
    ]
    return tuple(sorted(start for start in starts if start > front_m))
