"""Worlds that a gate names, and JUnit XML with one test case for each world."""

from xml.etree import ElementTree

import pytest
from gate_tables import gate_results, table
from table_results import store_table

from gz_testauto.cli.main import main


@pytest.fixture
def results(tmp_path):
    return lambda name, **planners: gate_results(tmp_path, name, table(**planners))


def test_gate_names_worlds_that_the_planner_lost_and_won(results, capsys):
    new, old = results("new_ones", fgm="0111"), results("old_ones", fgm="1100")
    assert main(["gate", new, "--baseline", old]) == 3
    said = capsys.readouterr().out
    assert "fgm (new) was worse in 1 world: w000, and was better in 2 worlds: w002, w003\n" in said


def test_gate_names_no_world_if_the_planners_are_equal(results, capsys):
    new, old = results("new_ones", fgm="0111"), results("old_ones", fgm="0111")
    main(["gate", new, "--baseline", old])
    assert " in " not in capsys.readouterr().out.partition("note:")[0]


def test_worlds_of_a_metric_are_better_by_more_than_the_margin(results, tmp_path, capsys):
    lines = "world,planner,outcome,time_s\n"
    for name, times_s in (("new_ones", (10.0, 12.5, 7.0, 9.0)), ("old_ones", (10.0,) * 4)):
        rows = "".join(f"w{i},fgm,reached,{time_s}\n" for i, time_s in enumerate(times_s))
        gate_results(tmp_path, name, lines + rows)
    new, old = str(tmp_path / "new_ones"), str(tmp_path / "old_ones")
    main(["gate", new, "--baseline", old, "--metric", "time_s:2:0:60"])
    text = capsys.readouterr().out
    assert "was worse in 1 world: w1, and was better in 1 world: w2" in text


def test_junit_of_worlds_has_a_case_for_each_planner_and_world(results, tmp_path):
    new = results("new_ones", fgm="010x.", dwa="11111")
    old = results("old_ones", fgm="11011", dwa="11111")
    xml, allow = tmp_path / "worlds.xml", ["--allow-missing-worlds", "5", "--max-invalid", "0.9"]
    main(["gate", new, "--baseline", old, "--junit-worlds", str(xml), *allow])
    root = ElementTree.parse(xml).getroot()
    found = {}
    for case in root.iter("testcase"):
        [child] = list(case)
        found[case.get("name")] = (child.tag, child.get("type"))
    assert len(found) == 10
    assert found["dwa (new) in w000"] == ("system-out", None)
    assert found["fgm (new) in w000"] == ("failure", "lost")
    assert found["fgm (new) in w001"] == ("system-out", None)
    assert found["fgm (new) in w002"] == ("failure", "failed")
    assert found["fgm (new) in w003"] == ("error", "invalid")
    assert found["fgm (new) in w004"] == ("skipped", "not run")
    assert root.get("failures") == "2"
    [lost] = [case for case in root.iter("failure") if case.get("type") == "lost"]
    assert "fgm (baseline) reached the goal in 1 of 1 trial" in lost.get("message")
    assert "collided" in lost.text


def test_junit_of_worlds_without_a_baseline_states_outcomes(results, tmp_path):
    new, xml = results("new_ones", fgm="10"), tmp_path / "worlds.xml"
    main(["gate", new, "--min-success", "0.5", "--junit-worlds", str(xml)])
    cases = list(ElementTree.parse(xml).getroot().iter("testcase"))
    assert [case.get("name") for case in cases] == ["fgm in w000", "fgm in w001"]
    assert cases[1].find("failure").get("type") == "failed"


def test_copies_of_a_world_are_one_world_for_gate_and_power(tmp_path, capsys):
    files = tmp_path / "files"
    files.mkdir()
    for index in range(8):
        (files / f"w{index:03d}.world").write_text("<sdf/>")
    text = table(a="1" * 8, b="0" * 8)
    copied = str(store_table(text, tmp_path / "copied", files))
    assert main(["gate", copied, "--baseline-planner", "a"]) == 3
    printed = capsys.readouterr().out
    assert "; 1 world\n" in printed
    assert "note: Worlds with the same content, start and goal count as repetitions" in printed
    assert main(["power", "--pilot", copied, "--worlds", "20"]) == 2
