"""Tracked objects, lanes and steered bases in the trajectory planners."""

import math

import numpy as np
import pytest

from gz_testauto.base.observation import LaserScan, TrackedObject, Twist2D
from gz_testauto.base.pose import Pose, Pose2D, wrap_angle
from gz_testauto.extras.roads.center_line import CenterLine
from gz_testauto.extras.roads.sst.model import (
    Trajectory,
    Vehicle,
    predict_objects,
    predicted_on_arc,
)
from gz_testauto.extras.roads.sst.planner import (
    PlanQuality,
    StableSparseRrt,
    along,
    remove_tracked_objects,
    vehicle_of,
)
from gz_testauto.planners.interface import Lane, Observation, RobotLimits, Task
from gz_testauto.planners.limits import SpeedLimiter

BODY = np.array([[-1.0, -1.0], [3.0, -1.0], [3.0, 1.0], [-1.0, 1.0]])


def tracked(pose, velocity=(1.0, 0.0, 0.0), seconds=2.0):
    times = 0.1 * np.arange(round(seconds / 0.1) + 1)
    path = np.array(pose) + times[:, None] * np.array(velocity)
    return TrackedObject("car", Pose2D(*pose), velocity, BODY, path, 0.1)


def test_tracked_objects_are_predicted_at_the_time_steps_of_the_search():
    found = predict_objects([tracked((10.0, 0.0, math.pi / 2))], 1.0, 0.0, 0.04)
    assert found.sizes_m == pytest.approx(np.array([[4.0, 2.0]]))
    assert found.poses.shape == (1, 51, 3)
    # its middle is a meter ahead of its pose, which looks along y
    assert found.poses[0, 0] == pytest.approx([10.0, 1.0, math.pi / 2])
    assert found.poses[0, 25] == pytest.approx([11.0, 1.0, math.pi / 2])
    assert found.poses[0, -1] == pytest.approx([12.0, 1.0, math.pi / 2])


def test_tracked_objects_are_predicted_from_the_start_of_the_plan():
    found = predict_objects([tracked((10.0, 0.0, 0.0))], 2.0, 0.5, 0.04)
    assert found.sizes_m == pytest.approx(np.array([[2.0, 1.0]]))
    assert found.poses[0, 0] == pytest.approx([(10.5 + 1.0) / 2, 0.0, 0.0])


def on_circle(turn_radps, radius_m, age_s=0.0):
    """An object on a circle about the origin, at (r, 0), whose velocity is extrapolated."""
    pose, velocity = (radius_m, 0.0, math.pi / 2), (0.0, turn_radps * radius_m, turn_radps)
    times = age_s + 0.1 * np.arange(21)
    path = np.array(pose) + times[:, None] * np.array(velocity)
    return TrackedObject("car", Pose2D(*pose), velocity, BODY, path, 0.1, age_s)


@pytest.mark.parametrize("turn_radps", [0.3, -0.3])
@pytest.mark.parametrize("age_s", [0.0, 0.4])
def test_an_object_that_turns_steadily_is_predicted_on_its_circle(turn_radps, age_s):
    radius_m = math.copysign(12.0, turn_radps)
    moving = predicted_on_arc(on_circle(turn_radps, radius_m, age_s), 1.1 * turn_radps)
    angles = turn_radps * (age_s + 0.1 * np.arange(21))
    assert moving.path[:, 0] == pytest.approx(radius_m * np.cos(angles))
    assert moving.path[:, 1] == pytest.approx(radius_m * np.sin(angles))
    assert moving.path[:, 2] == pytest.approx(math.pi / 2 + angles)


def test_the_smaller_of_two_turn_rates_applies():
    """The heading of an object on a path of lines turns faster at each corner."""
    moving = predicted_on_arc(on_circle(0.4, 12.0), 0.3)
    assert moving.path[-1, 2] == pytest.approx(math.pi / 2 + 0.3 * 2.0)


@pytest.mark.parametrize(
    ("turn_radps", "previous_radps", "radius_m"),
    [(0.3, 0.0, 12.0), (0.3, -0.3, 12.0), (0.0, 0.3, 12.0), (1.2, 1.2, 0.8), (0.9, 0.9, 6.0)],
    ids=["starts to turn", "turns back", "straight", "quick", "fast"],
)
def test_other_objects_are_predicted_at_constant_velocity(turn_radps, previous_radps, radius_m):
    moving = on_circle(turn_radps, radius_m)
    assert predicted_on_arc(moving, previous_radps) is moving


def test_the_plan_of_an_object_is_not_replaced():
    moving = on_circle(0.3, 12.0)
    moving.path[10:, 1] += 0.5
    assert predicted_on_arc(moving, 0.3) is moving


def test_planner_predicts_an_object_on_an_arc_from_the_second_observation_on():
    planner = StableSparseRrt(iterations=1)
    limits = RobotLimits(tuple(map(tuple, BODY.tolist())))
    waypoints_m = np.array([[0.0, 0.0], [40.0, 0.0]])
    planner.begin(Task(Pose2D(40.0, 0.0), 0.5, waypoints_m, limits))
    ends = []
    for step in range(2):
        objects = (on_circle(0.3, 12.0),)
        planner.plan(Observation(0.1 * step, Pose2D(0.0, 0.0), Twist2D(), None, objects))
        ends.append(planner._objects[0].path[-1].tolist())
    assert ends[0][0] == pytest.approx(12.0)
    assert ends[1][0] == pytest.approx(12.0 * math.cos(0.6))


