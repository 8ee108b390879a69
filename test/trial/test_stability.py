"""Scenes that are physically impossible are rejected; scenes that settle are accepted."""

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
from gz_testauto.trial.contacts import ContactClassifier
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


class StabilityScene:
    """A world with a robot; a test specifies the poses of its models over time."""

    def __init__(self, *models):
        self.scene = scene_of(*models)
        self.poses = {name: model.pose for name, model in self.scene.models.items()}
        self.poses["robot"] = Pose()
        self.check = StabilityCheck(
            self.scene,
            LowestLevels(self.scene),
            BODY,
            ContactClassifier("robot", ["ground::l::c"]),
            1.0,
        )
        self.at(0.0)

    def at(self, time_s, collision=None, contacts=(), **poses):
        states = {name: ModelState(pose) for name, pose in {**self.poses, **poses}.items()}
        self.check.check(Snapshot(time_s, states, {}, contacts=contacts), time_s, collision)


def test_model_that_is_thrown_away_is_rejected_with_its_distance():
    scene = StabilityScene(PLANE, SHELF)
    says = r"shelf moved 12\.40 m in 0\.50 s without being touched by the robot"
    with pytest.raises(SceneError, match=says):
        scene.at(0.5, shelf=Pose((16.4, 0.0, 1.0)))


def test_error_for_impossible_motions_lists_three_models_and_counts_the_others():
    shelves = [model(f"shelf_{k}", f"{2 * k} 0 1 0 0 0") for k in range(6)]
    scene = StabilityScene(PLANE, *shelves)
    flung = {f"shelf_{k}": Pose((2.0 * k, 30.0, 1.0)) for k in range(6)}
    with pytest.raises(SceneError, match=r"shelf_0 .*shelf_2 .*; so did 3 .* <pose>"):
        scene.at(0.5, **flung)


def test_model_that_sinks_into_the_ground_is_rejected_with_its_name():
    scene = StabilityScene(PLANE, SHELF)
    with pytest.raises(SceneError, match=r"shelf sank by 1\.20 m in 0\.50 s, to z = -0\.20 m"):
        scene.at(0.5, shelf=Pose((4.0, 0.0, -0.2)))
    # Without a plane the ground is unknown: a model must fall below the whole world.
    floorless = StabilityScene(model("room", "0 0 1 0 0 0", "9 9 2", static=1), SHELF)
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
def test_model_that_settles_falls_topples_or_slides_is_accepted(time_s, pose):
    high = pose.position[2] > 1.5 or time_s == 0.9
    StabilityScene(PLANE, model("shelf", f"4 0 {5 if high else 1} 0 0 0", "1 0.4 2")).at(
        time_s, shelf=pose
    )


def test_model_that_a_robot_pushes_is_accepted():
    crate = StabilityScene(PLANE, model("crate", "0.9 0 0.25 0 0 0", "0.5 0.5 0.5"))
    touch = ContactEpisode(0.6, 0.6, "crate", 1.0, "contact")
    crate.at(0.7, collision=touch, crate=Pose((1.3, 0.0, 0.25)))


def test_model_with_a_plugin_can_move_up_to_a_limit():
    plugin = '<plugin name="p" filename="libwalk.so"/>'
    scene = StabilityScene(PLANE, model("walker", "3 0 1 0 0 0", plugin=plugin))
    scene.at(1.0, walker=Pose((6.0, 0.0, 1.0)))
    with pytest.raises(SceneError, match="walker moved 30"):
        scene.at(1.0, walker=Pose((33.0, 0.0, 1.0)))


def test_stability_is_checked_only_in_the_first_second():
    StabilityScene(PLANE, SHELF).at(1.1, shelf=Pose((90.0, 0.0, 1.0)))


def test_model_far_from_its_origin_can_topple():
    far = '<model name="f"><link name="l"><collision name="c"><pose>20 0 1 0 0 0</pose><geometry>'
    far += "<box><size>0.5 0.5 2</size></box></geometry></collision></link></model>"
    scene = StabilityScene(PLANE, far)
    scene.at(0.8, f=Pose.from_rpy(0.02, 0, 0.9, 0, 0.05, 0))  # by 5 cm of its middle


def contact(depth_m, partner="room::l::c"):
    return Contact(0.1, "robot::b::c", partner, ((0, 0, 0.5),), ((1, 0, 0),), (depth_m,))


def test_robot_that_starts_inside_a_model_is_rejected_with_the_model_name():
    scene = StabilityScene(PLANE, WALL)
    scene.at(0.1, contacts=(contact(0.01, "wall::l::c"),))
    with pytest.raises(SceneError, match=r"the robot is 0\.74 m deep in room after 0\.10 s"):
        scene.at(0.1, contacts=(contact(0.74),))


