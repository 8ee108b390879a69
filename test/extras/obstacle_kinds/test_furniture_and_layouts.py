"""Furniture, mazes and caves: their geometry at each height, their layouts and their placement."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest
import shapely

from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.extras.obstacle_kinds import layouts
from gz_testauto.grid.search import path_length_m
from gz_testauto.sampling.difficulty import DifficultyEvaluator
from gz_testauto.sampling.models import ObstacleModel
from gz_testauto.sampling.placement import Placer
from gz_testauto.sampling.site import RequiredMission, Site
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.floor import ANY_ROBOT, Heights
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene
from gz_testauto.simulators.kinematic.outlines import Outlines
from gz_testauto.spec.loader import parse
from gz_testauto.spec.obstacles import OBSTACLE_KINDS, ObstacleSpec
from gz_testauto.trial.clearance import ObstacleField
from gz_testauto.worlds.multiply import multiply

CHECKOUT = Path(__file__).resolve().parents[3]
PLAIN = CHECKOUT / "worlds" / "plain.world"
LOW_ROBOT = CHECKOUT / "test" / "simulators" / "data" / "robot.sdf"
REGION = "region: {rectangle: {x_m: [-10, 10], y_m: [-10, 10]}}\n"
SIZES = {
    "table": (1.4, 0.9, 0.8, 0.04, 0.05),
    "chair": (0.5, 0.4, 0.45, 0.95, 0.02, 0.03),
    "shelf": (1.2, 0.5, 2.1, 0.15, 0.45, 0.03, 0.04),
    "door_frame": (1.1, 1.9, 0.08, 0.2),
    "u_shape": (2.0, 1.2, 0.15, 0.7),
    "l_box": (1.5, 0.8, 0.3, 0.5),
    "pallet": (1.0, 1.2, 0.15, 0.02, 0.12, 0.6),
    "maze": (5.0, 4.0, 1.2, 0.12, 0.9, 0.1, 7.0),
    "cave": (24.0, 20.0, 0.3, 1.1, 0.25, 3.0, 7.0),
}
VOLUMES_M3 = {
    "table": 1.4 * 0.9 * 0.04 + 4 * 0.05**2 * 0.76,
    "chair": 0.5 * 0.4 * 0.02 + 4 * 0.03**2 * 0.43 + 0.02 * 0.4 * 0.5,
    "shelf": 4 * 0.04**2 * 2.1 + 6 * 1.12 * 0.5 * 0.03,  # 1.92 m in 5 distances of up to 0.45 m
    "door_frame": 2 * 0.08 * 0.2 * 1.9 + 1.26 * 0.2 * 0.08,
    "u_shape": (1.2 + 2 * 1.85) * 0.15 * 0.7,
    "l_box": (1.5 * 0.3 + 0.5 * 0.3) * 0.5,
    "pallet": 3 * 1.0 * 0.12 * 0.02 + 9 * 0.12**2 * 0.11 + 1.2 * 0.02 + 1.2 * 0.6,
}


def spec_of(text):
    return parse(text, ObstacleSpec, Path("obstacles.yaml"))


def sets_of(text, count, site=None):
    placer = Placer(spec_of(text), site or Site())
    return [placer.place(np.random.default_rng(seed)) for seed in range(count)]


def written(type_, size, static=True):
    model = ObstacleModel.unit(type_)
    text = model.sdf("obstacle", Pose(), size, model.mass_of(size, None), static)
    return next(
        iter(read_scene(SdfDocument.parse(f'<sdf version="1.6">{text}</sdf>')).models.values())
    )


@pytest.mark.parametrize("type_", sorted(SIZES))
def test_outline_at_each_height_equals_that_of_the_written_model(type_):
    model, size = ObstacleModel.unit(type_), SIZES[type_]
    found = written(type_, size)
    top_m = model.height_m(size)
    assert found.bounds[2] == pytest.approx([0.0, top_m])
    assert model.height_of_frame_m(size) == 0.0
    whole = model.outline(size).polygon
    assert whole.symmetric_difference(found.footprint(-9, 9)).area < 1e-9
    for low_m, high_m in ((0.02, 0.12), (0.02, 0.5), (0.3, 0.4), (0.6, 0.78), (top_m - 0.01, 3.0)):
        cut = model.cut(size, Heights(low_m, high_m))
        part = whole if cut is None else cut.polygon
        assert part.symmetric_difference(found.footprint(low_m, high_m)).area < 1e-9


@pytest.mark.parametrize("type_", sorted(VOLUMES_M3))
def test_mass_of_furniture_is_its_volume_times_the_density(type_):
    model = ObstacleModel.unit(type_)
    assert model.mass_of(SIZES[type_], 200.0) == pytest.approx(200 * VOLUMES_M3[type_])
    assert model.mass_of(SIZES[type_], None) == pytest.approx(600 * VOLUMES_M3[type_])


@pytest.mark.parametrize("type_", sorted(VOLUMES_M3))
def test_inertia_of_furniture_is_that_of_its_volume(type_):
    model, size = ObstacleModel.unit(type_), SIZES[type_]
    text = model.sdf("o", Pose(), size, 50.0, False)
    inertial = SdfDocument.parse(f'<sdf version="1.6">{text}</sdf>').root.find(".//inertial")
    boxes = [
        (shape.geometry.size, shape.local_pose.position)
        for shape in written(type_, size).collisions
    ]
    points, weights = [], []
    for sides, center in boxes:  # the corners of the cube of Gauss points integrate squares exactly
        ends = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T / math.sqrt(3) / 2
        points.append(ends * sides + center)
        weights += [math.prod(sides) / 8] * 8
    points, weights = np.concatenate(points), np.array(weights) * 50 / sum(weights)
    center = weights @ points / 50
    away = points - center
    tensor = np.einsum("n,ni,nj->ij", weights, away, away)
    expected = np.trace(tensor) * np.eye(3) - tensor
    found = [
        float(inertial.findtext(f"inertia/i{name}"))
        for name in ("xx", "xy", "xz", "yy", "yz", "zz")
    ]
    assert found == pytest.approx(expected[np.triu_indices(3)], abs=1e-9)
    pose = [float(value) for value in inertial.findtext("pose").split()]
    assert pose[:3] == pytest.approx(center, abs=1e-12)
    assert float(inertial.findtext("mass")) == pytest.approx(50)


@pytest.mark.parametrize(
    ("high_m", "detour"), [(0.7, False), (0.76, False), (0.761, True), (1.0, True)]
)
def test_a_path_leads_below_a_table_only_for_robots_that_are_lower(high_m, detour):
    text = (
        "obstacles: [{type: table, count: 1, x_m: 0, y_m: 0, yaw_rad: 0, size_x_m: 3, "
        "size_y_m: 3, height_m: 0.791}]"
    )
    mission = RequiredMission((-4.0, 0.0), (4.0, 0.0), 0.4, Heights(0.02, high_m))
    (placed,) = sets_of(text, 1, Site((), mission))
    assert (placed.shortest_path_m > 8.0 + 1e-9) == detour
    if not detour:
        assert placed.difficulty.narrowest_gap_m == pytest.approx(3 - 2 * 0.06)


def test_clearance_below_a_table_is_the_distance_to_its_legs(tmp_path):
    text = (
        "obstacles: [{type: table, count: 1, x_m: 0, y_m: 0, yaw_rad: 0, size_x_m: 2, size_y_m: 2}]"
    )
    (world,) = multiply(PLAIN, spec_of(text), 1, 0, tmp_path / "out")
    scene = read_scene(world.path)
    low, tall = (ObstacleField(scene, Heights(0.02, high_m)) for high_m in (0.5, 1.0))
    center = shapely.Point(0.0, 0.0)
    assert low.nearest(center, {}).distance_m == pytest.approx(math.hypot(0.94, 0.94))
    assert tall.nearest(center, {}).distance_m == 0.0


def test_a_shelf_has_equally_spaced_boards_up_to_the_largest_distance():
    kind = OBSTACLE_KINDS.get("shelf")
    boards = [part for part in kind.parts_of(SIZES["shelf"]) if part.size_z_m < 0.1]
    low = [part.z_m - 0.015 for part in boards]
    assert low == pytest.approx(np.linspace(0.15, 2.07, 6))
    for lowest_m, count in ((2.0, 2), (2.05, 1), (2.09, 1)):  # too little height for two boards
        size = (1.2, 0.5, 2.1, lowest_m, 0.45, 0.03, 0.04)
        boards = [part for part in kind.parts_of(size) if part.size_z_m < 2]
        assert len(boards) == count
        assert min(part.size_z_m for part in boards) > 0
        assert max(part.z_m + part.size_z_m / 2 for part in boards) == pytest.approx(2.1)


def test_furniture_can_be_pushed_and_walls_of_layouts_cannot():
    (placed,) = sets_of(f"obstacles: [{{type: chair, count: 1, static: false}}]\n{REGION}", 1)
    assert not placed.obstacles[0].static
    with pytest.raises(SpecError, match=r"obstacles\.yaml:1: .*a maze cannot be pushed.*static"):
        spec_of("obstacles: [{type: maze, count: 1, x_m: 0, y_m: 0, static: false}]")


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (
            "type: table, leg_width_m: [0.1, 0.5]",
            "2 × leg_width_m can be 1, and size_y_m can be 0.8",
        ),
        ("type: table, height_m: 0.02", "top_thickness_m can be 0.03, and height_m can be 0.02"),
        ("type: chair, height_m: 0.4", "seat_height_m can be 0.46, and height_m can be 0.4"),
        ("type: shelf, lowest_m: 2", "lowest_m can be 2, and height_m can be 1.8"),
        ("type: u_shape, size_y_m: 0.2", "2 × thickness_m can be 0.2, and size_y_m can be 0.2"),
        ("type: l_box, thickness_m: 1.5", "thickness_m can be 1.5, and size_x_m can be 1"),
        (
            "type: pallet, block_width_m: 0.3",
            "3 × block_width_m can be 0.9, and size_y_m can be 0.8",
        ),
        ("type: maze, cell_m: 0.1", "thickness_m can be 0.1, and cell_m can be 0.1"),
        ("type: door_frame, door_m: 0", "door_m is 0; it must be > 0"),
        ("type: cave, cells_x: [1, 200]", "can be 1; it must be between 2 and 100"),
        ("type: cave, passes: 21", "can be 21; it must be between 0 and 20"),
        ("type: cave, fill: 1.2", "can be 1.2; it must be between 0 and 1"),
        ("type: maze, layout: -1", "can be -1; it must be between 0 and 1e"),
        ("type: table, model: table.sdf", "a table has no model; remove model"),
        ("type: cave, x_m: 0, y_m: 0, count: 2", "count can be 2, but x_m and y_m are constant"),
        ("type: table, leg_m: 0.1", "unknown key 'leg_m'"),
    ],
)
def test_invalid_sizes_are_rejected_with_both_keys_and_values(entry, found, tmp_path):
    (tmp_path / "table.sdf").write_text("<sdf version='1.6'><model name='m'/></sdf>")
    count = "" if "count" in entry else ", count: 1"
    text = f"obstacles: [{{{entry}{count}}}]\n{REGION}"
    with pytest.raises(SpecError) as raised:
        parse(text, ObstacleSpec, tmp_path / "obstacles.yaml")
    assert "obstacles.yaml:1: " in str(raised.value)
    assert found in str(raised.value)


def test_a_door_frame_keeps_the_area_in_front_of_its_opening_free():
    text = (
        "obstacles: [{type: door_frame, count: 1, x_m: 0, y_m: 0, yaw_rad: 0, door_clear_m: %s}, "
        "{type: cylinder, count: 40, radius_m: 0.2}]\n"
        "region: {circle: {x_m: 0, y_m: 0, radius_m: 4}}"
    )
    area = shapely.box(-0.45, -0.999, 0.45, 0.999)
    for clear_m, is_free in ((0, False), (0.925, True)):
        found = [
            other.footprint.intersects(area)
            for placed in sets_of(text % clear_m, 3)
            for other in placed.obstacles[1:]
        ]
        assert any(found) != is_free


def test_an_obstacle_can_be_in_the_center_of_a_room():
    text = (
        "obstacles: [{type: room, count: 1, x_m: 0, y_m: 0}, "
        "{type: box, count: 1, x_m: 0, y_m: 0}]\nmax_tries: 5"
    )
    (placed,) = sets_of(text, 1)
    assert len(placed.obstacles) == 2


# Layouts


def corridors(columns, rows, loops, layout):
    """Return the cells of a maze and its passages, read from the boxes of its model."""
    size = (float(columns), float(rows), 1.0, 0.1, 1.0, loops, float(layout))
    walls = ObstacleModel.unit("maze").outline(size).core
    centers = {
        (row, column): (column + 0.5 - columns / 2, row + 0.5 - rows / 2)
        for row in range(-1, rows + 1)
        for column in range(-1, columns + 1)
    }
    passages = []
    for (row, column), center in centers.items():
        for other in ((row + 1, column), (row, column + 1)):
            inside = [0 <= r < rows and 0 <= c < columns for r, c in ((row, column), other)]
            if other in centers and any(inside):
                line = shapely.LineString([center, centers[other]])
                if shapely.disjoint(line, walls):
                    passages.append(((row, column), other, all(inside)))
    return passages


def connected(passages, start):
    seen, queue = {start}, [start]
    while queue:
        here = queue.pop()
        for one, other, _ in passages:
            for a, b in ((one, other), (other, one)):
                if a == here and b not in seen:
                    seen.add(b)
                    queue.append(b)
    return seen


@pytest.mark.parametrize(("columns", "rows", "layout"), [(2, 2, 0), (6, 4, 1), (3, 7, 999_999)])
def test_passages_of_a_maze_are_a_spanning_tree_with_two_entrances(columns, rows, layout):
    passages = corridors(columns, rows, 0.0, layout)
    inner = [one for one in passages if one[2]]
    assert len(inner) == columns * rows - 1
    cells = {(row, column) for row in range(rows) for column in range(columns)}
    assert cells <= connected(inner, (0, 0))
    outer = [sorted((one[1], other[1])) for one, other, inside in passages if not inside]
    assert sorted(outer) == [[-1, 0], [columns - 1, columns]]


def test_loops_of_a_maze_remove_a_share_of_the_remaining_walls():
    for loops, low, high in ((1.0, 112, 112), (0.5, 63 + 15, 63 + 34), (0.0, 63, 63)):
        inner = [one for one in corridors(8, 8, loops, 3) if one[2]]
        assert low <= len(inner) <= high


def published_cave(numbers, fill, passes):
    """The rules of BARN's generator, one cell after the other."""
    rows, columns = numbers.shape
    cells = [
        [
            1 if row in (0, rows - 1) or numbers[row, column] < fill else 0
            for column in range(columns)
        ]
        for row in range(rows)
    ]
    for _ in range(passes):
        before = [list(row) for row in cells]
        for row in range(rows):
            for column in range(columns):
                count = 0
                for r in (row - 1, row, row + 1):
                    for c in (column - 1, column, column + 1):
                        if (r, c) == (row, column):
                            continue
                        if not 0 <= r < rows:
                            count += 1
                        elif 0 <= c < columns:
                            count += before[r][c]
                if count >= 5:
                    cells[row][column] = 1
                elif count <= 1:
                    cells[row][column] = 0
    return np.array(cells, dtype=bool)


