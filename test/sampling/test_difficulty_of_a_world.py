"""The difficulty of worlds whose values are known on paper."""

import math

import numpy as np
import pytest
import shapely
import shapely.affinity

from gz_testauto.base.errors import PlacementError
from gz_testauto.grid.search import path_length_m
from gz_testauto.sampling.difficulty import DifficultyEvaluator
from gz_testauto.sampling.outline import Outline
from gz_testauto.sampling.site import RequiredMission, Site, check_base, circumscribed_radius_m
from gz_testauto.spec.regions import KeepOut

GROUND = shapely.box(0, 0, 10, 10)
MISSION = RequiredMission((-5.0, 0.0), (5.0, 0.0), 0.5)
PATH = np.array([[-5.0, 0.0], [5.0, 0.0]])
WALL = shapely.box(-20, 2, 20, 3)


def difficulty(outlines, *walls, covered_m2=0.0):
    evaluator = DifficultyEvaluator(Site(walls, MISSION), 0.0, GROUND)
    return evaluator.difficulty(outlines, covered_m2, PATH)


def test_an_empty_world_has_neither_clearance_nor_gap():
    found = difficulty([])
    assert (found.density, found.mean_clearance_m, found.narrowest_gap_m) == (0.0, None, None)


def test_mean_clearance_along_a_wall_is_the_distance_to_the_wall():
    found = difficulty([], WALL)
    assert found.mean_clearance_m == pytest.approx(2.0)
    assert found.narrowest_gap_m is None


def test_mean_clearance_uses_points_every_20_centimeters():
    found = difficulty([Outline.disc(0.0, 3.0, 1.0)])
    x_m = np.linspace(-5.0, 5.0, 51)
    assert found.mean_clearance_m == pytest.approx((np.hypot(x_m, 3.0) - 1.0).mean(), rel=1e-12)


def test_clearance_is_the_distance_to_the_nearest_wall_or_obstacle():
    beyond = difficulty([Outline.disc(0.0, 9.0, 1.0)], WALL)
    assert beyond.mean_clearance_m == pytest.approx(2.0)
    ring = shapely.box(-6, -2, 6, -1).difference(shapely.box(-1, -1.8, 1, -1.2))
    nearer = difficulty([Outline(ring), Outline.disc(0.0, 9.0, 1.0)], WALL)
    assert nearer.mean_clearance_m == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("y_m", "gap_m"), [(2.0, 3.0), (3.0, 5.0), (3.1, None), (0.5, None)]
)  # at 0.5 m the two discs touch
def test_gap_is_the_free_width_between_obstacles_up_to_five_meters(y_m, gap_m):
    posts = [Outline.disc(0.0, y_m, 0.5), Outline.disc(0.0, -y_m, 0.5)]
    assert difficulty(posts).narrowest_gap_m == (None if gap_m is None else pytest.approx(gap_m))


@pytest.mark.parametrize("radius_m", [0.25, 1.5, 6.0])
def test_a_gap_of_five_meters_is_found_between_obstacles_of_any_size(radius_m):
    posts = [Outline.disc(0.0, side * (radius_m + 2.5), radius_m) for side in (1.0, -1.0)]
    assert difficulty(posts).narrowest_gap_m == pytest.approx(5.0)


def test_obstacles_that_overlap_have_no_gap():
    posts = [Outline.disc(0.0, 0.3, 0.5), Outline.disc(0.0, -0.3, 0.5)]
    assert difficulty(posts).narrowest_gap_m is None


def test_mean_clearance_uses_equally_spaced_points():
    path = np.array([[0.0, 0.0], [0.5, 0.0]])  # three steps of 1/6 m
    evaluator = DifficultyEvaluator(Site((), MISSION), 0.0, GROUND)
    found = evaluator.difficulty([Outline.disc(0.0, 0.0, 0.0)], 1.0, path)
    assert found.mean_clearance_m == pytest.approx(0.25)
    skewed = evaluator.difficulty([Outline.disc(0.0, 1.0, 0.0)], 1.0, path)
    assert skewed.mean_clearance_m == pytest.approx(
        np.hypot(np.array([0.0, 0.5, 1.0, 1.5]) / 3.0, 1.0).mean(), rel=1e-12
    )


def test_narrowest_gap_is_one_that_the_path_crosses():
    posts = [
        Outline.disc(x, y, 0.5) for x, half in ((-3.0, 2.4), (3.0, 1.5)) for y in (half, -half)
    ]
    aside = [Outline.disc(8.0, 0.6, 0.5), Outline.disc(8.0, -0.6, 0.5)]
    assert difficulty(posts + aside).narrowest_gap_m == pytest.approx(2.0)


