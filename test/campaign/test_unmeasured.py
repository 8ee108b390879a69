"""Parts of a world that are not measured, and models with other visuals than collision shapes, are
listed at the start and in the report."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from scripted import ScriptedExecutor

from gz_testauto.analysis.overview import analyze
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign import world_source
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.cli.progress import LineListener
from gz_testauto.report.export import to_json
from gz_testauto.report.notes import notes
from gz_testauto.report.table import print_report
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.worlds import WorldsSpec
from gz_testauto.trial.testbed import read_body
from gz_testauto.worlds.record import OTHER_VISUALS, WorldRecord, unmeasured_notice

BOX = (
    '<model name="m"><static>1</static><pose>{} 0 0.5 0 0 0</pose><link name="l"><collision '
    'name="c"><geometry><box><size>1 1 1</size></box></geometry></collision></link></model>'
)
STREET = '<road name="street"/>'


@pytest.fixture
def gpu_robot(tmp_path):
    """Return the file of the wheelchair with a gpu_ray."""
    model = (share_directory() / "models" / "wheelchair" / "model.sdf").read_text()
    path = tmp_path / "gpu.sdf"
    path.write_text(model.replace('type="ray"', 'type="gpu_ray"'))
    return path


@pytest.fixture
def results(smoke, tmp_path, gpu_robot):
    """A campaign in two worlds: one with a road and a name twice, one with a road. The boxes have
    no visuals, and the lidar is a gpu_ray."""
    directory = tmp_path / "worlds"
    directory.mkdir()
    for name, models in (("one", BOX.format(0) + BOX.format(4)), ("two", BOX.format(0))):
        text = f'<sdf version="1.6"><world name="w">{models}{STREET}</world></sdf>'
        (directory / f"{name}.world").write_text(text)
    worlds = WorldsSpec.model_validate({"directory": directory})
    start = smoke.robot.start.model_copy(update={"x_m": -5.0, "y_m": 3.0})
    goal = smoke.goal.model_copy(update={"x_m": 5.0, "y_m": 3.0})
    robot = smoke.robot.model_copy(update={"start": start, "model": gpu_robot})
    spec = smoke.model_copy(update={"worlds": worlds, "robot": robot, "goal": goal})
    said = io.StringIO()
    executor = ScriptedExecutor()
    run_campaign(spec, tmp_path / "out", lambda _: executor, listener=LineListener(said))
    with ResultStore.read(CampaignDirectory(tmp_path / "out")) as store:
        return said.getvalue().splitlines(), store.results()


def test_run_prints_the_unmeasured_parts_of_worlds_first(results):
    first, _ = results
    assert first[0].startswith("not measured, as neither clearance nor shortest path includes it")
    assert first[0].endswith("<road> (in 2 worlds), a second model named 'm' (in 1 world)")


def test_run_lists_models_that_a_gpu_ray_sees_otherwise(results):
    assert results[0][1] == f"{OTHER_VISUALS}: m (in 2 worlds)"


def test_report_and_page_list_models_that_a_gpu_ray_sees_otherwise(results):
    console = Console(file=io.StringIO(), width=300)
    print_report(analyze(results[1]), console)
    sentence = OTHER_VISUALS[1:]  # it starts with a capital letter
    assert sentence in console.file.getvalue()
    assert [note.items for note in notes(analyze(results[1])) if sentence in note.text] == [
        ("m (in 2 worlds)",)
    ]


@pytest.mark.parametrize(
    ("simulator", "options", "type_", "names"),
    [
        ("embedded", {}, "gpu_ray", ("bare",)),
        ("embedded", {}, "gpu_lidar", ("bare",)),  # of Gazebo Sim
        ("embedded", {}, "ray", ()),
        ("embedded", {"lidar": "visuals"}, "gpu_ray", ()),
        ("gazebo_ros", {}, "gpu_ray", ()),  # its Gazebo runs the sensor of the user
    ],
)
def test_only_a_replaced_gpu_ray_has_models_with_other_visuals(
    smoke, tmp_path, gpu_robot, simulator, options, type_, names
):
    gpu_robot.write_text(gpu_robot.read_text().replace('type="gpu_ray"', f'type="{type_}"'))
    base = tmp_path / "base.world"
    text = Path(smoke.worlds.base).read_text()
    bare = BOX.format(-9).replace('name="m"', 'name="bare"')
    base.write_text(text.replace("</world>", f"{bare}</world>"))
    worlds = smoke.worlds.model_copy(update={"base": base, "count": 2})
    robot = smoke.robot.model_copy(update={"model": gpu_robot})
    update = {"worlds": worlds, "robot": robot, "simulator": simulator}
    spec = smoke.model_copy(update={**update, "simulator_options": options})
    records = gather_worlds(spec, read_body(spec), tmp_path / "worlds")
    assert [record.other_visuals for record in records] == [names, names]


def test_the_results_list_unmeasured_parts_for_each_world(results):
    worlds = {world.name: world.unmeasured for world in results[1].worlds}
    assert worlds == {"one": ("a second model named 'm'", "<road>"), "two": ("<road>",)}
    exported = json.loads(to_json(analyze(results[1])))["worlds"]
    assert [world["unmeasured"] for world in exported] == [list(w) for w in worlds.values()]


def test_report_lists_unmeasured_parts_below_its_tables(results):
    console = Console(file=io.StringIO(), width=100)
    print_report(analyze(results[1]), console)
    said = console.file.getvalue()
    assert "Not measured: clearance, collisions and the shortest path do not include" in said
    assert "<road> (in 2 worlds)" in said


def test_no_notice_is_created_if_all_parts_of_a_world_are_measured():
    assert unmeasured_notice([WorldRecord(0, "w", Path("w.world"), "0")]) == ""


def test_a_base_world_is_read_once_for_the_unmeasured_parts_of_its_worlds(
    smoke, tmp_path, monkeypatch
):
    base = tmp_path / "base.world"
    text = Path(smoke.worlds.base).read_text()
    base.write_text(text.replace("</world>", f"{STREET}</world>"))
    worlds = smoke.worlds.model_copy(update={"base": base, "count": 3})
    spec = smoke.model_copy(update={"worlds": worlds})
    read = []

    def reading(source, *options, **more):
        read.append(source)
        return read_scene(source, *options, **more)

    monkeypatch.setattr(world_source, "read_scene", reading)
    records = gather_worlds(spec, read_body(spec), tmp_path / "worlds")
    assert [record.unmeasured for record in records] == [("<road>",)] * 3
    assert read == [records[0].path]


def test_measured_worlds_are_not_read_again_when_a_campaign_is_resumed(
    smoke, tmp_path, monkeypatch
):
    directory = tmp_path / "worlds"
    directory.mkdir()
    text = f'<sdf version="1.6"><world name="w">{BOX.format(9)}{STREET}</world></sdf>'
    for name in ("one", "two"):
        (directory / f"{name}.world").write_text(text)
    worlds = WorldsSpec.model_validate({"directory": directory, "obstacle_names": "m"})
    spec = smoke.model_copy(update={"worlds": worlds})
    robot = read_body(spec)
    records = gather_worlds(spec, robot, tmp_path / "out")

    def read_again(source):
        raise AssertionError(f"{source} was read again")

    with monkeypatch.context() as unread:
        unread.setattr(world_source, "read_scene", read_again)
        assert gather_worlds(spec, robot, tmp_path / "out", stored_worlds=records) == records
    (directory / "two.world").write_text(text.replace(STREET, ""))
    changed_records = gather_worlds(spec, robot, tmp_path / "out", stored_worlds=records)
    assert [record.unmeasured for record in changed_records] == [("<road>",), ()]
