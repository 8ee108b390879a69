"""Timeouts of the wait for a stack, and messages about missing parts."""

from types import SimpleNamespace

import pytest

from gz_testauto.base.errors import ConfigurationError, NavigatorError, SimulatorError
from gz_testauto.ros.stack import launched_stack, requirements
from gz_testauto.ros.stack.launched_stack import LaunchedStack
from gz_testauto.ros.stack.localization import Localization
from gz_testauto.ros.stack.requirements import ActionNode, Requirement, RequirementTimeout
from gz_testauto.simulators.gazebo_ros.connection import ServiceTimeoutError
from gz_testauto.spec.stack import StackNamesSpec

TIMEOUT_S = 40.0


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now_s=0.0)

    def sleep(seconds):
        clock.now_s += seconds

    for module in (requirements, launched_stack):
        monkeypatch.setattr(
            module, "time", SimpleNamespace(monotonic=lambda: clock.now_s, sleep=sleep)
        )
    return clock


def scan(there):
    return Requirement(
        lambda: False,
        "no message on /scan",
        "set stack.names.scan to the topic of the laser",
        kind="other topics of sensor_msgs/LaserScan",
        name="/scan",
        existing=there,
    )


def waited_s(clock, awaited, cannot_start=False):
    patience = RequirementTimeout(awaited, TIMEOUT_S)
    while not patience.has_expired(cannot_start):
        clock.now_s += 1.0
    return clock.now_s


def test_a_name_of_an_unknown_type_is_awaited_until_the_timeout(clock):
    assert waited_s(clock, scan(list)) == pytest.approx(TIMEOUT_S, abs=2.0)


def test_the_wait_ends_early_if_the_type_exists_under_another_name(clock):
    assert waited_s(clock, scan(lambda: ["/limo/scan"])) == pytest.approx(TIMEOUT_S / 4, abs=2.0)


def test_the_wait_continues_while_new_names_appear(clock):
    assert waited_s(clock, scan(lambda: ["/s"] * int(clock.now_s / 5))) > TIMEOUT_S / 2


def test_an_existing_name_without_messages_is_awaited_until_the_timeout(clock):
    there = ["/limo/scan", "/scan"]
    assert waited_s(clock, scan(lambda: there)) == pytest.approx(TIMEOUT_S, abs=2.0)


def test_the_wait_ends_early_if_a_node_could_not_be_started(clock):
    assert waited_s(clock, scan(list), cannot_start=True) < TIMEOUT_S / 2


def test_a_message_has_the_missing_name_the_existing_names_and_the_remedy():
    assert scan(lambda: ["/scan", "/limo/scan"]).message() == (
        "no message on /scan; other topics of sensor_msgs/LaserScan: /limo/scan; "
        "set stack.names.scan to the topic of the laser"
    )
    assert "LaserScan: none;" in scan(list).message()


class Stack(LaunchedStack):
    """A running stack whose navigation dies after some checks."""

    def __init__(self, looks):
        self._looks = looks
        part = SimpleNamespace(failure=self._trouble, launch_file_is_invalid=bool)
        self._parts = {"navigation": part}

    def _trouble(self):
        self._looks -= 1
        return "" if self._looks >= 0 else "stack.navigation: [move_base-2] process has died"


def test_a_dead_process_is_named_before_the_service_that_failed_with_it(clock):
    with pytest.raises(NavigatorError, match=r"move_base-2.*detected by: /clear_costmaps failed"):
        Stack(looks=5).raise_process_failure(NavigatorError("/clear_costmaps failed"))


def test_error_is_unchanged_while_all_processes_run(clock):
    Stack(looks=10**9).raise_process_failure(SimulatorError("no progress for 30 s"))


class LoadingStack(LaunchedStack):
    """A running stack whose simulator does not answer some calls, each for 30 s."""

    def __init__(self, clock, silent_calls):
        part = SimpleNamespace(
            name="stack.robot",
            failure=str,
            node_not_found=str,
            log_excerpt=lambda excluding, only_errors: "" if only_errors else "its last output",
        )
        self._parts = {"robot": part}
        self._stack = SimpleNamespace(start_timeout_s=90.0)
        self._bed = SimpleNamespace(robot=SimpleNamespace(name="rosbot"))
        self._gazebo = SimpleNamespace(model_names=self._answer)
        self._models, self._silence = frozenset(), ""
        self._clock, self._silent_calls = clock, silent_calls

    def _require_simulated_time(self):
        pass

    def _answer(self):
        if self._silent_calls:
            self._silent_calls -= 1
            self._clock.now_s += 30.0
            raise ServiceTimeoutError("/gazebo/get_world_properties did not answer within 30 s")
        return {"walls", "rosbot"}


def test_the_stack_waits_for_a_simulator_that_loads_the_robot(clock):
    LoadingStack(clock, silent_calls=2)._await_robot({"walls"})
    assert clock.now_s == pytest.approx(60.0, abs=1.0)


