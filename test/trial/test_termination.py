import dataclasses
import math

import numpy as np
import pytest

from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.base.pose import Pose2D
from gz_testauto.metrics.recording import ContactEpisode
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.termination import (
    TerminationRules,
    check_termination,
    has_reached,
    is_stuck,
    lost_motion,
    require_plausible,
    require_upright,
)

RULES = TerminationRules(
    goal=Pose2D(10.0, 0.0),
    tolerance_m=0.5,
    timeout_s=60.0,
    stuck_window_s=5.0,
    stuck_distance_m=0.25,
    max_linear_mps=1.0,
    max_tilt_rad=0.8,
)
TOUCH = ContactEpisode(0.1, 0.1, "obstacle_box_0", 0.8, "contact")


def driven(*points, period_s=0.1):
    """Return times and positions of points in the plane or in space."""
    time_s = period_s * np.arange(len(points))
    return time_s, np.array([(*point, 0.0)[:3] for point in points], dtype=float)


def test_trial_continues_after_its_first_sample():
    assert check_termination(RULES, *driven((0, 0))) is None


def test_position_on_the_border_of_the_tolerance_has_reached_the_goal():
    assert has_reached(RULES, 9.5, 0.0)
    assert not has_reached(RULES, 9.4999, 0.0)


def test_reached_depends_on_the_true_position_and_not_on_the_planner():
    near = driven((9.0, 0), (9.6, 0))
    assert check_termination(RULES, *near, abort_reason="no way").outcome is Outcome.REACHED
    far = driven((5.0, 0), (5.1, 0))
    assert check_termination(RULES, *far, abort_reason="no way").outcome is Outcome.PLANNER_ABORTED


def test_robot_that_left_the_road_has_not_reached_the_goal():
    rules = dataclasses.replace(RULES, max_off_road_m=1.0)
    at_goal = driven((10.0, 0.0))
    verdict = check_termination(rules, *at_goal, off_road_m=1.25)
    assert verdict.outcome is Outcome.LEFT_ROAD
    assert verdict.detail == "1.25 m from all lanes at 0.00 s (limits.max_off_road_m is 1)"
    assert check_termination(rules, *at_goal, off_road_m=1.0).outcome is Outcome.REACHED
    assert check_termination(RULES, *at_goal, off_road_m=99.0).outcome is Outcome.REACHED
    hit = check_termination(rules, *at_goal, collision=TOUCH, off_road_m=1.25)
    assert hit.outcome is Outcome.COLLIDED


def test_contact_with_an_obstacle_at_the_goal_is_a_collision():
    verdict = check_termination(RULES, *driven((9.6, 0)), collision=TOUCH)
    assert verdict.outcome is Outcome.COLLIDED
    assert "obstacle_box_0" in verdict.detail
    assert "0.80 m/s" in verdict.detail


def leaning(since_s, until_s, tilt_rad=1.57, at=(9.6, 0.0)):
    """Return times, positions and tilts of a robot near the goal that tips over at a time."""
    time_s = np.arange(0.0, until_s + 0.05, 0.1)
    tilt = np.where(time_s > since_s - 0.05, tilt_rad, 0.1)
    return (time_s, np.tile((*at, 0.3), (len(time_s), 1))), tilt


def test_robot_that_is_tilted_for_a_second_has_tipped_over():
    for until_s in (2.0, 2.9):
        course, tilt_rad = leaning(2.0, until_s)
        assert check_termination(RULES, *course, tilt_rad=tilt_rad) is None
    course, tilt_rad = leaning(2.0, 3.0)
    verdict = check_termination(RULES, *course, tilt_rad=tilt_rad)
    assert verdict.outcome is Outcome.TIPPED_OVER
    assert verdict.detail == "at 2.00 s, with a tilt of 1.57 rad (limits.max_tilt_rad is 0.8)"


def test_tilt_up_to_the_limit_or_for_less_than_a_second_does_not_end_a_trial():
    course, tilt_rad = leaning(2.0, 4.0, tilt_rad=0.8)
    assert check_termination(RULES, *course, tilt_rad=tilt_rad).outcome is Outcome.REACHED
    course, tilt_rad = leaning(2.0, 4.0)
    tilt_rad[35:] = 0.2
    assert check_termination(RULES, *course, tilt_rad=tilt_rad).outcome is Outcome.REACHED


