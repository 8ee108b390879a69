"""The safety filter of a policy: which commands it replaces, and by which."""

import math

import numpy as np
import pytest
from room import written

from gz_testauto.base.observation import LaserScan, Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.learning.episode import EpisodeRunner, PreparedEnvironment
from gz_testauto.extras.learning.policies.files import PolicyCard, read_card, write_policy
from gz_testauto.extras.learning.policies.planner import PolicyInterface
from gz_testauto.extras.learning.policies.policy import LinearPolicy
from gz_testauto.extras.learning.policies.safety import SafetyFilter, SafetyFilterSpec
from gz_testauto.planners import make_planner
from gz_testauto.planners.interface import Observation, RobotLimits, Task

SQUARE = ((0.3, 0.3), (-0.3, 0.3), (-0.3, -0.3), (0.3, -0.3))
PERIOD_S = 0.2
ANGLES = np.linspace(-math.pi, math.pi, 721)
FULL = Twist2D(1.0, 0.0)


def task(**limits):
    plan = np.array([[0.0, 0.0], [5.0, 0.0]])
    return Task(Pose2D(5.0, 0.0, 0.0), 0.5, plan, RobotLimits(SQUARE, **limits), PERIOD_S)


def seen(walls=(), points=(), time_s=0.0):
    """Return an observation at the origin. ``walls`` are x coordinates (m) of walls across the x
    axis, ``points`` are centers (m) of posts with a radius of 0.1 m."""
    ranges = np.full(len(ANGLES), np.inf)
    for x in walls:
        with np.errstate(divide="ignore"):
            along = x / np.cos(ANGLES)
        ranges = np.where(along > 0, np.minimum(along, ranges), ranges)
    for x, y in points:
        away, off = math.hypot(x, y), ANGLES - math.atan2(y, x)
        hit = np.abs(np.angle(np.exp(1j * off))) < math.asin(0.1 / away)
        ranges = np.where(hit & (away - 0.1 < ranges), away - 0.1, ranges)
    scan = LaserScan(time_s, ANGLES[0], ANGLES[-1], 0.1, 10.0, ranges)
    return Observation(time_s, Pose2D(0.0, 0.0, 0.0), FULL, scan)


def begun(of=None, **spec):
    made = SafetyFilter(SafetyFilterSpec(**spec))
    made.begin(task() if of is None else of)
    return made


@pytest.mark.parametrize("wall_m, changed", [(1.2, False), (1.0, True)])
def test_a_command_is_replaced_if_the_robot_cannot_stop_in_time(wall_m, changed):
    # from 1 m/s, the robot needs 0.2 m in one period and 0.5 m of braking; it is 0.3 m long
    observation = seen(walls=[wall_m])
    command = begun(margin_m=0.05).apply(FULL, FULL, observation)
    assert (command != FULL) is changed
    if changed:
        needed_m = command.linear_mps * PERIOD_S + command.linear_mps**2 / 2
        assert 0.8 <= command.linear_mps < 1.0
        assert needed_m <= wall_m - 0.3 - 0.05 or command.angular_radps != 0.0


def test_the_nearest_safe_command_passes_a_post_that_blocks_the_desired_one():
    command = begun().apply(FULL, FULL, seen(points=[(0.95, 0.3)]))
    assert command.angular_radps < 0.0
    assert command.linear_mps > 0.7


def test_the_robot_turns_in_place_if_no_command_leads_forward():
    command = begun().apply(FULL, FULL, seen(walls=[0.5]))
    assert command.linear_mps == 0.0
    assert abs(command.angular_radps) == pytest.approx(0.75)


def test_the_robot_stops_if_it_can_neither_drive_nor_turn():
    ranges = 0.34 / np.maximum(np.abs(np.cos(ANGLES)), np.abs(np.sin(ANGLES)))
    scan = LaserScan(0.0, ANGLES[0], ANGLES[-1], 0.1, 10.0, ranges)  # a box of 0.68 m
    observation = Observation(0.0, Pose2D(0.0, 0.0, 0.0), FULL, scan)
    assert begun().apply(FULL, FULL, observation) == (0.0, 0.0)


def test_a_turn_in_place_keeps_its_side_and_ends_when_the_path_is_free():
    made, still = begun(), Twist2D(0.0, 0.0)
    first = made.apply(Twist2D(0.2, 0.2), still, seen(walls=[0.48]))
    other = made.apply(Twist2D(0.2, -0.2), still, seen(walls=[0.48], time_s=PERIOD_S))
    assert first == other == Twist2D(0.0, first.angular_radps)
    free = Twist2D(0.2, -0.2)
    assert made.apply(free, still, seen(walls=[3.0], time_s=2 * PERIOD_S)) is free


def test_a_stop_that_the_policy_commands_is_not_replaced():
    stop = Twist2D(0.0, 0.0)
    assert begun().apply(stop, FULL, seen(walls=[0.5])) is stop


