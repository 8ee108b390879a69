"""Campaigns with localization errors: identical bits, metrics, outcomes and rejected input."""

import math
import re

import numpy as np
import pytest
import yaml
from finished import results

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.errors import SpecError
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.cli.main import main
from gz_testauto.simulators.kinematic import KinematicSimulator
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.actors import check_actors
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.outcome import Outcome

DRIFT = {"estimate": "drift", "odometry": {"alpha": [0.001, 0.0005, 0.001, 0.001]}}
CORRECTED = {**DRIFT, "estimate": "corrected", "corrections": {"rate_hz": 2, "delay_s": 0.2}}


def written(tmp_path, worlds=1, **changes):
    """Write the small campaign of the package with changed keys, and return its file."""
    data = yaml.safe_load((share_directory() / "config" / "smoke_campaign.yaml").read_text())
    data["worlds"].update(base=str(share_directory() / "worlds" / "room.world"), count=worlds)
    data.update(simulator="kinematic", planners=["straight"])
    data.update(changes)
    file = tmp_path / "campaign.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


@pytest.fixture
def run(tmp_path):
    """Run a campaign in this process, and return its records and recordings."""

    def start(name="out", **changes):
        spec, out = load(written(tmp_path, **changes), CampaignSpec), tmp_path / name
        run_campaign(
            spec, out, lambda campaign: LockstepExecutor(campaign, lambda _: KinematicSimulator())
        )
        return results(out)

    return start


def assert_identical(first, second):
    for one, other in zip(first[1], second[1]):
        assert compare_recordings(one, other).identical
    assert [record.outcome for record in first[0]] == [record.outcome for record in second[0]]


@pytest.mark.slow
def test_parallel_and_serial_trials_have_identical_estimates(run, tmp_path):
    alone = run(worlds=2, localization=CORRECTED)
    file, out = written(tmp_path, worlds=2, localization=CORRECTED), tmp_path / "parallel"
    assert main(["run", str(file), "--out", str(out), "--workers", "2"]) == 0
    parallel = results(out)
    assert_identical(alone, parallel)
    for one, other in zip(alone[1], parallel[1]):
        assert np.array_equal(one.series["tf"], other.series["tf"])
    for record, recording in zip(*alone):
        away_m = np.hypot(*(recording.series["tf"] - recording.pose)[:, :2].T)
        assert record.metrics["localization_error_m"] == pytest.approx(away_m.mean())
        assert record.metrics["localization_error_max_m"] == pytest.approx(away_m.max())
        assert away_m.max() > 0.01
        assert record.metrics["localization_error_end_m"] == pytest.approx(away_m[-1])
    page = (out / "report.html").read_text()
    assert "corrected (scale 1)" in page
    shown = dict(re.findall(r'"label":"localization error(| max| end)".*?"table":(\w+)', page))
    assert shown == {"": "false", " max": "true", " end": "false"}


@pytest.mark.slow
def test_scale_of_zero_changes_no_bit(run):
    exact = run(name="exact")
    zero = run(name="zero", localization={**CORRECTED, "scale": 0})
    assert_identical(exact, zero)
    assert not any("tf" in recording.series for recording in zero[1])
    drifting = run(name="drifting", localization=DRIFT)
    assert not compare_recordings(exact[1][0], drifting[1][0]).identical


@pytest.mark.slow
def test_odometry_that_runs_ahead_causes_false_arrivals(run):
    wheels = {"alpha": [0, 0, 0, 0], "left_wheel_radius": 0.25, "right_wheel_radius": 0.25}
    term = {"name": "level", "term": "localization_error", "set": {"choice": [0.0, 1.0]}}
    records, _ = run(
        planners=["fgm"],
        repetitions=4,
        localization={"estimate": "drift", "odometry": wheels},
        randomize=[term],
    )
    by_level = {}
    for record in records:
        by_level.setdefault(record.metrics["drawn_level"], set()).add(record.outcome)
    assert by_level == {0.0: {Outcome.REACHED}, 1.0: {Outcome.FALSE_ARRIVAL}}


KIDNAP = {"name": "kidnap", "term": "pose", "select": {"names": "robot"}}


