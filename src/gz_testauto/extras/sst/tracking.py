"""Tracking of a planned trajectory.

This module computes the feedback: steering from the lateral and heading errors, speed from the
longitudinal error. It is the same for trajectories of any source.
"""

import math
from typing import Tuple

import numpy as np

from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.extras.sst.model import Trajectory, Vehicle
from gz_testauto.extras.sst.road import CenterLine

AHEAD_M = 1.0
"""Length of the lane (m) from which its curvature is computed."""

BESIDE_GAIN = 0.1
"""Steering (rad) for each meter of lateral error; with :data:`HEADING_GAIN` nearly critically
damped at 5 m/s and a wheelbase of 2.7 m."""

HEADING_GAIN = 1.0
"""Steering (rad) for each rad of heading error."""

ALONG_GAIN_PER_S = 0.5
"""Speed (m/s) for each meter of longitudinal error."""


def track(
    way: Trajectory, time_s: float, ahead_s: float, pose: Pose2D, vehicle: Vehicle
) -> Tuple[float, float]:
    """Return speed (m/s) and yaw rate (rad/s) to be on a trajectory ``ahead_s`` from now; the robot
    is at ``pose``, ``time_s`` after the trajectory's start."""
    now, soon = way.state_at(time_s), way.state_at(time_s + ahead_s)
    cos, sin = math.cos(now[2]), math.sin(now[2])
    dx, dy = pose.x_m - float(now[0]), pose.y_m - float(now[1])
    along, beside = cos * dx + sin * dy, cos * dy - sin * dx
    turned = wrap_angle(pose.yaw_rad - float(now[2]))
    steer = way.control_at(time_s)[1] - BESIDE_GAIN * beside - HEADING_GAIN * turned
    steer = min(max(steer, -vehicle.max_steer_rad), vehicle.max_steer_rad)
    speed = min(max(float(soon[3]) - ALONG_GAIN_PER_S * along, 0.0), vehicle.max_speed_mps)
    return speed, speed * math.tan(steer) / vehicle.wheelbase_m


def along(
    line: CenterLine, arc_m: float, speed_mps: float, pose: Pose2D, vehicle: Vehicle
) -> Tuple[float, float]:
    """Return speed (m/s) and yaw rate (rad/s) to drive along a line at a speed, from its nearest
    point at ``arc_m`` on."""
    points, headings = line.at(np.array([arc_m, arc_m + AHEAD_M]))
    now, then = headings.tolist()
    x_m, y_m = points[0].tolist()
    beside = math.cos(now) * (pose.y_m - y_m) - math.sin(now) * (pose.x_m - x_m)
    steer = math.atan(vehicle.wheelbase_m * wrap_angle(then - now) / AHEAD_M)
    steer -= BESIDE_GAIN * beside + HEADING_GAIN * wrap_angle(pose.yaw_rad - now)
    steer = min(max(steer, -vehicle.max_steer_rad), vehicle.max_steer_rad)
    return speed_mps, speed_mps * math.tan(steer) / vehicle.wheelbase_m
