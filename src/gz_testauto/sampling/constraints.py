"""Check the constraints of an obstacle's position, and draw positions near other obstacles.

The constraints are the region, gaps, passages of doors, keep-outs, and the distances that an entry
requires to obstacles of other entries.
"""

import functools
import math
from collections import defaultdict
from typing import DefaultDict, Dict, Iterator, List, Optional, Set, Tuple, cast

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.sampling.draws import ObstacleSampler, Proposal
from gz_testauto.sampling.models import ObstacleKind
from gz_testauto.sampling.outline import Outline
from gz_testauto.sampling.regions import places_of
from gz_testauto.sampling.site import Site
from gz_testauto.spec.distributions import is_constant
from gz_testauto.spec.obstacles import WALLS, DistanceRange, ObstacleGroup, ObstacleSpec
from gz_testauto.spec.regions import union_of

# Smallest difference at which a comparison of distances is decided by circles alone.
TOLERANCE_M = 1e-5  # more than all rounding errors

FIXED = ("outside the region", "walls", "keep_out")  # depend only on pose and size


class Shape:
    """The properties of a proposed obstacle that are the same at each position."""

    def __init__(self, proposal: Proposal) -> None:
        model, size = proposal.slot.model, proposal.size
        self.proposal = proposal
        self.group = id(proposal.slot.group)
        self.outline = model.outline(size)
        self.passages = cast(ObstacleKind, proposal.slot.group).passages(size)
        self.outer_m, self.inner_m = model.outer_m(size), model.inner_m(size)
        self.is_centered_disc = self.outline.is_disc and self.outer_m == self.outline.radius_m
        self.is_fixed = _varies_only_in_size(proposal.slot.group)


class PositionedShape:
    """A shape at a position. Outline and passages are in meters, in the world frame."""

    # The outline is computed only if the circles inside and around the shape decide nothing.

    def __init__(self, shape: Shape, x_m: float, y_m: float) -> None:
        self.shape, self.x_m, self.y_m = shape, x_m, y_m

    @functools.cached_property
    def outline(self) -> Outline:
        return self.shape.outline.moved(self.x_m, self.y_m, self.shape.proposal.yaw_rad)

    @functools.cached_property
    def passages(self) -> Optional[BaseGeometry]:
        area = self.shape.passages
        if area is None:
            return None
        return area.moved(self.x_m, self.y_m, self.shape.proposal.yaw_rad).core

    def obstructs_passages_of(self, other_shape: "PositionedShape") -> bool:
        return other_shape.passages is not None and self.is_nearer(other_shape.passages, 0.0)

    def is_nearer(self, geometry: BaseGeometry, distance_m: float) -> bool:
        return _is_nearer(geometry, self.outline.core, self.outline.radius_m + distance_m)


class _Zone:
    """A keep-out: all points within ``radius_m`` of ``core``."""

    def __init__(self, core: BaseGeometry, radius_m: float) -> None:
        self._core, self._radius_m = core, radius_m
        self._bounds = core.bounds

    def overlaps(self, positioned: PositionedShape) -> bool:
        # The distance from the bounding box decides most cases.
        x_min, y_min, x_max, y_max = self._bounds
        distance_x = max(x_min - positioned.x_m, 0.0, positioned.x_m - x_max)
        distance_y = max(y_min - positioned.y_m, 0.0, positioned.y_m - y_max)
        reach_m = positioned.shape.outer_m + self._radius_m + TOLERANCE_M
        return math.hypot(distance_x, distance_y) <= reach_m and positioned.is_nearer(
            self._core, self._radius_m
        )


