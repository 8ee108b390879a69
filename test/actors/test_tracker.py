"""The objects that a tracker reports to a planner: true states, or with a tracker's errors."""

import numpy as np
import pytest
import shapely

from gz_testauto.actors.bodies import body_sdf
from gz_testauto.actors.creation import ObstacleOutlines
from gz_testauto.actors.script import Script, Timetable
from gz_testauto.actors.tracker import ObjectTracker, TrackedScene, outline_m
from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sdf.shapes import Box, Cylinder
from gz_testauto.simulators.interface import NamedModel
from gz_testauto.spec.actors import TrackingSpec

PERIOD_S = 0.1
CAR = NamedModel("car", body_sdf(Box((4.0, 2.0, 1.5)), 900.0, (0.5, 0.0, 0.75)), Pose())
PERSON = NamedModel("person", body_sdf(Cylinder(0.25, 1.7), 70.0, (0.0, 0.0, 0.85)), Pose())
SCRIPT = Script("person", (), Timetable(np.array([[5.0, 0.0], [5.0, 9.0]]), np.array([1.5])))


def tracker(spec=None, obstacles=None, behaviors=(SCRIPT,), seed=3, world=2):
    subject = TrackedScene(
        (CAR, PERSON), behaviors, ObstacleOutlines(obstacles or {}), seed, world, 0
    )
    return ObjectTracker(TrackingSpec(**(spec or {})), "robot", subject)


def snapshot(time_s, car=(10.0, 0.0, 0.0), robot=(0.0, 0.0, 0.0), there=("car", "person")):
    person = SCRIPT.expected(np.array([time_s]))[0]
    poses = {"robot": robot, "car": (car[0] + 2.0 * time_s, *car[1:]), "person": person}
    shown = {name: ModelState(Pose2D(*poses[name]).to_pose()) for name in ("robot", *there)}
    return Snapshot(time_s, shown, {})


def reported(one, until_s, **options):
    for tick in range(round(until_s / PERIOD_S) + 1):
        one.observe(snapshot(tick * PERIOD_S, **options))
    return {found.name: found for found in one.objects}


def test_tracker_without_errors_reports_true_poses_and_predictions():
    found = reported(tracker(), 1.0)
    assert list(found) == ["car", "person"]
    car, person = found["car"], found["person"]
    assert car.pose == pytest.approx((12.0, 0.0, 0.0))
    assert car.velocity == pytest.approx((2.0, 0.0, 0.0))
    assert car.age_s == 0.0
    assert car.path.shape == (81, 3)
    assert car.path[-1] == pytest.approx([12.0 + 16.0, 0.0, 0.0])  # at constant velocity
    assert person.pose == pytest.approx((5.0, 1.5, np.pi / 2))
    assert person.path[-1] == pytest.approx([5.0, 9.0, np.pi / 2])  # where its script ends
    assert person.path[10] == pytest.approx([5.0, 3.0, np.pi / 2])


def test_prediction_without_a_script_has_constant_velocity():
    person = reported(tracker({"prediction": "constant_velocity"}), 1.0)["person"]
    assert person.path[-1] == pytest.approx([5.0, 1.5 + 12.0, np.pi / 2])


def test_outlines_are_the_hull_about_the_origin_counter_clockwise():
    outline = outline_m(CAR.sdf)
    assert outline.min(axis=0) == pytest.approx([-1.5, -1.0])
    assert outline.max(axis=0) == pytest.approx([2.5, 1.0])
    assert shapely.LinearRing(outline).is_ccw
    assert shapely.Polygon(outline_m(PERSON.sdf)).area == pytest.approx(np.pi * 0.25**2, rel=0.03)


def test_absent_and_out_of_range_objects_are_not_reported():
    assert list(reported(tracker({"range_m": 6.0}), 0.5)) == ["person"]
    assert list(reported(tracker(), 0.5, there=("car",))) == ["car"]


