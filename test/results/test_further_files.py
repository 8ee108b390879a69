"""Files that decide trials and that a campaign does not name are inputs of its results."""

import hashlib
import inspect
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from gz_testauto.planners import PLANNERS, following
from gz_testauto.results.comparability import MODULE, SHA256
from gz_testauto.results.inputs import PLANNER_CODE, SELECTED_LIDAR, further_files
from gz_testauto.results.manifest import Manifest
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.spec.robot import DriveSpec, XacroSpec
from gz_testauto.trial.testbed import read_body

MASS = (
    '<robot xmlns:xacro="http://www.ros.org/wiki/xacro">'
    '<xacro:property name="mass" value="{}"/></robot>'
)
BODY = RobotBody("robot", ((0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)), (0.0, 1.0))


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def bare(smoke):
    """The small campaign with one planner of this plugin and these parameters."""

    def make(plugin="straight", parameters=(), **changes):
        planner = smoke.planners[0].model_copy(
            update={"name": "mine", "plugin": plugin, "parameters": dict(parameters)}
        )
        return smoke.model_copy(update={"planners": (planner,), **changes})

    return make


def test_the_code_of_each_planner_is_an_input(smoke):
    found = further_files(smoke, BODY)
    own = {name for name in found if MODULE not in name}
    assert own == {PLANNER_CODE + "straight", PLANNER_CODE + "fgm"}
    imported = Path(inspect.getsourcefile(following)).read_bytes()
    name = f"{PLANNER_CODE}fgm{MODULE}gz_testauto.planners.following"
    assert found[name] == hashlib.sha256(imported).hexdigest()
    source = Path(inspect.getsourcefile(PLANNERS.get("fgm")))
    assert found[PLANNER_CODE + "fgm"] == hashlib.sha256(source.read_bytes()).hexdigest()


def test_files_to_which_worlds_refer_are_inputs(bare, tmp_path):
    models, worlds = tmp_path / "models", tmp_path / "worlds"
    (models / "rock").mkdir(parents=True)
    worlds.mkdir()
    (models / "rock" / "model.sdf").write_text("<sdf><model><uri>rock.stl</uri></model></sdf>")
    (models / "rock" / "rock.stl").write_text("solid")
    (worlds / "a.world").write_text(
        "<sdf><world><include><uri>../models/rock</uri></include>"
        f"<uri>none.stl</uri><uri>file://{models}/rock/rock.stl</uri></world></sdf>"
    )
    spec = bare("no_such_planner")
    spec = spec.model_copy(update={"worlds": type(spec.worlds)(directory=worlds)})
    before = further_files(spec, BODY)
    prefix = "file of the worlds "
    rock = prefix + "../models/rock"
    assert set(before) == {rock, f"{rock}/rock.stl", f"{prefix}rock.stl"}
    (models / "rock" / "rock.stl").write_text("another solid")
    after = further_files(spec, BODY)
    assert [name for name in after if after[name] != before[name]] == [
        name for name in after if name != rock
    ]


def test_a_planner_that_is_not_installed_has_no_input(bare):
    assert further_files(bare("no_such_planner"), BODY) == {}


def test_a_planner_without_a_source_file_has_no_input(bare, monkeypatch):
    monkeypatch.setattr(PLANNERS, "_loaders", dict(PLANNERS._loaders))
    PLANNERS.register("builtin", dict)
    assert further_files(bare("builtin"), BODY) == {}


def test_files_of_parameters_and_their_cards_are_inputs(bare, tmp_path):
    for name in ("policy.bin", "policy.bin.json", "table.csv"):
        (tmp_path / name).write_text(name)
    spec = bare(
        "no_such_planner",
        {
            "policy": str(tmp_path / "policy.bin"),
            "table": str(tmp_path / "table.csv"),
            "folder": str(tmp_path),
            "relative": "policy.bin",
            "none": str(tmp_path / "none"),
            "number": 3,
        },
    )
    assert further_files(spec, BODY) == {
        "planner mine/policy.bin": digest("policy.bin"),
        "planner mine/policy.json": digest("policy.bin.json"),
        "planner mine/table.csv": digest("table.csv"),
    }


def test_files_that_the_models_of_robots_and_actors_name_are_inputs(bare, smoke, tmp_path):
    (tmp_path / "mesh.stl").write_text("mesh")
    model = (
        f'<sdf version="1.6"><model name="m"><uri> file://{tmp_path}/mesh.stl </uri>'
        f"<uri>{tmp_path}/none.stl</uri><uri/></model></sdf>"
    )
    folder = tmp_path / "walker"
    folder.mkdir()
    (folder / "model.sdf").write_text(model)
    (folder / "model.config").write_text("<model><sdf version='1.6'>model.sdf</sdf></model>")
    (tmp_path / "broken.sdf").write_text("<sdf>")
    actors = tuple(
        SimpleNamespace(name=name, model=path, behavior="no_such_behavior")
        for name, path in (
            ("a", folder), ("b", folder / "model.sdf"), ("c", tmp_path / "broken.sdf"), ("d", None)
        )
    )  # fmt: skip
    found = further_files(bare("no_such_planner", actors=actors), BODY)
    assert found == {
        "actor a/model.sdf": digest(model),
        "actor a/mesh.stl": digest("mesh"),
        "actor b/mesh.stl": digest("mesh"),
    }
    robot = read_body(smoke)
    assert "robot/mesh.stl" not in further_files(smoke, robot)


def test_the_selected_lidar_is_an_input(bare, smoke):
    spec, robot = bare("no_such_planner"), read_body(smoke)
    assert further_files(spec, robot)[SELECTED_LIDAR] == str(robot.lidar)
    assert SELECTED_LIDAR not in further_files(spec, replace(robot, lidar=None))


@pytest.mark.slow  # xacro runs in a process
def test_the_sdf_of_an_expanded_urdf_is_an_input(smoke, bare, tmp_path):
    included = tmp_path / "mass.xacro"
    included.write_text(MASS.format(1))
    urdf = tmp_path / "bot.urdf.xacro"
    urdf.write_text(
        '<robot name="bot" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        f'<xacro:include filename="{included}"/>'
        '<link name="base"><inertial><mass value="${mass}"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial><collision>'
        '<geometry><sphere radius="0.1"/></geometry></collision></link></robot>'
    )
    robot = smoke.robot.model_copy(update={"model": urdf})
    actor = SimpleNamespace(name="a", model=urdf, behavior="no_such_behavior")
    spec = bare("no_such_planner", robot=robot, actors=(actor,))
    before = further_files(spec, read_body(spec))
    assert set(before) == {"robot/SDF of the URDF", "actor a/SDF of the URDF"}
    included.write_text(MASS.format(2))
    after = further_files(spec, read_body(spec))
    assert all(before[name] != after[name] for name in before)


def test_values_for_xacro_are_text():
    given = XacroSpec(arguments={"a": 1.5, "b": True, "c": "x"}, environment={"D": 1})
    assert given.arguments == {"a": "1.5", "b": "true", "c": "x"}
    assert given.environment == {"D": "1"}


def test_wheel_joints_of_unequal_number_are_rejected():
    with pytest.raises(ValueError, match="same length"):
        DriveSpec(left_joints=["a", "b"], right_joints=["c"])


def test_the_identity_does_not_depend_on_the_order_of_inputs(smoke):
    one = Manifest.of(smoke, {"a": "1", "b": "2"}).content["identity"]
    other = Manifest.of(smoke, {"b": "2", "a": "1"}).content["identity"]
    assert one == other
    assert one.startswith(SHA256)