@pytest.mark.parametrize("last_m, changed", [(0.8, False), (2.8, True)])
def test_the_robot_brakes_before_a_passage_without_a_place_to_turn(last_m, changed):
    # between the posts, 0.8 m apart, the square of 0.6 m can drive but not turn
    places = np.arange(0.8, last_m + 0.01, 0.2)
    posts = [(x, y) for x in places for y in (-0.5, 0.5)]
    assert (begun().apply(FULL, FULL, seen(points=posts)) != FULL) is changed


def test_all_commands_are_safe_without_a_scan():
    observation = Observation(0.0, Pose2D(0.0, 0.0, 0.0), FULL, None)
    assert begun().apply(FULL, FULL, observation) is FULL


@pytest.mark.parametrize("horizon_s", [0.0, 1.2])
def test_predicted_positions_of_moving_objects_count_as_points(horizon_s):
    made = begun(horizon_s=horizon_s)
    for period in range(4):  # a post crosses from the right at 1 m/s
        time_s = period * PERIOD_S
        command = made.apply(FULL, FULL, seen(points=[(0.8, -1.6 + time_s)], time_s=time_s))
    assert (command == FULL) is not bool(horizon_s)


def test_the_robot_brakes_for_an_object_whose_prediction_is_inside_its_outline():
    made = begun(horizon_s=1.2)
    for period in range(4):  # a post approaches from ahead at 1 m/s
        time_s = period * PERIOD_S
        command = made.apply(FULL, FULL, seen(points=[(1.6 - time_s, 0.0)], time_s=time_s))
    assert command.linear_mps == pytest.approx(0.0)


def test_the_replacement_of_a_car_respects_its_steering_angle():
    limits = {"wheelbase_m": 1.0, "max_steer_rad": 0.3, "max_angular_accel_radps2": 30.0}
    command = begun(task(**limits)).apply(FULL, FULL, seen(points=[(0.95, 0.3)]))
    assert command != FULL
    assert abs(command.angular_radps) <= command.linear_mps * math.tan(0.3) + 1e-9


def test_a_car_stops_instead_of_turning_in_place():
    car = task(wheelbase_m=1.0, max_steer_rad=0.3)
    assert begun(car).apply(FULL, FULL, seen(walls=[0.5])) == (0.0, 0.0)


@pytest.mark.parametrize("wall_m, changed", [(0.5, False), (-0.5, True)])
def test_reverse_commands_are_checked_behind_the_robot(wall_m, changed):
    back = Twist2D(-1.0, 0.0)
    made = begun(task(can_reverse=True))
    assert (made.apply(back, back, seen(walls=[wall_m])) != back) is changed


@pytest.mark.slow
@pytest.mark.parametrize("filtered", [True, False])
def test_a_policy_at_full_speed_collides_only_without_the_filter(tmp_path, filtered):
    environment = {"observations": [{"term": "lidar", "beams": 8}, "plan"]}
    if filtered:
        environment["safety_filter"] = {"margin_m": 0.05}
    changes = {"environment": environment, "simulator": "kinematic"}
    prepared = PreparedEnvironment.of(written(tmp_path, **changes), tmp_path / "worlds")
    runner, outcomes = EpisodeRunner(prepared), set()
    for world in range(4):
        episode = runner.begin(prepared.trial(world))
        while not episode.has_ended:
            episode.step(np.array([1.0, 0.0]))
        outcomes.add(episode.agents[0].verdict.outcome.value)
    runner.close()
    assert ("collided" in outcomes) is not filtered
    assert "stuck" not in outcomes


def test_the_card_stores_the_filter_and_the_planner_applies_it(tmp_path):
    card = PolicyCard(
        kind="linear",
        observations=[{"term": "plan"}],
        safety_filter=SafetyFilterSpec(margin_m=0.1, horizon_s=0.5),
    )
    weights = np.zeros(10)
    weights[4] = 9.0  # full speed ahead
    write_policy(tmp_path / "policy.npz", LinearPolicy(weights, 4), card)
    assert read_card(tmp_path / "policy.npz") == card
    planner = make_planner("policy", file=str(tmp_path / "policy.npz"))
    planner.begin(task())
    assert planner.plan(seen(walls=[3.0])).linear_mps == pytest.approx(1.0)
    braked = planner.plan(seen(walls=[0.5], time_s=PERIOD_S))
    assert braked.linear_mps == pytest.approx(0.8)


def test_replaced_commands_are_the_previous_commands_of_the_speed_limiter():
    interface = PolicyInterface([("plan", {})], SafetyFilterSpec())
    interface.begin(task())
    action = np.array([1.0, 0.0])
    speeds = [interface.command(action, seen(walls=[0.34])).linear_mps for _ in range(6)]
    assert speeds == pytest.approx([0.8, 0.6, 0.4, 0.2, 0.0, 0.0], abs=1e-9)
