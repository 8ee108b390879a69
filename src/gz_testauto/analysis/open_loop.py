"""How far two simulators agree about a robot that is driven open loop.

Owns the comparison of poses, and of inertial measurements by mean and range: A. Farley, J. Wang,
J. A. Marshall, "How to pick a mobile robot simulator: A quantitative comparison of CoppeliaSim,
Gazebo, MORSE and Webots with a focus on accuracy of motion", 2022, equations (5) to (7). For each
axis there are the mean and the range of a drive, the range from the mean of its lowest to that of
its highest hundredth, and the error is the sum of both differences over all drives.
"""

import math
from dataclasses import dataclass
from typing import Sequence, Tuple

import numpy as np

from gz_testauto.trial.open_loop import OpenLoopRun

AXES = ("angular x", "angular y", "angular z", "linear x", "linear y", "linear z")
"""Angular velocities are in rad/s, linear accelerations in m/s²."""

EXTREME = 0.01
"""Share of the samples whose mean is the highest, or the lowest, value."""


@dataclass(frozen=True)
class DriveAgreement:
    """One sequence in two simulators, values for the first before those for the second.

    ``driven_m``: length of the way; ``turned_rad``: change of yaw; ``pushed_m``: how far the box
    went, NaN without one. ``apart_m`` and ``apart_rad``: the largest distance between the two
    robots, and of their yaws, at any time.
    """

    sequence: str
    driven_m: Tuple[float, float]
    turned_rad: Tuple[float, float]
    pushed_m: Tuple[float, float]
    apart_m: float
    apart_rad: float


@dataclass(frozen=True)
class AxisAgreement:
    """One axis of the IMU over all sequences: the magnitudes of the differences of mean and of
    range, summed; ``total`` is their sum, the paper's E_j. NaN where one has no IMU."""

    axis: str
    mean: float
    range: float

    @property
    def total(self) -> float:
        """E_j."""
        return self.mean + self.range


@dataclass(frozen=True)
class OpenLoopAgreement:
    """All command sequences, in their order, and all axes, in that of :data:`AXES`."""

    drives: Tuple[DriveAgreement, ...]
    axes: Tuple[AxisAgreement, ...]


def open_loop_agreement(
    first: Sequence[OpenLoopRun], second: Sequence[OpenLoopRun]
) -> OpenLoopAgreement:
    """Compare the same command sequences, in the same order, of two simulators."""
    pairs = list(zip(first, second))
    means = np.sum([abs(imu_mean(a.imu) - imu_mean(b.imu)) for a, b in pairs], axis=0)
    ranges = np.sum([abs(imu_range(a.imu) - imu_range(b.imu)) for a, b in pairs], axis=0)
    return OpenLoopAgreement(
        tuple(_compare(a, b) for a, b in pairs),
        tuple(AxisAgreement(*row) for row in zip(AXES, means.tolist(), ranges.tolist())),
    )


def imu_mean(imu: np.ndarray) -> np.ndarray:
    """Equation (5), for every axis of ``imu`` (n, 6)."""
    return np.asarray(imu.mean(axis=0))


def imu_range(imu: np.ndarray) -> np.ndarray:
    """Equation (6), for every axis of ``imu`` (n, 6), between the means of the highest and of the
    lowest hundredth of the samples, at least one."""
    extreme = max(1, round(EXTREME * len(imu)))
    ordered = np.sort(imu, axis=0)
    return np.asarray(ordered[-extreme:].mean(axis=0) - ordered[:extreme].mean(axis=0))


def _compare(first: OpenLoopRun, second: OpenLoopRun) -> DriveAgreement:
    apart = np.hypot(*(first.pose - second.pose)[:, :2].T)
    return DriveAgreement(
        sequence=first.sequence,
        driven_m=(_length(first.pose[:, :2]), _length(second.pose[:, :2])),
        turned_rad=(_turned(first), _turned(second)),
        pushed_m=(_pushed(first), _pushed(second)),
        apart_m=float(apart.max()),
        apart_rad=float(np.abs(first.pose[:, 2] - second.pose[:, 2]).max()),
    )


def _length(points: np.ndarray) -> float:
    return float(np.hypot(*np.diff(points, axis=0).T).sum())


def _turned(drive: OpenLoopRun) -> float:
    return float(drive.pose[-1, 2] - drive.pose[0, 2])


def _pushed(drive: OpenLoopRun) -> float:
    return math.hypot(*(drive.box[-1] - drive.box[0]))
