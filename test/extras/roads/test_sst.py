"""The search of ``sst`` and ``dki_sst``: what it returns is what the model does, and is allowed."""

import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import affinity

from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.roads.center_line import CenterLine
from gz_testauto.extras.roads.sst.model import (
    NO_OBJECTS,
    Costs,
    Growth,
    Objects,
    Trajectory,
    Vehicle,
)
from gz_testauto.extras.roads.sst.planner import track, vehicle_of
from gz_testauto.extras.roads.sst.road import Lane, road_section
from gz_testauto.extras.roads.sst.search import Search
from gz_testauto.extras.roads.sst.tree import (
    SearchScene,
    are_separate,
    distance,
    integrate_edge,
    replay,
)
from gz_testauto.planners.interface import RobotLimits

STRAIGHT = [Lane(np.array([[0.0, y], [200.0, y]]), np.full(2, 3.5)) for y in (-1.75, 1.75)]
ROOT = np.array([20.0, -1.75, 0.0, 5.0])


def plan(search=None, root=ROOT, lanes=STRAIGHT, seed=1, **more):
    search = Search(iterations=1000) if search is None else search
    return search.plan(root, lanes, float(root[0]), np.random.default_rng(seed), **more)


def objects_of_constant_velocity(sizes_m, poses, twists, duration_s):
    """Return objects with ``poses`` (n, 3) now and ``twists`` (n, 3) in the world frame."""
    times = Growth().step_s * np.arange(round(duration_s / Growth().step_s) + 1)
    return Objects(sizes_m, poses[:, None, :] + twists[:, None, :] * times[None, :, None])


def box(x_m, y_m, yaw_rad, length_m, width_m):
    shape = shapely.box(-length_m / 2, -width_m / 2, length_m / 2, width_m / 2)
    return affinity.translate(affinity.rotate(shape, yaw_rad, (0, 0), use_radians=True), x_m, y_m)


def empty_road():
    vehicle, growth = Vehicle(), Growth()
    road = road_section(STRAIGHT, 20.0, 50.0)
    sizes, poses = NO_OBJECTS.sizes_m, NO_OBJECTS.poses
    return SearchScene(vehicle, Costs(), growth, road, sizes, poses, np.zeros(1), 0.0)


