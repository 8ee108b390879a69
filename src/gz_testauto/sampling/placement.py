"""Place obstacles with gaps between each other and to walls, outside of keep-outs.

Implements random sequential placement: obstacles are placed one after the other. Each obstacle is
placed at its proposed position if this is free, and otherwise at a position that is drawn
independently. If no free position is found for an obstacle, the whole set is placed again. After a
limited number of tries, an error reports for how many obstacles a position was found.
:mod:`~.draws` defines the random numbers.
"""

import functools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Counter as CounterType
from typing import DefaultDict, Dict, Iterator, List, Optional, Sequence, Set, Tuple, cast

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import PlacementError
from gz_testauto.base.pose import Pose
from gz_testauto.grid.search import path_length_m
from gz_testauto.sampling.difficulty import Difficulty, DifficultyEvaluator
from gz_testauto.sampling.draws import ObstacleSampler, Proposal
from gz_testauto.sampling.models import ObstacleKind, ObstacleModel, Size
from gz_testauto.sampling.outline import Outline
from gz_testauto.sampling.regions import places_of
from gz_testauto.sampling.site import Site
from gz_testauto.sdf.floor import Heights
from gz_testauto.spec.distributions import Distribution
from gz_testauto.spec.obstacles import WALLS, DistanceRange, ObstacleGroup, ObstacleSpec
from gz_testauto.spec.regions import union_of

TRIES_PER_OBSTACLE = 100
"""Number of positions that are tried for one obstacle before the whole obstacle set is placed
again."""

MAX_DRAWS = 200
"""Number of obstacle sets that are drawn before an error reports that none of them is solvable."""

TOLERANCE_M = 1e-5
"""Smallest difference (m) at which a comparison of distances is decided by circles alone. It
exceeds all rounding errors."""


@dataclass(frozen=True)
class Obstacle:
    """An obstacle that was placed in a world.

    ``type`` is the type of the obstacle kind. ``size`` is in the order of the kind's
    ``size_names``. ``pose`` is the pose of the model frame in the world frame.
    """

    name: str
    type: str
    pose: Pose
    size: Size
    mass_kg: float
    static: bool
    outline: Outline = field(repr=False, compare=False)
    model: ObstacleModel = field(repr=False, compare=False)

    @property
    def footprint(self) -> BaseGeometry:
        """Return the outline of the obstacle on the ground (m, world frame)."""
        return self.outline.polygon

    def obstructing(self, heights: Heights) -> Outline:
        """Return the outline (m, world frame) of the part of the obstacle at these heights. The
        core of the outline is empty if there is no such part."""
        ground_m = self.pose.position[2] - self.model.height_of_frame_m(self.size)
        part = self.model.cut(self.size, heights.above(ground_m))
        return self.outline if part is None else part.moved(*self.pose.planar)

    def sdf(self) -> str:
        """Return the obstacle at its pose as the text of a complete SDF document."""
        return self.model.sdf_file(self.name, self.pose, self.size, self.mass_kg, self.static)

    def element_text(self) -> str:
        """Return the obstacle at its pose as the text of a ``<model>`` or ``<include>`` element."""
        return self.model.sdf(self.name, self.pose, self.size, self.mass_kg, self.static)


@dataclass(frozen=True)
class ObstacleSet:
    """The obstacles of one world, with the shortest path and the difficulty of the mission.

    ``shortest_path_m`` and ``difficulty`` are None if no mission is specified.
    """

    obstacles: Tuple[Obstacle, ...]
    shortest_path_m: Optional[float] = None
    difficulty: Optional[Difficulty] = None
    redrawn: int = 0
    """Number of obstacle sets that were discarded before this one because no path existed, or an
    obstacle did not fit at its constant position."""


