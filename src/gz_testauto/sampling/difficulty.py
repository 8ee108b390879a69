"""Compute the difficulty of a world for its manifest: the shortest path and measures along it.

The path is the exact shortest path of the robot's circumscribed circle, enlarged by a margin
(:mod:`gz_testauto.grid.visibility`).
"""

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.grid.occupancy import cells_with_center_inside
from gz_testauto.grid.search import path_length_m
from gz_testauto.grid.visibility import inflate
from gz_testauto.sampling.outline import Outline, cores_and_radii
from gz_testauto.sampling.site import Site

GAP_HORIZON_M = 5.0  # largest distance between two obstacles that counts as a gap
LEAST_GAP_M = 1e-6

# Widths up to which gaps are searched in turn. The number of gaps in a building grows with the
# square of their width.
_SEARCH_M = (1.0, 2.0, GAP_HORIZON_M)

STEP_M = 0.2  # largest distance between points along a path for the clearance

# Side of the cells for the measures of :mod:`gz_testauto.grid.path_measures`.
CELL_M = 0.15  # as in BARN

# Largest length of a line of sight, a multiple of ``CELL_M``.
SIGHT_M = 4.95  # BARN's worlds end after 4.5 m

MOST_GRID_CELLS = 16_000_000  # largest number of cells around a path

_PLACEHOLDER = np.zeros((1, 2))


@dataclass(frozen=True)
class Difficulty:
    """The difficulty of one world.

    - ``density``: the share of the ground that obstacles cover. The ground is that of all worlds of
      a specification: the regions of the centers of obstacles, enlarged by the extent of the
      largest obstacle (:meth:`~.draws.ObstacleSampler.ground`), without the walls. None for a drawn
      mission.
    - ``mean_clearance_m``: the distance from the robot's center to the nearest obstacle or wall
      that obstructs it, averaged along the shortest path.
    - ``narrowest_gap_m``: the smallest distance between two obstacles or walls on both sides of
      the shortest path; None if all distances exceed ``GAP_HORIZON_M``.
    - ``average_visibility_m``, ``dispersion``, ``characteristic_dimension_m``: the measures of
      :mod:`gz_testauto.grid.path_measures` along the shortest path, for cells of ``CELL_M`` that
      the robot's center can or cannot enter, and lines of up to ``SIGHT_M``. None if the path
      extends over more than ``MOST_GRID_CELLS``.
    - ``tortuosity``: the length of the shortest path divided by the distance of its ends; None if
      the path ends at its start.
    """

    density: Optional[float]
    mean_clearance_m: Optional[float]
    narrowest_gap_m: Optional[float]
    average_visibility_m: Optional[float] = None
    dispersion: Optional[float] = None
    characteristic_dimension_m: Optional[float] = None
    tortuosity: Optional[float] = None