def test_a_gap_between_a_wall_and_an_obstacle_is_found():
    found = difficulty([Outline.disc(0.0, -1.5, 0.5)], WALL)
    assert found.narrowest_gap_m == pytest.approx(3.0)


def test_a_gap_between_two_walls_is_found():
    found = difficulty([], WALL, shapely.Polygon([(-1, -3), (1, -3), (0, -2)]))
    assert found.narrowest_gap_m == pytest.approx(4.0)


def test_gaps_between_walls_do_not_depend_on_earlier_paths():
    random = np.random.default_rng(4)
    walls = [
        shapely.box(x, y, x + 0.4, y + 0.3) for x, y in random.uniform(0.0, 20.0, (80, 2)).tolist()
    ]
    paths = random.uniform(0.0, 20.0, (8, 2, 2))
    used = DifficultyEvaluator(Site(walls, MISSION), 0.0, GROUND)
    narrowest_m = []
    for path in paths:
        new = DifficultyEvaluator(Site(walls, MISSION), 0.0, GROUND)
        narrowest_m.append(new.difficulty([], 0.0, path).narrowest_gap_m)
        assert used.difficulty([], 0.0, path).narrowest_gap_m == narrowest_m[-1]
        gaps_m = [  # all gaps, by brute force
            shapely.distance(first, second)
            for index, first in enumerate(walls)
            for second in walls[index + 1 :]
            if shapely.shortest_line(first, second).intersects(shapely.LineString(path))
        ]
        assert narrowest_m[-1] == min(gap for gap in gaps_m if gap > 1e-6)
    assert len(set(narrowest_m)) > 4


def test_density_is_the_covered_share_of_the_ground_without_walls():
    assert difficulty([], covered_m2=5.0).density == pytest.approx(0.05)
    wall = shapely.box(0, 5, 10, 20)
    assert difficulty([], wall, covered_m2=5.0).density == pytest.approx(0.1)
    evaluator = DifficultyEvaluator(Site((), MISSION), 0.0, GROUND)
    blocked = evaluator.difficulty([], 5.0, None)
    assert (blocked.density, blocked.mean_clearance_m, blocked.narrowest_gap_m) == (
        0.05,
        None,
        None,
    )


def test_the_shortest_path_visits_the_goals_in_order_with_the_margin():
    mission = RequiredMission((0.0, 0.0), (6.0, 0.0), 0.5, via=((3.0, 4.0),))
    assert mission.goals == ((3.0, 4.0), (6.0, 0.0))
    path = DifficultyEvaluator(Site((), mission), 0.0, GROUND).shortest_path([])
    assert path_length_m(path) == pytest.approx(10.0)
    posts = [Outline.disc(0.0, 2.25, 1.0), Outline.disc(0.0, -2.25, 1.0)]  # with a gap of 2.5 m
    closed = [Outline(shapely.box(-1, 1, 1, 60)), Outline(shapely.box(-1, -60, 1, -1))]
    for margin_m, direct in ((0.7, True), (0.8, False)):
        evaluator = DifficultyEvaluator(Site((), MISSION), margin_m, GROUND)
        found = path_length_m(evaluator.shortest_path(posts))
        assert (found == pytest.approx(10.0)) == direct
    narrow = DifficultyEvaluator(Site((), MISSION), 0.6, GROUND).shortest_path(closed)
    assert path_length_m(narrow) > 100.0


def test_search_area_has_a_margin_of_ten_meters_and_the_robot_radius():
    mission = RequiredMission((0.0, 0.0), (4.0, 2.0), 0.5, via=((-1.0, 0.0),))
    assert Site((), mission).area().bounds == (-11.5, -10.5, 14.5, 12.5)
    walls = (shapely.box(-5, -7, 0, 0),)
    assert Site(walls, mission).area().bounds == (-15.5, -17.5, 14.5, 12.5)
    wide = Site((), mission).area([shapely.box(0, 0, 20, 30)])
    assert wide.bounds == (-11.5, -10.5, 30.5, 40.5)


def test_keep_out_around_the_goal_applies_to_each_goal():
    mission = RequiredMission((0.0, 0.0), (4.0, 2.0), 0.5, via=((-1.0, 0.0),))
    zones = [KeepOut(center="start", radius_m=1.5), KeepOut(center="goal", radius_m=2.0)]
    found = [(core.x, core.y, radius) for core, radius in Site((), mission).keep_out(zones)]
    assert found == [(0.0, 0.0, 1.5), (-1.0, 0.0, 2.0), (4.0, 2.0, 2.0)]


