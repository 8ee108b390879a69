"""Scenes that physics does not hold together are refused by name; those that settle are not."""

import math

import pytest

from gz_testauto.base.errors import SceneError
from gz_testauto.base.observation import Contact, ModelState, Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.metrics.recording import ContactEpisode
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.sdf.scene import read_scene
from gz_testauto.trial import stability
from gz_testauto.trial.contacts import ContactSorter
from gz_testauto.trial.stability import LowestLevels, StabilityCheck

BODY = RobotBody("robot", ((0.5, 0.3), (-0.5, 0.3), (-0.5, -0.3), (0.5, -0.3)), (0.0, 1.2))
G = 9.81


def model(name, pose, size="1 1 1", static=0, plugin="", shape=None):
    shape = shape or f"<box><size>{size}</size></box>"
    return (
        f'<model name="{name}"><static>{static}</static><pose>{pose}</pose><link name="l">'
        f'<collision name="c"><geometry>{shape}</geometry></collision></link>{plugin}</model>'
    )


PLANE = model("ground", "0 0 0 0 0 0", static=1, shape="<plane><normal>0 0 1</normal></plane>")
WALL = model("wall", "0 5 1 0 0 0", "10 0.2 2", static=1)
SHELF = model("shelf", "4 0 1 0 0 0", "1 0.4 2")


def scene_of(*models):
    text = f'<sdf version="1.6"><world name="w">{"".join(models)}</world></sdf>'
    return read_scene(SdfDocument.parse(text, "test.world"))


class Scene:
    """A world with a robot, of which a test says what moves to where."""

    def __init__(self, *models):
        self.scene = scene_of(*models)
        self.poses = {name: model.pose for name, model in self.scene.models.items()}
        self.poses["robot"] = Pose()
        self.look = StabilityCheck(
            self.scene,
            LowestLevels(self.scene),
            BODY,
            ContactSorter("robot", ["ground::l::c"]),
            1.0,
        )
        self.at(0.0)

    def at(self, time_s, collision=None, contacts=(), **poses):
        states = {name: ModelState(pose) for name, pose in {**self.poses, **poses}.items()}
        self.look.check(Snapshot(time_s, states, {}, contacts=contacts), time_s, collision)


def test_a_model_that_is_flung_is_named_with_how_far():
    scene = Scene(PLANE, SHELF)
    says = r"shelf moved 12\.40 m in 0\.50 s without being touched by the robot"
    with pytest.raises(SceneError, match=says):
        scene.at(0.5, shelf=Pose((16.4, 0.0, 1.0)))


def test_the_first_few_of_many_are_named_and_the_others_counted():
    shelves = [model(f"shelf_{k}", f"{2 * k} 0 1 0 0 0") for k in range(6)]
    scene = Scene(PLANE, *shelves)
    flung = {f"shelf_{k}": Pose((2.0 * k, 30.0, 1.0)) for k in range(6)}
    with pytest.raises(SceneError, match=r"shelf_0 .*shelf_2 .*; so did 3 .* <pose>"):
        scene.at(0.5, **flung)


def test_a_model_that_sinks_into_the_floor_or_falls_through_it_is_named():
    scene = Scene(PLANE, SHELF)
    with pytest.raises(SceneError, match=r"shelf sank by 1\.20 m in 0\.50 s, to z = -0\.20 m"):
        scene.at(0.5, shelf=Pose((4.0, 0.0, -0.2)))
    # Without a plane nothing is known for a floor: it must be below everything.
    floorless = Scene(model("room", "0 0 1 0 0 0", "9 9 2", static=1), SHELF)
    floorless.at(0.6, shelf=Pose((4.0, 0.0, -0.7)))
    with pytest.raises(SceneError, match="shelf sank"):
        floorless.at(0.9, shelf=Pose((4.0, 0.0, -2.9)))


@pytest.mark.parametrize(
    ("time_s", "pose"),
    [
        pytest.param(0.1, Pose((4.05, 0.0, 0.98)), id="settles by centimeters"),
        pytest.param(0.9, Pose((4.0, 0.0, 5.0 - G / 2 * 0.9**2)), id="falls from a table"),
        pytest.param(1.0, Pose.from_rpy(4.9, 0, 0.2, 0, math.pi / 2, 0), id="topples"),
        pytest.param(1.0, Pose((4.0 + G / 4, 0.0, 5.0 - G / 4)), id="slides down a steep slope"),
    ],
)
def test_what_settles_falls_topples_or_slides_is_let_be(time_s, pose):
    high = pose.position[2] > 1.5 or time_s == 0.9
    Scene(PLANE, model("shelf", f"4 0 {5 if high else 1} 0 0 0", "1 0.4 2")).at(time_s, shelf=pose)


def test_what_a_robot_pushes_is_let_be():
    crate = Scene(PLANE, model("crate", "0.9 0 0.25 0 0 0", "0.5 0.5 0.5"))
    touch = ContactEpisode(0.6, 0.6, "crate", 1.0, "contact")
    crate.at(0.7, collision=touch, crate=Pose((1.3, 0.0, 0.25)))


def test_what_a_plugin_drives_is_let_be_but_not_what_flies():
    plugin = '<plugin name="p" filename="libwalk.so"/>'
    scene = Scene(PLANE, model("walker", "3 0 1 0 0 0", plugin=plugin))
    scene.at(1.0, walker=Pose((6.0, 0.0, 1.0)))
    with pytest.raises(SceneError, match="walker moved 30"):
        scene.at(1.0, walker=Pose((33.0, 0.0, 1.0)))