def test_reported_state_has_the_age_of_the_delay():
    found = reported(tracker({"delay_s": 0.3, "prediction": "constant_velocity"}), 1.0)
    car = found["car"]
    assert car.age_s == pytest.approx(0.3)
    assert car.pose.x_m == pytest.approx(10.0 + 2.0 * 0.7)
    assert car.path[0] == pytest.approx([12.0, 0.0, 0.0])  # from now on, by its velocity
    assert reported(tracker({"delay_s": 0.3}), 0.2) == {}


def test_object_behind_an_obstacle_is_not_reported():
    wall = {"wall": shapely.box(7.0, -3.0, 7.2, 3.0)}
    assert list(reported(tracker({"occlusion": True}, wall), 0.0)) == ["person"]
    partly_hidden = reported(
        tracker({"occlusion": True}, {"wall": shapely.box(7.0, 0.5, 7.2, 3.0)}), 0.0
    )
    assert list(partly_hidden) == ["car", "person"]  # its right side is in sight


def test_object_behind_another_object_is_not_reported():
    one = tracker({"occlusion": True}, behaviors=())
    states = {"robot": (0, 0, 0), "car": (3.0, 0.0, np.pi / 2), "person": (9.0, 0.0, 0.0)}
    shown = {name: ModelState(Pose2D(*pose).to_pose()) for name, pose in states.items()}
    one.observe(Snapshot(0.0, shown, {}))
    assert [found.name for found in one.objects] == ["car"]


def test_lost_object_is_reported_for_the_hold_time():
    one = tracker({"range_m": 6.0, "hold_last_s": 0.5, "prediction": "constant_velocity"})
    seen = [(tick * PERIOD_S, snapshot(tick * PERIOD_S)) for tick in range(60)]
    ages = []
    for _, now in seen:
        one.observe(now)
        ages.append([found.age_s for found in one.objects if found.name == "person"])
    lost = next(tick for tick, age in enumerate(ages) if age and age[0] > 0.0)
    assert [age[0] for age in ages[lost : lost + 5]] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert ages[lost + 5] == []


def test_lost_object_is_held_with_noise_and_script_prediction():
    spec = {"range_m": 6.0, "hold_last_s": 2.0, "noise": {"position_m": 0.1}}
    one = tracker(spec)
    for tick in range(60):
        one.observe(snapshot(tick * PERIOD_S))
        kept = [found for found in one.objects if found.name == "person"]
        if kept and kept[0].age_s > 1.5:
            true = SCRIPT.expected(np.array([tick * PERIOD_S]))[0]
            assert np.hypot(*(kept[0].path[0] - true)[:2]) < 0.5
            return
    raise AssertionError("the object was not held")


def test_noise_depends_only_on_seed_stamp_and_object():
    noise = {"noise": {"position_m": 0.3, "yaw_rad": 0.1, "speed_mps": 0.2}}
    one = reported(tracker(noise), 1.0)
    # from another place, with one more stamp before and no other object in sight
    other = reported(tracker(noise), 1.0, robot=(-3.0, 1.0, 0.2), there=("person",))
    assert one["person"].pose == other["person"].pose
    assert reported(tracker(noise, seed=4), 1.0)["person"].pose != one["person"].pose
    assert reported(tracker(noise, world=1), 1.0)["person"].pose != one["person"].pose
    stamps, found = tracker(noise), []
    for tick in range(600):
        now = snapshot(tick * PERIOD_S)
        stamps.observe(now)
        true = now.models["person"].pose.planar
        (person,) = [one for one in stamps.objects if one.name == "person"]
        found.append(np.array(person.pose) - true)
        assert person.path[0] == pytest.approx(np.array(person.pose))
    assert np.std(found, axis=0) == pytest.approx([0.3, 0.3, 0.1], rel=0.1)
    assert np.mean(found, axis=0) == pytest.approx([0.0, 0.0, 0.0], abs=0.05)


def test_repeated_snapshot_does_not_change_the_tracked_objects():
    one = tracker()
    one.observe(snapshot(0.0))
    one.observe(snapshot(0.1))
    before = one.objects
    one.observe(snapshot(0.1))
    assert one.objects is before
