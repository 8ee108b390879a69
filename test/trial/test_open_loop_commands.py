"""Open-loop drives, against what paper and pencil say."""

from pathlib import Path

import numpy as np
import pytest

from gz_testauto.planners.interface import RobotLimits
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.trial.open_loop import SEQUENCES, START, perform

PERIOD_S = 0.1
ROBOT = read_robot(Path(__file__).resolve().parents[2] / "models" / "wheelchair")
LIMITS = RobotLimits(
    footprint_m=ROBOT.footprint_m,
    max_linear_mps=0.8,
    max_angular_radps=1.2,
    max_linear_accel_mps2=1.0,
    max_angular_accel_radps2=2.0,
)


@pytest.fixture(scope="module")
def drives():
    with EmbeddedSimulator() as simulator:
        return {m.name: perform(simulator, ROBOT, LIMITS, PERIOD_S, m) for m in SEQUENCES}


@pytest.mark.slow
def test_straight_is_the_ramp_and_then_full_speed(drives):
    pose = drives["straight"].pose
    # commands of 0, 0.1 ... 0.8 m/s hold for a period each; the drive follows within some 0.1 s
    commanded_m = sum(min(0.8, 0.1 * k) for k in range(50)) * PERIOD_S
    assert pose[-1, 0] - START.x_m == pytest.approx(commanded_m, abs=0.1)
    assert np.abs(pose[:, 1:]).max() < 0.01
    assert len(pose) == 50


def test_turning_is_on_the_spot(drives):
    pose = drives["turn"].pose
    commanded_rad = sum(min(0.6, 0.2 * k) for k in range(50)) * PERIOD_S
    assert pose[-1, 2] == pytest.approx(commanded_rad, abs=0.1)
    assert np.hypot(pose[:, 0] - START.x_m, pose[:, 1] - START.y_m).max() < 0.05


def test_an_arc_has_the_radius_of_its_speeds(drives):
    pose = drives["arc"].pose
    step = np.hypot(*np.diff(pose[-15:, :2], axis=0).T) / np.diff(pose[-15:, 2])
    assert step == pytest.approx(0.4 / 0.6, rel=0.05)


def test_the_stop_is_a_stop_and_the_imu_feels_it(drives):
    drive = drives["stop"]
    assert np.ptp(drive.pose[-10:, 0]) < 1e-3
    assert drive.imu[30:35, 3].min() < -1.0
    assert drive.imu[-5:, 5] == pytest.approx(9.8, abs=0.05)
    assert np.abs(drive.imu[15:29, 3]).max() < 0.1  # at full speed nothing is felt


def test_the_box_is_pushed_and_otherwise_there_is_none(drives):
    box = drives["push"].box
    assert 0.5 < box[-1, 0] - box[0, 0] < 2.0
    assert np.isnan(drives["straight"].box).all()
