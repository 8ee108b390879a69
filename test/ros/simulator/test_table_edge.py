"""The cloud of a depth camera, as a costmap reads it, marks a table that the planar lidar misses.

The marking is independent of this package: it reads the fields of the messages, and marks the cells
of points between two heights, as the ``ObstacleLayer`` of ``costmap_2d``.
"""

import numpy as np
import pytest
import shapely
from sensor_msgs import point_cloud2

from gz_testauto.base import ros_messages
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.loader import parse
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.worlds.multiply import multiply

pytest.importorskip("gz_testauto.extras.obstacle_kinds", reason="needs its table")

CELL_M, LOWEST_M, HIGHEST_M = 0.05, 0.1, 1.1
STAMP = ros_messages.time_message(0)
SPEC = """region: {circle: {x_m: 1.8, y_m: 0, radius_m: 0.05}}
obstacles: [{type: table, count: 1, size_x_m: 1.6, size_y_m: 1.2, height_m: 0.75}]
"""


def cells(points_m):
    """Return the cells of the points between the heights, in the base frame."""
    kept = points_m[(points_m[:, 2] > LOWEST_M) & (points_m[:, 2] < HIGHEST_M)]
    return {tuple(cell) for cell in np.floor(kept[:, :2] / CELL_M).astype(int).tolist()}


def in_base(points, pose):
    return points @ pose.rotation.T + np.array(pose.position)


def points_of_cloud(message, sensor):
    rows = point_cloud2.read_points(message, field_names=("x", "y", "z"), skip_nans=True)
    return in_base(np.array([tuple(row) for row in rows]), sensor.frame_mount)


def points_of_scan(message, mount):
    ranges = np.array(message.ranges)
    angles = message.angle_min + message.angle_increment * np.arange(len(ranges))
    hits = np.isfinite(ranges)
    flat = np.stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))], axis=1)
    return in_base(flat[hits] * ranges[hits, None], mount)


@pytest.fixture
def messages(tmp_path):
    """Return the world, and the robot's messages of the camera and of the lidar."""
    spec = parse(SPEC, ObstacleSpec, tmp_path / "tables.yaml")
    base = share_directory() / "worlds" / "plain.world"
    (world,) = multiply(base, spec, 1, 3, tmp_path / "worlds").worlds
    robot = read_robot(share_directory() / "models" / "service_robot", lidar="front_lidar")
    (camera,) = (one for one in robot.sensors if one.name == "camera")
    path = tmp_path / "worlds" / f"{world.name}.world"
    with EmbeddedSimulator() as simulator:
        scene = Scene(path, robot, Pose2D(0.0, 0.0, 0.0), 1, sensors=(camera,))
        snapshot = simulator.load(scene).snapshot()
    cloud = ros_messages.cloud_message(snapshot.sensors["camera"], STAMP)
    scan = ros_messages.scan_message(snapshot.scan, STAMP, "lidar", 0.1)
    points = points_of_cloud(cloud, camera), points_of_scan(scan, robot.lidar.mount)
    return read_scene(path), points


def test_point_cloud_marks_the_edge_of_a_table_that_the_scan_misses(messages):
    scene, (cloud, scan) = messages
    (table,) = (model for name, model in scene.models.items() if "table" in name)
    edge = table.footprint(0.7, 0.76).exterior
    legs = table.footprint(0.1, 0.6)
    marked = {
        name: [
            center
            for center in (shapely.Point((np.array(cell) + 0.5) * CELL_M) for cell in cells(points))
            if edge.distance(center) < CELL_M and legs.distance(center) > 0.15
        ]
        for name, points in (("cloud", cloud), ("scan", scan))
    }
    assert len(marked["cloud"]) >= 15, "the cloud does not mark the edge of the table"
    assert marked["scan"] == [], "the planar lidar is below the table top"
