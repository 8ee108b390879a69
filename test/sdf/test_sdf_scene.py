"""Poses in all places that SDF allows, includes, and nested models."""

import math

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

ANGLES = st.floats(-1.5, 1.5)
PLACES = st.floats(-9, 9)
FRICTION = "<surface><friction><ode><mu>1,5</mu></ode></friction></surface>"
MOMENT = "<inertial><inertia><{0}>{1}</{0}></inertia></inertial>"
VALUES = st.tuples(PLACES, PLACES, PLACES, ANGLES, ANGLES, ANGLES)


def scene_of(text, model_path=()):
    return read_scene(SdfDocument.parse(text, "w.world"), model_path)


def matrix(values):
    x, y, z, roll, pitch, yaw = values
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    result = np.eye(4)
    result[:3, :3] = about_z @ about_y @ about_x
    result[:3, 3] = (x, y, z)
    return result


def text(values):
    return " ".join(map(repr, values))


@settings(deadline=None, max_examples=50)
@given(VALUES, VALUES, VALUES, VALUES)
def test_pose_of_a_collision_is_the_product_along_its_parents(outer, inner, on_link, on_shape):
    nested = model(
        "inner", link("l", text(on_link), collision_pose=text(on_shape)), pose=text(inner)
    )
    scene = scene_of(world(model("outer", nested, pose=text(outer))))
    (shape,) = scene.models["outer"].collisions
    assert shape.scoped_name == "outer::inner::l::c"
    expected = matrix(outer) @ matrix(inner) @ matrix(on_link) @ matrix(on_shape)
    assert np.allclose(shape.pose.matrix, expected, atol=1e-9)
    local = np.linalg.inv(matrix(outer)) @ expected
    assert np.allclose(shape.local_pose.matrix, local, atol=1e-9)


@settings(deadline=None, max_examples=50)
@given(VALUES, VALUES, VALUES)
def test_relative_to_attribute_is_resolved_through_frames_and_links(frame, first, second):
    body = (
        f'<frame name="f" attached_to="a"><pose>{text(frame)}</pose></frame>'
        + link("a", text(first))
        + link("b", f'<pose relative_to="f">{text(second)}</pose>')
    )
    scene = scene_of(world(model("m", body), version="1.7"))
    expected = matrix(first) @ matrix(frame) @ matrix(second)
    assert np.allclose(scene.models["m"].links["b"].matrix, expected, atol=1e-9)


def test_relative_to_attribute_can_name_a_joint_or_a_model():
    body = (
        link("a", "1 0 0 0 0 0")
        + link("b", '<pose relative_to="j">0 0 1 0 0 0</pose>')
        + link("c", '<pose relative_to="inner">0 0 5 0 0 0</pose>')
        + '<joint name="j" type="fixed"><pose>0 2 0 0 0 0</pose><parent>b</parent>'
        + "<child>a</child></joint>"
        + model("inner", link("l", "7 0 0 0 0 0"), pose="0 0 1 0 0 0")
    )
    other = model("other", pose='<pose relative_to="m">0 0 4 0 0 0</pose>')
    scene = scene_of(world(other, model("m", body, pose="0 9 0 0 0 0"), version="1.7"))
    assert scene.models["m"].links["b"].position == (1, 2, 1)
    assert scene.models["m"].links["c"].position == (0, 0, 6)
    assert scene.models["other"].pose.position == (0, 9, 4)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            link("a", '<pose relative_to="x">0 0 0 0 0 0</pose>'),
            r"w\.world:3: a pose is relative to 'x', which does not exist. Known: __model__, a",
        ),
        (
            link("a", '<pose relative_to="b">0 0 0 0 0 0</pose>')
            + link("b", '<pose relative_to="a">0 0 0 0 0 0</pose>'),
            r"w\.world:\d: .* cycle, a → b → a",
        ),
        (link("a", "1 2"), r"w\.world:3: <pose> is '1 2'; it must be 6 numbers"),
        (
            link("a", '<pose degrees="true">0 0 0 0 0 90</pose>'),
            r"w\.world:3: degrees='true' is SDF 1.8, but Gazebo 11 .* write .* in radians",
        ),
        (link("a", "1 2 3 0 0 nan"), r"<pose> is '1 2 3 0 0 nan'; it must be 6 numbers"),
        (
            link("a", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 1</pose>'),
            "rotation_format='quat_xyzw' is not supported",
        ),
        (
            link("a", shape="<cone/>"),
            r"geometry <cone> is not supported.*: .*; replace it .*a <mesh>",
        ),
        (link("a", shape="<box><size>1 -1 1</size></box>"), "size must not be negative"),
        (link("a", shape="<cylinder><radius>1</radius></cylinder>"), "<cylinder> has no <length>"),
        ("<link/>", r"w\.world:3: <link> has no name"),
        ("<static>maybe</static>", "write true or false"),
    ],
)
def test_invalid_element_of_a_model_is_rejected_with_its_line(body, problem):
    with pytest.raises(SdfError, match=problem):
        scene_of(world(f'<model name="m">{body}</model>', version="1.7"))


