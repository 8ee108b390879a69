"""Encode recordings and outlines for the page: thinned, as small integers, and without duplicates.

Each quantity keeps the samples from which linear interpolation over time gives the others within
its tolerance (algorithm of Douglas and Peucker, by shapely). Times are in ms, lengths in mm, angles
in mrad. Each list contains its first number and then the differences, which are short.

An outline is stored once as a shape, with its positions. A shape is ``{"r": radius}`` for a circle
around its position, else ``{"p": [ring, ...]}`` with each ring's vertices relative to the position,
``[x, y, x, y, ...]``.
"""

from typing import Any, Dict, Iterable, List, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.escaping import escape_text
from gz_testauto.metrics.encounters import moving_objects
from gz_testauto.metrics.recording import (
    ACTOR_SERIES,
    OUTLINE_SERIES,
    PLAN_SERIES,
    TF_SERIES,
    Recording,
)

POSITION_M = 0.02
YAW_RAD = 0.035
CLEARANCE_M = 0.02
SPEED_MPS = 0.02
YAW_RATE_RADPS = 0.05

_MILLI = 1000.0
# scale of time, at which the distance from a line equals the difference at the same time
_STRETCH = 1e5


def tolerances_text() -> str:
    return (
        f"x and y {100 * POSITION_M:g} cm, heading {np.degrees(YAW_RAD):.0f}°, clearance "
        f"{100 * CLEARANCE_M:g} cm, speed {SPEED_MPS:g} m/s, yaw rate {YAW_RATE_RADPS:g} rad/s; "
        f"outlines {1000 * OUTLINE_M:g} mm"
    )


def thinned_trajectory(recording: Recording) -> Dict[str, Any]:
    """Return the samples of a recording that the page shows, as lists by name.

    ``path`` and ``tf``, the estimated pose of a navigation stack, contain time, x, y and yaw.
    ``clearance``, ``speed`` and ``yaw_rate`` contain time and value. ``objects`` contains the
    outline (x, y, x, ...) and the trajectory of each actor. ``plans`` are those of
    :func:`_plans`.
    """
    time_s, pose, twist = recording.time_s, recording.pose, recording.twist
    if not len(time_s):
        return {"end_ms": 0, "path": [[], [], [], []]}
    drive: Dict[str, Any] = {
        "end_ms": round(float(time_s[-1]) * _MILLI),
        "path": _thinned_poses(time_s, pose),
        "clearance": _thinned_values(time_s, recording.clearance_m, CLEARANCE_M),
        "speed": _thinned_values(time_s, np.hypot(twist[:, 0], twist[:, 1]), SPEED_MPS),
        "yaw_rate": _thinned_values(time_s, twist[:, 2], YAW_RATE_RADPS),
    }
    if TF_SERIES in recording.series:
        drive["tf"] = _thinned_poses(time_s, recording.series[TF_SERIES])
    plans = {
        kind: _plans(recording.series[name])
        for kind, name in PLAN_SERIES.items()
        if len(recording.series.get(name, ()))
    }
    if plans:
        drive["plans"] = plans
    actors = [
        {
            "name": escape_text(name),
            "outline": np.round(recording.series[OUTLINE_SERIES + name].ravel(), 3).tolist(),
            "path": _thinned_poses(time_s, recording.series[ACTOR_SERIES + name]),
        }
        for name in moving_objects(recording.series)
    ]
    return {**drive, "objects": actors} if actors else drive


def _plans(points: np.ndarray) -> List[List[int]]:
    """Return the time of each plan, the number of its points, and x and y of all points, from the
    array :data:`~gz_testauto.metrics.recording.PLAN_SERIES`."""
    times, counts = np.unique(points[:, 0], return_counts=True)
    return [coded(times), counts.tolist(), coded(points[:, 1]), coded(points[:, 2])]


def _thinned_poses(time_s: np.ndarray, pose: np.ndarray) -> List[List[int]]:
    is_present = np.isfinite(pose).all(axis=1)
    time_s, pose = time_s[is_present], pose[is_present]
    if len(time_s) < 2:
        return [coded(values) for values in (time_s, *pose.T)]
    yaw = np.unwrap(pose[:, 2])
    kept_rows = select_samples(
        time_s, pose[:, 0] / POSITION_M, pose[:, 1] / POSITION_M, yaw / YAW_RAD
    )
    return [coded(values[kept_rows]) for values in (time_s, pose[:, 0], pose[:, 1], yaw)]


