"""Casts the rays of a planar lidar at outlines seen from above.

Owns the arithmetic of rays and segments, for simulators without a third dimension. Each segment
is tried only against the rays that point at it, which makes a scan of a whole world cheap.
"""

from typing import Iterable, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry


def outline_segments(shapes: Iterable[BaseGeometry]) -> np.ndarray:
    """All edges of all rings of polygons, shape (n, 4): x0, y0, x1, y1 (m)."""
    pieces = [np.empty((0, 4))]
    for polygon in shapely.get_parts(list(shapes)):
        for ring in shapely.get_rings(polygon):
            corners = shapely.get_coordinates(ring)
            pieces.append(np.hstack([corners[:-1], corners[1:]]))
    return np.concatenate(pieces)


def cast_rays(
    segments: np.ndarray,
    x_m: float,
    y_m: float,
    yaw_rad: float,
    angles_rad: np.ndarray,
    range_max_m: float,
) -> np.ndarray:
    """Distance along each ray to the first segment, shape (n,); ``inf`` beyond the range.

    ``angles_rad`` are evenly spaced and rising, relative to ``yaw_rad``; the sensor is at
    (x, y) in the frame of the segments, shape (m, 4).
    """
    ranges = np.full(len(angles_rad), np.inf)
    start = segments[:, :2] - (x_m, y_m)
    step = segments[:, 2:] - segments[:, :2]
    first, last = _rays_at(start, start + step, yaw_rad, angles_rad)
    counts = np.maximum(last - first + 1, 0)
    segment = np.repeat(np.tile(np.arange(len(segments)), 3), counts)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    ray = np.repeat(first, counts) + offsets
    cos, sin = np.cos(yaw_rad + angles_rad[ray]), np.sin(yaw_rad + angles_rad[ray])
    px, py = start[segment].T
    ex, ey = step[segment].T
    across = cos * ey - sin * ex
    with np.errstate(divide="ignore", invalid="ignore"):
        along_ray = (px * ey - py * ex) / across
        along_segment = (px * sin - py * cos) / across
    met = (along_ray >= 0) & (along_segment >= -1e-9) & (along_segment <= 1 + 1e-9)
    np.minimum.at(ranges, ray[met], along_ray[met])
    ranges[ranges > range_max_m] = np.inf
    return ranges


def _rays_at(
    start: np.ndarray, end: np.ndarray, yaw_rad: float, angles_rad: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """First and last index of the rays towards each segment, for its three images at
    -360°, 0 and +360°: shape (3 * n,) each, empty where last < first."""
    bearing = np.arctan2(start[:, 1], start[:, 0]) - yaw_rad
    turn = np.arctan2(end[:, 1], end[:, 0]) - yaw_rad - bearing
    turn = np.remainder(turn + np.pi, 2 * np.pi) - np.pi
    low = np.remainder(np.minimum(bearing, bearing + turn) + np.pi, 2 * np.pi) - np.pi
    lows = np.concatenate([low - 2 * np.pi, low, low + 2 * np.pi])
    highs = lows + np.tile(np.abs(turn), 3)
    spacing = (angles_rad[-1] - angles_rad[0]) / max(1, len(angles_rad) - 1) or 1.0
    first = np.floor((lows - angles_rad[0]) / spacing).astype(int)
    last = np.ceil((highs - angles_rad[0]) / spacing).astype(int)
    return np.maximum(first, 0), np.minimum(last, len(angles_rad) - 1)
