"""The identity of a campaign: its inputs, which decide whether stored results can be continued."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from gz_testauto.base.errors import ResultsError
from gz_testauto.results.comparability import (
    SHA256,
    differing_names,
    flatten,
    list_differences,
    refuse_differences,
)
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.manifest import Manifest, RobotExtent, campaign_inputs
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load

CONFIG = Path(__file__).resolve().parents[2] / "config"


@pytest.mark.parametrize(
    ("campaign", "has", "lacks"),
    [
        ("smoke", {"planners[0].plugin": '"straight"'}, {"stack", "planners[0].launch"}),
        (
            "own_stack",
            {"stack.run": '"fresh"', "planners[1].launch.args.plugin": '"fgm"'},
            {"planners[0].plugin", "planners[0].parameters"},
        ),
    ],
)
def test_inputs_of_a_campaign_have_only_the_keys_of_its_kind(campaign, has, lacks):
    inputs = campaign_inputs(load(CONFIG / f"{campaign}_campaign.yaml", CampaignSpec))
    assert {name: inputs.get(name) for name in has} == has
    assert not lacks & inputs.keys()
    assert inputs["simulator"] == '"auto"'


def manifest(**changes):
    content = {
        "format": 1, "campaign": "c", "identity": "", "gz_testauto": "0.1.0",
        "inputs": {"seed": "5", "robot.radius_m": "0.3"}, "platform": "Linux", "simulator": None,
    }  # fmt: skip
    return Manifest({**content, **changes})


def test_a_manifest_is_the_same_while_inputs_and_version_are():
    assert manifest().is_same(manifest(platform="Darwin"))
    assert not manifest().is_same(manifest(gz_testauto="0.2.0"))
    assert not manifest(bits_version=2).is_same(manifest(bits_version=3))
    assert manifest(bits_version=2).is_same(manifest(bits_version=None))
    other = manifest(inputs={"seed": "6", "robot.radius_m": "0.3", "stack": "null"})
    assert not manifest().is_same(other)
    assert other.differing_inputs(manifest()) == ["seed", "stack"]


def test_a_difference_is_named_with_both_values_unless_it_may_differ(tmp_path):
    directory = CampaignDirectory(tmp_path)
    stored = manifest(inputs={"seed": "5", "robot.radius_m": "0.4"})
    with pytest.raises(ResultsError) as caught:
        manifest().require_same(stored, directory)
    assert str(caught.value).splitlines()[1:] == ["  robot.radius_m is 0.3, was 0.4"]
    manifest().require_same(stored, directory, ignored_prefix="robot.")
    with pytest.raises(ResultsError):
        manifest().require_same(stored, directory, ignored_prefix="seed")


@pytest.mark.parametrize(("number", "lines"), [(0, 0), (1, 1), (5, 5), (6, 6), (9, 6)])
def test_the_first_five_differences_are_listed(tmp_path, number, lines):
    differences = [f"name {index}" for index in range(number)]
    if not number:
        refuse_differences(tmp_path, "others", differences)
        return
    with pytest.raises(ResultsError) as caught:
        refuse_differences(tmp_path, "others", differences)
    listed = str(caught.value).splitlines()[1:]
    assert len(listed) == lines
    assert ("more" in listed[-1]) == (number > 5)
    assert number <= 5 or listed[-1] == f"  ... and {number - 5} more"


def test_differences_are_those_of_values_and_of_names():
    stored, current = {"a": "1", "b": None, "c": 2}, {"a": "1", "c": 3, "d": SHA256 + "f" * 64}
    assert differing_names(stored, current) == ["b", "c", "d"]
    assert list_differences(stored, current) == [
        "b is not set, was null",
        "c is 3, was 2",
        "d is sha256:ffffffff…, was not set",
    ]


def test_nested_values_have_dotted_names():
    nested = {"a": {"b": [1, {"c": 2}]}, "d": ()}
    assert list(flatten(nested)) == [("a.b[0]", 1), ("a.b[1].c", 2)]
    assert list(flatten(nested, "x", lists=False)) == [("x.a.b", [1, {"c": 2}]), ("x.d", ())]


def test_simulator_cannot_change_after_trials_have_ended():
    first = manifest().with_simulator(SimpleNamespace(name="gazebo", version="11"), bound=True)
    assert (manifest().simulator, first.simulator) == ("", "gazebo 11")
    other = SimpleNamespace(name="gazebo", version="12")
    assert first.with_simulator(other, bound=False).simulator == "gazebo 12"
    with pytest.raises(ResultsError, match="not comparable"):
        first.with_simulator(other, bound=True)


def test_imported_trials_are_known_by_their_file(tmp_path):
    source = tmp_path / "trials.csv"
    source.write_text("world\n")
    imported = Manifest.imported("c", source, "stage")
    assert (imported.is_imported, imported.simulator, imported.platform) == (True, "stage", "")
    assert not manifest().is_imported
    assert Manifest.imported("c", source).simulator == ""
    source.write_text("worlds\n")
    assert not Manifest.imported("c", source).is_same(imported)


def test_version_and_extent_of_the_robot_are_those_of_the_file(tmp_path):
    extent = {"footprint_m": [[0.2, 0.1]], "height_m": [0.0, 0.4], "scan_height_m": 0.3}
    directory = CampaignDirectory(tmp_path)
    manifest(robot=extent).write(directory)
    stored = Manifest.read(directory)
    assert (stored.gz_testauto, stored.robot) == ("0.1.0", RobotExtent(**extent))
    assert (manifest().robot, manifest(robot=None).robot) == (None, None)
