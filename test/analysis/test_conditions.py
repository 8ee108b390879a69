"""Conditions of two campaigns, and which planners of two campaigns are compared."""

from types import SimpleNamespace

import pytest

from gz_testauto.analysis.across import _pairs_across_campaigns as pairs_of_campaigns
from gz_testauto.analysis.conditions import SAME, compare_conditions
from gz_testauto.results.store import LoadedCampaign
from gz_testauto.results.world_identity import missions

INPUTS = {"robot.max_linear_mps": "1.0", "name": '"one"', "metrics.barn_k": "2.0"}


def campaign(label="a", planners=("fgm",), imported=False, **changes):
    manifest = {
        "inputs": INPUTS, "is_imported": imported, "simulator": "embedded",
        "gz_testauto": "0.1.0", "platform": "Linux", "bits_version": 2, **changes,
    }  # fmt: skip
    return LoadedCampaign(label, SimpleNamespace(planners=planners), SimpleNamespace(**manifest))


def compared(**changes):
    found = compare_conditions(campaign(), campaign("b", **changes))
    mirrored = compare_conditions(campaign("b", **changes), campaign())
    assert len(mirrored.reasons) == len(found.reasons)
    assert mirrored.without == found.without
    return found


def test_equal_campaigns_are_comparable():
    assert compared() == SAME
    assert compared(inputs={**INPUTS, "name": '"two"', "seed": "5"}).reasons == ()
    assert compared(inputs={**INPUTS, "limits.max_attempts": "9"}).reasons == ()
    assert compared(inputs={**INPUTS, "code of x": "sha256:1"}).reasons == ()


@pytest.mark.parametrize(("value", "shown"), [("0.5", "0.5"), ("2.0", "2.0")])
def test_a_different_value_prevents_a_comparison(value, shown):
    found = compared(inputs={**INPUTS, "robot.max_linear_mps": value})
    assert found.reasons == (f"robot.max_linear_mps: 1.0, and {shown}",)
    assert (found.notes, found.without) == ((), frozenset())


def test_a_missing_field_and_a_different_file_prevent_a_comparison():
    found = compared(inputs={**INPUTS, "robot.model": "sha256:1", "worlds.plugins": "true"})
    assert found.reasons == (
        "robot.model: nothing, and another file",
        "worlds.plugins: nothing, and true",
    )


def test_a_different_model_of_the_worlds_prevents_a_comparison_if_both_campaigns_use_it():
    first = {**INPUTS, "file of the worlds box.sdf": "sha256:1"}
    changed = {**INPUTS, "file of the worlds box.sdf": "sha256:2"}
    assert compared(inputs=first).reasons == ()
    found = compare_conditions(campaign(inputs=first), campaign("b", inputs=changed))
    assert found.reasons == ("file of the worlds box.sdf: another file, and another file",)


def test_a_different_metric_parameter_excludes_the_metrics_that_use_it():
    found = compared(inputs={**INPUTS, "metrics.barn_k": "4.0"})
    assert found.reasons == ()
    assert found.without == {"barn_score"}
    (note,) = found.notes
    assert note.startswith("metrics.barn_k: 2.0, and 4.0")


def test_a_different_machine_excludes_wall_times_and_a_different_simulator_all_metrics():
    machine = compared(platform="Darwin")
    assert "cycle_mean_s" in machine.without and len(machine.without) == 5
    assert len(machine.notes) == 1 and machine.reasons == ()
    assert compared(simulator="gazebo").reasons == ("simulator: embedded, and gazebo",)
    assert compared(simulator="").reasons == ()
    version = compared(gz_testauto="0.2.0")
    assert (version.notes, version.reasons) == (("gz_testauto: 0.1.0, and 0.2.0",), ())
    bits = compared(bits_version=None)
    assert bits.notes == ("version of the bits of gz_testauto: 2, and 1",) and bits.reasons == ()


def test_inputs_of_imported_trials_are_not_compared():
    found = compared(imported=True, inputs={})
    assert found.reasons == ()
    assert found.notes[0].startswith("the trials of b were imported")


def test_a_world_has_its_own_start_and_goal_by_its_name_or_its_file():
    inputs = {
        "worlds.files[0].file": '"folder/one.world"', "worlds.files[0].start": "[0, 1]",
        "worlds.files[0].goal": "null", "worlds.files[1].file": '"two.world"',
        "worlds.files[1].name": '"other"', "worlds.files[1].goal.x_m": "3", "worlds.count": "2",
        "worlds.files[2].name": "damaged",
    }  # fmt: skip
    assert missions(inputs) == {
        "one": (("start", "[0, 1]"),),
        "other": (("goal.x_m", "3"),),
        "": (),
    }


def test_planners_of_two_campaigns_are_paired_unless_one_campaign_has_both():
    first, second = campaign("a", ("fgm", "dwa")), campaign("b", ("fgm", "teb"))
    names = {
        (one.label, p): f"{p} {one.label}" for one in (first, second) for p in ("fgm", "dwa", "teb")
    }
    assert pairs_of_campaigns([first, second], names) == (
        ("fgm a", "fgm b"),
        ("dwa a", "teb b"),
    )
