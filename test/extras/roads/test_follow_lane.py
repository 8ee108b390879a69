"""Vehicles follow a lane, keep their distance, and give way, compared with closed forms."""

import math
from pathlib import Path
from typing import List

import numpy as np
import pytest
import shapely

from gz_testauto.actors.creation import ActorPlacementArea, ObstacleOutlines, create_actors
from gz_testauto.actors.hook import StepContext
from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.extras.roads.car_following import IntelligentDriver, advance, occupancy
from gz_testauto.extras.roads.center_line import CenterLine
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.loader import parse
from gz_testauto.spec.model import Spec
from gz_testauto.spec.road import RoadSpec
from gz_testauto.testing.simulator_suite import WORLD

STEP_S = 0.1
LENGTH_M = 4.5
ROAD = """
lanes:
  - {name: east, center_m: [[0, 0], [600, 0]], successors: [north], left: west}
  - {name: west, center_m: [[600, 3.5], [0, 3.5]], left: east}
  - {name: north, center_m: [[600, 0], [600, 300]]}
  - {name: across, center_m: [[300, -200], [300, 200]]}
  - {name: ramp, center_m: [[200, -60], [260, 0]], successors: [joined]}
  - {name: joined, center_m: [[260, 0], [600, 0]]}
  - {name: far, center_m: [[0, 90], [600, 90]]}
route: [east]
"""
ROBOT = np.array([[-1.0, -0.9], [3.5, -0.9], [3.5, 0.9], [-1.0, 0.9]])
DRIVER = IntelligentDriver(12.0, 1.6, 2.0, 0.73, 1.67)


class Actors(Spec):
    actors: List[ActorSpec]


def created(lines, obstacles=None, seed=0, world=0, road=ROAD):
    """Return the actors of these lines of YAML."""
    items = [line if "behavior" in line else f"behavior: follow_lane, {line}" for line in lines]
    text = "actors:\n" + "\n".join(f"  - {{{item}}}" for item in items)
    area = ActorPlacementArea(
        ObstacleOutlines(obstacles or {}),
        Pose2D(0.0, 90.0),
        2.0,
        robots={"robot": ROBOT},
        road=parse(road, RoadSpec, Path("road.yaml")) if road else None,
    )
    specs = parse(text, Actors, Path("actors.yaml")).actors
    return create_actors(specs, seed, world, 0, area)


class Traffic:
    """Actors that move exactly as they request. ``robot`` returns the pose of the robot at a
    time."""

    def __init__(self, lines, robot=lambda time_s: Pose2D(0.0, -90.0), **keys):
        self.actors = {actor.name: actor for actor in created(lines, **keys)}
        self._robot = robot
        self.poses = {actor.name: actor.models[0].pose for actor in self.actors.values()}
        self.snapshot, self._before = self._at(0.0), None

    def _at(self, time_s):
        poses = {**self.poses, "robot": self._robot(time_s).to_pose()}
        return Snapshot(time_s, {name: ModelState(pose) for name, pose in poses.items()}, {})

    def step(self):
        arguments = (self.snapshot, STEP_S, lambda: None, self._before)
        context = StepContext(*arguments, robot="robot", actors=self.actors)
        for actor in self.actors.values():
            actor.before_step(context)
        for change in context.changes:
            pose = self.poses[change.name]
            x, y, z = np.array(pose.position) + STEP_S * np.array(change.linear_mps)
            yaw_rad = pose.yaw_rad + STEP_S * change.angular_radps[2]
            self.poses[change.name] = Pose.from_rpy(x, y, z, 0.0, 0.0, yaw_rad)
        for name in context.to_delete:
            del self.poses[name]
        self._before, self.snapshot = self.snapshot, self._at(self.snapshot.time_s + STEP_S)

    def run(self, duration_s):
        """Return the poses of the actors after each step, as arrays (n, 3) by name."""
        found = {name: [] for name in self.actors}
        for _ in range(round(duration_s / STEP_S)):
            self.step()
            for name, pose in self.poses.items():
                found[name].append((*pose.position[:2], pose.yaw_rad))
        return {name: np.array(poses) for name, poses in found.items()}


def gaps(first, second):
    """Return the gaps (m) between two cars that drive one behind the other along x."""
    return first[:, 0] - second[:, 0] - LENGTH_M


def equilibrium_gap_m(speed_mps):
    """Return the gap (m) at which a driver follows a leader of a constant speed."""
    gap_m = DRIVER.standstill_gap_m + speed_mps * DRIVER.headway_s
    return gap_m / math.sqrt(1.0 - (speed_mps / DRIVER.desired_speed_mps) ** 4)


