"""The meaning of the random numbers of a world: counts, sizes, headings and positions.

The order of the numbers depends only on the specification: a number for the count of each group, a
number for the coverage if it is specified, and numbers for x, y, the heading and each random size
of each possible obstacle. The numbers of obstacles that do not exist in a world remain unused.
:mod:`gz_testauto.sampling.placement` checks whether a proposed obstacle fits.
"""

import functools
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Tuple, cast

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import PlacementError
from gz_testauto.grid.visibility import inflate
from gz_testauto.sampling.models import ObstacleKind, ObstacleModel, Size
from gz_testauto.sampling.naming import obstacle_name
from gz_testauto.sampling.regions import RegionSampler, places_of
from gz_testauto.spec.distributions import Distribution
from gz_testauto.spec.obstacles import AnyObstacles, CountDensity, ObstacleSpec
from gz_testauto.spec.regions import union_of

_DIGITS = 6  # rounded values are equal in the manifest and in the world file
_STEPS_PER_UNIT = 10.0**_DIGITS


@dataclass(frozen=True)
class Slot:
    """An obstacle that can exist in a world, on the ground at the height ``ground_z_m``."""

    name: str
    group: AnyObstacles
    model: ObstacleModel
    ground_z_m: float = 0.0

    @property
    def largest_size(self) -> Size:
        return tuple(
            model_value if distribution is None else distribution.support[1]
            for model_value, (_, distribution) in zip(self.model.size, self.group.sizes)
        )


@dataclass(frozen=True)
class Proposal:
    """An obstacle with random size and position, which is not yet checked (world frame)."""

    slot: Slot
    x_m: float
    y_m: float
    yaw_rad: float
    size: Size


Quantile = Callable[[float], float]  # the quantile function of a distribution


class _GroupDraws:
    # Each entry of sizes is None if the model determines the size.

    def __init__(self, spec: ObstacleSpec, group: AnyObstacles) -> None:
        regions = group.region or spec.region
        try:
            self.region = None if regions is None else RegionSampler(union_of(regions))
        except ValueError as error:
            raise PlacementError(f"obstacles of {group.label!r}: {error}") from error
        self._x, self._y = (
            None if distribution is None else _rounded_quantile(distribution)
            for distribution in (group.x_m, group.y_m)
        )
        self.yaw = _rounded_quantile(group.yaw_rad)
        self.sizes = [
            None if distribution is None else _rounded_quantile(distribution)
            for _, distribution in group.sizes
        ]

    def position(self, first: float, second: float) -> Tuple[float, float]:
        """Return a position (m, world frame) for two numbers in [0, 1)."""
        if self._x is not None and self._y is not None:
            return self._x(first), self._y(second)
        assert self.region is not None  # the specification has a region or x_m and y_m
        x, y = self.region.point(first, second)
        return _rounded(x), _rounded(y)