def test_the_circumscribed_radius_is_the_distance_of_the_farthest_corner():
    assert circumscribed_radius_m([(0.1, 0.1), (-0.3, 0.4), (0.2, 0.0)]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("margin_m", "passes"),
    [(0.0, True), (0.5, True), (0.52, False)],
)
def test_a_corridor_must_be_as_wide_as_the_robot_with_its_margin(margin_m, passes):
    walls = [shapely.box(-50, 1, 50, 60), shapely.box(-50, -60, 50, -1)]
    mission = RequiredMission((-40.0, 0.0), (40.0, 0.0), 0.49)
    site = Site((*walls,), mission)
    if passes:
        assert check_base(site, margin_m).covers(shapely.Point(0.0, 1.5))
        return
    with pytest.raises(PlacementError, match=r"1\.00 m from .* margin_m$"):
        check_base(site, margin_m)


def test_solvable_without_a_mission_is_rejected():
    with pytest.raises(PlacementError, match="set 'mission'"):
        DifficultyEvaluator(Site(), 0.0, GROUND)


def test_difficulty_does_not_depend_on_the_origin():
    here = difficulty([Outline.disc(1.0, -2.0, 0.5)], WALL)
    shift = (100.0, -40.0)
    mission = RequiredMission(
        *(tuple(np.add(end, shift)) for end in (MISSION.start, MISSION.goal)), 0.5
    )
    wall = shapely.transform(WALL, lambda points: points + shift)
    ground = shapely.transform(GROUND, lambda points: points + shift)
    evaluator = DifficultyEvaluator(Site((wall,), mission), 0.0, ground)
    there = evaluator.difficulty([Outline.disc(101.0, -42.0, 0.5)], 0.0, PATH + shift)
    assert there.mean_clearance_m == pytest.approx(here.mean_clearance_m)
    assert there.narrowest_gap_m == pytest.approx(here.narrowest_gap_m)
    assert not math.isnan(there.mean_clearance_m)


def test_gaps_between_the_parts_of_one_obstacle_count():
    posts = shapely.union_all([shapely.box(-0.2, y, 0.2, y + 0.4) for y in (-1.4, 1.0)])
    assert difficulty([Outline(posts)]).narrowest_gap_m == pytest.approx(2.0)


def test_measures_of_barn_in_a_corridor_are_those_on_paper():
    walls = [shapely.box(-30, y, 30, y + 1) for y in (-2.8, 1.8)]
    found = difficulty([], *walls)
    # The robot's center has 1.3 m on each side of the path: 9 cells of 0.15 m.
    assert found.characteristic_dimension_m == pytest.approx(17 * 0.15)
    assert found.dispersion == 0.0
    assert found.tortuosity == 1.0
    open_m = difficulty([]).average_visibility_m
    assert open_m == pytest.approx(34 * 0.15 * (4 + 4 * math.sqrt(2)) / 8)
    mean_m = (2 * 34 + 9 + 10 + 2 * (9 + 10) * math.sqrt(2)) / 8 * 0.15
    assert found.average_visibility_m == pytest.approx(mean_m)


def test_tortuosity_is_the_length_of_the_path_over_the_distance_of_its_ends():
    evaluator = DifficultyEvaluator(Site((), MISSION), 0.0, GROUND)
    bent = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    assert evaluator.difficulty([], 0.0, bent).tortuosity == pytest.approx(7 / 5)
    closed = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 0.0]])
    found = evaluator.difficulty([], 0.0, closed)
    assert found.tortuosity is None
    assert found.dispersion == 0.0


def test_a_path_that_touches_an_obstacle_is_free():
    for side in (-1, 1):  # covers the centers of the cells along the path
        touching = shapely.box(-6, 0.41, 6, 1.5)
        touching = shapely.affinity.scale(touching, 1, side, origin=(0, 0))
        found = difficulty([Outline(touching)])
        assert found.dispersion >= 0
        assert found.characteristic_dimension_m >= 0


def test_grid_measures_are_omitted_for_paths_over_very_large_areas():
    evaluator = DifficultyEvaluator(Site((), MISSION), 0.0, GROUND)
    found = evaluator.difficulty([], 0.0, np.array([[0.0, 0.0], [700.0, 700.0]]))
    assert (found.average_visibility_m, found.dispersion) == (None, None)
    assert found.tortuosity == pytest.approx(1.0)
