"""Services of the spawner: requests to the simulator and published messages, without a master."""

import re

import numpy as np
import pytest

pytest.importorskip("rospy")

import rospy

from gz_testauto import srv
from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.resources import share_directory
from gz_testauto.ros.graph import get_service_class, respond
from gz_testauto.ros.obstacles import node as spawner_node
from gz_testauto.ros.obstacles.interface import MULTIPLIER, SPAWNER
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.worlds.spawner import ObstacleSpawner

ROOM = share_directory() / "worlds" / "room.world"
SPEC = """
obstacles:
  - {type: box, count: 3, size_x_m: [0.4, 0.8], size_y_m: [0.4, 0.8], size_z_m: 1.2}
region: {rectangle: {x_m: [-5, 5], y_m: [-5, 5]}}
"""


class World:
    """Models with their poses; stores the received requests."""

    def __init__(self):
        self.models = {}
        self.requests = []

    def model_names(self):
        self.requests.append("model_names")
        return set(self.models)

    def poses(self, names):
        self.requests.append("poses")
        return {name: self.models[name] for name in names if name in self.models}

    def spawn(self, models):
        self.requests.append("spawn")
        self.models.update({name: _pose_in(sdf) for name, sdf in models.items()})

    def delete(self, names):
        self.requests.append("delete")
        for name in names:
            del self.models[name]


class Topic:
    """Stores published messages."""

    def __init__(self, *args, **kwargs):
        self.messages = []

    def publish(self, message):
        self.messages.append(message)


@pytest.fixture
def world():
    return World()


@pytest.fixture
def node(world, monkeypatch):
    monkeypatch.setattr(rospy, "Publisher", Topic)
    monkeypatch.setattr(rospy.Time, "now", lambda: rospy.Time(1))
    return spawner_node.ObstacleSpawnerNode(ObstacleSpawner(world))


@pytest.fixture
def parsed(monkeypatch):
    """The SDF texts that are parsed to make messages, which are named ``obstacle``."""
    texts, parse = [], SdfDocument.parse

    def counting(text, source):
        if source == "obstacle" or source.startswith("obstacle_"):
            texts.append(text)
        return parse(text, source)

    monkeypatch.setattr(SdfDocument, "parse", counting)
    return texts


def call(node, name, **fields):
    (service,) = (one for one in SPAWNER.services if one.name == name)
    request = get_service_class(service.type)._request_class(**fields)
    return respond(service, getattr(node, service.handler), request)


def spawn(node, seed=1):
    response = call(node, "~spawn", spec=SPEC, seed=seed, replace=True)
    assert response.success, response.message
    return response


def test_each_obstacle_is_parsed_once_for_the_response_the_topic_and_the_marker(node, parsed):
    spawn(node)
    assert len(parsed) == 3
    call(node, "~list")
    assert len(parsed) == 3


def _pose_in(sdf):
    (model,) = read_scene(SdfDocument.parse(sdf, "in the simulator")).models.values()
    return model.pose


def test_publishing_sends_no_request_to_the_simulator(node, world):
    spawner = node._spawner
    spawn(node)
    with_publishing = list(world.requests)
    world.requests.clear()
    spawner.spawn(spawner.draw, replace=True)
    alone = [one for one in world.requests if one != "delete"]
    assert with_publishing == alone
    world.requests.clear()
    call(node, "~clear")
    assert world.requests == ["model_names", "delete"]


def test_responses_and_the_log_contain_number_and_time(node, monkeypatch):
    logged = []
    monkeypatch.setattr(rospy, "loginfo", logged.append)
    assert re.fullmatch(r"spawned 3 obstacles in \d+\.\d s", spawn(node).message)
    cleared = call(node, "~clear").message
    assert re.fullmatch(r"deleted 3 obstacles in \d+\.\d s", cleared)
    assert [line.split()[:3] for line in logged] == [
        ["spawned", "3", "obstacles"],
        ["deleted", "3", "obstacles"],
    ]


