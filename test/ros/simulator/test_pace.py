import math

import pytest

from gz_testauto.ros.simulator.interface import PaceParameters
from gz_testauto.ros.simulator.pace import Hold, RateLimit, make_pace

PERIOD_S, HOLD_S, START_S = 0.1, 5.0, 10.0


def pace_of(value):
    parameters = PaceParameters(
        real_time_factor=value, command_timeout=HOLD_S, start_timeout=START_S
    )
    return make_pace(parameters, PERIOD_S)


@pytest.fixture
def hold():
    pace = pace_of("lockstep")
    pace.start_scene(100.0)
    return pace


def test_a_rate_limit_starts_periods_at_its_real_time_factor():
    pace = RateLimit(2.0, PERIOD_S)
    pace.start_scene(100.0)
    assert pace.wait_until() == 100.0
    pace.stepped(100.0)
    assert pace.wait_until() == pytest.approx(100.05)
    pace.stepped(100.06)
    assert pace.wait_until() == pytest.approx(100.10)


def test_lost_time_is_not_compensated_by_faster_periods():
    pace = RateLimit(1.0, PERIOD_S)
    pace.start_scene(100.0)
    pace.stepped(100.0)
    pace.stepped(107.0)
    assert pace.wait_until() == pytest.approx(107.0)
    pace.stepped(107.0)
    assert pace.wait_until() == pytest.approx(107.1)


def test_with_a_rate_limit_each_period_without_a_command_is_late_after_the_first_command():
    pace = RateLimit(1.0, PERIOD_S)
    pace.start_scene(100.0)
    assert pace.stepped(100.0) is False  # before the first command
    pace.commanded()
    assert pace.stepped(100.1) is False
    assert pace.stepped(100.2) is True
    pace.commanded()
    assert pace.stepped(100.3) is False
    pace.start_scene(200.0)
    assert pace.stepped(200.0) is False


def test_factor_zero_does_not_wait():
    pace = pace_of(0)
    pace.start_scene(100.0)
    pace.stepped(100.0)
    assert pace.wait_until() <= 100.0


def test_a_scene_in_lockstep_waits_for_its_first_command(hold):
    assert hold.wait_until() == 110.0
    hold.commanded()
    assert hold.wait_until() == -math.inf


def test_a_command_in_time_is_not_late_and_the_next_is_awaited(hold):
    hold.commanded()
    assert hold.stepped(101.0) is False
    assert hold.wait_until() == 106.0


def test_after_a_timeout_time_advances_in_real_time(hold):
    hold.commanded()
    hold.stepped(101.0)
    assert hold.stepped(106.0) is True
    assert hold.wait_until() == pytest.approx(106.1)
    assert hold.stepped(106.1) is False
    assert hold.wait_until() == pytest.approx(106.2)


def test_time_is_held_again_after_the_next_command(hold):
    hold.stepped(110.0)
    assert hold.wait_until() == pytest.approx(110.1)
    hold.commanded()
    assert hold.stepped(110.05) is False
    assert hold.wait_until() == pytest.approx(115.05)


def test_a_new_scene_waits_for_its_own_first_command(hold):
    hold.commanded()
    hold.start_scene(200.0)
    assert hold.wait_until() == 210.0


def test_a_pace_is_lockstep_or_a_number():
    assert isinstance(pace_of("lockstep"), Hold)
    assert pace_of(1.5).factor == 1.5
