"""Waypoints on a map, and lanes and waypoints of the road of a campaign."""

from pathlib import Path

import numpy as np
import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.planners.global_plan import (
    SPACING_M,
    lanes_of,
    lateral_offset_m,
    plan_legs,
    plan_waypoints,
    resample,
    waypoints_along,
)
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.spec.loader import load, parse
from gz_testauto.spec.road import RoadSpec

LIMITS = RobotLimits(footprint_m=((-0.3, -0.3), (0.3, -0.3), (0.3, 0.3), (-0.3, 0.3)))
ROAD = """
lanes:
  - {name: first, center_m: [[0, 0], [10, 0]], width_m: 3, left: oncoming, successors: [second]}
  - {name: second, center_m: [[10, 0], [10, 8], [14, 12]], width_m: [3, 4, 4]}
  - {name: oncoming, center_m: [[10, 3], [0, 3]], left: far}
  - {name: far, center_m: [[10, 6], [0, 6]]}
  - {name: elsewhere, center_m: [[50, 6], [60, 6]]}
route: [first, second]
"""


def road(text=ROAD):
    return parse(text, RoadSpec, Path("road.yaml"))


def test_lanes_of_the_route_are_joined_and_adjacent_lanes_follow():
    route, *adjacent = lanes_of(road())
    assert route.center_m.tolist() == [[0, 0], [10, 0], [10, 8], [14, 12]]
    assert route.width_m.tolist() == [3, 3, 4, 4]
    assert [lane.center_m[0].tolist() for lane in adjacent] == [[10, 3], [10, 6]]


def test_waypoints_follow_the_route_to_each_goal():
    lane = lanes_of(road())[0]
    goals = [Pose2D(9.5, 5.0), Pose2D(13.0, 11.0)]
    first, second = waypoints_along(lane, Pose2D(2.0, 0.5), goals, ["start", "goal 1", "goal 2"])
    assert first[0] == pytest.approx([2.0, 0.0])
    assert first[-1] == pytest.approx([10.0, 5.0])
    assert second[0] == pytest.approx(first[-1])
    assert second[-1] == pytest.approx([13.0, 11.0])
    steps = np.hypot(*np.diff(np.vstack([first, second[1:]]), axis=0).T)
    assert steps.max() <= 0.5 + 1e-9
    assert steps.sum() == pytest.approx(8.0 + 8.0 + np.hypot(3, 3))


def test_a_goal_behind_the_start_is_rejected_with_its_name():
    lane = lanes_of(road())[0]
    with pytest.raises(SpecError, match=r"goal \(2, 0\) is not after robot\.start"):
        waypoints_along(lane, Pose2D(8.0, 0.0), [Pose2D(2.0, 0.0)], ["robot.start", "goal"])


def test_lateral_offset_is_to_the_nearest_lane():
    found = lateral_offset_m(lanes_of(road()), np.array([[5.0, 1.0], [5.0, 2.0], [12.0, 4.0]]))
    assert found == pytest.approx([1.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[first, second]", "[first, third]"), "third"),
        (("[first, second]", "[second, first]"), "'first' is not a successor of 'second'"),
        (("left: far", "left: farther"), "farther"),
        (("name: far,", "name: first,"), "these appear twice: first"),
        (("[[10, 0], [10, 8]", "[[10, 1], [10, 8]"), "starts 1.00 m from the end of 'first'"),
        (("[3, 4, 4]", "[3, 4]"), "2 widths for 3 points"),
        (("[[50, 6], [60, 6]]", "[[50, 6]]"), "has 1 entries, too few; at least 2"),
        (("[[50, 6], [60, 6]]", "[[50, 6], [50, 6]]"), "two equal consecutive points"),
        (("width_m: 3,", "width_m: 0,"), "width_m"),
    ],
)
def test_invalid_road_is_rejected_with_line_and_name(change, message):
    with pytest.raises(SpecError, match=r"road\.yaml:\d+: .*" + message):
        road(ROAD.replace(*change))


def test_road_can_be_in_a_separate_file(tmp_path):
    (tmp_path / "road.yaml").write_text(ROAD)
    assert load(tmp_path / "road.yaml", RoadSpec) == road()


def test_resampling_keeps_corners_and_spacing():
    path = resample(np.array([[0.0, 0.0], [1.2, 0.0], [1.2, 0.4]]), 0.5)
    np.testing.assert_allclose(path, [[0, 0], [0.4, 0], [0.8, 0], [1.2, 0], [1.2, 0.4]])


def room(door_width_m):
    """10 m x 6 m with a wall at x = 5 m that leaves a door at its upper end."""
    occupied = np.zeros((60, 100), dtype=bool)
    occupied[[0, -1], :] = True
    occupied[:, [0, -1]] = True
    occupied[: 59 - round(door_width_m / 0.1), 50] = True
    return OccupancyGrid(occupied, 0.1, 0.0, 0.0)


def test_waypoints_pass_the_door_with_clearance_for_the_robot():
    grid, start, goal = room(2.0), Pose2D(2.0, 2.0), Pose2D(8.0, 2.0)
    waypoints = plan_waypoints(grid, start, goal, LIMITS, 0.2)
    np.testing.assert_allclose(waypoints[[0, -1]], [[2.0, 2.0], [8.0, 2.0]])
    steps = np.hypot(*np.diff(waypoints, axis=0).T)
    assert steps.max() <= SPACING_M + 1e-9
    clearance = grid.clearance_m()
    nearest = min(clearance[grid.cell_of(x, y)] for x, y in waypoints)
    assert nearest > LIMITS.circumscribed_radius_m + 0.2 - 0.1
    assert waypoints[:, 1].max() > 4.0


def test_unreachable_goal_has_no_waypoints():
    assert plan_waypoints(room(0.0), Pose2D(2, 2), Pose2D(8, 2), LIMITS, 0.2) is None
    assert plan_waypoints(room(0.3), Pose2D(2, 2), Pose2D(8, 2), LIMITS, 0.2) is None


def test_start_near_a_wall_has_a_path_without_the_margin():
    start = Pose2D(0.6, 3.0)
    waypoints = plan_waypoints(room(2.0), start, Pose2D(8, 2), LIMITS, 0.5)
    np.testing.assert_allclose(waypoints[0], [0.6, 3.0])


def test_legs_of_a_mission_have_their_paths_and_share_inflated_grids(monkeypatch):
    grid, inflate, radii_m = room(2.0), OccupancyGrid.inflate, []
    near_wall, left, right = Pose2D(0.6, 3.0), Pose2D(2, 2), Pose2D(8, 2, 1.0)
    legs = [(left, right), (right, left), (near_wall, left), (left, right)]
    single_paths = [plan_waypoints(grid, *leg, LIMITS, 0.5) for leg in legs]
    monkeypatch.setattr(
        OccupancyGrid, "inflate", lambda grid, m: radii_m.append(m) or inflate(grid, m)
    )
    paths = plan_legs(grid, legs, LIMITS, 0.5)
    for path, single_path in zip(paths, single_paths):
        assert np.array_equal(path, single_path)
    assert len(radii_m) == 2  # with the margin, and without it for the leg near the wall
    assert paths[0] is paths[3]
    assert plan_legs(grid, [(right, Pose2D(99, 2)), legs[0]], LIMITS, 0.5)[0] is None