def test_the_published_set_has_the_poses_of_the_simulator(node, world):
    response = spawn(node)
    (message,) = node._set.messages
    assert [(o.name, o.size) for o in message.obstacles] == [
        (o.name, o.size) for o in response.obstacles
    ]
    assert [o.pose.position.x for o in message.obstacles] == [
        world.models[o.name].position[0] for o in response.obstacles
    ]
    assert (message.seed, message.spec) == (1, "inline")
    (shown,) = node._markers.messages
    assert [one.text for one in shown.markers[1:]] == [o.name for o in response.obstacles]
    call(node, "~clear")
    assert node._set.messages[-1].obstacles == []


def test_a_failed_call_reports_the_error_and_publishes_the_remaining_set(node, world):
    before = spawn(node).obstacles
    working, refused = world.spawn, []

    def refuse_once(models):
        if not refused:
            refused.append(models)
            raise SimulatorError("no room")
        working(models)

    world.spawn = refuse_once
    response = call(node, "~spawn", spec=SPEC, seed=2, replace=True)
    assert (response.success, response.message) == (False, "no room")
    assert len(node._set.messages) == 2
    assert [o.name for o in node._set.messages[-1].obstacles] == [o.name for o in before]


def test_a_response_without_a_field_for_the_error_fails_the_call(node, world):
    def refuse():
        raise SimulatorError("gone")

    world.model_names = refuse
    with pytest.raises(rospy.ServiceException, match="gone"):
        call(node, "~list")
    assert not call(node, "~clear").success


@pytest.mark.parametrize("path", ["~nobody_here/x.world", "a\0b", "x" * 300])
def test_a_path_that_no_file_can_have_is_rejected(node, path):
    response = call(node, "~save_world", path=path)
    assert not response.success
    assert repr(path[:5])[1:-1] in response.message


def test_multiply_is_cancelled_at_shutdown_and_removes_its_worlds(monkeypatch, tmp_path):
    monkeypatch.setattr(rospy, "is_shutdown", lambda: True)
    request = srv.MultiplyWorldRequest(str(ROOM), SPEC, 10_000, 1, str(tmp_path / "out"))
    (service,) = MULTIPLIER.services
    response = respond(service, spawner_node.write_worlds, request)
    assert response.message == "the node stopped after 1 of 10000 worlds, which were removed"
    assert list(tmp_path.iterdir()) == []


def test_multiply_rejects_more_worlds_than_a_client_would_wait_for(tmp_path):
    request = srv.MultiplyWorldRequest(str(ROOM), SPEC, 10_001, 1, str(tmp_path / "out"))
    (service,) = MULTIPLIER.services
    response = respond(service, spawner_node.write_worlds, request)
    assert response.message.startswith("count is 10001; it must be at most 10000.")


def test_a_marker_shows_all_boxes_of_a_table(node):
    pytest.importorskip("gz_testauto.extras.obstacle_kinds")
    spec = SPEC.replace("type: box, count: 3", "type: table, count: 1").replace(
        "size_z_m", "height_m"
    )
    (table,) = call(node, "~spawn", spec=spec, seed=1, replace=True).obstacles
    _, marker = node._markers.messages[-1].markers
    assert (marker.type, marker.ns) == (marker.TRIANGLE_LIST, "table")
    assert len(marker.points) == 5 * 12 * 3
    assert marker.pose.position == table.pose.position
    assert marker.pose.orientation.z == pytest.approx(table.pose.orientation.z)
    corners = np.array([(point.x, point.y, point.z) for point in marker.points])
    size = (table.size.x, table.size.y, table.size.z)
    assert corners.max(axis=0) - corners.min(axis=0) == pytest.approx(size)
    assert corners[:, 2].min() == 0.0
    a, b, c = corners.reshape(-1, 3, 3).transpose(1, 0, 2)
    volume_m3 = np.einsum("ni,ni->n", a, np.cross(b, c)).sum() / 6  # positive: faces point outward
    assert volume_m3 == pytest.approx(table.mass / 600.0)
