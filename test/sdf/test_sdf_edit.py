"""Edits change the requested elements of a world and no others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sdf_text import include, link, model, world

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.edit import add_model, remove_model, set_model_pose
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scale import resize_model
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere

STATE = (
    '<state world_name="default"><model name="a"><pose>7 7 0 0 0 0</pose></model>'
    '<model name="b"><pose>8 8 0 0 0 0</pose></model></state>'
)


def positions(document, model_path=()):
    models = read_scene(document, model_path).models
    return {name: found.pose.position for name, found in models.items()}


def test_moving_a_model_keeps_the_poses_of_others_from_the_state():
    document = SdfDocument.parse(world(model("a"), model("b"), STATE))
    set_model_pose(document, "a", Pose((1.0, 2.0, 3.0)))
    assert document.world.find("state") is None
    assert positions(document) == {"a": (1, 2, 3), "b": (8, 8, 0)}


def test_moving_a_model_changes_only_its_pose():
    text = world("<!-- first -->", model("a", pose="0 0 0 0 0 0"), model("b"), "<x  y='1'/>")
    document = SdfDocument.parse(text)
    set_model_pose(document, "a", Pose((1.0, 0.0, 0.0)))
    before = text.replace("0 0 0 0 0 0", "1.0 0.0 0.0 0.0 0.0 0.0").replace("<x  y='1'/>", "")
    after = document.to_bytes().decode().replace('<x y="1"/>', "")
    assert after == before


def test_moved_model_has_a_pose_in_the_world_frame():
    placed = '<pose relative_to="a" degrees="true">1 0 0 0 0 90</pose>'
    document = SdfDocument.parse(
        world(model("a", pose="5 0 0 0 0 0"), model("b", pose=placed), version="1.7")
    )
    set_model_pose(document, "b", Pose((1.0, 2.0, 3.0)))
    assert positions(document)["b"] == (1, 2, 3)
    assert not document.world.findall("model")[1].find("pose").attrib


def test_included_model_is_found_by_its_name_or_that_of_its_file(model_directory, monkeypatch):
    model_directory("crate", model("crate"))
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(model_directory.root))
    document = SdfDocument.parse(world(include("model://crate"), include("model://crate", "two")))
    for name, x in (("crate", 1.0), ("two", 2.0)):
        set_model_pose(document, name, Pose((x, 0.0, 0.0)))
    assert positions(document, [model_directory.root]) == {"crate": (1, 0, 0), "two": (2, 0, 0)}


def test_removing_a_model_removes_its_line():
    text = world(model("a"), model("b"), model("c"))
    document = SdfDocument.parse(text)
    remove_model(document, "b")
    assert document.to_bytes().decode() == text.replace(f"    {model('b')}\n", "")
    remove_model(document, "c")
    assert document.to_bytes().decode() == world(model("a"))


def test_added_model_is_last_and_has_the_specified_pose():
    document = SdfDocument.parse(world(model("a"), STATE))
    add_model(document, f'<sdf version="1.6">{model("x")}</sdf>', Pose((4.0, 5.0, 6.0)), "new")
    add_model(document, model("plain", pose="1 1 1 0 0 0"))
    found = positions(document)
    assert found == {"a": (7, 7, 0), "new": (4, 5, 6), "plain": (1, 1, 1)}
    assert '\n    <model name="plain"' in document.to_bytes().decode()


def test_added_model_can_be_edited():
    document = SdfDocument.parse(world())
    add_model(document, model("x"), Pose((1.0, 0.0, 0.0)))
    set_model_pose(document, "x", Pose((2.0, 0.0, 0.0)))
    assert positions(document) == {"x": (2, 0, 0)}


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda d: set_model_pose(d, "x", Pose()), "model 'x'. Known: a"),
        (lambda d: remove_model(d, "x"), "no model 'x'"),
        (lambda d: add_model(d, model("a")), "model 'a' exists"),
        (lambda d: add_model(d, "<sdf><light/></sdf>"), "no named <model>"),
        (lambda d: add_model(d, "<sdf>"), "is not XML"),
        (
            lambda d: resize_model(d, d.world.find("model"), Sphere(1.0)),
            "'a' is a box, not a sphere",
        ),
    ],
)
def test_impossible_edit_is_rejected_with_the_reason(edit, problem):
    document = SdfDocument.parse(world(model("a")))
    with pytest.raises(SdfError, match=problem):
        edit(document)


INERTIAL = (
    "<inertial><mass>6</mass><inertia><ixx>1</ixx><ixy>0.5</ixy><iyy>1</iyy><izz>1</izz>"
    "</inertia></inertial>"
)


def boxed(inertial=INERTIAL, pose=""):
    body = link(collision_pose=pose).replace('<link name="link">', f'<link name="link">{inertial}')
    return world(model("a", body))


def test_resizing_changes_collision_visual_mass_and_inertia():
    document = SdfDocument.parse(boxed())
    resize_model(document, document.world.find("model"), Box((2.0, 2.0, 3.0)))
    assert [size.text for size in document.world.iter("size")] == ["2 2 3", "2 2 3"]
    inertial = document.world.find(".//inertial")
    assert float(inertial.findtext("mass")) == pytest.approx(12)  # twice the volume
    assert float(inertial.findtext("inertia/ixx")) == pytest.approx(12 / 12 * (4 + 9))
    assert float(inertial.findtext("inertia/izz")) == pytest.approx(12 / 12 * (4 + 4))
    assert inertial.findtext("inertia/ixy") == "0"


def test_resized_model_has_the_specified_mass():
    document = SdfDocument.parse(boxed())
    resize_model(document, document.world.find("model"), Box((2.0, 2.0, 3.0)), mass_kg=1.0)
    assert document.world.findtext(".//mass") == "1"


def test_resized_box_keeps_its_bottom_at_the_origin_of_the_link():
    document = SdfDocument.parse(boxed(pose="0.5 0 1.5 0 0 1.5707963267948966"))
    resize_model(document, document.world.find("model"), Box((1.0, 2.0, 1.0)))
    (shape,) = read_scene(document, ()).models["a"].collisions
    assert shape.bounds[2] == pytest.approx([0, 1])
    assert shape.pose.position[:2] == pytest.approx((0.5, 0))


def test_included_obstacle_can_be_resized_after_it_is_expanded(model_directory):
    model_directory("crate", model("crate"))
    document = SdfDocument.parse(world(include("model://crate", "a", "1 2 3 0 0 0")))
    library = ModelLibrary([model_directory.root])
    element = library.expand(document, document.world.find("include"))
    resize_model(document, element, Box((9, 9, 9)))
    (shape,) = read_scene(document, ()).models["a"].collisions
    assert shape.geometry == Box((9, 9, 9))
    assert shape.pose.position == (1, 2, 3)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (link("a") + link("b", shape="<box><size>1 1 1</size></box>"), "2 simple collision"),
        (link(shape="<plane/>"), "collision 'c' is a plane, which has no size"),
        ("<link name='l'/>", "no simple collision shapes"),
        (
            '<link name="l"><collision name="c"><geometry><box><size>1 1 1</size></box></geometry>'
            '</collision><visual name="v"><geometry><box><size>2 2 2</size></box></geometry>'
            "</visual></link>",
            "visual 'v' does not have the shape of the collision",
        ),
    ],
)
def test_model_without_a_unique_size_cannot_be_resized(body, problem):
    document = SdfDocument.parse(world(f'<model name="a">{body}</model>'))
    with pytest.raises(SdfError, match=problem):
        resize_model(document, document.world.find("model"), Box((1.0, 1.0, 1.0)))


SIZES = st.floats(0.5, 2)
SOLIDS = st.one_of(
    st.builds(Box, st.tuples(SIZES, SIZES, SIZES)),
    st.builds(Cylinder, SIZES, SIZES),
    st.builds(Sphere, SIZES),
    st.builds(Capsule, SIZES, SIZES),
    st.builds(Ellipsoid, st.tuples(SIZES, SIZES, SIZES)),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(SOLIDS)
def test_volume_and_inertia_equal_an_integral_over_slices(shape):
    low, high = shape.bounds(Pose())[2]
    levels = np.linspace(low, high, 25)
    heights = (levels[1:] + levels[:-1]) / 2
    areas = np.array([shape.footprint(Pose(), z, z).area for z in heights])
    slice_volumes = areas * (high - low) / 24
    volume = shape.volume_m3()
    assert slice_volumes.sum() == pytest.approx(volume, rel=2e-2)
    # the moments add up to twice the polar one, of which this part is the integral of z²
    ixx, iyy, izz = shape.inertia_kgm2(volume)
    assert (slice_volumes * heights**2).sum() == pytest.approx((ixx + iyy - izz) / 2, rel=3e-2)
