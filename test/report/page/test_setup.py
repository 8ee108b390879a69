"""The description of the campaign on the page."""

import numpy as np
from scripted import CONFIG

from gz_testauto.report.page.setup import LONGEST, length_note, planner_rows, setup
from gz_testauto.report.sources import Source
from gz_testauto.results.inputs import PLANNER_CODE, further_files
from gz_testauto.results.manifest import Manifest
from gz_testauto.spec.campaign import BuiltinPlannerSpec, CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.testbed import read_body

BOX = np.array([[0.6, 0.33], [-0.5, 0.33], [-0.5, -0.33], [0.6, -0.33]])


def test_robot_limits_and_planners_are_described_with_their_values(smoke):
    wide = BuiltinPlannerSpec(
        name="wide", plugin="fgm", parameters={"alpha_m": 0.4, "field": [1, 2]}
    )
    spec = smoke.model_copy(update={"planners": (*smoke.planners, wide)})
    inputs = Manifest.of(spec, further_files(spec, read_body(spec))).inputs
    source = Source("out", None, planners={"straight": "straight", "wide (b)": "wide"})
    assert [*setup(spec, BOX), *planner_rows(spec, source, inputs)] == [
        ("robot", "robot (wheelchair), 1.10 m long and 0.66 m wide, at most 1 m/s and 1.5 rad/s"),
        ("reached", "the robot's base is within 0.5 m of the goal"),
        ("timed out", "not reached in 30 s of simulated time"),
        ("stuck", "always within 0.25 m of the present position for 10 s"),
        ("tipped over", "tilted more than 0.8 rad for 1 s"),
        (
            "planner straight",
            "plugin straight, default values: lookahead_m 1.5, turn_gain_per_s 1.5",
        ),
        (
            "planner wide (b)",
            "plugin fgm, alpha_m 0.4, field [1, 2], default values: horizon_m 4, "
            "field_of_view_rad 3.14159, margin_m 0, slowdown_m 1, slowest 0.3, lookahead_m 4, "
            "turn_gain_per_s 1.5, slows_in_turns True",
        ),
    ]


def test_default_lengths_are_those_for_the_robot(smoke):
    robot = smoke.robot.model_copy(update={"max_linear_mps": 4.0, "max_linear_accel_mps2": 8.0})
    spec = smoke.model_copy(update={"robot": robot})
    inputs = Manifest.of(spec, further_files(spec, read_body(spec))).inputs
    rows = planner_rows(spec, Source("out", None, planners={"straight": "straight"}), inputs)
    assert "lookahead_m 3," in rows[0][1]


def test_default_values_of_changed_planner_code_are_unknown(smoke):
    source = Source("out", None, planners={"fgm": "fgm"})
    rows = planner_rows(smoke, source, {f"{PLANNER_CODE}fgm": "another hash"})
    assert rows == [("planner fgm", "plugin fgm, default values")]


def test_default_values_of_a_missing_planner_are_unknown(smoke):
    gone = BuiltinPlannerSpec.model_construct(name="gone", plugin="gone", parameters={})
    spec = smoke.model_copy(update={"planners": (gone,)})
    source = Source("out", None, planners={"gone": "gone"})
    rows = planner_rows(spec, source, {f"{PLANNER_CODE}gone": "a hash"})
    assert rows == [("planner gone", "plugin gone, default values")]


def test_long_lists_of_parameters_are_truncated(smoke):
    many = BuiltinPlannerSpec(name="many", plugin="fgm", parameters={f"p{i}": i for i in range(99)})
    spec = smoke.model_copy(update={"planners": (many,)})
    said = planner_rows(spec, Source("out", None, planners={"many": "many"}), {})[0][1]
    assert len(said) <= LONGEST and said.startswith("plugin fgm, p0 0, p1 1,")


def test_a_planner_on_a_stack_is_its_launch_file_with_its_arguments():
    spec = load(CONFIG / "own_stack_campaign.yaml", CampaignSpec)
    names = {one.name: one.name for one in spec.planners}
    said = dict(planner_rows(spec, Source("out", None, planners=names), {}))
    assert all(said[f"planner {one.name}"].startswith("launch file ") for one in spec.planners)


def test_a_note_explains_lengths_below_the_shortest_path(smoke):
    assert "within 0.5 m of the goal, the shortest path at the goal itself" in length_note(smoke)
    assert length_note(None) == ""


def test_results_without_a_campaign_have_no_rows():
    assert setup(None, None) == []


def test_actors_and_randomized_terms_are_listed():
    path = CONFIG / "walkers_campaign.yaml"
    rows = dict(setup(load(path, CampaignSpec), None))
    assert rows["moving"] == (
        "5 × walker (wander), guard (patrol), pedestrian (cross), door (door)"
    )
    assert (
        rows["randomized"]
        == "floor_friction (friction), scan_noise (scan_noise), lag (actuator_lag)"
    )


def test_road_and_tracked_objects_are_described():
    campaign = CONFIG / "road" / "pedestrian_campaign.yaml"
    spec = load(campaign, CampaignSpec)
    rows = dict(setup(spec, None))
    assert rows["tracking"].startswith("planners can request exact poses")
    assert rows["road"].startswith("lanes and a route")
    assert "left road" not in rows
    limits = spec.limits.model_copy(update={"max_off_road_m": 0.5})
    rows_with_limit = dict(setup(spec.model_copy(update={"limits": limits}), None))
    assert rows_with_limit["left road"] == "a part of the robot was 0.5 m from all lanes"
    noisy = spec.tracking.model_copy(update={"delay_s": 0.2})
    rows = dict(setup(spec.model_copy(update={"tracking": noisy}), None))
    assert rows["tracking"] == "planners can request moving objects: delay_s 0.2"