AS_GAZEBO_READS = {
    "<pose frame=''/>": "0 0 0 0 0 0",
    "<pose>1 2 3</pose>": "1 2 3 0 0 0",
    "<pose>1 2 3 0.1</pose>": "1 2 3 0.1 0 0",
    "<pose>1 2 3 0.1 0.2 0.3 0.4</pose>": "1 2 3 0.1 0.2 0.3",
    "<pose>1 2 3 0 0 0.5 left over</pose>": "1 2 3 0 0 0.5",
    "<pose degrees='true'>1 2 3 0 0 0</pose>": "1 2 3 0 0 0",
}
"""Poses, and their values in gzserver 11.1."""


@pytest.mark.parametrize("written", AS_GAZEBO_READS)
def test_poses_with_missing_or_extra_numbers_are_read_as_in_gazebo(written):
    scene = scene_of(world(model("m", pose=written)))
    expected = map(float, AS_GAZEBO_READS[written].split())
    found = (*scene.models["m"].pose.position, *scene.models["m"].pose.rpy)
    assert found == pytest.approx(tuple(expected))


@pytest.mark.parametrize(
    ("version", "x"), [("1.4", 6), ("1.5", 6), ("1.6", 6), ("1.7", 1), ("1.8", 1)]
)
def test_frame_attribute_of_a_pose_is_used_up_to_sdf_1_6(version, x):
    one = model("one", pose='<pose frame="other">1 0 0 0 0 0</pose>')
    other = model("other", pose="5 0 0 0 0 0")
    scene = scene_of(world(one, other, version=version))
    assert scene.models["one"].pose.position == (x, 0, 0)


@pytest.mark.parametrize("version", ["1.8", "1.9", "1.11"])
def test_newer_sdf_versions_are_read_as_in_gazebo_11(version):
    scene = scene_of(world(model("m", pose="1 2 3 0 0 0"), version=version))
    assert scene.models["m"].pose.position == (1, 2, 3)


def test_length_of_a_chain_of_relative_frames_is_limited():
    links = [link(f"l{i}", f'<pose relative_to="l{i + 1}">1 0 0 0 0 0</pose>') for i in range(900)]
    text = world(model("m", *links, link("l900")), version="1.7")
    with pytest.raises(SdfError, match="more than 200 frames"):
        scene_of(text)


