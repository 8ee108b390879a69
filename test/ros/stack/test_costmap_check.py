"""Obstacles without marks in the costmap are reported before a goal is sent."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import LaserScan
from trial_values import trial_value

from gz_testauto.actors.bodies import body_sdf
from gz_testauto.base.errors import ConfigurationError, NavigatorError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.base.ros_messages import pose_message
from gz_testauto.ros.stack import costmap_check
from gz_testauto.ros.stack.costmap_check import (
    CostmapCheck,
    CostmapLayers,
    ObservationSource,
    cast_rays,
    inside_window,
    marked_points,
    ray_directions,
    read_layers,
)
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.shapes import Box
from gz_testauto.simulators.interface import NamedModel

WALL = """<model name="wall"><pose>0 -1 0.5 0 0 0</pose><static>1</static><link name="link">
  <collision name="c"><geometry><box><size>4 0.2 1</size></box></geometry></collision>
</link></model>"""
BOX = """<model name="obstacle_box_0"><pose>1.5 0 0.4 0 0 0</pose><static>1</static>
  <link name="link"><collision name="c">
    <geometry><box><size>0.6 0.6 0.8</size></box></geometry>
  </collision></link></model>"""
SECOND = BOX.replace("obstacle_box_0", "obstacle_box_1").replace("1.5 0 0.4", "-1.1 0 0.4")
SECOND_FACE = (-0.8, 0.0)
BOX_FACE, WALL_FACE = (1.2, 0.0), (0.0, -0.9)
HEIGHTS = (0.0, 2.0)


class Clock:
    """Simulated time that a check's waiting moves."""

    def __init__(self):
        self.now_s = 100.0

    def sleep(self, wall_s):
        self.now_s += 1.0

    def to_sec(self):
        return self.now_s


class Stack:
    """A stack with a lidar 0.2 m ahead of its base; ``frames`` of tf as poses in ``base``, and
    ``base`` in the costmap's frame."""

    def __init__(self, monkeypatch, models=BOX, costmaps=((),), lidar_z_m=0.15, topic="/costmap"):
        self.extra_models = ()
        self.scene = scene = read_scene(SdfDocument.parse(world(models), "test.world"))
        self.costmaps, self.looks = list(costmaps), 0
        self.base = Pose.from_values([10.0, 20.0, 0.0, 0.0, 0.0, math.pi / 2])
        self.lidar = Pose((0.2, 0.0, lidar_z_m))
        self.sources = [ObservationSource("/scan", 2.5, HEIGHTS)]
        self.scan = scan_of(1.0)
        clock = Clock()
        self.scans = {}
        monkeypatch.setattr(costmap_check, "receive_costmap", self.heard)
        monkeypatch.setattr(costmap_check, "receive_scan", lambda topic: self.scans.get(topic))
        monkeypatch.setattr(
            costmap_check,
            "layers_of",
            lambda topic: CostmapLayers(["layer"], ["layer"], self.sources),
        )
        monkeypatch.setattr(costmap_check.rospy, "get_rostime", lambda: clock)
        monkeypatch.setattr(costmap_check.time, "sleep", clock.sleep)
        names = SimpleNamespace(costmap=topic, scan="/scan")
        stack = SimpleNamespace(
            names=names, frames=SimpleNamespace(base="base"), start_timeout_s=30.0
        )
        bed = SimpleNamespace(
            robot=SimpleNamespace(name="robot"),
            spec=SimpleNamespace(stack=stack, worlds=SimpleNamespace(obstacle_pattern=None)),
            static_map=SimpleNamespace(scan_height_m=0.3),
            world_scene=lambda world: scene,
        )
        self.check = CostmapCheck(bed, self)

    def pose_of(self, frame, reference):
        return {("laser", "base"): self.lidar, ("base", "odom"): self.base}[frame, reference]

    def heard(self, topic):
        self.looks += 1
        marks = self.costmaps[min(self.looks, len(self.costmaps)) - 1]
        return None if marks is None else costmap_of(marks, self.base)

    def look(self, *extra_models):
        self.extra_models = extra_models
        return self.check.require_marks(
            trial_value(), self.true_states, lambda: self.scan, lambda: None, extra_models
        )

    def true_states(self, names):
        poses = {model.name: model.pose for model in self.extra_models}
        poses.update((name, self.scene.models[name].pose) for name in names if name not in poses)
        return {name: ModelState(pose) for name, pose in {"robot": Pose(), **poses}.items()}


