"""The Dynamic Window Approach of the ROS navigation stack: values on paper, and doors."""

import math

import numpy as np
import pytest
import shapely

from gz_testauto.base.observation import LaserScan, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.planners.costmap import LocalCostmap
from gz_testauto.planners.detour import DetourPlanner
from gz_testauto.planners.dwa import DynamicWindow, OscillationFlags
from gz_testauto.planners.interface import Observation, RobotLimits, Task
from gz_testauto.planners.sweep import ConvexFootprint
from gz_testauto.planners.trajectories import (
    Distances,
    Weights,
    rollout,
    trajectory_costs,
    velocity_samples,
)
from gz_testauto.testing.planner_drive import Lidar, Start, TaskSimulation, straight_waypoints

SQUARE = ((-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2))
ORIGIN = Pose2D(0.0, 0.0, 0.0)


def costmap(points_m=(), width=4.0, footprint=SQUARE):
    """Return a costmap around the origin, with an obstacle at each point."""
    found = LocalCostmap(ConvexFootprint(footprint), width, 0.1, 0.5, 3.0)
    found.move_to(ORIGIN)
    ends = np.array(points_m, dtype=float).reshape(-1, 2)
    found.add_scan(np.zeros(2), ends, np.ones(len(ends), bool))
    found.inflate()
    return found


def cell(grid, x_m, y_m):
    return tuple(grid.cells_of(np.array([[x_m, y_m]]))[0])


@pytest.mark.parametrize(
    "lowest, highest, count, expected",
    [
        (-0.3, 0.3, 4, [-0.3, -0.1, 0.0, 0.1, 0.3]),
        (-0.2, 0.2, 3, [-0.2, 0.0, 0.2]),
        (0.1, 0.3, 1, [0.1, 0.3]),
        (0.5, 0.5, 7, [0.5]),
    ],
)
def test_velocity_samples_are_even_and_contain_zero(lowest, highest, count, expected):
    assert velocity_samples(lowest, highest, count) == pytest.approx(expected)


def test_trajectory_follows_an_arc_in_small_straight_steps():
    steps = np.array([1000, 1000])
    x, y, cos, sin = rollout(ORIGIN, np.array([[1.0, 0.0], [1.0, 1.0]]), steps, 2.0)
    assert (x[0, -1], y[0, -1]) == pytest.approx((1.998, 0.0))
    assert (x[1, -1], y[1, -1]) == pytest.approx((math.sin(2.0), 1 - math.cos(2.0)), abs=3e-3)
    assert math.atan2(sin[1, -1], cos[1, -1]) == pytest.approx(1.998)


def test_costs_decrease_with_the_distance_from_an_obstacle():
    grid = costmap([(1.05, 0.05)])
    row, column = cell(grid, 1.05, 0.05)
    around = grid.costs[row, column - 6 : column + 1].tolist()
    # inscribed radius 0.2 m; 252 exp(-3 (d - 0.2)) at d = 0.5, 0.4 and 0.3 m
    assert around == [0, 102, 138, 186, 253, 253, 254]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_cost_is_that_of_the_nearest_obstacle(share):
    grid = LocalCostmap(ConvexFootprint(SQUARE), 4.0, 0.1, 0.7, 3.0)
    grid._marked[:] = np.random.default_rng(1).random(grid._marked.shape) < share
    grid._marked[7, 3:30] = grid._marked[3:30, 15] = 1
    grid.inflate()
    cells, obstacles = np.argwhere(grid._marked < 2), np.argwhere(grid._marked)
    away_m = 0.1 * np.hypot(*(cells[:, None] - obstacles).T).min(axis=0)
    radius_m = grid._footprint.inscribed_radius_m
    expected = np.floor(252 * np.exp(-3.0 * (away_m - radius_m)))
    expected[away_m <= radius_m], expected[away_m > 0.7], expected[away_m == 0] = 253, 0, 254
    assert grid.costs.ravel().tolist() == expected.tolist()


