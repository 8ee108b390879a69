"""A user's stack in campaign.yaml: valid keys, and errors with their lines."""

import json
import re
from pathlib import Path

import pytest

from gz_testauto.base.errors import SpecError, UnknownNameError
from gz_testauto.spec.campaign import (
    BuiltinCampaignSpec,
    CampaignSpec,
    PlannerSpec,
    StackCampaignSpec,
)
from gz_testauto.spec.loader import load, parse
from gz_testauto.spec.stack import fill

CONFIG = Path(__file__).resolve().parents[2] / "config"
EXAMPLE = CONFIG / "own_stack_campaign.yaml"


def read(text):
    return parse(text, CampaignSpec, EXAMPLE)


def refused(old, new):
    """Return the errors of the example with ``old`` replaced by ``new``."""
    text = EXAMPLE.read_text()
    assert old in text
    text = text.replace(old, new)
    with pytest.raises(SpecError) as error:
        read(text)
    return str(error.value)


def line_of(text):
    lines = EXAMPLE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_example_has_two_planners_with_different_arguments_of_one_launch():
    spec = load(EXAMPLE, CampaignSpec)
    fgm = spec.planners[1]
    navigation = spec.stack.navigation.overridden_by(fgm.launch)
    assert navigation.named == "gz_testauto/planner.launch"
    assert navigation.args == {
        "map": "{map}",
        "goal_tolerance_m": "{goal_tolerance}",
        "plugin": "fgm",
    }


def test_planner_with_a_separate_launch_file_has_only_its_arguments():
    text = EXAMPLE.read_text().replace(
        "launch: {args: {plugin: fgm}}", "launch: {package: other, file: o.launch, args: {a: 1}}"
    )
    spec = read(text)
    launch = spec.stack.navigation.overridden_by(spec.planners[1].launch)
    assert (launch.named, launch.args) == ("other/o.launch", {"a": 1})


def test_unknown_placeholder_is_rejected_with_a_list_of_the_known_ones():
    message = refused('"{world}"', '"{wrold}"')
    assert message.startswith(f"{EXAMPLE}:{line_of('world: ' + chr(34))}: ") or "args" in message
    assert "stack.simulator.args.world" in message
    assert "did you mean '{world}'?" in message
    assert "{start_yaw}" in message


def test_planner_launch_without_a_stack_is_rejected():
    text = EXAMPLE.read_text()
    begin, end = text.index("stack:\n"), text.index("planners:")
    text = text[:begin] + text[end:]
    with pytest.raises(SpecError) as error:
        read(text)
    lines = text.splitlines()
    for index, name in enumerate(("straight", "fgm")):
        line = next(number for number, line in enumerate(lines, 1) if f"name: {name}" in line)
        assert (
            f":{line}: planners[{index}]: {name} has the key 'launch', but the campaign has no"
            in str(error.value)
        )


def test_plugin_in_a_stack_is_rejected_with_a_remedy():
    message = refused("{name: fgm, launch: {args: {plugin: fgm}}}", "fgm")
    assert f":{line_of('{name: fgm')}: planners[1]: fgm is a plug-in" in message
    assert "{name: fgm, launch: {args: {...}}}" in message


def test_planner_with_plugin_and_launch_is_rejected():
    message = refused("{name: fgm, launch", "{name: fgm, plugin: fgm, launch")
    assert "planners[1]: fgm has the key 'launch' together with 'plugin' or 'parameters'" in message


def test_launch_needs_a_file_if_the_stack_has_no_navigation():
    text = EXAMPLE.read_text()
    begin, end = text.index("  navigation:"), text.index("  max_real_time_factor")
    with pytest.raises(SpecError, match=r"planners: straight has no launch file, and 'stack\.nav"):
        read(text[:begin] + text[end:])


def test_stack_key_selects_the_kind_of_a_campaign():
    smoke = load(CONFIG / "smoke_campaign.yaml", CampaignSpec)
    assert type(load(EXAMPLE, CampaignSpec)) is StackCampaignSpec
    assert type(smoke) is BuiltinCampaignSpec
    path = CONFIG / "smoke_campaign.yaml"
    with pytest.raises(SpecError, match=r"smoke_campaign\.yaml:\d+: stack "):
        parse(path.read_text() + "stack: null\n", CampaignSpec, path)
    with pytest.raises(TypeError, match="use the subclass that CampaignSpec"):
        CampaignSpec.model_validate(smoke.model_dump())


def test_only_errors_of_the_selected_kind_are_reported():
    message = refused("stack:\n", "stack:\n  sumulator: {file: ./a.launch}\n")
    (line,) = message.splitlines()
    assert f":{line_of('stack:') + 1}: stack: unknown key 'sumulator'" in line
    assert refused("goal:", "gaol:").count("did you mean 'goal'") == 1


def test_campaign_spec_has_only_the_fields_of_both_kinds():
    assert not {"stack", "simulator", "simulator_options"} & CampaignSpec.model_fields.keys()
    assert PlannerSpec.model_fields.keys() == {"name"}


def test_simulator_in_addition_to_a_stack_is_rejected():
    message = refused("limits:", "simulator: embedded\nlimits:")
    assert "simulator is set by stack.simulator; remove it" in message