class Placer:
    """A generator of obstacle sets for one specification and one site.

    Raises ``PlacementError`` if the specification cannot be fulfilled in the base world even
    without obstacles.
    """

    def __init__(
        self, spec: ObstacleSpec, site: Site, sampler: Optional[ObstacleSampler] = None
    ) -> None:
        self.spec = spec
        self.site = site
        self.sampler = sampler or ObstacleSampler.of_spec(spec)
        self._constraints = _Constraints(spec, site, self.sampler)
        margin = spec.solvable.margin_m if spec.solvable else 0.0
        self._ground_m2 = math.nan
        if spec.coverage is not None:
            self._ground_m2 = site.free_area_m2(self.sampler.ground())
        self._evaluator: Optional[DifficultyEvaluator] = None
        if spec.solvable is not None or site.mission is not None:
            self._evaluator = DifficultyEvaluator(site, margin, self.sampler.ground())

    def place(
        self, generator: np.random.Generator, first: Optional[np.ndarray] = None
    ) -> ObstacleSet:
        """Draw an obstacle set and place it.

        ``first`` contains the random numbers for the first proposals, shape
        (``sampler.dimensions``,). By default, they are drawn from ``generator``. Raises
        ``PlacementError`` if the obstacles do not fit, or if a path is required and no drawn set
        has one.
        """
        unplaceable: Optional[_UnplaceableError] = None
        for draw in range(MAX_DRAWS):
            numbers = generator.random(self.sampler.dimensions) if first is None else first
            first = None
            try:
                obstacles = self._attempt(self.sampler.propose(numbers, self._ground_m2), generator)
            except _UnplaceableError as error:
                unplaceable = error
                continue
            found = self._evaluated(obstacles, draw)
            if found is not None:
                return found
        if unplaceable is not None:
            raise PlacementError(str(unplaceable))
        raise PlacementError(self._unsolvable())

    def place_given(self, proposals: Sequence[Proposal]) -> ObstacleSet:
        """Return the obstacles with exactly the given values, for searches and stored obstacles.

        Raises ``PlacementError`` with the name of the obstacle and the violated constraint, or if a
        path is required and does not exist.
        """
        others = _PlacedShapes(self._constraints)
        for proposal in proposals:
            shape = _Shape(proposal)
            positioned = _PositionedShape(shape, proposal.x_m, proposal.y_m)
            center, slot = shapely.Point(proposal.x_m, proposal.y_m), proposal.slot
            violated: Optional[str] = "outside the region"
            places = places_of(self.spec, slot.group)
            if slot.group.x_m is not None or places.distance(center) < TOLERANCE_M:  # rounded
                relations = _Relations(shape, others, self._constraints)
                violated = others.violated(positioned) or relations.violated(positioned)
            if violated is not None:
                raise PlacementError(
                    f"obstacle {slot.name!r} at ({proposal.x_m:g}, {proposal.y_m:g}) violates a "
                    f"constraint of the obstacle specification: {violated}; move it"
                )
            others.add(positioned)
        found = self._evaluated(tuple(map(_obstacle, others.placed)), 0)
        if found is None:
            raise PlacementError("the given obstacles leave no path from start to goal; move one")
        return found

    def _evaluated(self, obstacles: Tuple[Obstacle, ...], draw: int) -> Optional[ObstacleSet]:
        """Return the obstacle set, or None if a path is required and does not exist."""
        if self._evaluator is None:
            return ObstacleSet(obstacles)
        assert self.site.mission is not None, "the evaluator needs it"
        cut = [obstacle.obstructing(self.site.mission.heights) for obstacle in obstacles]
        obstructing = [outline for outline in cut if not outline.core.is_empty]
        path = self._evaluator.shortest_path(obstructing)
        if path is None and self.spec.solvable is not None:
            return None
        covered_m2 = sum(obstacle.outline.area_m2 for obstacle in obstacles)
        difficulty = self._evaluator.difficulty(obstructing, covered_m2, path)
        length_m = None if path is None else path_length_m(path)
        return ObstacleSet(obstacles, length_m, difficulty, draw)

    def _attempt(
        self, proposals: Sequence[Proposal], generator: np.random.Generator
    ) -> Tuple[Obstacle, ...]:
        """Place one obstacle set. Sizes and headings are kept, and positions can change."""
        violations: CounterType[str] = Counter()
        most, tries, is_first = 0, 0, True
        shapes = [_Shape(proposal) for proposal in proposals]
        while True:
            others = _PlacedShapes(self._constraints)
            for shape in shapes:
                relations = _Relations(shape, others, self._constraints)
                slot, position = shape.proposal.slot, (shape.proposal.x_m, shape.proposal.y_m)
                for attempt in range(TRIES_PER_OBSTACLE):
                    if tries == self.spec.max_tries:
                        most = max(most, len(others.placed))
                        raise PlacementError(self._no_space(most, proposals, violations))
                    tries += 1
                    if attempt or not is_first:
                        position = relations.draw(generator) or self.sampler.position(
                            slot, *generator.random(2)
                        )
                    positioned = _PositionedShape(shape, *position)
                    violated = others.violated(positioned) or relations.violated(positioned)
                    if violated is None:
                        others.add(positioned)
                        break
                    violations[violated] += 1
                    if shape.is_fixed and violated in _FIXED:
                        raise _UnplaceableError(shape.proposal.slot.name, violated)
                else:
                    break
            else:
                return tuple(map(_obstacle, others.placed))
            most, is_first = max(most, len(others.placed)), False

    def _no_space(
        self, most: int, proposals: Sequence[Proposal], violations: CounterType[str]
    ) -> str:
        spec = self.spec
        covered = sum(p.slot.model.outline(p.size).area_m2 for p in proposals)
        area = self.sampler.area_m2()
        region = f"{area:.1f} m² of region, " if area else ""
        total = max(1, sum(violations.values()))
        why = ", ".join(f"{name} {100 * n // total} %" for name, n in violations.most_common())
        return (
            f"found room for {most} of {len(proposals)} obstacles after {spec.max_tries} tries "
            f"({region}{covered:.1f} m² of obstacles, min_gap_m {spec.min_gap_m:g}; "
            f"rejected: {why}): (1) enlarge the region, (2) lower count or the sizes, "
            f"(3) lower min_gap_m or wall_gap_m, (4) shrink keep_out, (5) raise max_tries"
            + (", (6) widen distance_m" if any(p.slot.group.distance_m for p in proposals) else "")
        )

    def _unsolvable(self) -> str:
        mission = self.site.mission
        assert mission is not None and self.spec.solvable is not None
        width = 2 * (mission.radius_m + self.spec.solvable.margin_m)
        return (
            f"in {MAX_DRAWS} sets of obstacles, no path {width:.2f} m wide "
            f"was found from start {mission.start} to goal {mission.goal}: (1) lower count or the "
            "sizes, (2) raise min_gap_m, (3) keep_out start and goal, (4) lower solvable.margin_m"
        )


