"""Fit boxes and cylinders to the static points that the map does not explain.

A group of points becomes a cylinder or a box if its points are near the surface, and no ray crossed
the inside. Other groups become cells of 2 cm, joined to rectangles.
"""

from typing import List, NamedTuple, Optional, Tuple

import numpy as np
from scipy import ndimage
from scipy.optimize import least_squares

from gz_testauto.extras.field.evidence import CELL_M, STATIC, Evidence
from gz_testauto.grid.occupancy import rectangles_of

FINE_M = 0.02
GAP_M = 0.15  # least distance of points of different groups
LEAST_CELLS, LEAST_HITS = 3, 10
FIT_M = 0.03  # largest root mean square distance of points from a fitted surface
THIN_M = 0.06  # thickness of a box of which only one side was seen
MOST_RADIUS_M = 1.5
LEAST_ARC_RAD = 1.0
CROSSED_SHARE = 0.05  # of the inside of a fitted shape
HEIGHT_M = 1.2


class SolidPart(NamedTuple):
    """A box with sides (m) or a cylinder (``radius_m``), with the center and yaw (m, rad) in the
    map frame."""

    x_m: float
    y_m: float
    yaw_rad: float
    sides_m: Tuple[float, float]
    radius_m: float = 0.0


class Seen(NamedTuple):
    """An obstacle: its name, parts and kind of fit, and its root mean square error (m)."""

    name: str
    parts: List[SolidPart]
    kind: str
    error_m: float


class _Cluster(NamedTuple):
    points: np.ndarray
    weights: np.ndarray
    origins: np.ndarray


def fit_obstacles(evidence: Evidence) -> List[Seen]:
    """Fit obstacles to the static points, and return them ordered by x."""
    groups = _groups(evidence)
    fitted = [_fit(group, evidence) for group in groups]
    # two sides of one obstacle can be separate groups of points
    for second in range(len(groups) - 1, 0, -1):
        for first in range(second):
            if not (
                _includes(fitted[first], fitted[second]) or _includes(fitted[second], fitted[first])
            ):
                continue
            group = _Cluster(*map(np.concatenate, zip(groups[first], groups[second])))
            joined = _fit(group, evidence)
            if joined.kind != "cells":
                groups[first], fitted[first] = group, joined
                del groups[second], fitted[second]
                break
    fitted.sort(key=lambda seen: (seen.parts[0].x_m, seen.parts[0].y_m))
    return [seen._replace(name=f"seen_{number:02}") for number, seen in enumerate(fitted)]


def _includes(seen: Seen, other: Seen) -> bool:
    """Return whether a fitted shape includes the center of another one."""
    if seen.kind == "cells" or other.kind == "cells":
        return False
    part, center = seen.parts[0], other.parts[0]
    x, y = center.x_m - part.x_m, center.y_m - part.y_m
    if part.radius_m:
        return bool(np.hypot(x, y) < part.radius_m)
    cos, sin = np.cos(part.yaw_rad), np.sin(part.yaw_rad)
    half = 0.5 * np.array(part.sides_m)
    return bool(abs(cos * x + sin * y) < half[0] and abs(-sin * x + cos * y) < half[1])