def world(models):
    return f'<sdf version="1.6"><world name="default">{models}</world></sdf>'


def scan_of(range_m, rays=360):
    scan = LaserScan(angle_min=-math.pi, angle_increment=2 * math.pi / rays)
    scan.header.frame_id = "laser"
    scan.range_min, scan.range_max = 0.1, 8.0
    scan.ranges = [range_m] * rays
    return scan


def costmap_of(marks, base, cells=80, resolution_m=0.05):
    """Return a rolling window around the robot, which is at the world's origin, with marks at
    points of the world; ``base`` is the robot's pose in the costmap's frame."""
    grid = OccupancyGrid()
    grid.header.frame_id = "odom"
    grid.info.width = grid.info.height = cells
    grid.info.resolution = resolution_m
    half_m = cells * resolution_m / 2
    corner = (base.position[0] - half_m, base.position[1] - half_m, 0.0)
    grid.info.origin = pose_message(Pose(corner))
    data = np.zeros((cells, cells), dtype=int)
    for mark in marks:
        x_m, y_m, _ = base.apply(np.array([*mark, 0.0])) - corner
        data[int(y_m / resolution_m), int(x_m / resolution_m)] = 100
    grid.data = data.ravel().tolist()
    return grid


def test_one_mark_per_obstacle_is_sufficient(monkeypatch):
    stack = Stack(monkeypatch, costmaps=[[BOX_FACE]])
    stack.look()
    assert stack.looks == 1


def test_costmap_is_checked_before_every_trial(monkeypatch):
    stack = Stack(monkeypatch, costmaps=[[BOX_FACE], []])
    stack.look()
    with pytest.raises(NavigatorError):
        stack.look()


def test_each_clearly_visible_obstacle_needs_a_mark(monkeypatch):
    Stack(monkeypatch, models=BOX + SECOND, costmaps=[[BOX_FACE, SECOND_FACE]]).look()
    stack = Stack(monkeypatch, models=BOX + SECOND, costmaps=[[BOX_FACE]])
    with pytest.raises(NavigatorError) as raised:
        stack.look()
    message = str(raised.value)
    assert "no mark at obstacle_box_1, 1.0" in message
    assert "(1 of 2 visible ones are marked): /scan sees it, but" in message


def test_an_obstacle_behind_an_actor_needs_no_mark(monkeypatch):
    stack = Stack(monkeypatch, models=BOX + SECOND, costmaps=[[BOX_FACE]])
    screen = body_sdf(Box((0.1, 3.0, 1.0)), 70.0, (0.0, 0.0, 0.5))
    stack.look(NamedModel("screen", screen, Pose((-0.5, 0.0, 0.02))))
    assert stack.looks == 1


def test_an_obstacle_that_the_scan_has_at_its_previous_pose_is_reported(monkeypatch):
    stack = Stack(monkeypatch, models=BOX + SECOND, costmaps=[[BOX_FACE]])
    stack.scan.ranges = [1.0 if 90 < number < 270 else math.inf for number in range(360)]
    stack.scan.ranges[:90] = stack.scan.ranges[270:] = [math.inf] * 90
    with pytest.raises(
        NavigatorError, match="/scan does not see it at the position in the simulator"
    ):
        stack.look()