@pytest.mark.slow
def test_exact_odometry_does_not_measure_that_the_robot_is_moved(tmp_path):
    """After n moves by (0.1, 0.1) m, the estimate is n times 0.141 m away."""
    term = {**KIDNAP, "add": 0.1, "when": {"every_s": 1.5}}
    exact = {"estimate": "drift", "odometry": {"alpha": [0, 0, 0, 0]}}
    changes = {"randomize": [term], "localization": exact, "planners": ["fgm"]}
    file = written(tmp_path, simulator="embedded", **changes)
    assert main(["run", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]) == 0
    (record,), (recording,) = results(tmp_path / "out")
    moves = recording.series["kidnappings"]
    assert len(moves) >= 3
    assert moves[:, 0] == pytest.approx(1.5 * np.arange(1, len(moves) + 1))
    error_m = record.metrics["localization_error_end_m"]
    assert error_m == pytest.approx(len(moves) * 0.1 * math.sqrt(2), abs=0.01)
    driven_m = np.hypot(*np.diff(recording.pose[:, :2], axis=0).T).sum()
    assert 0.2 < driven_m - record.metrics["distance_m"] <= len(moves) * 0.1 * math.sqrt(2)


@pytest.mark.slow
def test_a_moved_robot_can_stop_before_it_touches_an_obstacle(tmp_path):
    """Many draws are outside of the room, near a wall or in front of an obstacle."""
    term = {**KIDNAP, "add": [-5, 5], "yaw_rad": [-3.1, 3.1], "when": {"every_s": [1, 2]}}
    file = written(tmp_path, simulator="embedded", repetitions=3, randomize=[term])
    assert main(["run", str(file), "--out", str(tmp_path / "out"), "--workers", "2"]) == 0
    records, recordings = results(tmp_path / "out")
    assert Outcome.INVALID not in {record.outcome for record in records}
    moves = [move for recording in recordings for move in recording.series["kidnappings"]]
    assert len(moves) >= 6
    for recording in recordings:
        rows = np.searchsorted(recording.time_s, recording.series["kidnappings"][:, 0])
        assert recording.clearance_m[rows + 1].min() > 0.0
        # 0.5 m to stop from 1 m/s, and a period of 0.1 s before
        touches = [contact.start_s for contact in recording.contacts]
        assert all(abs(s - recording.time_s[rows]).min() > 0.6 for s in touches)
        assert np.abs(recording.series["kidnappings"][:, 1:3]).max() < 4.7  # the walls are at 5 m


def test_term_without_localization_errors_is_rejected(tmp_path):
    term = {"name": "level", "term": "localization_error", "set": 1.0}
    for localization in (None, "truth", {"estimate": "drift", "scale": 0}):
        file = written(tmp_path, randomize=[term], localization=localization)
        with pytest.raises(SpecError, match=r"'level'.*needs a localization with errors"):
            load(file, CampaignSpec)


def test_stack_is_rejected_with_the_name_of_the_relay(tmp_path):
    stack = load(share_directory() / "config" / "own_stack_campaign.yaml", CampaignSpec)
    drifting = load(written(tmp_path, localization="drift"), CampaignSpec)
    spec = stack.model_copy(update={"localization": drifting.localization})
    with pytest.raises(SpecError, match=r"localization.*'stack'.*localization_relay"):
        check_actors(spec)


@pytest.mark.slow
def test_gyro_of_a_robot_without_imu_is_rejected_before_the_first_trial(tmp_path, capsys):
    text = (share_directory() / "models/wheelchair/model.sdf").read_text()
    model = tmp_path / "model.sdf"
    start = text.index('<sensor name="imu"')
    end = text.index("</sensor>", start)
    model.write_text(text[:start] + text[end + len("</sensor>") :])
    localization = {"estimate": "drift", "odometry": {"gyro": {"bias_radps": 0.01}}}
    robot = {"model": str(model), "start": {"x_m": -3.0, "y_m": 0.0}}
    file = written(tmp_path, robot=robot, localization=localization)
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    assert "'robot' has no IMU" in capsys.readouterr().err