def _groups(evidence: Evidence) -> List[_Cluster]:
    selected = evidence.kinds == STATIC
    points, origins = evidence.points_m[selected], evidence.origins_m[selected]
    if not len(points):
        return []
    low = points.min(axis=0) - 2 * GAP_M
    column, row = np.floor((points - low) / FINE_M).astype(int).T
    shape = (
        row.max() + 1 + round(2 * GAP_M / FINE_M),
        column.max() + 1 + round(2 * GAP_M / FINE_M),
    )
    flat = row * shape[1] + column
    cells, inverse, counts = np.unique(flat, return_inverse=True, return_counts=True)
    inverse = inverse.ravel()

    def means(values: np.ndarray) -> np.ndarray:
        return np.column_stack([np.bincount(inverse, values[:, i]) / counts for i in range(2)])

    centers, sensors = means(points), means(origins)
    occupied = np.zeros(shape, dtype=bool)
    occupied.ravel()[cells] = True
    # single returns are noise, if no other one is near
    density = ndimage.uniform_filter(
        np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape).astype(float), 5
    )
    occupied &= density * 25 >= 3
    radius = round(0.5 * GAP_M / FINE_M)
    offsets = np.hypot(*np.mgrid[-radius : radius + 1, -radius : radius + 1]) <= radius
    labels, count = ndimage.label(ndimage.binary_dilation(occupied, offsets))
    label = np.where(occupied.ravel()[cells], labels.ravel()[cells], 0)
    groups = []
    for number in range(1, count + 1):
        of_group = label == number
        if of_group.sum() >= LEAST_CELLS and counts[of_group].sum() >= LEAST_HITS:
            weights = np.minimum(counts[of_group], 10).astype(float)
            groups.append(_Cluster(centers[of_group], weights, sensors[of_group]))
    return groups


def _fit(group: _Cluster, evidence: Evidence) -> Seen:
    fits = [fit for fit in (_circle(group), _rectangle(group)) if fit is not None]
    for error_m, part in sorted(fits, key=lambda fit: fit[0]):
        if error_m <= FIT_M and _crossed_share(part, evidence) <= CROSSED_SHARE:
            kind = "cylinder" if part.radius_m else "box"
            return Seen("", [part], kind, error_m)
    return Seen("", _cells_of(group), "cells", 0.5 * FINE_M)


def _circle(group: _Cluster) -> Optional[Tuple[float, SolidPart]]:
    points, weights = group.points, np.sqrt(group.weights / group.weights.sum())
    middle = points.mean(axis=0)
    x, y = (points - middle).T
    matrix = np.column_stack([x, y, np.ones(len(x))]) * weights[:, None]
    solution = np.linalg.lstsq(matrix, (x**2 + y**2) * weights, rcond=None)[0]
    radius = float(np.sqrt(max(solution[2] + (solution[:2] ** 2).sum() / 4, 1e-6)))
    first = np.array([*solution[:2] / 2, radius])
    if not np.isfinite(first).all() or radius > 2 * MOST_RADIUS_M:
        return None

    def errors(values: np.ndarray) -> np.ndarray:
        return np.asarray((np.hypot(x - values[0], y - values[1]) - values[2]) * weights)

    fitted = least_squares(errors, first, loss="soft_l1", f_scale=0.02 * weights.mean())
    center, radius = middle + fitted.x[:2], float(abs(fitted.x[2]))
    angles = np.sort(np.arctan2(*(points - center).T[::-1]))
    gaps = np.diff(np.append(angles, angles[0] + 2 * np.pi))
    arc = 2 * np.pi - gaps.max()
    outside = np.hypot(*(group.origins - center).T) > radius
    if radius > MOST_RADIUS_M or arc < LEAST_ARC_RAD or not outside.all():
        return None
    error_m = float(np.sqrt((errors(fitted.x) ** 2).sum()))
    return error_m, SolidPart(float(center[0]), float(center[1]), 0.0, (0.0, 0.0), radius)


