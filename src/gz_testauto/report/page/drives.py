"""Recordings in the format of the page: thinned to the visible precision, in small integers.

Each quantity keeps the samples from which linear interpolation over time gives the others within
its tolerance (algorithm of Douglas and Peucker, by shapely). Times are in ms, lengths in mm, angles
in mrad. Each list contains its first number and then the differences, which are short.
"""

from typing import Any, Dict, List

import numpy as np
import shapely

from gz_testauto.base.escaping import escape_text
from gz_testauto.metrics.encounters import moving_objects
from gz_testauto.metrics.recording import ACTOR_SERIES, OUTLINE_SERIES, Recording

POSITION_M = 0.02
YAW_RAD = 0.035
CLEARANCE_M = 0.02
SPEED_MPS = 0.02
YAW_RATE_RADPS = 0.05

_MILLI = 1000.0
_STRETCH = 1e5
"""Scale of time, so large that the distance from a line is the difference at one time."""


def tolerances_text() -> str:
    """Return the tolerances in words, for the page."""
    return (
        f"x and y {100 * POSITION_M:g} cm, heading {np.degrees(YAW_RAD):.0f}°, clearance "
        f"{100 * CLEARANCE_M:g} cm, speed {SPEED_MPS:g} m/s, yaw rate {YAW_RATE_RADPS:g} rad/s"
    )


def thinned_drive(recording: Recording) -> Dict[str, Any]:
    """Return the thinned recording: ``way`` is time, x, y and yaw; ``clearance``, ``speed`` and
    ``yaw_rate`` are time and value; ``end_ms`` the duration; ``objects``, if there are actors, the
    outline (x, y, x, ...) and trajectory of each."""
    time_s, pose, twist = recording.time_s, recording.pose, recording.twist
    if not len(time_s):
        return {"end_ms": 0, "way": [[], [], [], []]}
    drive = {
        "end_ms": round(float(time_s[-1]) * _MILLI),
        "way": _thinned_poses(time_s, pose),
        "clearance": _series(time_s, recording.clearance_m, CLEARANCE_M),
        "speed": _series(time_s, np.hypot(twist[:, 0], twist[:, 1]), SPEED_MPS),
        "yaw_rate": _series(time_s, twist[:, 2], YAW_RATE_RADPS),
    }
    actors = [
        {
            "name": escape_text(name),
            "outline": np.round(recording.series[OUTLINE_SERIES + name].ravel(), 3).tolist(),
            "way": _thinned_poses(time_s, recording.series[ACTOR_SERIES + name]),
        }
        for name in moving_objects(recording.series)
    ]
    return {**drive, "objects": actors} if actors else drive


def _thinned_poses(time_s: np.ndarray, pose: np.ndarray) -> List[List[int]]:
    """Return time, x, y and yaw of poses, shape (n, 3), without missing ones."""
    there = np.isfinite(pose).all(axis=1)
    time_s, pose = time_s[there], pose[there]
    if len(time_s) < 2:
        return [coded(values) for values in (time_s, *pose.T)]
    yaw = np.unwrap(pose[:, 2])
    kept = keep(time_s, pose[:, 0] / POSITION_M, pose[:, 1] / POSITION_M, yaw / YAW_RAD)
    return [coded(values[kept]) for values in (time_s, pose[:, 0], pose[:, 1], yaw)]


def keep(time_s: np.ndarray, *columns: np.ndarray) -> np.ndarray:
    """Return the ascending indices of the samples to keep, shape (m,), with the first and last.

    Linear interpolation over time between kept samples differs by at most 1 from every one of
    ``columns``, each of shape (n,). Of several columns each has half of that tolerance, because
    samples that another column keeps split its lines.
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
    """Return thousandths as integers: the first one, then the differences."""
    whole = np.rint(values * _MILLI).astype(np.int64)
    return np.diff(whole, prepend=0).tolist()


def _series(time_s: np.ndarray, values: np.ndarray, tolerance: float) -> List[List[int]]:
    finite = np.isfinite(values)
    time_s, values = time_s[finite], values[finite]
    if len(time_s) > 2:
        kept = keep(time_s, values / tolerance)
        time_s, values = time_s[kept], values[kept]
    return [coded(time_s), coded(values)]
