"""Obstacles exactly at the specified distances, and limits on the number of tries."""

import math
from pathlib import Path

import numpy as np
import pytest
import shapely

from gz_testauto.base.errors import PlacementError
from gz_testauto.sampling.constraints import (
    Constraints,
    PlacedShapes,
    PositionedShape,
    Relations,
    Shape,
)
from gz_testauto.sampling.draws import ObstacleSampler
from gz_testauto.sampling.placement import MAX_DRAWS, Placer
from gz_testauto.sampling.site import RequiredMission, Site, walls_of
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.floor import Heights
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.loader import parse
from gz_testauto.spec.obstacles import ObstacleSpec

DISC = "type: cylinder, count: {}, radius_m: 0.5"
WALL = Site((shapely.box(5, -9, 6, 9),))
REGION = "region: {rectangle: {x_m: [-9, 9], y_m: [-9, 9]}}\n"


def spec_of(text):
    return parse(text, ObstacleSpec, Path("o.yaml"))


class Positions:
    """Placed obstacles of one specification, and the check of further positions."""

    def __init__(self, text, site=None):
        spec = spec_of(text)
        self.sampler = ObstacleSampler.of_spec(spec)
        self.constraints = Constraints(spec, site or Site(), self.sampler)
        self.placed = PlacedShapes(self.constraints)
        numbers = np.full(self.sampler.dimensions, 0.5)
        self.shapes = [Shape(one) for one in self.sampler.propose(numbers)]

    def put(self, x_m, y_m, shape=0):
        self.placed.add(PositionedShape(self.shapes[shape], x_m, y_m))

    def violated(self, x_m, y_m, shape=0):
        return self.placed.violated(PositionedShape(self.shapes[shape], x_m, y_m))

    def relations(self, shape):
        return Relations(self.shapes[shape], self.placed, self.constraints)


@pytest.mark.parametrize(
    ("position", "is_rejected"),
    [
        ((1.2499, 0.0), True), ((1.25, 0.0), False), ((-1.2499, 0.0), True),
        ((-1.25, 0.0), False), ((0.0, -1.2499), True), ((0.0, 1.25), False),
        ((0.75, 0.9999), True), ((0.75, 1.0), False), ((-0.75, -1.0), False), ((0.0, 0.0), True),
    ],
)  # fmt: skip
def test_the_gap_is_kept_between_discs(position, is_rejected):
    positions = Positions(f"obstacles: [{{{DISC.format(2)}}}]\nmin_gap_m: 0.25\n{REGION}")
    positions.put(0.0, 0.0)
    assert positions.violated(*position) == ("other obstacles" if is_rejected else None)


@pytest.mark.parametrize(("x_m", "is_rejected"), [(1.9999, True), (2.25, False), (-2.2499, True)])
def test_the_gap_is_kept_between_the_edges_of_boxes(x_m, is_rejected):
    box = "type: box, count: 2, size_x_m: 2, size_y_m: 1, yaw_rad: 0"
    positions = Positions(f"obstacles: [{{{box}}}]\nmin_gap_m: 0.25\n{REGION}")
    positions.put(0.0, 0.0)
    assert positions.violated(x_m, 0.4) == ("other obstacles" if is_rejected else None)
    assert positions.violated(0.0, 1.2499) == "other obstacles"
    assert positions.violated(0.0, 1.25) is None


def test_the_gap_is_kept_between_obstacles_of_two_groups():
    small = "type: sphere, count: 1, radius_m: 0.1"
    text = f"obstacles: [{{{DISC.format(1)}}}, {{{small}}}]\nmin_gap_m: 0.4\n{REGION}"
    positions = Positions(text)
    positions.put(0.0, 0.0)
    assert positions.violated(0.9999, 0.0, shape=1) == "other obstacles"
    assert positions.violated(1.0, 0.0, shape=1) is None


@pytest.mark.parametrize(("x_m", "is_rejected"), [(4.1999, False), (4.2001, True), (5.0, True)])
def test_the_gap_to_walls_is_kept(x_m, is_rejected):
    wall = Site((shapely.box(5, -9, 6, 9),))
    text = f"obstacles: [{{{DISC.format(1)}}}]\nwall_gap_m: 0.3\nmin_gap_m: 2\n{REGION}"
    assert Positions(text, wall).violated(x_m, 0.0) == ("walls" if is_rejected else None)


