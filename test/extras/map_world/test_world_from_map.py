"""A map of map_server becomes a world whose map is equal in all known cells."""

import math
from pathlib import Path

import numpy as np
import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.cli.main import main
from gz_testauto.extras.map_world.areas import ends_of_largest_area
from gz_testauto.extras.map_world.distant_ends import find_mission
from gz_testauto.grid.map_server import FREE, OCCUPIED, UNKNOWN, MapFile, read_map_file
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.worlds.static_map import map_of

CELL_M = 0.05
X_M, Y_M = -3.7, 12.35


@pytest.fixture
def office(tmp_path):
    """The path of a map with a room, a pillar, a diagonal wall, and unknown cells outside."""
    pixels = np.full((80, 120), UNKNOWN, dtype=np.uint8)
    pixels[10:70, 10:110] = OCCUPIED
    pixels[12:68, 12:108] = FREE
    pixels[30:36, 50:57] = OCCUPIED
    for step in range(12):
        pixels[50 + step, 20 + step] = OCCUPIED
    return write(tmp_path, pixels)


def write(folder, pixels, name="office", yaw_rad=0.0, image=None):
    rows, columns = pixels.shape
    if image is None:
        image = f"{name}.pgm"
        header = f"P5\n{columns} {rows}\n255\n".encode()
        (folder / image).write_bytes(header + pixels[::-1].tobytes())
    path = folder / f"{name}.yaml"
    path.write_text(
        f"image: {image}\nresolution: {CELL_M}\norigin: [{X_M}, {Y_M}, {yaw_rad}]\n"
        "negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n"
    )
    return path


def convert(path, out, *options):
    assert main(["world-from-map", str(path), "--out", str(out), *options]) == 0
    return out / f"{path.stem}.world"


def test_map_of_the_world_equals_the_given_map_in_known_cells(office, tmp_path):
    found = read_map_file(office)
    scene = read_scene(convert(office, tmp_path / "out"))
    again = map_of(scene, CELL_M, bounds=(X_M, Y_M, X_M + 120 * CELL_M, Y_M + 80 * CELL_M))
    assert again.occupied.shape == found.occupied.shape
    known = ~found.unknown
    assert known.any() and found.unknown.any()
    assert np.array_equal(again.occupied[known], found.occupied[known])
    assert again.occupied[found.unknown].all()


def test_unknown_cells_are_free_on_request(office, tmp_path):
    scene = read_scene(convert(office, tmp_path / "out", "--unknown", "free", "--height", "1.5"))
    again = map_of(scene, CELL_M, bounds=(X_M, Y_M, X_M + 120 * CELL_M, Y_M + 80 * CELL_M))
    assert np.array_equal(again.occupied, read_map_file(office).occupied)
    walls = scene.models["map_walls"].collisions
    assert {tuple(one.bounds[2]) for one in walls} == {(0.0, 1.5)}


def test_bounds_of_a_rotated_map_contain_it(office, tmp_path, capsys):
    text = office.read_text().replace(f"{Y_M}, 0.0]", f"{Y_M}, {math.pi / 2}]")
    office.write_text(text)
    convert(office, tmp_path / "out")
    expected = "bounds -7.7 12.35 -3.7 18.35 around the map, which is rotated by 1.5708 rad\n"
    assert capsys.readouterr().out.endswith(expected)


def test_rotated_origin_rotates_the_walls_about_the_first_cell(tmp_path):
    pixels = np.full((40, 60), FREE, dtype=np.uint8)
    pixels[0, :] = OCCUPIED
    scene = read_scene(convert(write(tmp_path, pixels, yaw_rad=math.pi / 2), tmp_path / "out"))
    (wall,) = scene.models["map_walls"].collisions
    assert wall.bounds[0] == pytest.approx([X_M - CELL_M, X_M])
    assert wall.bounds[1] == pytest.approx([Y_M, Y_M + 60 * CELL_M])


def test_image_that_is_not_a_pgm_is_read(office, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    found = read_map_file(office)
    with Image.open(office.with_suffix(".pgm")) as image:
        image.convert("RGB").save(tmp_path / "copy.png")
    path = write(tmp_path, found.occupied, "other", image="copy.png")
    other = read_map_file(path)
    assert np.array_equal(other.occupied, found.occupied)
    assert np.array_equal(other.unknown, found.unknown)
    (tmp_path / "copy.png").write_text("no image")
    with pytest.raises(SpecError, match=r"copy.png: the file is not an image"):
        read_map_file(path)


def test_start_and_goal_are_at_the_ends_of_the_longest_corridor():
    free = np.zeros((30, 200), dtype=bool)
    free[5:25, 5:195] = True
    free[:, 100] = False
    free[10:20, 100] = True
    found = MapFile(~free, np.zeros_like(free), CELL_M, (0.0, 0.0, 0.0))
    mission = find_mission(found, free, 0.2)
    assert abs(mission.start[0] - mission.goal[0]) == pytest.approx(190 * CELL_M - 0.4, abs=0.15)
    assert mission.area_m2 == pytest.approx((190 * CELL_M - 0.4) * (20 * CELL_M - 0.4), rel=0.2)
    assert find_mission(found, free, 0.6) is None


def hops_from(first, free):
    """The number of steps to each free cell that 4-connected steps reach from ``first``."""
    hops, layer = {first: 0}, [first]
    while layer:
        near = [(r + a, c + b) for r, c in layer for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0))]
        number = hops[layer[0]] + 1
        layer = sorted(cell for cell in set(near) - set(hops) if cell in free)
        hops.update(dict.fromkeys(layer, number))
    return hops


