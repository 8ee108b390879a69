"""Campaigns in worlds with missing files, or with XML errors that only Gazebo accepts."""

from io import StringIO

import pytest
from rich.console import Console

from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import SdfError
from gz_testauto.campaign.world_source import copy_worlds
from gz_testauto.cli.main import main
from gz_testauto.report.table import print_report
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.sdf.scene import read_scene
from gz_testauto.worlds.manifest import read_worlds
from gz_testauto.worlds.multiply import multiply

MESH = (
    '<model name="shelf"><static>1</static>{pose}<link name="l"><collision name="c"><geometry>'
    "<mesh><uri>{uri}</uri></mesh></geometry></collision><visual name='v'><geometry><mesh>"
    "<uri>{uri}</uri></mesh></geometry></visual></link></model>"
)
LOST = "model://lost_shelf/meshes/Shelf.DAE"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
PLUGIN = '<plugin name="p" filename="libnowhere.so"/>'


@pytest.fixture
def worlds(smoke, tmp_path):
    """The worlds part of a campaign in a directory with one world that is as published."""
    folder = tmp_path / "published"
    folder.mkdir()
    room = smoke.worlds.base.read_text()
    extra = MESH.format(uri=LOST, pose="<pose frame=>2 2 0</pose>") + PLUGIN
    (folder / "a.world").write_text(room.replace("</world>", extra + "</world>"))
    bare = {"base": None, "obstacles": None, "count": None, "directory": folder}
    return lambda **given: smoke.worlds.model_copy(update={**bare, **given})


def test_published_worlds_run_and_results_list_missing_resources(run, smoke, worlds):
    allowed = ["model://lost_shelf/*", "libnowhere.so"]
    spec = smoke.model_copy(update={"worlds": worlds(repair=True, allow_missing=allowed)})
    ended = run(spec=spec)
    with ResultStore.read(CampaignDirectory(ended.out)) as store:
        (world,) = store.worlds()
    assert world.missing == (LOST, "libnowhere.so")
    console = Console(width=80, record=True, file=StringIO())
    print_report(analyze(ended.results), console)
    said = console.export_text()
    assert "Simulated without these missing resources" in said
    assert f"{LOST} (1 world)" in said
    scene = read_scene(world.path)  # the copy needs neither a repair nor allow_missing
    assert not scene.models["shelf"].collisions


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"allow_missing": ["*"]}, "--repair corrects it"),
        ({"repair": True}, "lost_shelf"),
        ({"repair": True, "allow_missing": ["model://another/*"]}, "lost_shelf"),
    ],
)
def test_repairs_and_missing_files_are_errors_by_default(run, smoke, worlds, given, complaint):
    with pytest.raises(SdfError, match=complaint):
        run(spec=smoke.model_copy(update={"worlds": worlds(**given)}))


def test_map_and_multiply_report_repairs_and_omissions(smoke, worlds, tmp_path, capsys):
    base = str(worlds().directory / "a.world")
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "obstacles: [{type: box, count: 1, size_x_m: 0.5}]\n"
        "region: {rectangle: {x_m: [-3, 3], y_m: [-3, 3]}}\n"
    )
    given = ["--repair", "--allow-missing", LOST]
    assert main(["map", base, "--out", str(tmp_path / "m"), *given]) == 0
    said = capsys.readouterr().err
    assert "corrected: line" in said
    assert f"missing, left out: {LOST}" in said
    made = ["multiply", base, "--spec", str(spec), "--count", "1", "--out", str(tmp_path / "w")]
    assert main([*made, *given]) == 0
    assert f"missing, left out: {LOST}" in capsys.readouterr().err
    assert LOST in (tmp_path / "w" / "worlds.json").read_text()
    assert LOST not in (tmp_path / "w" / "world_0000.world").read_text()
    assert main([*made, "--repair"]) == 2


def test_included_model_is_expanded_without_its_missing_files(tmp_path, monkeypatch):
    model = tmp_path / "models" / "rack"
    model.mkdir(parents=True)
    (model / "model.config").write_text('<model><sdf version="1.6">model.sdf</sdf></model>')
    (model / "model.sdf").write_text(f'<sdf version="1.6">{MESH.format(uri=LOST, pose="")}</sdf>')
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(model.parent))
    world = tmp_path / "w.world"
    world.write_text(
        '<sdf version="1.6"><world name="w"><include><uri>model://rack</uri></include><include>'
        "<uri>model://gone</uri></include></world></sdf>"
    )
    scene = read_scene(world, allow_missing=[LOST, "model://gone"])
    assert scene.missing == (LOST, "model://gone")
    assert list(scene.models) == ["shelf"]


