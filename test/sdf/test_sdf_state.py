"""The poses of a <state> are written into the models of a saved world."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sdf_text import include, link, model, world

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.state import apply_state

MESH = "<mesh><uri>b.stl</uri></mesh>"
VALUES = st.tuples(*[st.floats(-9, 9)] * 3, *[st.floats(-1.5, 1.5)] * 3)


def state(*models, world_name="default"):
    return f'<state world_name="{world_name}"><sim_time>7 0</sim_time>{"".join(models)}</state>'


def state_of(name, pose="", *parts):
    placed = f"<pose frame=''>{pose}</pose>" if pose else ""
    return f'<model name="{name}">{placed}{"".join(parts)}</model>'


def link_state(name, pose):
    return f'<link name="{name}"><pose>{pose}</pose></link>'


def applied(text, model_path=()):
    document = SdfDocument.parse(text, "w.world")
    apply_state(document, ModelLibrary(model_path))
    assert document.world.find("state") is None
    return document


def links_of(document, model_path=()):
    """Return the pose of each link in the world, by scoped name."""
    return {
        f"{name}::{scoped}": found.pose * pose
        for name, found in read_scene(document, model_path).models.items()
        for scoped, pose in found.links.items()
    }


def test_state_overrides_the_pose_of_the_model():
    text = world(model("m", pose="1 0 0 0 0 0"), state(state_of("m", "5 6 7 0 0 0")))
    assert read_scene(SdfDocument.parse(text), ()).models["m"].pose.position == (5, 6, 7)
    assert applied(text).world.find("model/pose").text == "5.0 6.0 7.0 0.0 0.0 0.0"


def test_state_does_not_move_what_is_relative_to_the_model():
    text = world(
        model("a", link("l"), link("k", '<pose relative_to="l">0 0 1 0 0 0</pose>')),
        model("b", pose='<pose relative_to="a">1 0 0 0 0 0</pose>'),
        state(state_of("a", "5 0 0 0 0 0", link_state("l", "5 0 0 0 0 0"))),
        version="1.7",
    )
    models = read_scene(SdfDocument.parse(text), ()).models
    assert models["b"].pose.position == (1, 0, 0)
    links = links_of(SdfDocument.parse(text.replace('"l"><pose>5 0 0', '"l"><pose>5 3 0')))
    assert links["a::l"].position == pytest.approx((5, 3, 0))
    assert links["a::k"].position == pytest.approx((5, 0, 1))


def test_state_without_a_pose_moves_the_model_to_the_origin():
    text = world(model("m", pose="1 0 0 0 0 0"), state(state_of("m")))
    assert read_scene(SdfDocument.parse(text), ()).models["m"].pose == Pose()


@pytest.mark.parametrize(("pose", "allowed"), [("5 6 0 0 0 1", True), ("5 6 0.1 0 0 0", False)])
def test_state_that_lifts_a_plane_is_rejected(pose, allowed):
    """Gazebo computes collisions with a plane at the height that its model had before."""
    floor = link("l", shape="<plane><normal>0 0 1</normal></plane>", collision_pose="0 0 1 0 0 0")
    text = world(model("m", floor, pose="1 2 0 0 0 0"), state(state_of("m", pose)))
    if allowed:
        assert read_scene(SdfDocument.parse(text), ()).models["m"].pose.position[:2] == (5, 6)
        return
    with pytest.raises(SdfError, match="moves the model 'm', which has a <plane>"):
        read_scene(SdfDocument.parse(text), ())


def test_reading_a_scene_does_not_change_the_document():
    text = world(model("m", pose="1 0 0 0 0 0"), state(state_of("m", "5 6 7 0 0 0")))
    document = SdfDocument.parse(text)
    read_scene(document, ())
    assert document.to_bytes() == text.encode()


def test_first_state_is_applied_with_any_world_name():
    text = world(
        model("m"),
        state(state_of("m", "5 0 0 0 0 0"), world_name="elsewhere"),
        state(state_of("m", "6 0 0 0 0 0")),
    )
    assert applied(text).world.find("model/pose").text.startswith("5.0")


def test_saved_pose_of_the_canonical_link_moves_the_model():
    text = world(
        model("m", link("a", "0 0 1 0 0 0"), link("b", "1 0 0 0 0 0")),
        state(state_of("m", "5 0 0 0 0 0", link_state("a", "5 0 4 0 0 0"))),
    )
    document = applied(text)
    assert document.world.find("model/pose").text.startswith("5.0 0.0 3.0")
    found = links_of(document)
    assert found["m::a"].position == pytest.approx((5, 0, 4))
    assert found["m::b"].position == pytest.approx((6, 0, 0))


def test_unmoved_links_in_a_state_keep_their_text():
    text = world(
        model("m", link("a"), link("b", "0.1  0 0 0 0 0")),
        state(
            state_of(
                "m",
                "5 0 0 0 0 0",
                link_state("a", "5 0 0 0 0 0"),
                link_state("b", "5.100001 0 0 0 -0 0"),  # six digits, as Gazebo saves
            )
        ),
    )
    document = applied(text)
    assert document.world.findall("model/link")[1].find("pose").text == "0.1  0 0 0 0 0"


@settings(deadline=None, max_examples=40)
@given(VALUES, VALUES, VALUES, VALUES, VALUES)
def test_links_get_their_saved_poses_in_the_world_frame(outer, inner, a, b, deep):
    def text(values):
        return " ".join(map(repr, values))

    nested = model("inner", link("l", "0 0 2 0 0 1"), pose="1 1 1 0 0 1")
    document = applied(
        world(
            model("m", link("a", "1 0 0 1 0 0"), link("b"), nested, pose="3 3 3 1 1 1"),
            state(
                state_of(
                    "m",
                    text(outer),
                    link_state("a", text(a)),
                    link_state("b", text(b)),
                    state_of("inner", text(inner), link_state("l", text(deep))),
                )
            ),
        )
    )
    found = links_of(document)
    for name, values in (("m::a", a), ("m::b", b), ("m::inner::l", deep)):
        assert np.allclose(found[name].matrix, Pose.from_values(values).matrix, atol=5e-5)


def test_included_model_is_moved_by_its_include(model_directory):
    model_directory("crate", model("crate", link("a"), link("b", "1 0 0 0 0 0")))
    text = world(include("model://crate"), state(state_of("crate", "5 0 0 0 0 0")))
    document = applied(text, [model_directory.root])
    assert document.world.find("include/pose").text.startswith("5.0")
    assert document.world.find("model") is None


def test_include_with_moved_links_is_expanded(model_directory):
    directory = model_directory(
        "crate",
        model("crate", link("a"), link("b", "1 0 0 0 0 0", "<mesh><uri>b.stl</uri></mesh>")),
    )
    (directory / "b.stl").write_text("solid b\nendsolid b\n")
    text = world(
        include("model://crate", "mine"),
        state(state_of("mine", "5 0 0 0 0 0", link_state("b", "9 0 0 0 0 0"))),
    )
    document = applied(text, [model_directory.root])
    assert document.world.find("include") is None
    assert document.world.find("model").get("name") == "mine"
    assert document.world.find(".//mesh/uri").text == f"file://{directory}/b.stl"
    assert links_of(document)["mine::b"].position == pytest.approx((9, 0, 0))


def test_link_state_applies_to_an_include_within_a_model(model_directory):
    model_directory("crate", model("crate", link("a"), link("b", "1 0 0 0 0 0")))
    text = world(
        model("wrapper", include("model://crate", "it", "0 1 0 0 0 0")),
        state(
            state_of(
                "wrapper",
                "5 0 0 0 0 0",
                link_state("it::a", "5 1 0 0 0 0"),
                link_state("it::b", "6 1 3 0 0 0"),
            )
        ),
    )
    library_file = model_directory.root / "crate" / "model.sdf"
    before = library_file.read_bytes()
    found = links_of(applied(text, [model_directory.root]), [model_directory.root])
    assert found["wrapper::it::a"].position == pytest.approx((5, 1, 0))
    assert found["wrapper::it::b"].position == pytest.approx((6, 1, 3))
    assert library_file.read_bytes() == before


def test_saved_scale_multiplies_collision_and_visual():
    shape = "<cylinder><radius>1</radius><length>1</length></cylinder>"
    text = world(
        model("m", link("a"), link("b", shape=shape)),
        state(state_of("m", "", "<scale>2 3 4</scale>")),
    )
    document = applied(text)
    assert [size.text for size in document.world.iter("size")] == ["2 6 12"] * 2
    assert [radius.text for radius in document.world.iter("radius")] == ["3"] * 2
    assert [length.text for length in document.world.iter("length")] == ["4"] * 2


def test_saved_scale_does_not_change_the_mesh_of_a_collision():
    """As in Gazebo 11, which was compared with a public world of gates."""
    text = world(
        model("m", link(shape="<mesh><uri>file://gate.dae</uri></mesh>")),
        state(state_of("m", "", "<scale>2 3 4</scale>")),
    )
    meshes = applied(text).world
    assert meshes.find(".//collision//scale") is None
    assert meshes.find(".//visual//scale").text == "2 3 4"


def test_insertions_and_deletions_of_the_state_are_applied():
    text = world(
        model("gone"),
        model("stays"),
        state(
            f"<insertions>{model('new', pose='1 2 3 0 0 0')}</insertions>",
            "<deletions><name>gone</name></deletions>",
        ),
    )
    assert list(read_scene(applied(text), ()).models) == ["stays", "new"]


def test_state_moves_lights():
    text = world(
        '<light name="lamp"><pose>0 0 1 0 0 0</pose></light>',
        state('<light name="lamp"><pose>4 5 6 0 0 0</pose></light>'),
    )
    assert applied(text).world.find("light/pose").text.startswith("4.0 5.0 6.0")


def test_applying_a_state_preserves_comments_and_layout():
    text = world("<!-- the box -->", model("m"), state(state_of("m", "1 0 0 0 0 0")))
    written = applied(text).to_bytes().decode()
    assert "    <!-- the box -->\n    <model" in written
    assert written.endswith("</model>\n  </world>\n</sdf>\n")


def test_invalid_state_is_rejected_with_its_line():
    text = world(model("m"), state(state_of("m", "1 2")))
    with pytest.raises(SdfError, match=r"w\.world:4: <pose> is '1 2'"):
        applied(text)
