"""Groups of parts, distances between obstacles, and the coverage."""

import math
from pathlib import Path

import numpy as np
import pytest
import shapely
import shapely.affinity

from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.sampling.draws import ObstacleSampler
from gz_testauto.sampling.placement import Placer
from gz_testauto.sampling.site import RequiredMission, Site
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.loader import load, parse
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.worlds.multiply import multiply

CONFIG = Path(__file__).resolve().parents[2] / "config"
REGION = "region: {rectangle: {x_m: [-10, 10], y_m: [-10, 10]}}\n"
CIRCLE = "region: {circle: {x_m: 0, y_m: 0, radius_m: 9.5}}\n"
WALL = shapely.box(-12.0, -12.0, 12.0, -11.8)
FAR_MISSION = RequiredMission((-20.0, 0.0), (-20.0, 1.0), 0.3)
TABLE = """
  - type: group
    name: table
    count: 3
    parts:
      - {type: cylinder, radius_m: 0.5, length_m: 0.7}
      - type: box
        size_x_m: 0.4
        size_y_m: 0.4
        size_z_m: 0.9
        x_m: 1
        count: 4
        step: {yaw_rad: 1.5708}
"""


def spec_of(text, file="obstacles.yaml"):
    return parse(text, ObstacleSpec, Path(file))


def sets_of(text, count, site=None):
    placer = Placer(spec_of(text), site or Site())
    return [placer.place(np.random.default_rng(seed)).obstacles for seed in range(count)]


def written(obstacle):
    (model,) = read_scene(SdfDocument.parse(obstacle.sdf(), obstacle.name)).models.values()
    return model


def named(obstacles, label):
    return [one for one in obstacles if one.name.startswith(f"obstacle_{label}_")]


def test_parts_of_a_group_are_repeated_in_a_ring_and_scaled_together():
    text = f"obstacles:{TABLE}    scale: [0.8, 1.2]\n{REGION}"
    for tables in sets_of(text, 3):
        for table in tables:
            (scale,) = table.size
            found = written(table)
            assert len(found.collisions) == 5
            centers = [one.footprint(-9, 9).centroid for one in found.collisions]
            away = [centers[0].distance(center) for center in centers[1:]]
            assert away == pytest.approx([scale] * 4, abs=1e-4)
            between = [centers[k].distance(centers[k + 1]) for k in range(1, 4)]
            assert between == pytest.approx([scale * math.sqrt(2)] * 3, abs=1e-3)
            assert found.bounds[2] == pytest.approx([0.0, 0.9 * scale])
            assert found.footprint(-9, 9).symmetric_difference(table.footprint).area < 0.01


def test_parts_of_a_group_are_repeated_in_a_row():
    text = """
obstacles:
  - type: group
    name: pillars
    count: 1
    yaw_rad: 0
    x_m: 1
    y_m: 2
    parts: [{type: cylinder, radius_m: 0.2, length_m: 2, y_m: -1, count: 5, step: {x_m: 1.5}}]
"""
    ((pillars,),) = sets_of(text, 1)
    centers = [one.footprint(-9, 9).centroid for one in written(pillars).collisions]
    assert [center.x for center in centers] == pytest.approx([1 + 1.5 * k for k in range(5)])
    assert [center.y for center in centers] == pytest.approx([1.0] * 5)
    assert pillars.static


def test_a_part_without_a_pose_is_in_the_frame_of_the_group():
    part = "parts: [{type: box, size_x_m: 3, size_y_m: 1}]"
    text = f"obstacles: [{{type: group, count: 1, x_m: 5, y_m: 2, yaw_rad: 0, {part}}}]"
    ((group,),) = sets_of(text, 1)
    assert group.footprint.bounds == pytest.approx((3.5, 1.5, 6.5, 2.5))


def test_a_group_is_static_in_all_its_parts(tmp_path):
    crate = (
        '<sdf version="1.6"><model name="crate"><link name="l"><collision name="c"><geometry>'
        "<box><size>1 1 1</size></box></geometry></collision></link></model></sdf>"
    )
    folder = tmp_path / "crate"
    folder.mkdir()
    (folder / "model.sdf").write_text(crate)
    (folder / "model.config").write_text(
        '<model><name>crate</name><sdf version="1.6">model.sdf</sdf></model>'
    )
    text = f"obstacles: [{{type: group, count: 1, parts: [{{type: model, model: {folder}}}]}}]\n"
    ((group,),) = sets_of(text + REGION, 1)
    assert group.static
    assert written(group).static
    assert spec_of(text + REGION).files == [folder / "model.sdf"]


