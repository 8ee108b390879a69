"""Places obstacles: apart from one another, from walls, and out of the zones kept free.

Owns random sequential placement: obstacles are placed one after the other, each where it was
proposed if that is free, else at places drawn independently. When one finds no place the
whole set is begun anew. All of it within a fixed number of tries; what does not fit then is
an error that says how far it came. Which numbers are drawn is :mod:`~.draws`' business.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Counter as CounterType
from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.errors import PlacementError
from gz_testauto.pose import Pose
from gz_testauto.sampling.difficulty import Difficulty, DifficultyEvaluator, length_m
from gz_testauto.sampling.draws import Proposal, Roster
from gz_testauto.sampling.models import ObstacleModel, Size
from gz_testauto.sampling.outline import Outline
from gz_testauto.sampling.site import Site
from gz_testauto.sdf.floor import Heights
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.spec.regions import union_of

PATIENCE = 100
"""Places tried for one obstacle before the whole set is begun anew."""

MAX_DRAWS = 200
"""Sets drawn, each complete, before saying that no solvable one can be found."""


@dataclass(frozen=True)
class Obstacle:
    """One obstacle of a world.

    ``type`` is box, cylinder, sphere or model; ``size`` as ``SIZE_NAMES`` of
    :mod:`gz_testauto.spec.obstacles` orders it; ``pose`` that of the model frame in the world.
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
        """What it covers of the ground, in the world frame (m)."""
        return self.outline.polygon

    def obstructing(self, heights: Heights) -> Outline:
        """What of it lies at these heights, in the world frame; its core may be empty."""
        ground_m = self.pose.position[2] - self.model.height_of_frame_m(self.size)
        part = self.model.cut(self.size, heights.above(ground_m))
        return self.outline if part is None else part.moved(*self.pose.planar)

    def sdf(self) -> str:
        """The complete SDF of the obstacle, pose included, as text."""
        version = self.model.document.root.get("version", "1.6")
        return f'<sdf version="{version}">\n{self.element_text()}\n</sdf>\n'

    def element_text(self) -> str:
        """The ``<model>`` element alone, to stand in a world."""
        return self.model.sdf(self.name, self.pose, self.size, self.mass_kg, self.static)


@dataclass(frozen=True)
class ObstacleSet:
    """The obstacles of one world, with what is known of the drive through them.

    ``shortest_path_m`` and ``difficulty`` are None when no drive was given.
    """

    obstacles: Tuple[Obstacle, ...]
    shortest_path_m: Optional[float] = None
    difficulty: Optional[Difficulty] = None
    redrawn: int = 0
    """How many sets were drawn and discarded before, because no way led through them."""


class Placer:
    """Places sets of obstacles for one specification and one site, again and again.

    Raises ``PlacementError`` at once when the base world alone makes the specification
    impossible.
    """

    def __init__(self, spec: ObstacleSpec, site: Site, roster: Optional[Roster] = None) -> None:
        self.spec = spec
        self.site = site
        self.roster = roster or Roster.of_spec(spec)
        self._keep_out = site.keep_out(spec.keep_out)
        self._admitted: Dict[int, Optional[BaseGeometry]] = {}
        for slot in self.roster.slots:
            group = slot.group
            regions = (group.region or spec.region) if group.x_m is not None else None
            self._admitted.setdefault(id(group), union_of(regions) if regions else None)
        margin = spec.solvable.margin_m if spec.solvable else 0.0
        judged = spec.solvable is not None or site.drive is not None
        self._evaluator = (
            DifficultyEvaluator(site, margin, self.roster.ground()) if judged else None
        )

    def place(
        self, generator: np.random.Generator, first: Optional[np.ndarray] = None
    ) -> ObstacleSet:
        """Draw one set. ``first`` are the numbers for the first proposals, shape
        (``roster.dimensions``,); they are drawn from ``generator`` unless given.

        Raises ``PlacementError`` when the obstacles do not fit, or no set leaves a way.
        """
        for draw in range(MAX_DRAWS):
            numbers = generator.random(self.roster.dimensions) if first is None else first
            first = None
            obstacles = self._attempt(self.roster.propose(numbers), generator)
            if self._evaluator is None or self.site.drive is None:
                return ObstacleSet(obstacles)
            cut = [obstacle.obstructing(self.site.drive.heights) for obstacle in obstacles]
            obstructing = [outline for outline in cut if not outline.core.is_empty]
            way = self._evaluator.shortest_way(obstructing)
            if way is not None or self.spec.solvable is None:
                covered_m2 = sum(obstacle.outline.area_m2 for obstacle in obstacles)
                difficulty = self._evaluator.difficulty(obstructing, covered_m2, way)
                return ObstacleSet(obstacles, length_m(way), difficulty, draw)
        raise PlacementError(self._unsolvable())

    def _attempt(
        self, proposals: Sequence[Proposal], generator: np.random.Generator
    ) -> Tuple[Obstacle, ...]:
        """Place one drawn set; sizes and headings stay as drawn, places may change."""
        refusals: CounterType[str] = Counter()
        most, tries, anew = 0, 0, False
        while True:
            ground = _Ground(self.spec, self.site, self._keep_out)
            for proposal in proposals:
                outline = proposal.slot.model.outline(proposal.size)
                reach = outline.reach_m
                admitted = self._admitted[id(proposal.slot.group)]
                for attempt in range(PATIENCE):
                    if tries == self.spec.max_tries:
                        most = max(most, len(ground.placed))
                        raise PlacementError(self._crowded(most, proposals, refusals))
                    tries += 1
                    place = (proposal.x_m, proposal.y_m)
                    if attempt or anew:
                        place = self.roster.place_for(proposal.slot, *generator.random(2))
                    moved = outline.moved(*place, proposal.yaw_rad)
                    refusal = ground.refusal(moved, place, reach, admitted)
                    if refusal is None:
                        ground.put(_obstacle(proposal, moved, place), place, reach)
                        break
                    refusals[refusal] += 1
                else:
                    break
            else:
                return tuple(ground.placed)
            most, anew = max(most, len(ground.placed)), True

    def _crowded(self, most: int, proposals: Sequence[Proposal], refusals: CounterType[str]) -> str:
        spec = self.spec
        covered = sum(p.slot.model.outline(p.size).area_m2 for p in proposals)
        area = self.roster.area_m2()
        region = f"{area:.1f} m² of region, " if area else ""
        total = max(1, sum(refusals.values()))
        why = ", ".join(f"{name} {100 * n // total} %" for name, n in refusals.most_common())
        return (
            f"placed {most} of {len(proposals)} obstacles after {spec.max_tries} tries "
            f"({region}{covered:.1f} m² of obstacles, min_gap_m {spec.min_gap_m:g}; "
            f"refused: {why}): (1) enlarge the region, (2) lower count or the sizes, "
            f"(3) lower min_gap_m or wall_gap_m, (4) shrink keep_out, (5) raise max_tries"
        )

    def _unsolvable(self) -> str:
        drive = self.site.drive
        assert drive is not None and self.spec.solvable is not None
        width = 2 * (drive.radius_m + self.spec.solvable.margin_m)
        return (
            f"in {MAX_DRAWS} sets of obstacles, each drawn again, no way {width:.2f} m wide led "
            f"from start {drive.start} to goal {drive.goal}: (1) lower count or the sizes, "
            "(2) raise min_gap_m, (3) keep_out start and goal, (4) lower solvable.margin_m"
        )


