"""Markers of collision shapes: shape, pose, and publication of changes only."""

from types import SimpleNamespace

import numpy as np
import pytest
import shapely
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from gz_testauto.actors.bodies import body_sdf
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.base.resources import share_directory
from gz_testauto.ros.simulator import markers as node_markers
from gz_testauto.ros.simulator.markers import ColliderMarkers, line_markers, solid_markers
from gz_testauto.sdf.meshes.surfaces import Mesh
from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Plane, Polyline, Sphere
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.testing.simulator_suite import WALL, WORLD

RED = ColorRGBA(1.0, 0.0, 0.0, 1.0)
TURNED = Pose.from_rpy(1.0, 2.0, 3.0, 0.0, 0.0, np.pi / 2)


def vector(message):
    return (message.x, message.y, message.z)


class TestShapes:
    @pytest.mark.parametrize(
        ("shape", "kind", "size"),
        [
            (Box((1.0, 2.0, 3.0)), Marker.CUBE, (1.0, 2.0, 3.0)),
            (Sphere(0.5), Marker.SPHERE, (1.0, 1.0, 1.0)),
            (Ellipsoid((0.5, 1.0, 1.5)), Marker.SPHERE, (1.0, 2.0, 3.0)),
            (Cylinder(0.5, 3.0), Marker.CYLINDER, (1.0, 1.0, 3.0)),
        ],
    )
    def test_a_marker_has_pose_and_size_of_its_shape(self, shape, kind, size):
        (marker,) = solid_markers(shape, TURNED, RED)
        assert (marker.type, vector(marker.scale), marker.color) == (kind, size, RED)
        assert vector(marker.pose.position) == (1.0, 2.0, 3.0)
        assert marker.pose.orientation.z == pytest.approx(np.sqrt(0.5))

    def test_a_capsule_is_a_cylinder_with_two_spheres(self):
        lying = Pose.from_rpy(1.0, 0.0, 0.0, 0.0, np.pi / 2, 0.0)
        rod, *balls = solid_markers(Capsule(0.25, 2.0), lying, RED)
        assert (rod.type, vector(rod.scale)) == (Marker.CYLINDER, (0.5, 0.5, 2.0))
        assert [ball.type for ball in balls] == [Marker.SPHERE] * 2
        ends = sorted(vector(ball.pose.position) for ball in balls)
        assert np.allclose(ends, [(0.0, 0.0, 0.0), (2.0, 0.0, 0.0)])

    def test_prisms_and_meshes_are_lists_of_triangles(self, tmp_path):
        square = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
        (marker,) = solid_markers(Polyline((square,), 2.0), Pose(), RED)
        corners = np.array([vector(point) for point in marker.points])
        assert (marker.type, len(corners)) == (Marker.TRIANGLE_LIST, 36)
        assert corners.min(axis=0) == pytest.approx((0.0, 0.0, 0.0))
        assert corners.max(axis=0) == pytest.approx((1.0, 1.0, 2.0))
        file = tmp_path / "one.obj"
        file.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n")
        (marker,) = solid_markers(Mesh(file, scale=(2.0, 2.0, 2.0)), Pose(), RED)
        assert len(marker.points) == 12
        assert max(point.x for point in marker.points) == 2.0

    def test_the_ground_has_no_marker(self):
        assert solid_markers(Plane((0.0, 0.0, 1.0)), Pose(), RED) == []

    def test_lines_are_open_and_areas_have_their_holes(self):
        (line,) = line_markers(shapely.LineString([(0, 0), (1, 2)]), RED)
        assert [(point.x, point.y) for point in line.points] == [(0, 0), (1, 2)]
        ring = shapely.Point(0, 0).buffer(2.0) - shapely.Point(0, 0).buffer(1.0)
        outlines = line_markers(ring, RED)
        assert len(outlines) == 2
        assert all(marker.points[0] == marker.points[-1] for marker in outlines)


class Topic:
    def __init__(self, *args, **options):
        self.listeners, self.said = 0, []

    def get_num_connections(self):
        return self.listeners

    def publish(self, message):
        self.said.append(message.markers)


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """Markers of a world with a wall, a spawned body of a robot, and areas of metrics."""
    monkeypatch.setattr(node_markers.rospy, "Publisher", Topic)
    world = tmp_path / "scene.world"
    world.write_text(WORLD.format(models=WALL))
    brought = {"walker": body_sdf(Cylinder(0.25, 1.7), 70.0, (0.0, 0.0, 0.85))}
    spec = load(share_directory() / "config" / "walkers_campaign.yaml", CampaignSpec)
    tasks = {
        "gates_m": [[[0, 0], [0, 1]]],
        "regions": {"hall": {"circle": {"x_m": 0, "y_m": 0, "radius_m": 1}}},
    }
    metrics = type(spec.metrics).model_validate(tasks)
    markers = ColliderMarkers(
        lambda: SimpleNamespace(spawned_sdf=brought), spec.model_copy(update={"metrics": metrics})
    )
    markers.start_scene(Scene(world))
    topic = markers._topic

    def publish(**poses):
        said = len(topic.said)
        wall = Pose((5.0, 0.0, 0.5))
        states = {"wall": ModelState(wall), "ground_plane": ModelState(Pose())}
        states.update((name, ModelState(pose)) for name, pose in poses.items())
        markers.publish(states, None)
        return [(one.ns, one.action, one) for markers in topic.said[said:] for one in markers]

    publish.topic, publish.markers = topic, markers
    return publish


def names(found):
    return [name for name, action, _ in found if action == Marker.ADD]


def test_no_marker_is_created_without_subscribers(shown):
    assert shown() == []


def test_static_models_are_published_once_and_others_in_every_period(shown):
    shown.topic.listeners = 1
    first = shown(walker=Pose((1.0, 0.0, 0.0)))
    assert first[0][1] == Marker.DELETEALL
    assert sorted(names(first)) == ["gate 1", "region hall", "walker", "wall"]
    second = shown(walker=Pose((1.5, 0.0, 0.0)))
    assert names(second) == ["walker"]
    assert vector(second[0][2].pose.position) == (1.5, 0.0, 0.85)


def test_all_models_are_published_again_for_a_new_subscriber_and_after_a_deletion(shown):
    shown.topic.listeners = 1
    shown(walker=Pose())
    shown.markers.peer_subscribe("colliders", None, None)
    assert "wall" in names(shown(walker=Pose()))
    gone = shown()
    assert gone[0][1] == Marker.DELETEALL
    assert "walker" not in names(gone)
    assert "wall" in names(gone)


def test_a_model_of_unknown_shape_has_no_marker(shown):
    shown.topic.listeners = 1
    assert "stranger" not in names(shown(stranger=Pose()))