def test_the_check_waits_for_a_slow_scan(monkeypatch):
    stack = Stack(monkeypatch, costmaps=[[], [BOX_FACE]])
    heard = iter([scan_of(math.inf), scan_of(1.0)])
    stack.check.require_marks(trial_value(), stack.true_states, lambda: next(heard), lambda: None)


@pytest.mark.parametrize(
    ("topic", "scan", "costmap", "expected"),
    [
        ("/costmap", scan_of(1.0), [BOX_FACE], ""),
        ("/costmap", scan_of(1.0), None, "no nav_msgs/OccupancyGrid on /costmap"),
        ("/costmap", None, [BOX_FACE], "no sensor_msgs/LaserScan on /scan"),
        (None, scan_of(1.0), None, ""),  # disabled
    ],
)
def test_part_without_which_no_check_is_possible_is_returned(
    monkeypatch, topic, scan, costmap, expected
):
    stack = Stack(monkeypatch, costmaps=[costmap], topic=topic)
    stack.scan = scan
    assert stack.look() == expected


def test_missing_transform_of_the_lidar_is_returned(monkeypatch):
    stack = Stack(monkeypatch, costmaps=[[BOX_FACE]])
    monkeypatch.setattr(stack, "pose_of", lambda frame, reference: None)
    assert stack.look() == "no transform between laser and odom"


def test_one_mark_is_sufficient_if_another_topic_marks_the_costmap(monkeypatch):
    stack = Stack(monkeypatch, models=BOX + SECOND, costmaps=[[BOX_FACE]])
    stack.sources = [ObservationSource("/scan_filtered", 2.5, HEIGHTS)]
    stack.look()


def test_the_check_waits_for_a_slow_costmap(monkeypatch):
    stack = Stack(monkeypatch, costmaps=[[], [], [BOX_FACE]])
    stack.look()
    assert stack.looks == 3


def test_a_lidar_below_the_marked_heights_is_reported_with_both_heights(monkeypatch):
    stack = Stack(monkeypatch, lidar_z_m=-0.03)
    with pytest.raises(ConfigurationError) as raised:
        stack.look()
    message = str(raised.value)
    assert "/costmap has no mark at obstacle_box_0, 1.00 m from the lidar" in message
    assert "tf has the frame laser at z = -0.03 m of odom" in message
    assert "min_obstacle_height 0 m to max_obstacle_height 2 m" in message
    assert "stack.names.costmap: null" in message
    assert len(message) < 500


def test_lidars_of_other_topics_below_the_marked_heights_are_a_permanent_fault(monkeypatch):
    stack = Stack(monkeypatch)
    sources = [ObservationSource(topic, 2.5, (1.0, 2.0)) for topic in ("/front", "rear", "/front")]
    stack.sources = sources
    with pytest.raises(NavigatorError, match=r"tf has the frame laser at z = 0\.15 m"):
        stack.look()  # the types and heights of the other sensors are unknown
    stack.scans = {"/front": scan_of(1.0), "/rear": scan_of(1.0)}
    with pytest.raises(ConfigurationError, match="min_obstacle_height 1 m"):
        stack.look()
    stack.sources = [*sources, ObservationSource("/rear", 2.5, HEIGHTS)]
    with pytest.raises(NavigatorError, match="observation_sources are on /front, /rear, rear"):
        stack.look()


def test_marks_at_other_places_do_not_count(monkeypatch):
    stack = Stack(monkeypatch, costmaps=[[(-1.0, 0.5), (0.3, 0.0)]])
    with pytest.raises(NavigatorError, match=r"observation_sources are on /scan") as raised:
        stack.look()
    assert raised.type is NavigatorError  # the next attempt can succeed


def test_a_lidar_without_returns_is_reported_as_the_cause(monkeypatch):
    stack = Stack(monkeypatch)
    stack.scan = scan_of(math.inf)
    with pytest.raises(NavigatorError, match=r"/scan does not see them either.*gpu_ray"):
        stack.look()


