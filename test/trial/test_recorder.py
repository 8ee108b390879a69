import math

import numpy as np
import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import Contact, ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.floor import obstructing_heights
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.sdf.scene import read_scene
from gz_testauto.trial.clearance import ObstacleField, footprint_at
from gz_testauto.trial.contacts import ContactClassifier
from gz_testauto.trial.recorder import CycleTimes, Recorder

WORLD = """<sdf version="1.6"><world name="w">
<model name="meadow"><static>1</static><link name="l"><collision name="c">
  <geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>
<model name="sheet"><static>1</static><pose>0 0 0.005 0 0 0</pose><link name="l">
  <collision name="c"><geometry><box><size>1 1 0.01</size></box></geometry></collision>
  </link></model>
<model name="bridge"><static>1</static><pose>0 0 3 0 0 0</pose><link name="l">
  <collision name="c"><geometry><box><size>9 9 1</size></box></geometry></collision>
  </link></model>
<model name="wall"><static>1</static><pose>0 5 1 0 0 0</pose><link name="l">
  <collision name="c"><geometry><box><size>10 0.2 2</size></box></geometry></collision>
  </link></model>
<model name="robot_charger"><static>1</static><pose>0 -4 1 0 0 0</pose><link name="l">
  <collision name="c"><geometry><box><size>1 1 2</size></box></geometry></collision>
  </link></model>
<model name="crate"><pose>4 0 0.5 0 0 0.7853981633974483</pose><link name="l">
  <collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>
  </link></model>
</world></sdf>"""

HEIGHTS = obstructing_heights((0.0, 1.2))
BODY = RobotBody("robot", ((0.5, 0.3), (-0.5, 0.3), (-0.5, -0.3), (0.5, -0.3)), (0.0, 1.2))
CRATE = Pose.from_rpy(4, 0, 0.5, 0, 0, math.pi / 4)


@pytest.fixture
def scene():
    return read_scene(SdfDocument.parse(WORLD, "test.world"))


@pytest.fixture
def recorder(scene):
    return Recorder(
        BODY,
        ObstacleField(scene, HEIGHTS),
        ContactClassifier("robot", ["meadow::l::c"]),
    )


def snapshot(time_s, x, y=0.0, yaw=0.0, crate=CRATE, contacts=(), **twist):
    models = {"robot": ModelState(Pose.from_rpy(x, y, 0, 0, 0, yaw), **twist)}
    if crate is not None:
        models["crate"] = ModelState(crate)
    return Snapshot(time_s, models, {}, contacts=tuple(contacts))


def recording(recorder):
    return recorder.recording(True, CycleTimes())


def clearance(recorder, *arguments, **options):
    recorder.sample(snapshot(*arguments, **options))
    return recording(recorder).clearance_m[-1]


def test_clearance_is_the_distance_from_the_footprint_to_the_nearest_collision_shape(recorder):
    # The crate is rotated by 45°: its corner is at x = 4 − √½, the front of the robot at 0.5.
    assert clearance(recorder, 0.0, 0.0) == pytest.approx(4 - math.sqrt(0.5) - 0.5)
    assert clearance(recorder, 0.1, 0.0, y=4.0) == pytest.approx(0.9 - 0.3)
    # Rotated by 90°, its long axis points to the wall.
    assert clearance(recorder, 0.2, 0.0, y=4.0, yaw=math.pi / 2) == pytest.approx(0.9 - 0.5)


def test_ground_and_flat_sheet_and_bridge_are_not_obstacles(recorder):
    assert clearance(recorder, 0.0, 0.0) > 2.0
    assert recorder.collision is None


def test_clearance_follows_an_obstacle_that_is_moved_or_deleted(recorder):
    before = clearance(recorder, 0.0, 0.0)
    moved = Pose.from_rpy(4.3, 0, 0.5, 0, 0, math.pi / 4)
    assert clearance(recorder, 0.1, 0.0, crate=moved) == pytest.approx(before + 0.3)
    turned = Pose.from_rpy(4.0, 0, 0.5, 0, 0, 0.0)
    assert clearance(recorder, 0.2, 0.0, crate=turned) == pytest.approx(3.5 - 0.5)
    # Without the crate, the charger is nearest: its near side is 3.5 m away.
    assert clearance(recorder, 0.3, 0.0, crate=None) == pytest.approx(3.5 - 0.3)


def test_clearance_uses_the_new_outline_of_an_obstacle_that_tipped_over(recorder):
    # On its edge, the crate is √2 long in x.
    tipped = Pose.from_rpy(4, 0, math.sqrt(0.5), 0, math.pi / 4, 0)
    assert clearance(recorder, 0.0, 0.0, crate=tipped) == pytest.approx(
        4 - math.sqrt(0.5) - 0.5, abs=1e-6
    )


def test_overlap_without_a_reported_contact_is_a_collision(recorder):
    recorder.sample(snapshot(0.0, 2.0, linear_mps=(0.8, 0, 0), angular_radps=(0, 0, 0)))
    assert recorder.collision is None
    assert clearance(recorder, 0.1, 2.9, linear_mps=(0.1, 0, 0), angular_radps=(0, 0, 0)) == 0.0
    touch = recorder.collision
    assert (touch.partner, touch.source, touch.start_s) == ("crate", "geometry", 0.1)
    assert touch.speed_mps == 0.8  # before the impact, not after it


