"""Place obstacles with gaps between each other and to walls, outside of keep-outs.

Implements random sequential placement: each obstacle in turn is placed at its proposed position if
this is free, and otherwise at a position that is drawn independently. If no free position is found
for an obstacle, the whole set is placed again. :mod:`~.draws` defines the random numbers.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Counter as CounterType
from typing import Optional, Sequence, Tuple

import numpy as np
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import PlacementError
from gz_testauto.base.pose import Pose
from gz_testauto.grid.search import path_length_m
from gz_testauto.sampling.constraints import (
    FIXED,
    Constraints,
    PlacedShapes,
    PositionedShape,
    Relations,
    Shape,
)
from gz_testauto.sampling.difficulty import Difficulty, DifficultyEvaluator
from gz_testauto.sampling.draws import ObstacleSampler, Proposal
from gz_testauto.sampling.models import ObstacleModel, Size
from gz_testauto.sampling.outline import Outline
from gz_testauto.sampling.site import Site
from gz_testauto.sdf.floor import Heights
from gz_testauto.spec.obstacles import ObstacleSpec

# Number of positions that are tried for one obstacle before the whole set is placed again.
TRIES_PER_OBSTACLE = 100

MAX_DRAWS = 200  # obstacle sets that are drawn before an error reports that none is solvable


@dataclass(frozen=True)
class Obstacle:
    """An obstacle that was placed in a world. ``size`` is in the order of the kind's
    ``size_names``, and ``pose`` is the pose of the model frame in the world frame."""

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
        """Return the outline (m, world frame) of the part of the obstacle at these heights. Its
        core is empty if there is no such part."""
        ground_m = self.pose.position[2] - self.model.height_of_frame_m(self.size)
        part = self.model.cut(self.size, heights.above(ground_m))
        return self.outline if part is None else part.moved(*self.pose.planar)

    def sdf(self) -> str:
        return self.model.sdf_file(self.name, self.pose, self.size, self.mass_kg, self.static)

    def element_text(self) -> str:
        return self.model.sdf(self.name, self.pose, self.size, self.mass_kg, self.static)


@dataclass(frozen=True)
class ObstacleSet:
    """The obstacles of one world. Path and difficulty are None if no mission is specified. The path
    is also None if the robot cannot reach the goal."""

    obstacles: Tuple[Obstacle, ...]
    shortest_path_m: Optional[float] = None
    difficulty: Optional[Difficulty] = None
    redrawn: int = 0
    """Number of obstacle sets that were discarded before this one because no path existed, or an
    obstacle did not fit at its constant position."""


class Placer:
    """A generator of obstacle sets for one specification and one site. Raises ``PlacementError`` if
    the specification cannot be fulfilled even without obstacles."""

    def __init__(
        self, spec: ObstacleSpec, site: Site, sampler: Optional[ObstacleSampler] = None
    ) -> None:
        self.spec = spec
        self.site = site
        self.sampler = sampler or ObstacleSampler.of_spec(spec)
        self._constraints = Constraints(spec, site, self.sampler)
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
        (``sampler.dimensions``,), by default from ``generator``. Raises ``PlacementError`` if the
        obstacles do not fit, or if no drawn set has a required path.
        """
        last_error: Optional[_UnplaceableError] = None
        for draw in range(MAX_DRAWS):
            numbers = generator.random(self.sampler.dimensions) if first is None else first
            first = None
            try:
                obstacles = self._attempt(self.sampler.propose(numbers, self._ground_m2), generator)
            except _UnplaceableError as error:
                last_error = error
                continue
            obstacle_set = self._evaluate(obstacles, draw)
            if obstacle_set is not None:
                return obstacle_set
        if last_error is not None:
            raise PlacementError(str(last_error))
        raise PlacementError(self._unsolvable_message())

    def _evaluate(self, obstacles: Tuple[Obstacle, ...], draw: int) -> Optional[ObstacleSet]:
        """Return the obstacle set with path and difficulty, or None if a required path does not
        exist. ``draw`` is the number of discarded sets."""
        if self._evaluator is None:
            return ObstacleSet(obstacles)
        assert self.site.mission is not None, "the evaluator needs it"
        outlines = [obstacle.obstructing(self.site.mission.heights) for obstacle in obstacles]
        obstructing_outlines = [outline for outline in outlines if not outline.core.is_empty]
        path = self._evaluator.shortest_path(obstructing_outlines)
        if path is None and self.spec.solvable is not None:
            return None
        covered_m2 = sum(obstacle.outline.area_m2 for obstacle in obstacles)
        difficulty = self._evaluator.difficulty(obstructing_outlines, covered_m2, path)
        length_m = None if path is None else path_length_m(path)
        return ObstacleSet(obstacles, length_m, difficulty, draw)

    def _attempt(
        self, proposals: Sequence[Proposal], generator: np.random.Generator
    ) -> Tuple[Obstacle, ...]:
        """Place all proposals. Raises ``PlacementError`` after ``max_tries`` positions, and
        ``_UnplaceableError`` if an obstacle does not fit at its constant position."""
        violations: CounterType[str] = Counter()
        max_placed, tries, is_first = 0, 0, True
        shapes = [Shape(proposal) for proposal in proposals]
        while True:
            placed_shapes = PlacedShapes(self._constraints)
            for shape in shapes:
                relations = Relations(shape, placed_shapes, self._constraints)
                slot, position = shape.proposal.slot, (shape.proposal.x_m, shape.proposal.y_m)
                for attempt in range(TRIES_PER_OBSTACLE):
                    if tries == self.spec.max_tries:
                        max_placed = max(max_placed, len(placed_shapes.placed))
                        raise PlacementError(
                            self._no_space_message(max_placed, proposals, violations)
                        )
                    tries += 1
                    if attempt or not is_first:
                        position = relations.draw(generator) or self.sampler.position(
                            slot, *generator.random(2)
                        )
                    positioned = PositionedShape(shape, *position)
                    violated_constraint = placed_shapes.violated(positioned) or relations.violated(
                        positioned
                    )
                    if violated_constraint is None:
                        placed_shapes.add(positioned)
                        break
                    violations[violated_constraint] += 1
                    if shape.is_fixed and violated_constraint in FIXED:
                        raise _UnplaceableError(shape.proposal.slot.name, violated_constraint)
                else:
                    break
            else:
                return tuple(map(_create_obstacle, placed_shapes.placed))
            max_placed, is_first = max(max_placed, len(placed_shapes.placed)), False

    def _no_space_message(
        self, max_placed: int, proposals: Sequence[Proposal], violations: CounterType[str]
    ) -> str:
        spec = self.spec
        covered_m2 = sum(
            proposal.slot.model.outline(proposal.size).area_m2 for proposal in proposals
        )
        area = self.sampler.area_m2()
        region = f"{area:.1f} m² of region, " if area else ""
        total = max(1, sum(violations.values()))
        reasons = ", ".join(f"{name} {100 * n // total} %" for name, n in violations.most_common())
        return (
            f"found room for {max_placed} of {len(proposals)} obstacles after {spec.max_tries} "
            f"tries ({region}{covered_m2:.1f} m² of obstacles, min_gap_m {spec.min_gap_m:g}; "
            f"rejected: {reasons}): (1) enlarge the region, (2) lower count or the sizes, "
            f"(3) lower min_gap_m or wall_gap_m, (4) shrink keep_out, (5) raise max_tries"
            + (", (6) widen distance_m" if any(p.slot.group.distance_m for p in proposals) else "")
        )

    def _unsolvable_message(self) -> str:
        mission = self.site.mission
        assert mission is not None and self.spec.solvable is not None
        width = 2 * (mission.radius_m + self.spec.solvable.margin_m)
        return (
            f"in {MAX_DRAWS} sets of obstacles, no path {width:.2f} m wide "
            f"was found from start {mission.start} to goal {mission.goal}: (1) lower count or the "
            "sizes, (2) raise min_gap_m, (3) keep_out start and goal, (4) lower solvable.margin_m"
        )


class _UnplaceableError(Exception):
    """An obstacle with a constant position violates a constraint in its drawn size."""

    def __init__(self, name: str, constraint: str) -> None:
        super().__init__(
            f"in {MAX_DRAWS} sets of obstacles, {name!r} violates the constraint {constraint!r} at "
            f"its constant x_m and y_m: (1) change x_m and y_m, (2) lower its sizes, (3) shrink "
            "keep_out, (4) lower wall_gap_m or min_gap_m"
        )


def _create_obstacle(positioned: PositionedShape) -> Obstacle:
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
