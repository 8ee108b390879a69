"""Sizes, masses, heights and cuts of obstacle models, known on paper."""

import math

import numpy as np
import pytest
import shapely

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sampling.kinds import BoxObstacles, CylinderObstacles, ModelObstacles
from gz_testauto.sampling.models import ObstacleKind, ObstacleModel, read_model, set_static
from gz_testauto.sampling.outline import Outline, cores_and_radii
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.floor import Heights
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.obstacles import OBSTACLE_KINDS

BOX, CYLINDER, SPHERE = (ObstacleModel.unit(type_) for type_ in ("box", "cylinder", "sphere"))
TABLE = """<sdf version="1.6"><model name="table">
  <link name="top"><pose>0 0 1 0 0 0</pose><inertial><mass>3</mass></inertial>
    <collision name="c"><geometry><box><size>2 1 0.2</size></box></geometry></collision></link>
  <link name="foot"><pose>0.5 0 0.45 0 0 0</pose><inertial><mass>4</mass></inertial>
    <collision name="c"><geometry><box><size>0.2 0.2 0.9</size></box></geometry></collision>
  </link></model></sdf>"""
TILTED = """<sdf version="1.6"><model name="m"><link name="l"><collision name="c">
  <pose>0 0 0 {} {} {}</pose><geometry>{}</geometry></collision></link></model></sdf>"""
SHAPES = {
    "box": "<box><size>1 2 3</size></box>",
    "cylinder": "<cylinder><radius>1</radius><length>2</length></cylinder>",
    "sphere": "<sphere><radius>1</radius></sphere>",
}


def saved(tmp_path, text):
    path = tmp_path / "thing.sdf"
    path.write_text(text)
    return path


def test_scale_factors_are_ratios_of_the_first_and_last_sizes():
    assert BoxObstacles.factors((1.0, 2.0, 4.0), (3.0, 1.0, 2.0)) == (3.0, 0.5, 0.5)
    assert CylinderObstacles.factors((2.0, 4.0), (3.0, 1.0)) == (1.5, 1.5, 0.25)
    assert SPHERE.kind.factors((0.5,), (2.0,)) == (4.0, 4.0, 4.0)
    assert ModelObstacles.factors((2.0,), (3.0,)) == (1.5, 1.5, 1.5)


@pytest.mark.parametrize(
    ("model", "size", "height_m", "frame_m", "inner_m", "outer_m"),
    [
        (BOX, (2.0, 4.0, 6.0), 6.0, 3.0, 1.0, math.sqrt(5.0)),
        (BOX, (4.0, 2.0, 0.5), 0.5, 0.25, 1.0, math.sqrt(5.0)),
        (CYLINDER, (2.0, 6.0), 6.0, 3.0, 2.0, 2.0),
        (SPHERE, (2.0,), 4.0, 2.0, 2.0, 2.0),
    ],
)
def test_a_resized_model_has_the_lengths_of_its_shape(
    model, size, height_m, frame_m, inner_m, outer_m
):
    assert model.height_m(size) == pytest.approx(height_m)
    assert model.height_of_frame_m(size) == pytest.approx(frame_m)
    assert model.inner_m(size) == pytest.approx(inner_m)
    assert model.outer_m(size) == pytest.approx(outer_m)
    assert model.outline(size).reach_m == pytest.approx(outer_m)
    assert model.bounds(size)[2].tolist() == pytest.approx([-frame_m, height_m - frame_m])
    assert model.bounds(size) is model.bounds(size)


def test_the_unit_models_have_a_hundred_kilograms_per_cubic_meter():
    masses = [100.0, 100 * math.pi / 4, 100 * math.pi / 6]
    assert [m.mass_kg for m in (BOX, CYLINDER, SPHERE)] == pytest.approx(masses)
    assert SPHERE.mass_of((1.0,), None) == pytest.approx(8 * masses[2])
    assert SPHERE.mass_of((1.0,), 3.0) == pytest.approx(4 * math.pi)
    assert all(m.static for m in (BOX, CYLINDER, SPHERE))
    assert [m.kind.marker for m in (BOX, CYLINDER, SPHERE)] == ["CUBE", "CYLINDER", "SPHERE"]


def test_a_model_of_several_links_has_the_sum_of_their_masses(tmp_path):
    model = read_model("model", saved(tmp_path, TABLE))
    assert (model.mass_kg, model.size, model.static) == (7.0, (1.0,), False)
    assert (model.lift_m, model.height_m((2.0,))) == (pytest.approx(0.0), pytest.approx(2.2))
    assert model.mass_of((2.0,), None) == 56.0
    assert model.outline((2.0,)).polygon.bounds == pytest.approx((-2.0, -1.0, 2.0, 1.0))
    assert model.outer_m((2.0,)) == pytest.approx(math.sqrt(5.0))
    top = model.cut((2.0,), Heights(1.9, 5.0))
    assert top.core.area == pytest.approx(8.0)
    foot = model.cut((2.0,), Heights(0.0, 1.7))
    assert foot.core.bounds == pytest.approx((0.8, -0.2, 1.2, 0.2))


@pytest.mark.parametrize(
    ("heights", "empty"),
    [((-1.0, -0.1), True), ((-1.0, 0.0), False), ((2.0, 3.0), False), ((2.1, 3.0), True)],
)
def test_outline_above_or_below_an_obstacle_is_empty(heights, empty):
    part = BOX.cut((1.0, 1.0, 2.0), Heights(*heights))
    assert (part is not None and part.core.is_empty) == empty
    assert empty or part is None  # the whole box


