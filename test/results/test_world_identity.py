"""Which worlds of a campaign are copies of each other."""

import shutil
from pathlib import Path

import pytest
from table_results import store_table

from gz_testauto.cli.main import main
from gz_testauto.results.store import load_campaign
from gz_testauto.results.world_identity import copies_of_worlds
from gz_testauto.worlds.manifest import read_worlds
from gz_testauto.worlds.record import WorldRecord

ACTORS = {"actors[0].behavior": '"wander"'}
MISSION = {"robot.start.x_m": "1.0", "robot.start.y_m": "2.0", "goal.x_m": "3.0"}


def worlds(*hashes):
    return [WorldRecord(i, f"w{i}", f"/w{i}.world", sha256) for i, sha256 in enumerate(hashes)]


def entry(index, name, **keys):
    return {
        f"worlds.files[{index}].file": '"w.world"',
        f"worlds.files[{index}].name": f'"{name}"',
        **{f"worlds.files[{index}].{key}": value for key, value in keys.items()},
    }


@pytest.mark.parametrize(
    ("inputs", "copies"),
    [
        ({}, {"w1": "w0"}),
        ({**entry(0, "w0"), **entry(1, "w1")}, {"w1": "w0"}),
        ({**entry(0, "w0"), **entry(1, "w1", goal="[1, 2]")}, {}),
        ({**entry(0, "w0"), **entry(1, "w1", road='"r.yaml"')}, {}),
        ({**entry(0, "w0", goal="[1, 2]"), **entry(1, "w1", goal="[1, 2]")}, {"w1": "w0"}),
        (
            {
                **MISSION,
                **entry(0, "w0"),
                **entry(1, "w1", **{"start.x_m": "1.0", "start.y_m": "2.0", "goal.x_m": "3.0"}),
            },
            {"w1": "w0"},
        ),
        (
            {
                **MISSION,
                **entry(0, "w0"),
                **entry(1, "w1", **{"start.x_m": "1.0", "start.y_m": "2.5"}),
            },
            {},
        ),
        (ACTORS, {}),
        (
            {
                **ACTORS,
                **entry(0, "w0", **{"random_numbers.seed": "3", "random_numbers.world": "1"}),
                **entry(1, "w1", **{"random_numbers.seed": "3", "random_numbers.world": "1"}),
            },
            {"w1": "w0"},
        ),
        (
            {
                **ACTORS,
                **entry(0, "w0", **{"random_numbers.seed": "3", "random_numbers.world": "1"}),
                **entry(1, "w1", **{"random_numbers.seed": "3", "random_numbers.world": "2"}),
            },
            {},
        ),
    ],
    ids=[
        "file",
        "listed file",
        "goals",
        "roads",
        "equal goals",
        "explicit defaults",
        "starts",
        "actors",
        "equal draws",
        "draws",
    ],
)
def test_worlds_with_equal_file_mission_and_random_numbers_are_copies(inputs, copies):
    assert copies_of_worlds(worlds("a", "a", "b"), inputs) == copies


def test_worlds_whose_file_is_unknown_are_no_copies():
    assert copies_of_worlds(worlds("", ""), {}) == {}


def test_worlds_that_differ_in_layout_and_name_only_have_the_same_content(tmp_path):
    (tmp_path / "a.world").write_text(
        '<sdf><world name="a"> <b c="1" d="2"> 0  1 </b> </world></sdf>'
    )
    (tmp_path / "b.world").write_text(
        '<sdf>\n<!-- b --><world name="b"><b d="2"  c="1">0 1</b></world></sdf>'
    )
    (tmp_path / "c.world").write_text('<sdf><world name="a"><b c="1" d="2">0 2</b></world></sdf>')
    assert copies_of_worlds(read_worlds(tmp_path).worlds, {}) == {"b": "a"}


@pytest.mark.parametrize("content", ["", "<sdf>", '<!DOCTYPE sdf [<!ENTITY a "b">]><sdf>&a;</sdf>'])
def test_a_file_that_cannot_be_interpreted_is_identified_by_its_bytes(tmp_path, content):
    for name in "ab":
        (tmp_path / f"{name}.world").write_text(content)
    (tmp_path / "c.world").write_text(content + " ")
    assert copies_of_worlds(read_worlds(tmp_path).worlds, {}) == {"b": "a"}


@pytest.fixture
def copied(tmp_path):
    """Results of two planners in eight copies of one world, which are repetitions of it."""
    files = tmp_path / "files"
    files.mkdir()
    lines = ["world,planner,outcome"]
    for index in range(8):
        (files / f"w{index}.world").write_text(f"<sdf/><!-- {index} -->")
        lines += [f"w{index},a,reached", f"w{index},b,collided"]
    return str(store_table("\n".join([*lines, ""]), tmp_path / "out", files))


def test_a_report_on_copies_is_one_on_a_single_world(copied, capsys):
    assert main(["report", copied]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "count as repetitions of one world: w0: w1, w2, w3, w4, w5 and 2 more" in text
    assert "no CI: one world is not enough" in text
    assert "did not differ significantly" in text


def test_trials_in_copies_are_repetitions_in_the_first_world(copied):
    results = load_campaign(Path(copied)).results.without_copies
    assert [world.name for world in results.worlds] == ["w0"]
    assert [trial.repetition for trial in results.of("a")] == list(range(8))


def test_a_comparison_of_campaigns_states_copies(copied, tmp_path, capsys):
    other = str(tmp_path / "other")
    shutil.copytree(copied, other)
    assert main(["compare", copied, other]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "count as repetitions of one world: w0: w1, w2" in text
    assert "1 world with both" in text
