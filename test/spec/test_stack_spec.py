"""A user's own stack in campaign.yaml: what is understood, and what is refused where."""

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
from gz_testauto.spec.placeholders import fill

CONFIG = Path(__file__).resolve().parents[2] / "config"
EXAMPLE = CONFIG / "own_stack_campaign.yaml"


def read(text):
    return parse(text, CampaignSpec, EXAMPLE)


def refused(old, new):
    """What is said when ``old`` is ``new`` in the example, and the line of ``new``."""
    text = EXAMPLE.read_text()
    assert old in text
    text = text.replace(old, new)
    with pytest.raises(SpecError) as said:
        read(text)
    return str(said.value)


def line_of(text):
    lines = EXAMPLE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_the_example_names_two_planners_by_what_they_change_of_one_launch():
    spec = load(EXAMPLE, CampaignSpec)
    fgm = spec.planners[1]
    navigation = spec.stack.navigation.overridden_by(fgm.launch)
    assert navigation.named == "gz_testauto/planner.launch"
    assert navigation.args == {
        "map": "{map}",
        "goal_tolerance_m": "{goal_tolerance}",
        "plugin": "fgm",
    }


def test_a_planner_with_a_launch_file_of_its_own_has_its_own_arguments_only():
    text = EXAMPLE.read_text().replace(
        "launch: {args: {plugin: fgm}}", "launch: {package: other, file: o.launch, args: {a: 1}}"
    )
    spec = read(text)
    launch = spec.stack.navigation.overridden_by(spec.planners[1].launch)
    assert (launch.named, launch.args) == ("other/o.launch", {"a": 1})


def test_an_unknown_placeholder_is_refused_with_those_there_are():
    said = refused('"{world}"', '"{wrold}"')
    assert said.startswith(f"{EXAMPLE}:{line_of('world: ' + chr(34))}: ") or "args" in said
    assert "stack.simulator.args.world" in said
    assert "did you mean '{world}'?" in said
    assert "{start_yaw}" in said


def test_a_launch_without_a_stack_is_refused():
    text = EXAMPLE.read_text()
    begin, end = text.index("stack:\n"), text.index("planners:")
    text = text[:begin] + text[end:]
    with pytest.raises(SpecError) as said:
        read(text)
    lines = text.splitlines()
    for index, name in enumerate(("straight", "fgm")):
        line = next(number for number, line in enumerate(lines, 1) if f"name: {name}" in line)
        assert f":{line}: planners[{index}]: {name} has launch, but there is no stack" in str(
            said.value
        )


def test_a_plugin_in_a_stack_is_refused_with_what_to_write():
    said = refused("{name: fgm, launch: {args: {plugin: fgm}}}", "fgm")
    assert f":{line_of('{name: fgm')}: planners[1]: fgm is a plugin" in said
    assert "{name: fgm, launch: {args: {...}}}" in said


def test_a_planner_is_a_plugin_or_a_launch_and_not_both():
    said = refused("{name: fgm, launch", "{name: fgm, plugin: fgm, launch")
    assert "planners[1]: fgm has launch, and plugin or parameters as well" in said


def test_a_launch_needs_a_file_of_its_own_where_the_stack_has_no_navigation():
    text = EXAMPLE.read_text()
    begin, end = text.index("  navigation:"), text.index("  max_real_time_factor")
    with pytest.raises(SpecError, match=r"planners: straight names no launch file, and stack has"):
        read(text[:begin] + text[end:])


def test_what_stack_says_makes_the_kind_of_a_campaign():
    smoke = load(CONFIG / "smoke_campaign.yaml", CampaignSpec)
    assert type(load(EXAMPLE, CampaignSpec)) is StackCampaignSpec
    assert type(smoke) is BuiltinCampaignSpec
    assert (
        parse(
            (CONFIG / "smoke_campaign.yaml").read_text() + "stack: null\n",
            CampaignSpec,
            CONFIG / "smoke_campaign.yaml",
        )
        == smoke
    )
    with pytest.raises(TypeError, match="read by one of its kinds"):
        CampaignSpec.model_validate(smoke.model_dump())


def test_a_bad_file_is_told_the_errors_of_its_own_kind_only():
    said = refused("stack:\n", "stack:\n  sumulator: {file: ./a.launch}\n")
    (line,) = said.splitlines()
    assert f":{line_of('stack:') + 1}: stack: unknown key 'sumulator'" in line
    assert refused("goal:", "gaol:").count("did you mean 'goal'") == 1


def test_what_one_kind_has_is_not_asked_of_a_campaign_of_either():
    assert not {"stack", "simulator", "simulator_options"} & CampaignSpec.model_fields.keys()
    assert PlannerSpec.model_fields.keys() == {"name"}


def test_a_simulator_beside_a_stack_is_refused():
    said = refused("limits:", "simulator: embedded\nlimits:")
    assert "simulator is said by stack.simulator; leave it out" in said


