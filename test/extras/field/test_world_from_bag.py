"""A bag of a robot in a known room becomes that room, or one line with the cause."""

import csv
import re

import numpy as np
import pytest
import shapely
from bag_scenes import BOX, CELL_M, GRID, MOUNT, WALLS, BareBag, ReplayedBag, poses, write_bag

from gz_testauto.base.pose import Pose
from gz_testauto.cli.main import main
from gz_testauto.extras.field import reconstruction
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.outcome import Outcome

pytest.importorskip("rosbags")
pytest.importorskip("PIL")
pytestmark = pytest.mark.slow

UPSIDE_DOWN = MOUNT * Pose.from_rpy(0, 0, 0, np.pi, 0, 0)


def convert(bag, out, *options):
    return main(["world-from-bag", str(bag), "--out", str(out), *options])


def message_of(capsys, bag, *options):
    """Return the one line of an error."""
    assert convert(bag, bag.parent / "out", *options) == 2
    text = capsys.readouterr().err.splitlines()
    assert len([line for line in text if line.startswith("gz_testauto")]) == 1
    return text[-1]


def seen_outlines(out):
    scene = read_scene(next(out.glob("*.world")))
    return {
        name: model.footprint(0.3, 0.4)
        for name, model in scene.models.items()
        if name.startswith("seen_")
    }


def test_box_that_the_map_lacks_is_in_the_world_and_the_failure_runs_in_its_campaign(
    tmp_path, capsys
):
    bag, out = write_bag(tmp_path / "stuck.bag"), tmp_path / "out"
    assert convert(bag, out) == 0
    text = capsys.readouterr().out
    assert "goal 1 of 1, aborted" in text
    seen_m2 = int(re.search(r"(\d+) m² seen", text)[1])
    assert 0.8 * 7.6 * 5.6 < seen_m2 <= 8 * 6
    (outline,) = seen_outlines(out).values()
    seen_sides = outline.boundary.intersection(BOX.boundary.buffer(0.03)).length
    assert seen_sides > 0.5 * BOX.boundary.length
    assert outline.intersection(BOX).area > 0.8 * BOX.area
    spec = load(out / "campaign.yaml", CampaignSpec)
    assert spec.robot.start.pose == pytest.approx((1.5, 1.2, 0.0), abs=0.02)
    assert (spec.goal.x_m, spec.goal.y_m) == (7.0, 5.0)
    end = spec.worlds.files[0].recorded_end
    last = poses(5.0)[1][-1]
    assert (end.x_m, end.y_m) == pytest.approx((last.x_m, last.y_m), abs=0.02)
    assert end.result == "aborted"
    assert spec.robot.max_linear_mps == 0.5
    page = (out / "reconstruction.html").read_text()
    assert "seen_00" in page and "<script" not in page
    results = tmp_path / "results"
    options = ("--simulator", "kinematic", "--workers", "1")
    assert main(["run", str(out / "campaign.yaml"), "--out", str(results), *options]) == 0


def test_stamps_can_be_those_of_a_bag_that_was_played(tmp_path):
    out = tmp_path / "out"
    assert convert(write_bag(tmp_path / "replayed.bag", kind=ReplayedBag), out) == 0
    spec = load(out / "campaign.yaml", CampaignSpec)
    assert spec.robot.start.pose == pytest.approx((1.5, 1.2, 0.0), abs=0.02)