def test_nested_include_can_be_missing(tmp_path, monkeypatch):
    for name, inner in (("outer", "middle"), ("middle", "lost")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.config").write_text("<model><sdf>model.sdf</sdf></model>")
        (tmp_path / name / "model.sdf").write_text(
            f'<sdf version="1.6"><model name="{name}"><include><uri>model://{inner}</uri></include>'
            '<link name="l"><collision name="c"><geometry><box><size>1 1 1</size></box></geometry>'
            "</collision></link></model></sdf>"
        )
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(tmp_path))
    world = tmp_path / "a.world"
    world.write_text(
        '<sdf version="1.6"><world name="w"><include><uri>model://outer</uri></include></world></sdf>'
    )
    with pytest.raises(SdfError, match="model://lost was not found"):
        read_scene(world, allow_missing=["model://other"])
    scene = read_scene(world, allow_missing=["model://lost"])
    assert scene.missing == ("model://lost",)
    assert [shape.scoped_name for shape in scene.models["outer"].collisions] == [
        "outer::l::c",
        "outer::middle::l::c",
    ]
    assert "model://lost" not in scene.document.to_bytes().decode()


def test_model_directory_without_a_model_file_can_be_listed_in_allow_missing(tmp_path, monkeypatch):
    (tmp_path / "models" / "bare").mkdir(parents=True)
    (tmp_path / "models" / "drone").mkdir()
    (tmp_path / "models" / "drone" / "model.config").write_text(
        '<model><sdf version="1.6">drone.sdf</sdf></model>'
    )
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(tmp_path / "models"))
    names = ("model://bare", "model://drone")
    includes = "".join(f"<include><uri>{name}</uri></include>" for name in names)
    world = tmp_path / "w.world"
    world.write_text(f'<sdf version="1.6"><world name="w">{includes}</world></sdf>')
    with pytest.raises(SdfError, match=r"model\.config is missing; .*--allow-missing"):
        read_scene(world)
    assert read_scene(world, allow_missing=names).missing == names


@pytest.mark.parametrize(
    ("shape", "content", "complaint"),
    [
        (
            "mesh",
            POINTER,
            r"w\.world:1: .*only a pointer of Git LFS.*git lfs pull.*--allow-missing",
        ),
        ("heightmap", POINTER, r"w\.world:1: .*only a pointer of Git LFS.*--allow-missing"),
        ("mesh", bytes(84), r"no triangles.*export it again; .*--allow-missing"),
    ],
)
def test_file_without_content_can_be_missing(tmp_path, shape, content, complaint):
    (tmp_path / "part.stl").write_bytes(content)
    world = tmp_path / "w.world"
    model = MESH.format(uri="part.stl", pose="").replace("mesh>", f"{shape}>")
    world.write_text(f'<sdf version="1.6"><world name="w">{model}</world></sdf>')
    with pytest.raises(SdfError, match=complaint):
        [s.geometry.bounds(s.pose) for m in read_scene(world).models.values() for s in m.collisions]
    assert read_scene(world, allow_missing=["part.stl"]).missing == ("part.stl",)


def test_damaged_mesh_does_not_count_as_missing(tmp_path):
    (tmp_path / "part.dae").write_text("no mesh at all")
    world = tmp_path / "w.world"
    model = MESH.format(uri="part.dae", pose="")
    world.write_text(f'<sdf version="1.6"><world name="w">{model}</world></sdf>')
    assert read_scene(world, allow_missing=["*"]).missing == ()


@pytest.fixture
def nested(tmp_path, monkeypatch):
    """The path of a world with a nested include of a model file that only Gazebo can parse."""
    inner = "<include><uri>model://inner</uri></include>"
    box = (
        '<link name="l"><collision name="c"><geometry><box><size>1 1 1</size></box></geometry>'
        "</collision></link>"
    )
    for name, content in (("inner", f"<!-- a -- b -->{box}"), ("outer", inner)):
        model = tmp_path / "models" / name
        model.mkdir(parents=True)
        (model / "model.config").write_text('<model><sdf version="1.6">model.sdf</sdf></model>')
        text = f'<model name="{name}"><static>1</static>{content}</model>'
        (model / "model.sdf").write_text(f'<sdf version="1.6">{text}</sdf>')
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(tmp_path / "models"))
    folder = tmp_path / "nested"
    folder.mkdir()
    (folder / "w.world").write_text(
        '<sdf version="1.6"><world name="w"><include><uri>model://ground_plane</uri></include>'
        "<include><uri>model://outer</uri><pose>3 3 0.5 0 0 0</pose></include></world></sdf>"
    )
    return folder / "w.world"


def test_multiply_repairs_an_included_model(smoke, nested, tmp_path):
    with pytest.raises(SdfError, match="--repair corrects it"):
        read_scene(nested)
    changes = {"keep_out": [], "solvable": None}
    obstacles = smoke.worlds.obstacles.model_copy(update=changes)
    (made,) = multiply(nested, obstacles, 1, 1, tmp_path / "out", repair=True)
    assert "outer" in read_scene(made.path).models


def test_copied_world_contains_the_repaired_nested_model(smoke, nested, tmp_path):
    bare = {"base": None, "obstacles": None, "count": None, "directory": nested.parent}
    spec = smoke.worlds.model_copy(update={**bare, "repair": True})
    (copy,) = copy_worlds(read_worlds(nested.parent), spec, tmp_path / "out")
    assert "outer" in read_scene(copy.path).models