_FIXED = ("outside the region", "walls", "keep_out")
"""Constraints that depend only on the pose and the size of an obstacle."""


class _UnplaceableError(Exception):
    """An obstacle with a constant position violates a constraint in its drawn size, so that another
    obstacle set must be drawn."""

    def __init__(self, name: str, violated: str) -> None:
        super().__init__(
            f"in {MAX_DRAWS} sets of obstacles, {name!r} violates the constraint {violated!r} at "
            f"its constant x_m and y_m: (1) change x_m and y_m, (2) lower its sizes, (3) shrink "
            "keep_out, (4) lower wall_gap_m or min_gap_m"
        )


def _has_fixed_position(group: ObstacleGroup) -> bool:
    """Return whether the position of an obstacle is constant and a size is random, so that the
    obstacle can fit in another obstacle set."""
    if group.x_m is None or group.y_m is None:
        return False
    sizes = [size for _, size in group.sizes if size is not None]
    return _is_constant(group.x_m) and _is_constant(group.y_m) and not all(map(_is_constant, sizes))


def _is_constant(distribution: Distribution) -> bool:
    low, high = distribution.support
    return bool(low == high)


class _Shape:
    """The properties of a proposed obstacle that do not depend on its position."""

    def __init__(self, proposal: Proposal) -> None:
        model, size = proposal.slot.model, proposal.size
        self.proposal = proposal
        self.group = id(proposal.slot.group)
        self.outline = model.outline(size)
        self.passages = cast(ObstacleKind, proposal.slot.group).passages(size)
        self.outer_m, self.inner_m = model.outer_m(size), model.inner_m(size)
        self.is_centered_disc = self.outline.is_disc and self.outer_m == self.outline.radius_m
        self.is_fixed = _has_fixed_position(proposal.slot.group)


class _PositionedShape:
    """A shape at a position. Its outline is computed only if the circles inside and around the
    shape do not decide a comparison."""

    def __init__(self, shape: _Shape, x_m: float, y_m: float) -> None:
        self.shape, self.x_m, self.y_m = shape, x_m, y_m

    @functools.cached_property
    def outline(self) -> Outline:
        return self.shape.outline.moved(self.x_m, self.y_m, self.shape.proposal.yaw_rad)

    @functools.cached_property
    def passages(self) -> Optional[BaseGeometry]:
        """The area that no other obstacle may overlap, or None."""
        area = self.shape.passages
        if area is None:
            return None
        return area.moved(self.x_m, self.y_m, self.shape.proposal.yaw_rad).core

    def obstructs(self, other: "_PositionedShape") -> bool:
        """Return whether this shape overlaps the passages of another one."""
        return other.passages is not None and self.is_nearer(other.passages, 0.0)

    def is_nearer(self, geometry: BaseGeometry, distance_m: float) -> bool:
        return _is_nearer(geometry, self.outline.core, self.outline.radius_m + distance_m)


