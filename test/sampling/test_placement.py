import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from gz_testauto.base.errors import PlacementError
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.grid.search import shortest_path
from gz_testauto.sampling.draws import Roster
from gz_testauto.sampling.naming import (
    ObstacleName,
    is_obstacle,
    obstacle_name,
    parse_obstacle_name,
)
from gz_testauto.sampling.placement import (
    Placer,
    _Form,
    _Ground,
    _Put,
    _Rules,
    place_obstacles,
)
from gz_testauto.sampling.seeds import child_generator
from gz_testauto.sampling.site import RequiredDrive, Site
from gz_testauto.sdf.floor import Heights
from gz_testauto.spec.loader import parse
from gz_testauto.spec.obstacles import ObstacleSpec

WALLS = tuple(
    shapely.box(*bounds)
    for bounds in ((-8, -8, 8, -7.8), (-8, 7.8, 8, 8), (-8, -8, -7.8, 8), (7.8, -8, 8, 8))
)
DRIVE = RequiredDrive((-7.0, -7.0), (7.0, 7.0), 0.5)
SITE = Site(WALLS, DRIVE)

FOREST = """
obstacles:
  - {type: box, count: [1, 5], size_x_m: [0.3, 1.5], size_y_m: [0.3, 1.5]}
  - {type: cylinder, count: 4, radius_m: {mean: 0.5, stddev: 0.2, min: 0.2, max: 0.9}}
  - {type: sphere, count: 2, radius_m: {choice: [0.2, 0.4]}, name: ball, static: false,
     region: {circle: {x_m: 4, y_m: -4, radius_m: 2}}}
region:
  - {rectangle: {x_m: [-6, 6], y_m: [-6, 0]}}
  - {polygon: [[-6, 0], [6, 0], [0, 6]]}
keep_out:
  - {center: start, radius_m: 1.5}
  - {center: goal, radius_m: 1.5}
  - {rectangle: {x_m: [-1, 1], y_m: [-1, 1]}}
min_gap_m: 0.25
wall_gap_m: 0.6
solvable: {margin_m: 0.1}
"""


def spec_of(text, **changes):
    return parse(text, ObstacleSpec, Path("forest.yaml")).model_copy(update=changes)


SPEC = spec_of(FOREST)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_placed_obstacles_keep_every_promise_of_the_specification(seed):
    placed = place_obstacles(SPEC, np.random.default_rng(seed), SITE)
    outlines = [obstacle.outline for obstacle in placed.obstacles]
    for index, outline in enumerate(outlines):
        for other in outlines[:index]:
            assert outline.distance_m(other) >= 0.25
        core, radius = outline.core, outline.radius_m
        assert min(core.distance(wall) for wall in WALLS) - radius >= 0.6
        for center in (DRIVE.start, DRIVE.goal):
            assert core.distance(shapely.Point(center)) - radius >= 1.5
        assert core.distance(shapely.box(-1, -1, 1, 1)) - radius > 0
    types = [obstacle.type for obstacle in placed.obstacles]
    assert 1 <= types.count("box") <= 5
    assert (types.count("cylinder"), types.count("sphere")) == (4, 2)
    for obstacle in placed.obstacles:
        x, y, z = obstacle.pose.position
        if obstacle.type == "sphere":
            assert math.hypot(x - 4, y + 4) <= 2 + 1e-6
            assert obstacle.size[0] in (0.2, 0.4)
            assert z == obstacle.size[0]
            assert not obstacle.static
        else:
            assert y <= 6 - abs(x) + 1e-5 or y <= 0
            assert z == 0.5
            assert obstacle.static


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_solvable_world_has_a_way_on_a_fine_grid_too(seed):
    placed = place_obstacles(SPEC, np.random.default_rng(seed), SITE)
    shapes = [obstacle.footprint for obstacle in placed.obstacles] + list(WALLS)
    # The robot's circle alone, without the margin: what the raster adds is less than that.
    wide = [shape.buffer(DRIVE.radius_m) for shape in shapes]
    grid = OccupancyGrid.rasterize(wide, (-8, -8, 8, 8), 0.05)
    path = shortest_path(grid, DRIVE.start, DRIVE.goal)
    assert path is not None
    straight = math.hypot(14, 14)
    assert placed.shortest_path_m >= straight - 1e-9
    assert placed.difficulty.mean_clearance_m >= DRIVE.radius_m + 0.1 - 1e-6


def test_same_numbers_give_the_same_obstacles_whatever_was_placed_before():
    placer = Placer(SPEC, SITE)
    forwards = [placer.place(child_generator(5, "world", i)) for i in range(6)]
    backwards = [Placer(SPEC, SITE).place(child_generator(5, "world", i)) for i in range(5, -1, -1)]
    assert forwards == backwards[::-1]
    assert len({obstacle.pose for world in forwards for obstacle in world.obstacles}) > 30