def test_unresponsive_simulator_is_reported_with_the_service(clock):
    with pytest.raises(SimulatorError, match=r"get_world_properties did not answer.*no model"):
        LoadingStack(clock, silent_calls=10**9)._await_robot({"walls"})
    assert clock.now_s == pytest.approx(90.0, abs=1.0)


def required(name, existing, is_met=False):
    return Requirement(
        lambda: is_met, f"no message on {name}", "remedy", "others", name, lambda: existing
    )


def test_names_of_a_move_base_follow_the_name_of_its_node():
    names = StackNamesSpec(costmap="/move_base/local_costmap/costmap", odom="/odom")
    node = "/move_base_node"
    costmap, service = f"{node}/local_costmap/costmap", f"{node}/clear_costmaps"
    plan = f"{node}/NavfnROS/plan"
    corrected = ActionNode(node, ["/odom", costmap, service, plan]).corrected_names(names)
    expected = {"costmap": costmap, "clear_costmaps": service, "global_plan": [plan]}
    assert corrected == expected


def test_corrected_names_include_the_plans_of_a_planner_without_a_default_name():
    node = "/move_base_node"
    plan, local_plan = f"{node}/SBPLLatticePlanner/plan", f"{node}/DWAPlannerROS/local_plan"
    others = [f"{node}/make_plan", f"{node}/DWAPlannerROS/global_plan", "/other/plan"]
    corrected = ActionNode(node, [plan, local_plan, *others]).corrected_names(StackNamesSpec())
    assert corrected == {"global_plan": [plan], "local_plan": [local_plan]}


@pytest.mark.parametrize(
    ("node", "existing"),
    [
        ("/move_base", ["/move_base/local_costmap/costmap"]),
        ("/bridge", ["/move_base/local_costmap/costmap"]),  # it has none of the names
    ],
)
def test_names_are_kept_if_the_node_of_the_action_has_no_other_ones(node, existing):
    assert ActionNode(node, existing).corrected_names(StackNamesSpec()) == {}


def test_all_wrong_names_are_reported_together(clock):
    stack = LoadingStack(clock, 0)
    requirements = [
        required("/move_base", ["/move_base"], is_met=True),
        required("/odom", ["/odometry/filtered"]),
        required("/scan", ["/front/scan"]),
    ]
    with pytest.raises(ConfigurationError) as caught:
        stack.await_requirements(requirements, lambda: "stack.frames.base is 'base'")
    message = caught.value.full
    for part in ("/odometry/filtered", "no message on /scan", "/front/scan", "stack.frames.base"):
        assert part in message
    assert "/move_base" not in message
    assert "its last output" not in message
    assert clock.now_s < 30.0


def test_requirement_that_may_still_be_met_is_not_reported_as_wrong(clock):
    requirements = [required("/odom", ["/odometry/filtered"]), required("/scan", [])]
    with pytest.raises(ConfigurationError) as caught:
        LoadingStack(clock, 0).await_requirements(requirements)
    assert "/scan" not in caught.value.full


def test_missing_part_without_another_name_is_no_configuration_error(clock):
    with pytest.raises(NavigatorError) as caught:
        LoadingStack(clock, 0).await_requirements([required("/scan", [])])
    assert not isinstance(caught.value, ConfigurationError)


def test_node_that_cannot_be_launched_is_a_configuration_error(clock):
    stack = LoadingStack(clock, 0)
    stack._parts["robot"].node_not_found = lambda: "cannot launch node of type [a/b]"
    with pytest.raises(ConfigurationError, match=r"cannot launch node of type \[a/b\]") as caught:
        stack.await_requirements([required("/scan", [])], lambda: "stack.frames.map is 'map'")
    assert "frames" not in caught.value.full
    assert "(a quarter of stack.start_timeout_s without this node) no" in caught.value.full


def test_invalid_launch_file_is_a_configuration_error():
    stack = Stack(looks=0)
    stack._parts["navigation"].launch_file_is_invalid = lambda: True
    with pytest.raises(ConfigurationError, match="move_base-2"):
        stack.require_alive()


@pytest.mark.parametrize(
    ("base", "map_frame", "wrong"),
    [
        ("base_link", "map", ()),
        ("/base_link", "/map", ()),
        ("base_lnk", "map", ("stack.frames.base is 'base_lnk'",)),
        ("base_lnk", "world", ("stack.frames.base is 'base_lnk'", "stack.frames.map is 'world'")),
    ],
)
def test_frames_that_do_not_exist_are_named_with_the_existing_ones(base, map_frame, wrong):
    localization = Localization.__new__(Localization)
    localization._stack = SimpleNamespace(frames=SimpleNamespace(base=base, map=map_frame))
    localization._known_frames = lambda: ["base_link", "map", "odom"]
    message = localization.wrong_frames()
    assert bool(message) == bool(wrong)
    assert all(part in message for part in wrong)
    assert not wrong or "base_link, map, odom" in message
    localization._known_frames = list
    assert localization.wrong_frames() == ""