def test_a_costmap_without_observation_sources_is_reported(monkeypatch):
    stack = Stack(monkeypatch)
    stack.sources = []
    with pytest.raises(
        ConfigurationError,
        match=r"no layer of the costmap \(plugins: layer\) has observation_sources",
    ):
        stack.look()


def test_marks_of_the_static_map_do_not_replace_those_of_an_obstacle(monkeypatch):
    stack = Stack(monkeypatch, models=WALL + BOX, costmaps=[[WALL_FACE]])
    with pytest.raises(NavigatorError, match="no mark at obstacle_box_0"):
        stack.look()


def test_marks_of_walls_count_if_only_walls_are_visible(monkeypatch):
    Stack(monkeypatch, models=WALL, costmaps=[[WALL_FACE]]).look()
    with pytest.raises(NavigatorError, match="no mark at wall"):
        Stack(monkeypatch, models=WALL).look()


def test_a_trial_without_visible_obstacles_passes_and_the_next_is_checked(monkeypatch):
    stack = Stack(monkeypatch)
    stack.sources = [ObservationSource("scan", 0.9, HEIGHTS)]
    stack.look()
    stack.look()
    assert stack.looks == 2


def test_a_lidar_below_the_marked_heights_is_reported_without_visible_obstacles(monkeypatch):
    stack = Stack(monkeypatch, models="", lidar_z_m=-0.03)
    with pytest.raises(ConfigurationError, match="not mark the obstacles that /scan detects: tf"):
        stack.look()
    stack.sources.append(ObservationSource("/camera/points", 2.5, HEIGHTS))
    stack.look()  # that one may be higher


def test_a_layer_without_observation_sources_is_reported_without_visible_obstacles(monkeypatch):
    stack = Stack(monkeypatch, models="")
    stack.sources = []
    with pytest.raises(ConfigurationError, match=r"will not mark the .*has observation_sources"):
        stack.look()


def test_one_matching_ray_does_not_prove_that_the_lidar_works(monkeypatch):
    stack = Stack(monkeypatch)
    stack.scan.ranges = [1.0 if number == 180 else math.inf for number in range(360)]
    with pytest.raises(NavigatorError, match="/scan does not see them either"):
        stack.look()


@pytest.mark.parametrize("topic, costmap", [(None, []), ("/costmap", None)])
def test_a_costmap_that_is_disabled_or_not_published_is_not_checked(monkeypatch, topic, costmap):
    Stack(monkeypatch, costmaps=[costmap], topic=topic).look()


def test_rays_of_an_upside_down_lidar_are_reversed():
    scan = LaserScan(angle_min=0.0, angle_increment=math.pi / 2, ranges=[1.0, 1.0])
    upright, hanging = Pose(), Pose.from_rpy(0, 0, 0, math.pi, 0, 0)
    assert ray_directions(scan, upright) == pytest.approx([0.0, math.pi / 2])
    assert ray_directions(scan, hanging) == pytest.approx([0.0, -math.pi / 2], abs=1e-9)


def test_only_lethal_cells_are_marks():
    grid = costmap_of([], Pose(), cells=4, resolution_m=0.5)
    grid.data = [0, 99, 100, -1, *[0] * 12]
    assert marked_points(grid) == pytest.approx(np.array([[0.25, -0.75]]))


def test_points_near_the_edge_of_the_window_are_outside():
    grid = costmap_of([], Pose(), cells=4, resolution_m=0.5)
    points = np.array([[0.0, 0.0], [0.9, 0.0], [0.0, -1.5]])
    assert inside_window(grid, points, 0.2).tolist() == [True, False, False]


def plugins(*names):
    kinds = {"obstacle": "ObstacleLayer", "inflation": "InflationLayer", "static": "StaticLayer"}
    return [
        {"name": name, "type": f"costmap_2d::{kinds[name.partition('_')[0]]}"} for name in names
    ]