def test_obstacles_that_do_not_fit_say_how_far_it_came_and_what_to_change():
    crowded = spec_of(
        "obstacles: [{type: cylinder, count: 50, radius_m: 0.8}]\n"
        "region: {rectangle: {x_m: [-4, 4], y_m: [-4, 4]}}\nmin_gap_m: 0.3\nmax_tries: 2000\n"
    )
    with pytest.raises(PlacementError) as caught:
        place_obstacles(crowded, np.random.default_rng(1))
    message = str(caught.value)
    assert message.startswith("placed ")
    placed = int(message.split()[1])
    assert 8 < placed < 26
    assert f"placed {placed} of 50 obstacles after 2000 tries (64.0 m² of region" in message
    assert "refused: other obstacles 100 %" in message
    assert "(1) enlarge the region" in message


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("keep_out: [{rectangle: {x_m: [-9, 9], y_m: [-9, 9]}}]", "keep_out 100 %"),
        ("wall_gap_m: 9", "walls 100 %"),
    ],
)
def test_what_refused_most_is_named(line, reason):
    spec = spec_of(
        "obstacles: [{type: sphere, count: 2}]\nmax_tries: 300\n"
        f"region: {{rectangle: {{x_m: [-4, 4], y_m: [-4, 4]}}}}\n{line}\n"
    )
    with pytest.raises(PlacementError, match=reason):
        place_obstacles(spec, np.random.default_rng(1), Site(WALLS))


def test_region_admits_what_is_drawn_from_x_and_y():
    spec = spec_of(
        "obstacles: [{type: sphere, count: 3, radius_m: 0.1, x_m: [-5, 5], "
        "y_m: {choice: [0, 1, 9]}, region: {rectangle: {x_m: [0, 5], y_m: [-2, 2]}}}]"
    )
    for obstacle in place_obstacles(spec, np.random.default_rng(0)).obstacles:
        x, y, _ = obstacle.pose.position
        assert x >= 0
        assert y in (0.0, 1.0)


def test_world_that_no_draw_can_solve_is_an_error_with_remedies():
    barrier = spec_of(
        "obstacles: [{type: box, count: 1, size_x_m: 0.3, size_y_m: 15, yaw_rad: 0,\n"
        "  x_m: 0, y_m: 0}]\nsolvable: true\n"
    )
    with pytest.raises(PlacementError, match=r"no path 1\.20 m wide .* from start .*\(1\) lower"):
        place_obstacles(barrier, np.random.default_rng(0), SITE)


def test_unsolvable_worlds_are_drawn_again_and_counted():
    sometimes = spec_of(
        "obstacles: [{type: box, count: 1, size_x_m: 0.3, size_y_m: {choice: [15, 1]},\n"
        "  yaw_rad: 0, x_m: 0, y_m: 0}]\nsolvable: true\n"
    )
    worlds = [place_obstacles(sometimes, np.random.default_rng(s), SITE) for s in range(20)]
    assert {world.obstacles[0].size[1] for world in worlds} == {1.0}
    assert 5 < sum(world.redrawn for world in worlds) < 60


def test_unsolvable_worlds_are_kept_without_a_path_when_asked_to():
    barrier = spec_of(
        "obstacles: [{type: box, count: 1, size_x_m: 0.3, size_y_m: 15, yaw_rad: 0,\n"
        "  x_m: 0, y_m: 0}]\nsolvable: false\n"
    )
    placed = place_obstacles(barrier, np.random.default_rng(0), SITE)
    assert placed.shortest_path_m is None
    assert placed.difficulty.density > 0


@pytest.mark.parametrize(
    ("site", "complaint"),
    [
        (Site(WALLS), "keep_out is around the start, which is not known"),
        (
            Site(WALLS, RequiredDrive((-7.5, 0), (7, 7), 0.5)),
            r"the start \(-7.5, 0\) is 0.30 m from .* the start$",
        ),
        (
            Site(WALLS, RequiredDrive((-7.2, 0), (7, 7), 0.5)),
            r"0.60 m from .* start, or lower margin_m$",
        ),
        (
            Site(WALLS, RequiredDrive((-7, -7), (0, 7.9), 0.5)),
            r"the goal \(0, 7.9\) is 0.00 m from",
        ),
        (Site((*WALLS, shapely.box(-0.1, -9, 0.1, 9)), DRIVE), "even without obstacles"),
    ],
)
def test_base_world_that_makes_it_impossible_is_refused_at_once(site, complaint):
    with pytest.raises(PlacementError, match=complaint):
        Placer(SPEC, site)