class TestIntelligentDriver:
    @pytest.mark.parametrize("speed_mps", [0.0, 3.0, 11.0])
    def test_acceleration_is_zero_at_the_equilibrium_gap(self, speed_mps):
        gap_m = equilibrium_gap_m(speed_mps)
        assert DRIVER.acceleration(speed_mps, gap_m, speed_mps) == pytest.approx(0.0, abs=1e-12)
        assert DRIVER.acceleration(speed_mps, 0.9 * gap_m, speed_mps) < -0.05

    def test_acceleration_on_a_free_road_decreases_to_zero_at_the_desired_speed(self):
        found = [DRIVER.acceleration(speed) for speed in (0.0, 6.0, 12.0)]
        assert found == pytest.approx([0.73, 0.73 * (1 - 0.5**4), 0.0])

    def test_acceleration_is_that_of_the_formula_of_treiber(self):
        desired = 2.0 + 10.0 * 1.6 + 10.0 * 4.0 / (2.0 * math.sqrt(0.73 * 1.67))
        expected = 0.73 * (1 - (10 / 12) ** 4 - (desired / 50.0) ** 2)
        assert DRIVER.acceleration(10.0, 50.0, 6.0) == pytest.approx(expected, rel=1e-12)

    def test_faster_leader_does_not_reduce_the_desired_gap_below_that_at_rest(self):
        expected = 0.73 * (1 - (5 / 12) ** 4 - (2.0 / 10.0) ** 2)
        assert DRIVER.acceleration(5.0, 10.0, 30.0) == pytest.approx(expected, rel=1e-12)

    def test_braking_is_limited_even_if_vehicles_overlap(self):
        assert DRIVER.acceleration(10.0, -1.0, 0.0) == -8.0

    def test_vehicle_that_brakes_to_a_stop_stays_at_rest(self):
        assert advance(1.0, -8.0, 1.0) == pytest.approx((1.0 / 16.0, 0.0))
        assert advance(2.0, 1.0, 2.0) == pytest.approx((6.0, 4.0))


def test_occupancy_contains_the_extent_and_the_speed_along_a_line():
    line = CenterLine(np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 10.0]]))
    seen = occupancy(line, ROBOT, Pose2D(9.0, 5.0, math.pi / 2), (3.0, 2.0))
    assert (seen.rear_m, seen.front_m) == pytest.approx((14.0, 18.5))
    assert (seen.right_m, seen.left_m) == pytest.approx((0.1, 1.9))
    assert seen.speed_mps == pytest.approx(2.0)
    behind = occupancy(line, ROBOT, Pose2D(-7.0, 0.0, math.pi), (1.0, 0.0))
    assert (behind.rear_m, behind.front_m) == pytest.approx((-10.5, -6.0))


