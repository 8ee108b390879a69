"""Walls and rooms with doors, and the example specifications of all obstacle kinds."""

import re
from pathlib import Path

import numpy as np
import pytest
import shapely
import shapely.affinity

from gz_testauto.base.errors import PlacementError, SdfError, SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.sampling.models import ObstacleModel
from gz_testauto.sampling.placement import Placer
from gz_testauto.sampling.site import RequiredMission, Site
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.loader import load, parse
from gz_testauto.spec.obstacles import OBSTACLE_KINDS, ObstacleSpec
from gz_testauto.worlds.multiply import multiply

CONFIG = Path(__file__).resolve().parents[3] / "config"
REGION = "region: {rectangle: {x_m: [-10, 10], y_m: [-10, 10]}}\n"
WALL = shapely.box(-12.0, -12.0, 12.0, -11.8)
FAR_MISSION = RequiredMission((-20.0, 0.0), (-20.0, 1.0), 0.3)


def spec_of(text):
    return parse(text, ObstacleSpec, Path("obstacles.yaml"))


def sets_of(text, count, site=None):
    placer = Placer(spec_of(text), site or Site())
    return [placer.place(np.random.default_rng(seed)).obstacles for seed in range(count)]


def written(obstacle):
    (model,) = read_scene(SdfDocument.parse(obstacle.sdf(), obstacle.name)).models.values()
    return model


def named(obstacles, label):
    return [one for one in obstacles if one.name.startswith(f"obstacle_{label}_")]


def widest_disc_m(outline, start, end):
    """Return the diameter (m) of the widest disc that moves from ``start`` to ``end`` without
    touching the outline."""
    low, high = 0.0, 20.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        free = shapely.box(-30, -30, 30, 30).difference(outline.buffer(middle / 2, quad_segs=64))
        ends = [shapely.Point(start), shapely.Point(end)]
        fits = any(all(part.contains(end) for end in ends) for part in shapely.get_parts(free))
        low, high = (middle, high) if fits else (low, middle)
    return low


ROOM = (
    "type: room, size_x_m: [3, 5], size_y_m: [3, 5], door_east_m: [0.8, 1.6], door_position: [0, 1]"
)
LONG_WALL = "type: wall, length_m: [3, 5], door_m: [0.8, 1.6], door_position: [0, 1]"


@pytest.mark.parametrize("entry", (ROOM, LONG_WALL))
def test_outline_and_written_model_of_walls_are_equal(entry):
    text = f"obstacles: [{{{entry}, count: 2}}]\n{REGION}"
    for obstacles in sets_of(text, 5):
        for obstacle in obstacles:
            model = written(obstacle)
            found = model.footprint(0.1, 1.9)
            assert found.symmetric_difference(obstacle.footprint).area < 1e-6
            assert model.static
            assert model.bounds[2] == pytest.approx([0.0, 2.0])


def test_the_door_of_a_room_is_the_only_entrance_and_has_the_drawn_width():
    text = f"obstacles: [{{{ROOM}, count: 1, x_m: 0, y_m: 0, yaw_rad: 0}}]"
    widths = []
    for (room,) in sets_of(text, 8):
        size = dict(zip(room.model.kind.size_names, room.size))
        widths.append(size["door_east_m"])
        assert 0.8 <= size["door_east_m"] <= 1.6
        assert room.footprint.buffer(0.05).contains(shapely.Point(-size["size_x_m"] / 2, 0.0))
        disc_m = widest_disc_m(room.footprint, (0, 0), (20, 0))
        assert disc_m == pytest.approx(size["door_east_m"], abs=2e-3)
    assert max(widths) - min(widths) > 0.2


def test_each_door_of_a_room_is_in_its_wall_and_a_room_without_doors_is_closed():
    sides = {"south": (0, -20), "north": (0, 20), "west": (-20, 0), "east": (20, 0)}
    for side, outside in sides.items():
        entry = f"type: room, count: 1, door_{side}_m: 1, x_m: 0, y_m: 0, yaw_rad: 0"
        ((room,),) = sets_of(f"obstacles: [{{{entry}}}]", 1)
        opening = shapely.LineString([(0, 0), outside])
        assert shapely.disjoint(opening, room.footprint)
        others = [shapely.LineString([(0, 0), end]) for end in sides.values() if end != outside]
        assert all(shapely.intersects(line, room.footprint) for line in others)
    ((closed,),) = sets_of("obstacles: [{type: room, count: 1, x_m: 0, y_m: 0}]", 1)
    assert closed.footprint.interiors


def passages(obstacle, clear_m):
    """Return the area that must be free at the doors of a room, in the world."""
    size = dict(zip(obstacle.model.kind.size_names, obstacle.size))
    inside_x, inside_y = size["size_x_m"] / 2, size["size_y_m"] / 2
    clear = size["thickness_m"] + clear_m
    at = inside_y - size["door_east_m"] / 2
    center = -at + size["door_position"] * 2 * at
    half = size["door_east_m"] / 2 - 1e-9
    door = shapely.box(inside_x - clear_m, center - half, inside_x + clear, center + half)
    (x, y), yaw = obstacle.pose.position[:2], obstacle.pose.yaw_rad
    turned = shapely.affinity.rotate(door, yaw, origin=(0, 0), use_radians=True)
    return shapely.affinity.translate(turned, x, y)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["room first", "room last"])