def test_headings_are_interpolated_over_the_smaller_angle():
    one = tracked((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.1)
    one.path[:, 2] = [math.pi - 0.1, -math.pi + 0.1]
    yaws = predict_objects([one], 1.0, 0.0, 0.05).poses[0, :, 2]
    assert np.abs(np.diff(yaws)) == pytest.approx([0.1, 0.1])


def test_an_empty_list_of_tracked_objects_gives_an_empty_road():
    assert predict_objects([], 1.0, 0.0, 0.04).poses.shape[0] == 0


def test_rays_that_end_at_a_tracked_object_are_removed():
    ranges = np.full(181, 20.0)
    ranges[85:96] = 6.9  # at the car's back, 7 m ahead
    ranges[20:30] = 5.0
    mount = Pose((0.5, 0.0, 0.3))
    scan = LaserScan(0.0, -math.pi / 2, math.pi / 2, 0.1, 30.0, ranges, mount)
    base = Pose2D(2.0, 1.0, math.pi / 2)
    car = tracked((2.0, 9.5, math.pi / 2))
    seen = remove_tracked_objects(scan, base, [car])
    assert np.isinf(seen.ranges_m[85:96]).all()
    assert (seen.ranges_m[20:30] == 5.0).all()
    assert np.isfinite(scan.ranges_m).all()
    assert remove_tracked_objects(scan, base, []) is scan


def test_a_steered_base_does_not_exceed_the_curvature_of_its_wheels():
    limits = RobotLimits(
        ((1, 1), (-1, 1), (0, -1)), 5.0, 2.0, 100.0, 100.0, wheelbase_m=2.0, max_steer_rad=0.5
    )
    limiter = SpeedLimiter(limits, 0.1)
    for speed in (0.0, 1.0, 4.0):
        command = limiter.apply(Twist2D(speed, 2.0), Twist2D())
        assert command.angular_radps == pytest.approx(min(2.0, speed * math.tan(0.5) / 2.0))
    vehicle = vehicle_of(limits, 1.0)
    assert vehicle.wheelbase_m == 2.0
    assert vehicle.max_steer_rad == 0.5


def test_lane_following_steers_through_a_bend():
    turns = np.linspace(0.0, math.pi, 200)
    bend = np.column_stack([20.0 * np.sin(turns), 20.0 - 20.0 * np.cos(turns)])
    line = CenterLine(np.vstack([[-20.0, 0.0], bend]))
    vehicle, pose, arc_m, off = Vehicle(), Pose2D(-20.0, 0.5, 0.0), 0.0, []
    for _ in range(300):
        arc_m = line.arc_of(pose.x_m, pose.y_m, arc_m, 10.0)
        speed, rate = along(line, arc_m, 5.0, pose, vehicle)
        yaw = wrap_angle(pose.yaw_rad + rate * 0.05)
        pose = Pose2D(
            pose.x_m + speed * 0.05 * math.cos(yaw), pose.y_m + speed * 0.05 * math.sin(yaw), yaw
        )
        if arc_m > 60.0:
            break
        off.append(math.hypot(*(np.array(pose[:2]) - line.at(np.array([arc_m]))[0][0])))
    assert arc_m > 60.0
    assert max(off[60:]) < 0.35  # within 15 m


def plan(speeds, y_m):
    states = np.zeros((len(speeds), 4))
    states[:, 0] = np.arange(len(speeds))
    states[:, 1], states[:, 3] = y_m, speeds
    return Trajectory(np.zeros((1, 2)), np.array([len(speeds) - 1]), states, 0.5, 7.0)


def test_quality_of_plans_is_averaged_from_the_start_of_travel_at_the_desired_speed():
    quality, lanes = PlanQuality(), [Lane(np.array([[0.0, 0.0], [100.0, 0.0]]), np.full(2, 3.5))]
    quality.add(plan([0.0, 1.0], 1.0), 2.0, lanes, 1.0)
    assert quality.numbers == {}
    quality.add(plan([5.0, 5.5, 5.0], 0.5), 5.0, lanes, 2.0)
    quality.add(plan([5.0, 5.0], -1.0), 1.0, lanes, 2.0)
    quality.add(None, 5.0, lanes, 2.0)
    found = quality.numbers
    assert found["plans"] == 3.0
    assert found["plans_failed"] == 1.0
    assert found["plan_cost"] == 7.0
    assert found["plan_accel_mps2"] == pytest.approx(2.0 * (1.0 + 1.0 + 0.0) / 3)
    assert found["plan_speed_error_mps"] == pytest.approx(2.0 * 0.5 / 5)
    assert found["plan_lane_error_m"] == pytest.approx(2.0 * (3 * 0.5 + 2 * 1.0) / 5)