def select_samples(time_s: np.ndarray, *columns: np.ndarray) -> np.ndarray:
    """Return the ascending indices of the samples to keep. Linear interpolation over time between
    them differs by at most 1 from each of ``columns``, shape (n,)."""
    kept_rows = np.array([0, len(time_s) - 1])
    # half of the tolerance, since samples that another column keeps split the lines of a column
    allowed_error = 0.5 if len(columns) > 1 else 1.0
    stretched_time = time_s * _STRETCH
    for column in columns:
        line = shapely.LineString(np.column_stack([stretched_time, column]))
        simple = shapely.get_coordinates(
            shapely.simplify(line, allowed_error, preserve_topology=False)
        )
        kept_rows = np.union1d(kept_rows, np.searchsorted(stretched_time, simple[:, 0]))
    return kept_rows


def coded(values: np.ndarray) -> List[int]:
    """Return the values (n,), in thousandths and rounded to integers, as the first value followed
    by the differences between consecutive values."""
    milli_values = np.rint(values * _MILLI).astype(np.int64)
    return np.diff(milli_values, prepend=0).tolist()


def _thinned_values(time_s: np.ndarray, values: np.ndarray, tolerance: float) -> List[List[int]]:
    finite = np.isfinite(values)
    time_s, values = time_s[finite], values[finite]
    if len(time_s) > 2:
        kept_rows = select_samples(time_s, values / tolerance)
        time_s, values = time_s[kept_rows], values[kept_rows]
    return [coded(time_s), coded(values)]


OUTLINE_M = 0.005

_CORNERS_OF_A_CIRCLE = 12


class ShapeTable:
    def __init__(self) -> None:
        self._index: Dict[Tuple, int] = {}
        self._encoded: Dict[BaseGeometry, List[int]] = {}
        self.shapes: List[Dict[str, Any]] = []

    def place(self, outlines: Iterable[BaseGeometry]) -> List[int]:
        """Add the parts of the outlines to the shapes, and return ``[shape, x, y, shape, x, ...]``:
        the index and the position (mm) of each part."""
        indexes: List[int] = []
        for outline in outlines:
            encoded = self._encoded.get(outline)
            if encoded is None:
                encoded = []
                parts = shapely.get_parts(outline).tolist()
                for part in parts:
                    if part.geom_type == "Polygon" and not part.is_empty:
                        encoded += self._encode_part(part)
                if len(parts) > 1:  # such as the walls of a building, which many worlds share
                    self._encoded[outline] = encoded
            indexes += encoded
        return indexes

    def _encode_part(self, part: shapely.Polygon) -> List[int]:
        center, radius_m = _circle(part)
        if radius_m is not None:
            radius = round(radius_m * _MILLI)
            x, y = np.rint(center * _MILLI).astype(int).tolist()
            return [self._shape_number(("r", radius), {"r": radius}), x, y]
        simple = shapely.simplify(part, OUTLINE_M)
        whole_points = [
            np.rint(shapely.get_coordinates(ring) * _MILLI).astype(int)[:-1]
            for ring in (simple.exterior, *simple.interiors)
        ]
        x, y = whole_points[0].min(axis=0).tolist()
        rings = tuple(tuple((ring - (x, y)).ravel().tolist()) for ring in whole_points)
        return [self._shape_number(("p", rings), {"p": [list(ring) for ring in rings]}), x, y]

    def _shape_number(self, key: Tuple, shape: Dict[str, Any]) -> int:
        if key not in self._index:
            self._index[key] = len(self.shapes)
            self.shapes.append(shape)
        return self._index[key]


def _circle(part: shapely.Polygon) -> Tuple[np.ndarray, Any]:
    """Return the center and the radius (m) of a polygon that approximates a circle; the radius of
    other polygons is None."""
    corners = shapely.get_coordinates(part.exterior)[:-1]
    center = shapely.get_coordinates(part.centroid)[0]
    if part.interiors or len(corners) < _CORNERS_OF_A_CIRCLE:
        return center, None
    radii = np.hypot(*(corners - center).T)
    return center, float(radii.max()) if np.ptp(radii) < OUTLINE_M / 5 else None