class TestModel:
    @pytest.mark.slow
    def test_a_straight_drive_has_the_calculated_length(self):
        """Euler: x = sum of v_k T with v_k = 5 + 1.0 k T."""
        end, cost = integrate_edge(empty_road(), ROOT, 1.0, 0.0, 0, 10)
        assert end[0] == pytest.approx(20.0 + 0.04 * (50.0 + 0.04 * 45.0), abs=1e-12)
        assert end[3] == pytest.approx(5.4)
        assert cost > 0.0

    @pytest.mark.slow
    def test_a_steered_drive_follows_the_circle_of_its_wheelbase(self):
        """Radius L / tan δ, to first order in the step."""
        steer = 0.3
        steps = np.full(20, 10)
        states = replay(ROOT, np.tile([0.0, steer], (20, 1)), steps, 0.0004, 2.7)
        radius = 2.7 / math.tan(steer)
        center = ROOT[:2] + np.array([0.0, radius])
        assert np.hypot(*(states[:, :2] - center).T) == pytest.approx(radius, rel=1e-3)

    def test_the_cost_on_the_center_line_at_the_desired_speed_is_the_length(self):
        """The cost has a tolerance of half a cell's penalty, the resolution of the grid."""
        _, cost = integrate_edge(empty_road(), ROOT, 0.0, 0.0, 0, 10)
        assert 0.05 * 2.0 <= cost <= 2.0 * (0.05 + 0.2 * 100.0 * 0.05 / 1.75)

    def test_speed_and_penalty_are_integrated_over_the_path(self):
        root = np.array([20.0, -1.75 + 0.7, 0.0, 4.0])  # 0.7 m off: penalty 40
        _, cost = integrate_edge(empty_road(), root, 0.0, 0.0, 0, 10)
        assert cost == pytest.approx(1.6 * (0.05 + 0.5 * 1.0 + 0.2 * 40.0), rel=0.08)

    def test_the_cost_of_an_object_depends_on_its_heading(self):
        sizes, pose = np.array([[4.0, 2.0]]), np.array([[[32.35, -1.75, math.pi / 2]]])
        scene = empty_road()._replace(sizes_m=sizes, poses=pose)
        root = np.array([20.0, -1.75, 0.0, 5.0])
        _, with_object = integrate_edge(scene, root, 0.0, 0.0, 0, 1)
        # it is perpendicular: from 11 to 10.8 m to its side, where sigma is 2 m
        bells = [100.0 * math.exp(-0.5 * (off / 2.0) ** 2) for off in (11.0, 10.8)]
        _, without = integrate_edge(empty_road(), root, 0.0, 0.0, 0, 1)
        assert with_object - without == pytest.approx(0.2 * 2.0 * np.mean(bells), rel=1e-6)

    @pytest.mark.parametrize(
        "root",
        [
            [20.0, -3.6, 0.0, 5.0],  # off the road
            [20.0, -1.75, 0.0, -0.1],  # backward
            [20.0, -1.75, 0.0, 8.4],  # too fast
            [10.0, -1.75, 0.0, 5.0],  # before the stretch
        ],
    )
    def test_a_drive_off_the_road_is_rejected(self, root):
        assert integrate_edge(empty_road(), np.array(root), 0.0, 0.0, 0, 10)[1] == -1.0

    def test_the_line_between_two_lanes_can_be_crossed(self):
        root = np.array([20.0, -0.01, 0.0, 5.0])
        assert integrate_edge(empty_road(), root, 0.0, 0.0, 0, 10)[1] > 0.0

    @pytest.mark.slow
    @given(
        st.tuples(*[st.floats(-4, 4)] * 4),
        st.floats(-math.pi, math.pi),
        st.floats(-math.pi, math.pi),
        st.floats(0.2, 5),
        st.floats(0.2, 5),
    )
    def test_rectangles_intersect_as_in_shapely(self, places, yaw, other_yaw, length, width):
        x, y, other_x, other_y = places
        first, second = box(x, y, yaw, 4.5, 1.8), box(other_x, other_y, other_yaw, length, width)
        if 0.0 < first.distance(second) < 1e-6 or 0.0 < first.intersection(second).area < 1e-6:
            return
        pose = np.array([other_x, other_y, other_yaw])
        size = np.array([length, width])
        ours = are_separate(x, y, math.cos(yaw), math.sin(yaw), 2.25, 0.9, pose, size)
        assert ours == (not first.intersects(second))

    def test_the_distance_between_states_depends_on_position_heading_and_speed(self):
        first = np.array([0.0, 0.0, math.pi - 0.1, 1.0])
        second = np.array([3.0, 4.0, -math.pi + 0.1, 3.0])
        assert distance(first, second) == pytest.approx(5.0 + 0.5 * 0.2 + 2.0)


class TestRoad:
    def test_a_center_line_is_parameterized_by_arc_length_and_extended_at_its_ends(self):
        line = CenterLine(np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]))
        assert line.length_m == 7.0
        points, headings = line.at(np.array([-1.0, 1.0, 5.0, 8.0]))
        assert points == pytest.approx(np.array([[-1, 0], [1, 0], [3, 2], [3, 5]]))
        assert headings == pytest.approx([0.0, 0.0, math.pi / 2, math.pi / 2])
        assert line.arc_of(3.5, 1.0) == pytest.approx(4.0)
        assert line.arc_of(3.5, 1.0, lowest_m=5.0) == 5.0
        assert line.arc_of(3.0, 4.0, reach_m=2.0) == 2.0

    def test_the_penalty_increases_to_the_edge_of_the_road(self):
        road = road_section(STRAIGHT, 20.0, 50.0)

        def at(grid, x_m, y_m):
            row, column = np.round((np.array([y_m, x_m]) - road.origin_m[::-1]) / road.cell_m)
            return grid[int(row), int(column)]

        assert at(road.penalty, 30.0, -1.75) == pytest.approx(0.0, abs=3.0)
        assert at(road.penalty, 30.0, 1.75 + 0.875) == pytest.approx(50.0, abs=3.0)
        assert at(road.penalty, 30.0, 0.0) == pytest.approx(98.0, abs=3.0)
        assert at(road.penalty, 30.0, 0.0) < 99.0
        assert at(road.penalty, 30.0, 3.6) == 100.0
        assert at(road.arc_m, 41.3, 0.9) == pytest.approx(41.3, abs=0.1)
        assert road.aside_m == pytest.approx([-1.75, 5.25])

    def test_the_free_distance_is_the_distance_to_the_nearest_static_point(self):
        road = road_section(STRAIGHT, 20.0, 50.0, points_m=np.array([[30.0, 0.0], [900.0, 0.0]]))
        row, column = np.round((np.array([0.0, 33.0]) - road.origin_m[::-1]) / road.cell_m)
        assert road.free_distance_m[int(row), int(column)] == pytest.approx(3.0, abs=0.1)