def test_a_ray_clears_the_cells_in_front_of_its_end():
    grid = costmap([(1.05, 0.05)])
    grid.add_scan(np.zeros(2), np.array([[1.55, 0.05], [0.05, 1.5]]), np.array([True, False]))
    grid.inflate()
    assert grid.costs[cell(grid, 1.05, 0.05)] < 254
    assert grid.costs[cell(grid, 1.55, 0.05)] == 254
    assert grid.costs[cell(grid, 0.05, 1.5)] == 0


def test_obstacles_remain_where_they_are_when_the_robot_moves():
    grid = costmap([(1.05, 0.05)])
    grid.move_to(Pose2D(0.73, -0.41, 1.0))
    grid.inflate()
    assert grid.costs[cell(grid, 1.05, 0.05)] == 254
    grid.move_to(Pose2D(1.05, 0.05, 0.0))  # the robot itself is there now
    grid.inflate()
    assert not grid.costs.any()


def test_distances_lead_around_obstacles():
    wall = [(0.55, y) for y in np.arange(-0.95, 0.96, 0.1)]
    grid = costmap(wall)
    targets = np.array([cell(grid, 1.55, 0.05)])
    steps = grid.distances(targets)
    cells = grid.costs.size
    assert steps[tuple(targets[0])] == 0
    assert steps[cell(grid, 1.45, 0.15)] == 2
    assert steps[cell(grid, 0.75, 0.05)] == cells
    # 15 cells along x, and twice 12 along y to the end of the inflated wall
    assert steps[cell(grid, 0.05, 0.05)] > 15 + 2 * 11
    closed = costmap([(0.55, y) for y in np.arange(-1.95, 1.96, 0.1)])
    assert closed.distances(targets)[cell(closed, 0.05, 0.05)] == cells + 1


def test_path_leads_around_obstacles_or_ends_at_the_nearest_cell():
    grid = costmap([(0.55, y) for y in np.arange(-0.95, 0.96, 0.1)])
    start, target = np.array(cell(grid, 0.05, 0.05)), np.array(cell(grid, 1.55, 0.05))
    path = grid.path(start, target)
    assert tuple(path[0]) == tuple(start) and tuple(path[-1]) == tuple(target)
    assert (grid.costs[path[:, 0], path[:, 1]] < 253).all()
    assert np.abs(np.diff(path, axis=0)).max() == 1
    closed = costmap([(0.55, y) for y in np.arange(-1.95, 1.96, 0.1)])
    end = closed.path(start, target)[-1]
    assert closed.centers_m(end[None])[0] == pytest.approx([0.25, 0.05])


def test_points_within_reach_are_on_the_map_wherever_the_robot_is():
    for cells in (20, 21):
        grid = LocalCostmap(ConvexFootprint(SQUARE), 0.1 * cells, 0.1, 0.5, 3.0)
        for x_m in np.linspace(-1.0, 1.0, 41):
            grid.move_to(Pose2D(x_m, -x_m, 0.0))
            around = grid.reach_m * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
            assert grid.contains(grid.cells_of(np.array([x_m, -x_m]) + around)).all()


def detour(wall_m, waypoints_m, robot=ORIGIN):
    """Return the path on a costmap of 20 m in which the points of a wall were detected."""
    wide = LocalCostmap(ConvexFootprint(SQUARE), 20.0, 0.1, 0.5, 3.0)
    local = LocalCostmap(ConvexFootprint(SQUARE), 4.0, 0.1, 0.5, 3.0)
    ends = np.array(wall_m, dtype=float).reshape(-1, 2)
    for grid in (wide, local):
        grid.move_to(robot)
        grid.add_scan(np.zeros(2), ends, np.ones(len(ends), bool))
        grid.inflate()
    return DetourPlanner(np.array(waypoints_m), wide, 10).path(robot, local, 99.0)