def test_observation_sources_are_read_per_layer_with_the_defaults_of_costmap_2d():
    parameters = {
        "plugins": plugins("obstacle_layer", "inflation_layer"),
        "obstacle_range": 6.0,
        "obstacle_layer": {
            "max_obstacle_height": 1.0,
            "observation_sources": "scan bumper clearing_only",
            "scan": {"topic": "/scan", "min_obstacle_height": 0.1},
            "bumper": {"obstacle_range": 0.5},
            "clearing_only": {"marking": False},
        },
        "inflation_layer": {"inflation_radius": 0.5},
    }
    layers = read_layers(parameters, 2.5)
    assert layers.names == ["obstacle_layer", "inflation_layer"]
    assert layers.observing == ["obstacle_layer"]
    assert layers.sources == [
        ObservationSource("/scan", 6.0, (0.1, 1.0)),
        ObservationSource("bumper", 0.5, (0.0, 1.0)),
    ]


def test_observation_sources_outside_of_layers_are_ignored():
    parameters = {
        "plugins": plugins("static", "obstacle"),
        "observation_sources": "scan",
        "scan": {"topic": "/scan"},
        "static": {"map_topic": "/map"},
    }
    assert read_layers(parameters, 2.5) == CostmapLayers(["static", "obstacle"], ["obstacle"], [])
    assert read_layers({}, 2.5) == CostmapLayers([], [], [])


TWO_BOXES = """<sdf version="1.6"><world name="default">
  <model name="ground"><static>1</static><link name="link"><collision name="c">
    <geometry><plane><normal>0 0 1</normal><size>100 100</size></plane></geometry>
  </collision></link></model>
  <model name="near"><pose>2 0 0.2 0 0 0</pose><static>1</static><link name="link">
    <collision name="c"><geometry><box><size>1 1 0.4</size></box></geometry></collision>
  </link></model>
  <model name="behind_near"><pose>4 0 0.5 0 0 0</pose><static>1</static><link name="link">
    <collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>
  </link></model>
</world></sdf>"""
AHEAD_AND_BACK = np.array([0.0, math.pi])


@pytest.fixture(scope="module")
def two_boxes():
    return read_scene(SdfDocument.parse(TWO_BOXES, "test.world"))


def poses_of(scene):
    return {name: model.pose for name, model in scene.models.items() if not model.is_ground}


def test_ray_ends_at_the_first_obstacle_and_not_at_the_ground(two_boxes):
    (hit,) = cast_rays(two_boxes, 0.2, (0.0, 0.0), AHEAD_AND_BACK, 10.0, poses_of(two_boxes))
    assert (hit.name, hit.ray) == ("near", 0)
    assert (hit.x_m, hit.y_m) == pytest.approx((1.5, 0.0))
    assert hit.distance_m == pytest.approx(1.5)


def test_ray_above_a_low_obstacle_ends_at_the_obstacle_behind_it(two_boxes):
    (hit,) = cast_rays(two_boxes, 0.7, (0.0, 0.0), AHEAD_AND_BACK, 10.0, poses_of(two_boxes))
    assert hit.name == "behind_near"
    assert hit.x_m == pytest.approx(3.5)


def test_obstacle_beyond_the_range_is_not_seen(two_boxes):
    assert cast_rays(two_boxes, 0.2, (0.0, 0.0), AHEAD_AND_BACK, 1.4, poses_of(two_boxes)) == ()


def test_moved_obstacle_is_seen_at_its_new_pose_and_a_deleted_one_is_not_seen(two_boxes):
    poses = {"behind_near": Pose((-3.0, 0.0, 0.5))}
    (hit,) = cast_rays(two_boxes, 0.2, (0.0, 0.0), AHEAD_AND_BACK, 10.0, poses)
    assert (hit.name, hit.ray) == ("behind_near", 1)
    assert hit.distance_m == pytest.approx(2.5)
