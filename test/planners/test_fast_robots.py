"""Planners with default parameters on a car: they react early enough to stop."""

import math

import numpy as np
import pytest

from gz_testauto.base.observation import LaserScan, Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.planners import make_planner
from gz_testauto.planners.interface import Observation, RobotLimits, Task

CAR = RobotLimits(
    ((-0.9, -0.9), (3.6, -0.9), (3.6, 0.9), (-0.9, 0.9)),
    max_linear_mps=25 / 3,
    max_angular_radps=3.0,
    max_linear_accel_mps2=4.0,
    max_angular_accel_radps2=20.0,
    wheelbase_m=2.7,
    max_steer_rad=0.5,
)


def command(plugin, obstacle_m, **parameters):
    """Return the command at 8 m/s, with an obstacle 3 m wide at this distance ahead, or None."""
    planner = make_planner(plugin, **parameters)
    way = np.column_stack([np.linspace(0.0, 100.0, 201), np.zeros(201)])
    planner.begin(Task(Pose2D(100.0, 0.0, 0.0), 4.0, way, CAR))
    bearings = np.linspace(-math.pi, math.pi, 721)
    ranges = np.full(721, np.inf)
    if obstacle_m is not None:
        lateral_m = obstacle_m * np.tan(bearings)
        hits = (np.abs(bearings) < 1.0) & (np.abs(lateral_m - 0.3) < 1.5)
        ranges[hits] = obstacle_m / np.cos(bearings[hits])
    scan = LaserScan(0.0, -math.pi, math.pi, 0.1, 30.0, ranges)
    return planner.plan(Observation(0.0, Pose2D(0.0, 0.0, 0.0), Twist2D(8.0, 0.0), scan))


@pytest.mark.parametrize(
    "plugin, obstacle_m, short",
    [
        ("fgm", 15.0, {"horizon_m": 4.0}),
        ("fgm_improved", 15.0, {"horizon_m": 4.0}),
        ("dwa_fox", 12.0, {"reach_m": 3.0}),
    ],
)
def test_car_turns_before_an_obstacle_that_a_short_horizon_omits(plugin, obstacle_m, short):
    free = command(plugin, None)
    assert free.angular_radps == 0.0
    assert abs(command(plugin, obstacle_m).angular_radps) > 0.02
    assert command(plugin, obstacle_m, **short) == pytest.approx(free)


def test_costmap_of_dwa_contains_the_trajectories_of_a_car():
    assert command("dwa", None).linear_mps > 8.0
    assert command("dwa", None, width=10.0, resolution=0.05).linear_mps < 8.0
    assert abs(command("dwa", 12.0).angular_radps) > 0.02