def test_model_of_an_obstacle_can_be_a_directory(tmp_path):
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "shelf.sdf").write_text(
        '<sdf version="1.6"><model name="shelf"><link name="l"><collision name="c"><geometry>'
        "<box><size>2 1 1</size></box></geometry></collision></link></model></sdf>"
    )
    text = f"obstacles: [{{type: model, count: 1, model: {folder}}}]\n{REGION}"
    with pytest.raises(SpecError, match=r"obstacles.yaml:1: .*model.*model\.config is missing"):
        spec_of(text)
    (folder / "model.config").write_text(
        '<model><name>shelf</name><sdf version="1.6">shelf.sdf</sdf></model>'
    )
    ((shelf,),) = sets_of(text, 1)
    assert shelf.footprint.area == pytest.approx(2.0)
    assert spec_of(text).files == [folder / "shelf.sdf"]


def test_distances_to_other_obstacles_and_to_walls_are_kept():
    text = f"""
obstacles:{TABLE}
  - type: box
    name: bin
    count: 4
    size_x_m: 0.3
    size_y_m: 0.5
    distance_m: {{table: [0.2, 0.6], bin: {{min: 1.0}}}}
  - type: cylinder
    count: 5
    radius_m: [0.2, 0.4]
    distance_m: {{table: {{min: 1.5}}, bin: {{min: 0.8}}}}
  - type: box
    name: shelf
    count: 3
    size_x_m: 1.5
    size_y_m: 0.4
    distance_m: {{walls: [0.05, 0.3]}}
    region: {{rectangle: {{x_m: [-12, 12], y_m: [-12, 12]}}}}
{REGION}"""

    def nearest(obstacle, others):
        return min(obstacle.outline.distance_m(one.outline) for one in others if one != obstacle)

    for obstacles in sets_of(text, 10, Site((WALL,), FAR_MISSION)):
        tables, bins = named(obstacles, "table"), named(obstacles, "bin")
        for one in bins:
            assert 0.2 <= nearest(one, tables) <= 0.6
            assert nearest(one, bins) >= 1.0
        for one in named(obstacles, "cylinder"):
            assert nearest(one, tables) >= 1.5
            assert nearest(one, bins) >= 0.8
        for one in named(obstacles, "shelf"):
            assert 0.05 <= one.footprint.distance(WALL) <= 0.3


def test_drawn_positions_near_an_obstacle_surround_it():
    text = """
obstacles:
  - {type: cylinder, count: 1, radius_m: 0.5, x_m: 0, y_m: 0}
  - {type: sphere, count: 1, radius_m: 0.1, distance_m: {cylinder: [0, 0.5]}}
region: {circle: {x_m: 0, y_m: 0, radius_m: 9}}
"""
    angles = [math.atan2(*near.pose.position[1::-1]) for _, near in sets_of(text, 80)]
    counts, _ = np.histogram(angles, bins=4, range=(-math.pi, math.pi))
    assert counts.min() >= 8


def test_impossible_distance_is_an_error_with_its_name():
    text = """
obstacles:
  - {type: cylinder, count: 1, radius_m: 0.5, x_m: 0, y_m: 0}
  - {type: sphere, count: 1, radius_m: 0.1, distance_m: {cylinder: {min: 30}}}
region: {circle: {x_m: 0, y_m: 0, radius_m: 9}}
max_tries: 500
"""
    with pytest.raises(PlacementError, match=r"room for 1 of 2 .*distance_m to cylinder \d+ %"):
        sets_of(text, 1)


def covered(least, coverage):
    return (
        f"obstacles:\n  - {{type: box, count: [{least}, 200], size_x_m: [0.3, 1.2]}}\n"
        f"  - {{type: cylinder, count: [{least}, 100], radius_m: [0.2, 0.5]}}\n"
        f"coverage: {coverage}\n{REGION}"
    )


@pytest.mark.parametrize("coverage", (0.03, 0.12, [0.05, 0.1]))
def test_obstacles_cover_the_requested_share_of_the_ground(coverage):
    text = covered(0, coverage)
    placer = Placer(spec_of(text), Site((WALL,), FAR_MISSION))
    low, high = coverage if isinstance(coverage, list) else (coverage, coverage)
    shares = []
    for seed in range(8):
        placed = placer.place(np.random.default_rng(seed))
        shares.append(placed.difficulty.density)
        labels = [one.type for one in placed.obstacles]
        assert labels.count("box") == pytest.approx(2 * labels.count("cylinder"), abs=2)
    half_largest = 1.2 / 2 / 400.0
    assert all(low - half_largest <= share <= high + half_largest for share in shares)
    if high > low:
        assert max(shares) - min(shares) > 0.01


