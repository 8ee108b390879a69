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


def test_a_rate_limit_begins_periods_at_its_factor_of_real_time():
    pace = RateLimit(2.0, PERIOD_S)
    pace.start_scene(100.0)
    assert pace.wait_until() == 100.0
    pace.stepped(100.0)
    assert pace.wait_until() == pytest.approx(100.05)
    pace.stepped(100.06)
    assert pace.wait_until() == pytest.approx(100.10)


def test_a_machine_that_fell_behind_does_not_race_to_catch_up():
    pace = RateLimit(1.0, PERIOD_S)
    pace.start_scene(100.0)
    pace.stepped(100.0)
    pace.stepped(107.0)
    assert pace.wait_until() == pytest.approx(107.0)
    pace.stepped(107.0)
    assert pace.wait_until() == pytest.approx(107.1)


def test_at_a_rate_a_controller_that_has_spoken_is_late_in_every_period_without_an_answer():
    pace = RateLimit(1.0, PERIOD_S)
    pace.start_scene(100.0)
    assert pace.stepped(100.0) is False  # nobody drives yet
    pace.commanded()
    assert pace.stepped(100.1) is False
    assert pace.stepped(100.2) is True
    pace.commanded()
    assert pace.stepped(100.3) is False
    pace.start_scene(200.0)
    assert pace.stepped(200.0) is False


def test_factor_zero_never_waits():
    pace = pace_of(0)
    pace.start_scene(100.0)
    pace.stepped(100.0)
    assert pace.wait_until() <= 100.0


def test_a_held_scene_stands_still_until_its_first_command(hold):
    assert hold.wait_until() == 110.0
    hold.commanded()
    assert hold.wait_until() == -math.inf


def test_an_answer_in_time_is_not_late_and_the_next_is_waited_for(hold):
    hold.commanded()
    assert hold.stepped(101.0) is False
    assert hold.wait_until() == 106.0


def test_a_controller_that_falls_silent_is_late_once_and_time_runs_on_in_real_time(hold):
    hold.commanded()
    hold.stepped(101.0)
    assert hold.stepped(106.0) is True
    assert hold.wait_until() == pytest.approx(106.1)
    assert hold.stepped(106.1) is False
    assert hold.wait_until() == pytest.approx(106.2)


def test_a_controller_that_speaks_again_is_waited_for_again(hold):
    hold.stepped(110.0)
    assert hold.wait_until() == pytest.approx(110.1)
    hold.commanded()
    assert hold.stepped(110.05) is False
    assert hold.wait_until() == pytest.approx(115.05)


def test_a_new_scene_forgets_that_its_predecessor_was_driven(hold):
    hold.commanded()
    hold.start_scene(200.0)
    assert hold.wait_until() == 210.0


def test_a_pace_is_hold_or_a_number():
    assert isinstance(pace_of("lockstep"), Hold)
    assert pace_of(1.5).factor == 1.5
