"""The Follow the Gap Method's heading, and what its improvement does differently."""

import math

import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.planners.fgm import FollowTheGap, nearest_distance, weighted_heading
from gz_testauto.planners.fgm_improved import ImprovedFollowTheGap
from gz_testauto.planners.interface import RobotLimits, Task
from gz_testauto.planners.reactive import Situation

LIMITS = RobotLimits(footprint_m=((-0.3, -0.3), (0.3, -0.3), (0.3, 0.3), (-0.3, 0.3)))


def situation(points, goal_bearing_rad=0.0, goal_distance_m=4.0):
    return Situation(
        goal_bearing_rad=goal_bearing_rad,
        goal_distance_m=goal_distance_m,
        points_m=np.asarray(points, dtype=float).reshape(-1, 2),
        speed_limit_mps=1.0,
        command=Twist2D(),
    )


def begun(planner):
    goal = Pose2D(10.0, 0.0)
    planner.begin(Task(goal, 0.5, np.array([[0.0, 0.0], [10.0, 0.0]]), LIMITS))
    return planner


@pytest.mark.parametrize(
    "nearest_m, expected",
    [
        (1.0, (1.0 * 0.6 + 0.0) / 2.0),  # α/d_min = 1: halfway between gap center and goal
        (0.25, (4.0 * 0.6 + 0.0) / 5.0),  # nearer: mostly the gap's center
        (math.inf, 0.0),  # nothing in sight: the goal alone
    ],
)
def test_final_heading_is_weighted_by_the_distance_to_the_nearest_obstacle(nearest_m, expected):
    assert weighted_heading(0.6, 0.0, nearest_m, alpha_m=1.0) == pytest.approx(expected)


def test_nearest_distance_is_to_the_enlarged_obstacle_and_never_zero():
    assert nearest_distance(np.array([[0.0, 2.0], [3.0, 0.0]]), 0.5) == pytest.approx(1.5)
    assert nearest_distance(np.array([[0.1, 0.0]]), 0.5) > 0
    assert nearest_distance(np.empty((0, 2)), 0.5) == math.inf


def test_fgm_selects_the_widest_gap_even_if_the_goal_is_in_another():
    # A row of posts: open wide to the right, a passable gap on the left, where the goal is.
    posts = [(2.0, -0.3), (2.0, 0.3), (2.0, 2.3), (1.6, 2.9), (1.0, 3.2), (0.0, 3.3)]
    towards_goal = math.atan2(1.3, 2.0)
    fgm = begun(FollowTheGap(alpha_m=5.0)).steer(situation(posts, towards_goal))
    improved = begun(ImprovedFollowTheGap()).steer(situation(posts, towards_goal))
    assert fgm.angular_radps < 0.0
    assert improved.angular_radps > 0.0


def test_fgm_improved_drives_towards_a_goal_inside_a_gap():
    posts = [(2.0, -1.2), (2.0, 1.2)]
    assert begun(ImprovedFollowTheGap()).steer(situation(posts, 0.0)).angular_radps == (
        pytest.approx(0.0, abs=0.06)
    )


def test_fgm_improved_passes_a_gap_narrower_than_the_circumscribed_circle():
    # 0.9 m between posts: a 0.6 m wide robot fits, the circle of 0.85 m with them enlarged not.
    posts = [(1.5, -0.48), (1.5, 0.48), *[(1.5, s * y) for s in (-1, 1) for y in (0.8, 1.2, 1.6)]]
    circle = RobotLimits(footprint_m=((-0.6, -0.3), (0.6, -0.3), (0.6, 0.3), (-0.6, 0.3)))
    planner = ImprovedFollowTheGap(margin_m=0.1)
    planner.begin(Task(Pose2D(10.0, 0.0), 0.5, np.array([[0.0, 0.0], [10.0, 0.0]]), circle))
    command = planner.steer(situation(posts, 0.0))
    assert command.linear_mps > 0.0
    assert command.angular_radps == pytest.approx(0.0, abs=0.06)


def test_fgm_improved_keeps_its_direction_between_equal_gaps():
    # A post straight ahead: left and right cost the same, so the previous heading decides.
    post = situation([(1.5, 0.0)])
    planner = begun(ImprovedFollowTheGap())
    for remembered in (-0.6, 0.6):
        planner.forget()
        planner._desired_rad = remembered
        assert math.copysign(1.0, planner.steer(post).angular_radps) == math.copysign(
            1.0, remembered
        )


def test_fgm_improved_can_always_stop_before_an_obstacle():
    rolling = Situation(
        0.0, 4.0, np.array([[0.9, 0.0], [0.9, 0.2], [0.9, -0.2]]), 1.0, Twist2D(0.8)
    )
    command = begun(ImprovedFollowTheGap(margin_m=0.0)).steer(rolling)
    assert command.linear_mps <= 0.8 - LIMITS.max_linear_accel_mps2 * 0.1 + 1e-9


def test_turn_without_a_gap_keeps_its_direction():
    ring = [(math.cos(angle), math.sin(angle)) for angle in np.linspace(-math.pi, math.pi, 60)]
    planner = begun(FollowTheGap())
    first = planner.steer(situation(ring, 0.1))
    then = planner.steer(situation(ring, -0.1))  # turned past the goal, which was straight ahead
    assert first.angular_radps > 0.0
    assert then.angular_radps == first.angular_radps
    planner.steer(situation([], -0.1))
    assert planner.steer(situation(ring, -0.1)).angular_radps < 0.0


def test_robot_without_a_gap_turns_in_place_towards_the_goal():
    ring = [
        (1.0 * math.cos(angle), 1.0 * math.sin(angle))
        for angle in np.linspace(-math.pi, math.pi, 60)
    ]
    command = begun(FollowTheGap()).steer(situation(ring, -0.4))
    assert command.linear_mps == 0.0
    assert command.angular_radps < 0.0


def test_speed_is_constant_in_turns_and_near_obstacles_if_the_slowdowns_are_off():
    near_the_side = situation([(0.0, 0.8)], goal_bearing_rad=-0.7)
    constant = begun(FollowTheGap(slowest=1.0, slows_in_turns=False)).steer(near_the_side)
    slow = begun(FollowTheGap()).steer(near_the_side)
    assert constant.linear_mps == LIMITS.max_linear_mps
    assert slow.linear_mps < 0.5 * LIMITS.max_linear_mps
    assert constant.angular_radps == slow.angular_radps < 0.0


def test_fgm_improved_keeps_its_speed_in_a_turn_that_is_free_of_obstacles():
    turning = Situation(-0.7, 4.0, np.empty((0, 2)), 1.0, Twist2D(1.0, -1.05))
    constant = begun(ImprovedFollowTheGap(slows_in_turns=False)).steer(turning)
    slow = begun(ImprovedFollowTheGap()).steer(turning)
    assert constant.linear_mps == LIMITS.max_linear_mps > slow.linear_mps