@pytest.mark.parametrize(("coverage", "count"), [(0.005, 2), (0.0075, 3), (0.02, 8)])
def test_coverage_adds_the_fewest_obstacles_to_the_smallest_counts(coverage, count):
    """Each disc covers 1/400 of the ground, which extends to their edges."""
    disc = "type: cylinder, radius_m: 0.5"
    entries = f"{{{disc}, name: fixed, count: 1}}, {{{disc}, name: more, count: [1, 50]}}"
    text = f"obstacles: [{entries}]\ncoverage: {coverage}\n{CIRCLE}"
    for obstacles in sets_of(text, 3):
        assert len(named(obstacles, "fixed")) == 1
        assert len(named(obstacles, "more")) == count - 1


def test_coverage_out_of_reach_is_an_error_with_the_reached_share():
    few = "obstacles: [{type: cylinder, count: [0, 10], radius_m: 0.5}]\n"
    with pytest.raises(PlacementError, match=r"10 obstacles cover 2\.5 % of the ground"):
        sets_of(f"{few}coverage: 0.9\n{CIRCLE}", 1)
    with pytest.raises(PlacementError, match=r"coverage is 90\.0 %, but 300 obstacles cover \d+"):
        sets_of(covered(0, 0.9), 1)
    with pytest.raises(PlacementError, match=r"coverage is 1\.0 %.* lower the smallest count"):
        sets_of(covered(60, 0.01), 1)


def test_keys_of_an_older_specification_leave_its_draws_unchanged():
    text = "obstacles: [{type: box, count: [2, 5], size_x_m: [0.5, 1]}]\n" + REGION
    sampler = ObstacleSampler.of_spec(spec_of(text))
    assert sampler.dimensions == 1 + 5 * 4
    numbers = np.random.default_rng(3).random(sampler.dimensions)
    first = sampler.propose(numbers)[0]
    assert first.x_m == pytest.approx(-10 + 20 * numbers[1], abs=1e-6)
    assert first.size[0] == pytest.approx(0.5 + 0.5 * numbers[4], abs=1e-6)


@pytest.mark.parametrize(
    ("entry", "found"),
    (
        ("{type: box, count: 1, step: {x_m: 1}}", r"obstacles\[0\].step"),
        ("{type: group, count: 1, parts: []}", "at least 1"),
        ("{type: group, count: 1, static: false, parts: [{type: box}]}", "remove static"),
        ("{type: group, count: 1, parts: [{type: box, size_x_m: [1, 2]}]}", r"\[0\].size_x_m is"),
        ("{type: group, count: 1, parts: [{type: box, count: [1, 2]}]}", r"\[0\].count is random"),
        ("{type: group, count: 1, parts: [{type: box, static: true}]}", r"\[0\].static has no"),
        ("{type: group, count: 1, parts: [{type: box, sizex: 1}]}", "sizex"),
        ("{type: box, count: 1, distance_m: {table: [0, 1]}}", "no previous entry .*'table'"),
        ("{type: box, count: 1, distance_m: {box: [0, 1]}}", "the first obstacle"),
        ("{type: box, count: 1, distance_m: {walls: [2, 1]}}", "min 2 is greater than max 1"),
        ("{type: box, count: 1, distance_m: {walls: 3}}", r"must be \[min, max\]"),
        (
            "{type: sphere, count: [0, 1]}, {type: box, count: 1, distance_m: {sphere: [0, 1]}}",
            "a world can have no 'sphere'",
        ),
    ),
)
def test_invalid_entries_are_rejected_with_the_key_and_the_value(entry, found):
    with pytest.raises(SpecError, match=rf"obstacles\.yaml:1: .*{found}"):
        spec_of(f"obstacles: [{entry}]\n{REGION}")


def test_example_specification_gives_worlds_of_the_arena(tmp_path):
    spec = load(CONFIG / "obstacles.yaml", ObstacleSpec)
    (world,) = multiply(CONFIG.parent / "worlds" / "arena.world", spec, 1, 3, tmp_path / "out")
    assert world.shortest_path_m