def test_walker_becomes_a_track_of_an_actor_and_no_obstacle(tmp_path):
    def walker(time_s):
        return 6.5 - 0.6 * time_s, 2.2

    bag, out = write_bag(tmp_path / "walker.bag", shapes=(), walker=walker), tmp_path / "out"
    assert convert(bag, out) == 0
    assert seen_outlines(out) == {}
    with open(out / "tracks.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["time", "id", "x", "y"]
    values = np.array([[float(row[key]) for key in ("time", "x", "y")] for row in rows])
    truth = np.array([walker(time_s) for time_s in values[:, 0]])
    # in sight at the end, so it continues
    assert values[-1, 0] - values[-2, 0] == pytest.approx(3.0)
    assert values[-1, 1:] == pytest.approx(truth[-1], abs=0.3)
    assert np.sqrt(np.mean((values[:, 1:] - truth) ** 2)) < 0.15
    assert "behavior: recorded, tracks: tracks.csv" in (out / "campaign.yaml").read_text()


def test_walker_with_the_robot_does_not_displace_the_poses(tmp_path, monkeypatch):
    collect, calls = reconstruction.collect_evidence, []

    def behind_walls_at_first(*arguments):
        calls.append(arguments)
        evidence = collect(*arguments)
        return evidence if len(calls) > 1 else evidence._replace(crossing_share=1.0)

    # the poses of the first result, which the walker displaces, do not have to fit the map
    monkeypatch.setattr(reconstruction, "collect_evidence", behind_walls_at_first)
    path_poses = poses(8.0)[1]

    def walker(time_s):
        pose = path_poses[round(10 * time_s)]
        return pose.x_m + 0.1 - 0.3 * np.sin(0.7 * time_s), pose.y_m + 0.8

    options = {"duration_s": 8.0, "shapes": (), "walker": walker, "range_m": 1.0}
    out = tmp_path / "out"
    assert convert(write_bag(tmp_path / "walker.bag", **options), out) == 0
    end = load(out / "campaign.yaml", CampaignSpec).worlds.files[0].recorded_end
    assert (end.x_m, end.y_m) == pytest.approx((path_poses[-1].x_m, path_poses[-1].y_m), abs=0.02)


def test_robot_at_rest_is_a_result(tmp_path, capsys):
    bag = write_bag(tmp_path / "rest.bag", duration_s=0.5)
    assert convert(bag, tmp_path / "out") == 0
    assert "1 obstacles" in capsys.readouterr().out


def test_scans_without_returns_are_rejected(tmp_path, capsys):
    bag = write_bag(tmp_path / "open.bag", duration_s=1.0, shapes=(), range_m=0.6)
    assert "no ray of the lidar hits a static surface" in message_of(capsys, bag)


def test_lidar_upside_down_needs_its_roll_in_tf(tmp_path, capsys):
    bag = write_bag(tmp_path / "right.bag", mount=UPSIDE_DOWN)
    assert convert(bag, tmp_path / "out") == 0
    capsys.readouterr()
    bag = write_bag(tmp_path / "wrong.bag", mount=UPSIDE_DOWN, reported_mount=MOUNT)
    assert "the lidar is upside down" in message_of(capsys, bag)


def test_offset_of_the_clock_is_estimated_and_removed(tmp_path, capsys):
    bag = write_bag(tmp_path / "late.bag", duration_s=8.0, lag_s=0.3)
    assert convert(bag, tmp_path / "out") == 0
    text = capsys.readouterr().out
    assert "the clock of the scans is 0.30 s behind that of tf" in text


def test_map_of_another_building_is_rejected(tmp_path, capsys):
    walls = [shapely.box(x, -1, x + 0.1, 7) for x in (0.8, 2.4, 3.4, 5.3)]
    other = OccupancyGrid.rasterize(walls, (0, 0, 8, 6), CELL_M)
    bag = write_bag(tmp_path / "other.bag", grid=other)
    assert "the map does not fit" in message_of(capsys, bag)


def test_returns_behind_glass_are_omitted(tmp_path, capsys):
    glass = [WALLS, shapely.box(7.0, 0.0, 7.1, 2.0)]
    grid = OccupancyGrid.rasterize(glass, (0, 0, 8, 6), CELL_M)
    bag = write_bag(tmp_path / "glass.bag", grid=grid)
    assert convert(bag, tmp_path / "out") == 0
    assert "are behind walls (glass?)" in capsys.readouterr().out
    assert len(seen_outlines(tmp_path / "out")) == 1


def test_carried_robot_is_rejected(tmp_path, capsys):
    bag = write_bag(tmp_path / "carried.bag", carried_s=2.5)
    assert "Usual causes: the robot was carried" in message_of(capsys, bag)


def test_bag_without_tf_and_localizer_needs_two_poses(tmp_path, capsys):
    bag = write_bag(tmp_path / "bare.bag", kind=BareBag)
    assert "--mount, and without a localizer" in message_of(capsys, bag)
    poses = ("--mount", "0.2", "0", "0", "--start", "1.52", "1.18", "0.01")
    assert convert(bag, tmp_path / "out", *poses) == 0
    (outline,) = seen_outlines(tmp_path / "out").values()
    assert outline.intersection(BOX).area > 0.8 * BOX.area


def test_bag_that_was_cut_names_the_repair(tmp_path, capsys):
    bag = write_bag(tmp_path / "cut.bag", duration_s=1.0)
    bag.write_bytes(bag.read_bytes()[: bag.stat().st_size // 2])
    assert "rosbag reindex" in message_of(capsys, bag)


def test_goals_that_succeeded_need_a_window(tmp_path, capsys):
    bag = write_bag(tmp_path / "reached.bag", duration_s=2.0, outcome=Outcome.REACHED)
    assert "all 1 goals succeeded; select a window" in message_of(capsys, bag)
    assert "is not in the bag" in message_of(capsys, bag, "--from", "9")
    assert "unknown topic '/other'" in message_of(capsys, bag, "--scan", "/other")
    assert convert(bag, tmp_path / "out", "--from", "0", "--to", "1.5") == 0


def test_map_of_a_file_replaces_that_of_the_bag(tmp_path):
    from gz_testauto.grid.map_server import write_map

    path, _ = write_map(GRID, tmp_path)
    bag = write_bag(tmp_path / "file.bag", grid=OccupancyGrid.rasterize([BOX], (0, 0, 8, 6), 0.1))
    assert convert(bag, tmp_path / "out", "--map", str(path)) == 0
    assert len(seen_outlines(tmp_path / "out")) == 1


def test_lidar_of_the_robot_is_the_one_at_the_pose_in_tf(tmp_path):
    robot = "package://gz_testauto/models/service_robot/model.sdf"
    for x_m, name in ((0.3, "front_lidar"), (-0.3, "rear_lidar")):
        bag, out = tmp_path / f"{name}.bag", tmp_path / name
        write_bag(bag, mount=Pose.from_rpy(x_m, 0.0, 0.3, 0.0, 0.0, 0.0))
        assert convert(bag, out, "--robot", robot) == 0
        assert load(out / "campaign.yaml", CampaignSpec).robot.lidar == name
