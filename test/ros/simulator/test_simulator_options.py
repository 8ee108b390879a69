"""Options of the simulator node's simulator: the checks are those of a campaign without ROS."""

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.simulator import simulator_options
from gz_testauto.ros.simulator.interface import SimulatorParameters
from gz_testauto.ros.simulator.node import choose_simulator


def choose(campaign, **parameters):
    return choose_simulator(SimulatorParameters(**parameters), campaign)


def test_a_misspelled_option_is_rejected_with_the_nearest_name():
    with pytest.raises(SpecError, match="did you mean 'trials_per_server'"):
        choose(None, simulator="gazebo", simulator_options={"trials_per_sever": 3})


def test_options_of_the_parameters_are_returned():
    options = {"trials_per_server": 3}
    assert choose(None, simulator="gazebo", simulator_options=options) == ("gazebo", options)


def test_limits_and_worlds_of_a_campaign_become_options(smoke):
    limits = smoke.limits.model_copy(update={"stall_timeout_s": 77.0})
    worlds = smoke.worlds.model_copy(update={"obstacle_names": r"crate_\d+"})
    campaign = smoke.model_copy(update={"simulator": "gazebo", "limits": limits, "worlds": worlds})
    name, options = choose(campaign)
    assert (name, options) == ("gazebo", simulator_options(campaign))
    assert options["stall_timeout_s"] == 77.0
    assert options["obstacle_names"] == r"crate_\d+"


def test_options_of_the_parameters_replace_those_of_the_campaign(smoke):
    campaign = smoke.model_copy(update={"simulator": "embedded"})
    assert choose(campaign, simulator_options={"step_s": 0.01}) == ("embedded", {"step_s": 0.01})
    with pytest.raises(SpecError, match="did you mean 'step_s'"):
        choose(campaign, simulator_options={"stepp_s": 0.01})
