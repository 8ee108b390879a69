"""Relayed odometry: errors, restarts, and the launch lines of the documentation."""

from pathlib import Path

import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.localization.interface import RelayParameters
from gz_testauto.extras.localization.relay import OdometryRelay
from gz_testauto.extras.localization.spec import OdometryErrorSpec
from gz_testauto.spec.loader import parse

WRONG_WHEELS = (
    "{alpha: [0, 0, 0.01, 0], left_wheel_radius: [0.1, 0.2], right_wheel_radius: [0.1, 0.2]}"
)


def relay(text=WRONG_WHEELS, seed=4, scale=1.0):
    return OdometryRelay(parse(text, OdometryErrorSpec, Path("o.yaml")), 0.5, seed, scale)


def driven(one, start_s=0.0, start_m=0.0, steps=10):
    """Relay a straight drive of 0.1 m per message; return the last pose."""
    for tick in range(steps + 1):
        pose = Pose2D(start_m + 0.1 * tick, 1.0, 0.0)
        found = one.add(start_s + 0.1 * tick, pose, Twist2D(1.0, 0.0))
    return found.pose


def test_relayed_odometry_starts_at_the_true_pose_and_drifts():
    one = relay()
    assert one.add(5.0, Pose2D(2.0, 1.0, 0.3), Twist2D()).pose == Pose2D(2.0, 1.0, 0.3)
    assert driven(relay("alpha: [0, 0, 0, 0]")) == pytest.approx((1.0, 1.0, 0.0))
    assert 1.05 < driven(relay()).x_m < 1.3
    assert driven(relay(scale=0.0)) == pytest.approx((1.0, 1.0, 0.0))


def test_errors_of_the_relay_depend_on_its_seed():
    assert driven(relay()) == driven(relay()) != driven(relay(seed=5))


@pytest.mark.parametrize(("start_s", "start_m"), [(0.0, 1.0), (1.1, 8.0)])
def test_relay_starts_again_if_time_decreases_or_the_robot_is_moved(start_s, start_m):
    one = relay()
    first = driven(one)
    assert one.add(start_s, Pose2D(start_m, 1.0, 0.0), Twist2D()).pose.x_m == start_m
    again = driven(one, start_s + 0.1, start_m)
    assert again.x_m - start_m != pytest.approx(first.x_m, abs=1e-6)


def test_delayed_message_is_no_restart():
    one = relay()
    driven(one)
    assert one.add(2.0, Pose2D(1.9, 1.0, 0.0), Twist2D()).pose.x_m != 1.9


def test_parameters_of_the_documentation_are_valid():
    page = Path(__file__).resolve().parents[3] / "docs" / "your_robot.md"
    _, _, after = page.read_text().partition('type="localization_relay"')
    text = after.partition("<rosparam")[2].partition(">")[2].partition("</rosparam>")[0]
    parameters = parse(text.replace("$(arg seed)", "3"), RelayParameters, Path("relay.yaml"))
    assert parse(
        str(parameters.odometry).replace("'", '"'), OdometryErrorSpec, Path("odometry.yaml")
    )