class Constraints:
    """The constraints of all obstacles. ``regions`` and ``near_walls`` contain the groups (by
    ``id``) whose positions must be compared with their region or the walls."""

    def __init__(self, spec: ObstacleSpec, site: Site, sampler: ObstacleSampler) -> None:
        self.gap_m = spec.min_gap_m
        self.wall_gap_m = spec.gap_to_walls_m
        self.walls = site.wall_union
        self.zones = [_Zone(*zone) for zone in site.keep_out(spec.keep_out)]
        self.has_passages = any(
            getattr(group, "door_clear_m", 0.0) > 0.0 for group in sampler.groups.values()
        )
        self.regions: Dict[int, BaseGeometry] = {}
        self.near_walls: Set[int] = set()
        for key, group in sampler.groups.items():
            has_max_distance = any(
                distance.max is not None for distance in group.distance_m.values()
            )
            regions = (
                (group.region or spec.region) if has_max_distance or group.x_m is not None else None
            )
            if regions:
                self.regions[key] = union_of(regions)
            near_m = sampler.reach_m[key] + self.wall_gap_m + TOLERANCE_M
            distance_m = shapely.distance(self.walls, places_of(spec, group))
            # The distance is NaN without possible positions.
            if not self.walls.is_empty and not distance_m > near_m:
                self.near_walls.add(key)
        self.cell_m = self.gap_m + 2 * max(sampler.reach_m.values(), default=0.0) + TOLERANCE_M


class PlacedShapes:
    # In a grid, whose cells are at least as wide as the distance at which two obstacles can violate
    # the gap, only neighboring cells are compared.

    def __init__(self, constraints: Constraints) -> None:
        self._constraints = constraints
        self._cells: DefaultDict[Tuple[int, int], List[PositionedShape]] = defaultdict(list)
        self.placed: List[PositionedShape] = []

    def add(self, positioned: PositionedShape) -> None:
        self._cells[self._grid_cell(positioned)].append(positioned)
        self.placed.append(positioned)

    def violated(self, positioned: PositionedShape) -> Optional[str]:
        """Return the name of a constraint that a shape at its position violates, or None."""
        constraints, group = self._constraints, positioned.shape.group
        region = constraints.regions.get(group)
        if region is not None and not shapely.intersects_xy(region, positioned.x_m, positioned.y_m):
            return "outside the region"
        if any(self._is_too_near(positioned, neighbor) for neighbor in self._neighbors(positioned)):
            return "other obstacles"
        if constraints.has_passages and self._violates_passages(positioned):
            return "doors"
        if group in constraints.near_walls and positioned.is_nearer(
            constraints.walls, constraints.wall_gap_m
        ):
            return "walls"
        if any(zone.overlaps(positioned) for zone in constraints.zones):
            return "keep_out"
        return None

    def _neighbors(self, positioned: PositionedShape) -> Iterator[PositionedShape]:
        column, row = self._grid_cell(positioned)
        for near_column in (column - 1, column, column + 1):
            for near_row in (row - 1, row, row + 1):
                yield from self._cells.get((near_column, near_row), ())

    def _is_too_near(self, positioned: PositionedShape, neighbor: PositionedShape) -> bool:
        # Circles inside and around the shapes decide most cases.
        shape, neighbor_shape, gap_m = positioned.shape, neighbor.shape, self._constraints.gap_m
        distance_m = math.sqrt(
            (neighbor.x_m - positioned.x_m) ** 2 + (neighbor.y_m - positioned.y_m) ** 2
        )
        if distance_m > gap_m + shape.outer_m + neighbor_shape.outer_m + TOLERANCE_M:
            return False
        # The circle inside a shape is unknown if the origin is outside the outline.
        has_discs = shape.inner_m > 0.0 and neighbor_shape.inner_m > 0.0
        if has_discs and distance_m < gap_m + shape.inner_m + neighbor_shape.inner_m - TOLERANCE_M:
            return True
        near_m = gap_m + shape.outline.radius_m + neighbor_shape.outline.radius_m
        if shape.is_centered_disc and neighbor_shape.is_centered_disc:
            return distance_m < near_m or distance_m == 0.0
        return _is_nearer(positioned.outline.core, neighbor.outline.core, near_m)

    def _violates_passages(self, positioned: PositionedShape) -> bool:
        area = positioned.passages
        if area is not None and shapely.intersects(area, self._constraints.walls):
            return True
        return any(
            positioned.obstructs_passages_of(placed_shape)
            or placed_shape.obstructs_passages_of(positioned)
            for placed_shape in self.placed
        )

    def _grid_cell(self, positioned: PositionedShape) -> Tuple[int, int]:
        side_m = self._constraints.cell_m
        return math.floor(positioned.x_m / side_m), math.floor(positioned.y_m / side_m)


