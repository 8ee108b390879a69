"""A campaign with localization errors has the same trials over ROS and in one process."""

import functools

import pytest
import yaml
from finished import results

pytest.importorskip("rospy")

from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.ros.campaign.isolated_executor import IsolatedNodesExecutor
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.outcome import Outcome

pytestmark = [pytest.mark.ros, pytest.mark.slow]


def test_estimates_over_ros_equal_those_in_one_process(tmp_path):
    data = yaml.safe_load((share_directory() / "config" / "smoke_campaign.yaml").read_text())
    data["worlds"].update(base=str(share_directory() / "worlds" / "room.world"), count=1)
    # The wheels are smaller than assumed, so that the robot stops before the goal.
    odometry = {"left_wheel_radius": 0.15, "right_wheel_radius": 0.15}
    corrections = {"rate_hz": 0.3, "delay_s": 0.2, "yaw_rad": 0.01}
    data.update(
        simulator="kinematic",
        planners=["fgm"],
        localization={
            "estimate": "corrected", "odometry": odometry, "corrections": corrections,
        },
    )  # fmt: skip
    file = tmp_path / "campaign.yaml"
    file.write_text(yaml.safe_dump(data))
    spec = load(file, CampaignSpec)
    simulator = {
        "campaign": str(file),
        "simulator": "kinematic",
        "real_time_factor": "lockstep",
        "command_timeout": 30.0,
        "start_timeout": 60.0,
        "odom_origin": "start",
    }
    over_ros = functools.partial(
        IsolatedNodesExecutor, log_directory=tmp_path / "log", simulator_parameters=simulator
    )
    run_campaign(spec, tmp_path / "over_ros", over_ros)
    run_campaign(spec, tmp_path / "alone", chosen_executor(spec, tmp_path))
    (there,), (first,) = results(tmp_path / "over_ros")
    (here,), (second,) = results(tmp_path / "alone")
    assert there.outcome is here.outcome is not Outcome.TIMED_OUT
    # tf composes the pose of two transforms, so that poses differ by rounding.
    assert first.pose == pytest.approx(second.pose, abs=1e-9)
    assert first.series["tf"] == pytest.approx(second.series["tf"], abs=1e-9)
    assert there.metrics["localization_error_max_m"] > 0.2
