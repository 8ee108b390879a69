"""Drawn missions: positions in the free area, and a path of a permitted length between them."""

import math

import numpy as np
import pytest
import shapely

from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.sampling.missions import MissionRobot, MissionSampler
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.floor import ANY_ROBOT
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.missions import MissionsSpec

RADIUS_M = 0.4
ROBOT = MissionRobot(RADIUS_M, ANY_ROBOT, tolerance_m=0.3)
# A room of 12 m x 8 m, divided at x = 6 by a wall with a door of 1.2 m at y from 1 to 2.2, and a
# closed cell of 1 m x 1 m in the corner.
BOXES = [
    (0, 0, 12, 0.2),
    (0, 7.8, 12, 8),
    (0, 0, 0.2, 8),
    (11.8, 0, 12, 8),
    (6, 0, 6.2, 1),
    (6, 2.2, 6.2, 8),
]


def scene(boxes=BOXES):
    shapes = "".join(
        f'<collision name="c{n}"><pose>{(a + c) / 2} {(b + d) / 2} 0.5 0 0 0</pose><geometry><box>'
        f"<size>{c - a} {d - b} 1</size></box></geometry></collision>"
        for n, (a, b, c, d) in enumerate(boxes)
    )
    model = f'<model name="m"><static>1</static><link name="l">{shapes}</link></model>'
    return read_scene(
        SdfDocument.parse(f'<sdf version="1.6"><world name="w">{model}</world></sdf>')
    )


def drawn(count=40, boxes=BOXES, occupied=(), **keys):
    sampler = MissionSampler(scene(boxes), MissionsSpec.model_validate(keys), ROBOT, occupied)
    return [sampler.draw(np.random.default_rng(seed)) for seed in range(count)]


def walls(boxes=BOXES):
    return shapely.union_all([shapely.box(*box) for box in boxes])


def straight_m(mission):
    return math.dist(mission.start[:2], mission.goals[-1][:2])


def test_missions_are_inside_of_a_building_at_the_default_distance_from_walls():
    points = [pose[:2] for mission in drawn() for pose in (mission.start, *mission.goals)]
    distances_m = shapely.distance(walls(), shapely.points(points))
    assert distances_m.min() >= RADIUS_M + 0.3
    assert distances_m.min() < RADIUS_M + 0.5  # nearer positions are not excluded
    inside = shapely.box(0, 0, 12, 8)
    assert shapely.contains(inside, shapely.points(points)).all()
    assert {x > 6 for x, _ in points} == {True, False}


def test_path_through_the_door_has_the_length_of_its_corners():
    """The path passes the door, and is the exact path around its edges, rounded by the radius."""
    crossing = [m for m in drawn() if (m.start[0] < 6) != (m.goals[0][0] < 6)]
    assert len(crossing) > 5
    for mission in crossing:
        door = [(6.1, 1 + RADIUS_M), (6.1, 2.2 - RADIUS_M)]
        through = min(
            math.dist(mission.start[:2], p) + math.dist(p, mission.goals[0][:2]) for p in door
        )
        assert mission.shortest_path_m >= straight_m(mission)
        assert mission.shortest_path_m == pytest.approx(through, rel=0.05)
        tortuosity = mission.shortest_path_m / straight_m(mission)
        assert mission.difficulty.tortuosity == pytest.approx(tortuosity)
        assert mission.difficulty.narrowest_gap_m == pytest.approx(1.2)
        assert mission.difficulty.density is None


def test_a_door_that_is_too_narrow_is_not_passed():
    narrow = [*BOXES[:4], (6, 0, 6.2, 1), (6, 1.75, 6.2, 8)]
    assert all((m.start[0] < 6) == (m.goals[0][0] < 6) for m in drawn(boxes=narrow))


def test_length_of_the_path_is_within_the_interval_and_above_the_tolerance():
    assert all(7.0 <= mission.shortest_path_m <= 8.5 for mission in drawn(path_m=[7.0, 8.5]))
    nearest_m = min(straight_m(mission) for mission in drawn(count=100, path_m=[0.0, 0.6]))
    assert 0.3 < nearest_m < 0.6


