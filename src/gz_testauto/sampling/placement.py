"""Placement of obstacles with gaps between each other and to walls, outside of keep-outs.

Owns random sequential placement: obstacles are placed one after the other, each at its proposed
position if it is free, otherwise at positions that are drawn independently. If one has no free
position, the whole set is drawn again. The number of tries is limited; the error then states the
progress. :mod:`~.draws` defines the numbers.
"""

import functools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Counter as CounterType
from typing import DefaultDict, Dict, List, Optional, Sequence, Set, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import PlacementError
from gz_testauto.base.pose import Pose
from gz_testauto.sampling.difficulty import Difficulty, DifficultyEvaluator, length_m
from gz_testauto.sampling.draws import Proposal, Roster
from gz_testauto.sampling.models import ObstacleModel, Size
from gz_testauto.sampling.outline import Outline
from gz_testauto.sampling.regions import places_of
from gz_testauto.sampling.site import Site
from gz_testauto.sdf.floor import Heights
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.spec.regions import union_of

PATIENCE = 100
"""Positions tried for one obstacle before the whole set is drawn again."""

MAX_DRAWS = 200
"""Complete sets that are drawn before the error that no solvable one was found."""


SLACK_M = 1e-5
"""Tolerance: circles decide a comparison only if the difference is larger than rounding."""


@dataclass(frozen=True)
class Obstacle:
    """An obstacle of a world.

    ``type`` is that of its kind; ``size`` in the order of the kind's ``size_names``; ``pose`` that
    of the model frame in the world.
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
        """Return its outline on the ground, in the world frame (m)."""
        return self.outline.polygon

    def obstructing(self, heights: Heights) -> Outline:
        """Return its outline at these heights, in the world frame; its core can be empty."""
        ground_m = self.pose.position[2] - self.model.height_of_frame_m(self.size)
        part = self.model.cut(self.size, heights.above(ground_m))
        return self.outline if part is None else part.moved(*self.pose.planar)

    def sdf(self) -> str:
        """Return the complete SDF of the obstacle, with its pose, as text."""
        return self.model.sdf_file(self.name, self.pose, self.size, self.mass_kg, self.static)

    def element_text(self) -> str:
        """Return only the ``<model>`` element, for a world."""
        return self.model.sdf(self.name, self.pose, self.size, self.mass_kg, self.static)


@dataclass(frozen=True)
class ObstacleSet:
    """The obstacles of one world, with the results for the mission.

    ``shortest_path_m`` and ``difficulty`` are None without a mission.
    """

    obstacles: Tuple[Obstacle, ...]
    shortest_path_m: Optional[float] = None
    difficulty: Optional[Difficulty] = None
    redrawn: int = 0
    """Number of sets that were discarded before, because no path existed."""


class Placer:
    """A generator of sets of obstacles for one specification and one site.

    Raises ``PlacementError`` immediately if the base world alone makes the specification
    impossible.
    """

    def __init__(self, spec: ObstacleSpec, site: Site, roster: Optional[Roster] = None) -> None:
        self.spec = spec
        self.site = site
        self.roster = roster or Roster.of_spec(spec)
        self._rules = _Rules(spec, site, self.roster)
        margin = spec.solvable.margin_m if spec.solvable else 0.0
        judged = spec.solvable is not None or site.drive is not None
        self._evaluator = (
            DifficultyEvaluator(site, margin, self.roster.ground()) if judged else None
        )

    def place(
        self, generator: np.random.Generator, first: Optional[np.ndarray] = None
    ) -> ObstacleSet:
        """Draw one set.

        ``first`` are the numbers for the first proposals, shape (``roster.dimensions``,), by
        default drawn from ``generator``. Raises ``PlacementError`` if the obstacles do not fit, or
        no set leaves a path.
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
        """Place one drawn set; sizes and headings are kept, positions can change."""
        refusals: CounterType[str] = Counter()
        most, tries, anew = 0, 0, False
        forms = [_Form(proposal) for proposal in proposals]
        while True:
            ground = _Ground(self._rules)
            for form in forms:
                slot, place = form.proposal.slot, (form.proposal.x_m, form.proposal.y_m)
                for attempt in range(PATIENCE):
                    if tries == self.spec.max_tries:
                        most = max(most, len(ground.placed))
                        raise PlacementError(self._crowded(most, proposals, refusals))
                    tries += 1
                    if attempt or anew:
                        place = self.roster.place_for(slot, *generator.random(2))
                    put = _Put(form, *place)
                    refusal = ground.refusal(put)
                    if refusal is None:
                        ground.put(put)
                        break
                    refusals[refusal] += 1
                else:
                    break
            else:
                return tuple(map(_obstacle, ground.placed))
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
            f"in {MAX_DRAWS} sets of obstacles, each drawn again, no path {width:.2f} m wide "
            f"was found from start {drive.start} to goal {drive.goal}: (1) lower count or the "
            "sizes, (2) raise min_gap_m, (3) keep_out start and goal, (4) lower solvable.margin_m"
        )


class _Form:
    """A proposal without its position: the values that do not depend on it."""

    def __init__(self, proposal: Proposal) -> None:
        model, size = proposal.slot.model, proposal.size
        self.proposal = proposal
        self.group = id(proposal.slot.group)
        self.outline = model.outline(size)
        self.outer_m, self.inner_m = model.outer_m(size), model.inner_m(size)
        self.is_centered_disc = self.outline.is_disc and self.outer_m == self.outline.radius_m


class _Put:
    """A form at a position. Its outline is computed only if circles do not decide."""

    def __init__(self, form: _Form, x_m: float, y_m: float) -> None:
        self.form, self.x_m, self.y_m = form, x_m, y_m

    @functools.cached_property
    def outline(self) -> Outline:
        """Return its outline, in the world frame."""
        return self.form.outline.moved(self.x_m, self.y_m, self.form.proposal.yaw_rad)