def test_robot_without_a_model_needs_a_body():
    model = "model: package://gz_testauto/models/wheelchair/model.sdf"
    message = refused(model, "name: burger")
    assert f":{line_of('robot:')}: robot has no model; add footprint_m and height_m" in message
    body = "footprint_m: [[0.1, 0.1], [-0.1, 0.1], [-0.1, -0.1]]\n  height_m: [0.0, 0.2]"
    assert read(EXAMPLE.read_text().replace(model, body)).robot.height_m == (0.0, 0.2)


def test_robot_without_a_stack_needs_a_model():
    text = (CONFIG / "smoke_campaign.yaml").read_text()
    text = text.replace("model: package://gz_testauto/models/wheelchair/model.sdf", "name: robot")
    with pytest.raises(SpecError, match=r":\d+: robot\.model is missing"):
        parse(text, CampaignSpec, CONFIG / "smoke_campaign.yaml")


def test_file_argument_is_relative_to_the_campaign():
    text = EXAMPLE.read_text().replace("{plugin: fgm}", "{plugin: fgm, map: ./obstacles.yaml}")
    assert read(text).planners[1].launch.args["map"] == CONFIG / "obstacles.yaml"
    message = refused("{plugin: fgm}", "{plugin: fgm, map: ./nowhere.yaml}")
    assert 'map is "./nowhere.yaml"; file not found' in message
    long = "/" + "a" * 300  # too long for a file name
    text = EXAMPLE.read_text().replace("{plugin: fgm}", f"{{plugin: fgm, map: {long}}}")
    assert read(text).planners[1].launch.args["map"] == long


def test_specification_is_equal_after_a_json_round_trip():
    text = EXAMPLE.read_text().replace("{plugin: fgm}", "{plugin: fgm, map: ./obstacles.yaml}")
    spec = read(text)

    again = StackCampaignSpec.model_validate(
        json.loads(spec.model_dump_json()), context={"source": EXAMPLE}
    )
    assert again == spec


def test_placeholders_are_replaced_and_other_braces_are_kept():
    values = {"world": "/a.world", "seed": 3}
    assert fill("{world} {seed}", values) == "/a.world 3"
    assert fill("{lookahead_m: 2.0}", values) == "{lookahead_m: 2.0}"
    assert fill("{{world}}", values) == "{world}"
    with pytest.raises(UnknownNameError, match=r"'\{sede\}'; did you mean '\{seed\}'"):
        fill("{sede}", values)


def test_metrics_of_a_stack_need_different_names():
    metric = "{name: effort, topic: /effort}"
    message = refused(
        "  max_real_time_factor: 2.0", f"  metrics: [{metric}, {metric}]\n  max_real_time_factor: 2"
    )
    assert "names must differ; these appear twice: effort" in message


@pytest.mark.parametrize("name", ["wall_s", "world_speed"])
def test_metric_of_a_stack_with_the_name_of_a_column_is_rejected(name):
    metric = f"{{name: {name}, topic: /effort}}"
    message = refused(
        "  max_real_time_factor: 2.0", f"  metrics: [{metric}]\n  max_real_time_factor: 2"
    )
    assert f"stack.metrics[0].name is {name!r}, the name of a column" in message


def test_default_min_real_time_factor_is_a_share_of_the_limit():
    text = EXAMPLE.read_text()
    lines = "".join(re.findall(r"  m(?:ax|in)_real_time_factor:.*\n", text))
    assert lines in text

    def least(given):
        return read(text.replace(lines, given)).stack.min_real_time_factor

    assert least("") == 0.8
    assert least("  max_real_time_factor: null\n") == 0.8
    assert least("  min_real_time_factor: null\n") is None
    assert least("  max_real_time_factor: 0.5\n") == 0.4  # the same share of a lower cap


def test_min_real_time_factor_above_the_limit_is_rejected():
    message = refused("min_real_time_factor: 0.2", "min_real_time_factor: 2.0")
    assert "min_real_time_factor is 2; it must be below max_real_time_factor, 2" in message


BODY = "name: burger\n  height_m: [0.0, 0.2]\n  footprint_m: "


@pytest.mark.parametrize(
    "corners",
    [
        "[[0.1, 0.1], [-0.1, -0.1], [-0.1, 0.1], [0.1, -0.1]]",  # a bow-tie
        "[[0.1, 0.1], [0.0, 0.0], [-0.1, -0.1]]",  # a line
    ],
)
def test_footprint_that_crosses_itself_or_has_no_area_is_rejected(corners):
    message = refused("model: package://gz_testauto/models/wheelchair/model.sdf", BODY + corners)
    assert "robot.footprint_m: the outline crosses itself or has no area" in message


def test_robot_name_in_a_stack_follows_the_rules_of_gazebo():
    model = "model: package://gz_testauto/models/wheelchair/model.sdf"
    named = model + "\n  name: limo/"
    assert read(EXAMPLE.read_text().replace(model, named)).robot.name == "limo/"
    for name in ("'limo::base'", "''", "' limo'"):
        message = refused(model, f"{model}\n  name: {name}")
        assert "robot.name" in message
        assert "not valid in Gazebo" in message


def test_robot_name_without_a_stack_follows_the_rules_of_ros():
    path = CONFIG / "smoke_campaign.yaml"
    model = "model: package://gz_testauto/models/wheelchair/model.sdf"
    with pytest.raises(SpecError, match=r"robot\.name must start with a letter"):
        parse(path.read_text().replace(model, f"{model}\n  name: limo/"), CampaignSpec, path)