def test_the_gap_to_walls_defaults_to_the_gap_between_obstacles():
    wall = Site((shapely.box(5, -9, 6, 9),))
    positions = Positions(f"obstacles: [{{{DISC.format(1)}}}]\nmin_gap_m: 0.5\n{REGION}", wall)
    assert positions.violated(4.0001, 0.0) == "walls"
    assert positions.violated(3.9999, 0.0) is None


@pytest.mark.parametrize(
    ("position", "is_rejected"),
    [((2.0, 0.0), False), ((1.9999, 0.0), True), ((0.0, -1.9999), True), ((1.2, 1.6), False),
     ((1.2, 1.5999), True)],
)  # fmt: skip
def test_no_part_of_an_obstacle_is_in_the_keep_out_around_the_start(position, is_rejected):
    site = Site((), RequiredMission((0.0, 0.0), (8.0, 8.0), 0.3))
    text = f"obstacles: [{{{DISC.format(1)}}}]\nkeep_out: [{{center: start, radius_m: 1.5}}]\n"
    assert Positions(text + REGION, site).violated(*position) == (
        "keep_out" if is_rejected else None
    )


def test_no_part_of_an_obstacle_is_in_a_rectangular_keep_out():
    zone = "keep_out: [{rectangle: {x_m: [-1, 1], y_m: [-2, 2]}}]\n"
    positions = Positions(f"obstacles: [{{{DISC.format(1)}}}]\n{zone}{REGION}")
    for position, is_rejected in (
        ((1.4999, 0), True), ((1.501, 0), False), ((-1.501, 0), False), ((0, 2.501), False),
        ((0, -2.4999), True), ((1.36, 2.36), False), ((1.3, 2.3), True), ((0, 0), True),
    ):  # fmt: skip
        assert positions.violated(*position) == ("keep_out" if is_rejected else None), position


def test_a_specified_position_outside_of_the_region_is_rejected():
    text = (
        "obstacles: [{type: sphere, count: 1, radius_m: 0.1, x_m: [-5, 5], y_m: 0, "
        "region: {rectangle: {x_m: [0, 5], y_m: [-2, 2]}}}]"
    )
    positions = Positions(text)
    assert positions.violated(0.0, 0.0) is None
    assert positions.violated(5.0, 2.0) is None
    assert positions.violated(-1e-6, 0.0) == "outside the region"


def test_no_obstacle_is_in_the_passage_of_a_door():
    door = "type: door_frame, count: 1, yaw_rad: 0, door_clear_m: 0.8"
    text = f"obstacles: [{{{door}}}, {{{DISC.format(1)}}}]\n{REGION}"
    for first, second in ((0, 1), (1, 0)):
        positions = Positions(text)
        positions.put(0.0, 0.0, shape=first)
        assert positions.violated(0.0, 1.0, shape=second) == "doors"
        assert positions.violated(0.0, 3.0, shape=second) is None


def test_positions_near_obstacles_are_drawn_in_all_directions_up_to_the_largest_distance():
    small = "type: cylinder, name: post, count: 2, radius_m: 0.01"
    near = "type: sphere, count: 1, radius_m: 0.1, distance_m: {post: [0.4, 1]}"
    positions = Positions(f"obstacles: [{{{small}}}, {{{near}}}]\n{REGION}")
    posts = np.array([(3.0, -2.0), (-4.0, 5.0)])
    for number, post in enumerate(posts):
        positions.put(*post, shape=number)
    relations, generator = positions.relations(2), np.random.default_rng(1)
    offsets = np.array([relations.draw(generator) for _ in range(400)])[:, None] - posts
    distances_m = np.hypot(*np.moveaxis(offsets, 2, 0))
    nearest = distances_m.argmin(axis=1)
    # The center of the sphere is by its radius farther away than its edge.
    histogram, _ = np.histogram(distances_m.min(axis=1), bins=4, range=(0.49, 1.11))
    assert histogram.sum() == 400
    assert histogram.min() > 70
    for post in (0, 1):
        x, y = offsets[nearest == post, post].T
        quarters, _ = np.histogram(np.arctan2(y, x), bins=4, range=(-np.pi, np.pi))
        assert quarters.min() > 30


