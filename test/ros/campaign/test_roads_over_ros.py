"""A campaign with a road, tracked objects, effects and actors that appear and leave has the same
trials over ROS and in-process."""

import functools

import numpy as np
import pytest
import yaml
from finished import results

pytest.importorskip("rospy")
pytest.importorskip("gz_testauto.extras.people", reason="needs the behavior recorded")

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.ros.campaign.isolated_executor import IsolatedNodesExecutor
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load

pytestmark = [pytest.mark.ros, pytest.mark.slow]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    config = share_directory() / "config" / "road"
    data = yaml.safe_load((config / "pedestrian_campaign.yaml").read_text())
    data["worlds"]["directory"] = str(share_directory() / "worlds")
    data["worlds"]["files"][0]["count"] = 1
    data["road"] = str(config / "street.yaml")
    data["goal"]["x_m"] = 70.0
    data["planners"] = [data["planners"][1]]
    data["tracking"] = {"delay_s": 0.2, "occlusion": True, "noise": {"position_m": 0.1}}
    near = {"trigger_distance_m": 20.0}
    color = {"name": "near", "effect": "color", "target": "pedestrian", "color": [1, 0, 0]}
    data["effects"] = [{**color, "when": near}]
    guest = {"behavior": "patrol", "waypoints_m": [[10.0, 6.0], [14.0, 6.0]]}
    data["actors"].append({"name": "guest", **guest, "appear_s": 1.0, "leave_s": 4.0})
    tracks = str(config.parent / "people" / "recorded_tracks.csv")
    data["actors"].append({"name": "walker", "behavior": "recorded", "tracks": tracks})
    data["simulator"] = "embedded"
    written = tmp_path_factory.mktemp("road") / "campaign.yaml"
    written.write_text(yaml.safe_dump(data))
    return written


def test_trials_on_a_road_equal_those_without_ros_bit_by_bit(file, tmp_path):
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
    assert there.outcome is here.outcome
    assert there.completed
    guest = first.series["actor_guest"]
    present_s = first.time_s[np.isfinite(guest[:, 0])]
    assert (present_s[0], present_s[-1]) == pytest.approx((1.1, 4.0), abs=0.11)
    assert np.isfinite(first.series["actor_walker_3"][:, 0]).any()
    assert there.metrics["object_distance_min_m"] == here.metrics["object_distance_min_m"]
    assert compare_recordings(first, second).identical
    active_s = here.metrics["effect_near_s"]
    assert 0.0 < active_s < here.metrics["time_s"]
    assert there.metrics["effect_near_s"] == active_s