class TestFollowing:
    def test_gap_behind_a_car_of_constant_speed_is_that_of_the_closed_form(self):
        leader = "name: leader, behavior: script, waypoints_m: [[60, 0], [2000, 0]], speed_mps: 8"
        body = "body: {size_m: [4.5, 1.8, 1.4]}"
        follower = "name: car, start_m: 20, speed_mps: 12, initial_speed_mps: 8"
        road = ROAD.replace("600", "2000")
        paths = Traffic([f"{leader}, {body}", follower], road=road).run(120.0)
        last = gaps(paths["leader"], paths["car"])[-50:]
        assert last == pytest.approx(equilibrium_gap_m(8.0), abs=1e-3)

    def test_free_car_reaches_its_desired_speed_and_turns_with_its_lane(self):
        lane = "lanes: [{name: bend, center_m: [[0, 0], [100, 0], [100, 100]]}]\nroute: [bend]"
        line = "name: car, start_m: 40, speed_mps: 9, initial_speed_mps: 9, at_end: delete"
        path = Traffic([line], road=lane).run(10.0)["car"]
        assert np.diff(path[:40, 0]) / STEP_S == pytest.approx(9.0)
        assert path[-1] == pytest.approx([100.0, 40.0 + 90.0 - 100.0, math.pi / 2], abs=1e-9)
        assert np.abs(np.diff(path[:, 2])).max() < 0.5  # the heading does not jump at the corner

    @pytest.mark.parametrize("at_end", ["stop", "delete"])
    def test_car_at_the_end_of_its_route_stops_or_is_deleted(self, at_end):
        line = f"name: car, start_m: 560, speed_mps: 10, initial_speed_mps: 10, at_end: {at_end}"
        traffic = Traffic([line])
        path = traffic.run(40.0)["car"]
        assert path[:, 0].max() <= 600.0 + (0.2 if at_end == "stop" else 1.0)
        assert ("car" in traffic.poses) == (at_end == "stop")
        assert path[-1, 0] > 599.5

    def test_platoon_that_brakes_for_an_obstacle_does_not_collide(self):
        line = (
            "name: car, count: 4, start_m: 250, gap_m: [22, 26], speed_mps: 14, "
            "initial_speed_mps: 13"
        )
        wall = {"wall": shapely.box(330.0, -2.0, 331.0, 2.0)}
        paths = Traffic([line], obstacles=wall).run(25.0)
        for number in range(3):
            between = gaps(paths[f"car_{number}"], paths[f"car_{number + 1}"])
            assert between.min() > 0.5
            assert between[-1] == pytest.approx(2.0, abs=0.4)
        assert 330.0 - paths["car_0"][-1, 0] - LENGTH_M / 2 == pytest.approx(2.0, abs=0.4)

    def test_platoon_does_not_collide_if_its_leader_stops_immediately(self):
        stop = "[[160, 0], [250, 0], [250.001, 0]], speeds_mps: [10, 0.0001]"
        leader = f"name: leader, behavior: script, waypoints_m: {stop}"
        cars = "name: car, count: 3, start_m: 136, gap_m: 18, speed_mps: 14, initial_speed_mps: 10"
        paths = Traffic([f"{leader}, body: {{size_m: [4.5, 1.8, 1.4]}}", cars]).run(22.0)
        names = ["leader", *(f"car_{number}" for number in range(3))]
        for first, second in zip(names, names[1:]):
            assert gaps(paths[first], paths[second]).min() > 0.2

    def test_car_stops_behind_the_robot_and_for_a_walker_in_its_lane(self):
        walker = "name: walker, behavior: script, waypoints_m: [[80, 0]]"
        cars = ["name: car, start_m: 20, speed_mps: 10", walker]
        assert Traffic(cars).run(40.0)["car"][-1, 0] == pytest.approx(75.5, abs=0.3)
        robot = Traffic(cars[:1], robot=lambda time_s: Pose2D(60.0, 0.3))
        assert robot.run(40.0)["car"][-1, 0] == pytest.approx(60.0 - 1.0 - 2.0 - 2.25, abs=0.3)

    def test_car_ignores_models_next_to_its_lane_and_behind(self):
        others = [
            "name: beside, behavior: script, waypoints_m: [[60, -1.5]]",
            "name: oncoming, route: [west], start_m: 300, speed_mps: 5, initial_speed_mps: 5",
            "name: slow, start_m: 5, speed_mps: 1",
        ]
        line = "name: car, start_m: 20, speed_mps: 9, initial_speed_mps: 9, at_end: delete"
        assert np.diff(Traffic([line, *others]).run(20.0)["car"][:, 0]) == pytest.approx(0.9)


