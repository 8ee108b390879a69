"""Models that several worlds share."""

import pickle

import pytest

from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import LargeModels, read_scene
from gz_testauto.sdf.tree import read_models


def walls_world(tmp_path, name, count=1200, size=1.0, pose="0 0 0 0 0 0", extra="", version="1.6"):
    boxes = "".join(
        f'<collision name="c{i}"><pose>{2 * i} 0 0.5 0 0 0</pose><geometry><box>'
        f"<size>{size} 1 1</size></box></geometry></collision>"
        for i in range(count)
    )
    path = tmp_path / f"{name}.world"
    path.write_text(
        f'<sdf version="{version}"><world name="w"><model name="walls"><static>1</static>'
        f'<pose>{pose}</pose><link name="l">{boxes}</link></model>{extra}</world></sdf>'
    )
    return path


def test_worlds_share_a_large_model_with_the_same_content(tmp_path):
    other = '<model name="box"><static>1</static><link name="l"/></model>'
    first, second = (
        read_scene(walls_world(tmp_path, name, extra=extra))
        for name, extra in (("first", ""), ("second", other))
    )
    walls, shared = first.models["walls"], second.models["walls"]
    assert shared.collisions is walls.collisions
    assert shared.obstacle_footprint(0, 1) is walls.obstacle_footprint(0, 1)
    assert shared.obstacle_footprint(0, 1).area == pytest.approx(1200.0)
    assert shared.obstacle_footprint(2, 3).is_empty
    assert shared.element.getroottree().getroot() is second.document.root


@pytest.mark.parametrize("count", [2, 1200])
def test_world_is_read_again_only_after_a_change(tmp_path, count):
    path = walls_world(tmp_path, "first", count)
    scene = read_scene(path)
    assert read_scene(path) is scene
    changed_scene = read_scene(walls_world(tmp_path, "first", count, size=1.5))
    assert changed_scene.models["walls"].bounds[0, 1] == pytest.approx(2 * count - 1.25)
    assert read_scene(path, allow_missing=["*"]) is not changed_scene


def test_process_adopts_the_outlines_of_another_one(tmp_path):
    first = LargeModels()
    node, library = only_node(walls_world(tmp_path, "first"))
    outline = first.scene_model(node, library).obstacle_footprint(0, 1)
    second = LargeModels()
    second.adopt(pickle.loads(pickle.dumps(first.outlines)))
    adopted = second.scene_model(node, library)._outlines[0, 1]
    assert adopted.wkb == outline.wkb


def only_node(path):
    library = ModelLibrary()
    (node,) = read_models(SdfDocument.read(path), library)
    return node, library


@pytest.mark.parametrize("change", [{"size": 1.5}, {"pose": "0 0 0.5 0 0 0"}, {"version": "1.4"}])
def test_worlds_do_not_share_large_models_with_a_difference(tmp_path, change):
    first = read_scene(walls_world(tmp_path, "first")).models["walls"]
    second = read_scene(walls_world(tmp_path, "second", **change)).models["walls"]
    assert second.collisions is not first.collisions
    assert (second.bounds == first.bounds).all() == ("version" in change)


def test_models_that_name_files_are_not_shared(tmp_path):
    triangle = (
        "solid t\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex {} 0 0\nvertex 0 1 1\n"
    )
    triangle += "endloop\nendfacet\nendsolid t\n"
    shapes = "".join(
        f'<collision name="m{i}"><geometry><mesh><uri>t.stl</uri></mesh></geometry></collision>'
        for i in range(1500)
    )
    path = tmp_path / "w.world"
    path.write_text(
        f'<sdf version="1.6"><world name="w"><model name="m"><link name="l">{shapes}</link></model>'
        "</world></sdf>"
    )
    widths = []
    for width in (1, 2):
        (tmp_path / "t.stl").write_text(triangle.format(width))
        widths.append(read_scene(path).models["m"].bounds[0, 1])
    assert widths == [1.0, 2.0]