class DifficultyEvaluator:
    """An evaluator of the difficulty of worlds with the same site.

    ``margin_m`` enlarges the robot's circle, and ``ground`` is the area that obstacles can cover
    (m, world frame). Raises ``PlacementError`` for a site without a mission, or without a path.
    """

    def __init__(self, site: Site, margin_m: float, ground: BaseGeometry) -> None:
        self._site = site
        self._free_area_m2 = site.free_area_m2(ground)
        self._margin_m = margin_m
        self._blocked_area = site.base_area(margin_m)
        walls = np.array(site.obstructing, dtype=object)
        self._walls = shapely.STRtree(walls)
        self._wall_gaps = {widest_m: _WallGaps(self._walls, widest_m) for widest_m in _SEARCH_M}

    def shortest_path(self, outlines: Sequence[Outline]) -> Optional[np.ndarray]:
        """Return the corners of the shortest path, shape (n, 2), or None if no path exists."""
        inflated_outlines = self._inflate_by_robot(outlines)
        blocked_area = shapely.union_all([*inflated_outlines, self._blocked_area])
        bounds = self._site.path_bounds(self._margin_m)
        return self._site.shortest_path(blocked_area, list(inflated_outlines), bounds)

    def difficulty(
        self,
        outlines: Sequence[Outline],
        covered_m2: Optional[float],
        path: Optional[np.ndarray],
    ) -> Difficulty:
        """Return the difficulty of a world. ``outlines`` are those of the obstacles that obstruct
        the robot, and ``covered_m2`` is the area of all obstacles, None if it is unknown. Without a
        path, all measures except ``density`` are None.
        """
        density = covered_m2 / self._free_area_m2 if covered_m2 else covered_m2
        if path is None:
            return Difficulty(density, None, None)
        visibility, dispersion, dimension = self._grid_measures(outlines, path)
        return Difficulty(
            density,
            self._mean_clearance_m(outlines, path),
            self._narrowest_gap_m(outlines, path),
            None if visibility is None else visibility * CELL_M,
            dispersion,
            None if dimension is None else dimension * CELL_M,
            _tortuosity(path),
        )

    def _inflate_by_robot(self, outlines: Sequence[Outline]) -> np.ndarray:
        mission = self._site.mission
        assert mission is not None
        cores, radii = cores_and_radii(outlines)
        return inflate(cores, radii + mission.radius_m + self._margin_m)

    def _grid_measures(
        self, outlines: Sequence[Outline], path: np.ndarray
    ) -> Tuple[Optional[float], ...]:
        """Return average visibility (cells), dispersion and characteristic dimension (cells). Each
        is None if the path extends over more than ``MOST_GRID_CELLS``."""
        from gz_testauto.grid.path_measures import path_measures  # loads numba

        points = _points_along(path)
        origin = points.min(axis=0) - SIGHT_M - CELL_M
        extent = points.max(axis=0) + SIGHT_M + CELL_M - origin
        columns, rows = map(int, np.ceil(extent / CELL_M))
        if rows * columns > MOST_GRID_CELLS:
            return None, None, None
        blocked_areas = np.array(
            [*self._inflate_by_robot(outlines), self._blocked_area], dtype=object
        )
        occupied = cells_with_center_inside(
            blocked_areas, (float(origin[0]), float(origin[1])), (rows, columns), CELL_M
        )
        cells = ((points - origin) / CELL_M).astype(int)[:, ::-1]
        occupied[cells[:, 0], cells[:, 1]] = False  # the path can touch obstacles
        return path_measures(occupied, cells, round(SIGHT_M / CELL_M))

    def _mean_clearance_m(self, outlines: Sequence[Outline], path: np.ndarray) -> Optional[float]:
        points = _points_along(path)
        clearances_m = np.full(len(points), np.inf)
        if outlines:
            clearances_m = _distances(points, outlines).min(axis=1)
        if self._site.obstructing:
            path_points = shapely.points(points)
            (index, _), distances = self._walls.query_nearest(
                path_points, return_distance=True, all_matches=False
            )
            clearances_m[index] = np.minimum(clearances_m[index], distances)
        mean_m = float(clearances_m.mean())
        return mean_m if np.isfinite(mean_m) else None

    def _narrowest_gap_m(self, outlines: Sequence[Outline], path: np.ndarray) -> Optional[float]:
        whole_cores, radii = cores_and_radii(outlines)
        cores, owners = shapely.get_parts(whole_cores, return_index=True)
        radii = radii[owners]
        line = shapely.LineString(path)
        shapely.prepare(line)
        for widest_m in _SEARCH_M:
            gap_sets = (
                _find_gaps(cores, radii, widest_m),
                _find_gaps(cores, radii, widest_m, self._walls),
            )
            lines, widths = (np.concatenate(arrays) for arrays in zip(*gap_sets))
            between_walls = self._wall_gaps[widest_m].widths_across(line)
            passed_widths = np.concatenate([widths[shapely.intersects(line, lines)], between_walls])
            if len(passed_widths):
                return float(passed_widths.min())
        return None