@pytest.mark.parametrize("passes", [0, 1, 4])
@pytest.mark.parametrize("fill", [0.15, 0.3, 0.5])
def test_cells_of_a_cave_follow_the_published_rules(fill, passes):
    numbers = np.random.default_rng(5).random((17, 23))
    assert (layouts.cave(numbers, fill, passes) == published_cave(numbers, fill, passes)).all()


def test_boxes_of_a_cave_cover_its_cells_once(monkeypatch):
    numbers = np.random.default_rng(2).random((20, 24))
    monkeypatch.setattr(layouts, "cave", lambda *_: numbers < 0.4)
    size = (24.0, 20.0, 0.5, 1.0, 0.33, 2.0, 5.0)
    parts = OBSTACLE_KINDS.get("cave").parts_of(size)
    count = np.zeros((20, 24), dtype=int)
    for part in parts:
        rows, columns = (
            np.abs((np.arange(number) + 0.5 - number / 2) * 0.5 - center) < side / 2
            for number, center, side in (
                (20, part.y_m, part.size_y_m),
                (24, part.x_m, part.size_x_m),
            )
        )
        count += np.outer(rows, columns)
    assert (count == (numbers < 0.4)).all()
    assert len(parts) < 0.7 * count.sum()


def test_walls_of_a_maze_are_merged_into_few_boxes():
    size = (20.0, 20.0, 1.0, 0.1, 1.0, 0.0, 4.0)
    walls = 2 * 20 * 21 - (20 * 20 - 1) - 2
    assert len(OBSTACLE_KINDS.get("maze").parts_of(size)) < 0.55 * walls


