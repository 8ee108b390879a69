"""Faults in the preparation of a stack for a trial."""

from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("rospy")

from gz_testauto.base.errors import ConfigurationError, SceneError, SimulatorError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.ros.session import SessionRestartError
from gz_testauto.ros.stack import requirements, trial
from gz_testauto.ros.stack.ground_truth import require_max_gap
from gz_testauto.ros.stack.running_world import RunningWorld
from gz_testauto.ros.stack.trial import StackTrialRunner
from gz_testauto.simulators.changes import Push
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.randomize import PushTerm
from gz_testauto.spec.stack import StackNamesSpec
from gz_testauto.trial.actors import TrialActors

ROOM = Path(__file__).resolve().parents[3] / "worlds" / "room.world"


def test_a_model_that_cannot_be_placed_restarts_the_stack(
    monkeypatch,
):
    def stay(trial, values):
        raise SimulatorError("not placed: obstacle_cylinder_1")

    warm = StackTrialRunner.__new__(StackTrialRunner)
    warm._running = SimpleNamespace(simulating=True)
    warm._stack = warm._logs = None
    warm._bed = SimpleNamespace(spec=None)
    warm._write_static_map, warm._reset = lambda trial: None, stay
    monkeypatch.setattr(trial, "placeholder_values", lambda *arguments: {})
    with pytest.raises(SessionRestartError, match="not placed"):
        warm._prepare(SimpleNamespace(), None, TrialActors())


def test_velocity_commands_that_only_this_node_publishes_are_reported(monkeypatch):
    publishers = {"/cmd_vel": ["/move_base"], "/cmd_velo": ["/runner"]}
    state = SimpleNamespace(getSystemState=lambda: ([*publishers.items()], [], []))
    monkeypatch.setattr(requirements.rosgraph, "Master", lambda name: state)
    monkeypatch.setattr(requirements.rospy, "get_name", lambda: "/runner")
    topics = [[topic, "geometry_msgs/Twist"] for topic in publishers]
    monkeypatch.setattr(requirements.rospy, "get_published_topics", lambda: topics)
    runner = StackTrialRunner.__new__(StackTrialRunner)
    for name, reported in (("/cmd_vel", False), ("/cmd_velo", True)):
        runner._stack = SimpleNamespace(names=StackNamesSpec(cmd_vel=name))
        notices = [*runner._missing_parts("", True, {"xy_goal_tolerance": 0.1})]
        notice = "velocity commands, no topic of stack.names.cmd_vel (existing: /cmd_vel)"
        assert (notice in notices) == reported


RENAMED_NODE = {
    "/move_base/result": ["/move_base_node"],
    "/move_base_node/local_costmap/costmap": ["/move_base_node"],
}
"""Topics with their publishers if the node that serves the action move_base has another name."""


def test_default_names_are_rejected_if_another_node_serves_the_action(monkeypatch):
    state = SimpleNamespace(getSystemState=lambda: ([*RENAMED_NODE.items()], [], []))
    monkeypatch.setattr(requirements.rosgraph, "Master", lambda name: state)
    runner = StackTrialRunner.__new__(StackTrialRunner)
    runner._running = SimpleNamespace(await_requirements=lambda *arguments: None)
    runner._localization = SimpleNamespace(wrong_frames=None)
    costmap = "/move_base_node/local_costmap/costmap"
    runner._stack = SimpleNamespace(names=StackNamesSpec())
    with pytest.raises(
        ConfigurationError, match=rf"served by the node /move_base_node,.*\{{costmap: {costmap}\}}"
    ):
        runner._await_interface()
    runner._stack = SimpleNamespace(names=StackNamesSpec(costmap=costmap))
    runner._await_interface()
    assert runner._node.name == "/move_base_node"


def test_goal_tolerance_is_that_of_the_node_that_serves_the_action(monkeypatch):
    parameters = {"/move_base_node": {"DWAPlannerROS": {"xy_goal_tolerance": 0.25}}}
    monkeypatch.setattr(trial.rospy, "get_param", lambda name, default: parameters.get(name, {}))
    monkeypatch.setattr(trial, "placeholder_values", lambda *arguments: {})
    reports = []

    def stop(*arguments):
        raise ConfigurationError("the costmap is checked")

    cold = StackTrialRunner.__new__(StackTrialRunner)
    cold._bed = SimpleNamespace(
        spec=SimpleNamespace(
            goal=SimpleNamespace(tolerance_m=0.1), limits=SimpleNamespace(stuck_window_s=10.0)
        )
    )
    cold._stack = SimpleNamespace(start_timeout_s=1.0)
    cold._logs = None
    cold._node = SimpleNamespace(name="/move_base_node")
    cold._running = SimpleNamespace(
        simulating=False,
        start_navigation=lambda *arguments: None,
        require_start=lambda *arguments: None,
        require_alive=None,
    )
    cold._localization = SimpleNamespace(
        establish=lambda *arguments: None,
        clear_costmaps=lambda: True,
        estimated_pose=lambda: Pose2D(0.0, 0.0),
        has_localizer=False,
    )
    cold._updater = SimpleNamespace(replace_actors=lambda *arguments: None)
    cold._traffic = SimpleNamespace(begin=lambda *arguments: None)
    cold._costmap = SimpleNamespace(require_marks=stop)
    cold._report = lambda text, warning="": reports.append(warning)
    cold._write_static_map = cold._start_simulator = lambda *arguments: None
    cold._await_interface = cold._pushed_links = cold._true_pose = lambda: None
    cold._true_planar_pose = lambda: Pose2D(0.0, 0.0)
    cold._wait_simulated = lambda simulated_s: None
    monitor = SimpleNamespace(require_upright=lambda pose: None)
    with pytest.raises(ConfigurationError, match="the costmap is checked"):
        cold._prepare(None, monitor, TrialActors())
    (warning,) = filter(None, reports)
    assert "/move_base_node/DWAPlannerROS/xy_goal_tolerance is 0.25" in warning


