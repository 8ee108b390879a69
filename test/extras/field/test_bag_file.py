"""The bag of a repeated trial has the topics of a real robot, with the estimated pose in tf."""

import numpy as np
import pytest

from gz_testauto.cli.main import main
from gz_testauto.extras.field.bag_file import BagFile
from gz_testauto.extras.field.topics import open_bag
from gz_testauto.extras.field.window import select_window
from gz_testauto.results.recordings import read_trajectory

pytest.importorskip("rosbags")
NO_CHOICE = {"scan": None, "odom": None, "map-topic": None}

CAMPAIGN = """
name: bag
seed: 39
worlds: {directory: package://gz_testauto/worlds, files: [arena.world]}
robot:
  model: package://gz_testauto/models/jackal_sized/model.sdf
  start: {x_m: -11.0, y_m: -11.0, yaw_rad: 0.785}
goal: {x_m: -9.0, y_m: -9.0, tolerance_m: 0.3}
planners: [fgm]
simulator: embedded
localization: {estimate: corrected}
limits: {timeout_s: 2.0}
"""


def read(path):
    with open_bag(path, NO_CHOICE) as bag:
        content = bag.read_content()
        window = select_window(path, content, None, None)
        return content, window, bag.read_scans(window.from_s, window.to_s)


@pytest.mark.slow
def test_replayed_trial_becomes_a_bag_with_the_estimated_poses(tmp_path, capsys):
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN)
    out, file = tmp_path / "out", tmp_path / "trial.bag"
    assert main(["run", str(tmp_path / "campaign.yaml"), "--out", str(out), "--workers", "1"]) == 0
    capsys.readouterr()
    assert main(["replay", str(out), "0", "fgm", "--bag", str(file)]) == 0
    assert "identical to the stored trial" in capsys.readouterr().out
    content, window, scans = read(file)
    recording = read_trajectory(next((out / "trajectories").iterdir()))
    assert window.reason == "goal 1 of 1, cancelled"
    assert window.goal.pose == (-9.0, -9.0, 0.0)
    assert len(scans.times_s) == len(recording.time_s)
    assert content.map_file.occupied.any()
    times_s = recording.time_s
    found = content.transforms.poses("base_link", "map", times_s, (0.0, 3.0))
    assert found.positions_m[:, :2] == pytest.approx(recording.series["tf"][:, :2], abs=1e-6)
    assert not np.allclose(recording.series["tf"], recording.pose, atol=1e-3)
    commands = recording.command[np.isfinite(recording.command[:, 0])]
    assert content.commands == pytest.approx(commands)


@pytest.mark.slow
def test_errors_of_the_localization_are_repeated_in_the_world_of_the_bag(tmp_path):
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN.replace("timeout_s: 2.0", "timeout_s: 6.0"))
    out, again, file = tmp_path / "out", tmp_path / "again", tmp_path / "trial.bag"
    main(["run", str(tmp_path / "campaign.yaml"), "--out", str(out), "--workers", "1"])
    main(["replay", str(out), "0", "fgm", "--bag", str(file)])
    robot = "package://gz_testauto/models/jackal_sized/model.sdf"
    built = tmp_path / "built"
    options = ["--robot", robot, "--out", str(built), "--from", "0"]
    assert main(["world-from-bag", str(file), *options]) == 0
    assert main(["run", str(built / "campaign.yaml"), "--out", str(again), "--workers", "1"]) == 0
    true, repeated = (
        read_trajectory(next((folder / "trajectories").iterdir())) for folder in (out, again)
    )
    errors, new_errors = (r.series["tf"] - r.pose for r in (true, repeated))
    count = min(len(errors), len(new_errors))
    assert np.abs(errors).max() > 0.05
    assert new_errors[:count, :2] == pytest.approx(errors[:count, :2], abs=0.03)


def test_failed_trial_leaves_no_bag_and_keeps_an_older_one(tmp_path):
    file = tmp_path / "trial.bag"
    file.write_text("older")
    with pytest.raises(ZeroDivisionError), BagFile(file):
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["trial.bag"]
    assert file.read_text() == "older"