def test_only_the_first_second_is_looked_at():
    Scene(PLANE, SHELF).at(1.1, shelf=Pose((90.0, 0.0, 1.0)))


def test_a_model_whose_origin_is_far_from_it_may_topple():
    far = '<model name="f"><link name="l"><collision name="c"><pose>20 0 1 0 0 0</pose><geometry>'
    far += "<box><size>0.5 0.5 2</size></box></geometry></collision></link></model>"
    scene = Scene(PLANE, far)
    scene.at(0.8, f=Pose.from_rpy(0.02, 0, 0.9, 0, 0.05, 0))  # by 5 cm of its middle


def contact(depth_m, partner="room::l::c"):
    return Contact(0.1, "robot::b::c", partner, ((0, 0, 0.5),), ((1, 0, 0),), (depth_m,))


def test_a_robot_that_starts_deep_in_something_is_told_of_what():
    scene = Scene(PLANE, WALL)
    scene.at(0.1, contacts=(contact(0.01, "wall::l::c"),))
    with pytest.raises(SceneError, match=r"the robot is 0\.74 m deep in room after 0\.10 s"):
        scene.at(0.1, contacts=(contact(0.74),))


def test_a_robot_that_touches_something_before_it_is_driven_stands_in_it():
    touch = ContactEpisode(0.0, 0.0, "crate", 0.0, "geometry")
    scene = Scene(PLANE)
    again = StabilityCheck(
        scene.scene, LowestLevels(scene.scene), BODY, ContactSorter("robot", []), 1.0
    )
    scene.look = again
    with pytest.raises(SceneError, match="the robot is inside crate before it is driven"):
        scene.at(0.0, collision=touch)


def test_a_robot_that_is_pressed_into_the_floor_or_thrown_up_is_refused():
    scene = Scene(PLANE, WALL)
    scene.at(1.0, robot=Pose((0.5, 0.0, -0.01)))
    with pytest.raises(SceneError, match=r"sank by 0\.26 m in 1\.00 s, to z = -0\.26 m, 0\.26 m"):
        scene.at(1.0, robot=Pose((0.5, 0.0, -0.26)))
    with pytest.raises(SceneError, match=r"thrown up by 1\.50 m.*move robot.start"):
        scene.at(0.5, robot=Pose((0.5, 0.0, 1.5)))


def test_the_lowest_floor_of_all_is_what_counts_for_falling():
    slab = model("slab", "0 0 -0.05 0 0 0", "20 20 0.1", static=1)
    cellar = model("cellar", "0 0 -3.05 0 0 0", "20 20 0.1", static=1)
    assert LowestLevels(scene_of(slab)).bottom_m(0, 0) == pytest.approx(-0.1)
    assert LowestLevels(scene_of(slab)).floor_m(0, 0) == pytest.approx(0.0)
    assert LowestLevels(scene_of(slab, cellar)).bottom_m(0, 0) == pytest.approx(-3.1)
    assert LowestLevels(scene_of(PLANE, WALL)).bottom_m(0, 0) == 0.0
    assert LowestLevels(scene_of()).bottom_m(0, 0) == -math.inf


def test_a_plane_that_slopes_carries_at_every_place_at_its_height():
    slope = model(
        "s", "0 0 1 0 0 0", static=1, shape="<plane><normal>-0.5 0 0.866</normal></plane>"
    )
    levels = LowestLevels(scene_of(slope))
    assert levels.bottom_m(0.0, 0.0) == pytest.approx(1.0)
    assert levels.bottom_m(2.0, 7.0) == pytest.approx(1.0 + 2.0 * 0.5 / 0.866)


TABLE = model("table", "4 0 0.5 0 0 0", "1 1 1")
CUBE = model("cube", "4 0 1.05 0 0 0", "0.1 0.1 0.1")


def creeping(caplog, models, mm_per_s, **end):
    """The warnings of a second in which the cube goes sideways at this speed."""
    stability._LOGGED.clear()
    caplog.clear()
    scene = Scene(PLANE, *models)
    for tenth in range(1, 11):
        x = 4.0 + mm_per_s / 1000 * tenth / 10
        scene.at(tenth / 10, cube=Pose((x, 0.0, 1.05)), **end)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("mm_per_s", [0.6, 2.5, 20])
def test_a_model_that_creeps_on_a_dynamic_model_is_logged_once_with_the_remedy(caplog, mm_per_s):
    (message,) = creeping(caplog, (TABLE, CUBE), mm_per_s)
    assert f"cube creeps on table at {mm_per_s:.1f} mm/s; put <min_depth>0.001" in message


@pytest.mark.parametrize("mm_per_s", [0.0, 0.3, 40])
def test_a_model_that_rests_or_moves_is_not_said_to_creep(caplog, mm_per_s):
    assert creeping(caplog, (TABLE, CUBE), mm_per_s) == []


def test_a_model_on_a_static_table_or_on_none_is_not_said_to_creep(caplog):
    static = model("table", "4 0 0.5 0 0 0", "1 1 1", static=1)
    away = model("table", "6 0 0.5 0 0 0", "1 1 1")
    assert creeping(caplog, (static, CUBE), 2.5) == []
    assert creeping(caplog, (away, CUBE), 2.5) == []