def test_contact_while_the_robot_is_tilted_is_not_a_collision():
    course, tilt_rad = leaning(2.0, 2.1)
    assert check_termination(RULES, *course, collision=TOUCH, tilt_rad=tilt_rad) is None
    course, tilt_rad = leaning(2.0, 3.0)
    verdict = check_termination(RULES, *course, collision=TOUCH, tilt_rad=tilt_rad)
    assert verdict.outcome is Outcome.TIPPED_OVER


def test_tipped_over_precedes_stuck_timed_out_and_planner_aborted():
    course, tilt_rad = leaning(0.1, 5.1, at=(0.0, 0.0))
    assert check_termination(RULES, *course, tilt_rad=tilt_rad).outcome is Outcome.TIPPED_OVER
    course, tilt_rad = leaning(59.8, 60.0, at=(0.0, 0.0))
    assert check_termination(RULES, *course, tilt_rad=tilt_rad).outcome is Outcome.TIPPED_OVER
    course, tilt_rad = leaning(2.0, 2.1)
    verdict = check_termination(RULES, *course, abort_reason="no way", tilt_rad=tilt_rad)
    assert verdict.outcome is Outcome.TIPPED_OVER


def test_robot_that_is_tilted_before_the_goal_is_sent_makes_the_trial_invalid():
    require_upright(RULES, (0, 0, 0.0), 0.3, 1.2, 0.0)
    with pytest.raises(SceneError, match=r"tilt of 3\.14 rad, at z = 0\.21 m, before the goal"):
        require_upright(RULES, (0, 0, 0.21), 3.14, 0.21, 0.0)


def test_robot_that_falls_before_the_goal_is_sent_makes_the_trial_invalid():
    says = r"the robot fell: before the goal is sent it is at z = -574\.00 m, below"
    with pytest.raises(SceneError, match=says):
        require_upright(RULES, (-2.0, 0.0, -574.0), 0.0, -572.8, 0.0)


def test_fall_of_the_robot_makes_the_trial_invalid_with_the_height():
    fallen = driven((0, 0, -573.2), (0, 0, -574.0))
    with pytest.raises(SceneError, match=r"fell: at 0\.10 s it is at z = -574\.00 m, below"):
        require_plausible(RULES, *fallen, top_m=-573.0, bottom_m=0.0)
    with pytest.raises(SceneError, match=r"z = -1\.10 m and moves down at 11\.0 m/s"):
        require_plausible(RULES, *driven((0, 0, 0), (0, 0, -1.1)), top_m=0.0, bottom_m=-50.0)


@pytest.mark.parametrize(
    "heights",
    [
        pytest.param((3.0, 2.95), id="down a ramp of 30 degrees at full speed"),
        pytest.param((3.0, 3.05), id="up the same ramp"),
        pytest.param((0.0, -0.4), id="off a curb in half a second"),
        pytest.param((-2.0, -2.05), id="in a valley below zero"),
    ],
)
def test_motions_on_hills_ramps_and_curbs_are_plausible(heights):
    before, after = heights
    course = driven((0, 0, before), (0.087, 0, after))
    require_plausible(RULES, *course, top_m=after + 1.0, bottom_m=-5.0)


def test_robot_that_does_not_move_during_the_window_is_stuck():
    time_s = np.arange(0.0, 5.01, 0.1)
    still = np.zeros((len(time_s), 3))
    assert not is_stuck(RULES, time_s[:-1], still[:-1])
    assert is_stuck(RULES, time_s, still)
    assert check_termination(RULES, time_s, still).outcome is Outcome.STUCK


@pytest.mark.parametrize(
    "commanded_mps, driven_mps, end",
    [
        pytest.param(
            0.4, 0.02, "; it drove 0.10 m in this time, but 2.00 m were commanded", id="slip"
        ),
        pytest.param(
            -0.4, 0.0, "; it drove 0.00 m in this time, but 2.00 m were commanded", id="back"
        ),
        pytest.param(0.1, 0.0, "", id="hardly commanded"),
        pytest.param(0.4, 0.13, "", id="follows"),
        pytest.param(math.nan, 0.0, "", id="no commands"),
    ],
)
def test_lost_motion_is_that_of_the_last_window(commanded_mps, driven_mps, end):
    time_s = np.arange(0.0, 20.01, 0.1)
    x_m = 1.0 * np.minimum(time_s, 15.0) + driven_mps * np.maximum(time_s - 15.0, 0.0)
    position_m = np.column_stack([x_m, 0 * x_m, 0 * x_m])
    speed_mps = np.where(time_s < 14.95, 9.0, commanded_mps)
    assert lost_motion(RULES, time_s, position_m, speed_mps) == end


