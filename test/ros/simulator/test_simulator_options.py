"""The simulator node's options: the same checks, and the same campaign, as without ROS."""

import pytest
import rospy

from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.simulator import simulator_options
from gz_testauto.ros.simulator.scene_parameters import read_simulator


@pytest.fixture
def parameters(monkeypatch):
    given = {}
    monkeypatch.setattr(rospy, "resolve_name", lambda name: name.replace("~", "/simulator/"))
    monkeypatch.setattr(rospy, "has_param", lambda name: name in given)
    monkeypatch.setattr(rospy, "get_param", lambda name: given[name])
    return lambda **values: given.update({"/simulator/" + k: v for k, v in values.items()})


def test_a_mistyped_option_is_refused_in_one_line(parameters):
    parameters(simulator="gazebo", simulator_options={"trials_per_sever": 3})
    with pytest.raises(SpecError, match="did you mean 'trials_per_server'"):
        read_simulator(None)


def test_what_is_given_is_passed(parameters):
    parameters(simulator="gazebo", simulator_options={"trials_per_server": 3})
    assert read_simulator(None) == ("gazebo", {"trials_per_server": 3})


def test_a_campaigns_limits_and_worlds_reach_the_nodes_simulator(parameters, smoke):
    limits = smoke.limits.model_copy(update={"stall_timeout_s": 77.0})
    worlds = smoke.worlds.model_copy(update={"obstacle_names": r"crate_\d+"})
    campaign = smoke.model_copy(update={"simulator": "gazebo", "limits": limits, "worlds": worlds})
    name, options = read_simulator(campaign)
    assert (name, options) == ("gazebo", simulator_options(campaign))
    assert options["stall_timeout_s"] == 77.0
    assert options["obstacle_names"] == r"crate_\d+"


def test_options_of_the_node_go_before_the_campaigns(parameters, smoke):
    campaign = smoke.model_copy(update={"simulator": "embedded"})
    parameters(simulator_options={"step_s": 0.01})
    assert read_simulator(campaign) == ("embedded", {"step_s": 0.01})
    parameters(simulator_options={"stepp_s": 0.01})
    with pytest.raises(SpecError, match="did you mean 'step_s'"):
        read_simulator(campaign)