class _Zone:
    """A keep-out that consists of all points within ``radius_m`` of ``core``."""

    def __init__(self, core: BaseGeometry, radius_m: float) -> None:
        self._core, self._radius_m = core, radius_m
        self._bounds = core.bounds

    def overlaps(self, positioned: _PositionedShape) -> bool:
        x_min, y_min, x_max, y_max = self._bounds
        away_x = max(x_min - positioned.x_m, 0.0, positioned.x_m - x_max)
        away_y = max(y_min - positioned.y_m, 0.0, positioned.y_m - y_max)
        reach_m = positioned.shape.outer_m + self._radius_m + TOLERANCE_M
        return math.hypot(away_x, away_y) <= reach_m and positioned.is_nearer(
            self._core, self._radius_m
        )


class _Constraints:
    """The constraints that do not depend on other obstacles. They are prepared once for all
    worlds."""

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
            near = any(distance.max is not None for distance in group.distance_m.values())
            regions = (group.region or spec.region) if near or group.x_m is not None else None
            if regions:
                self.regions[key] = union_of(regions)
            near_m = sampler.reach_m[key] + self.wall_gap_m + TOLERANCE_M
            away_m = shapely.distance(self.walls, places_of(spec, group))
            if not self.walls.is_empty and not away_m > near_m:  # NaN without possible positions
                self.near_walls.add(key)
        self.cell_m = self.gap_m + 2 * max(sampler.reach_m.values(), default=0.0) + TOLERANCE_M


class _PlacedShapes:
    """The obstacles that have already been placed, stored in a grid of square cells. The side of a
    cell is at least the distance at which two obstacles can violate the gap."""

    def __init__(self, constraints: _Constraints) -> None:
        self._constraints = constraints
        self._cells: DefaultDict[Tuple[int, int], List[_PositionedShape]] = defaultdict(list)
        self.placed: List[_PositionedShape] = []

    def add(self, positioned: _PositionedShape) -> None:
        self._cells[self._cell(positioned)].append(positioned)
        self.placed.append(positioned)

    def violated(self, positioned: _PositionedShape) -> Optional[str]:
        """Return the name of a constraint that the shape violates, or None if it violates none."""
        constraints, group = self._constraints, positioned.shape.group
        region = constraints.regions.get(group)
        if region is not None and not shapely.intersects_xy(region, positioned.x_m, positioned.y_m):
            return "outside the region"
        if any(self._is_too_near(positioned, other) for other in self._neighbors(positioned)):
            return "other obstacles"
        if constraints.has_passages and self._is_at_door(positioned):
            return "doors"
        if group in constraints.near_walls and positioned.is_nearer(
            constraints.walls, constraints.wall_gap_m
        ):
            return "walls"
        if any(zone.overlaps(positioned) for zone in constraints.zones):
            return "keep_out"
        return None

    def _neighbors(self, positioned: _PositionedShape) -> Iterator[_PositionedShape]:
        column, row = self._cell(positioned)
        for near_column in (column - 1, column, column + 1):
            for near_row in (row - 1, row, row + 1):
                yield from self._cells.get((near_column, near_row), ())

    def _is_too_near(self, positioned: _PositionedShape, other: _PositionedShape) -> bool:
        """Return whether the distance between two shapes is smaller than the gap. Circles inside
        and around the shapes decide most cases."""
        one, two, gap_m = positioned.shape, other.shape, self._constraints.gap_m
        away_m = math.sqrt((other.x_m - positioned.x_m) ** 2 + (other.y_m - positioned.y_m) ** 2)
        if away_m > gap_m + one.outer_m + two.outer_m + TOLERANCE_M:
            return False
        has_discs = one.inner_m > 0.0 and two.inner_m > 0.0  # not if the origin is outside
        if has_discs and away_m < gap_m + one.inner_m + two.inner_m - TOLERANCE_M:
            return True
        near_m = gap_m + one.outline.radius_m + two.outline.radius_m
        if one.is_centered_disc and two.is_centered_disc:
            return away_m < near_m or away_m == 0.0
        return _is_nearer(positioned.outline.core, other.outline.core, near_m)

    def _is_at_door(self, positioned: _PositionedShape) -> bool:
        """Return whether the shape is in the passage of another one, or something is in its
        passages: another obstacle or a wall of the base world."""
        area = positioned.passages
        if area is not None and shapely.intersects(area, self._constraints.walls):
            return True
        return any(
            positioned.obstructs(other) or other.obstructs(positioned) for other in self.placed
        )

    def _cell(self, positioned: _PositionedShape) -> Tuple[int, int]:
        side_m = self._constraints.cell_m
        return math.floor(positioned.x_m / side_m), math.floor(positioned.y_m / side_m)


