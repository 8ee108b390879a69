"""The simulator gazebo_ros with a faulty clock and faulty worlds."""

import logging
import re

import pytest
from fake_gazebo_ros import FakeGazeboRos
from gazebo_msgs import srv

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.gazebo_ros import simulation as gazebo_ros_simulation
from gz_testauto.simulators.gazebo_ros import simulator
from gz_testauto.simulators.gazebo_ros.simulator import diff_models
from gz_testauto.simulators.interface import NamedModel, Scene

WORLD = """<sdf version="1.6"><world name="w">{physics}<model name="floor"><static>true</static>
<link name="link"/></model></world></sdf>"""
OBSTACLES = re.compile("obstacle_.*")
AWAY = Pose((1.0, 2.0, 0.0))


class Topics:
    """The topics of a robot that has only a clock. The clock advances to ``late_s`` after the due
    time, or stalls."""

    def __init__(self, fake):
        self.fake, self.late_s, self.stalls, self.scan = fake, 0.0, False, None

    def begin(self, origin_ns, mount):
        pass

    def await_clock(self, due_ns, stall_timeout_s):
        assert not self.fake.paused
        if not self.stalls:
            self.fake.time_s = due_ns / 1e9 + self.late_s
        return not self.stalls

    def take(self):
        return (), ()

    def close(self):
        pass


@pytest.fixture
def fake():
    with FakeGazeboRos("floor") as gazebo_ros:
        yield gazebo_ros


@pytest.fixture
def topics(fake):
    return Topics(fake)


@pytest.fixture
def adaptor(fake, topics, monkeypatch):
    monkeypatch.setenv("ROS_MASTER_URI", fake.master_uri)
    monkeypatch.setattr(simulator, "RobotTopics", lambda names: topics)
    with open_simulator("gazebo_ros", service_timeout_s=2.0, effect_timeout_s=1.0) as opened:
        yield opened


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "one.world"
    path.write_text(WORLD.format(physics=""))
    return Scene(path)


def test_snapshot_has_the_time_at_the_end_of_the_step(adaptor, topics, scene):
    simulation = adaptor.load(scene)
    topics.late_s = 0.007
    assert simulation.step(0.1).time_s == pytest.approx(0.107, abs=1e-9)
    assert simulation.step(0.1).time_s == pytest.approx(0.214, abs=1e-9)
    assert adaptor.steps_exactly is False


def test_stalled_clock_ends_the_simulation_and_pauses_the_world(adaptor, fake, topics, scene):
    simulation = adaptor.load(scene)
    topics.stalls = True
    with pytest.raises(SimulatorError, match="no progress for 30 s"):
        simulation.step(0.1)
    assert fake.paused
    with pytest.raises(SimulatorError, match="this simulation is over"):
        simulation.snapshot()


def test_loading_raises_if_time_continues_while_paused(adaptor, fake, scene, monkeypatch):
    def unheeding(request, serve):
        fake.time_s += 0.001
        return serve(request)

    monkeypatch.setattr(gazebo_ros_simulation, "STOP_TIMEOUT_S", 0.1)
    fake.trouble["get_world_properties"] = unheeding
    with pytest.raises(SimulatorError, match="simulated time continues"):
        adaptor.load(scene)


def test_states_are_read_while_time_is_paused(adaptor, fake, scene):
    simulation = adaptor.load(scene)
    assert fake.paused
    fake.models[0][1] = AWAY
    snapshot = simulation.snapshot()
    assert snapshot.models["floor"].pose == AWAY
    assert set(snapshot.links) == {"floor::link"}


def test_repeated_model_name_is_rejected(adaptor, fake, scene):
    fake.models.append(["floor", Pose()])
    with pytest.raises(SimulatorError, match="several models are named floor"):
        adaptor.load(scene)


def test_dead_simulator_is_detected_before_the_clock_times_out(adaptor, fake, topics, scene):
    simulation = adaptor.load(scene)
    waited_s = []

    def die(due_ns, stall_timeout_s):
        waited_s.append(stall_timeout_s)
        fake.withdraw("get_world_properties")
        return False

    topics.await_clock = die
    with pytest.raises(SimulatorError, match="/gazebo/get_world_properties"):
        simulation.step(0.1)
    assert sum(waited_s) <= 2.0