def test_a_robot_without_a_model_needs_a_body():
    model = "model: package://gz_testauto/models/wheelchair/model.sdf"
    said = refused(model, "name: burger")
    assert f":{line_of('robot:')}: robot has no model; give footprint_m and height_m" in said
    body = "footprint_m: [[0.1, 0.1], [-0.1, 0.1], [-0.1, -0.1]]\n  height_m: [0.0, 0.2]"
    assert read(EXAMPLE.read_text().replace(model, body)).robot.height_m == (0.0, 0.2)


def test_without_a_stack_a_robot_needs_its_model():
    text = (CONFIG / "smoke_campaign.yaml").read_text()
    text = text.replace("model: package://gz_testauto/models/wheelchair/model.sdf", "name: robot")
    with pytest.raises(SpecError, match=r":\d+: robot\.model is missing"):
        parse(text, CampaignSpec, CONFIG / "smoke_campaign.yaml")


def test_an_argument_that_names_a_file_is_found_from_the_campaign():
    text = EXAMPLE.read_text().replace("{plugin: fgm}", "{plugin: fgm, map: ./obstacles.yaml}")
    assert read(text).planners[1].launch.args["map"] == CONFIG / "obstacles.yaml"
    said = refused("{plugin: fgm}", "{plugin: fgm, map: ./nowhere.yaml}")
    assert 'map is "./nowhere.yaml"; there is no such file' in said
    long = "/" + "a" * 300  # what no file can be called is no file
    text = EXAMPLE.read_text().replace("{plugin: fgm}", f"{{plugin: fgm, map: {long}}}")
    assert read(text).planners[1].launch.args["map"] == long


def test_what_was_loaded_is_the_same_when_read_back_from_json():
    text = EXAMPLE.read_text().replace("{plugin: fgm}", "{plugin: fgm, map: ./obstacles.yaml}")
    spec = read(text)

    again = StackCampaignSpec.model_validate(
        json.loads(spec.model_dump_json()), context={"source": EXAMPLE}
    )
    assert again == spec


def test_placeholders_are_filled_and_other_braces_stay():
    values = {"world": "/a.world", "seed": 3}
    assert fill("{world} {seed}", values) == "/a.world 3"
    assert fill("{lookahead_m: 2.0}", values) == "{lookahead_m: 2.0}"
    assert fill("{{world}}", values) == "{world}"
    with pytest.raises(UnknownNameError, match=r"'\{sede\}'; did you mean '\{seed\}'"):
        fill("{sede}", values)


def test_metrics_of_a_stack_have_names_of_their_own():
    metric = "{name: effort, topic: /effort}"
    said = refused(
        "  max_real_time_factor: 2.0", f"  metrics: [{metric}, {metric}]\n  max_real_time_factor: 2"
    )
    assert "names must differ; these appear twice: effort" in said


def test_a_stack_must_keep_up_unless_the_campaign_says_otherwise():
    text = EXAMPLE.read_text()
    lines = "".join(re.findall(r"  m(?:ax|in)_real_time_factor:.*\n", text))
    assert lines in text

    def least(given):
        return read(text.replace(lines, given)).stack.min_real_time_factor

    assert least("") == 0.8
    assert least("  max_real_time_factor: null\n") == 0.8
    assert least("  min_real_time_factor: null\n") is None
    assert least("  max_real_time_factor: 0.5\n") == 0.4  # the same share of a lower cap


def test_a_pace_that_no_trial_could_have_is_refused():
    said = refused("min_real_time_factor: 0.2", "min_real_time_factor: 2.0")
    assert "min_real_time_factor is 2; it must be below max_real_time_factor, 2" in said


BODY = "name: burger\n  height_m: [0.0, 0.2]\n  footprint_m: "


@pytest.mark.parametrize(
    "corners",
    [
        "[[0.1, 0.1], [-0.1, -0.1], [-0.1, 0.1], [0.1, -0.1]]",  # a bow-tie
        "[[0.1, 0.1], [0.0, 0.0], [-0.1, -0.1]]",  # a line
    ],
)
def test_a_footprint_that_crosses_itself_or_has_no_area_is_refused(corners):
    said = refused("model: package://gz_testauto/models/wheelchair/model.sdf", BODY + corners)
    assert "robot.footprint_m: the outline crosses itself or has no area" in said


def test_a_robots_name_in_a_stack_is_what_gazebo_takes():
    model = "model: package://gz_testauto/models/wheelchair/model.sdf"
    named = model + "\n  name: limo/"
    assert read(EXAMPLE.read_text().replace(model, named)).robot.name == "limo/"
    for name in ("'limo::base'", "''", "' limo'"):
        said = refused(model, f"{model}\n  name: {name}")
        assert "robot.name" in said
        assert "Gazebo takes no" in said


def test_a_robots_name_for_our_own_simulators_is_a_word():
    path = CONFIG / "smoke_campaign.yaml"
    model = "model: package://gz_testauto/models/wheelchair/model.sdf"
    with pytest.raises(SpecError, match=r"robot\.name begins with a letter"):
        parse(path.read_text().replace(model, f"{model}\n  name: limo/"), CampaignSpec, path)
