"""Worlds, included models and models of obstacles in xacro are expanded before the trials."""

import shutil

import pytest

from gz_testauto.base.errors import ResultsError, SdfError
from gz_testauto.campaign.progress import CampaignListener
from gz_testauto.campaign.resume import open_for_replay
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.campaign.world_plugins import plugins_notice
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.cli.main import main
from gz_testauto.cli.trust import require_trust
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.testbed import read_body
from gz_testauto.worlds.multiply import multiply
from gz_testauto.worlds.source import specified_files

pytestmark = pytest.mark.slow  # xacro runs in a process

XMLNS = 'version="1.6" xmlns:xacro="http://www.ros.org/wiki/xacro"'
LIBRARY = """<sdf {xmlns}><xacro:macro name="crate" params="name y"><model name="${{name}}">
<static>1</static><pose>0 ${{y}} 0.5 0 0 0</pose><link name="l"><collision name="c"><geometry><box>
<size>{size} 1 1</size></box></geometry></collision></link></model></xacro:macro></sdf>"""
WORLD = f"""<sdf {XMLNS}><xacro:include filename="library.xacro"/><xacro:arg name="y" default="3"/>
<world name="w"><include><uri>model://ground_plane</uri></include>
<xacro:crate name="a" y="$(arg y)"/><plugin name="p" filename="libp.so"/></world></sdf>"""
MODEL = f"""<sdf {XMLNS}><xacro:arg name="size" default="0.25"/><model name="m"><static>1</static>
<link name="l"><collision name="c"><geometry><box><size>$(arg size) 0.5 0.5</size></box></geometry>
</collision></link></model></sdf>"""
INCLUDING = """<sdf version="1.6"><world name="w"><include><uri>m.sdf.xacro</uri><name>b</name>
<pose>0 2 0.25 0 0 0</pose></include></world></sdf>"""


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "worlds"
    folder.mkdir()
    (folder / "library.xacro").write_text(LIBRARY.format(xmlns=XMLNS, size=1.5))
    (folder / "hall.world.xacro").write_text(WORLD)
    (folder / "m.sdf.xacro").write_text(MODEL)
    return folder


@pytest.fixture
def campaign(smoke, folder):
    """Return the smoke campaign with one planner in the base world, or in the directory."""

    def create(**worlds):
        data = smoke.model_dump(mode="json")
        data.update(simulator="kinematic", planners=data["planners"][:1])
        if "directory" in worlds:
            data["worlds"] = worlds
        else:
            data["worlds"].update(base=str(folder / "hall.world.xacro"), count=2, **worlds)
        return CampaignSpec.kind_of(data).model_validate(data)

    return create


def run(spec, out):
    return run_campaign(spec, out, chosen_executor(spec, out))


def box(path, name="a"):
    model = read_scene(path).models[name]
    return model.collisions[0].geometry.size[0], model.pose.position[1]


def test_a_campaign_in_a_base_world_in_xacro_is_run_and_replayed_without_it(
    campaign, folder, tmp_path
):
    spec, out = campaign(xacro={"arguments": {"y": -3}}), tmp_path / "out"
    directory = CampaignDirectory(out)
    trials = run(spec, out).trials
    assert [trial.outcome.valid for trial in trials] == [True, True]
    assert {box(path) for path in out.glob("worlds/*.world")} == {(1.5, -3.0)}
    (folder / "library.xacro").unlink()
    with ResultStore.read(directory) as store:
        replayed = open_for_replay(directory, store, lambda specs, worlds: None)
    scene = replayed.bed.scene(replayed.trials[0])
    assert b"xacro" not in scene.world.read_bytes()
    assert len(replayed.bed.task(replayed.trials[0]).waypoints_m) >= 2
    with pytest.raises(SdfError, match=r"library\.xacro"):
        run(spec, out)


def test_worlds_of_a_changed_base_world_are_not_mixed(campaign, folder, tmp_path):
    spec, out = campaign(), tmp_path / "out"
    run(spec, out)
    (folder / "library.xacro").write_text(LIBRARY.format(xmlns=XMLNS, size=0.5))
    with pytest.raises(ResultsError, match="xacro generates another world"):
        run(spec, out)


def test_the_files_of_a_directory_are_expanded_and_others_are_not_copied(
    campaign, folder, tmp_path
):
    (folder / "plain.world").write_text('<sdf version="1.6"><world name="w"/></sdf>')
    (folder / "m.sdf.xacro").rename(tmp_path / "m.sdf.xacro")
    (folder / "library.xacro").rename(tmp_path / "library.xacro")
    (folder / "hall.world.xacro").write_text(WORLD.replace("library", "../library"))
    spec = campaign(directory=str(folder))
    hall, plain = gather_worlds(spec, read_body(spec), tmp_path / "copies")
    assert (hall.name, box(hall.path)) == ("hall", (1.5, 3.0))
    assert plain.path == folder / "plain.world"
    shifted = campaign(directory=str(folder), xacro={"arguments": {"y": 4}})
    moved = gather_worlds(shifted, read_body(spec), tmp_path / "moved")[0]
    assert box(moved.path) == (1.5, 4.0)
    assert moved.content_sha256 != hall.content_sha256
    (folder / "hall.world").write_bytes(hall.path.read_bytes())  # expanded by the user
    assert [world.path.name for world in gather_worlds(spec, read_body(spec), tmp_path)] == [
        "hall.world",
        "plain.world",
    ]
    assert [path.name for path in specified_files(spec)] == ["hall.world", "plain.world"]
    notices = []
    listener = CampaignListener()
    listener.noticed = notices.append
    out = tmp_path / "out"
    run_campaign(spec, out, chosen_executor(spec, out), listener=listener)
    assert any("not expanded" in line and "hall.world.xacro" in line for line in notices), notices