class _Ground:
    """The obstacles placed so far, and what refuses the next one."""

    def __init__(
        self, spec: ObstacleSpec, site: Site, keep_out: Sequence[Tuple[BaseGeometry, float]]
    ) -> None:
        self._spec = spec
        self._walls = site.wall_union
        self._keep_out = keep_out
        self._circles: List[Tuple[float, float, float]] = []
        self.placed: List[Obstacle] = []

    def put(self, obstacle: Obstacle, place: Tuple[float, float], reach_m: float) -> None:
        """Add an obstacle that nothing refuses."""
        self._circles.append((*place, reach_m))
        self.placed.append(obstacle)

    def refusal(
        self,
        outline: Outline,
        place: Tuple[float, float],
        reach_m: float,
        admitted: Optional[BaseGeometry],
    ) -> Optional[str]:
        """What is in the way of an outline at a place, ``reach_m`` around it at most."""
        if admitted is not None and not shapely.intersects_xy(admitted, *place):
            return "outside the region"
        if self._crowds(outline, *place, reach_m):
            return "other obstacles"
        near = outline.radius_m + self._spec.gap_to_walls_m
        if not self._walls.is_empty and _within(self._walls, outline.core, near):
            return "walls"
        for core, radius in self._keep_out:
            if _within(core, outline.core, outline.radius_m + radius):
                return "keep_out"
        return None

    def _crowds(self, outline: Outline, x: float, y: float, reach: float) -> bool:
        gap = self._spec.min_gap_m
        for other, (other_x, other_y, other_reach) in zip(self.placed, self._circles):
            far = gap + reach + other_reach
            if (other_x - x) ** 2 + (other_y - y) ** 2 > far * far:
                continue
            near = gap + outline.radius_m + other.outline.radius_m
            if _within(outline.core, other.outline.core, near):
                return True
        return False


def _within(one: BaseGeometry, other: BaseGeometry, distance_m: float) -> bool:
    """Whether two geometries are nearer than a distance, or overlap."""
    between = shapely.distance(one, other)
    return bool(between < distance_m or between == 0.0)


def _obstacle(proposal: Proposal, outline: Outline, place: Tuple[float, float]) -> Obstacle:
    """The obstacle at its place, where it covers ``outline``."""
    slot, (x, y) = proposal.slot, place
    z = slot.ground_z_m + slot.model.height_of_frame_m(proposal.size)
    static = slot.model.static if slot.group.static is None else slot.group.static
    return Obstacle(
        name=slot.name,
        type=slot.model.type,
        pose=Pose.from_rpy(x, y, round(z, 9), 0.0, 0.0, proposal.yaw_rad),
        size=proposal.size,
        mass_kg=slot.model.mass_of(proposal.size, getattr(slot.group, "density_kgpm3", None)),
        static=static,
        outline=outline,
        model=slot.model,
    )


def place_obstacles(
    spec: ObstacleSpec, generator: np.random.Generator, site: Optional[Site] = None
) -> ObstacleSet:
    """Draw one set of obstacles for a site (an open, empty plane unless given).

    Raises ``PlacementError`` when it cannot be done, ``SdfError`` for a bad model file.
    """
    return Placer(spec, site or Site()).place(generator)