def test_doors_with_a_clear_distance_are_free_of_other_obstacles(order):
    entries = [
        "{type: room, count: 2, size_x_m: 3, size_y_m: 3, door_east_m: [0.8, 1.6], "
        "door_position: [0, 1], door_clear_m: %s}",
        "{type: cylinder, count: 60, radius_m: 0.2}",
    ]
    text = "obstacles: [" + ", ".join(entries[i] for i in order) + "]\n" + REGION
    obstructed = {}
    for clear_m in (0.0, 1.0):
        obstructed[clear_m] = sum(
            other is not room and other.footprint.intersects(passages(room, 1.0))
            for obstacles in sets_of(text % clear_m, 8)
            for room in named(obstacles, "room")
            for other in obstacles
        )
    assert obstructed[0.0] > 0
    assert obstructed[1.0] == 0


def test_a_door_that_opens_onto_a_wall_of_the_world_is_rejected():
    text = "obstacles: [{type: wall, count: 1, x_m: 0, y_m: -11, yaw_rad: 0, %s}]"
    site = Site((WALL,), FAR_MISSION)
    assert sets_of(text % "door_m: 1", 1, site)
    with pytest.raises(PlacementError, match="doors"):
        sets_of(text % "door_m: 1, door_clear_m: 1", 1, site)


def test_position_of_a_door_goes_from_one_end_of_the_wall_to_the_other():
    for position, left_m, right_m in ((0, 0, 3), (1, 3, 0), (0.5, 1.5, 1.5)):
        entry = f"type: wall, length_m: 4, door_m: 1, door_position: {position}"
        text = f"obstacles: [{{{entry}, count: 1, x_m: 0, y_m: 0, yaw_rad: 0}}]"
        ((wall,),) = sets_of(text, 1)
        parts = shapely.get_parts(wall.footprint)
        lengths = {part.centroid.x > 0: part.bounds[2] - part.bounds[0] for part in parts}
        found = [lengths.get(side, 0.0) for side in (False, True)]
        assert found == pytest.approx([left_m, right_m])


def test_obstacles_are_placed_inside_rooms_but_not_in_walls():
    text = (
        "obstacles:\n  - {type: room, count: 1, x_m: 0, y_m: 0, size_x_m: 8, size_y_m: 8}\n"
        "  - {type: box, count: 5, size_x_m: 0.4, size_y_m: 0.4}\nmin_gap_m: 0.2\n"
        "region: {circle: {x_m: 0, y_m: 0, radius_m: 3.5}}\n"
    )
    for obstacles in sets_of(text, 5):
        room = named(obstacles, "room")[0]
        for box in named(obstacles, "box"):
            assert room.outline.distance_m(box.outline) >= 0.2


def test_solvable_rejects_a_closed_room_around_the_goal():
    text = (
        "obstacles: [{type: room, count: 1, x_m: 5, y_m: 0, %s}]\nsolvable: {margin_m: 0.05}\n"
        "mission: {start: [0, 0], goal: [5, 0], footprint_m: [[0.3, 0], [-0.3, 0.2], [-0.3, -0.2]]}"
    )
    site = Site((), RequiredMission((0.0, 0.0), (5.0, 0.0), 0.36))
    assert sets_of(text % "door_west_m: 0.9", 1, site)
    with pytest.raises(PlacementError, match="no path"):
        sets_of(text % "door_west_m: 0.7", 1, site)


@pytest.mark.parametrize(
    ("entry", "found"),
    (
        ("{type: wall, count: 1, length_m: [1, 2], door_m: [0.5, 1]}", "door_m can be 1"),
        ("{type: room, count: 1, size_x_m: 1, door_north_m: 1.2}", "door_north_m can be 1.2"),
        ("{type: room, count: 1, door_position: [0, 2]}", "between 0 and 1"),
        ("{type: wall, count: 1, door_m: [-1, 1]}", "must be >= 0"),
        ("{type: wall, count: 1, static: false}", "remove static"),
    ),
)
def test_invalid_walls_are_rejected_with_the_key_and_the_value(entry, found):
    with pytest.raises(SpecError, match=rf"obstacles\.yaml:1: .*{found}"):
        spec_of(f"obstacles: [{entry}]\n{REGION}")


def test_walls_of_a_saved_world_cannot_get_another_size():
    unit = ObstacleModel.unit("room")
    text = unit.sdf("obstacle_room_0", Pose(), unit.size, 1.0, True)
    document = SdfDocument.parse(f'<sdf version="1.6">{text}</sdf>', "saved.world")
    (model,) = read_scene(document).models.values()
    with pytest.raises(SdfError, match=r"obstacle_room_0.*type of its entry to model"):
        ObstacleModel.of("room", model, document)


def test_example_specifications_show_every_key():
    files = [CONFIG / "obstacles.yaml", *(CONFIG / "obstacle_kinds").glob("*.yaml")]
    texts = "".join(file.read_text() for file in files)
    kinds = [OBSTACLE_KINDS.get(name) for name in OBSTACLE_KINDS.names()]
    keys = {key for spec in (ObstacleSpec, *kinds) for key in spec.model_fields}
    missing = [key for key in sorted(keys) if not re.search(rf"\b{key}\b", texts)]
    assert missing == []


@pytest.mark.parametrize("name", ("office_obstacles", "furniture_obstacles"))
def test_example_specifications_give_worlds_of_the_arena(name, tmp_path):
    spec = load(CONFIG / "obstacle_kinds" / f"{name}.yaml", ObstacleSpec)
    (world,) = multiply(CONFIG.parent / "worlds" / "arena.world", spec, 1, 3, tmp_path / "out")
    assert world.shortest_path_m