class TestSearch:
    @pytest.mark.slow
    @settings(max_examples=15, deadline=None)
    @given(
        st.integers(0, 2**20),
        st.booleans(),
        st.tuples(st.floats(35, 60), st.floats(-3, 3), st.floats(-3, 3), st.floats(-2, 2)),
    )
    def test_a_replayed_plan_has_its_states_within_limits_and_without_collision(
        self, seed, informed, mover
    ):
        x_m, y_m, along_mps, across_mps = mover
        objects = objects_of_constant_velocity(
            np.array([[1.0, 0.6]]),
            np.array([[x_m, y_m, 0.3]]),
            np.array([[along_mps, across_mps, 0.0]]),
            12.0,
        )
        search = Search(iterations=600, lane_branch=informed)
        planned = plan(search, seed=seed, objects=objects)
        if planned is None:
            return
        growth, vehicle = search.growth, search.vehicle
        again = replay(ROOT, planned.controls, planned.steps, growth.step_s, vehicle.wheelbase_m)
        assert np.array_equal(again, planned.states)
        assert np.all(planned.controls[:, 0] >= -vehicle.max_braking_mps2)
        assert np.all(planned.controls[:, 0] <= vehicle.max_accel_mps2)
        assert np.all(np.abs(planned.controls[:, 1]) <= vehicle.max_steer_rad)
        assert np.all(
            (planned.states[:, 3] >= 0.0) & (planned.states[:, 3] <= vehicle.max_speed_mps)
        )
        assert np.all(np.abs(planned.states[:, 1]) <= 3.5 + search.cell_m)
        assert 48.0 - 0.1 <= planned.states[-1, 0] <= 52.0 + 0.1
        for number, (x, y, yaw, _) in enumerate(planned.states):
            body = box(
                x + vehicle.center_m * math.cos(yaw),
                y + vehicle.center_m * math.sin(yaw),
                yaw,
                vehicle.length_m,
                vehicle.width_m,
            )
            pose = objects.poses[0, min(number, objects.poses.shape[1] - 1)]
            assert not body.buffer(-1e-9).intersects(box(*pose, 1.0, 0.6))
        assert search.price(planned, STRAIGHT, 20.0, objects) == pytest.approx(
            planned.cost, rel=1e-9
        )

    @pytest.mark.slow
    def test_the_same_seed_gives_an_identical_plan(self):
        first, second = plan(seed=7), plan(seed=7)
        assert np.array_equal(first.states, second.states)
        assert not np.array_equal(first.states, plan(seed=8).states)

    @pytest.mark.slow
    def test_more_iterations_do_not_increase_the_cost_of_the_plan(self):
        """Of one seed each, in the mean: what is kept is the cheapest."""
        costs = [
            np.mean([plan(Search(iterations=n, lane_branch=False), seed=s).cost for s in range(6)])
            for n in (1000, 4000)
        ]
        assert costs[1] < costs[0]

    @pytest.mark.slow
    def test_plans_on_a_free_road_reproduce_the_published_results(self):
        """Scenario I: at least 60 % less of each criterion."""
        found = {}
        for informed in (False, True):
            search = Search(iterations=3000, lane_branch=informed, previous_branch=informed)
            trajectories = [plan(search, seed=seed) for seed in range(5)]
            found[informed] = np.mean([criteria(planned) for planned in trajectories], axis=0)
        assert np.all(found[True] < 0.4 * found[False])
        assert np.all(found[True] < [0.2, 0.12, 0.12])

    def test_a_plan_avoids_static_objects_and_scan_points(self):
        standing = objects_of_constant_velocity(
            np.array([[4.5, 1.8]]), np.array([[36.0, -2.1, 0.0]]), np.zeros((1, 3)), 12.0
        )
        by_object = plan(Search(iterations=4000), objects=standing)
        edge = np.linspace(-3.0, -1.2, 40)
        points = np.column_stack([np.full(40, 34.0), edge])
        by_points = plan(Search(iterations=4000), points_m=points)
        for planned in (by_object, by_points):
            assert planned is not None
            assert planned.states[:, 1].max() > -0.6

    @pytest.mark.slow
    def test_the_previous_plan_is_continued_from_the_current_state(self):
        search = Search(iterations=1, lane_branch=False)
        last = plan(seed=3)
        root = last.states[14].copy()
        random = np.random.default_rng(0)
        again = search.plan(root, STRAIGHT, 20.0, random, previous=last)
        assert np.array_equal(again.states, last.states[14:])

    def test_a_previous_plan_far_from_the_current_state_is_not_continued(self):
        search = Search(iterations=1, lane_branch=False)
        root = plan(seed=3).states[14] + np.array([0.0, 1.1, 0.0, 0.0])
        random = np.random.default_rng(0)
        assert search.plan(root, STRAIGHT, 20.0, random, previous=plan(seed=3)) is None

    def test_a_plan_before_a_blocked_road_has_the_required_length(self):
        wall = np.column_stack([np.full(80, 40.0), np.linspace(-4.0, 4.0, 80)])
        assert plan(points_m=wall) is None
        short = plan(points_m=wall, least_m=3.0)
        assert 23.0 < short.states[-1, 0] < 40.0
        assert plan(points_m=wall, least_m=25.0) is None


