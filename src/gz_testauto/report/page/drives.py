"""Drives as the page has them: thinned to what a reader can see, in small whole numbers.

Owns the tolerances. Each quantity keeps those of its samples from which the others follow by
straight lines over time within its tolerance (Douglas and Peucker's algorithm, by shapely). Times
are in ms, lengths in mm, angles in mrad, and each list holds its first number and then the
differences, which are short.
"""

from typing import Any, Dict, List

import numpy as np
import shapely

from gz_testauto.base.escaping import escape_text
from gz_testauto.metrics.recording import ACTOR_SERIES, OUTLINE_SERIES, Recording
from gz_testauto.metrics.traffic.encounters import movers

POSITION_M = 0.02
YAW_RAD = 0.035
CLEARANCE_M = 0.02
SPEED_MPS = 0.02
YAW_RATE_RADPS = 0.05

_MILLI = 1000.0
_STRETCH = 1e5
"""Seconds drawn so long that the distance from a line is the difference at one time."""


def tolerances_text() -> str:
    """The tolerances in words, for the page."""
    return (
        f"x and y {100 * POSITION_M:g} cm, heading {np.degrees(YAW_RAD):.0f}°, clearance "
        f"{100 * CLEARANCE_M:g} cm, speed {SPEED_MPS:g} m/s, yaw rate {YAW_RATE_RADPS:g} rad/s"
    )


def thinned_drive(recording: Recording) -> Dict[str, Any]:
    """The drive for the page: ``way`` is time, x, y and yaw; ``clearance``, ``speed`` and
    ``yaw_rate`` are time and value; ``end_ms`` the length; ``movers``, where there are any, who
    moved beside the robot: outline (x, y, x, ...) and way of each."""
    time_s, pose, twist = recording.time_s, recording.pose, recording.twist
    if not len(time_s):
        return {"end_ms": 0, "way": [[], [], [], []]}
    drive = {
        "end_ms": round(float(time_s[-1]) * _MILLI),
        "way": _way(time_s, pose),
        "clearance": _series(time_s, recording.clearance_m, CLEARANCE_M),
        "speed": _series(time_s, np.hypot(twist[:, 0], twist[:, 1]), SPEED_MPS),
        "yaw_rate": _series(time_s, twist[:, 2], YAW_RATE_RADPS),
    }
    beside = [
        {
            "name": escape_text(name),
            "outline": np.round(recording.series[OUTLINE_SERIES + name].ravel(), 3).tolist(),
            "way": _way(time_s, recording.series[ACTOR_SERIES + name]),
        }
        for name in movers(recording.series)
    ]
    return {**drive, "movers": beside} if beside else drive


def _way(time_s: np.ndarray, pose: np.ndarray) -> List[List[int]]:
    """Time, x, y and yaw of poses (n, 3), those that are there."""
    there = np.isfinite(pose).all(axis=1)
    time_s, pose = time_s[there], pose[there]
    if len(time_s) < 2:
        return [coded(values) for values in (time_s, *pose.T)]
    yaw = np.unwrap(pose[:, 2])
    kept = keep(time_s, pose[:, 0] / POSITION_M, pose[:, 1] / POSITION_M, yaw / YAW_RAD)
    return [coded(values[kept]) for values in (time_s, pose[:, 0], pose[:, 1], yaw)]


def keep(time_s: np.ndarray, *columns: np.ndarray) -> np.ndarray:
    """Indices of the samples to keep, shape (m,), ascending, first and last among them.

    What lies between two that are kept differs from the straight line over time by 1 at most, in
    every one of ``columns``, each of shape (n,). Half of it is allowed to each of several, because
    samples that another column keeps break its lines in two.
    """
    kept = np.array([0, len(time_s) - 1])
    allowed = 0.5 if len(columns) > 1 else 1.0
    along = time_s * _STRETCH
    for column in columns:
        line = shapely.LineString(np.column_stack([along, column]))
        simple = shapely.get_coordinates(shapely.simplify(line, allowed, preserve_topology=False))
        kept = np.union1d(kept, np.searchsorted(along, simple[:, 0]))
    return kept


def coded(values: np.ndarray) -> List[int]:
    """Thousandths as whole numbers: the first one, then the differences."""
    whole = np.rint(values * _MILLI).astype(np.int64)
    return np.diff(whole, prepend=0).tolist()


def _series(time_s: np.ndarray, values: np.ndarray, tolerance: float) -> List[List[int]]:
    finite = np.isfinite(values)
    time_s, values = time_s[finite], values[finite]
    if len(time_s) > 2:
        kept = keep(time_s, values / tolerance)
        time_s, values = time_s[kept], values[kept]
    return [coded(time_s), coded(values)]