def test_robot_that_touches_a_model_at_the_start_is_rejected():
    touch = ContactEpisode(0.0, 0.0, "crate", 0.0, "geometry")
    scene = StabilityScene(PLANE)
    again = StabilityCheck(
        scene.scene, LowestLevels(scene.scene), BODY, ContactClassifier("robot", []), 1.0
    )
    scene.check = again
    with pytest.raises(SceneError, match=r"crate.*geometry.*robot\.start"):
        scene.at(0.0, collision=touch)


def test_robot_that_sinks_or_is_thrown_up_is_rejected():
    scene = StabilityScene(PLANE, WALL)
    scene.at(1.0, robot=Pose((0.5, 0.0, -0.01)))
    with pytest.raises(SceneError, match=r"sank by 0\.26 m in 1\.00 s, to z = -0\.26 m, 0\.26 m"):
        scene.at(1.0, robot=Pose((0.5, 0.0, -0.26)))
    with pytest.raises(SceneError, match=r"thrown up by 1\.50 m.*move robot.start"):
        scene.at(0.5, robot=Pose((0.5, 0.0, 1.5)))


@pytest.mark.parametrize(("ground_m", "start_m"), [(0.0, 0.15), (-2.0, 1.0), (2.0, 2.15)])
def test_robot_that_drops_onto_soft_ground_is_accepted(ground_m, start_m):
    ground = PLANE.replace("<pose>0 0 0 ", f"<pose>0 0 {ground_m} ")
    scene = StabilityScene(ground, WALL)
    for depth_m in (0.0, 0.09, 0.11):
        fresh = StabilityScene(ground, WALL)
        fresh.check = StabilityCheck(
            scene.scene, LowestLevels(scene.scene), BODY, ContactClassifier("robot", []), 1.0
        )
        fresh.at(0.0, robot=Pose((0.0, 0.0, start_m)))
        landed = Pose((0.0, 0.0, ground_m - depth_m))
        if depth_m <= 0.1:
            fresh.at(0.5, robot=landed)
        else:
            with pytest.raises(SceneError, match=r"0\.11 m below the ground"):
                fresh.at(0.5, robot=landed)


def test_lowest_ground_of_the_world_is_the_limit_of_a_fall():
    slab = model("slab", "0 0 -0.05 0 0 0", "20 20 0.1", static=1)
    cellar = model("cellar", "0 0 -3.05 0 0 0", "20 20 0.1", static=1)
    assert LowestLevels(scene_of(slab)).bottom_m(0, 0) == pytest.approx(-0.1)
    assert LowestLevels(scene_of(slab)).floor_m(0, 0) == pytest.approx(0.0)
    assert LowestLevels(scene_of(slab, cellar)).bottom_m(0, 0) == pytest.approx(-3.1)
    assert LowestLevels(scene_of(PLANE, WALL)).bottom_m(0, 0) == 0.0
    assert LowestLevels(scene_of()).bottom_m(0, 0) == -math.inf


def test_level_of_a_sloped_plane_depends_on_the_position():
    slope = model(
        "s", "0 0 1 0 0 0", static=1, shape="<plane><normal>-0.5 0 0.866</normal></plane>"
    )
    levels = LowestLevels(scene_of(slope))
    assert levels.bottom_m(0.0, 0.0) == pytest.approx(1.0 / 0.866)
    assert levels.bottom_m(2.0, 7.0) == pytest.approx((1.0 + 2.0 * 0.5) / 0.866)


TABLE = model("table", "4 0 0.5 0 0 0", "1 1 1")
CUBE = model("cube", "4 0 1.05 0 0 0", "0.1 0.1 0.1")


def creeping(caplog, models, mm_per_s, **end):
    """Return the warnings of a second in which the cube moves sideways at this speed."""
    stability._LOGGED.clear()
    caplog.clear()
    scene = StabilityScene(PLANE, *models)
    for tenth in range(1, 11):
        x = 4.0 + mm_per_s / 1000 * tenth / 10
        scene.at(tenth / 10, cube=Pose((x, 0.0, 1.05)), **end)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("mm_per_s", [0.6, 2.5, 20])
def test_model_that_creeps_on_a_dynamic_model_is_logged_once_with_a_remedy(caplog, mm_per_s):
    (message,) = creeping(caplog, (TABLE, CUBE), mm_per_s)
    assert f"cube creeps on table at {mm_per_s:.1f} mm/s; put <min_depth>0.001" in message


@pytest.mark.parametrize("mm_per_s", [0.0, 0.3, 40])
def test_model_that_rests_or_moves_is_not_logged_as_creeping(caplog, mm_per_s):
    assert creeping(caplog, (TABLE, CUBE), mm_per_s) == []


def test_model_without_a_dynamic_model_below_it_is_not_logged_as_creeping(caplog):
    static = model("table", "4 0 0.5 0 0 0", "1 1 1", static=1)
    away = model("table", "6 0 0.5 0 0 0", "1 1 1")
    assert creeping(caplog, (static, CUBE), 2.5) == []
    assert creeping(caplog, (away, CUBE), 2.5) == []