@pytest.mark.parametrize("manifest", [False, True])
def test_all_worlds_in_xacro_of_a_directory_need_permission(campaign, folder, manifest):
    (folder / "a.world").write_text('<sdf version="1.6"><world name="w"/></sdf>')
    if manifest:  # a manifest can list any file
        (folder / "hall.world").write_text("")
    with pytest.raises(ResultsError, match=r"xacro file .*hall\.world\.xacro"):
        require_trust([campaign(directory=str(folder), count=1)])


@pytest.mark.parametrize("file", ["hall.world.xacro", "hall.sdf.xacro"])
def test_listed_files_can_be_in_xacro(campaign, folder, tmp_path, file):
    (folder / "hall.world.xacro").rename(folder / file)
    spec = campaign(directory=str(folder), files=[file])
    (world,) = gather_worlds(spec, read_body(spec), tmp_path / "copies")
    assert (world.name, box(world.path)) == ("hall", (1.5, 3.0))


def test_included_models_are_expanded_only_with_the_key(campaign, folder, tmp_path):
    (folder / "including.world").write_text(INCLUDING)
    spec = campaign(directory=str(folder), files=["including.world"])
    with pytest.raises(SdfError, match=r"m\.sdf\.xacro: xacro is not run .* {xacro: {}}"):
        gather_worlds(spec, read_body(spec), tmp_path / "copies")
    spec = campaign(directory=str(folder), files=["including.world"], xacro={})
    (world,) = gather_worlds(spec, read_body(spec), tmp_path / "copies")
    assert box(world.path, "b") == (0.25, 2.0)


def test_obstacles_can_be_models_in_xacro(campaign, folder, tmp_path):
    group = {"type": "model", "model": str(folder / "m.sdf.xacro"), "count": 1, "x_m": 0, "y_m": 1}
    spec = campaign(obstacles={"obstacles": [group]})
    world = gather_worlds(spec, read_body(spec), tmp_path / "out")[0]
    assert box(world.path, "obstacle_model_0")[0] == 0.25


def test_equal_worlds_in_two_folders_have_equal_hashes(campaign, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copied")
    hashes = set()
    for directory in (folder, tmp_path / "copied"):
        spec = campaign(directory=str(directory))
        (world,) = gather_worlds(spec, read_body(spec), tmp_path / f"{directory.name}_copies")
        hashes.add((world.sha256, world.content_sha256))
    assert len(hashes) == 1


def test_a_trial_runner_uses_a_base_world_in_xacro(campaign):
    with TrialRunner(campaign(xacro={"arguments": {"y": -3}})) as runner:
        planner = runner.spec.planners[0].name
        assert runner.run("world_0000", planner).outcome.valid


def test_plugins_of_a_world_in_xacro_are_listed(campaign):
    spec = campaign().model_copy(update={"simulator": "gazebo"})
    assert "libp.so (in 1 world)" in plugins_notice(spec)


def test_commands_without_a_campaign_use_the_default_arguments(smoke, folder, tmp_path, capsys):
    hall = folder / "hall.world.xacro"
    assert main(["map", str(hall), "--out", str(tmp_path)]) == 0
    assert str(tmp_path / "hall.yaml") in capsys.readouterr().out
    spec = smoke.worlds.obstacles.model_copy(update={"keep_out": [], "solvable": None})
    first = multiply(hall, spec, 1, 0, tmp_path / "first")
    (folder / "library.xacro").write_text(LIBRARY.format(xmlns=XMLNS, size=0.5))
    second = multiply(hall, spec, 1, 0, tmp_path / "second")
    assert [box(worlds.worlds[0].path) for worlds in (first, second)] == [(1.5, 3.0), (0.5, 3.0)]
    assert first.inputs["base_sha256"] != second.inputs["base_sha256"]
    (folder / "including.world").write_text(INCLUDING)
    with pytest.raises(SdfError, match=r"m\.sdf\.xacro: xacro is not run on this file"):
        multiply(folder / "including.world", spec, 1, 0, tmp_path / "third")


def test_a_file_in_xacro_is_not_run_unless_the_caller_allows_it(folder):
    with pytest.raises(SdfError, match="xacro is not run on this file; expand the file"):
        SdfDocument.read(folder / "hall.world.xacro")
