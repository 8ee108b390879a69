"""Whether a world can be driven, how far that is, and how hard.

Owns the figures that the manifest gives for each world. The way is the exact shortest one of
the robot's circle widened by the margin (:mod:`gz_testauto.grid.visibility`).
"""

from dataclasses import dataclass
from typing import Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.grid.search import path_length_m
from gz_testauto.grid.visibility import free_region, shortest_way_through, widen
from gz_testauto.sampling.outline import Outline, cores_and_radii
from gz_testauto.sampling.site import Site, check_base

GAP_HORIZON_M = 5.0
"""Two things farther apart than this have no gap between them, but open space."""

STEP_M = 0.2
"""Spacing of the points along a way at which clearance is taken."""


@dataclass(frozen=True)
class Difficulty:
    """Figures of one world.

    - ``density``: share of the ground on which obstacles can lie that they cover. That ground
      is the same for all worlds of one specification: the places of their centres, widened by as
      far as the largest of them reaches (:meth:`~.draws.Roster.ground`), without what stands in
      the base world.
    - ``mean_clearance_m``: distance from the robot's centre to the nearest obstacle or wall that
      obstructs it, averaged along the shortest way.
    - ``narrowest_gap_m``: the smallest distance between two things that the shortest way
      passes between; None when it passes between none (``GAP_HORIZON_M``).
    """

    density: float
    mean_clearance_m: Optional[float]
    narrowest_gap_m: Optional[float]


class DifficultyEvaluator:
    """Evaluates worlds of one site. ``margin_m`` widens the robot's circle; ``ground`` is where
    obstacles can lie, in the world frame (m).

    Raises ``PlacementError`` when the base world alone cannot be driven.
    """

    def __init__(self, site: Site, margin_m: float, ground: BaseGeometry) -> None:
        self._site = site
        self._free_area_m2 = float(shapely.difference(ground, site.wall_union).area)
        self._margin_m = margin_m
        self._blocked: Optional[BaseGeometry] = None
        if site.drive is not None:
            self._blocked = check_base(site, margin_m)
            self._tree = shapely.STRtree(list(site.obstructing))
        walls = np.array(site.obstructing, dtype=object)
        self._wall_gaps = _gaps(walls, np.zeros(len(walls)), len(walls))

    def shortest_way(self, outlines: Sequence[Outline]) -> Optional[np.ndarray]:
        """Corners of the shortest way among the obstacles, of which ``outlines`` are what obstructs
        the robot, shape (n, 2), or None."""
        drive = self._site.drive
        assert drive is not None and self._blocked is not None
        cores, radii = cores_and_radii(tuple(outlines))
        widened = widen(cores, radii + drive.radius_m + self._margin_m)
        blocked = shapely.union_all([*widened, self._blocked])
        points = (drive.start, *drive.goals)
        free = free_region(self._site.area(list(widened)), blocked, *points)
        return None if free is None else shortest_way_through(free, *points)

    def difficulty(
        self, outlines: Sequence[Outline], covered_m2: float, way: Optional[np.ndarray]
    ) -> Difficulty:
        """The figures, ``outlines`` being what obstructs the robot and ``covered_m2`` what all
        obstacles cover; those of the way are None when there is none."""
        density = covered_m2 / self._free_area_m2 if covered_m2 else 0.0
        if way is None:
            return Difficulty(density, None, None)
        cores, radii = cores_and_radii(tuple(outlines))
        return Difficulty(
            density, self._mean_clearance(cores, radii, way), self._narrowest(cores, radii, way)
        )

    def _mean_clearance(
        self, cores: np.ndarray, radii: np.ndarray, way: np.ndarray
    ) -> Optional[float]:
        points = _along(way)
        nearest = np.full(len(points), np.inf)
        if len(cores):
            nearest = (_distances(points, cores) - radii).min(axis=1)
        if self._site.obstructing:
            handles = shapely.points(points)
            (index, _), distances = self._tree.query_nearest(
                handles, return_distance=True, all_matches=False
            )
            nearest[index] = np.minimum(nearest[index], distances)
        mean = float(nearest.mean())
        return mean if np.isfinite(mean) else None

    def _narrowest(self, cores: np.ndarray, radii: np.ndarray, way: np.ndarray) -> Optional[float]:
        walls = np.array(self._site.obstructing, dtype=object)
        things = np.concatenate([cores, walls])
        all_radii = np.concatenate([radii, np.zeros(len(walls))])
        lines, widths = _gaps(things, all_radii, len(cores))
        lines = np.concatenate([lines, self._wall_gaps[0]])
        widths = np.concatenate([widths, self._wall_gaps[1]])
        drawn = shapely.LineString(way)
        shapely.prepare(drawn)
        passed = widths[shapely.intersects(drawn, lines)]
        return float(passed.min()) if len(passed) else None


def length_m(way: Optional[np.ndarray]) -> Optional[float]:
    """The length of a way in metres; None for none."""
    return None if way is None else path_length_m(way)


def _gaps(things: np.ndarray, radii: np.ndarray, first: int) -> Tuple[np.ndarray, np.ndarray]:
    """Shortest lines between things that are near but apart, and the free width along them.

    Of each pair, one at least is among the ``first`` things.
    """
    empty = (np.empty(0, dtype=object), np.empty(0))
    if len(things) < 2 or not first:
        return empty
    left, right = shapely.STRtree(things).query(
        things[:first], predicate="dwithin", distance=GAP_HORIZON_M + 2 * radii.max()
    )
    once = (left < right) | (right >= first)
    left, right = left[once & (left != right)], right[once & (left != right)]
    widths = shapely.distance(things[left], things[right]) - radii[left] - radii[right]
    apart = (widths > 1e-6) & (widths <= GAP_HORIZON_M)
    left, right, widths = left[apart], right[apart], widths[apart]
    if not len(left):
        return empty
    return shapely.shortest_line(things[left], things[right]), widths


def _along(way: np.ndarray) -> np.ndarray:
    """Points evenly spaced along a polyline by ``STEP_M`` or a little less, ends included."""
    steps = np.hypot(*np.diff(way, axis=0).T)
    travelled = np.concatenate([[0.0], np.cumsum(steps)])
    count = max(2, int(np.ceil(travelled[-1] / STEP_M)) + 1)
    at = np.linspace(0.0, travelled[-1], count)
    return np.column_stack([np.interp(at, travelled, way[:, axis]) for axis in (0, 1)])


def _distances(points: np.ndarray, cores: np.ndarray) -> np.ndarray:
    """Metres from points (n, 2), outside of all cores, to each of the cores: (n, m).

    Written out in numpy: one call of shapely's per pair costs ten times as much.
    """
    result = np.empty((len(points), len(cores)))
    for column, core in enumerate(cores):
        if core.geom_type != "Point" and (core.geom_type != "Polygon" or core.interiors):
            result[:, column] = shapely.distance(core, shapely.points(points))
            continue
        corners = shapely.get_coordinates(core)
        tails = corners[:-1] if len(corners) > 1 else corners
        edges = (corners[1:] if len(corners) > 1 else corners) - tails
        offset = points[:, None, :] - tails[None, :, :]
        squares = np.maximum((edges**2).sum(axis=1), 1e-300)
        share = np.clip((offset * edges).sum(axis=2) / squares, 0.0, 1.0)
        away = offset - share[:, :, None] * edges
        result[:, column] = np.sqrt((away**2).sum(axis=2).min(axis=1))
    return result
