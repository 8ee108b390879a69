"""For damaged files the commands print one line with the cause and exit with status 2.

Each case was once a traceback, a hang or a full memory; ``benchmarks/fuzz.py`` searches for more.
"""

import time
from pathlib import Path

import pytest
import trimesh

import gz_testauto.cli.map
import gz_testauto.cli.multiply
import gz_testauto.cli.run  # imported here, so that the time of a case excludes it
from gz_testauto.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
ROOM = (ROOT / "worlds" / "room.world").read_text()
ROBOT = ROOT / "models" / "wheelchair" / "model.sdf"
SPEC = """
obstacles: [{type: box, count: 2, size_x_m: 0.4}]
region: {rectangle: {x_m: [-3, 3], y_m: [-3, 3]}}
min_gap_m: 0.1
"""
CAMPAIGN = f"""
name: fuzz
worlds: {{base: room.world, obstacles: spec.yaml, count: 1}}
robot: {{model: {ROBOT}, start: {{x_m: -3, y_m: 0}}}}
goal: {{x_m: 3, y_m: 0}}
planners: [{{name: a, plugin: straight, parameters: {{}}}}]
simulator: embedded
limits: {{timeout_s: 1}}
"""
BOX = "<geometry><box><size>1 1 1</size></box></geometry>"
MODEL = f"<model name='m'><link name='l'><collision name='c'>{BOX}</collision></link></model>"
BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi")
)
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
MOST_CPU_S = 10.0
"""Limit for one case; on an idle machine each takes less than one second."""


@pytest.fixture
def gz_testauto(tmp_path, capsys):
    """Return a function that runs a verb on files in ``tmp_path`` and returns status and errors."""
    (tmp_path / "room.world").write_text(ROOM)
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN)

    def run(*arguments):
        start_s = time.process_time()
        status = main([str(argument) for argument in arguments])
        assert time.process_time() - start_s < MOST_CPU_S
        return status, capsys.readouterr().err

    return run


def multiplied(gz_testauto, tmp_path):
    spec, out = tmp_path / "spec.yaml", tmp_path / "out"
    return gz_testauto(
        "multiply", tmp_path / "room.world", "--spec", spec, "--count", 2, "--out", out
    )


def assert_rejected(result, *parts):
    status, err = result
    assert status == 2
    assert err.startswith(("gz_testauto: ", "0 of 1 worlds prepared\ngz_testauto: "))
    for part in parts:
        assert part in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (SPEC + "# caf\x01e\n", "spec.yaml:5: the file is not YAML: it contains the control"),
        (SPEC.encode("utf-16-le"), "the file is not YAML: it contains the control character"),
        (SPEC.encode("utf-16"), "spec.yaml:1: the file is not UTF-8"),
        (SPEC + "{}: 1\n", "spec.yaml:5: a mapping or a list is used as a key"),
        (SPEC + "[a]: 1\n", "spec.yaml:5: a mapping or a list is used as a key"),
        (SPEC.replace("0.1", "2001-99-99"), 'spec.yaml:4: min_gap_m is "2001-99-99"'),
        (SPEC.replace("0.1", "!!timestamp x"), "spec.yaml:4: is not YAML"),
        (SPEC.replace("0.1", "!!int x"), "spec.yaml:4: is not YAML: 'x' cannot be read as int"),
        (SPEC.replace("0.1", "!!float x"), "spec.yaml:4: is not YAML"),
        (SPEC.replace("0.1", "9" * 5000), "spec.yaml:4:"),
        (SPEC.replace("0.1", "[" * 500), "spec.yaml:4: is not YAML: is nested more than"),
        (BOMB, "is not YAML: has more than 100000 values"),
        (SPEC.replace("count: 2", "count: 30000"), "it must be <= 10000"),
        (SPEC.replace("count: 2", "count: 1000000"), "it must be <= 10000"),
        (SPEC.replace("count: 2", "count: [0, 1000000000]"), "it must be <= 10000"),
        (SPEC.replace("[-3, 3]", "[-1e308, 1e308]", 1), "spec.yaml:"),
        (SPEC.replace("[-3, 3]", "[-3, 1e308]"), "spec.yaml:"),
        (SPEC + "".join(f"k{n}: 1\n" for n in range(5000)), "and 4900 more"),
    ],
)  # fmt: skip
def test_a_damaged_obstacle_specification_is_rejected(gz_testauto, tmp_path, content, problem):
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "spec.yaml").write_bytes(content)
    assert_rejected(multiplied(gz_testauto, tmp_path), problem)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("parameters: {}", "parameters: {gain: 2001-01-01}", "planner 'straight'"),
        ("parameters: {}", "parameters: {gain: !!binary aGk=}", "campaign.yaml:6: is not YAML"),
        ("count: 1}", "count: 99999999999}", "campaign.yaml:3: worlds.count is 99999999999"),
        ("name: fuzz", "name: fuzz\nseed: 99999999999999999999", "campaign.yaml:3: seed"),
        ("name: fuzz", "name: fuzz\nrepetitions: 1e9", "campaign.yaml:3: repetitions"),
        ("name: fuzz", 'name: "\\ud800"', "campaign.yaml:2: is not YAML"),
        ("goal: {x_m: 3", "goal: {x_m: 1e308", "1e+308"),
    ],
)
def test_a_damaged_campaign_is_rejected(gz_testauto, tmp_path, old, new, problem):
    assert old in CAMPAIGN
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN.replace(old, new))
    answer = gz_testauto(
        "run", tmp_path / "campaign.yaml", "--out", tmp_path / "out", "--workers", 1
    )
    assert_rejected(answer, problem)