@pytest.mark.parametrize(
    ("parts", "static"),
    [
        ("{static_file}", True),
        ("<static>0</static>{static_file}", False),
        ("{static_file}<static>0</static>", True),
        ("<static>1</static>{file}", True),
        ("<static>1</static>{movable_include}", True),
        ("{movable_include}{static_file}", False),
        ("{static_include}", True),
        ("{file}", False),
        ("{file}{around_static}", True),
    ],
)
def test_first_static_is_valid_for_a_model_and_its_includes(model_directory, parts, static):
    """The values were read in gzserver 11.1, which merges these models."""
    model_directory("shelf", model("shelf", link("l"), static=True))
    model_directory("crate", f'<model name="crate">{link("l")}</model>')
    inner = include("model://shelf", "inner")
    model_directory("around", f'<model name="around">{link("l")}{inner}</model>')
    includes = {
        "static_file": include("model://shelf"),
        "file": include("model://crate"),
        "movable_include": include("model://shelf", "loose", extra="<static>0</static>"),
        "static_include": include("model://crate", extra="<static>1</static>"),
        "around_static": include("model://around"),
    }
    text = f'<model name="m">{parts.format(**includes)}{link("own")}</model>'
    document = SdfDocument.parse(world(text), "w.world")
    scene = scene_of(world(text), [model_directory.root]).models["m"]
    assert scene.static == static
    assert scene.static_links == (scene.links.keys() if static else set())
    library = ModelLibrary([model_directory.root])
    library.expand_all(document, document.root)
    expanded = read_scene(document, [model_directory.root]).models["m"]
    assert expanded.links.keys() == scene.links.keys()
    assert expanded.static_links == scene.static_links


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            model("a", '<frame name="f"/>', link("l"))
            + model("b", pose='<pose relative_to="a::f">1 0 0 0 0 0</pose>'),
            r"w.world:\d+: .*'a::f', and Gazebo 11 does not resolve.*'a'",
        ),
        (
            model("m", model("in", link("l")), link("k", '<pose relative_to="in::l">1 0 0</pose>')),
            "'in::l', and Gazebo 11 does not resolve",
        ),
        (
            model("a", link("l"))
            + '<frame name="w" attached_to="a::l"/>'
            + model("b", pose='<pose relative_to="w">1 0 0 0 0 0</pose>'),
            "'a::l', and Gazebo 11 does not resolve",
        ),
        (
            model("m", "{crate}", link("k", '<pose relative_to="crate">1 0 0</pose>')),
            "'crate', an <include> in a model",
        ),
        (
            model("m", link("k", "1 0 0"), '{crate:<pose relative_to="k">0 0 1</pose>}'),
            "nested model 'crate' is relative to 'k'",
        ),
        (
            model(
                "m",
                link("k", "1 0 0 0 0 0"),
                model("in", link("l"), pose='<pose relative_to="k">0 0 1 0 0 0</pose>'),
            ),
            "nested model 'in' is relative to 'k'",
        ),
        (model("m", "{nest}"), "'nest', which is included in a model, contains the model 'in'"),
        (model("m", "{chain}"), "'chain' includes a model of the same name"),
    ],
)
def test_pose_that_gazebo_11_does_not_resolve_is_rejected(model_directory, text, problem):
    model_directory("crate", model("crate", link("l")))
    model_directory("nest", model("nest", model("in", link("l"))))
    model_directory("chain", model("chain", include("model://crate", "chain")))
    for name in ("crate", "nest", "chain"):
        text = text.replace(f"{{{name}}}", include(f"model://{name}"))
    own = '<pose relative_to="k">0 0 1</pose>'
    text = text.replace(f"{{crate:{own}}}", include("model://crate", extra=own))
    with pytest.raises(SdfError, match=problem):
        scene_of(world(text, version="1.7"), [model_directory.root])


def test_static_model_does_not_fix_its_parent():
    nested = model("anchor", link("l"), static=True)
    outer = scene_of(world(model("outer", nested + link("own"), static=False))).models["outer"]
    assert not outer.static
    assert outer.static_links == {"anchor::l"}


def test_static_model_does_not_fix_its_nested_models():
    nested = model("crate", link("l"), static=False)
    outer = scene_of(world(model("outer", nested + link("own"), static=True))).models["outer"]
    assert not outer.static
    assert outer.static_links == {"own"}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("</geometry>", "</geometry>" + FRICTION, r"w\.world:3: <mu> is '1,5'"),
        ("<visual", "<inertial/><inertial/><visual", r"w\.world:3: link 'link' has 2 <inertial>"),
        ("<visual", MOMENT.format("iyy", -1) + "<visual", r"w\.world:3: .* an iyy of -1 kg m²"),
        ("<visual", MOMENT.format("ixz", "nan") + "<visual", r"w\.world:3: <ixz> is 'nan'"),
    ],
)
def test_invalid_friction_and_mass_are_rejected_for_every_simulator(old, new, problem):
    crate = model("crate", static=False)
    with pytest.raises(SdfError, match=problem):
        scene_of(world(crate.replace(old, new, 1)))


def test_model_without_links_is_static_and_without_shapes():
    models = scene_of(
        world('<model name="a"/>', '<model name="b"><model name="c"/></model>')
    ).models
    assert [(model.static, model.collisions) for model in models.values()] == [(True, ())] * 2


