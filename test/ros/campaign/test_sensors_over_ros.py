"""A campaign whose planner reads further sensors has the same trials over ROS and in-process."""

import functools

import pytest
import yaml
from finished import results

pytest.importorskip("rospy")
pytest.importorskip("gz_testauto.extras.obstacle_kinds", reason="needs its table")

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.ros.campaign.isolated_executor import IsolatedNodesExecutor
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.outcome import Outcome

pytestmark = [pytest.mark.ros, pytest.mark.slow]


@pytest.fixture
def make_file(tmp_path):
    """Return a function that writes a campaign in a room with a table, and returns its file."""

    def write(sensors, **changes):
        share = share_directory()
        data = yaml.safe_load((share / "config" / "sensors_campaign.yaml").read_text())
        data["worlds"]["base"] = str(share / "worlds" / "room.world")
        data["worlds"]["count"] = 1
        data["limits"]["timeout_s"] = 12.0  # the robot is beyond the table then
        data["robot"]["model"] = str(share / "models" / "service_robot" / "model.sdf")
        planner = data["planners"][1]
        planner["parameters"]["sensors"] = sensors
        data["planners"] = [planner]
        data["simulator"] = "embedded"
        data["robot"].update(changes.pop("robot", {}))
        data.update(changes)
        written = tmp_path / "campaign.yaml"
        written.write_text(yaml.safe_dump(data))
        return written

    return write


@pytest.mark.parametrize(
    ("sensors", "changes"),
    [
        (["camera"], {}),
        # a period that is no divisor of those of the sensors, a late sensor, and a merged lidar
        (
            ["camera", "base::sonar_left", "lidar_3d", "bumper", "rear_lidar"],
            {
                "control_period_s": 0.08,
                "robot": {
                    "lidar": ["front_lidar", "rear_lidar"],
                    "sensor_delays_s": {"camera": 0.1, "front_lidar": 0.05, "rear_lidar": 0.05},
                },
            },
        ),
    ],
)
def test_trials_with_sensors_equal_those_without_ros_bit_by_bit(
    make_file, tmp_path, sensors, changes
):
    file = make_file(sensors, **changes)
    spec = load(file, CampaignSpec)
    simulator = {
        "campaign": str(file),
        "simulator": "embedded",
        "real_time_factor": "lockstep",
        "command_timeout": 30.0,
        "start_timeout": 60.0,
    }
    over_ros = functools.partial(
        IsolatedNodesExecutor, log_directory=tmp_path / "log", simulator_parameters=simulator
    )
    run_campaign(spec, tmp_path / "over_ros", over_ros)
    run_campaign(spec, tmp_path / "alone", chosen_executor(spec, tmp_path))
    (there,), (first,) = results(tmp_path / "over_ros")
    (here,), (second,) = results(tmp_path / "alone")
    assert there.outcome is here.outcome is Outcome.TIMED_OUT
    assert compare_recordings(first, second).identical