class TestGivingWay:
    CROSSING = "name: car, route: [across], start_m: 150, speed_mps: 8, give_way_to: [east]"

    def crosses_at(self, traffic):
        """Return the times at which the front of the car enters and its rear leaves the lane."""
        path = traffic.run(60.0)["car"][:, 1]
        enters, leaves = np.argmax(path + 2.25 > -1.75), np.argmax(path - 2.25 > 1.75)
        return STEP_S * enters, STEP_S * leaves if leaves else math.inf

    def test_car_that_yields_to_the_robot(self):
        free, _ = self.crosses_at(Traffic([self.CROSSING]))
        arrival_s = free + 3.0

        def robot(time_s):
            return Pose2D(300.0 + 10.0 * (time_s - arrival_s), 0.0)

        enters, _ = self.crosses_at(Traffic([self.CROSSING], robot=robot))
        assert enters > arrival_s + 0.3  # the robot has passed
        careless = self.CROSSING.split(", give_way")[0]
        assert self.crosses_at(Traffic([careless], robot=robot))[0] == pytest.approx(free)

    @pytest.mark.parametrize(("gap_s", "goes_first"), [(2.0, True), (6.2, False)])
    def test_car_enters_if_the_gap_is_at_least_the_accepted_one(self, gap_s, goes_first):
        line = f"{self.CROSSING}, accepted_gap_s: {gap_s}"
        free, _ = self.crosses_at(Traffic([line]))
        arrival_s = free + 5.0
        robot = lambda time_s: Pose2D(295.0 + 10.0 * (time_s - arrival_s), 0.0)  # noqa: E731
        enters, left = self.crosses_at(Traffic([line], robot=robot))
        assert (enters < arrival_s) == goes_first
        if goes_first:
            assert left < arrival_s

    def test_car_waits_while_the_lane_is_blocked_and_enters_afterwards(self):
        def robot(time_s):
            return Pose2D(300.0, 0.0) if time_s < 30.0 else Pose2D(0.0, -90.0)

        enters, _ = self.crosses_at(Traffic([self.CROSSING], robot=robot))
        assert 30.0 < enters < 34.0

    def test_car_also_gives_way_to_models_that_drive_against_the_lane(self):
        free, _ = self.crosses_at(Traffic([self.CROSSING]))
        robot = lambda time_s: Pose2D(300.0 - 10.0 * (time_s - free - 3.0), 0.0, math.pi)  # noqa: E731
        enters, _ = self.crosses_at(Traffic([self.CROSSING], robot=robot))
        assert enters > free + 3.0

    @pytest.mark.slow
    def test_car_merges_behind_a_platoon_without_a_collision(self):
        platoon = (
            "name: main, count: 3, start_m: 200, gap_m: 18, speed_mps: 10, initial_speed_mps: 10"
        )
        merging = (
            "name: car, route: [ramp, joined], start_m: 20, speed_mps: 10, initial_speed_mps: 6, "
            "give_way_to: [east]"
        )
        paths = Traffic([platoon, merging]).run(25.0)
        boxes = {name: [body(pose) for pose in path] for name, path in paths.items()}
        for name in paths:
            if name != "car":
                near = [a.distance(b) for a, b in zip(boxes["car"], boxes[name])]
                assert min(near) > 1.0
        assert paths["car"][-1, 0] < paths["main_2"][-1, 0]
        assert paths["car"][-1, 1] == pytest.approx(0.0, abs=1e-9)


class TestPullingOut:
    PARKED = "name: parked, start_m: 100, offset_m: -2.8, speed_mps: 8"

    def test_parked_car_pulls_out_to_the_center_of_its_lane(self):
        path = Traffic([self.PARKED]).run(20.0)["parked"]
        after = path[:, 0] > 120.0 + 2.25
        assert path[after, 1] == pytest.approx(0.0, abs=1e-3)
        assert path[:, 1].max() < 1e-3
        turning = np.abs(np.diff(path[:, 2])) / np.maximum(np.hypot(*np.diff(path[:, :2].T)), 1e-9)
        assert turning[np.hypot(*np.diff(path[:, :2].T)) > 1e-2].max() < 0.1  # curvature, 1/m

    @pytest.mark.slow
    def test_parked_car_pulls_out_after_approaching_traffic(self):
        cars = "name: car, count: 3, start_m: 60, gap_m: 15, speed_mps: 10, initial_speed_mps: 10"
        paths = Traffic([cars, self.PARKED]).run(20.0)
        starts = int(np.argmax(paths["parked"][:, 0] > 100.01))
        assert paths["car_2"][starts, 0] > 95.0
        for number in range(3):
            pairs = zip(paths["parked"], paths[f"car_{number}"])
            assert min(body(a).distance(body(b)) for a, b in pairs) > 0.5

    def test_parked_car_waits_while_the_robot_is_next_to_its_path(self):
        robot = lambda time_s: Pose2D(107.0, 0.85 if time_s < 10.0 else 90.0)  # noqa: E731
        path = Traffic([self.PARKED], robot=robot).run(12.0)["parked"]
        assert path[99, 0] == 100.0
        assert path[-1, 0] > 100.1

    def test_parked_car_waits_for_its_trigger_and_its_delay(self):
        line = f"{self.PARKED}, trigger_distance_m: 40, start_s: 2"
        robot = lambda time_s: Pose2D(50.0 + time_s, -90.0 if time_s < 5.0 else 20.0)  # noqa: E731
        path = Traffic([line], robot=robot).run(20.0)["parked"]
        near_s = next(
            t
            for t in np.arange(0, 20, 0.1)
            if math.hypot(100 - robot(t).x_m, 22.8) <= 40 and t >= 5
        )
        moves = int(np.argmax(path[:, 0] > 100.0 + 1e-9))
        assert STEP_S * moves == pytest.approx(near_s + 2.0, abs=0.15)

    def test_parked_car_that_reaches_into_the_lane_still_checks_the_traffic(self):
        line = self.PARKED.replace("-2.8", "-2.0")  # its left side is 0.65 m inside the lane
        robot = lambda time_s: Pose2D(60.0 + 10.0 * time_s, 1.0)  # noqa: E731
        path = Traffic([line], robot=robot).run(10.0)["parked"]
        assert path[30, 0] == 100.0
        assert path[-1, 0] > 101.0


