"""Placed obstacles satisfy all constraints of their specification."""

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
from gz_testauto.sampling.constraints import Constraints, PlacedShapes, PositionedShape, Shape
from gz_testauto.sampling.draws import ObstacleSampler
from gz_testauto.sampling.naming import (
    ObstacleName,
    is_obstacle,
    obstacle_name,
    parse_obstacle_name,
)
from gz_testauto.sampling.placement import Placer
from gz_testauto.sampling.seeds import child_generator
from gz_testauto.sampling.site import RequiredMission, Site
from gz_testauto.sdf.floor import Heights
from gz_testauto.spec.loader import parse
from gz_testauto.spec.obstacles import ObstacleSpec

WALLS = tuple(
    shapely.box(*bounds)
    for bounds in ((-8, -8, 8, -7.8), (-8, 7.8, 8, 8), (-8, -8, -7.8, 8), (7.8, -8, 8, 8))
)
MISSION = RequiredMission((-7.0, -7.0), (7.0, 7.0), 0.5)
SITE = Site(WALLS, MISSION)

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


def place(spec, seed, site=None):
    return Placer(spec, site or Site()).place(np.random.default_rng(seed))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_placed_obstacles_satisfy_the_specification(seed):
    placed = place(SPEC, seed, SITE)
    outlines = [obstacle.outline for obstacle in placed.obstacles]
    for index, outline in enumerate(outlines):
        for other in outlines[:index]:
            assert outline.distance_m(other) >= 0.25
        core, radius = outline.core, outline.radius_m
        assert min(core.distance(wall) for wall in WALLS) - radius >= 0.6
        for center in (MISSION.start, MISSION.goal):
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
def test_a_solvable_world_has_a_path_on_a_fine_grid(seed):
    placed = place(SPEC, seed, SITE)
    shapes = [obstacle.footprint for obstacle in placed.obstacles] + list(WALLS)
    # The robot's circle without the margin, which is larger than a cell.
    wide = [shape.buffer(MISSION.radius_m) for shape in shapes]
    grid = OccupancyGrid.rasterize(wide, (-8, -8, 8, 8), 0.05)
    path = shortest_path(grid, MISSION.start, MISSION.goal)
    assert path is not None
    straight = math.hypot(14, 14)
    assert placed.shortest_path_m >= straight - 1e-9
    assert placed.difficulty.mean_clearance_m >= MISSION.radius_m + 0.1 - 1e-6


def test_set_of_obstacles_depends_only_on_its_random_numbers():
    placer = Placer(SPEC, SITE)
    ascending = [placer.place(child_generator(5, "world", i)) for i in range(6)]
    descending = [
        Placer(SPEC, SITE).place(child_generator(5, "world", i)) for i in range(5, -1, -1)
    ]
    assert ascending == descending[::-1]
    assert len({obstacle.pose for world in ascending for obstacle in world.obstacles}) > 30


def test_the_error_for_too_many_obstacles_states_progress_and_remedies():
    crowded = spec_of(
        "obstacles: [{type: cylinder, count: 50, radius_m: 0.8}]\n"
        "region: {rectangle: {x_m: [-4, 4], y_m: [-4, 4]}}\nmin_gap_m: 0.3\nmax_tries: 2000\n"
    )
    with pytest.raises(PlacementError) as caught:
        place(crowded, 1)
    message = str(caught.value)
    assert message.startswith("found room for ")
    placed = int(message.split()[3])
    assert 8 < placed < 26
    assert f"found room for {placed} of 50 obstacles after 2000 tries (64.0 m² of region" in message
    assert "other obstacles 100 %" in message
    assert "(1) enlarge the region" in message


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("keep_out: [{rectangle: {x_m: [-9, 9], y_m: [-9, 9]}}]", "keep_out 100 %"),
        ("wall_gap_m: 9", "walls 100 %"),
    ],
)
def test_placement_error_names_the_constraint_that_rejected_most_positions(line, reason):
    spec = spec_of(
        "obstacles: [{type: sphere, count: 2}]\nmax_tries: 300\n"
        f"region: {{rectangle: {{x_m: [-4, 4], y_m: [-4, 4]}}}}\n{line}\n"
    )
    with pytest.raises(PlacementError, match=reason):
        place(spec, 1, Site(WALLS))