@pytest.mark.parametrize(
    ("distance", "site", "violated"),
    [
        ("walls: {min: 1}", Site(), None),
        ("walls: {max: 1}", Site(), "distance_m to walls"),
        ("post: {min: 1}", WALL, None),
        ("post: {max: 20}", WALL, "distance_m to post"),
        ("walls: {min: 1}", WALL, None),
        ("walls: {min: 6}", WALL, "distance_m to walls"),
    ],
)
def test_absent_obstacles_and_walls_are_infinitely_far_away(distance, site, violated):
    text = (
        "obstacles: [{type: cylinder, name: post, count: 1, radius_m: 0.1}, "
        f"{{{DISC.format(1)}, distance_m: {{{distance}}}}}]\n{REGION}"
    )
    positions = Positions(text, site)
    placed = PositionedShape(positions.shapes[1], 0.0, 0.0)
    assert positions.relations(1).violated(placed) == violated


@pytest.mark.parametrize("most", [1, 2, 99, 100, 101, 250])
def test_max_tries_limits_the_number_of_tried_positions(most):
    class CountingGenerator(np.random.Generator):
        calls = 0

        def random(self, *arguments, **options):
            CountingGenerator.calls += 1
            return super().random(*arguments, **options)

    CountingGenerator.calls = 0
    text = (
        f"obstacles: [{{{DISC.format(1)}}}]\nmax_tries: {most}\n{REGION}"
        "keep_out: [{rectangle: {x_m: [-9, 9], y_m: [-9, 9]}}]\n"
    )
    placer = Placer(spec_of(text), Site())
    first = np.full(placer.sampler.dimensions, 0.5)
    with pytest.raises(PlacementError, match=f"found room for 0 of 1 obstacles after {most} tries"):
        placer.place(CountingGenerator(np.random.PCG64(1)), first)
    assert CountingGenerator.calls == most - 1  # the first position is the proposed one


def test_proposed_positions_are_used_if_they_are_free():
    placer = Placer(spec_of(f"obstacles: [{{{DISC.format(2)}}}]\n{REGION}"), Site())
    numbers = np.full(placer.sampler.dimensions, 0.25)
    per_disc = (placer.sampler.dimensions - 1) // 2
    numbers[1 + per_disc] = 0.75
    placed = placer.place(np.random.default_rng(0), numbers)
    found = [one.pose.position for one in placed.obstacles]
    assert found == [(-4.5, -4.5, 0.5), (4.5, -4.5, 0.5)]
    assert (placed.shortest_path_m, placed.difficulty, placed.redrawn) == (None, None, 0)
    assert [one.name for one in placed.obstacles] == [f"obstacle_cylinder_{i}" for i in (0, 1)]


def test_at_most_two_hundred_sets_of_obstacles_are_drawn(monkeypatch):
    barrier = (
        "obstacles: [{type: box, count: 1, size_x_m: 1, size_y_m: 90, yaw_rad: 0, x_m: 0, "
        "y_m: 0}]\nsolvable: true\n"
    )
    walls = (shapely.box(-9, -4, 9, -3), shapely.box(-9, 3, 9, 4))
    ends = (shapely.box(-9, -4, -8, 4), shapely.box(8, -4, 9, 4))
    placer = Placer(spec_of(barrier), Site((*walls, *ends), RequiredMission((-5, 0), (5, 0), 0.5)))
    drawn = []
    monkeypatch.setattr(placer, "_attempt", lambda *given: drawn.append(given) or ())
    monkeypatch.setattr(placer._evaluator, "shortest_path", lambda outlines: None)
    with pytest.raises(PlacementError):
        placer.place(np.random.default_rng(0))
    assert len(drawn) == MAX_DRAWS == 200


def test_obstacles_have_the_density_mobility_and_ground_height_of_the_specification():
    text = (
        "obstacles:\n"
        "  - {type: sphere, count: 1, radius_m: 0.5, density_kgpm3: 6, static: false, x_m: 1, "
        "y_m: 2}\n"
        "  - {type: box, count: 1, size_x_m: 2, size_z_m: 3, x_m: 5, y_m: 2, yaw_rad: 0.25}\n"
        "ground_z_m: 1.5\n"
    )
    sphere, box = Placer(spec_of(text), Site()).place(np.random.default_rng(0)).obstacles
    assert sphere.pose.position == (1.0, 2.0, 2.0)
    assert (sphere.mass_kg, sphere.static) == (pytest.approx(math.pi), False)
    assert (box.pose.position, box.size) == ((5.0, 2.0, 3.0), (2.0, 1.0, 3.0))
    assert (box.mass_kg, box.static) == (pytest.approx(600.0), True)
    assert box.pose.planar.yaw_rad == pytest.approx(0.25)
    assert box.footprint.area == pytest.approx(2.0)
    assert box.obstructing(Heights(1.0, 1.4)).core.is_empty
    assert not box.obstructing(Heights(1.0, 1.5)).core.is_empty
    assert box.obstructing(Heights(4.6, 9.0)).core.is_empty
    found = read_scene(SdfDocument.parse(box.sdf())).models["obstacle_box_0"]
    assert found.bounds[2].tolist() == pytest.approx([1.5, 4.5])
    assert box.element_text() in box.sdf()


