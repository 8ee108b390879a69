"""The monitor of a trial, several goals, and the limits of the stability check."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import shapely
from scripted import short_recording

from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.base.observation import Contact, ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.metrics.recording import ContactEpisode
from gz_testauto.planners.interface import Lane
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.floor import Heights
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.sdf.scene import read_scene
from gz_testauto.trial import stability
from gz_testauto.trial.clearance import ObstacleField, footprint_at
from gz_testauto.trial.contacts import ContactClassifier
from gz_testauto.trial.executor import TrialResult, scene_faults
from gz_testauto.trial.lockstep import with_companion_result
from gz_testauto.trial.monitor import TrialMonitor
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.recorder import CycleTimes, Recorder
from gz_testauto.trial.stability import LowestLevels, StabilityCheck
from gz_testauto.trial.termination import TerminationRules
from gz_testauto.worlds.record import WorldRecord

BODY = RobotBody("robot", ((0.5, 0.3), (-0.5, 0.3), (-0.5, -0.3), (0.5, -0.3)), (0.0, 1.2))
CRATE = (
    '<model name="{}"><static>{}</static><pose>{} {} 0.5 0 0 0</pose><link name="l"><collision '
    'name="c"><geometry><box><size>1 1 1</size></box></geometry></collision></link>{}</model>'
)
PLANE = (
    '<model name="ground"><static>1</static><link name="l"><collision name="c"><geometry><plane>'
    "<normal>0 0 1</normal></plane></geometry></collision></link></model>"
)


def scene_of(*models, floor=PLANE, more=""):
    text = f'<sdf version="1.6"><world name="w">{more}{floor}{"".join(models)}</world></sdf>'
    return read_scene(SdfDocument.parse(text, "test.world"))


def monitor(*goals, estimate=None, floor=PLANE, max_off_road_m=math.inf, lanes=()):
    first, *further = goals or (Pose2D(10, 0),)
    given = TerminationRules(
        goal=first,
        tolerance_m=0.5,
        timeout_s=60.0,
        stuck_window_s=5.0,
        stuck_distance_m=0.25,
        max_linear_mps=2.0,
        max_tilt_rad=0.8,
        max_off_road_m=max_off_road_m,
        further=tuple(further),
    )
    scene = scene_of(floor=floor)
    contacts, levels = ContactClassifier("robot", ["ground::l::c"]), LowestLevels(scene)
    recorder = Recorder(BODY, ObstacleField(scene, Heights(0.01, 2.0)), contacts, lanes=lanes)
    look = StabilityCheck(scene, levels, BODY, contacts, 2.0)
    world = WorldRecord(0, "w", "w.world", "", 12.5)
    return TrialMonitor(given, recorder, look, world, estimate)


def lane(y_m):
    return Lane(np.array([[-5.0, y_m], [20.0, y_m]]), np.array([3.5, 3.5]))


@pytest.mark.parametrize("lanes", [(), (lane(0.0),), (lane(-3.5), lane(0.0))])
@pytest.mark.parametrize("y_m", [2.44, 2.46])
def test_corner_of_the_robot_farther_than_the_limit_from_all_lanes_ends_the_trial(y_m, lanes):
    """The left corners are 0.3 m from the base, and the edge of the left lane is at 1.75 m."""
    watch = monitor(max_off_road_m=1.0, lanes=lanes)
    verdict = watch.observe(Snapshot(0.0, {"robot": ModelState(Pose((0.0, y_m, 0.0)))}, {}))
    assert (verdict is not None) == (bool(lanes) and y_m > 2.45)
    if verdict is not None:
        assert verdict.outcome is Outcome.LEFT_ROAD
        assert verdict.detail.startswith("1.01 m from all lanes at 0.00 s")


def at(time_s, x_m, z_m=0.0, roll=0.0):
    return Snapshot(time_s, {"robot": ModelState(Pose.from_rpy(x_m, 0, z_m, roll, 0, 0))}, {})


def test_goals_are_visited_in_order_with_their_times():
    watch = monitor(Pose2D(1, 0), Pose2D(2, 0), Pose2D(3, 0))
    assert (watch.goal, watch.visited, watch.goal_is_new) == (Pose2D(1, 0), 0, False)
    seen = []
    for tick, x_m in enumerate((0.0, 0.4, 0.6, 0.9, 1.6, 2.4, 2.6)):
        verdict = watch.observe(at(7.0 + 0.5 * tick, x_m))
        seen.append((watch.goal.x_m, watch.visited, watch.goal_is_new))
    assert seen == [
        (1, 0, False), (1, 0, False), (2, 1, True), (2, 1, False), (3, 2, True), (3, 2, False),
        (3, 2, False),
    ]  # fmt: skip
    assert verdict.outcome is Outcome.REACHED
    result = watch.result(verdict, CycleTimes(), 4.5)
    assert result.recording.goal_times_s.tolist() == [1.0, 2.0, 3.0]
    assert (result.recording.completed, result.recording.wall_time_s) == (True, 4.5)
    assert result.recording.shortest_path_m == 12.5
    assert (result.outcome, result.detail) == (verdict.outcome, verdict.detail)


def test_goals_at_one_position_have_the_same_time_and_unreached_goals_have_none():
    watch = monitor(Pose2D(1, 0), Pose2D(1.2, 0), Pose2D(9, 0))
    watch.observe(at(0.0, 0.0))
    assert watch.observe(at(1.0, 1.0)) is None
    assert (watch.visited, watch.goal_is_new) == (2, True)
    verdict = watch.planner_aborted("no path")
    assert verdict.outcome is Outcome.PLANNER_ABORTED
    times_s = watch.result(verdict, CycleTimes()).recording.goal_times_s
    assert times_s[:2].tolist() == [1.0, 1.0] and math.isnan(times_s[2])


def test_planner_that_aborts_within_the_tolerance_has_reached_the_goal():
    watch = monitor(Pose2D(1, 0))
    assert watch.observe(at(0.0, 0.0)) is None
    watch.commanded(Twist2D(0.5, 0.1))
    verdict = watch.observe(at(0.5, 0.7))
    assert watch.planner_aborted("no path").outcome is Outcome.REACHED
    recording = watch.result(verdict, CycleTimes()).recording
    assert recording.goal_times_s is None
    assert recording.command[0].tolist() == [0.5, 0.1]
    assert np.isnan(recording.command[1]).all()
    assert (watch.pose, watch.twist.linear_mps) == (Pose2D(0.7, 0, 0), pytest.approx(1.4))


def test_robot_must_be_upright_when_the_goal_is_sent():
    with pytest.raises(SceneError):
        monitor().observe(at(0.0, 0.0, roll=0.81))
    monitor().observe(at(0.0, 0.0, roll=0.79))
    with pytest.raises(SceneError):
        monitor().require_upright(Pose((0.0, 0.0, -1.21)))
    monitor().require_upright(Pose((0.0, 0.0, -1.19)))


SHELF = CRATE.format("shelf", 0, 4, 0, "")


class Look:
    """The stability check of a scene with a shelf at (4, 0) and a robot above the origin."""

    def __init__(self, *models, max_mps=1.0, start_m=0.0, **scene):
        self.scene = scene_of(*(models or (SHELF,)), **scene)
        self.poses = {name: model.pose for name, model in self.scene.models.items()}
        self.poses["robot"] = Pose((0.0, 0.0, start_m))
        contacts = ContactClassifier("robot", ["ground::l::c"])
        self.look = StabilityCheck(self.scene, LowestLevels(self.scene), BODY, contacts, max_mps)
        self.at(0.0)

    def at(self, time_s, collision=None, contacts=(), **poses):
        states = {name: ModelState(pose) for name, pose in {**self.poses, **poses}.items()}
        self.look.check(Snapshot(time_s, states, {}, contacts=contacts), time_s, collision)


def test_robot_that_drives_down_a_slope_has_not_fallen():
    slope = PLANE.replace("<normal>0 0 1<", "<normal>-1 0 2<")  # z is x / 2
    watch = monitor(floor=slope)
    for second in range(6):
        assert watch.observe(at(float(second), -second, -second / 2)) is None
    with pytest.raises(SceneError, match="the robot fell"):
        watch.observe(at(6.0, -6.0, -4.5))


def touch(partner="shelf"):
    return ContactEpisode(0.1, 0.1, partner, 1.0, "contact")


ACROSS = 0.3 + 9.81 / 4 * 0.5**2


@pytest.mark.parametrize(
    ("pose", "collision", "more", "valid"),
    [
        ((4 + ACROSS - 1e-3, 0, 0.5), None, "", True),
        ((4 + ACROSS + 1e-3, 0, 0.5), None, "", False),
        ((4, -ACROSS - 1e-3, 0.5), None, "", False),
        ((4, 0, 0.799), None, "", True),
        ((4, 0, 0.801), None, "", False),
        ((4 + 5.299, 0, 0.5), touch(), "", True),
        ((4 + 5.301, 0, 0.5), touch(), "", False),
        ((4 + 5.299, 0, 0.5), touch("other"), "", False),
        ((4, 0, 5.799), touch(), "", True),
        ((4 + 5.299, 0, 0.5), None, '<plugin name="p" filename="libmove.so"/>', True),
        ((4 + 5.301, 0, 0.5), None, '<plugin name="p" filename="libmove.so"/>', False),
        ((4, 0, -0.099), None, "", True),
        ((4, 0, -0.101), None, "", False),
        ((math.nan, 0, 0.5), None, "", False),
    ],
)
def test_allowed_motion_of_a_model_depends_on_contact_and_plugin(pose, collision, more, valid):
    shelf = Pose(tuple(map(float, pose)))
    look = Look(more=more)
    if valid:
        look.at(0.5, collision, shelf=shelf)
        return
    with pytest.raises(SceneError, match="shelf"):
        look.at(0.5, collision, shelf=shelf)


def test_stability_check_includes_the_end_of_the_first_second():
    with pytest.raises(SceneError):
        Look().at(1.0, shelf=Pose((90.0, 0.0, 0.5)))
    Look().at(1.0001, shelf=Pose((90.0, 0.0, 0.5)))


def test_models_without_collisions_static_and_deleted_models_are_not_checked():
    bare = '<model name="bare"><pose>3 0 0 0 0 0</pose><link name="l"/></model>'
    look = Look(bare, CRATE.format("fixed", 1, 4, 0, ""), SHELF)
    look.at(0.5, bare=Pose((90.0, 0.0, 0.0)), fixed=Pose((90.0, 0.0, 0.5)))
    del look.poses["shelf"]
    look.at(0.6)


@pytest.mark.parametrize(("z_m", "valid"), [(0.79, True), (0.81, False)])
def test_allowed_rise_of_the_robot_depends_on_its_speed(z_m, valid):
    look = Look(max_mps=1.0)
    if valid:
        look.at(0.5, robot=Pose((0.0, 0.0, z_m)))
        return
    with pytest.raises(SceneError):
        look.at(0.5, robot=Pose((0.0, 0.0, z_m)))


@pytest.mark.parametrize(
    ("z_m", "roll", "valid"),
    [(-0.099, 0.0, True), (-0.101, 0.0, False), (-0.5, 0.29, False), (-0.5, 0.31, True)],
)
def test_upright_robot_can_sink_by_up_to_ten_centimeters(z_m, roll, valid):
    pose = Pose.from_rpy(0, 0, z_m, roll, 0, 0)
    if valid:
        Look().at(0.5, robot=pose)
        return
    with pytest.raises(SceneError):
        Look().at(0.5, robot=pose)


@pytest.mark.parametrize(
    ("depths_m", "partner", "valid"),
    [((0.05,), "box", True), ((0.051,), "box", False), ((0.01, 0.06), "box", False),
     ((), "box", True), ((0.5,), "ground", True)],
)  # fmt: skip
def test_contact_deeper_than_five_centimeters_is_rejected(depths_m, partner, valid):
    points = max(len(depths_m), 1)
    contact = Contact(
        0.1, "robot::b::c", f"{partner}::l::c", ((0, 0, 0.5),) * points, ((1, 0, 0),) * points,
        depths_m,
    )  # fmt: skip
    if valid:
        Look().at(0.1, contacts=(contact,))
        return
    with pytest.raises(SceneError, match=partner):
        Look().at(0.1, contacts=(contact,))


FIELD = scene_of(
    CRATE.format("fixed", 1, 0, 3, ""),
    CRATE.format("near", 0, 4, 0, ""),
    CRATE.format("far", 0, 9, 0, ""),
)


def test_nearest_obstacle_can_be_static_or_movable():
    field = ObstacleField(FIELD, Heights(0.01, 2.0))
    assert not field.is_fixed
    robot, states = shapely.box(-0.5, -0.5, 0.5, 0.5), field.initial_states
    assert set(states) == {"near", "far"}
    assert field.nearest(robot, states) == (2.0, "fixed")
    moved = {**states, "far": ModelState(Pose((2.5, 0.0, 0.5)))}
    assert field.nearest(robot, moved) == (1.5, "far")
    turned = {"near": ModelState(Pose.from_rpy(0, -3, 0.5, 0, 0, math.pi / 4))}
    assert field.nearest(robot, turned).distance_m == pytest.approx(2.5 - math.sqrt(0.5))
    assert field.nearest(robot, {}) == (2.0, "fixed")
    lifted = {"near": ModelState(Pose((1.2, 0.0, 2.6)))}
    assert field.nearest(robot, lifted) == (2.0, "fixed")
    assert ObstacleField(scene_of(), Heights(0.01, 2.0)).nearest(robot, {}) == (math.inf, "")


def test_touched_obstacles_are_returned_in_alphabetical_order():
    field = ObstacleField(FIELD, Heights(0.01, 2.0))
    states = {
        "near": ModelState(Pose((1.0, 0.0, 0.5))),
        "far": ModelState(Pose((-1.001, 0.0, 0.5))),
    }
    robot = shapely.box(-0.5, -0.5, 0.5, 2.5)
    assert field.touching(robot, states) == ("fixed", "near")
    states["far"] = ModelState(Pose((-1.0, 0.0, 0.5)))
    assert field.touching(robot, states) == ("far", "fixed", "near")
    assert field.touching(robot, {}) == ("fixed",)


def test_outlines_have_the_poses_of_the_file_and_distances_are_per_shape():
    outlines = ObstacleField(FIELD, Heights(0.01, 2.0)).outlines()
    assert {name: outline.bounds for name, outline in outlines.items()} == {
        "fixed": (-0.5, 2.5, 0.5, 3.5), "near": (3.5, -0.5, 4.5, 0.5),
        "far": (8.5, -0.5, 9.5, 0.5),
    }  # fmt: skip
    field = ObstacleField(scene_of(CRATE.format("fixed", 1, 0, 3, "")), Heights(0.01, 2.0))
    shapes = np.array([shapely.Point(0, 0), shapely.Point(3.5, 7.5), shapely.Point(0, 3)])
    assert field.is_fixed
    assert field.distances_m(shapes).tolist() == [2.5, 5.0, 0.0]
    empty = ObstacleField(scene_of(), Heights(0.01, 2.0))
    assert empty.distances_m(shapes).tolist() == [math.inf] * 3


def test_footprint_is_rotated_before_it_is_moved():
    outline = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    placed = footprint_at(outline, Pose2D(10.0, 20.0, math.pi / 2))
    corners = shapely.get_coordinates(placed)[:3]
    assert corners == pytest.approx(np.array([[10.0, 22.0], [9.0, 20.0], [10.0, 20.0]]))


def test_result_of_a_companion_robot_is_added_as_numbers_and_detail():
    first = TrialResult(Outcome.REACHED, short_recording(), "after 2 s")
    hit = TrialResult(Outcome.COLLIDED, short_recording(False), "touched a box")
    both = with_companion_result(first, "guest", hit)
    assert both.outcome is Outcome.REACHED
    assert dict(both.recording.numbers) == {
        "guest_reached": 0.0, "guest_collided": 1.0,
        "guest_time_s": pytest.approx(1.9), "guest_clearance_min_m": 1.0,
    }  # fmt: skip
    assert both.detail == "after 2 s; guest collided, touched a box"
    bare = with_companion_result(TrialResult(Outcome.STUCK, short_recording()), "guest", first)
    assert bare.detail == "guest reached, after 2 s"
    assert bare.recording.numbers["guest_reached"] == 1.0
    silent = with_companion_result(first, "guest", TrialResult(Outcome.STUCK, short_recording()))
    assert silent.detail == "after 2 s; guest stuck"


def test_numbers_and_series_are_added_to_a_result():
    result = TrialResult(Outcome.REACHED, short_recording())
    assert result.with_values({}).recording.numbers == result.recording.numbers
    more = result.with_values({"a": 1.0}).with_values({"b": 2.0, "a": 3.0})
    assert more.recording.numbers == {"a": 3.0, "b": 2.0}
    series = more.with_values({}, {"s": np.zeros(2)}).with_values({}, {"t": np.ones(1)})
    assert set(series.recording.series) == {"s", "t"}
    with pytest.raises(ValueError, match="invalid"):
        TrialResult(Outcome.INVALID, short_recording())


def test_scene_error_becomes_a_simulator_error_if_the_simulator_is_not_repeatable():
    with pytest.raises(SceneError), scene_faults(repeatable=True):
        raise SceneError("crate")
    with pytest.raises(SimulatorError, match="crate") as caught, scene_faults(repeatable=False):
        raise SceneError("crate")
    assert not isinstance(caught.value, SceneError)


def recorder(**options):
    obstacles = ObstacleField(scene_of(), Heights(0.01, 2.0))
    return Recorder(BODY, obstacles, ContactClassifier("robot", ["ground::l::c"]), **options)


def snapshot(time_s, *pose, **others):
    models = {"robot": ModelState(Pose.from_rpy(*pose[:2], 0, 0, 0, pose[2]))}
    return Snapshot(time_s, {**models, **others}, {})


@pytest.mark.parametrize(
    ("yaw_rad", "twist"),
    [(0.0, (0.8, 1.2, 0.0)), (math.pi / 2, (1.2, -0.8, 0.0)), (math.pi, (-0.8, -1.2, 0.0))],
)
def test_velocity_is_displacement_divided_by_time_in_the_base_frame(yaw_rad, twist):
    """0.2 m and 0.3 m in 0.25 s: 0.8 m/s along x and 1.2 m/s along y."""
    samples = recorder()
    samples.sample(snapshot(3.0, 5.0, 7.0, yaw_rad))
    samples.sample(snapshot(3.25, 5.2, 7.3, yaw_rad))
    found = samples.recording(True, CycleTimes())
    assert found.twist[0].tolist() == [0.0, 0.0, 0.0]
    assert found.twist[1].tolist() == pytest.approx(twist)
    assert found.time_s.tolist() == [0.0, 0.25]


def test_yaw_difference_across_180_degrees_is_the_shorter_one():
    samples = recorder()
    samples.sample(snapshot(0.0, 0.0, 0.0, math.pi - 0.1))
    samples.sample(snapshot(0.5, 0.0, 0.0, 0.1 - math.pi))
    twist = samples.recording(True, CycleTimes()).twist
    assert twist[1, 2] == pytest.approx(0.4)


def test_actors_and_lanes_are_recorded_with_their_outlines():
    outline = np.array([[0.2, 0.0], [0.0, 0.2], [-0.2, 0.0]])
    lane = SimpleNamespace(
        center_m=np.array([[0.0, 0.0], [9.0, 0.0]]), width_m=np.array([3.0, 4.0])
    )
    samples = recorder(actors={"walker": outline}, lanes=[lane])
    samples.sample(snapshot(0.0, 0.0, 0.0, 0.0, walker=ModelState(Pose((1.0, 2.0, 0.9)))))
    samples.sample(snapshot(0.1, 0.0, 0.0, 0.0))
    series = samples.recording(True, CycleTimes()).series
    assert series["actor_walker"][0].tolist() == [1.0, 2.0, 0.0]
    assert np.isnan(series["actor_walker"][1]).all()
    assert series["outline_walker"] is outline
    assert series["lane_0"].tolist() == [[0.0, 0.0, 3.0], [9.0, 0.0, 4.0]]
    corners = series["footprint"]
    assert sorted(map(tuple, corners.tolist())) == sorted(BODY.footprint_m)
    assert shapely.LinearRing(corners).is_ccw
    assert recorder().recording(True, CycleTimes()).series == {}


@pytest.mark.parametrize(
    ("z_m", "valid"), [(1.29, True), (1.31, False), (0.401, True), (0.399, False)]
)
def test_rise_of_the_robot_is_relative_to_its_start(z_m, valid):
    """The robot starts at 0.5 m on a plane at 0.5 m."""
    plane = PLANE.replace("<static>", "<pose>0 0 0.5 0 0 0</pose><static>")
    look = Look(floor=plane, start_m=0.5)
    if valid:
        look.at(0.5, robot=Pose((0.0, 0.0, z_m)))
        return
    with pytest.raises(SceneError):
        look.at(0.5, robot=Pose((0.0, 0.0, z_m)))


@pytest.mark.parametrize(
    ("mmps", "rise_mm", "logged"),
    [(2.5, 0.0, True), (2.5, 0.4, True), (2.5, 0.6, False), (2.5, -0.6, False), (0.4, 0.0, False),
     (26.0, 0.0, False)],
)  # fmt: skip
def test_only_horizontal_motion_is_logged_as_creeping(caplog, monkeypatch, mmps, rise_mm, logged):
    monkeypatch.setattr(stability, "_LOGGED", set())
    cube = CRATE.format("cube", 0, 4, 0, "").replace("0.5 0 0 0", "1.5 0 0 0", 1)
    look = Look(CRATE.format("table", 0, 4, 0, ""), cube)
    look.at(0.5)
    look.at(0.79, cube=Pose((4.5, 0.0, 1.5)))  # 0.3 s are not over yet
    assert caplog.records == []
    look.at(0.9, cube=Pose((4 + 0.4 * mmps / 1000, 0.0, 1.5 + rise_mm / 1000)))
    assert [record.args[1:3] for record in caplog.records] == (
        [("cube", "table")] if logged else []
    )
    assert [record.args[3] for record in caplog.records] == [pytest.approx(mmps)] * logged


@pytest.mark.parametrize("x_m", [-30.0, 10.0, 40.0])
@pytest.mark.parametrize("y_m", [-50.0, 20.0])
def test_moving_obstacle_is_found_far_from_the_origin(x_m, y_m):
    field = ObstacleField(scene_of(CRATE.format("near", 0, 4, 0, "")), Heights(0.01, 2.0))
    robot = shapely.box(x_m - 1, y_m - 0.5, x_m + 1, y_m + 0.5)
    fixed = CRATE.format("fixed", 1, x_m, y_m + 7, "")
    both = ObstacleField(scene_of(CRATE.format("near", 0, 4, 0, ""), fixed), Heights(0.01, 2.0))
    beside = {"near": ModelState(Pose((x_m + 3.5, y_m, 0.5)))}
    assert both.nearest(robot, beside) == (2.0, "near")
    touching = {"near": ModelState(Pose((x_m - 1.25, y_m - 0.75, 0.5)))}
    assert field.nearest(robot, touching).distance_m == 0.0
    assert field.touching(robot, touching) == ("near",)
    assert field.touching(robot, beside) == ()


@pytest.mark.parametrize("axis", ["roll", "pitch"])
@pytest.mark.parametrize(("tilt_rad", "kept"), [(0.0009, True), (-0.0009, True), (0.0011, False)])
def test_obstacle_that_tilts_by_less_than_a_milliradian_keeps_its_outline(axis, tilt_rad, kept):
    """A cube of 1 m that is tilted by a small angle is wider by half of it on each side."""
    field = ObstacleField(scene_of(CRATE.format("near", 0, 4, 0, "")), Heights(-9.0, 9.0))
    roll, pitch = (tilt_rad, 0.0) if axis == "roll" else (0.0, tilt_rad)
    states = {"near": ModelState(Pose.from_rpy(4, 0, 0.5, roll, pitch, 0))}
    point = shapely.Point(1.5, 0.0) if axis == "pitch" else shapely.Point(4.0, 2.5)
    expected = 2.0 if kept else 2.0 - abs(tilt_rad) / 2
    assert field.nearest(point, states).distance_m == pytest.approx(expected, abs=1e-6)


def test_false_report_of_the_arrival_has_its_own_outcome():
    watch = monitor(Pose2D(9, 0))
    watch.observe(at(0.0, 0.0))
    verdict = watch.reported_arrival("reported the goal reached, 9.00 m from it")
    assert verdict.outcome is Outcome.FALSE_ARRIVAL
    assert verdict.detail == "reported the goal reached, 9.00 m from it"


def test_true_report_of_the_arrival_has_the_outcome_reached():
    watch = monitor(Pose2D(1, 0))
    watch.observe(at(0.0, 0.0))
    watch.observe(at(0.5, 0.7))
    assert watch.reported_arrival("reported the goal reached").outcome is Outcome.REACHED