class _Zone:
    """A keep-out: all points within ``radius_m`` of ``core``."""

    def __init__(self, core: BaseGeometry, radius_m: float) -> None:
        self._core, self._radius_m = core, radius_m
        self._bounds = core.bounds

    def holds(self, put: _Put) -> bool:
        """Return whether a part of a placed form is in it."""
        x_min, y_min, x_max, y_max = self._bounds
        away_x = max(x_min - put.x_m, 0.0, put.x_m - x_max)
        away_y = max(y_min - put.y_m, 0.0, put.y_m - y_max)
        if math.hypot(away_x, away_y) > put.form.outer_m + self._radius_m + SLACK_M:
            return False
        return _within(self._core, put.outline.core, put.outline.radius_m + self._radius_m)


class _Rules:
    """The constraints that do not depend on other obstacles, prepared once for all worlds."""

    def __init__(self, spec: ObstacleSpec, site: Site, roster: Roster) -> None:
        self.gap_m = spec.min_gap_m
        self.wall_gap_m = spec.gap_to_walls_m
        self.walls = site.wall_union
        self.zones = [_Zone(*zone) for zone in site.keep_out(spec.keep_out)]
        self.admitted: Dict[int, BaseGeometry] = {}
        self.beside_walls: Set[int] = set()
        for key, group in {id(slot.group): slot.group for slot in roster.slots}.items():
            regions = (group.region or spec.region) if group.x_m is not None else None
            if regions:
                self.admitted[key] = union_of(regions)
            near_m = roster.reach_m[key] + self.wall_gap_m + SLACK_M
            away_m = shapely.distance(self.walls, places_of(spec, group))
            if not self.walls.is_empty and not away_m > near_m:  # not a number for no places
                self.beside_walls.add(key)
        self.cell_m = self.gap_m + 2 * max(roster.reach_m.values(), default=0.0) + SLACK_M


class _Ground:
    """The placed obstacles, in square cells that are at least as large as the distance at which two
    of them can interfere, and the check of the next one."""

    def __init__(self, rules: _Rules) -> None:
        self._rules = rules
        self._cells: DefaultDict[Tuple[int, int], List[_Put]] = defaultdict(list)
        self.placed: List[_Put] = []

    def put(self, put: _Put) -> None:
        """Add a form that satisfies all constraints."""
        self._cells[self._cell(put)].append(put)
        self.placed.append(put)

    def refusal(self, put: _Put) -> Optional[str]:
        """Return the name of the violated constraint, if any."""
        rules, form = self._rules, put.form
        admitted = rules.admitted.get(form.group)
        if admitted is not None and not shapely.intersects_xy(admitted, put.x_m, put.y_m):
            return "outside the region"
        if self._crowds(put):
            return "other obstacles"
        if form.group in rules.beside_walls:
            near_m = put.outline.radius_m + rules.wall_gap_m
            if _within(rules.walls, put.outline.core, near_m):
                return "walls"
        if any(zone.holds(put) for zone in rules.zones):
            return "keep_out"
        return None

    def _crowds(self, put: _Put) -> bool:
        column, row = self._cell(put)
        for column_there in (column - 1, column, column + 1):
            for row_there in (row - 1, row, row + 1):
                for other in self._cells.get((column_there, row_there), ()):
                    if self._crowd(put, other):
                        return True
        return False

    def _crowd(self, put: _Put, other: _Put) -> bool:
        """Return whether two are too near to each other. Circles around and within them decide most
        cases."""
        one, two, gap_m = put.form, other.form, self._rules.gap_m
        away_m = math.sqrt((other.x_m - put.x_m) ** 2 + (other.y_m - put.y_m) ** 2)
        if away_m > gap_m + one.outer_m + two.outer_m + SLACK_M:
            return False
        if away_m < gap_m + one.inner_m + two.inner_m - SLACK_M:
            return True
        near_m = gap_m + one.outline.radius_m + two.outline.radius_m
        if one.is_centered_disc and two.is_centered_disc:
            return away_m < near_m or away_m == 0.0
        return _within(put.outline.core, other.outline.core, near_m)

    def _cell(self, put: _Put) -> Tuple[int, int]:
        side_m = self._rules.cell_m
        return math.floor(put.x_m / side_m), math.floor(put.y_m / side_m)


def _within(one: BaseGeometry, other: BaseGeometry, distance_m: float) -> bool:
    """Return whether two geometries are nearer than a distance, or overlap."""
    between = shapely.distance(one, other)
    return bool(between < distance_m or between == 0.0)


def _obstacle(put: _Put) -> Obstacle:
    """Return the obstacle at its position."""
    proposal = put.form.proposal
    slot = proposal.slot
    z = slot.ground_z_m + slot.model.height_of_frame_m(proposal.size)
    static = slot.model.static if slot.group.static is None else slot.group.static
    return Obstacle(
        name=slot.name,
        type=slot.model.type,
        pose=Pose.from_rpy(put.x_m, put.y_m, round(z, 9), 0.0, 0.0, proposal.yaw_rad),
        size=proposal.size,
        mass_kg=slot.model.mass_of(proposal.size, getattr(slot.group, "density_kgpm3", None)),
        static=static,
        outline=put.outline,
        model=slot.model,
    )


def place_obstacles(
    spec: ObstacleSpec, generator: np.random.Generator, site: Optional[Site] = None
) -> ObstacleSet:
    """Draw one set of obstacles for a site (default: an open, empty plane).

    Raises ``PlacementError`` if it is not possible, ``SdfError`` for an invalid model file.
    """
    return Placer(spec, site or Site()).place(generator)