def test_collisions_with_the_same_name_are_at_the_pose_of_the_first():
    shape = "<geometry><box><size>1 1 1</size></box></geometry>"
    collisions = "".join(
        f'<collision name="{name}"><pose>5 {y} 0 0 0 0</pose>{shape}</collision>'
        for name, y in (("c", 1), ("c", -3), ("d", 4))
    )
    link = f'<link name="l">{collisions}</link><link name="m">{collisions}</link>'
    (crate,) = scene_of(world(f'<model name="crate">{link}</model>')).models.values()
    assert [shape.pose.position[1] for shape in crate.collisions] == [1, 1, 4] * 2


def test_nested_model_with_the_name_of_a_model_of_the_world_is_rejected():
    """As gzserver 11.1: it places a::a and b::a like a, but two models only in others apart."""
    nested = '<model name="{}"><link name="l"/><model name="a"><link name="m"/></model></model>'
    for models in ((nested.format("a"),), (nested.format("b"), '<model name="a"/>')):
        with pytest.raises(SdfError, match=r"'a', a model in '[ab]', has the name .* rename one"):
            scene_of(world(*models))
    scene_of(world(nested.format("b"), nested.format("c")))


def test_include_overrides_pose_name_and_static(model_directory):
    model_directory("crate", model("crate", pose="9 9 9 0 0 0", static=False))
    found = scene_of(
        world(
            include("model://crate"),
            include("model://crate", "here", "1 2 3 0 0 0", "<static>true</static>"),
            name="somewhere",
        ),
        [model_directory.root],
    )
    assert found.name == "somewhere"
    assert list(found.models) == ["crate", "here"]
    assert found.models["crate"].pose.position == (9, 9, 9)
    assert not found.models["crate"].static
    assert found.models["here"].pose.position == (1, 2, 3)
    assert found.models["here"].static
    assert found.models["here"].collisions[0].scoped_name == "here::link::c"


def test_include_within_a_model_is_read(model_directory):
    model_directory("crate", model("crate", link("body", "0 0 1 0 0 0")))
    wrapped = model("wrapper", include("model://crate", "it", "0 5 0 0 0 0"), pose="1 0 0 0 0 0")
    scene = scene_of(world(wrapped), [model_directory.root])
    (shape,) = scene.models["wrapper"].collisions
    assert shape.scoped_name == "wrapper::it::body::c"
    assert shape.pose.position == (1, 5, 1)


def test_include_resolves_relative_paths_and_file_uris(model_directory, tmp_path):
    directory = model_directory("crate", model("crate"))
    path = tmp_path / "w.world"
    path.write_text(
        world(
            include("models/crate", "relative"),
            include(f"file://{directory}", "absolute"),
            include("models/crate/model.sdf", "file"),
        )
    )
    assert set(read_scene(path, ()).models) == {"relative", "absolute", "file"}


def test_newest_sdf_version_that_gazebo_11_supports_is_read(model_directory):
    directory = model_directory(
        "crate",
        model("old"),
        config='<model><sdf version="1.4">model.sdf</sdf><sdf version="1.7">new.sdf</sdf>'
        '<sdf version="1.9">newest.sdf</sdf></model>',
    )
    for name in ("new", "newest"):
        (directory / f"{name}.sdf").write_text(f'<sdf version="1.7">{model(name)}</sdf>')
    assert list(scene_of(world(include("model://crate")), [model_directory.root]).models) == ["new"]


def test_missing_model_is_reported_with_line_directories_and_remedy(tmp_path):
    with pytest.raises(SdfError) as caught:
        scene_of(world("<light name='l'/>", include("model://absent")), [tmp_path])
    message = str(caught.value)
    assert message.startswith("w.world:4: model://absent was not found in " + str(tmp_path))
    assert "GAZEBO_MODEL_PATH" in message
    assert message.endswith("(--allow-missing)")


def test_error_in_an_included_file_is_reported_with_its_include(model_directory):
    model_directory("crate", '<sdf version="1.6"><model></sdf>')
    with pytest.raises(SdfError, match=r"model\.sdf:1:\d+: .*\(included from w\.world:3\)"):
        scene_of(world(include("model://crate")), [model_directory.root])


