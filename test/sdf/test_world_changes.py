"""Models to delete, spawn and move when one world becomes another."""

import pytest

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.edit import parse_model
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.world_diff import WorldModels, model_changes, same_model

BOX = """
<model name="{name}">{static}<pose>{pose}</pose>
  <link name="link"><collision name="c"><geometry><box><size>{size}</size></box></geometry>
  </collision></link></model>"""


def box(name, pose="0 0 0.5 0 0 0", size="1 1 1", static=""):
    return BOX.format(name=name, pose=pose, size=size, static=static)


def world(*models, gravity="0 0 -9.8"):
    text = f'<sdf version="1.6"><world name="w"><gravity>{gravity}</gravity>'
    text += "".join(models) + "</world></sdf>"
    return WorldModels(read_scene(SdfDocument.parse(text)))


def test_equal_worlds_with_different_text_need_no_changes():
    one = world(box("a"), box("b"))
    other = world("<!-- turned round -->", box("b"), "\n\n", box("a", pose="0 0  0.5 0 0 0.0"))
    changes = one.changes_to(other)
    assert (changes.to_delete, changes.to_spawn, changes.moved, changes.other) == ((), {}, {}, "")


def test_model_with_another_pose_is_moved():
    changes = world(box("a"), box("b")).changes_to(world(box("a", "2 1 0.5 0 0 0"), box("b")))
    assert (changes.to_delete, changes.to_spawn) == ((), {})
    assert changes.moved == {"a": Pose((2.0, 1.0, 0.5))}


@pytest.mark.parametrize("change", [{"size": "1 1 2"}, {"static": "<static>true</static>"}])
def test_model_with_other_content_is_deleted_and_spawned(change):
    other = world(box("a", "3 0 0.5 0 0 0", **change))
    changes = world(box("a")).changes_to(other)
    assert changes.to_delete == ("a",)
    assert changes.moved == {}
    assert parse_model(changes.to_spawn["a"]).get("name") == "a"
    assert other.poses["a"] == Pose((3.0, 0.0, 0.5))


def test_texts_that_differ_in_name_pose_and_layout_are_of_the_same_model():
    one = f"<sdf version='1.6'>{box('a')}</sdf>"
    assert same_model(one, f"<!-- x -->\n{box('b', '2 1 0.5 0 0 1')}")
    assert not same_model(one, box("a", size="1 1 2"))


def test_present_model_with_unknown_text_is_replaced():
    changes = model_changes({"a": None, "b": box("b")}, {"a": box("a"), "b": box("b")})
    assert (changes.to_delete, changes.to_spawn, changes.kept) == (("a",), ("a",), ("b",))


def test_missing_models_are_spawned_and_extra_models_are_deleted():
    changes = world(box("a"), box("b")).changes_to(world(box("b"), box("c")))
    assert changes.to_delete == ("a",)
    assert list(changes.to_spawn) == ["c"]


def test_saved_state_determines_the_poses_of_a_world():
    state = (
        '<state world_name="w"><model name="a"><pose>4 0 0.5 0 0 0</pose>'
        '<link name="link"><pose>4 0 0.5 0 0 0</pose></link></model></state>'
    )
    changes = world(box("a")).changes_to(world(box("a"), state))
    assert changes.moved == {"a": Pose((4.0, 0.0, 0.5))}


def test_other_differences_of_worlds_are_reported():
    changes = world(box("a")).changes_to(world(box("a"), gravity="0 0 -1.6"))
    assert changes.other != ""