def test_path_leads_around_a_wall_that_is_longer_than_the_local_costmap():
    wall = [(4.05, y) for y in np.arange(-8.95, 4.96, 0.1)]
    path = detour(wall, [(0.0, 0.0), (9.0, 0.0)])
    assert path[-1] == pytest.approx([8.95, 0.05], abs=0.11)
    crossing = path[np.argmin(np.abs(path[:, 0] - 4.05))]
    assert 5.0 < crossing[1] < 6.0  # the nearer end of the wall, which is outside of the local map


def test_path_is_the_global_plan_while_it_is_free():
    plan = [(0.0, 0.0), (0.0, 3.0), (6.0, 3.0), (6.0, 0.0)]  # longer than the direct path
    assert detour([], plan)[:, 1].max() == pytest.approx(3.0)
    assert detour([], plan, Pose2D(0.8, 0.0, 0.0))[:, 1].max() == pytest.approx(3.0)
    assert detour([], plan, Pose2D(1.2, 0.0, 0.0))[:, 1].max() < 0.2
    blocked = [(2.05, y) for y in np.arange(2.05, 4.0, 0.1)]
    assert detour(blocked, plan)[:, 1].max() < 2.0


def test_planner_finds_its_path_when_the_plan_is_at_the_edge_of_the_costmap():
    waypoints = np.array([[3.0, 0.0], [9.0, 0.0]])
    for y_m in np.linspace(-2.1, 2.1, 43):
        for x_m in np.linspace(1.0, 1.2, 9):
            robot = Pose2D(x_m, y_m, 0.0)
            wide = LocalCostmap(ConvexFootprint(SQUARE), 4.0, 0.1, 0.5, 3.0)
            wide.move_to(robot)
            assert len(DetourPlanner(waypoints, wide, 10).path(robot, wide, 1.0)) > 0


WEIGHTS = Weights(0.03, 0.04, 0.03, 0.04, 0.003)


def costs_of(grid, twists, scale=1.0, footprint=SQUARE):
    """Return the costs of trajectories of 1 s along x, with a path and a goal ahead."""
    path = grid.cells_of(np.column_stack([np.arange(0.05, 1.9, 0.1), np.full(19, 0.05)]))
    distances = Distances(*(grid.distances(part) for part in (path, path[-1:], path[-1:])))
    twists, steps = np.array(twists, dtype=float), np.full(len(twists), 10)
    outlines = np.array(footprint), np.full(len(twists), scale)
    return trajectory_costs(
        Pose2D(0.05, 0.05, 0.0), twists, steps, 1.0, outlines, grid, distances, 0.3, WEIGHTS
    )


def test_cost_is_the_weighted_sum_of_distances_and_the_largest_cost():
    free = costs_of(costmap(), [(1.0, 0.0)])
    # the last pose is at 0.95 m and its nose at 1.25 m; the goal is in the cell at 1.85 m
    assert free[0] == pytest.approx(0.03 * 0 + 0.04 * 9 + 0.03 * 0 + 0.04 * 6)
    beside = costs_of(costmap([(0.55, 0.65)]), [(1.0, 0.0)])
    assert beside[0] == pytest.approx(free[0] + 0.003 * 138)  # 0.4 m from the outline


@pytest.mark.parametrize(
    "points, scale, valid",
    [
        ([(1.55, 0.05)], 1.0, True),
        ([(1.05, 0.05)], 1.0, False),  # the outline reaches 1.15 m
        ([(0.55, 0.25)], 1.0, False),
        ([(0.55, 0.35)], 1.0, True),
        ([(0.55, 0.35)], 1.6, False),
    ],
)
def test_trajectory_is_invalid_if_the_outline_touches_an_obstacle(points, scale, valid):
    assert np.isfinite(costs_of(costmap(points), [(1.0, 0.0)], scale)[0]) == valid