@pytest.mark.parametrize(
    ("type_", "digest"),
    [("maze", "b41aa4664f5d99d5"), ("cave", "5144c7505411b9d9"), ("table", "d4cdd8ba9a814f92")],
)
def test_a_size_gives_the_same_model_on_every_machine(type_, digest):
    model = ObstacleModel.unit(type_)
    text = model.sdf("o", Pose(), SIZES[type_], 1.0, True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


def test_each_world_has_another_layout_and_a_constant_layout_remains():
    entry = "type: cave, count: 1, x_m: 0, y_m: 0, yaw_rad: 0"
    drawn = {placed.obstacles[0].size[-1] for placed in sets_of(f"obstacles: [{{{entry}}}]", 5)}
    assert len(drawn) == 5
    text = f"obstacles: [{{{entry}, layout: 12}}]"
    assert {placed.obstacles[0].size[-1] for placed in sets_of(text, 3)} == {12.0}


CAVE = """
obstacles:
  - {type: room, count: 1, x_m: 0, y_m: 0, yaw_rad: 0, size_x_m: 9, size_y_m: 6.1}
  - {type: cave, count: 1, x_m: 0, y_m: 0, yaw_rad: 0, cell_m: 0.2, fill: %s}
keep_out: [{center: start, radius_m: 0.5}]
solvable: {margin_m: 0.05}
"""


def test_layouts_without_a_path_or_with_a_cell_in_a_keep_out_are_drawn_again():
    mission = RequiredMission((-2.5, 0.0), (4.0, 0.0), 0.35, ANY_ROBOT)
    placed = sets_of(CAVE % 0.22, 8, Site((), mission))
    assert sum(one.redrawn for one in placed) > 0
    for one in placed:
        cave = one.obstacles[1].outline
        assert cave.core.distance(shapely.Point(-2.5, 0.0)) >= 0.5
        evaluator = DifficultyEvaluator(Site((), mission), 0.05, shapely.box(-9, -9, 9, 9))
        path = evaluator.shortest_path([other.outline for other in one.obstacles])
        assert path_length_m(path) == pytest.approx(one.shortest_path_m)
        assert cave.core.distance(shapely.LineString(path)) >= 0.4 - 1e-9


def test_an_obstacle_that_never_fits_at_its_position_is_an_error_with_its_name():
    mission = RequiredMission((-2.5, 0.0), (4.0, 0.0), 0.35, ANY_ROBOT)
    with pytest.raises(PlacementError, match=r"'obstacle_cave_0' violates .*'keep_out'"):
        sets_of(CAVE % 0.98, 1, Site((), mission))


# In simulators


def simulators():
    return [
        pytest.param("embedded", marks=pytest.mark.slow),
        pytest.param("gazebo", marks=pytest.mark.gazebo),
    ]


def world_of_all_kinds(tmp_path):
    entries = "".join(
        f"  - {{type: {type_}, count: 1, x_m: {x}, y_m: {y}, yaw_rad: 0.4{more}}}\n"
        for type_, x, y, more in (
            ("table", 2.5, 0.3, ""),
            ("chair", 2.2, 2.0, ""),
            ("shelf", 0.0, 2.5, ""),
            ("door_frame", -1.0, -2.0, ""),
            ("u_shape", -2.5, 1.5, ", yaw_rad: -0.6"),
            ("l_box", 1.5, -2.2, ""),
            ("pallet", 3.5, -1.5, ", load_height_m: 0.8"),
            ("maze", -7.0, -3.0, ", cells_x: 4, cells_y: 4, cell_m: 1"),
            ("cave", 7.0, 3.0, ""),
        )
    ).replace("yaw_rad: 0.4, yaw_rad", "yaw_rad")
    (world,) = multiply(PLAIN, spec_of(f"obstacles:\n{entries}"), 1, 3, tmp_path / "out")
    return world.path


@pytest.mark.parametrize("name", simulators())
def test_a_planar_lidar_detects_the_boxes_at_its_height(name, tmp_path):
    world, robot = world_of_all_kinds(tmp_path), read_robot(LOW_ROBOT)
    level_m, ahead_m = robot.lidar.mount.position[2], robot.lidar.mount.position[0]
    shapes = [
        shape.footprint(level_m, level_m)
        for model_name, model in read_scene(world).models.items()
        if model_name.startswith("obstacle_")
        for shape in model.collisions
    ]
    outlines = Outlines.of([shape for shape in shapes if not shape.is_empty])
    angles = np.linspace(-3 * np.pi / 4, 3 * np.pi / 4, 361)
    with open_simulator(name) as simulator:
        for yaw_rad in (0.0, 2.5):
            start = Pose2D(0.3, 0.0, yaw_rad)
            simulation = simulator.load(Scene(world, robot, start))
            scan = simulation.snapshot().scan
            lidar = start.to_pose() * Pose((ahead_m, 0.0, 0.0))
            exact = outlines.cast(*lidar.planar, angles, 0.1, 10.0)
            away_m = np.minimum(scan.ranges_m, 10.0) - np.minimum(exact, 10.0)
            assert (np.abs(away_m) < 0.02).mean() > 0.98  # rays that graze an edge can pass it
            assert np.isfinite(exact).sum() > 100


@pytest.mark.parametrize("name", simulators())
@pytest.mark.parametrize(("model", "collides"), [(LOW_ROBOT, False), ("wheelchair", True)])
def test_only_a_robot_that_is_higher_than_a_table_collides_with_its_top(
    name, model, collides, tmp_path
):
    text = (
        "obstacles: [{type: table, count: 1, x_m: 2.5, y_m: 0, yaw_rad: 0, size_x_m: 1.6, "
        "size_y_m: 1.4}]"
    )
    (world,) = multiply(PLAIN, spec_of(text), 1, 0, tmp_path / "out")
    path = share_directory() / "models" / model if model == "wheelchair" else model
    robot = read_robot(path)
    touched = set()
    with open_simulator(name) as simulator:
        simulation = simulator.load(Scene(world.path, robot, Pose2D(0.0, 0.0, 0.0)))
        for tenth in range(60):
            simulation.drive(Twist2D(min(1.0, 0.1 * tenth), 0.0))
            snapshot = simulation.step(0.1)
            for contact in snapshot.contacts:
                touched |= {one.split("::")[0] for one in (contact.first, contact.second)}
        x_m = snapshot.models[robot.name].pose.position[0]
    assert ("obstacle_table_0" in touched) == collides
    assert (x_m < 2.0) == collides
    assert collides or x_m > 4.0
