import numpy as np
import pytest

from gz_testauto.campaign.judge import Rules, has_reached, is_stuck, judge, require_plausible
from gz_testauto.campaign.outcome import Outcome
from gz_testauto.errors import SimulatorError
from gz_testauto.geometry import Pose2D
from gz_testauto.metrics.recording import ContactEpisode

RULES = Rules(
    goal=Pose2D(10.0, 0.0),
    tolerance_m=0.5,
    timeout_s=60.0,
    stuck_window_s=5.0,
    stuck_distance_m=0.25,
    max_linear_mps=1.0,
)
TOUCH = ContactEpisode(0.1, 0.1, "obstacle_box_0", 0.8, "contact")


def driven(*points, period_s=0.1):
    time_s = period_s * np.arange(len(points))
    return time_s, np.array(points, dtype=float)


def test_a_trial_that_has_just_begun_goes_on():
    assert judge(RULES, *driven((0, 0))) is None


def test_the_border_of_the_tolerance_is_reached():
    assert has_reached(RULES, 9.5, 0.0)
    assert not has_reached(RULES, 9.4999, 0.0)


def test_reached_is_the_true_position_whatever_the_planner_says():
    near = driven((9.0, 0), (9.6, 0))
    assert judge(RULES, *near, given_up="no way").outcome is Outcome.REACHED
    far = driven((5.0, 0), (5.1, 0))
    assert judge(RULES, *far, given_up="no way").outcome is Outcome.PLANNER_ABORTED


def test_touching_an_obstacle_at_the_goal_is_a_collision():
    verdict = judge(RULES, *driven((9.6, 0)), collision=TOUCH)
    assert verdict.outcome is Outcome.COLLIDED
    assert "obstacle_box_0" in verdict.detail
    assert "0.80 m/s" in verdict.detail


def test_a_robot_is_stuck_when_it_has_not_left_its_place_for_the_window():
    time_s = np.arange(0.0, 5.01, 0.1)
    still = np.zeros((len(time_s), 2))
    assert not is_stuck(RULES, time_s[:-1], still[:-1])
    assert is_stuck(RULES, time_s, still)
    assert judge(RULES, time_s, still).outcome is Outcome.STUCK


def test_creeping_on_is_not_stuck():
    time_s = np.arange(0.0, 20.0, 0.1)
    creeping = np.column_stack([0.06 * time_s, 0 * time_s])  # 0.3 m in 5 s
    assert not is_stuck(RULES, time_s, creeping)


def test_moving_to_and_fro_beyond_the_distance_is_not_stuck():
    time_s = np.arange(0.0, 20.0, 0.1)
    to_and_fro = np.column_stack([0.3 * np.sin(time_s), 0 * time_s])
    assert not is_stuck(RULES, time_s, to_and_fro)


def test_a_robot_that_stopped_long_after_driving_is_stuck_one_window_later():
    time_s = np.arange(0.0, 30.0, 0.1)
    x = np.minimum(time_s, 8.0)
    ended = [t for n, t in enumerate(time_s, 1) if judge(RULES, time_s[:n], np.c_[x, 0 * x][:n])]
    assert ended[0] == pytest.approx(8.0 + 5.0 - 0.25, abs=0.11)


def test_time_runs_out_at_the_limit_and_not_before():
    time_s = np.arange(0.0, 60.01, 0.1)
    around = 3 * np.column_stack([np.cos(time_s), np.sin(time_s)])
    assert judge(RULES, time_s[:-1], around[:-1]) is None
    assert judge(RULES, time_s, around).outcome is Outcome.TIMED_OUT


def test_giving_up_comes_before_stuck_and_timeout():
    time_s = np.arange(0.0, 60.01, 0.1)
    still = np.zeros((len(time_s), 2))
    assert judge(RULES, time_s, still, given_up="why").outcome is Outcome.PLANNER_ABORTED
    assert judge(RULES, time_s, still).outcome is Outcome.STUCK


@pytest.mark.parametrize(
    ("points", "says"),
    [
        (((0, 0), (np.nan, 0)), "not a number"),
        (((0, 0), (5, 0)), "jumped 5.00 m"),
    ],
)
def test_what_no_robot_can_drive_makes_the_trial_invalid(points, says):
    with pytest.raises(SimulatorError, match=says):
        require_plausible(RULES, *driven(*points))


@pytest.mark.parametrize("period_s", [0.0, -0.1])
def test_a_clock_that_stands_or_runs_back_makes_the_trial_invalid(period_s):
    with pytest.raises(SimulatorError, match="clock must advance"):
        require_plausible(RULES, *driven((0, 0), (0, 0), period_s=period_s))


def test_full_speed_is_plausible():
    require_plausible(RULES, *driven((0, 0), (0.1, 0)))
