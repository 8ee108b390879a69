"""Regions of the centers of obstacles in one base world, and uniform points of a region.

The map from the unit square onto a region (Rosenblatt 1952, "Remarks on a multivariate
transformation") preserves ratios of areas, so that stratified numbers result in stratified points.
The first number selects x by the area to its left, and the second number selects the position on
the vertical line through x.
"""

import bisect
import math
from typing import List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import PlacementError
from gz_testauto.sampling.site import Point, Site
from gz_testauto.spec.obstacles import AnyObstacles, CountDensity, ObstacleSpec
from gz_testauto.spec.regions import CIRCLE_SEGMENTS, PathRegion, Region, union_of


def spec_for_site(spec: ObstacleSpec, site: Site) -> ObstacleSpec:
    """Return a specification with polygons in place of bands along the shortest path, and numbers
    of obstacles in place of densities. Raises ``PlacementError`` for a band without a mission or
    path, for a region without free area, and for too many obstacles."""
    has_path_region = [_has_path_region(spec, group) for group in spec.obstacles]
    if any(has_path_region):
        spec = with_bands(spec, _path_without_obstacles(spec, site))
    groups = list(spec.obstacles)
    for index, group in enumerate(groups):
        if has_path_region[index] or isinstance(group.count, CountDensity):
            area_m2 = _placeable_area_m2(spec, group, site)
            if not area_m2 > 0:
                raise PlacementError(
                    f"obstacles[{index}]: the region has no area outside of walls and keep_out; "
                    "enlarge the region (width_m of along_path), or shrink keep_out"
                )
            if isinstance(group.count, CountDensity):
                count = group.count.in_area(area_m2)
                groups[index] = group.model_copy(update={"count": count})
    if groups == spec.obstacles:
        return spec
    spec = spec.model_copy(update={"obstacles": groups})
    try:
        spec.require_placeable_count()
    except ValueError as error:
        raise PlacementError(f"{error}: lower per_100_m2, or set its max") from error
    return spec


def with_bands(spec: ObstacleSpec, path: Sequence[Point]) -> ObstacleSpec:
    """Return a specification with polygons in place of bands along ``path`` (m, world frame)."""

    segments = [shapely.LineString(ends) for ends in zip(path, path[1:])]

    def replace_bands(
        regions: Optional[Sequence[Union[Region, PathRegion]]],
    ) -> Optional[List[Region]]:
        if regions is None:
            return None
        polygons: List[Region] = []
        for region in regions:
            if isinstance(region, Region):
                polygons.append(region)
                continue
            # One polygon per segment: a band can have holes, but a region cannot.
            radius_m = region.along_path.width_m / 2
            for area in shapely.buffer(segments, radius_m, quad_segs=CIRCLE_SEGMENTS):
                corners = shapely.get_coordinates(area)[:-1].tolist()
                polygons.append(Region.model_construct(polygon=corners))
        return polygons

    groups = [
        group.model_copy(update={"region": replace_bands(group.region)}) for group in spec.obstacles
    ]
    return spec.model_copy(update={"region": replace_bands(spec.region), "obstacles": groups})


def _has_path_region(spec: ObstacleSpec, group: AnyObstacles) -> bool:
    regions = group.region or spec.region or []
    return any(isinstance(region, PathRegion) for region in regions)


def _path_without_obstacles(spec: ObstacleSpec, site: Site) -> List[Point]:
    if site.mission is None:
        raise PlacementError(
            "region.along_path needs a mission; set 'mission' with start, goal, and robot or "
            "footprint_m"
        )
    margin_m = spec.solvable.margin_m if spec.solvable else 0.0
    path = site.shortest_path(site.base_area(margin_m), bounds=site.path_bounds(margin_m))
    assert path is not None, "checked by check_base"
    return [(x, y) for x, y in path.tolist()]


def _placeable_area_m2(spec: ObstacleSpec, group: AnyObstacles, site: Site) -> float:
    zones = [
        shapely.buffer(core, radius_m, quad_segs=CIRCLE_SEGMENTS)
        for core, radius_m in site.keep_out(spec.keep_out)
    ]
    return site.free_area_m2(shapely.difference(places_of(spec, group), shapely.union_all(zones)))


def places_of(
    spec: ObstacleSpec,
    group: AnyObstacles,
) -> BaseGeometry:
    """Return the region (m, world frame) of the centers of a group's obstacles: the region of the
    group or of the specification, the rectangle of all values of ``x_m`` and ``y_m``, or their
    intersection. A fixed position is a region without area."""
    regions = group.region or spec.region
    if group.x_m is None or group.y_m is None:
        return union_of(regions or [])
    (x_min, x_max), (y_min, y_max) = group.x_m.support, group.y_m.support
    rectangle = shapely.MultiPoint([(x_min, y_min), (x_max, y_max)]).envelope
    return rectangle if not regions else shapely.intersection(rectangle, union_of(regions))


