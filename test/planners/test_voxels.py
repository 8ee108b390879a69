"""The costmap with voxels, for readings whose marks are known on paper."""

import math

import numpy as np

from gz_testauto.base.observation import SensorReading
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.sensors import Angles, Sensor
from gz_testauto.planners.costmap import LETHAL
from gz_testauto.planners.sweep import ConvexFootprint
from gz_testauto.planners.voxels import LEVELS, VoxelCostmap, _trace_voxels

SQUARE = ((-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2))
HERE = Pose2D(0.0, 0.0, 0.0)


def costmap(heights=(0.05, 2.0)):
    made = VoxelCostmap(ConvexFootprint(SQUARE), 6.0, 0.05, 0.0, 3.0, heights_m=heights)
    made.move_to(HERE)
    return made


def ray(pitch=0.0, kind="cloud", at=(0.0, 0.0, 1.0), yaw=0.0):
    mount = Pose.from_rpy(*at, 0.0, -pitch, yaw)
    return Sensor(kind, "eye", "base", "eye", mount, range_min_m=0.1, range_max_m=5.0)


def add(made, range_m, pitch=0.0, pose=HERE, **options):
    made.add_reading(SensorReading(ray(pitch, **options), 0.0, np.array([[range_m]])), pose)


def marked(made):
    """Return the positions (m) of the cells with an obstacle."""
    made.inflate()
    return {tuple(np.round(p, 3)) for p in made.centers_m(np.argwhere(made.costs == LETHAL))}


def test_return_marks_its_cell_at_any_height():
    for height_m in (0.3, 1.0, 1.9):
        made = costmap()
        add(made, 1.51, at=(0.0, 0.01, height_m))
        assert marked(made) == {(1.525, 0.025)}


def test_returns_of_the_ground_and_above_the_robot_are_no_obstacles():
    made = costmap(heights=(0.05, 1.1))
    add(made, math.hypot(1.0, 2.0), pitch=-math.atan2(1.0, 2.0))
    add(made, 1.5, at=(0.0, 0.0, 1.2))
    assert marked(made) == set()


def test_ray_below_an_obstacle_does_not_remove_it():
    """A table top at a height of 0.7 m, which a ray to the ground behind it passes below."""
    made = costmap()
    add(made, 1.51, at=(0.0, 0.01, 0.7))
    add(made, math.inf, at=(0.0, 0.01, 0.3))
    assert marked(made) == {(1.525, 0.025)}


def test_ray_through_an_obstacle_that_is_gone_removes_it():
    made = costmap()
    add(made, 1.51, at=(0.0, 0.01, 0.7))
    add(made, math.inf, at=(0.0, 0.01, 0.72))
    assert marked(made) == set()


def test_planar_scan_does_not_remove_the_marks_of_other_sensors():
    made = costmap()
    add(made, 1.51, at=(0.0, 0.01, 0.7))
    made.add_scan(np.array([0.0, 0.01]), np.array([[2.5, 0.01]]), np.array([True]))
    assert marked(made) == {(1.525, 0.025), (2.525, 0.025)}


def test_marks_are_at_the_pose_of_the_reading_and_stay_when_the_map_moves():
    made = costmap()
    add(made, 1.0, pose=Pose2D(0.51, 0.01, math.pi / 2))
    assert marked(made) == {(0.525, 1.025)}
    made.move_to(Pose2D(1.0, 0.5, 0.0))
    assert marked(made) == {(0.525, 1.025)}
    made.move_to(Pose2D(9.0, 0.0, 0.0))
    assert marked(made) == set()


def test_marks_below_the_footprint_are_removed():
    made = costmap()
    add(made, 1.01)
    made.move_to(Pose2D(1.0, 0.0, 0.0))
    assert marked(made) == set()


def test_sonar_marks_the_axis_of_its_cone_and_a_bumper_marks_nothing():
    made = costmap()
    cone = ray(kind="range", at=(0.0, 0.01, 0.3))
    made.add_reading(SensorReading(cone, 0.0, np.array([[1.51]])), HERE)
    made.add_reading(SensorReading(ray(kind="contact"), 0.0, np.empty((0, 0))), HERE)
    assert marked(made) == {(1.525, 0.025)}


def test_marks_of_many_rays_are_those_of_an_independent_computation():
    """A box of 1 m, in front of a camera that looks down."""
    mount = Pose.from_rpy(0.1, 0.05, 1.1, 0.0, 0.4, 0.2)
    sensor = Sensor(
        "cloud", "eye", "base", "eye", mount, Angles(40, -0.6, 0.6), Angles(30, -0.5, 0.5), 0.1, 5.0
    )
    origin = np.array(mount.position)
    rays = sensor.directions @ mount.rotation.T
    with np.errstate(divide="ignore"):
        floor = np.where(rays[:, 2] < 0, -origin[2] / rays[:, 2], np.inf)
        front = np.where(rays[:, 0] > 0, (1.52 - origin[0]) / rays[:, 0], np.inf)
    at_front = origin + rays * np.where(np.isfinite(front), front, 0.0)[:, None]
    on_box = np.isfinite(front) & (np.abs(at_front[:, 1]) < 0.5) & (at_front[:, 2] < 1.0)
    on_box &= at_front[:, 2] > 0.0
    ranges = np.where(on_box, front, floor)
    ranges[ranges > 5.0] = np.inf
    made = costmap()
    made.add_reading(SensorReading(sensor, 0.0, ranges.reshape(30, 40)), HERE)
    ends = origin + rays[on_box] * front[on_box, None]
    ends = ends[ends[:, 2] >= 0.05]
    cells = {(int(np.floor(x / 0.05)), int(np.floor(y / 0.05))) for x, y, _ in ends}
    found = {(round((x - 0.025) / 0.05), round((y - 0.025) / 0.05)) for x, y in marked(made)}
    assert len(found) > 10 and found == cells


def test_compiled_and_interpreted_traces_mark_the_same_voxels():
    generator = np.random.default_rng(2)
    points = generator.uniform(-5, 45, (200, 3))
    points[0] = (20.0, 20.0, 10.0)
    hits = generator.random(199) < 0.5
    first = generator.integers(0, 2**LEVELS, (40, 40)).astype(np.uint32)
    second = first.copy()
    _trace_voxels(first, points, hits, LEVELS)
    _trace_voxels.py_func(second, points, hits, LEVELS)
    assert np.array_equal(first, second)


def test_unknown_range_neither_marks_nor_clears():
    made = costmap()
    add(made, 1.51, at=(0.0, 0.01, 0.7))
    add(made, math.nan, at=(0.0, 0.01, 0.7))
    assert marked(made) == {(1.525, 0.025)}