class FallenMonitor:
    """A monitor of a robot that has fallen."""

    def require_upright(self, pose):
        raise SceneError("the robot fell: before the goal is sent it is at z = -574.00 m")


def test_a_fallen_robot_is_reported_before_the_localization_is_checked(monkeypatch):
    """The error is no ``SceneError``: gazebo_ros is not repeatable, so another attempt can pass."""
    cold = StackTrialRunner.__new__(StackTrialRunner)
    cold._bed = SimpleNamespace(
        spec=None,
        robot=SimpleNamespace(name="limo"),
        monitor=lambda trial, extra_models: FallenMonitor(),
        actors=lambda trial: TrialActors(),
    )
    cold._stack = cold._logs = cold._localization = None
    cold._running = SimpleNamespace(simulating=False, start_navigation=lambda *arguments: False)
    cold._truth = SimpleNamespace(
        request_snapshot=lambda robot, others: SimpleNamespace(models={robot: ModelState(Pose())})
    )
    cold._updater = SimpleNamespace(replace_actors=lambda actors, spare_models: None)
    cold._write_static_map = cold._start_simulator = cold._report = lambda *arguments: None
    cold._await_interface = cold._pushed_links = lambda: None
    monkeypatch.setattr(trial, "placeholder_values", lambda *arguments: {})
    with pytest.raises(SimulatorError, match="the robot fell: before the goal is sent") as raised:
        cold.execute(None)
    assert not isinstance(raised.value, SceneError)


def test_a_gap_just_above_the_limit_is_rounded_up():
    with pytest.raises(SimulatorError, match=r"^1\.01 s passed .* more than .* = 1, "):
        require_max_gap(1.002, 1.0)


def arrival(estimated):
    """Return the message about a report of the arrival at (3, 0), 0.4 m from the true position."""
    runner = StackTrialRunner.__new__(StackTrialRunner)
    runner._bed = SimpleNamespace(spec=SimpleNamespace(goal=SimpleNamespace(tolerance_m=0.3)))
    runner._localization = SimpleNamespace(estimated_pose=lambda: estimated)
    return runner._false_arrival_text(SimpleNamespace(goal=Pose2D(3.0, 0.0), pose=Pose2D(2.6, 0.0)))


def test_message_of_a_false_arrival_states_the_pose_in_tf():
    message = arrival(Pose2D(2.75, 0.0))
    assert "0.40 m from it (goal.tolerance_m is 0.3)" in message
    assert "tf has the robot at (2.75, 0.00), 0.25 m from the goal" in message
    assert message.endswith("0.15 m from its true position")


def test_message_of_a_false_arrival_without_tf_states_the_true_distance():
    assert arrival(None).endswith("0.40 m from it (goal.tolerance_m is 0.3)")


def pushing(links):
    """Return a runner whose campaign pushes husky::base_link, and whose robot has ``links``."""
    term = PushTerm(name="gust", term="push", select={"names": "husky::base_link"}, set=20)
    runner = StackTrialRunner.__new__(StackTrialRunner)
    runner._bed = SimpleNamespace(
        robot=SimpleNamespace(name="husky"), spec=SimpleNamespace(randomize=(term,), effects=())
    )
    runner._gazebo = SimpleNamespace(links_of=lambda models: {"husky": links})
    return runner


def test_pushed_link_of_the_robot_must_exist_before_the_drive():
    found = pushing(("husky::base_link", "husky::wheel"))._pushed_links()
    assert found == ("husky::base_link",)
    with pytest.raises(ConfigurationError, match=r"husky::base_link.*husky::base_footprint"):
        pushing(("husky::base_footprint",))._pushed_links()


def test_push_on_the_robot_of_a_stack_is_a_request_to_gazebo():
    requests = []
    gazebo = SimpleNamespace(
        physics=lambda: SimpleNamespace(step_size_s=0.001),
        model_names=lambda: ["husky"],
        request=lambda service, requested: requests.append((service, requested[0])),
    )
    scene = Scene(ROOM, None, Pose2D(0.0, 0.0))
    arguments = (gazebo, None, scene, "husky", (), 0.1, 30.0, lambda: None)
    push = Push("husky::base_link", (20.0, 0.0, 0.0), duration_s=0.1)
    with pytest.raises(SimulatorError, match="husky::base_link"):
        RunningWorld(*arguments).apply([push])
    RunningWorld(*arguments, ("husky::base_link",)).apply([push])
    ((service, request),) = requests
    assert (service, request.body_name) == ("apply_body_wrench", "husky::base_link")
    assert request.wrench.force.x == 20.0