def test_trajectory_that_leaves_the_costmap_is_invalid():
    assert np.isfinite(costs_of(costmap(), [(1.0, 0.0), (2.5, 0.0)])).tolist() == [True, False]


def test_oscillation_is_prevented_until_the_robot_has_moved():
    flags = OscillationFlags(0.05, 0.2)
    left, right = np.array([[0.0, 0.5]]), np.array([[0.0, -0.5]])
    flags.update(ORIGIN, Twist2D(0.0, 0.5), 0.1)
    assert flags.allow(left)[0] and flags.allow(right)[0]
    flags.update(ORIGIN, Twist2D(0.0, -0.5), 0.1)
    assert flags.allow(right)[0] and not flags.allow(left)[0]
    flags.update(Pose2D(0.02, 0.0, -0.1), Twist2D(0.0, -0.5), 0.1)
    assert not flags.allow(left)[0]
    flags.update(Pose2D(0.02, 0.0, -0.3), Twist2D(0.0, -0.5), 0.1)
    assert flags.allow(left)[0]


def test_a_robot_that_drives_can_change_the_direction_of_its_turn():
    flags = OscillationFlags(0.05, 0.2)
    for rate in (0.5, -0.5):
        flags.update(ORIGIN, Twist2D(0.5, rate), 0.1)
    assert flags.allow(np.array([[0.5, 0.5], [0.5, -0.5]])).all()


LIMITS = RobotLimits(SQUARE)


def observed(planner, points_m, time_s=0.0, pose=ORIGIN):
    """Let the planner plan with a scan of points, and return its command."""
    points = np.array(points_m, dtype=float)
    bearings = np.arctan2(points[:, 1], points[:, 0])
    ranges = np.full(361, np.inf)
    rays = np.round((bearings + math.pi) / (2 * math.pi) * 360).astype(int)
    ranges[rays] = np.hypot(points[:, 0], points[:, 1])
    scan = LaserScan(time_s, -math.pi, math.pi, 0.1, 10.0, ranges)
    return planner.plan(Observation(time_s, pose, Twist2D(), scan))


def test_a_scan_is_added_at_the_pose_of_its_time():
    planner = DynamicWindow()
    goal = Pose2D(5.0, 0.0, 0.0)
    planner.begin(Task(goal, 0.3, straight_waypoints(ORIGIN, goal), LIMITS))
    observed(planner, [(2.0, 0.0)])
    later = Pose2D(0.4, 0.0, 0.6)
    scan = LaserScan(0.05, 0.0, 0.0, 0.1, 10.0, np.array([2.0]))
    planner.plan(Observation(0.1, later, Twist2D(), scan))
    between = 0.2 + 2.0 * np.array([math.cos(0.3), 0.0])[0], 2.0 * math.sin(0.3)
    assert planner._map.costs[cell(planner._map, *between)] == 254


def wall_with_door(width_m):
    """Return the outlines of a wall across the path, with a door in the straight path."""
    sides = ((-6.0, -width_m / 2), (width_m / 2, 6.0))
    return [shapely.box(3.0, low, 3.2, high) for low, high in sides]


U_SHAPE = [
    shapely.box(4.0, -1.1, 4.2, 1.1),
    shapely.box(2.5, 0.9, 4.0, 1.1),
    shapely.box(2.5, -1.1, 4.0, -0.9),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "outlines", [wall_with_door(0.6), U_SHAPE], ids=["door of 1.5 widths", "U-shape"]
)
def test_planner_passes_a_narrow_door_and_a_u_shape(outlines):
    goal = Pose2D(7.0, 0.0, 0.0)
    lidar = Lidar(Pose(), math.radians(135.0))
    drive = TaskSimulation(
        DynamicWindow(),
        Task(goal, 0.3, straight_waypoints(ORIGIN, goal), LIMITS, 0.1),
        lambda time_s, pose: lidar.see(time_s, pose, outlines),
        Start(pose=ORIGIN),
    )
    drive.run_to_goal(60.0, outlines)
