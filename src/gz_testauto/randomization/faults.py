"""Faults of the lidar and of the drive, between the robot and who drives it.

Owns what each does to scans and commands. None of them changes the world, so what is recorded of
the robot is true.
"""

import math
from collections import deque
from dataclasses import replace
from typing import Callable, Deque

import numpy as np

from gz_testauto.actors.simulation import Filter
from gz_testauto.base.observation import LaserScan, Twist2D

OfScan = Callable[[float], np.random.Generator]
"""What the faults of a scan are drawn from, by its stamp (s): so they depend neither on how many
scans came before, of which simulators have one more or less, nor on who looked at them."""


class ScanNoise(Filter):
    """Adds a number to every range that met something, from a normal distribution (m)."""

    def __init__(self, stddev_m: float, mean_m: float, draw: OfScan) -> None:
        self._stddev_m, self._mean_m, self._draw = stddev_m, mean_m, draw

    def scanned(self, scan: LaserScan) -> LaserScan:
        """See :class:`Filter`. A range beyond the lidar's ends is what a lidar says there."""
        ranges = np.array(scan.ranges_m)
        error = np.full(len(ranges), self._mean_m)
        if self._stddev_m:
            error += self._draw(scan.stamp_s).normal(0.0, self._stddev_m, len(ranges))
        met = np.isfinite(ranges)
        ranges[met] += error[met]
        ranges[met & (ranges > scan.range_max_m)] = math.inf
        ranges[met & (ranges < scan.range_min_m)] = -math.inf
        return _with(scan, ranges)


class ScanDropout(Filter):
    """Lets a share of the rays see nothing, drawn anew for each scan."""

    def __init__(self, share: float, draw: OfScan) -> None:
        self._share, self._draw = share, draw

    def scanned(self, scan: LaserScan) -> LaserScan:
        """See :class:`Filter`."""
        ranges = np.array(scan.ranges_m)
        ranges[self._draw(scan.stamp_s).random(len(ranges)) < self._share] = math.inf
        return _with(scan, ranges)


class ScanDelay(Filter):
    """Shows the scan that was the newest so long ago, with its own stamp; before there is one that
    old, the first."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._kept: Deque[LaserScan] = deque()

    def delayed(self, scan: LaserScan, time_s: float) -> LaserScan:
        """See :class:`Filter`."""
        if not self._kept or scan.stamp_s > self._kept[-1].stamp_s:
            self._kept.append(scan)
        while len(self._kept) > 1 and self._kept[1].stamp_s <= time_s - self._delay_s + 1e-9:
            self._kept.popleft()
        return self._kept[0]


class ActuatorLag(Filter):
    """Lets the drive follow commands as a first-order system with a time constant (s) does, by its
    value at the end of each period."""

    def __init__(self, time_constant_s: float) -> None:
        self._time_constant_s = time_constant_s
        self._now = Twist2D()

    def commanded(self, command: Twist2D, time_s: float, duration_s: float) -> Twist2D:
        """See :class:`Filter`."""
        if self._time_constant_s <= 0.0:
            return command
        share = 1.0 - math.exp(-duration_s / self._time_constant_s)
        self._now = Twist2D(
            self._now.linear_mps + share * (command.linear_mps - self._now.linear_mps),
            self._now.angular_radps + share * (command.angular_radps - self._now.angular_radps),
        )
        return self._now


class WheelSlip(Filter):
    """Takes a share of their speed from the left wheels and from the right."""

    def __init__(self, left: float, right: float, separation_m: float) -> None:
        self._keep = (1.0 - left, 1.0 - right)
        self._separation_m = separation_m

    def commanded(self, command: Twist2D, time_s: float, duration_s: float) -> Twist2D:
        """See :class:`Filter`."""
        half = command.angular_radps * self._separation_m / 2
        left = (command.linear_mps - half) * self._keep[0]
        right = (command.linear_mps + half) * self._keep[1]
        return Twist2D((left + right) / 2, (right - left) / self._separation_m)


def _with(scan: LaserScan, ranges: np.ndarray) -> LaserScan:
    ranges.setflags(write=False)
    return replace(scan, ranges_m=ranges)