class ObstacleSampler:
    """A sampler of obstacles for the worlds of one specification.

    ``slots`` are all obstacles that can exist in a world. ``draws_counts`` is False if all of them
    exist, as in a saved world. ``groups`` contains their groups by ``id``.
    """

    def __init__(self, spec: ObstacleSpec, slots: Sequence[Slot], draws_counts: bool) -> None:
        self.spec = spec
        self.slots = tuple(slots)
        self._draws_counts = draws_counts
        self.groups = {id(slot.group): slot.group for slot in self.slots}
        self._draws = {key: _GroupDraws(spec, group) for key, group in self.groups.items()}

    @classmethod
    def of_spec(cls, spec: ObstacleSpec) -> "ObstacleSampler":
        """Read the models of a specification, and return a sampler with all possible obstacles.

        Raises ``SdfError`` for an invalid model, ``PlacementError`` for a region without area.
        """
        slots: List[Slot] = []
        models: Dict[Tuple[str, Optional[Path]], ObstacleModel] = {}
        for group in spec.obstacles:
            assert not isinstance(group.count, CountDensity), "spec_for_site replaces it"
            if group.count.max == 0:  # only describes obstacles of a saved world
                continue
            key = (group.type, group.model)
            if group.model is None or key not in models:
                models[key] = cast(ObstacleKind, group).create_model()
            model = models[key]
            for index in range(group.count.max):
                name = obstacle_name(group.label, index)
                slots.append(Slot(name, group, model, spec.ground_z_m))
        return cls(spec, slots, draws_counts=True)

    @property
    def dimensions(self) -> int:
        """The number of random numbers for one world."""
        sizes = [
            distribution
            for slot in self.slots
            for _, distribution in slot.group.sizes
            if distribution is not None
        ]
        counts = len(self.spec.obstacles) if self._draws_counts else 0
        counts += self._draws_coverage
        return counts + 3 * len(self.slots) + len(sizes)

    @property
    def _draws_coverage(self) -> bool:
        return self._draws_counts and self.spec.coverage is not None

    def propose(self, numbers: np.ndarray, ground_m2: float = math.nan) -> List[Proposal]:
        """Return the obstacles that random ``numbers`` in [0, 1), shape (dimensions,), determine.

        ``ground_m2`` is the area (m²) to which ``coverage`` of the specification refers. Raises
        ``PlacementError`` if the coverage cannot be reached.
        """
        draw = iter(numbers.tolist()).__next__
        remaining: Dict[int, int] = {}
        if self._draws_counts:
            for group in self.spec.obstacles:
                remaining[id(group)] = group.count.quantile(draw())
        coverage = None
        if self._draws_coverage:
            assert self.spec.coverage is not None
            coverage = self.spec.coverage.quantile(draw())
            remaining = {id(group): group.count.max for group in self.spec.obstacles}
        proposals: List[Proposal] = []
        for slot in self.slots:
            key = id(slot.group)
            draws = self._draws[key]
            x, y = draws.position(draw(), draw())
            yaw = draws.yaw(draw())
            size = [
                model_value if quantile is None else quantile(draw())
                for model_value, quantile in zip(slot.model.size, draws.sizes)
            ]
            if self._draws_counts:
                remaining[key] -= 1
                if remaining[key] < 0:
                    continue
            proposals.append(Proposal(slot, x, y, yaw, tuple(size)))
        return proposals if coverage is None else _cover_ground(proposals, coverage, ground_m2)

    def position(self, slot: Slot, first: float, second: float) -> Tuple[float, float]:
        """Return a position (m, world frame) for two numbers in [0, 1)."""
        return self._draws[id(slot.group)].position(first, second)

    def ground(self) -> BaseGeometry:
        """Return the area that obstacles can cover (m, world frame): the region of the centers of
        each group, enlarged by the extent of its largest obstacle."""
        regions = np.array([places_of(self.spec, g) for g in self.groups.values()], dtype=object)
        reach_m = np.array([self.reach_m[key] for key in self.groups])
        return shapely.union_all(inflate(regions, reach_m))

    @functools.cached_property
    def reach_m(self) -> Dict[int, float]:
        """The radius (m) around its center that contains the largest obstacle, by ``id`` of the
        group."""
        reach_m: Dict[int, float] = {}
        for slot in self.slots:
            obstacle_m = slot.model.outline(slot.largest_size).reach_m
            reach_m[id(slot.group)] = max(obstacle_m, reach_m.get(id(slot.group), 0.0))
        return reach_m

    def area_m2(self) -> float:
        """Return the area (m²) of the largest region of a group."""
        areas = [draws.region.area_m2 for draws in self._draws.values() if draws.region is not None]
        return max(areas, default=0.0)


def _rounded_quantile(distribution: Distribution) -> Quantile:
    # Rounded values must remain within the bounds of the distribution.
    quantile, (low, high) = distribution.quantile, distribution.support
    return lambda probability: min(max(_rounded(quantile(probability)), low), high)


def _rounded(value: float) -> float:
    # For numpy numbers, a product is ten times as fast as round with digits.
    if type(value) is float:
        return round(value, _DIGITS)
    return round(float(value) * _STEPS_PER_UNIT) / _STEPS_PER_UNIT


def _cover_ground(
    proposals: Sequence[Proposal], coverage: float, ground_m2: float
) -> List[Proposal]:
    """Return the proposals, in their order, that cover the share ``coverage`` of ``ground_m2``.

    These are the smallest count of each group, and more in proportion to the ranges of the counts.
    Raises ``PlacementError`` if the covered area differs from the required area by more than half
    the area of the largest obstacle.
    """
    areas = [proposal.slot.model.outline(proposal.size).area_m2 for proposal in proposals]
    counts: Counter[int] = Counter()
    ranked = []
    for index, proposal in enumerate(proposals):
        count_range, key = proposal.slot.group.count, id(proposal.slot.group)
        excess = counts[key] - count_range.min
        counts[key] += 1
        ranked.append((-1.0 if excess < 0 else excess / (count_range.max - count_range.min), index))
    required_m2 = coverage * ground_m2
    covered_m2, selected_indices = 0.0, set()
    for rank, index in sorted(ranked):
        if rank >= 0 and covered_m2 + areas[index] / 2 > required_m2:
            break
        covered_m2 += areas[index]
        selected_indices.add(index)
    if abs(covered_m2 - required_m2) > max(areas, default=0.0) / 2:
        share = f"{100 * covered_m2 / ground_m2:.1f} % of the ground"
        raise PlacementError(
            f"coverage is {100 * coverage:.1f} %, but {len(selected_indices)} obstacles cover "
            f"{share}; "
            + (
                "raise the largest count or the sizes, or lower coverage"
                if covered_m2 < required_m2
                else "lower the smallest count or the sizes, or raise coverage"
            )
        )
    return [proposal for index, proposal in enumerate(proposals) if index in selected_indices]