def test_start_and_goal_are_the_first_of_the_farthest_cells():
    generator = np.random.default_rng(1)
    for _ in range(100):
        cells = generator.random((7, 9)) < 0.6
        free = set(map(tuple, np.argwhere(cells).tolist()))
        areas = [hops_from(cell, free) for cell in sorted(free)]
        expected = None
        largest = max(areas, key=len, default={})
        if len(largest) > 1:
            start = max(sorted(largest), key=largest.get)
            again = hops_from(start, free)
            goal = max(sorted(again), key=again.get)
            expected = (9 * start[0] + start[1], 9 * goal[0] + goal[1], len(largest))
        assert ends_of_largest_area(cells) == expected
    assert ends_of_largest_area(np.eye(3, dtype=bool)) is None


@pytest.mark.slow
def test_written_campaign_is_valid_and_has_worlds(office, tmp_path, capsys):
    office = office.rename(tmp_path / "1 büro: 'Süd'.yaml")
    out = convert(office, tmp_path / "out").parent
    assert "bounds -3.7 12.35 2.3 16.35" in capsys.readouterr().out
    spec = load(out / "campaign.yaml", CampaignSpec)
    assert spec.worlds.base == out / "1 büro: 'Süd'.world"
    assert spec.name == "map_1_b_ro___S_d_"
    start, goal = spec.robot.start, spec.goal
    assert math.hypot(start.x_m - goal.x_m, start.y_m - goal.y_m) > 2.0
    with TrialRunner(spec.model_copy(update={"worlds": few(spec)})) as runner:
        assert [one.shortest_path_m > 2.0 for one in runner.worlds] == [True, True]
        counts = [len(one.obstacles) for one in runner.worlds]
    assert min(counts) < max(counts)
    assert spec.worlds.obstacles.region[0].along_path.width_m == 3.0


def few(spec):
    return spec.worlds.model_copy(update={"count": 2})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("resolution: 0.05", "resolution: 0"), "resolution"),
        (("image: office.pgm", "image: missing.pgm"), "missing.pgm"),
        (("occupied_thresh: 0.65", "occupied_thresh: 0.0"), "no free area is 1 m wide"),
    ],
)
def test_invalid_map_is_rejected(office, tmp_path, capsys, change, complaint):
    office.write_text(office.read_text().replace(*change))
    assert main(["world-from-map", str(office), "--out", str(tmp_path / "out")]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_map_that_needs_too_many_boxes_is_rejected(tmp_path, capsys):
    pixels = np.full((420, 420), FREE, dtype=np.uint8)
    pixels[::2, 200:400:2] = OCCUPIED
    assert main(["world-from-map", str(write(tmp_path, pixels)), "--out", str(tmp_path)]) == 2
    assert "need 21000 boxes" in capsys.readouterr().err


def test_campaign_of_missions_runs_without_a_change(office, tmp_path):
    robot = share_directory() / "models" / "jackal_sized" / "model.sdf"
    out = tmp_path / "out"
    convert(office, out, "--missions", "3", "--robot", str(robot), "--radius", "0.6")
    spec = load(out / "campaign.yaml", CampaignSpec)
    assert spec.worlds.missions.clearance_m == 0.6 and Path(spec.robot.model) == robot
    with TrialRunner(spec, simulator="embedded") as runner:
        assert [world.name for world in runner.worlds] == ["office_m0", "office_m1", "office_m2"]
        assert runner.run("office_m1", "dwa").outcome.value == "reached"


def test_campaign_merges_the_lidars_of_the_robot(office, tmp_path):
    out = tmp_path / "out"
    robot = "package://gz_testauto/models/service_robot/model.sdf"
    convert(office, out, "--missions", "1", "--robot", robot)
    with TrialRunner(load(out / "campaign.yaml", CampaignSpec), simulator="embedded") as runner:
        assert runner.run("office", "dwa").outcome.value == "reached"


def test_robot_that_cannot_be_read_is_left_to_the_campaign(office, tmp_path):
    out = tmp_path / "out"
    robot = tmp_path / "later.sdf"
    convert(office, out, "--robot", str(robot))
    assert f'robot:\n  model: "{robot}"\n  start:' in (out / "campaign.yaml").read_text()