def criteria(planned):
    accel = np.repeat(np.abs(planned.controls[:, 0]), planned.steps).mean()
    speed = np.abs(planned.states[:, 3] - 5.0).mean()
    return accel, speed, np.abs(np.abs(planned.states[:, 1]) - 1.75).mean()


class TestTrajectory:
    @pytest.fixture
    def planned(self):
        controls, steps = np.array([[0.5, 0.0], [-1.0, 0.1]]), np.array([10, 5])
        return Trajectory(controls, steps, replay(ROOT, controls, steps, 0.04, 2.7), 0.04, 1.0)

    def test_a_plan_has_a_state_for_each_time(self, planned):
        assert planned.duration_s == pytest.approx(0.6)
        assert np.array_equal(planned.state_at(0.0), ROOT)
        assert planned.state_at(0.06) == pytest.approx((planned.states[1] + planned.states[2]) / 2)
        assert np.array_equal(planned.state_at(9.0), planned.states[-1])
        assert planned.control_at(0.39).tolist() == [0.5, 0.0]
        assert planned.control_at(0.41).tolist() == [-1.0, 0.1]
        assert planned.control_at(9.0).tolist() == [-1.0, 0.1]
        assert planned.left_m(0.0) == pytest.approx(
            np.hypot(*np.diff(planned.states[:, :2], axis=0).T).sum()
        )

    def test_a_remaining_plan_can_start_within_an_edge(self, planned):
        rest = planned.later(12)
        assert rest.steps.tolist() == [3]
        assert np.array_equal(rest.states, planned.states[12:])
        assert len(planned.later(99).steps) == 0


class TestTracking:
    @pytest.mark.parametrize("off", [(0.5, 0.0, 0.0), (0.0, 0.4, 0.0), (0.0, 0.0, 0.2)])
    def test_a_vehicle_next_to_its_path_returns_to_it(self, off):
        vehicle, steps = Vehicle(), np.full(60, 10)
        states = replay(ROOT, np.zeros((60, 2)), steps, 0.04, vehicle.wheelbase_m)
        planned = Trajectory(np.zeros((60, 2)), steps, states, 0.04, 0.0)
        x, y, yaw = ROOT[:3] + off
        for period in range(200):
            pose = Pose2D(x, y, yaw)
            speed, rate = track(planned, 0.1 * period, 0.1, pose, vehicle)
            for _ in range(10):
                x += 0.01 * speed * math.cos(yaw)
                y += 0.01 * speed * math.sin(yaw)
                yaw += 0.01 * rate
        assert (x, y, yaw) == pytest.approx(tuple(planned.state_at(20.0)[:3]), abs=0.05)


def test_lengths_are_scaled_so_that_the_robot_has_the_speed_of_the_papers_car():
    limits = RobotLimits(((0.6, 0.3), (-0.2, 0.3), (-0.2, -0.3), (0.6, -0.3)), 1.0, 1.5, 1.0)
    vehicle = vehicle_of(limits, unit_m=0.2)
    assert vehicle.max_speed_mps == pytest.approx(5.0)
    assert (vehicle.length_m, vehicle.width_m, vehicle.center_m) == pytest.approx((4.0, 3.0, 1.0))
    assert vehicle.wheelbase_m == pytest.approx(2.4)
    # at its fastest it turns no faster than it can: 5 / 2.4 tan δ is at most 1.5
    assert vehicle.max_steer_rad == pytest.approx(min(0.5, math.atan(1.5 * 2.4 / 5.0)))
