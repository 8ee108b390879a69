"""The driven path by its recorded velocities: length along it, yaw and course, not wrapped.

Owns what the metrics of shape need of a recording. They do not use the polyline through the
positions: it has corners where the path has none, and each jitter of a position adds to its length.
"""

import math
from typing import Iterator, NamedTuple

import numpy as np

from gz_testauto.metrics.duration import STANDING_MPS
from gz_testauto.metrics.recording import Recording

CUSP_RAD = math.pi / 2
"""The path turns back between two samples where the change of its course and the integral of the
yaw rate differ by this or more."""


class Stretch(NamedTuple):
    """A part of the path without a stop and without a cusp, by its samples, at least two: the
    length along the path (m) and the course (rad, not wrapped), both of shape (k,)."""

    along_m: np.ndarray
    course_rad: np.ndarray


def length_along(recording: Recording) -> np.ndarray:
    """Return the length of the path until each sample (m), shape (n,): the integral of the
    speed."""
    return _integral(np.hypot(*recording.twist[:, :2].T), recording.time_s)


def unwrapped_yaw(recording: Recording) -> np.ndarray:
    """Return the yaw (rad), shape (n,), without jumps by 2π, for turns of any size between
    samples."""
    yaw = recording.pose[:, 2]
    return yaw[:1] + np.concatenate([np.zeros(len(yaw[:1])), np.cumsum(_turns(yaw, recording))])


def stretches(recording: Recording) -> Iterator[Stretch]:
    """Yield the parts of the path between stops and cusps, in order."""
    forward, left = recording.twist[:, 0], recording.twist[:, 1]
    course = recording.pose[:, 2] + np.arctan2(left, forward)
    moving = np.hypot(forward, left) > STANDING_MPS
    turns = _turns(course, recording)
    smooth = np.abs(turns - _turned_by_rate(recording)) < CUSP_RAD
    joined = moving[:-1] & moving[1:] & smooth
    along = length_along(recording)
    for rows in np.split(np.arange(len(course)), np.flatnonzero(~joined) + 1):
        if len(rows) > 1:
            yield Stretch(along[rows], np.concatenate([[0.0], np.cumsum(turns[rows[:-1]])]))


def _turns(angle_rad: np.ndarray, recording: Recording) -> np.ndarray:
    """Return the change of an angle from each sample to the next, shape (n − 1,); of the values
    that differ by 2π the nearest to the integral of the yaw rate."""
    by_rate = _turned_by_rate(recording)
    return by_rate + np.remainder(np.diff(angle_rad) - by_rate + math.pi, 2 * math.pi) - math.pi


def _turned_by_rate(recording: Recording) -> np.ndarray:
    return np.diff(_integral(recording.twist[:, 2], recording.time_s))


def _integral(values: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    from scipy.integrate import cumulative_trapezoid

    if len(time_s) < 2:
        return np.zeros(len(time_s))
    return np.asarray(cumulative_trapezoid(values, time_s, initial=0.0))