@pytest.mark.parametrize(
    ("low_m", "high_m", "radius_m"),
    [(1.6, 9.0, 0.8), (1.8, 1.9, 0.6), (-1.0, 0.4, 0.8), (0.1, 0.2, 0.6)],
)
def test_outline_of_a_sphere_between_heights_is_a_circle(low_m, high_m, radius_m):
    part = SPHERE.cut((1.0,), Heights(low_m, high_m))
    assert part.radius_m == pytest.approx(radius_m)
    assert SPHERE.cut((1.0,), Heights(low_m, 9.0) if low_m < 1 else Heights(0, 1)) is None


@pytest.mark.parametrize(
    ("kind", "turned", "valid"),
    [
        ("box", (0, 0, 0), True), ("box", (0, 0, 0.1), False), ("box", (0.1, 0, 0), False),
        ("box", (0, 0.1, 0), False), ("cylinder", (0, 0, 0.1), True),
        ("cylinder", (0.1, 0, 0), False), ("cylinder", (0, 0.1, 0), False),
        ("sphere", (0.1, 0.2, 0.3), True), ("box", (1e-7, 1e-7, 1e-7), True),
    ],
)  # fmt: skip
def test_a_shape_can_be_rotated_if_its_size_does_not_change(tmp_path, kind, turned, valid):
    path = saved(tmp_path, TILTED.format(*turned, SHAPES[kind]))
    if valid:
        sizes = {"box": (1.0, 2.0, 3.0), "cylinder": (1.0, 2.0), "sphere": (1.0,)}
        assert read_model(kind, path).size == sizes[kind]
        return
    with pytest.raises(SdfError, match=f"thing.sdf:1: .*{kind}"):
        read_model(kind, path)
    model = next(iter(read_scene(SdfDocument.read(path)).models.values()))
    assert not OBSTACLE_KINDS.get(kind).recognizes(model)


def test_a_size_of_zero_is_rejected(tmp_path):
    text = TILTED.format(0, 0, 0, SHAPES["sphere"].replace("1", "0"))
    with pytest.raises(SdfError, match=r"thing\.sdf:1"):
        read_model("sphere", saved(tmp_path, text))


def test_the_offset_of_a_link_is_scaled_with_the_size(tmp_path):
    text = TILTED.format(0, 0, 0, SHAPES["box"]).replace(
        '<link name="l">', '<link name="l"><pose>0.5 1 1.5 0 0 0</pose>'
    )
    model = read_model("box", saved(tmp_path, text))
    written = model.sdf("o", Pose(), (2.0, 1.0, 6.0), 5.0, True)
    found = read_scene(SdfDocument.parse(f'<sdf version="1.6">{written}</sdf>')).models["o"]
    assert found.bounds.tolist() == [
        pytest.approx([0.0, 2.0]), pytest.approx([0.0, 1.0]), pytest.approx([0.0, 6.0])
    ]  # fmt: skip
    assert found.static
    assert model.outline((2.0, 1.0, 6.0)).core.bounds == pytest.approx((0.0, 0.0, 2.0, 1.0))


def static_of(text, static):
    document = SdfDocument.parse(f'<sdf version="1.6"><model name="m">{text}</model></sdf>')
    set_static(document.model, static)
    return [child.text for child in document.model.findall("static")]


def test_static_element_is_written_unless_it_is_false_by_default():
    assert static_of("", False) == []
    assert static_of("", True) == ["true"]
    assert static_of("<static>1</static>", False) == ["false"]
    assert static_of("<static>0</static>", True) == ["true"]


def test_an_include_is_named_by_a_child(tmp_path):
    (tmp_path / "crate").mkdir()
    (tmp_path / "crate" / "model.config").write_text("<model><sdf>model.sdf</sdf></model>")
    (tmp_path / "crate" / "model.sdf").write_text(TABLE)
    world = tmp_path / "w.world"
    world.write_text(
        '<sdf version="1.6"><world name="w"><include><uri>file://'
        f"{tmp_path / 'crate'}</uri></include></world></sdf>"
    )
    document = SdfDocument.read(world)
    (scene_model,) = read_scene(document).models.values()
    model = ObstacleModel.of("model", scene_model, document)
    if model.element.tag != "include":
        pytest.skip("the scene expands its includes")
    text = model.sdf("again", Pose((1.0, 0.0, 0.0)), (1.0,), 7.0, True)
    assert "<name>again</name>" in text


def test_distances_to_outlines_are_distances_to_cores_minus_radii():
    outlines = [Outline.disc(0, 0, 1), Outline(shapely.box(0, 0, 1, 1), 0.5)]
    cores, radii = cores_and_radii(outlines)
    assert [core.geom_type for core in cores] == ["Point", "Polygon"]
    assert np.array_equal(radii, [1.0, 0.5])
    assert outlines[0].moved(3, 4, 0).distance_m(Outline.disc(0, 0, 2)) == pytest.approx(2.0)


def test_a_kind_must_implement_the_methods_that_depend_on_its_shape():
    for call in (
        ObstacleKind.unit_model,
        lambda: ObstacleKind.measure(None, "here"),
        lambda: ObstacleKind.factors((1.0,), (2.0,)),
        lambda: ObstacleKind.mass_kg((1.0,), 2.0, (2.0,), None),
        lambda: ObstacleKind.resize(None, None, (1.0,), (2.0,), 3.0),
    ):
        with pytest.raises(NotImplementedError):
            call()
    assert not ObstacleKind.recognizes(None)
    assert ObstacleKind.writer(None) is None
