import pytest

from gz_testauto.base.errors import NavigatorError
from gz_testauto.base.observation import Snapshot, Twist2D
from gz_testauto.ros.campaign.executor import Lateness
from gz_testauto.ros.campaign.snapshots import PeriodSnapshot

DRIVING = Twist2D(0.5, 0.0)


def period(late, held, command=DRIVING):
    return PeriodSnapshot(Snapshot(16.1, {}, {}), command, 16_100_000_000, late, held, {})


@pytest.fixture
def lateness():
    return Lateness("fgm", (5.0, 10.0))


def test_a_planner_that_is_late_while_time_is_held_makes_the_trial_invalid(lateness):
    lateness.record(period(late=False, held=True))
    with pytest.raises(
        NavigatorError, match=r"fgm sent no command in 5 s .*command_timeout:=SECONDS"
    ):
        lateness.record(period(late=True, held=True))


def test_a_late_first_command_is_reported_with_its_own_limit(lateness):
    with pytest.raises(NavigatorError, match=r"sent no command in 10 s .*start_timeout:=SECONDS"):
        lateness.record(period(late=True, held=True, command=None))


def test_a_cycle_without_the_newest_measurement_makes_the_trial_invalid(lateness):
    expected = r"a measurement \(camera\) before 16\.10 s reached fgm too late"
    with pytest.raises(NavigatorError, match=expected):
        lateness.record(period(late=False, held=True), ["camera"])


def test_late_periods_are_counted_at_a_real_time_factor(lateness):
    for late in (False, True, True):
        lateness.record(period(late, held=False), ["the scan"] * late)
    assert lateness.numbers == {"late_periods": 2.0}


def test_results_have_no_late_periods_while_time_is_held(lateness):
    lateness.record(period(late=False, held=True))
    assert lateness.numbers == {}
