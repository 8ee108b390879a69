"""Localization with the errors of a file."""

import math

import numpy as np
import pytest
import yaml
from finished import results

from gz_testauto.actors.localization import EstimatorInputs
from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main
from gz_testauto.extras.localization.spec import RecordedErrorsSpec
from gz_testauto.spec.worlds import RandomNumbers

HEADER = "time,x,y,yaw\n"


def estimator(tmp_path, text, scale=1.0):
    file = tmp_path / "errors.csv"
    file.write_text(text)
    return RecordedErrorsSpec(estimate="recorded", errors=file).estimator(
        EstimatorInputs(RandomNumbers(seed=1, world=0, repetition=0), "robot", scale)
    )


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_error_is_interpolated_over_the_time_of_the_trial(tmp_path, scale):
    estimate = estimator(tmp_path, HEADER + "0,0.1,0,0\n2, 0.3,-0.4,0.2\n", scale)
    for time_s, x_m, y_m, yaw_rad in (
        (7.0, 0.1, 0.0, 0.0), (8.0, 0.2, -0.2, 0.1), (9.0, 0.3, -0.4, 0.2), (50.0, 0.3, -0.4, 0.2),
    ):  # fmt: skip
        estimate.advance(time_s, Pose2D(1.0, 2.0, 3.1), Twist2D(0.5, 0.1))
        expected = (1.0 + scale * x_m, 2.0 + scale * y_m)
        assert estimate.pose[:2] == pytest.approx(expected)
        assert math.remainder(estimate.pose.yaw_rad - 3.1 - scale * yaw_rad, math.tau) == (
            pytest.approx(0.0, abs=1e-12)
        )
        assert abs(estimate.pose.yaw_rad) <= math.pi
        assert estimate.twist == pytest.approx((0.5, 0.1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"errors\.csv:1: the header is ''; it must be 'time,x,y,yaw'"),
        ("t,x,y,yaw\n0,0,0,0\n", r"errors\.csv:1: the header is 't,x,y,yaw'; it must be"),
        (HEADER, r"errors\.csv: the file has no errors"),
        (HEADER + "0,0,0,0\n1,0,0\n", r"errors\.csv:3: '1,0,0' is not four numbers"),
        (HEADER + "0,0,a,0\n", r"errors\.csv:2: '0,0,a,0' is not four numbers"),
        (HEADER + "0,1e10,0,0\n", r"errors\.csv:2: '0,1e10,0,0' is not four numbers of at most"),
        (HEADER + "0,0,nan,0\n", r"errors\.csv:2: '0,0,nan,0' is not four numbers"),
        (HEADER + "1,0,0,0\n1,0,0,0\n", r"errors\.csv:3: the time 1 s is not after the time"),
    ],
)
def test_invalid_file_is_rejected_with_its_line(tmp_path, text, message):
    with pytest.raises(SpecError, match=message):
        estimator(tmp_path, text)


@pytest.mark.slow
def test_planner_receives_the_recorded_errors_and_a_missing_file_is_rejected(tmp_path, capsys):
    share = share_directory()
    data = yaml.safe_load((share / "config" / "smoke_campaign.yaml").read_text())
    data["worlds"].update(base=str(share / "worlds" / "room.world"), count=1)
    localization = {"estimate": "recorded", "errors": "errors.csv"}
    data.update(simulator="kinematic", planners=["straight"], localization=localization)
    file, out = tmp_path / "campaign.yaml", tmp_path / "out"
    file.write_text(yaml.safe_dump(data))
    assert main(["run", str(file), "--out", str(out), "--workers", "1"]) == 2
    assert "campaign.yaml:9: localization.errors is" in capsys.readouterr().err
    (tmp_path / "errors.csv").write_text(HEADER + "0,0,0,0\n100,100,-50,0\n")
    assert main(["run", str(file), "--out", str(out), "--workers", "1"]) == 0
    (record,), (recording,) = results(out)
    errors = recording.series["tf"] - recording.pose
    assert errors[:, 0] == pytest.approx(recording.time_s)
    assert errors[:, 1] == pytest.approx(-0.5 * recording.time_s)
    end_m = 1.25**0.5 * recording.time_s[-1]
    assert record.metrics["localization_error_end_m"] == pytest.approx(end_m)
    assert np.abs(errors[:, 2]).max() < 1e-12
