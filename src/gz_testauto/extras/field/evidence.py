"""Separate the points of scans: walls of the map, other static surfaces, and moving objects."""

from typing import NamedTuple, Tuple

import numpy as np
from scipy import ndimage

from gz_testauto.extras.field.matching import Rays, turned
from gz_testauto.extras.field.rays import cast_rays, mark_passes
from gz_testauto.grid.map_server import MapFile

CELL_M = 0.05
BEFORE_M = 0.1  # length of a ray before its hit that is not evidence for free space
STATIC_SHARE = 0.08  # least share of rays that end in a cell of a static surface
GROUP_SHARE = 0.25  # of a group of adjacent cells, since slow objects often hit single cells
LEAST_HITS = 3
BEHIND_M = 0.3  # length behind a wall from which a return belongs to glass or to another map
MOST_CELLS = 5e7

STATIC, MOVING, WALL, BEHIND = 0, 1, 2, 3


class Evidence(NamedTuple):
    """The m points of all scans in the map frame, and a grid of the rays.

    Each point has the index of its scan, its kind, such as :data:`WALL`, and the origin of its ray.
    ``hits`` and ``passes`` (rows, columns) count the rays that end in a cell, and that cross it.
    ``corner_m`` is the outer corner of cell (0, 0). ``crossing_share`` is the share of points
    behind walls."""

    points_m: np.ndarray
    scans: np.ndarray
    kinds: np.ndarray
    origins_m: np.ndarray
    hits: np.ndarray
    passes: np.ndarray
    corner_m: np.ndarray
    crossing_share: float

    def seen_m2(self, map_file: MapFile) -> float:
        """Return the area in the map (m²) that rays crossed or hit."""
        centers = np.argwhere(self.hits + self.passes > 0)[:, ::-1] + 0.5
        cells = np.floor(in_map_cells(self.corner_m + CELL_M * centers, map_file))
        rows, columns = map_file.occupied.shape
        inside = ((cells >= 0) & (cells < (columns, rows))).all(axis=1)
        return float(inside.sum() * CELL_M**2)


def collect_evidence(
    rays: Rays, range_max_m: float, poses: np.ndarray, map_file: MapFile
) -> Evidence:
    origins_of_scans = np.array([turned(pose, rays.origin_m[None])[0] for pose in poses])
    valid = ~np.isnan(rays.ranges_m)
    scans, _ = np.nonzero(valid)
    lengths = np.minimum(rays.ranges_m[valid].astype(float), range_max_m)
    is_hit = np.isfinite(rays.ranges_m[valid])
    directions = np.concatenate(
        [
            turned(np.array([0.0, 0.0, pose[2]]), rays.directions[valid[scan]])
            for scan, pose in enumerate(poses)
        ]
    )
    origins = origins_of_scans[scans]
    ends = origins + directions * lengths[:, None]
    low = np.minimum(origins, ends).min(axis=0) - 2 * CELL_M
    size = np.ceil((np.maximum(origins, ends).max(axis=0) - low) / CELL_M).astype(int) + 2
    low, size = _limited(low, size, origins)
    passes = np.zeros((size[1], size[0]), dtype=np.int32)
    clear = origins + directions * np.maximum(lengths - BEFORE_M, 0.0)[:, None]
    mark_passes(passes, (origins - low) / CELL_M, (clear - low) / CELL_M)
    points, scans, origins = ends[is_hit], scans[is_hit], origins[is_hit]
    cells = _cells(points, low, passes.shape)
    hits = np.zeros_like(passes)
    np.add.at(hits, cells, 1)
    total = ndimage.uniform_filter(hits.astype(float), 3) * 9
    is_static = (hits >= STATIC_SHARE * (hits + passes)) & (hits > 0) & (total >= LEAST_HITS)
    labels, count = ndimage.label(is_static, np.ones((3, 3), dtype=bool))
    sums = [ndimage.sum_labels(grid, labels, np.arange(count + 1)) for grid in (hits, passes)]
    is_static &= (sums[0] >= GROUP_SHARE * (sums[0] + sums[1]))[labels]
    is_static = ndimage.binary_dilation(is_static, np.ones((3, 3), dtype=bool))
    kinds = np.where(is_static[cells], STATIC, MOVING)
    is_wall, is_behind = _compare(points, origins, map_file)
    kinds[is_wall], kinds[is_behind] = WALL, BEHIND
    crossing_share = float(is_behind.mean()) if len(is_behind) else 0.0
    return Evidence(points, scans, kinds, origins, hits, passes, low, crossing_share)


def _limited(
    low: np.ndarray, size: np.ndarray, origins: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the corner (m) and the size (cells) of the grid; a square around the robot if the grid
    is too large."""
    if size.prod() <= MOST_CELLS:
        return low, size
    half = int(np.sqrt(MOST_CELLS) / 2)
    middle = np.median(origins, axis=0)
    return middle - half * CELL_M, np.array([2 * half, 2 * half])


def _cells(
    points: np.ndarray, low: np.ndarray, shape: Tuple[int, ...]
) -> Tuple[np.ndarray, np.ndarray]:
    column, row = np.floor((points - low) / CELL_M).astype(int).T
    return np.clip(row, 0, shape[0] - 1), np.clip(column, 0, shape[1] - 1)


def in_map_cells(points: np.ndarray, map_file: MapFile) -> np.ndarray:
    """Convert points (n, 2) of the map frame to columns and rows of the map, with fractions."""
    x_m, y_m, yaw_rad = map_file.origin
    back = turned(np.array([0.0, 0.0, -yaw_rad]), points - np.array([x_m, y_m]))
    return back / map_file.resolution_m


def _compare(
    points: np.ndarray, origins: np.ndarray, map_file: MapFile
) -> Tuple[np.ndarray, np.ndarray]:
    """Return two masks (n,): points at occupied cells of the map, and points behind these."""
    cell_m = map_file.resolution_m
    ends, starts = in_map_cells(points, map_file), in_map_cells(origins, map_file)
    lengths = np.hypot(*(ends - starts).T)
    directions = (ends - starts) / np.maximum(lengths, 1e-9)[:, None]
    wall = cast_rays(map_file.occupied, starts, directions, float(lengths.max(initial=0.0)))
    is_behind = wall * cell_m < lengths * cell_m - max(BEHIND_M, 2 * cell_m)
    rows, columns = map_file.occupied.shape
    far_m = cell_m + 0.05
    margin = int(np.ceil(far_m / cell_m)) + 1
    padded = np.pad(map_file.occupied, margin)
    distance = ndimage.distance_transform_edt(~padded) * cell_m
    column, row = np.floor(ends).astype(int).T + margin
    inside = (
        (row >= 0) & (row < rows + 2 * margin) & (column >= 0) & (column < columns + 2 * margin)
    )
    is_wall = np.zeros(len(points), dtype=bool)
    is_wall[inside] = distance[row[inside], column[inside]] <= far_m
    return is_wall & ~is_behind, is_behind