def test_include_cycle_is_rejected(model_directory):
    model_directory("crate", model("crate", include("model://crate")))
    with pytest.raises(SdfError, match="this <include> includes itself"):
        scene_of(world(include("model://crate")), [model_directory.root])


def test_lights_and_roads_are_not_models(model_directory):
    model_directory("sun", '<light name="sun" type="directional"/>')
    scene = scene_of(
        world(include("model://sun"), '<road name="street"/>', model("m")), [model_directory.root]
    )
    assert list(scene.models) == ["m"]
    assert scene.unmeasured == ("<road>",)


def test_second_model_with_the_same_name_is_ignored_and_listed():
    scene = scene_of(world(model("m", pose="1 0 0 0 0 0"), model("m", pose="2 0 0 0 0 0")))
    assert scene.models["m"].pose.position == (1, 0, 0)
    assert scene.unmeasured == ("a second model named 'm'",)


def test_footprint_is_the_union_of_all_parts_between_the_heights():
    table = model(
        "table",
        link("top", "0 0 0.7 0 0 0", "<box><size>2 1 0.1</size></box>"),
        link(
            "foot", "0 0 0.3 0 0 0", "<cylinder><radius>0.1</radius><length>0.6</length></cylinder>"
        ),
        pose="5 5 0 0 0 1.5707963267948966",
    )
    found = scene_of(world(table)).models["table"]
    assert found.footprint(0.1, 1.0).bounds == pytest.approx((4.5, 4, 5.5, 6))
    assert found.footprint(0.1, 0.5).area == pytest.approx(math.pi * 0.01, rel=0.01)
    assert found.footprint(0.62, 0.64).is_empty
    assert found.footprint_at(Pose(), 0.1, 1.0).bounds == pytest.approx((-1, -0.5, 1, 0.5))
    assert found.bounds == pytest.approx(np.array([[4.5, 5.5], [4, 6], [0, 0.75]]))


@pytest.mark.parametrize(
    ("shape", "pose", "ground"),
    [
        ("<plane><normal>0 0 1</normal></plane>", "", True),
        ("<plane><normal>0 1 0</normal></plane>", "", False),
        ("<plane/>", "0 0 0 1.5707963 0 0", True),  # Gazebo does not rotate planes
        ("<box><size>30 30 0.2</size></box>", "0 0 -0.1 0 0 0", True),
        ("<box><size>30 30 0.2</size></box>", "0 0 2 0 0 0", False),  # a roof
        ("<box><size>30 0.2 3</size></box>", "0 0 -1.45 0 0 0", False),  # a sunken wall
        ("<box><size>1 1 0.02</size></box>", "", False),  # a tile
        ("<cylinder><radius>20</radius><length>0.1</length></cylinder>", "", True),
        ("<box><size>1 1 1</size></box>", "0 0 0.5 0 0 0", False),
    ],
)
def test_ground_is_detected_by_its_geometry_and_not_by_its_name(shape, pose, ground):
    scene = scene_of(world(model("any_name", link("l", pose, shape))))
    assert scene.models["any_name"].is_ground is ground


def test_obstacle_footprint_excludes_the_floor_of_a_room():
    room = model(
        "room",
        link("floor", "0 0 0 0 0 0", "<box><size>10 10 0.1</size></box>"),
        link("wall", "5 0 1 0 0 0", "<box><size>0.2 10 2</size></box>"),
    )
    found = scene_of(world(room)).models["room"]
    assert not found.is_ground
    assert found.footprint(0.0, 1.0).area > 100
    assert found.obstacle_footprint(0.0, 1.0).area == pytest.approx(2.0)


def test_model_file_is_read_as_a_scene_with_that_model():
    scene = scene_of(f'<sdf version="1.6">{model("only", pose="1 2 3 0 0 0")}</sdf>')
    assert scene.models["only"].pose.position == (1, 2, 3)


def test_empty_geometry_is_not_a_collision():
    assert scene_of(world(model("m", link(shape="<empty/>")))).models["m"].collisions == ()


def test_numbers_without_a_space_in_between_are_separated_as_in_gazebo():
    scene = scene_of(world(model("m", pose="0.09 41.632-0.19 0 -0 0")))
    assert scene.models["m"].pose.position == (0.09, 41.632, -0.19)
