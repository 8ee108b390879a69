"""How long a stack is waited for, and what is said of that which does not come."""

from types import SimpleNamespace

import pytest

from gz_testauto.base.errors import NavigatorError, SimulatorError
from gz_testauto.ros.stack import launched_stack, requirements
from gz_testauto.ros.stack.launched_stack import LaunchedStack
from gz_testauto.ros.stack.requirements import Requirement, RequirementTimeout
from gz_testauto.simulators.gazebo_ros.connection import ServiceSilent

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
        "stack.names.scan says where the laser is",
        kind="other topics of sensor_msgs/LaserScan",
        name="/scan",
        there=there,
    )


def waited_s(clock, awaited, cannot_start=False):
    patience = RequirementTimeout(awaited, TIMEOUT_S)
    while not patience.has_expired(cannot_start):
        clock.now_s += 1.0
    return clock.now_s


def test_what_nobody_knows_of_is_waited_for_to_the_end(clock):
    assert waited_s(clock, scan(list)) == pytest.approx(TIMEOUT_S, abs=2.0)


def test_what_is_there_under_another_name_is_given_up_once_nothing_is_added(clock):
    assert waited_s(clock, scan(lambda: ["/limo/scan"])) == pytest.approx(TIMEOUT_S / 4, abs=2.0)


def test_as_long_as_more_of_the_kind_appears_more_is_waited_for(clock):
    assert waited_s(clock, scan(lambda: ["/s"] * int(clock.now_s / 5))) > TIMEOUT_S / 2


def test_what_is_there_and_silent_is_waited_for_to_the_end(clock):
    there = ["/limo/scan", "/scan"]
    assert waited_s(clock, scan(lambda: there)) == pytest.approx(TIMEOUT_S, abs=2.0)


def test_when_a_node_could_not_be_started_what_does_not_come_is_given_up_soon(clock):
    assert waited_s(clock, scan(list), cannot_start=True) < TIMEOUT_S / 2


def test_a_message_says_what_is_missing_what_there_is_and_what_to_do():
    assert scan(lambda: ["/scan", "/limo/scan"]).message() == (
        "no message on /scan; other topics of sensor_msgs/LaserScan: /limo/scan; "
        "stack.names.scan says where the laser is"
    )
    assert "LaserScan: none;" in scan(list).message()


class Stack(LaunchedStack):
    """A running stack whose navigation dies after some looks."""

    def __init__(self, looks):
        self._looks = looks
        self._parts = {"navigation": SimpleNamespace(failure=self._trouble)}

    def _trouble(self):
        self._looks -= 1
        return "" if self._looks >= 0 else "stack.navigation: [move_base-2] process has died"


def test_the_process_that_died_is_named_before_the_service_that_failed_because_of_it(clock):
    with pytest.raises(NavigatorError, match=r"move_base-2.*detected by: /clear_costmaps failed"):
        Stack(looks=5).raise_process_failure(NavigatorError("/clear_costmaps failed"))


def test_where_nobody_died_an_error_stays_what_it_is(clock):
    Stack(looks=10**9).raise_process_failure(SimulatorError("no progress for 30 s"))


class LoadingStack(LaunchedStack):
    """A running stack whose simulator answers nobody for so many calls, 30 s each."""

    def __init__(self, clock, silent_calls):
        part = SimpleNamespace(
            name="stack.robot",
            failure=str,
            node_not_found=str,
            log_excerpt=lambda excluding: "its last words",
        )
        self._parts = {"robot": part}
        self._stack = SimpleNamespace(start_timeout_s=90.0)
        self._campaign = SimpleNamespace(robot=SimpleNamespace(name="rosbot"))
        self._gazebo = SimpleNamespace(model_names=self._answer)
        self._models, self._silence = frozenset(), ""
        self._clock, self._silent_calls = clock, silent_calls

    def _require_simulated_time(self):
        pass

    def _answer(self):
        if self._silent_calls:
            self._silent_calls -= 1
            self._clock.now_s += 30.0
            raise ServiceSilent("/gazebo/get_world_properties did not answer within 30 s")
        return {"walls", "rosbot"}


def test_a_simulator_that_is_busy_loading_the_robot_is_waited_for(clock):
    LoadingStack(clock, silent_calls=2)._await_robot({"walls"})
    assert clock.now_s == pytest.approx(60.0, abs=1.0)


def test_one_that_never_answers_is_given_up_with_the_service_that_is_silent(clock):
    with pytest.raises(SimulatorError, match=r"get_world_properties did not answer.*no model"):
        LoadingStack(clock, silent_calls=10**9)._await_robot({"walls"})
    assert clock.now_s == pytest.approx(90.0, abs=1.0)