def test_the_region_limits_positions_that_are_drawn_from_x_and_y():
    spec = spec_of(
        "obstacles: [{type: sphere, count: 3, radius_m: 0.1, x_m: [-5, 5], "
        "y_m: {choice: [0, 1, 9]}, region: {rectangle: {x_m: [0, 5], y_m: [-2, 2]}}}]"
    )
    for obstacle in place(spec, 0).obstacles:
        x, y, _ = obstacle.pose.position
        assert x >= 0
        assert y in (0.0, 1.0)


def test_the_error_for_an_unsolvable_specification_has_remedies():
    barrier = spec_of(
        "obstacles: [{type: box, count: 1, size_x_m: 0.3, size_y_m: 15, yaw_rad: 0,\n"
        "  x_m: 0, y_m: 0}]\nsolvable: true\n"
    )
    with pytest.raises(PlacementError, match=r"no path 1\.20 m wide .* from start .*\(1\) lower"):
        place(barrier, 0, SITE)


def test_unsolvable_sets_are_drawn_again_and_counted():
    sometimes = spec_of(
        "obstacles: [{type: box, count: 1, size_x_m: 0.3, size_y_m: {choice: [15, 1]},\n"
        "  yaw_rad: 0, x_m: 0, y_m: 0}]\nsolvable: true\n"
    )
    worlds = [place(sometimes, s, SITE) for s in range(20)]
    assert {world.obstacles[0].size[1] for world in worlds} == {1.0}
    assert 5 < sum(world.redrawn for world in worlds) < 60


@pytest.mark.parametrize(("position", "radius", "is_redrawn"), [
    ("x_m: 0, y_m: 0", "[0.5, 1.5]", True), ("yaw_rad: 0", "1", False),
])  # fmt: skip
def test_sizes_are_drawn_again_if_one_does_not_fit_at_a_constant_position(
    position, radius, is_redrawn
):
    text = (
        f"{{obstacles: [{{type: cylinder, count: 1, radius_m: {radius}, {position}}}], "
        "region: {rectangle: {x_m: [-3, 0], y_m: [-2, 2]}}, max_tries: 60}"
    )
    site = Site((shapely.box(1, -5, 2, 5),), MISSION)
    sets = [place(spec_of(text), seed, site) for seed in range(8)]
    assert all(one.footprint.bounds[2] <= 1.0 for placed in sets for one in placed.obstacles)
    assert any(placed.redrawn for placed in sets) == is_redrawn


def test_without_solvable_a_world_without_a_path_is_accepted():
    barrier = spec_of(
        "obstacles: [{type: box, count: 1, size_x_m: 0.3, size_y_m: 15, yaw_rad: 0,\n"
        "  x_m: 0, y_m: 0}]\nsolvable: false\n"
    )
    placed = place(barrier, 0, SITE)
    assert placed.shortest_path_m is None
    assert placed.difficulty.density > 0


@pytest.mark.parametrize(
    ("site", "problem"),
    [
        (Site(WALLS), "keep_out is around the start, which is not known"),
        (
            Site(WALLS, RequiredMission((-7.5, 0), (7, 7), 0.5)),
            r"the start \(-7.5, 0\) is 0.30 m from .* the start$",
        ),
        (
            Site(WALLS, RequiredMission((-7.2, 0), (7, 7), 0.5)),
            r"0.60 m from .* start, or lower margin_m$",
        ),
        (
            Site(WALLS, RequiredMission((-7, -7), (0, 7.9), 0.5)),
            r"the goal \(0, 7.9\) is 0.00 m from",
        ),
        (Site((*WALLS, shapely.box(-0.1, -9, 0.1, 9)), MISSION), "even without obstacles"),
    ],
)
def test_an_impossible_base_world_is_rejected_before_obstacles_are_drawn(site, problem):
    with pytest.raises(PlacementError, match=problem):
        Placer(SPEC, site)