def test_figures_of_a_gate_are_those_measured_by_hand():
    gate = spec_of(
        "obstacles:\n"
        "  - {type: box, name: left, count: 1, size_x_m: 1, size_y_m: 6, yaw_rad: 0,"
        " x_m: 0, y_m: 4.5}\n"
        "  - {type: box, name: right, count: 1, size_x_m: 1, size_y_m: 6, yaw_rad: 0,"
        " x_m: 0, y_m: -4.0}\n"
        "solvable: {margin_m: 0.1}\n"
    )
    site = Site(WALLS, RequiredDrive((-5, 0.25), (5, 0.25), 0.5))
    placed = place_obstacles(gate, np.random.default_rng(0), site)
    assert placed.difficulty.narrowest_gap_m == pytest.approx(2.5)
    assert placed.shortest_path_m == pytest.approx(10.0)
    # posts that always stand where they stand: the ground is the circles that hold them
    assert placed.difficulty.density == pytest.approx(
        12 / (2 * math.pi * (0.5**2 + 3**2)), rel=0.01
    )
    # straight along y = 0.25: nearest is a wall at the ends, a post's corner in the middle
    x = np.linspace(-5, 5, 2001)
    corner = np.hypot(np.maximum(np.abs(x) - 0.5, 0), 1.25)
    by_hand = np.minimum(corner, 7.8 - np.abs(x)).mean()
    assert placed.difficulty.mean_clearance_m == pytest.approx(by_hand, rel=0.01)


FOUR = (
    "obstacles: [{{type: box, count: 4, size_x_m: 1, size_y_m: 1}}]\n"
    "region: {{rectangle: {{x_m: [-5, 5], y_m: [{0}, {1}]}}}}\n"
)
OPEN_DRIVE = RequiredDrive((-7, 0), (7, 0), 0.4)
LONE_WALL = shapely.box(-20, -9.1, 20, -9)


@pytest.mark.parametrize("walls", [(), (LONE_WALL,), WALLS], ids=["open", "one wall", "room"])
def test_density_is_the_same_however_the_obstacles_fall_and_whatever_surrounds_them(walls):
    placer = Placer(spec_of(FOUR.format(-5, 5)), Site(tuple(walls), OPEN_DRIVE))
    worlds = [placer.place(child_generator(3, "world", i)) for i in range(5)]
    found = {round(world.difficulty.density, 12) for world in worlds}
    assert len(found) == 1
    # a square of 10 m, with a rim as wide as half a box's diagonal
    rim = math.sqrt(0.5)
    assert found.pop() == pytest.approx(4 / (100 + 40 * rim + math.pi * rim**2), rel=0.002)


def test_density_does_not_count_what_walls_stand_on():
    spec, drive = spec_of(FOUR.format(-5, 5)), RequiredDrive((-9, 0), (9, 9), 0.4)
    free = place_obstacles(spec, np.random.default_rng(0), Site((), drive)).difficulty.density
    block = Site((shapely.box(-5, -5, 5, 0),), drive)
    beside = place_obstacles(spec, np.random.default_rng(0), block).difficulty.density
    assert 4 / beside == pytest.approx(4 / free - 50)


def test_names_are_recognized_and_taken_apart():
    name = obstacle_name("tall_box", 12)
    assert name == "obstacle_tall_box_12"
    assert parse_obstacle_name(name) == ObstacleName("tall_box", 12)
    assert is_obstacle(name)
    for other in ("ground_plane", "obstacle_", "my_obstacle_box_1", "obstacle_box_1_copy"):
        assert not is_obstacle(other)


@pytest.mark.slow
def test_circles_decide_as_the_outlines_do():
    text = """
obstacles:
  - {type: box, count: 6, size_x_m: [0.2, 2.0], size_y_m: [0.2, 2.0]}
  - {type: cylinder, count: 6, radius_m: [0.1, 1.0]}
region: {rectangle: {x_m: [-3, 3], y_m: [-3, 3]}}
min_gap_m: 0.2
"""
    roster = Roster.of_spec(spec_of(text))
    ground = _Ground(_Rules(roster.spec, Site(), roster))
    decided = set()
    for seed in range(20):
        numbers = np.random.default_rng(seed).random(roster.dimensions)
        put = [_Put(_Form(one), one.x_m, one.y_m) for one in roster.propose(numbers)]
        for one, other in itertools.combinations(put, 2):
            apart_m = one.outline.distance_m(other.outline)
            assert ground._crowd(one, other) == (apart_m < 0.2), (seed, apart_m)
            decided.add(apart_m < 0.2)
    assert decided == {True, False}