def test_slow_motion_beyond_the_distance_is_not_stuck():
    time_s = np.arange(0.0, 20.0, 0.1)
    creeping = np.column_stack([0.06 * time_s, 0 * time_s, 0 * time_s])  # 0.3 m in 5 s
    assert not is_stuck(RULES, time_s, creeping)


def test_oscillation_beyond_the_distance_is_not_stuck():
    time_s = np.arange(0.0, 20.0, 0.1)
    to_and_fro = np.column_stack([0.3 * np.sin(time_s), 0 * time_s, 0 * time_s])
    assert not is_stuck(RULES, time_s, to_and_fro)


def test_robot_that_stops_is_stuck_one_window_later():
    time_s = np.arange(0.0, 30.0, 0.1)
    x = np.minimum(time_s, 8.0)
    ended = [
        t
        for n, t in enumerate(time_s, 1)
        if check_termination(RULES, time_s[:n], np.c_[x, 0 * x, 0 * x][:n])
    ]
    assert ended[0] == pytest.approx(8.0 + 5.0 - 0.25, abs=0.11)


def test_trial_times_out_at_the_limit_and_not_earlier():
    time_s = np.arange(0.0, 60.01, 0.1)
    around = 3 * np.column_stack([np.cos(time_s), np.sin(time_s), 0 * time_s])
    assert check_termination(RULES, time_s[:-1], around[:-1]) is None
    assert check_termination(RULES, time_s, around).outcome is Outcome.TIMED_OUT


def test_planner_aborted_precedes_stuck_and_timed_out():
    time_s = np.arange(0.0, 60.01, 0.1)
    still = np.zeros((len(time_s), 3))
    assert (
        check_termination(RULES, time_s, still, abort_reason="why").outcome
        is Outcome.PLANNER_ABORTED
    )
    assert check_termination(RULES, time_s, still).outcome is Outcome.STUCK


@pytest.mark.parametrize(
    ("points", "says"),
    [
        (((0, 0), (np.nan, 0)), "is not finite"),
        (((0, 0), (5, 0)), "jumped 5.00 m"),
    ],
)
def test_impossible_motion_makes_the_trial_invalid(points, says):
    with pytest.raises(SimulatorError, match=says):
        require_plausible(RULES, *driven(*points))


@pytest.mark.parametrize("period_s", [0.0, -0.1])
def test_clock_that_does_not_advance_makes_the_trial_invalid(period_s):
    with pytest.raises(SimulatorError, match="clock must advance"):
        require_plausible(RULES, *driven((0, 0), (0, 0), period_s=period_s))


def test_motion_at_full_speed_is_plausible():
    require_plausible(RULES, *driven((0, 0), (0.1, 0)))


def test_detail_of_an_outcome_contains_the_number_of_the_goal():
    second = TerminationRules(
        **{**vars(RULES), "further": (Pose2D(20.0, 0.0), Pose2D(0.0, 0.0))}
    ).for_next_goal
    assert second.goal == Pose2D(20.0, 0.0)
    said = check_termination(second, *driven((5.0, 0), (5.1, 0)), abort_reason="no way").detail
    assert said == "no way, on the path to goal 2 of 3"
    said = check_termination(second, *driven((9.6, 0)), collision=TOUCH).detail
    assert said.endswith("on the path to goal 2 of 3")
    late = np.arange(0.0, 60.05, 0.1), np.column_stack([np.arange(601) * 0.03, *np.zeros((2, 601))])
    assert check_termination(second, *late).detail == "2.00 m from goal 2 of 3 after 60 s"
    last = second.for_next_goal
    assert not last.further
    assert check_termination(last, *driven((0.1, 0))).detail == "after 0.00 s, the last of 3 goals"