def test_difficulty_of_a_passage_has_the_values_known_on_paper():
    gate = spec_of(
        "obstacles:\n"
        "  - {type: box, name: left, count: 1, size_x_m: 1, size_y_m: 6, yaw_rad: 0,"
        " x_m: 0, y_m: 4.5}\n"
        "  - {type: box, name: right, count: 1, size_x_m: 1, size_y_m: 6, yaw_rad: 0,"
        " x_m: 0, y_m: -4.0}\n"
        "solvable: {margin_m: 0.1}\n"
    )
    site = Site(WALLS, RequiredMission((-5, 0.25), (5, 0.25), 0.5))
    placed = place(gate, 0, site)
    assert placed.difficulty.narrowest_gap_m == pytest.approx(2.5)
    assert placed.shortest_path_m == pytest.approx(10.0)
    # With fixed positions, the ground is the circle around each obstacle.
    assert placed.difficulty.density == pytest.approx(
        12 / (2 * math.pi * (0.5**2 + 3**2)), rel=0.01
    )
    # On the line y = 0.25, a wall is nearest at the ends and a corner of a box in the middle.
    x = np.linspace(-5, 5, 2001)
    corner = np.hypot(np.maximum(np.abs(x) - 0.5, 0), 1.25)
    by_hand = np.minimum(corner, 7.8 - np.abs(x)).mean()
    assert placed.difficulty.mean_clearance_m == pytest.approx(by_hand, rel=0.01)


FOUR = (
    "obstacles: [{{type: box, count: 4, size_x_m: 1, size_y_m: 1}}]\n"
    "region: {{rectangle: {{x_m: [-5, 5], y_m: [{0}, {1}]}}}}\n"
)
OPEN_MISSION = RequiredMission((-7, 0), (7, 0), 0.4)
LONE_WALL = shapely.box(-20, -9.1, 20, -9)


@pytest.mark.parametrize("walls", [(), (LONE_WALL,), WALLS], ids=["open", "one wall", "room"])
def test_density_does_not_depend_on_positions_or_walls(walls):
    placer = Placer(spec_of(FOUR.format(-5, 5)), Site(tuple(walls), OPEN_MISSION))
    worlds = [placer.place(child_generator(3, "world", i)) for i in range(5)]
    found = {round(world.difficulty.density, 12) for world in worlds}
    assert len(found) == 1
    # a square of 10 m, with a rim of half a box's diagonal
    rim = math.sqrt(0.5)
    assert found.pop() == pytest.approx(4 / (100 + 40 * rim + math.pi * rim**2), rel=0.002)


def test_the_ground_of_density_excludes_walls():
    spec, mission = spec_of(FOUR.format(-5, 5)), RequiredMission((-9, 0), (9, 9), 0.4)
    free = place(spec, 0, Site((), mission)).difficulty.density
    block = Site((shapely.box(-5, -5, 5, 0),), mission)
    partial = place(spec, 0, block).difficulty.density
    assert 4 / partial == pytest.approx(4 / free - 50)


def test_names_of_obstacles_are_recognized_and_parsed():
    name = obstacle_name("tall_box", 12)
    assert name == "obstacle_tall_box_12"
    assert parse_obstacle_name(name) == ObstacleName("tall_box", 12)
    assert is_obstacle(name)
    for other in ("ground_plane", "obstacle_", "my_obstacle_box_1", "obstacle_box_1_copy"):
        assert not is_obstacle(other)


@pytest.mark.slow
def test_gap_check_with_circles_agrees_with_the_distance_of_outlines():
    text = """
obstacles:
  - {type: box, count: 6, size_x_m: [0.2, 2.0], size_y_m: [0.2, 2.0]}
  - {type: cylinder, count: 6, radius_m: [0.1, 1.0]}
region: {rectangle: {x_m: [-3, 3], y_m: [-3, 3]}}
min_gap_m: 0.2
"""
    sampler = ObstacleSampler.of_spec(spec_of(text))
    placed = PlacedShapes(Constraints(sampler.spec, Site(), sampler))
    decided = set()
    for seed in range(20):
        numbers = np.random.default_rng(seed).random(sampler.dimensions)
        shapes = [PositionedShape(Shape(one), one.x_m, one.y_m) for one in sampler.propose(numbers)]
        for one, other in itertools.combinations(shapes, 2):
            distance_m = one.outline.distance_m(other.outline)
            assert placed._is_too_near(one, other) == (distance_m < 0.2), (seed, distance_m)
            decided.add(distance_m < 0.2)
    assert decided == {True, False}


@pytest.mark.parametrize("min_gap_m", [0.0, 0.5])
@pytest.mark.parametrize(
    "sizes",
    ["type: box, size_x_m: [2, 5], size_y_m: 1", "type: cylinder, radius_m: 2.5",
     "type: sphere, radius_m: [0.2, 1.5]"],
)  # fmt: skip
def test_the_gap_is_kept_between_obstacles_of_different_sizes(sizes, min_gap_m):
    spec = spec_of(
        f"obstacles: [{{count: 8, {sizes}}}]\nmin_gap_m: {min_gap_m}\n"
        "region: {rectangle: {x_m: [-10, 10], y_m: [-10, 10]}}\n"
    )
    for seed in range(6):
        placed = place(spec, seed).obstacles
        for one, other in itertools.combinations([obstacle.outline for obstacle in placed], 2):
            distance_m = one.distance_m(other)
            assert distance_m >= min_gap_m
            assert distance_m > 0.0