class _WallGaps:
    """The gaps of up to ``widest_m`` between walls. They are searched near each path, since a
    building has many more, and stored for the next paths."""

    def __init__(self, walls: shapely.STRtree, widest_m: float) -> None:
        self._walls, self._widest_m = walls, widest_m
        self._is_searched = np.zeros(len(walls.geometries), dtype=bool)
        self._stored: List[Tuple[shapely.STRtree, np.ndarray]] = []

    def widths_across(self, path: shapely.LineString) -> np.ndarray:
        """Return the widths (m) of the gaps that the path crosses."""
        # The walls of such a gap are not farther from the path than from each other.
        near_walls = self._walls.query(path, predicate="dwithin", distance=self._widest_m)
        self._search(np.sort(near_walls[~self._is_searched[near_walls]]))
        return np.concatenate(
            [np.empty(0)]
            + [widths[lines.query(path, predicate="intersects")] for lines, widths in self._stored]
        )

    def _search(self, new_walls: np.ndarray) -> None:
        """Store the gaps between ``new_walls`` and all walls."""
        if not len(new_walls):
            return
        walls = self._walls.geometries
        rows, second = self._walls.query(
            walls[new_walls], predicate="dwithin", distance=self._widest_m
        )
        first = new_walls[rows]
        is_new = np.zeros(len(walls), dtype=bool)
        is_new[new_walls] = True
        is_pair = np.where(is_new[second], first < second, ~self._is_searched[second])
        first, second = first[is_pair], second[is_pair]
        ends = walls[np.minimum(first, second)], walls[np.maximum(first, second)]
        widths = shapely.distance(*ends)
        is_gap = (widths > LEAST_GAP_M) & (widths <= self._widest_m)
        lines = shapely.shortest_line(*(end[is_gap] for end in ends))
        self._stored.append((shapely.STRtree(lines), widths[is_gap]))
        self._is_searched[new_walls] = True


def _find_gaps(
    cores: np.ndarray,
    radii: np.ndarray,
    widest_m: float,
    walls: Optional[shapely.STRtree] = None,
) -> Tuple[np.ndarray, np.ndarray]:
    """Find the gaps of up to ``widest_m`` between outlines (cores with ``radii``), or between
    outlines and ``walls``. Return the shortest line between the cores, and the width (m), of each
    gap."""
    neighbors = shapely.STRtree(cores) if walls is None else walls
    if not len(cores) or not len(neighbors.geometries):
        return np.empty(0, dtype=object), np.empty(0)
    left, right = neighbors.query(cores, predicate="dwithin", distance=widest_m + 2 * radii.max())
    if walls is None:
        is_first = left < right
        left, right = left[is_first], right[is_first]
    ends = cores[left], neighbors.geometries[right]
    widths = shapely.distance(*ends) - radii[left] - (radii[right] if walls is None else 0.0)
    is_gap = (widths > LEAST_GAP_M) & (widths <= widest_m)
    return shapely.shortest_line(*(end[is_gap] for end in ends)), widths[is_gap]


def _points_along(path: np.ndarray) -> np.ndarray:
    """Return points (n, 2) on a path, from end to end, in equal steps of at most ``STEP_M``."""
    steps = np.hypot(*np.diff(path, axis=0).T)
    traveled = np.concatenate([[0.0], np.cumsum(steps)])
    count = max(2, int(np.ceil(traveled[-1] / STEP_M)) + 1)
    distances_m = np.linspace(0.0, traveled[-1], count)
    return np.column_stack([np.interp(distances_m, traveled, path[:, axis]) for axis in (0, 1)])


def _tortuosity(path: np.ndarray) -> Optional[float]:
    chord_m = float(np.hypot(*(path[-1] - path[0])))
    return path_length_m(path) / chord_m if chord_m > 1e-9 else None


def _distances(points: np.ndarray, outlines: Sequence[Outline]) -> np.ndarray:
    """Return the distance (m) of each point (n, 2) to each of m outlines, shape (n, m).

    The points must be outside the cores of the outlines.
    """
    from gz_testauto.grid.line_of_sight import distances  # loads numba

    corners = [
        outline.corners if outline.corners is not None else _PLACEHOLDER for outline in outlines
    ]
    first = np.cumsum([0, *map(len, corners)])
    result = distances(points, np.concatenate(corners), first)
    for column, outline in enumerate(outlines):
        if outline.corners is None:
            result[:, column] = shapely.distance(outline.core, shapely.points(points))
    return result - np.array([outline.radius_m for outline in outlines])