def body(pose):
    """Return the outline of a car at a pose."""
    corners = np.array([[-2.25, -0.9], [2.25, -0.9], [2.25, 0.9], [-2.25, 0.9]])
    return shapely.Polygon(Pose2D(*pose).apply(corners))


class TestCreation:
    CARS = "name: car, count: 4, start_m: [300, 400], gap_m: [5, 30], speed_mps: [6, 12]"

    def test_cars_of_one_entry_start_one_behind_the_other_with_drawn_gaps(self):
        cars = created([self.CARS])
        between = -np.diff([car.start_m for car in cars]) - LENGTH_M
        assert ((between >= 5.0) & (between <= 30.0)).all()
        assert len({car.driver.desired_speed_mps for car in cars}) == 4

    def test_draws_depend_on_the_world_and_the_seed_only(self):
        def starts(**keys):
            return [car.start_m for car in created([self.CARS], **keys)]

        assert starts() == starts()
        assert starts(world=1) != starts()
        assert starts(seed=1) != starts()
        more = created(["name: other, start_m: 5, speed_mps: 3", self.CARS])
        assert [car.start_m for car in more[1:]] == starts()

    @pytest.mark.parametrize(
        ("line", "error", "names"),
        [
            ("start_m: 700", PlacementError, ("700.0", "600.0", "start_m")),
            ("count: 3, start_m: 20", PlacementError, ("'car_1'", "gap_m")),
            ("start_m: 5, give_way_to: [far]", PlacementError, ("give_way_to",)),
            ("start_m: 5, route: [east, far]", SpecError, ("'far'", "successor")),
        ],
    )
    def test_impossible_start_or_route_is_rejected(self, line, error, names):
        with pytest.raises(error) as rejected:
            created([f"name: car, speed_mps: 5, {line}"])
        assert all(name in str(rejected.value) for name in names)

    def test_unknown_lanes_are_rejected_with_the_line_before_the_trials(self):
        road = parse(ROAD, RoadSpec, Path("road.yaml"))
        for key, lane in (("route", "[oest]"), ("give_way_to", "[west, oest]")):
            text = (
                "actors:\n  - name: car\n    behavior: follow_lane\n    start_m: 1\n"
                f"    speed_mps: 5\n    {key}: {lane}\n"
            )
            (actor,) = parse(text, Actors, Path("actors.yaml")).actors
            with pytest.raises(SpecError, match=rf"actors.yaml:6: .*{key}.*'oest'"):
                actor.check_road(road)

    def test_campaign_without_a_road_is_rejected(self):
        text = "actors:\n  - {name: car, behavior: follow_lane, start_m: 1, speed_mps: 5}"
        (actor,) = parse(text, Actors, Path("actors.yaml")).actors
        with pytest.raises(SpecError, match=r"actors.yaml:2: .*no road"):
            actor.check_road(None)


@pytest.mark.parametrize(
    "simulator", ["embedded", pytest.param("gazebo", marks=[pytest.mark.gazebo, pytest.mark.slow])]
)
def test_cars_in_a_simulator_drive_as_they_would_alone(tmp_path, simulator):
    from gz_testauto.actors.simulation import ActorSimulation

    lines = [
        "name: car, count: 2, start_m: 40, gap_m: 12, speed_mps: 8, initial_speed_mps: 6",
        "name: parked, start_m: 80, offset_m: -2.8, speed_mps: 6",
    ]
    expected = Traffic(lines)
    actors = created(lines)
    world = tmp_path / "street.world"
    world.write_text(WORLD.format(models=""))
    models = tuple(actor.models[0] for actor in actors)
    with open_simulator(simulator) as opened:
        simulation = ActorSimulation(opened.load(Scene(world, None, models=models)), actors)
        for _ in range(60):
            expected.step()
            snapshot = simulation.step(STEP_S)
        for name, pose in expected.poses.items():
            found = snapshot.models[name].pose
            assert found.position[:2] == pytest.approx(pose.position[:2], abs=1e-6)
            assert found.yaw_rad == pytest.approx(pose.yaw_rad, abs=1e-6)