def mesh_world(name):
    shape = f"<geometry><mesh><uri>{name}</uri></mesh></geometry>"
    model = MODEL.replace(BOX, shape).replace("<link", "<static>1</static><link", 1)
    return f"<sdf version='1.6'><world name='w'>{model}</world></sdf>"


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.obj", OBJ.replace("v 1 0 0", "v nan 0 0"), "a.obj: 3 of 4"),
        ("a.obj", OBJ.replace("v 1 0 0", "v inf 0 0"), "a.obj: 3 of 4"),
        ("a.obj", OBJ.replace("v 1 0 0", "v 0.3 0.2"), "mesh"),
        ("a.obj", OBJ.replace("v 1 0 0", "v 1e5 0 0"), "per side"),
        ("a.obj", OBJ.replace("f 1 3 2", "f 1 3 99"), "mesh"),
        ("a.stl", trimesh.exchange.stl.export_stl(trimesh.creation.box())[:-60], "contains 10"),
        (
            "a.stl",
            b"\0" * 80 + b"\xff\xff\xff\xff",
            "binary STL header states 4294967295 triangles",
        ),
        ("a.dae", b"\xff\xfe", "cannot be read"),
    ],
)
def test_a_damaged_mesh_is_rejected(gz_testauto, tmp_path, name, content, problem):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "m.world").write_text(mesh_world(name))
    arguments = ("--out", tmp_path / "maps", "--height", 0.2)
    assert_rejected(gz_testauto("map", tmp_path / "m.world", *arguments), problem)
    assert not (tmp_path / "maps").exists()


def test_mesh_with_a_byte_that_is_not_utf8_is_read(gz_testauto, tmp_path):
    (tmp_path / "a.obj").write_bytes(b"# caf\xe9\n" + OBJ.encode())
    (tmp_path / "m.world").write_text(mesh_world("a.obj"))
    arguments = ("--out", tmp_path / "maps", "--height", 0.2)
    assert gz_testauto("map", tmp_path / "m.world", *arguments)[0] == 0


@pytest.mark.parametrize(
    "content",
    [
        f"<sdf version='1.{'6' * 5000}'><world name='w'/></sdf>",
        "<sdf version='1.6'><world name='w'><model name='m'",
        "<sdf version='1.6'><world name='w'>" + "<model name='m'>" * 2000 + "</model>" * 2000
        + "</world></sdf>",
        "<sdf version='1.6'><world name='w'><model name='m'><pose>1e400 0 0 0 0 0</pose></model>"
        "</world></sdf>",
        "<!DOCTYPE a [<!ENTITY a '" + "x" * 10 + "'>"
        + "".join(f"<!ENTITY a{n} '{'&a' + str(n - 1) + ';' if n else '&a;'}'>" for n in range(9))
        + "]><sdf version='1.6'>&a8;</sdf>",
        "\x00", "", "<", "<sdf/>", "<?xml version='1.0' encoding='none'?><sdf version='1.6'/>",
    ],
)  # fmt: skip
def test_a_damaged_world_is_rejected(gz_testauto, tmp_path, content):
    (tmp_path / "room.world").write_text(content)
    assert_rejected(gz_testauto("map", tmp_path / "room.world", "--out", tmp_path / "maps"))
    assert_rejected(multiplied(gz_testauto, tmp_path))


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig", "utf-32"])
def test_a_world_in_another_encoding_raises_no_traceback(gz_testauto, tmp_path, codec):
    (tmp_path / "room.world").write_bytes(ROOM.replace("UTF-8", "utf-16").encode(codec))
    status, err = multiplied(gz_testauto, tmp_path)
    assert status == 0 or err.startswith("gz_testauto: ")


@pytest.mark.parametrize("depth", [300, 2000])
def test_a_deeply_nested_robot_model_raises_no_traceback(gz_testauto, tmp_path, depth):
    deep = "<a>" * depth + "</a>" * depth
    text = ROBOT.read_text().replace("</model>", f"{deep}</model>")
    (tmp_path / "robot.sdf").write_text(text)
    answer = gz_testauto("map", tmp_path / "room.world", "--out", tmp_path / "maps", "--robot",
                         tmp_path / "robot.sdf")  # fmt: skip
    assert answer[0] == 0 or answer[1].startswith("gz_testauto: ")


def test_model_name_with_5000_digits_is_not_an_obstacle_name(gz_testauto, tmp_path):
    name = "obstacle_box_" + "9" * 5000
    model = MODEL.replace("'m'", f"'{name}'").replace("<link", "<pose>2 2 0 0 0 0</pose><link", 1)
    (tmp_path / "room.world").write_text(ROOM.replace("</world>", f"{model}</world>"))
    assert multiplied(gz_testauto, tmp_path)[0] == 0


@pytest.mark.parametrize(
    "verb",
    [
        "run campaign.yaml --workers 1 --out LONG",
        "run LONG --out out",
        "multiply room.world --spec spec.yaml --count 1 --out LONG",
        "multiply room.world --spec LONG --count 1 --out out",
        "map room.world --out LONG",
        "report LONG",
        "replay LONG 0 a",
    ],
)
def test_impossible_file_path_is_rejected(gz_testauto, tmp_path, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    assert_rejected(gz_testauto(*verb.replace("LONG", "x" * 300).split()))