class Relations:
    """The distances to obstacles and walls that the key ``distance_m`` requires of one obstacle."""

    def __init__(self, shape: Shape, placed_shapes: PlacedShapes, constraints: Constraints) -> None:
        self._shape = shape
        group = shape.proposal.slot.group
        self._requirements: List[Tuple[str, DistanceRange, List[Outline]]] = []
        self._edges: List[Tuple[BaseGeometry, DistanceRange]] = []
        for name, distance in group.distance_m.items():
            outlines = [
                placed_shape.outline
                for placed_shape in placed_shapes.placed
                if placed_shape.shape.proposal.slot.group.label == name
            ]
            if name == WALLS and not outlines and not constraints.walls.is_empty:
                outlines = [Outline(constraints.walls)]
            self._requirements.append((name, distance, outlines))
            if distance.max is not None and outlines and group.x_m is None:
                edges = shapely.union_all(
                    [shapely.boundary(outline.polygon) for outline in outlines]
                )
                self._edges.append((edges, distance))

    def draw(self, generator: np.random.Generator) -> Optional[Tuple[float, float]]:
        """Return a random position (m, world frame) near the obstacles of the first requirement
        with an upper limit, or None without an upper limit.

        The position can violate a requirement, so :meth:`violated` must check it.
        """
        # Few positions in a whole region would be near enough.
        if not self._edges:
            return None
        along, direction, depth = generator.random(3)
        edges, distance = self._edges[0]
        lengths = np.cumsum(shapely.length(shapely.get_parts(edges)))
        line_index = min(int(np.searchsorted(lengths, along * lengths[-1])), len(lengths) - 1)
        start_m = lengths[line_index - 1] if line_index else 0.0
        line = shapely.get_parts(edges)[line_index]
        point = shapely.line_interpolate_point(line, along * lengths[-1] - start_m)
        assert distance.max is not None
        nearest_m = distance.min + self._shape.inner_m
        away_m = nearest_m + depth * (distance.max + self._shape.outer_m - nearest_m)
        x = point.x + away_m * math.cos(2 * math.pi * direction)
        y = point.y + away_m * math.sin(2 * math.pi * direction)
        return round(x, 6), round(y, 6)

    def violated(self, positioned: PositionedShape) -> Optional[str]:
        """Return the name of a violated requirement, or None."""
        for name, distance, outlines in self._requirements:
            nearest_m = min(map(positioned.outline.distance_m, outlines), default=math.inf)
            is_too_far = distance.max is not None and nearest_m > distance.max
            if nearest_m < distance.min or is_too_far:
                return f"distance_m to {name}"
        return None


def _is_nearer(first: BaseGeometry, second: BaseGeometry, distance_m: float) -> bool:
    # Geometries that touch are too near even if the required distance is 0.
    geometry_distance_m = shapely.distance(first, second)
    return bool(geometry_distance_m < distance_m or geometry_distance_m == 0.0)


def _varies_only_in_size(group: ObstacleGroup) -> bool:
    """Return whether all obstacles of a group have the same position, but random sizes."""
    if group.x_m is None or group.y_m is None:
        return False
    sizes = [size for _, size in group.sizes if size is not None]
    return is_constant(group.x_m) and is_constant(group.y_m) and not all(map(is_constant, sizes))
