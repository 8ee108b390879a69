import math

import pytest

from gz_testauto.ros.simulator.interface import RealTimeFactorParameters
from gz_testauto.ros.simulator.step_scheduler import (
    LockstepScheduler,
    RealTimeScheduler,
    make_scheduler,
)

PERIOD_S, HOLD_S, START_S = 0.1, 5.0, 10.0


def scheduler_of(value):
    parameters = RealTimeFactorParameters(
        real_time_factor=value, command_timeout=HOLD_S, start_timeout=START_S
    )
    return make_scheduler(parameters, PERIOD_S)


@pytest.fixture
def lockstep():
    scheduler = scheduler_of("lockstep")
    scheduler.start_scene(100.0)
    return scheduler


def test_real_time_scheduler_starts_periods_at_its_factor():
    scheduler = RealTimeScheduler(2.0, PERIOD_S)
    scheduler.start_scene(100.0)
    assert scheduler.wait_until() == 100.0
    scheduler.stepped(100.0)
    assert scheduler.wait_until() == pytest.approx(100.05)
    scheduler.stepped(100.06)
    assert scheduler.wait_until() == pytest.approx(100.10)


def test_delayed_periods_are_not_followed_by_faster_periods():
    scheduler = RealTimeScheduler(1.0, PERIOD_S)
    scheduler.start_scene(100.0)
    scheduler.stepped(100.0)
    scheduler.stepped(107.0)
    assert scheduler.wait_until() == pytest.approx(107.0)
    scheduler.stepped(107.0)
    assert scheduler.wait_until() == pytest.approx(107.1)


def test_periods_without_a_command_are_late_after_the_first_command():
    scheduler = RealTimeScheduler(1.0, PERIOD_S)
    scheduler.start_scene(100.0)
    assert scheduler.stepped(100.0) is False  # before the first command
    scheduler.commanded()
    assert scheduler.stepped(100.1) is False
    assert scheduler.stepped(100.2) is True
    scheduler.commanded()
    assert scheduler.stepped(100.3) is False
    scheduler.start_scene(200.0)
    assert scheduler.stepped(200.0) is False


def test_real_time_factor_zero_does_not_wait():
    scheduler = scheduler_of(0)
    scheduler.start_scene(100.0)
    scheduler.stepped(100.0)
    assert scheduler.wait_until() <= 100.0


def test_first_command_starts_the_first_period_in_lockstep(lockstep):
    assert lockstep.wait_until() == 110.0
    lockstep.commanded()
    assert lockstep.wait_until() == -math.inf


def test_lockstep_waits_for_the_next_command_after_a_step(lockstep):
    lockstep.commanded()
    assert lockstep.stepped(101.0) is False
    assert lockstep.wait_until() == 106.0


def test_time_advances_in_real_time_after_a_command_timeout(lockstep):
    lockstep.commanded()
    lockstep.stepped(101.0)
    assert lockstep.stepped(106.0) is True
    assert lockstep.wait_until() == pytest.approx(106.1)
    assert lockstep.stepped(106.1) is False
    assert lockstep.wait_until() == pytest.approx(106.2)


def test_time_is_held_again_after_the_next_command(lockstep):
    lockstep.stepped(110.0)
    assert lockstep.wait_until() == pytest.approx(110.1)
    lockstep.commanded()
    assert lockstep.stepped(110.05) is False
    assert lockstep.wait_until() == pytest.approx(115.05)


def test_new_scene_in_lockstep_waits_for_its_first_command(lockstep):
    lockstep.commanded()
    lockstep.start_scene(200.0)
    assert lockstep.wait_until() == 210.0


def test_scheduler_is_lockstep_or_has_the_real_time_factor():
    assert isinstance(scheduler_of("lockstep"), LockstepScheduler)
    assert scheduler_of(1.5).factor == 1.5