class _Relations:
    """The distances that the group of a shape requires to the obstacles that are already placed and
    to the walls (``distance_m``).

    If a distance has an upper limit, positions are drawn near the outlines of these obstacles,
    since few positions in a whole region would be near enough.
    """

    def __init__(self, shape: _Shape, others: "_PlacedShapes", constraints: _Constraints) -> None:
        self._shape = shape
        group = shape.proposal.slot.group
        self._wanted: List[Tuple[str, DistanceRange, List[Outline]]] = []
        self._edges: List[Tuple[BaseGeometry, DistanceRange]] = []
        for name, distance in group.distance_m.items():
            found = [
                placed.outline
                for placed in others.placed
                if placed.shape.proposal.slot.group.label == name
            ]
            if name == WALLS and not found and not constraints.walls.is_empty:
                found = [Outline(constraints.walls)]
            self._wanted.append((name, distance, found))
            if distance.max is not None and found and group.x_m is None:
                edges = shapely.union_all([shapely.boundary(one.polygon) for one in found])
                self._edges.append((edges, distance))

    def draw(self, generator: np.random.Generator) -> Optional[Tuple[float, float]]:
        """Return a random position near the outlines with an upper limit of the distance, or None
        if there are none."""
        if not self._edges:
            return None
        along, direction, far = generator.random(3)
        edges, distance = self._edges[0]
        lengths = np.cumsum(shapely.length(shapely.get_parts(edges)))
        part = min(int(np.searchsorted(lengths, along * lengths[-1])), len(lengths) - 1)
        start = lengths[part - 1] if part else 0.0
        line = shapely.get_parts(edges)[part]
        point = shapely.line_interpolate_point(line, along * lengths[-1] - start)
        assert distance.max is not None
        nearest_m = distance.min + self._shape.inner_m
        away_m = nearest_m + far * (distance.max + self._shape.outer_m - nearest_m)
        x = point.x + away_m * math.cos(2 * math.pi * direction)
        y = point.y + away_m * math.sin(2 * math.pi * direction)
        return round(x, 6), round(y, 6)

    def violated(self, positioned: _PositionedShape) -> Optional[str]:
        """Return the name of a required distance that a position violates, or None."""
        for name, distance, outlines in self._wanted:
            nearest_m = min(map(positioned.outline.distance_m, outlines), default=math.inf)
            too_far = distance.max is not None and nearest_m > distance.max
            if nearest_m < distance.min or too_far:
                return f"distance_m to {name}"
        return None


def _is_nearer(one: BaseGeometry, other: BaseGeometry, distance_m: float) -> bool:
    """Return whether the distance between two geometries is smaller than ``distance_m``, or the
    geometries overlap."""
    between = shapely.distance(one, other)
    return bool(between < distance_m or between == 0.0)


def _obstacle(positioned: _PositionedShape) -> Obstacle:
    proposal = positioned.shape.proposal
    slot = proposal.slot
    z = slot.ground_z_m + slot.model.height_of_frame_m(proposal.size)
    static = slot.model.static if slot.group.static is None else slot.group.static
    return Obstacle(
        name=slot.name,
        type=slot.model.type,
        pose=Pose.from_rpy(positioned.x_m, positioned.y_m, round(z, 9), 0.0, 0.0, proposal.yaw_rad),
        size=proposal.size,
        mass_kg=slot.model.mass_of(proposal.size, getattr(slot.group, "density_kgpm3", None)),
        static=static,
        outline=positioned.outline,
        model=slot.model,
    )