@pytest.mark.parametrize("min_gap_m", [0.0, 0.5])
@pytest.mark.parametrize(
    "sizes",
    ["type: box, size_x_m: [2, 5], size_y_m: 1", "type: cylinder, radius_m: 2.5",
     "type: sphere, radius_m: [0.2, 1.5]"],
)  # fmt: skip
def test_large_and_small_obstacles_are_apart_by_the_gap(sizes, min_gap_m):
    spec = spec_of(
        f"obstacles: [{{count: 8, {sizes}}}]\nmin_gap_m: {min_gap_m}\n"
        "region: {rectangle: {x_m: [-10, 10], y_m: [-10, 10]}}\n"
    )
    for seed in range(6):
        placed = place_obstacles(spec, np.random.default_rng(seed)).obstacles
        for one, other in itertools.combinations([obstacle.outline for obstacle in placed], 2):
            apart_m = one.distance_m(other)
            assert apart_m >= min_gap_m
            assert apart_m > 0.0


def test_heights_are_rounded_to_nanometers():
    spec = spec_of(
        "obstacles: [{type: sphere, count: 1, radius_m: 0.1, x_m: 0, y_m: 0}]\n"
        "ground_z_m: 0.33333333333\n"
    )
    (sphere,) = place_obstacles(spec, np.random.default_rng(0)).obstacles
    assert sphere.pose.position == (0.0, 0.0, 0.433333333)


@pytest.mark.parametrize(
    ("heights", "radius_m"),
    [((0.1, 2.0), 0.5), ((0.8, 2.0), 0.4), ((-1.0, 0.2), 0.4), ((0.5, 0.5), 0.5)],
)
def test_a_sphere_obstructs_with_its_circle_nearest_to_the_center(heights, radius_m):
    spec = spec_of("obstacles: [{type: sphere, count: 1, radius_m: 0.5, x_m: 3, y_m: 0}]")
    (sphere,) = place_obstacles(spec, np.random.default_rng(0)).obstacles
    part = sphere.obstructing(Heights(*heights))
    assert part.radius_m == pytest.approx(radius_m)
    assert (part.core.x, part.core.y) == (3.0, 0.0)
    assert sphere.obstructing(Heights(1.1, 2.0)).core.is_empty


def test_a_place_with_a_way_is_accepted_with_its_length_and_without_a_redraw():
    spec = spec_of(
        "obstacles: [{type: sphere, count: 1, radius_m: 0.5, x_m: 0, y_m: 5}]\nsolvable: true\n"
    )
    site = Site((), RequiredDrive((-5, 0), (5, 0), 0.5))
    placed = place_obstacles(spec, np.random.default_rng(0), site)
    assert placed.redrawn == 0
    assert placed.shortest_path_m == pytest.approx(10.0)


def test_counts_and_values_come_from_their_numbers_in_order():
    spec = spec_of(
        "obstacles:\n"
        "  - {type: cylinder, count: [1, 3], radius_m: [0.2, 0.6], yaw_rad: 0}\n"
        "  - {type: sphere, count: 1, radius_m: 0.1, x_m: [0, 4], y_m: [-8, 0]}\n"
        "region: {rectangle: {x_m: [-6, 6], y_m: [0, 4]}}\n"
    )
    roster = Roster.of_spec(spec)
    assert [slot.name for slot in roster.slots][:3] == [f"obstacle_cylinder_{i}" for i in range(3)]
    sizes = sum(one is not None for slot in roster.slots for _, one in slot.group.sizes)
    assert roster.dimensions == 2 + 4 * 3 + sizes
    numbers = np.full(roster.dimensions, 0.25)
    numbers[0] = 0.99
    proposals = roster.propose(numbers)
    assert len(proposals) == 4
    assert (proposals[0].x_m, proposals[0].y_m) == (-3.0, 1.0)
    assert proposals[0].size[0] == pytest.approx(0.3)
    assert (proposals[3].x_m, proposals[3].y_m) == (1.0, -6.0)
    numbers[0] = 0.5
    assert [one.slot.name for one in roster.propose(numbers)] == [
        "obstacle_cylinder_0", "obstacle_cylinder_1", "obstacle_sphere_0",
    ]  # fmt: skip
    assert roster.propose(numbers)[2].x_m == 1.0
    assert roster.area_m2() == pytest.approx(48.0)
    fine = roster.propose(np.full(roster.dimensions, 1 / 3))[0]
    assert (fine.x_m, fine.y_m) == (-2.0, 1.333333)


def test_an_obstacle_on_a_step_obstructs_at_heights_above_the_step():
    spec = spec_of(
        "obstacles: [{type: sphere, count: 1, radius_m: 0.5, x_m: 3, y_m: 0}]\nground_z_m: 1\n"
    )
    (sphere,) = place_obstacles(spec, np.random.default_rng(0)).obstacles
    assert sphere.obstructing(Heights(1.8, 3.0)).radius_m == pytest.approx(0.4)
    assert sphere.obstructing(Heights(0.0, 0.9)).core.is_empty
