"""The command line: verbs, help, errors, and the verbs multiply and map."""

import gc
import itertools
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from gz_testauto.cli import main as command
from gz_testauto.grid.map_server import read_map

ROOT = Path(__file__).resolve().parents[2]
ROOM = str(ROOT / "worlds" / "room.world")

SPEC = """
obstacles: [{type: box, count: 2, size_x_m: [0.3, 0.6]}]
region: {rectangle: {x_m: [-3, 3], y_m: [-3, 3]}}
sampling: sobol
mission: {start: [-4, -4], goal: [4, 4], footprint_m: [[0.3, 0.2], [-0.3, 0.2], [0, -0.2]]}
"""


def gz_testauto(capsys, *arguments):
    status = command.main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "forest.yaml"
    path.write_text(SPEC)
    return path


def test_help_lists_every_verb(capsys):
    status, out, _ = gz_testauto(capsys, "--help")
    assert status == 0
    for verb in command.VERBS.names():
        assert f"\n  {verb} " in out
    assert max(map(len, out.splitlines())) <= 80


def test_help_groups_the_verbs_in_the_order_of_their_use(capsys, monkeypatch):
    others = {"theirs": SimpleNamespace(__doc__="Do it.")}
    monkeypatch.setitem(command.VERBS._loaders, "theirs", lambda: others["theirs"])
    groups = {name: list(verbs) for name, verbs in command.grouped_verbs().items()}
    assert groups["start"] == ["init", "run", "watch", "replay", "report", "compare", "doctor"]
    assert groups["worlds"][:2] == ["multiply", "map"]
    assert groups["other packages"] == list(others)
    assert list(groups) == [name for name in (*command.GROUPS, "other packages") if name in groups]
    _, out, _ = gz_testauto(capsys, "--help")
    assert "\nstart:\n  init " in out


def test_command_without_verb_exits_with_2(capsys):
    assert gz_testauto(capsys)[0] == 2


def test_error_for_an_unknown_verb_suggests_a_similar_verb(capsys):
    status, _, err = gz_testauto(capsys, "mulitply")
    assert status == 2
    assert err.startswith("gz_testauto: unknown verb 'mulitply'; did you mean 'multiply'?")


@pytest.mark.parametrize("verb", ["multiply", "map"])
def test_the_help_of_a_verb_has_an_example_and_at_most_80_columns(capsys, verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as left:
        command.main([verb, "--help"])
    assert left.value.code == 0
    out = capsys.readouterr().out
    assert f"example:\n  gz_testauto {verb} worlds/arena.world" in out
    assert max(map(len, out.splitlines())) <= 80


def test_multiply_reports_its_progress_in_a_log(capsys, spec, tmp_path, monkeypatch):
    seconds = itertools.count(step=2)
    monkeypatch.setattr("time.monotonic", lambda: float(next(seconds)))
    status, _, err = gz_testauto(
        capsys, "multiply", ROOM, "--spec", spec, "--count", 4, "--out", tmp_path / "worlds"
    )
    assert status == 0 and re.search(r"^\d of 4 worlds generated", err, re.MULTILINE)


def test_multiply_prints_the_properties_of_the_worlds(capsys, spec, tmp_path):
    out_dir = tmp_path / "out"
    status, out, err = gz_testauto(
        capsys, "multiply", ROOM, "--spec", spec, "--count", 4, "--seed", 7, "--out", out_dir
    )
    assert (status, err) == (0, "")
    assert out.startswith("4 worlds in ")
    assert "shortest path " in out
    assert "centered discrepancy " in out
    assert len(list(out_dir.glob("world_*.world"))) == 4
    table = [line for line in out.splitlines() if "/" not in line]
    assert max(map(len, table)) <= 80


def test_multiply_prints_json(capsys, spec, tmp_path):
    arguments = ("multiply", ROOM, "--spec", spec, "--count", 3, "--out", tmp_path / "o", "--json")
    _, out, _ = gz_testauto(capsys, *arguments)
    facts = json.loads(out)
    assert (facts["count"], facts["seed"], facts["obstacles"]) == (3, 0, 6)
    figures = facts["figures"]["shortest_path_m"]
    assert 11.3 < figures["min"] <= figures["median"] <= figures["max"] < 20


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("0.3, 0.6", "-0.3, 0.6"), "forest.yaml:2: obstacles[0].size_x_m can be -0.3"),
        (("count: 2", "count: 900"), "world_0000: found room for "),
        (("[-4, -4]", "[-4, -4.9]"), "the start (-4, -4.9) is 0.10 m from the base world's walls"),
    ],
)
def test_known_error_prints_one_line_and_exits_with_2(capsys, spec, tmp_path, change, problem):
    spec.write_text(SPEC.replace(*change) + "solvable: true\nmax_tries: 100\n")
    arguments = ("multiply", ROOM, "--spec", spec, "--count", 1, "--out", tmp_path / "out")
    status, out, err = gz_testauto(capsys, *arguments)
    assert (status, out) == (2, "")
    assert problem in err
    assert err.count("\n") == 1


