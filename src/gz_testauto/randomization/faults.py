"""Simulated faults of the lidar and of the drive controller, between the robot and its planner. The
recorded states of the robot are the true states."""

import math
from collections import deque
from dataclasses import replace
from typing import Callable, Deque

import numpy as np
from typing_extensions import override

from gz_testauto.actors.simulation import Filter
from gz_testauto.base.observation import LaserScan, Twist2D

# The generator depends on the time stamp (s) of a scan, since the number of previous scans differs
# between simulators.
ScanGenerator = Callable[[float], np.random.Generator]


class ScanNoise(Filter):
    """A fault that adds a normally distributed error (m) to every finite range of a scan. A range
    above the limits of the lidar becomes +inf, and below them -inf."""

    def __init__(self, stddev_m: float, mean_m: float, draw: ScanGenerator) -> None:
        self._stddev_m, self._mean_m, self._draw = stddev_m, mean_m, draw

    def scanned(self, scan: LaserScan) -> LaserScan:
        ranges = np.array(scan.ranges_m)
        error = np.full(len(ranges), self._mean_m)
        if self._stddev_m:
            error += self._draw(scan.stamp_s).normal(0.0, self._stddev_m, len(ranges))
        finite = np.isfinite(ranges)
        ranges[finite] += error[finite]
        ranges[finite & (ranges > scan.range_max_m)] = math.inf
        ranges[finite & (ranges < scan.range_min_m)] = -math.inf
        return _with_ranges(scan, ranges)


class ScanDropout(Filter):
    """A fault that removes the returns of a share of the rays, drawn for each scan."""

    def __init__(self, share: float, draw: ScanGenerator) -> None:
        self._share, self._draw = share, draw

    @override
    def scanned(self, scan: LaserScan) -> LaserScan:
        ranges = np.array(scan.ranges_m)
        ranges[self._draw(scan.stamp_s).random(len(ranges)) < self._share] = math.inf
        return _with_ranges(scan, ranges)


class ScanDelay(Filter):
    """A fault that delays scans. The planner receives the newest scan that is at least ``delay_s``
    old, or the first scan if all are newer."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._scans: Deque[LaserScan] = deque()

    @override
    def delayed(self, scan: LaserScan, time_s: float) -> LaserScan:
        if not self._scans or scan.stamp_s > self._scans[-1].stamp_s:
            self._scans.append(scan)
        while len(self._scans) > 1 and self._scans[1].stamp_s <= time_s - self._delay_s + 1e-9:
            self._scans.popleft()
        return self._scans[0]


class ActuatorLag(Filter):
    """A fault that delays the reaction of the base to commands, as a first-order system. During
    each step, the base has the velocity that the system reaches at the end of the step."""

    def __init__(self, time_constant_s: float) -> None:
        self._time_constant_s = time_constant_s
        self._twist = Twist2D()

    @override
    def commanded(self, command: Twist2D, time_s: float, duration_s: float) -> Twist2D:
        if self._time_constant_s <= 0.0:
            return command
        share = 1.0 - math.exp(-duration_s / self._time_constant_s)
        self._twist = Twist2D(
            self._twist.linear_mps + share * (command.linear_mps - self._twist.linear_mps),
            self._twist.angular_radps + share * (command.angular_radps - self._twist.angular_radps),
        )
        return self._twist


class WheelSlip(Filter):
    """A fault that reduces the wheel speeds of each side by a constant share."""

    def __init__(self, left: float, right: float, separation_m: float) -> None:
        self._keep = (1.0 - left, 1.0 - right)
        self._separation_m = separation_m

    @override
    def commanded(self, command: Twist2D, time_s: float, duration_s: float) -> Twist2D:
        half = command.angular_radps * self._separation_m / 2
        left = (command.linear_mps - half) * self._keep[0]
        right = (command.linear_mps + half) * self._keep[1]
        return Twist2D((left + right) / 2, (right - left) / self._separation_m)


def _with_ranges(scan: LaserScan, ranges: np.ndarray) -> LaserScan:
    ranges.setflags(write=False)
    return replace(scan, ranges_m=ranges)
