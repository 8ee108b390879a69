"""Scenes that are loaded into the gazebo_ros at ``ROS_MASTER_URI`` by services only."""

import threading
import time

import pytest
from gazebo_ros_rooms import restarted_simulator

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.gazebo_ros import GazeboRosClient, GazeboRosSimulator
from gz_testauto.simulators.gazebo_ros.topics import RobotTopics, TopicNames
from gz_testauto.simulators.interface import Scene
from gz_testauto.testing.simulator_suite import BOX, WALL, WORLD


def obstacle(name, x_m, y_m, size="0.5 0.5 0.5"):
    return BOX.format(name=name, static="true", pose=f"{x_m} {y_m} 0.25 0 0 0", size=size)


@pytest.fixture(scope="module")
def robot():
    return read_robot(share_directory() / "models" / "wheelchair", "robot")


@pytest.fixture
def first(tmp_path, robot):
    """The file of a loaded scene with two obstacles."""
    models = obstacle("obstacle_a", 3, 0) + obstacle("obstacle_b", 3, 2)
    path = tmp_path / "first.world"
    path.write_text(WORLD.format(models=WALL + models))
    with restarted_simulator() as starter:
        starter.load(Scene(path, robot))
    return path


@pytest.fixture
def second(tmp_path):
    """A world in which one obstacle is deleted, one is larger and moved, and one is new."""
    models = obstacle("obstacle_b", -2, 1, "1 1 0.5") + obstacle("obstacle_c", 2, 0)
    path = tmp_path / "second.world"
    path.write_text(WORLD.format(models=WALL + models))
    return path


@pytest.fixture
def client():
    client = GazeboRosClient(answer_timeout_s=10.0)
    yield client
    client.close()


def test_another_world_is_loaded_around_the_present_robot(first, second, robot):
    with GazeboRosSimulator(world=first) as adaptor:
        simulation = adaptor.load(Scene(second, robot, Pose2D(0.5, -1.0, 0.3)))
        snapshot = simulation.step(0.2)
        assert set(snapshot.models) == {"floor", "wall", "robot", "obstacle_b", "obstacle_c"}
        assert snapshot.models["obstacle_b"].pose.position == pytest.approx((-2, 1, 0.25))
        assert snapshot.models["robot"].pose.planar == pytest.approx((0.5, -1.0, 0.3), abs=0.02)
        simulation.drive(Twist2D(0.5, 0.0))
        moved = simulation.step(1.0).models["robot"].pose.planar
        assert moved.distance_to(0.5, -1.0) > 0.3


def test_obstacles_with_other_poses_in_the_next_scene_are_moved(first, robot, tmp_path):
    moved = tmp_path / "moved.world"
    text = first.read_text().replace("3 2 0.25", "-1 2 0.25")
    moved.write_text(text)
    with GazeboRosSimulator(world=first) as adaptor:
        snapshot = adaptor.load(Scene(moved, robot)).snapshot()
        assert snapshot.models["obstacle_b"].pose.position == pytest.approx((-1, 2, 0.25))
        assert snapshot.models["obstacle_a"].pose.position == pytest.approx((3, 0, 0.25))


def test_closing_the_simulator_does_not_change_the_world(first, client):
    with GazeboRosSimulator(world=first):
        pass
    assert "obstacle_a" in client.model_names()


def test_the_robot_is_commanded_after_topics_were_closed_before_they_were_connected(first):
    for _ in range(40):
        RobotTopics(TopicNames()).close()
    topics = RobotTopics(TopicNames())
    topics.await_robot(has_lidar=True, timeout_s=10.0)
    topics.close()


def test_a_saved_world_has_the_present_poses_of_obstacles(first, robot, tmp_path):
    saved = tmp_path / "saved.world"
    with GazeboRosSimulator(world=first) as adaptor:
        simulation = adaptor.load(Scene(first, robot))
        simulation.set_states({"obstacle_a": ModelState(Pose((1.0, -2.0, 0.25)))})
        simulation.save_world(saved)
    models = read_scene(saved).models
    assert set(models) == {"floor", "wall", "robot", "obstacle_a", "obstacle_b"}
    assert models["obstacle_a"].pose.position == pytest.approx((1.0, -2.0, 0.25), abs=1e-5)


def test_step_raises_an_error_if_another_process_pauses_time(first, robot, client):
    with GazeboRosSimulator(world=first, stall_timeout_s=5.0) as adaptor:
        simulation = adaptor.load(Scene(first, robot))
        stopper = threading.Timer(0.5, client.pause)
        stopper.start()
        with pytest.raises(SimulatorError, match="no progress for 5 s"):
            simulation.step(60.0)
        stopper.join(60)
        assert not stopper.is_alive()


def test_states_can_be_read_while_time_runs_and_while_it_is_paused(first, client):
    client.pause()
    before = client.world().time_s
    time.sleep(0.2)
    assert client.world().time_s == before
    assert set(client.states(client.model_names())) >= {"robot", "obstacle_a"}
    client.unpause()
    deadline = time.monotonic() + 10.0
    while client.world().time_s == before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert client.world().time_s > before
    assert set(client.states(client.model_names())) >= {"robot", "obstacle_a"}
    client.pause()
    assert client.paused()