def _rectangle(group: _Cluster) -> Optional[Tuple[float, SolidPart]]:
    """Return the rectangle whose sides are nearest to the points (Zhang et al., 2017), after its
    root mean square error (m)."""
    best: Optional[Tuple[float, float]] = None
    for step_rad, half_rad in ((np.radians(3), np.pi / 4), (np.radians(0.25), np.radians(3))):
        around = np.pi / 4 if best is None else best[1]
        for yaw in np.arange(around - half_rad, around + half_rad, step_rad):
            error = _side_errors(group, yaw)[0]
            if best is None or error < best[0]:
                best = (error, float(yaw))
    assert best is not None
    error, low, high = _side_errors(group, best[1])
    cos, sin = np.cos(best[1]), np.sin(best[1])
    axes = np.array([[cos, sin], [-sin, cos]])
    sensor = np.average(group.origins, axis=0, weights=group.weights) @ axes.T
    for axis in range(2):
        missing_m = THIN_M - (high[axis] - low[axis])
        if missing_m > 0:  # one side was seen; the inside is behind it
            if sensor[axis] > high[axis]:
                low[axis] -= missing_m
            else:
                high[axis] += missing_m
    center = 0.5 * (low + high) @ axes
    sides = high - low
    part = SolidPart(
        float(center[0]), float(center[1]), best[1], (float(sides[0]), float(sides[1]))
    )
    return error, part


def _side_errors(group: _Cluster, yaw: float) -> Tuple[float, np.ndarray, np.ndarray]:
    """Return the root mean square distance of points from the nearest side of the rectangle with
    the heading ``yaw`` around them, and its low and high corners in its frame."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    local = group.points @ np.array([[cos, sin], [-sin, cos]]).T
    low, high = np.percentile(local, 1, axis=0), np.percentile(local, 99, axis=0)
    for _ in range(2):  # the surface is in the middle of the noise
        distance = np.concatenate([np.abs(local - low), np.abs(local - high)], axis=1)
        nearest = distance.argmin(axis=1)
        for side in range(4):
            of_side = (nearest == side) & (distance[:, side] < 0.06)
            if of_side.sum() >= 3:
                corner, axis = (low, high)[side // 2], side % 2
                corner[axis] = np.median(local[of_side, axis])
    distance = np.concatenate([np.abs(local - low), np.abs(local - high)], axis=1).min(axis=1)
    weights = group.weights
    return float(np.sqrt((weights * distance**2).sum() / weights.sum())), low, high


def _crossed_share(part: SolidPart, evidence: Evidence) -> float:
    """Return the share of cells inside a part, away from its surface, that rays crossed."""
    reach = part.radius_m or 0.5 * float(np.hypot(*part.sides_m))
    count = int(np.ceil(reach / CELL_M))
    offset = np.arange(-count, count + 1) * CELL_M
    x, y = (grid.ravel() for grid in np.meshgrid(offset, offset))
    if part.radius_m:
        inside = np.hypot(x, y) < part.radius_m - 2 * CELL_M
    else:
        cos, sin = np.cos(part.yaw_rad), np.sin(part.yaw_rad)
        half = 0.5 * np.array(part.sides_m) - 2 * CELL_M
        along, across = np.abs(cos * x + sin * y), np.abs(-sin * x + cos * y)
        inside = (along < half[0]) & (across < half[1])
    if not inside.any():
        return 0.0
    column = np.floor((part.x_m + x[inside] - evidence.corner_m[0]) / CELL_M).astype(int)
    row = np.floor((part.y_m + y[inside] - evidence.corner_m[1]) / CELL_M).astype(int)
    rows, columns = evidence.passes.shape
    passes = evidence.passes[np.clip(row, 0, rows - 1), np.clip(column, 0, columns - 1)]
    return float((passes >= 2).mean())


def _cells_of(group: _Cluster) -> List[SolidPart]:
    low = group.points.min(axis=0) - FINE_M
    column, row = np.floor((group.points - low) / FINE_M).astype(int).T
    cells = np.zeros((row.max() + 2, column.max() + 2), dtype=bool)
    cells[row, column] = True
    cells = ndimage.binary_closing(cells, np.ones((3, 3), dtype=bool)) | cells
    return [
        SolidPart(
            float(low[0] + (cell.column + cell.columns / 2) * FINE_M),
            float(low[1] + (cell.row + cell.rows / 2) * FINE_M),
            0.0,
            (cell.columns * FINE_M, cell.rows * FINE_M),
        )
        for cell in rectangles_of(cells)
    ]