class _Edge(NamedTuple):
    tail_x: float
    tail_y: float
    head_x: float
    head_y: float


class RegionSampler:
    """A map from the unit square onto ``region``, which consists of polygons in meters. Raises
    ``ValueError`` for a region without area."""

    def __init__(self, region: BaseGeometry) -> None:
        self._box = region.bounds if _is_upright_rectangle(region) else None
        self._abscissae = np.unique(shapely.get_coordinates(region)[:, 0]).tolist()
        self._crossing = _edges_by_slab(region, self._abscissae)
        left, right = np.array(self._abscissae[:-1]), np.array(self._abscissae[1:])
        widths = right - left
        # Between neighboring x coordinates of corners, all vertical lines intersect the same edges,
        # and their length inside the region changes linearly: two inner chords fix the line.
        at_third = self._chord_lengths(left + widths / 3)
        at_two_thirds = self._chord_lengths(left + 2 * widths / 3)
        first = np.maximum(2 * at_third - at_two_thirds, 0.0)
        last = np.maximum(2 * at_two_thirds - at_third, 0.0)
        self._slabs = list(zip(left.tolist(), widths.tolist(), first.tolist(), last.tolist()))
        self._area = np.concatenate([[0.0], np.cumsum(widths * (first + last) / 2)]).tolist()
        if not self._area[-1] > 0:
            raise ValueError("the region has no area")

    @property
    def area_m2(self) -> float:
        return float(self._area[-1])

    def point(self, first: float, second: float) -> Tuple[float, float]:
        """Return the point x, y (m) of the region for two numbers in [0, 1)."""
        if self._box is not None:
            x_min, y_min, x_max, y_max = self._box
            return x_min + first * (x_max - x_min), y_min + second * (y_max - y_min)
        target = float(first) * self._area[-1]
        slab = min(bisect.bisect_right(self._area, target) - 1, len(self._slabs) - 1)
        left, width, chord, last_chord = self._slabs[slab]
        share = _solve_share(target - self._area[slab], chord, last_chord, width)
        x = left + min(share, 1.0) * width
        spans = self._spans(x)
        if not spans:  # exactly at a corner, where the line has no length
            x = left + min(max(share, 1e-6), 1 - 1e-6) * width
            spans = self._spans(x)
        height = second * sum(high - low for low, high in spans)
        for low, high in spans:
            if height <= high - low:
                return x, low + height
            height -= high - low
        return x, spans[-1][1]

    def _chord_lengths(self, xs: np.ndarray) -> np.ndarray:
        return np.array([sum(high - low for low, high in self._spans(x)) for x in xs.tolist()])

    def _spans(self, x: float) -> List[Tuple[float, float]]:
        """Return the lowest and highest y of each segment of the vertical line at ``x`` that is
        inside the region."""
        slab = bisect.bisect_right(self._abscissae, x) - 1
        if not 0 <= slab < len(self._crossing):
            return []
        heights = sorted(
            tail_y + (x - tail_x) / (head_x - tail_x) * (head_y - tail_y)
            for tail_x, tail_y, head_x, head_y in self._crossing[slab]
        )
        return [pair for pair in zip(heights[::2], heights[1::2]) if pair[1] > pair[0]]


def _edges_by_slab(region: BaseGeometry, abscissae: List[float]) -> List[List[_Edge]]:
    """Return, for each interval between two neighboring ``abscissae`` (the x coordinates of all
    corners, sorted), the edges of the region that extend over it."""
    rings = shapely.get_rings(shapely.get_parts(region))
    outlines = [shapely.get_coordinates(ring).tolist() for ring in rings]
    edges = [
        _Edge(*tail, *head) for corners in outlines for tail, head in zip(corners, corners[1:])
    ]
    if not edges:
        raise ValueError("the region has no area")
    slabs: List[List[_Edge]] = [[] for _ in abscissae[1:]]
    for edge in edges:
        ends = sorted((edge.tail_x, edge.head_x))
        for slab in range(*(bisect.bisect_left(abscissae, end) for end in ends)):
            slabs[slab].append(edge)
    return slabs


def _is_upright_rectangle(region: BaseGeometry) -> bool:
    return bool(region.area > 0 and region.equals(region.envelope))


def _solve_share(area: float, first: float, second: float, width: float) -> float:
    """Return the share of ``width``, from the left side of a trapezium, that has the area ``area``.

    The trapezium has vertical sides of the lengths ``first`` (left) and ``second``.
    """
    slope = second - first
    if abs(slope) < 1e-12 * max(first, second):
        return area / (width * first)
    # The area up to the share s is width · (first · s + slope · s² / 2).
    root = math.sqrt(max(first * first + 2 * slope * area / width, 0.0))
    return (root - first) / slope