def test_heights_of_obstacles_are_rounded_to_nanometers():
    spec = spec_of(
        "obstacles: [{type: sphere, count: 1, radius_m: 0.1, x_m: 0, y_m: 0}]\n"
        "ground_z_m: 0.33333333333\n"
    )
    (sphere,) = place(spec, 0).obstacles
    assert sphere.pose.position == (0.0, 0.0, 0.433333333)


@pytest.mark.parametrize(
    ("heights", "radius_m"),
    [((0.1, 2.0), 0.5), ((0.8, 2.0), 0.4), ((-1.0, 0.2), 0.4), ((0.5, 0.5), 0.5)],
)
def test_sphere_obstructs_with_its_largest_circle_at_the_robot_heights(heights, radius_m):
    spec = spec_of("obstacles: [{type: sphere, count: 1, radius_m: 0.5, x_m: 3, y_m: 0}]")
    (sphere,) = place(spec, 0).obstacles
    part = sphere.obstructing(Heights(*heights))
    assert part.radius_m == pytest.approx(radius_m)
    assert (part.core.x, part.core.y) == (3.0, 0.0)
    assert sphere.obstructing(Heights(1.1, 2.0)).core.is_empty


def test_a_solvable_first_set_is_accepted_with_the_length_of_its_path():
    spec = spec_of(
        "obstacles: [{type: sphere, count: 1, radius_m: 0.5, x_m: 0, y_m: 5}]\nsolvable: true\n"
    )
    site = Site((), RequiredMission((-5, 0), (5, 0), 0.5))
    placed = place(spec, 0, site)
    assert placed.redrawn == 0
    assert placed.shortest_path_m == pytest.approx(10.0)


def test_counts_and_sizes_use_the_random_numbers_in_order():
    spec = spec_of(
        "obstacles:\n"
        "  - {type: cylinder, count: [1, 3], radius_m: [0.2, 0.6], yaw_rad: 0}\n"
        "  - {type: sphere, count: 1, radius_m: 0.1, x_m: [0, 4], y_m: [-8, 0]}\n"
        "region: {rectangle: {x_m: [-6, 6], y_m: [0, 4]}}\n"
    )
    sampler = ObstacleSampler.of_spec(spec)
    assert [slot.name for slot in sampler.slots][:3] == [f"obstacle_cylinder_{i}" for i in range(3)]
    sizes = sum(one is not None for slot in sampler.slots for _, one in slot.group.sizes)
    assert sampler.dimensions == 2 + 4 * 3 + sizes
    numbers = np.full(sampler.dimensions, 0.25)
    numbers[0] = 0.99
    proposals = sampler.propose(numbers)
    assert len(proposals) == 4
    assert (proposals[0].x_m, proposals[0].y_m) == (-3.0, 1.0)
    assert proposals[0].size[0] == pytest.approx(0.3)
    assert (proposals[3].x_m, proposals[3].y_m) == (1.0, -6.0)
    numbers[0] = 0.5
    assert [one.slot.name for one in sampler.propose(numbers)] == [
        "obstacle_cylinder_0", "obstacle_cylinder_1", "obstacle_sphere_0",
    ]  # fmt: skip
    assert sampler.propose(numbers)[2].x_m == 1.0
    assert sampler.area_m2() == pytest.approx(48.0)
    fine = sampler.propose(np.full(sampler.dimensions, 1 / 3))[0]
    assert (fine.x_m, fine.y_m) == (-2.0, 1.333333)


def test_obstructed_heights_include_the_height_of_the_ground():
    spec = spec_of(
        "obstacles: [{type: sphere, count: 1, radius_m: 0.5, x_m: 3, y_m: 0}]\nground_z_m: 1\n"
    )
    (sphere,) = place(spec, 0).obstacles
    assert sphere.obstructing(Heights(1.8, 3.0)).radius_m == pytest.approx(0.4)
    assert sphere.obstructing(Heights(0.0, 0.9)).core.is_empty
