"""Parameters of the nodes: reading, faults, and the campaign that they select."""

from typing import Optional
from xml.etree import ElementTree

import pytest

pytest.importorskip("rospy")

import rospy

from gz_testauto.base import resources
from gz_testauto.base.errors import SpecError
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.ros.campaign.interface import CampaignNodeParameters
from gz_testauto.ros.campaign_parameters import CampaignParameters
from gz_testauto.ros.node import read_parameters
from gz_testauto.ros.planner.interface import PlannerParameters
from gz_testauto.ros.simulator.interface import SimulatorParameters
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.spec.options import Names
from gz_testauto.trial.plan import TrialSelection

CONFIG = resources.share_directory() / "config"


@pytest.fixture
def given(monkeypatch):
    """The parameter server's parameters of the node ``/node``."""
    parameters = {}
    monkeypatch.setattr(rospy, "get_name", lambda: "/node")
    monkeypatch.setattr(rospy, "get_param", lambda name, default: parameters)
    return parameters


@pytest.mark.parametrize(
    ("campaign", "stack", "remedy"),
    [
        ("own_stack_campaign.yaml", False, "add stack:=true"),
        ("smoke_campaign.yaml", True, "remove stack:=true"),
    ],
)
def test_stack_parameter_that_contradicts_the_campaign_is_rejected_with_a_remedy(
    given, campaign, stack, remedy
):
    given.update(campaign=str(CONFIG / campaign), stack=stack)
    with pytest.raises(SpecError, match=remedy):
        read_parameters(CampaignParameters).load()


def test_unknown_parameters_are_ignored_and_empty_text_counts_as_not_set(given):
    given.update(
        identity={"name": "gazebo"}, campaign="", real_time_factor="lockstep", start=[1, 2.0, 0]
    )
    parameters = read_parameters(SimulatorParameters)
    assert parameters.campaign is None
    assert (parameters.real_time_factor, parameters.start) == ("lockstep", (1.0, 2.0, 0.0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("workers", 0),
        ("workers", True),
        ("seed", -1),
        ("seed", "seven"),
        ("failed_of", "no_such_directory"),
        ("command_timeout", "5"),
        ("campaign", "no_such_file.yaml"),
        *(
            ("real_time_factor", factor)
            for factor in ("fast", -1.0, float("inf"), float("nan"), None)
        ),
    ],
)
def test_a_wrong_value_is_rejected_with_the_full_name_of_the_parameter(given, name, value):
    given[name] = value
    with pytest.raises(SpecError, match=rf"^parameter /node/{name} is .*; "):
        read_parameters(CampaignNodeParameters)


@pytest.mark.slow
def test_trials_and_seed_are_selected_as_by_the_command_line(given):
    given.update(campaign=str(CONFIG / "smoke_campaign.yaml"), only="3, world_0001", seed=7)
    parameters = read_parameters(CampaignNodeParameters)
    assert parameters.selection == TrialSelection(only=("3", "world_0001"))
    assert parameters.load().seed == 7


@pytest.mark.slow
def test_empty_text_selects_all_trials_and_the_seed_of_the_campaign(given):
    given.update(
        campaign=str(CONFIG / "smoke_campaign.yaml"), only="", seed="", planners="", failed_of=""
    )
    parameters = read_parameters(CampaignNodeParameters)
    assert parameters.selection == TrialSelection()
    assert parameters.failed_of is None
    assert parameters.load().seed == load(CONFIG / "smoke_campaign.yaml", CampaignSpec).seed


def test_number_of_worlds_is_0_for_all_worlds(given):
    given.update(worlds=0, planners=["fgm"])
    assert read_parameters(CampaignNodeParameters).selection == TrialSelection(planners=("fgm",))


def test_names_that_look_like_numbers_remain_text():
    root = ElementTree.parse(resources.share_directory() / "launch" / "campaign.launch").getroot()
    (node,) = (one for one in root.iter("node") if one.get("type") == "campaign")
    types = {one.get("name"): one.get("type") for one in node.iter("param")}
    texts = {name for name, field in CampaignNodeParameters.model_fields.items()
             if field.annotation in (str, Optional[Names]) and name in types}  # fmt: skip
    assert {"only", "planners", "out"} <= texts
    assert all(types[name] == "str" for name in texts)


def test_a_missing_required_parameter_is_named(given):
    with pytest.raises(SpecError, match=r"^parameter /node/plugin is not set"):
        read_parameters(PlannerParameters)


def test_parameters_of_a_planner_are_the_same_after_writing_and_reading(given):
    limits = RobotLimits(((0.1, 0.3), (-0.7, 0.3), (-0.7, -0.3)), 0.7, 0.3, can_reverse=True)
    written = PlannerParameters(
        plugin="fgm",
        parameters={"gap_m": 0.1},
        footprint_m=list(limits.footprint_m),
        max_linear_mps=0.7,
        max_angular_radps=0.3,
        can_reverse=True,
    )
    given.update(written.model_dump(mode="json", exclude_none=True))
    assert read_parameters(PlannerParameters) == written
    assert read_parameters(PlannerParameters).limits == limits


def test_a_planner_without_an_outline_is_rejected(given):
    with pytest.raises(SpecError, match="robot_model"):
        _ = PlannerParameters(plugin="fgm").limits