ROOM = """<sdf version="1.6"><world name="w">
<model name="floor"><static>1</static><link name="l"><collision name="c"><geometry><plane/>
  </geometry></collision></link></model>
<model name="low"><static>1</static><pose>0 0 0.25 0 0 0</pose><link name="l"><collision name="c">
  <geometry><box><size>1 2 0.5</size></box></geometry></collision></link></model>
<model name="lamp"><static>1</static><pose>5 0 3 0 0 0</pose><link name="l"><collision name="c">
  <geometry><box><size>1 1 1</size></box></geometry></collision></link></model>
</world></sdf>"""


def test_walls_are_the_outlines_at_the_heights_without_the_ground():
    scene = read_scene(SdfDocument.parse(ROOM, "room.world"))
    bounds = lambda heights, *names: [w.bounds for w in walls_of(scene, Heights(*heights), names)]  # noqa: E731
    low, lamp = (-0.5, -1.0, 0.5, 1.0), (4.5, -0.5, 5.5, 0.5)
    assert bounds((0.1, 2.0)) == [low]
    assert bounds((0.1, 2.6)) == [low, lamp]
    assert bounds((0.6, 2.6)) == [lamp]
    assert bounds((0.1, 2.6), "low") == [lamp]
    tall = RequiredMission((3, 3), (4, 4), 0.2, Heights(0.6, 2.6))
    site = Site.of(scene, tall)
    assert [wall.bounds for wall in site.walls] == [low, lamp]
    assert [wall.bounds for wall in site.obstructing] == [lamp]
    assert Site.of(scene, None, excluded_names=["low"]).walls == ()
    assert Site((shapely.box(0, 0, 1, 1),)).obstructing == (shapely.box(0, 0, 1, 1),)
    assert site.wall_union.area == pytest.approx(3.0)


def test_the_ground_includes_the_extent_of_the_largest_obstacle():
    text = (
        "obstacles:\n"
        "  - {type: cylinder, count: 1, radius_m: [0.5, 2], x_m: [0, 10], y_m: 0}\n"
        "  - {type: sphere, count: 0, radius_m: 9, x_m: 0, y_m: 0}\n"
    )
    sampler = ObstacleSampler.of_spec(spec_of(text))
    assert len(sampler.slots) == 1
    assert list(sampler.reach_m.values()) == [2.0]
    assert sampler.ground().bounds == pytest.approx((-2.0, -2.0, 12.0, 2.0), abs=0.02)
    assert sampler.area_m2() == 0.0


def test_error_reports_the_area_of_the_largest_region():
    text = (
        "obstacles:\n"
        "  - {type: sphere, count: 1, region: {rectangle: {x_m: [0, 2], y_m: [0, 3]}}}\n"
        "  - {type: sphere, name: ball, count: 1}\n"
        "region: {rectangle: {x_m: [0, 5], y_m: [0, 1]}}\n"
    )
    assert ObstacleSampler.of_spec(spec_of(text)).area_m2() == pytest.approx(6.0)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("swapped", [False, True])
def test_no_obstacle_is_in_a_keep_out_far_from_the_origin(sign, swapped):
    low, high = sorted((4 * sign, 6 * sign))
    axes = ("y_m", "x_m") if swapped else ("x_m", "y_m")
    zone = f"keep_out: [{{rectangle: {{{axes[0]}: [{low}, {high}], {axes[1]}: [-1, 1]}}}}]\n"
    positions = Positions(f"obstacles: [{{{DISC.format(1)}}}]\n{zone}{REGION}")
    for along, is_rejected in ((3.4, False), (3.6, True), (5, True), (6.4, True), (6.6, False)):
        position = (0.5, sign * along) if swapped else (sign * along, 0.5)
        assert positions.violated(*position) == ("keep_out" if is_rejected else None), position