def test_an_invalid_regular_expression_is_rejected(capsys, spec, tmp_path):
    arguments = ("multiply", ROOM, "--spec", spec, "--out", tmp_path / "out", "--pattern", "(")
    status, _, err = gz_testauto(capsys, *arguments)
    assert status == 2
    assert err.startswith("gz_testauto: --pattern '(' is not a regular expression")


def test_unexpected_exception_keeps_its_traceback(monkeypatch):
    monkeypatch.setitem(sys.modules, "gz_testauto.cli.map", None)
    with pytest.raises(ImportError):
        command.main(["map"])


def test_map_prints_the_path_of_the_written_map(capsys, tmp_path):
    status, out, _ = gz_testauto(capsys, "map", ROOM, "--resolution", 0.1, "--out", tmp_path)
    assert status == 0
    description = Path(out.splitlines()[0])
    grid = read_map(description)
    assert grid.resolution_m == 0.1
    assert grid.is_free(0, 0)
    assert not grid.is_free(5.1, 0)


def test_map_has_the_requested_bounds(capsys, tmp_path):
    empty = tmp_path / "empty.world"
    empty.write_text("<sdf version='1.6'><world name='w'/></sdf>")
    status, _, err = gz_testauto(capsys, "map", empty, "--out", tmp_path)
    assert status == 2
    assert "the world is empty" in err
    assert "--bounds" in err
    bounds = ("--bounds", -1, -2, 3, 4)
    status, out, _ = gz_testauto(capsys, "map", empty, "--out", tmp_path, "--json", *bounds)
    assert status == 0
    assert (json.loads(out)["rows"], json.loads(out)["columns"]) == (120, 80)


def test_map_uses_the_height_of_the_lidar_of_the_robot(capsys, tmp_path):
    robot = ROOT / "models" / "wheelchair" / "model.sdf"
    _, out, _ = gz_testauto(capsys, "map", ROOM, "--out", tmp_path, "--robot", robot, "--json")
    assert json.loads(out)["height_m"] == pytest.approx(0.35)


def test_map_uses_the_height_of_the_lidar_with_the_requested_name(capsys, tmp_path):
    text = (ROOT / "models" / "wheelchair" / "model.sdf").read_text()
    first = text.index('<sensor name="lidar"')
    sensor = text[first : text.index("</sensor>", first) + len("</sensor>")]
    cliff = sensor.replace('"lidar"', '"cliff"').replace("0.5 0 0.35", "0.5 0 0.05")
    robot = tmp_path / "robot.sdf"
    robot.write_text(text.replace(sensor, cliff + sensor))
    options = ("map", ROOM, "--out", tmp_path, "--robot", robot, "--json")
    _, out, _ = gz_testauto(capsys, *options, "--lidar", "lidar")
    assert json.loads(out)["height_m"] == pytest.approx(0.35)
    status, _, err = gz_testauto(capsys, *options)
    assert status == 2 and "'cliff'" in err and "--lidar" in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--resolution", "0"), "--resolution is 0; it must be greater than 0 and at most 100 m"),
        (("--resolution", "1e15"), "--resolution is 1e+15; it must be greater than 0"),
        (("--resolution", "1e-7"), "cells of 1e-07 m"),
        (("--height", "nan"), "--height is nan; it must be finite"),
        (("--bounds", "2", "0", "1", "4"), "--bounds must be"),
        (("--bounds", "0", "0", "1e9", "4"), "set smaller bounds or larger cells"),
        (("--robot", "no/robot.sdf"), "no/robot.sdf"),
    ],
)
def test_invalid_options_of_the_map_command_are_rejected(capsys, tmp_path, arguments, problem):
    status, _, err = gz_testauto(capsys, "map", ROOM, "--out", tmp_path, *arguments)
    assert status == 2
    assert problem in err


def test_imported_objects_are_excluded_from_garbage_collections():
    gc.unfreeze()
    with pytest.raises(SystemExit):
        command.main(["report", "--help"])
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