def test_start_and_goal_are_in_their_regions_and_via_counts():
    missions = drawn(
        start={"rectangle": {"x_m": [1, 2], "y_m": [1, 3]}},
        goal=[{"circle": {"x_m": 9, "y_m": 4, "radius_m": 0.5}}],
        via=2,
    )
    for mission in missions:
        x, y, _ = mission.start
        assert 1 <= x <= 2 and 1 <= y <= 3
        assert len(mission.goals) == 3
        assert all(math.dist((9, 4), goal[:2]) <= 0.5 for goal in mission.goals)


def test_clearance_is_that_of_the_key():
    points = [pose[:2] for m in drawn(clearance_m=1.5) for pose in (m.start, *m.goals)]
    assert shapely.distance(walls(), shapely.points(points)).min() >= 1.5


def test_positions_are_not_in_occupied_areas():
    area = shapely.box(0, 3, 12, 8)
    assert all(max(m.start[1], m.goals[0][1]) <= 3 for m in drawn(occupied=[area]))


def test_heading_is_that_of_the_path_or_drawn():
    open_room = BOXES[:4]
    for mission in drawn(boxes=open_room, heading="along_path"):
        dx, dy = np.subtract(mission.goals[0][:2], mission.start[:2])
        assert mission.start[2] == pytest.approx(math.atan2(dy, dx), abs=1e-5)
        assert mission.goals[0][2] == mission.start[2]
    headings = np.array([m.start[2] for m in drawn(count=200, boxes=open_room)])
    assert abs(headings).max() <= math.pi and np.histogram(headings, 4)[0].min() > 30


def test_headings_along_a_path_with_several_goals_are_those_of_its_legs():
    for mission in drawn(boxes=BOXES[:4], heading="along_path", via=2):
        points = [mission.start, *mission.goals]
        legs = [np.subtract(b[:2], a[:2]) for a, b in zip(points, points[1:])]
        angles = [math.atan2(dy, dx) for dx, dy in legs]
        assert [pose[2] for pose in points] == pytest.approx([angles[0], *angles], abs=1e-5)


def test_outer_corner_of_a_building_is_not_used():
    corners = [(0, 0), (10, 0), (10, 4), (4, 4), (4, 10), (0, 10), (0, 0)]
    boxes = [
        (min(a, c) - 0.1, min(b, d) - 0.1, max(a, c) + 0.1, max(b, d) + 0.1)
        for (a, b), (c, d) in zip(corners, corners[1:])
    ]
    points = np.array([pose[:2] for m in drawn(boxes=boxes) for pose in (m.start, *m.goals)])
    assert not (points > 4).all(axis=1).any()
    assert (points > 4).any(axis=0).all()  # both wings


def test_open_world_uses_the_bounds_of_its_shapes():
    posts = [(0, 0, 0.2, 0.2), (10, 6, 10.2, 6.2)]
    points = np.array([pose[:2] for m in drawn(boxes=posts) for pose in (m.start, *m.goals)])
    assert (points >= 0).all() and (points <= (10.2, 6.2)).all()
    assert np.ptp(points, axis=0) == pytest.approx((10, 6), abs=1.5)


@pytest.mark.parametrize(
    ("keys", "error", "match"),
    [
        (
            {"clearance_m": 0.3},
            SpecError,
            "below|radius of the robot's circumscribed circle is 0.4",
        ),
        ({"path_m": [30, 40]}, PlacementError, "path of 30 to 40 m were found: .1. widen path_m"),
        ({"clearance_m": 5.0}, PlacementError, r"missions\.start: no position is 5 m from all"),
        (
            {"goal": {"circle": {"x_m": 6.1, "y_m": 6, "radius_m": 0.2}}},
            PlacementError,
            r"missions\.goal: no position is 0.7 m from all shapes; enlarge the region",
        ),
    ],
)
def test_missions_that_do_not_fit_are_refused_by_name(keys, error, match):
    with pytest.raises(error, match=match):
        drawn(count=1, **keys)


def test_a_world_without_shapes_needs_regions():
    with pytest.raises(PlacementError, match="set start and goal to regions"):
        drawn(count=1, boxes=[])
    region = {"rectangle": {"x_m": [0, 5], "y_m": [0, 5]}}
    (mission,) = drawn(count=1, boxes=[], start=region, goal=region)
    assert mission.shortest_path_m == pytest.approx(straight_m(mission))
    assert mission.difficulty.mean_clearance_m is None