def test_step_ends_without_clock_messages(adaptor, fake, topics, scene):
    def silent(due_ns, stall_timeout_s):
        fake.time_s += 0.06
        return False

    simulation = adaptor.load(scene)
    topics.await_clock = silent
    assert simulation.step(0.1).time_s == pytest.approx(0.12, abs=1e-9)


def test_step_raises_with_the_service_name_if_the_simulator_dies(adaptor, fake, topics, scene):
    simulation = adaptor.load(scene)
    fake.withdraw("pause_physics")
    with pytest.raises(SimulatorError, match="/gazebo/pause_physics"):
        simulation.step(0.1)


def test_different_physics_settings_are_logged_once(adaptor, scene, caplog):
    physics = "<physics type='ode'><max_step_size>0.002</max_step_size></physics>"
    scene.world.write_text(WORLD.format(physics=physics))
    with caplog.at_level(logging.WARNING):
        adaptor.load(scene)
        adaptor.load(scene)
    (record,) = [r for r in caplog.records if "physics step" in r.getMessage()]
    assert "physics step of 0.001 s" in record.getMessage()
    assert "physics step of 0.002 s" in record.getMessage()


def test_model_of_another_process_remains_and_cannot_be_saved(adaptor, fake, scene, tmp_path):
    fake.models.append(["visitor", AWAY])
    simulation = adaptor.load(scene)
    assert fake.names() == ["floor", "visitor"]
    with pytest.raises(SimulatorError, match="visitor"):
        simulation.save_world(tmp_path / "saved.world")


def test_simulation_is_usable_after_a_failed_spawn(adaptor, fake, scene):
    simulation = adaptor.load(scene)
    refusal = srv.SpawnModelResponse(False, "no room")
    fake.trouble["spawn_sdf_model"] = lambda request, serve: refusal
    box = "<sdf version='1.6'><model name='a'><link name='link'/></model></sdf>"
    with pytest.raises(SimulatorError, match="no room"):
        simulation.spawn([NamedModel("a", box)])
    assert set(simulation.snapshot().models) == {"floor"}


def sdf(name, extra=""):
    return f"<model name='{name}'><pose>0 0 0 0 0 0</pose><link name='link'/>{extra}</model>"


def model(name, extra=""):
    return NamedModel(name, sdf(name, extra), AWAY)


def test_model_with_equal_sdf_text_is_moved():
    change = diff_models(
        {"obstacle_a": model("obstacle_a")},
        ["obstacle_a"],
        {"obstacle_a": sdf("obstacle_a").replace("0 0 0 0 0 0", "3 0 0 0 0 0")},
        OBSTACLES,
    )
    assert (change.delete, change.spawn, change.place) == ((), (), {"obstacle_a": AWAY})


def test_model_with_different_sdf_text_is_replaced():
    wanted = {"wall": model("wall", "<static>true</static>")}
    change = diff_models(wanted, ["wall"], {"wall": sdf("wall")}, OBSTACLES)
    assert (change.delete, change.spawn, change.place) == (("wall",), (wanted["wall"],), {})


def test_model_with_unknown_sdf_text_is_replaced_if_it_is_an_obstacle():
    wanted = {name: model(name) for name in ("wall", "obstacle_a")}
    change = diff_models(wanted, ["wall", "obstacle_a"], {}, OBSTACLES)
    assert change.delete == ("obstacle_a",)
    assert change.spawn == (wanted["obstacle_a"],)
    assert change.place == {"wall": AWAY}


def test_model_not_in_the_scene_is_deleted_if_known_or_an_obstacle():
    standing = ["known", "obstacle_of_somebody", "somebody"]
    change = diff_models({}, standing, {"known": sdf("known")}, OBSTACLES)
    assert change.delete == ("known", "obstacle_of_somebody")