def test_recorded_contact_has_the_time_of_the_contact(recorder):
    hit = Contact(10.04, "robot::b::c", "crate::l::c", ((3.3, 0, 0.5),), ((-1, 0, 0),))
    ground = Contact(10.04, "robot::w::c", "meadow::l::c", ((0, 0, 0),), ((0, 0, 1),))
    recorder.sample(snapshot(10.0, 2.0))
    recorder.sample(snapshot(10.1, 2.1, contacts=[ground, hit]))
    assert recorder.collision.start_s == pytest.approx(0.04)
    assert (recorder.collision.partner, recorder.collision.source) == ("crate", "contact")
    assert len(recording(recorder).contacts) == 1


def test_collision_with_a_model_whose_name_contains_that_of_the_robot_is_recorded(recorder):
    assert clearance(recorder, 0.0, 0.0, y=-3.0) == pytest.approx(0.5 - 0.3)


def test_recorded_time_starts_with_the_first_snapshot(recorder):
    recorder.sample(snapshot(50.0, 0.0))
    recorder.commanded(Twist2D(0.5, 0.1))
    recorder.sample(snapshot(50.1, 0.0))
    rows = recording(recorder)
    assert rows.time_s == pytest.approx([0.0, 0.1])
    assert rows.command[0] == pytest.approx([0.5, 0.1])
    assert np.isnan(rows.command[1]).all()


def test_recording_contains_height_roll_and_pitch(recorder):
    for roll, pitch, z in ((0.0, 0.0, 0.0), (0.2, -0.1, 0.5)):
        pose = Pose.from_rpy(0, 0, z, roll, pitch, 2.0)
        recorder.sample(Snapshot(z, {"robot": ModelState(pose)}, {}))
    rows = recording(recorder)
    assert rows.z_m == pytest.approx([0.0, 0.5])
    assert rows.roll_pitch_rad[1] == pytest.approx([0.2, -0.1])
    assert rows.pose[1] == pytest.approx([0.0, 0.0, 2.0])
    assert recorder.tilt_rad[1] == pytest.approx(math.acos(math.cos(0.2) * math.cos(-0.1)))


def test_highest_and_lowest_points_of_a_body_depend_on_its_rotation():
    assert BODY.span_m(Pose((0, 0, 2.0))) == pytest.approx((2.0, 3.2))
    on_its_side = Pose.from_rpy(0, 0, 2.0, math.pi / 2, 0, 1.0)
    assert BODY.span_m(on_its_side) == pytest.approx((1.7, 2.3))


def test_twist_is_transformed_into_the_base_frame(recorder):
    recorder.sample(
        snapshot(0.0, 0.0, yaw=math.pi / 2, linear_mps=(0, 0.7, 0), angular_radps=(0, 0, 0.2))
    )
    assert recording(recorder).twist[0] == pytest.approx([0.7, 0.0, 0.2], abs=1e-12)


def test_twist_is_computed_from_poses_if_the_simulator_does_not_report_it(recorder):
    recorder.sample(snapshot(0.0, 0.0, yaw=3.1))
    recorder.sample(snapshot(0.1, -0.05, yaw=-3.1))
    assert recording(recorder).twist[1] == pytest.approx(
        [0.5 * math.cos(3.1) * -1, 0.5 * math.sin(3.1) * -1, (2 * math.pi - 6.2) / 0.1], abs=0.05
    )


def test_missing_robot_makes_the_trial_invalid(recorder):
    with pytest.raises(SimulatorError, match="'robot' is not in the simulation"):
        recorder.sample(Snapshot(0.0, {"crate": ModelState(CRATE)}, {}))


def test_all_samples_of_a_long_trial_are_recorded(recorder):
    for index in range(1500):
        recorder.sample(snapshot(0.1 * index, 0.0, y=1e-3 * index))
    assert recording(recorder).pose[:, 1] == pytest.approx(1e-3 * np.arange(1500))


def test_equal_snapshots_give_identical_recordings_after_other_trials(scene):
    def measure():
        recorder = Recorder(
            BODY,
            ObstacleField(scene, HEIGHTS),
            ContactClassifier("robot", ["meadow::l::c"]),
        )
        tipped = Pose.from_rpy(4, 0, 0.6, 0, 0.3, 0.1)
        for index, crate in enumerate((CRATE, tipped, CRATE)):
            recorder.sample(snapshot(0.1 * index, 0.0, crate=crate))
        return recording(recorder).clearance_m

    assert (measure() == measure()).all()


def test_clearances_computed_at_the_end_equal_those_of_each_sample():
    walls = WORLD.replace('<model name="crate">', '<model name="crate"><static>1</static>')
    scene = read_scene(SdfDocument.parse(walls, "test.world"))
    field = ObstacleField(scene, HEIGHTS)
    recorder = Recorder(BODY, field, ContactClassifier("robot", ["meadow::l::c"]))
    generator = np.random.default_rng(8)
    x, y, yaw, expected = -3.0, 0.0, 0.0, []
    for period in range(80):
        x, y, yaw = x + 0.1, y + generator.uniform(-0.05, 0.05), yaw + generator.uniform(-0.3, 0.3)
        shown = snapshot(0.1 * period, x, y, yaw)
        recorder.sample(shown)
        body = footprint_at(np.asarray(BODY.footprint_m), shown.models["robot"].pose.planar)
        expected.append(field.nearest(body, {}).distance_m)
        assert (recorder.collision is not None) == (min(expected) <= 0.0)
    assert recorder.collision is not None
    assert recording(recorder).clearance_m.tolist() == expected
