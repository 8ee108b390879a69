"""What the numbers behind a world mean: which obstacles, how large, turned how, proposed where.

Owns the order of those numbers, which is fixed by the specification alone: first one per
group whose count is a range, then for every obstacle that there may be its x, y, heading and
each size that is drawn. An obstacle that is not there this time leaves its numbers unused, so
that each number means the same in every world. Whether a proposal fits is
:mod:`gz_testauto.sampling.placement`'s business.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import PlacementError
from gz_testauto.grid.visibility import inflate
from gz_testauto.sampling.models import ObstacleModel, Size, read_model
from gz_testauto.sampling.naming import obstacle_name
from gz_testauto.sampling.regions import RegionSampler, places_of
from gz_testauto.spec.distributions import Distribution
from gz_testauto.spec.obstacles import AnyObstacles, ObstacleSpec
from gz_testauto.spec.regions import union_of

_DIGITS = 6
"""Drawn values are rounded to micrometers: worlds stay readable, and what the manifest says
is what the world holds."""
_STEPS_PER_UNIT = 10.0**_DIGITS


@dataclass(frozen=True)
class Slot:
    """An obstacle that there may be: its name, how it is drawn, what it is made of.

    ``ground_z_m`` is the height on which it stands.
    """

    name: str
    group: AnyObstacles
    model: ObstacleModel
    ground_z_m: float = 0.0


@dataclass(frozen=True)
class Proposal:
    """An obstacle as first drawn: everything but whether its place is free."""

    slot: Slot
    x_m: float
    y_m: float
    yaw_rad: float
    size: Size


class _Drawn:
    """A number that is drawn, rounded; its bounds are looked up once."""

    def __init__(self, distribution: Distribution) -> None:
        self._quantile = distribution.quantile
        self._low, self._high = distribution.support

    def at(self, probability: float) -> float:
        """The value that belongs to a number in [0, 1)."""
        return min(max(_rounded(self._quantile(probability)), self._low), self._high)


class _GroupDraws:
    """How the obstacles of one group are drawn: where, turned how, how large. ``sizes`` has None
    for a size that stays as the model has it. Raises ``PlacementError`` for a region without area.
    """

    def __init__(self, spec: ObstacleSpec, group: AnyObstacles) -> None:
        self.region = _region_sampler(spec, group)
        self.x, self.y = (None if one is None else _Drawn(one) for one in (group.x_m, group.y_m))
        self.yaw = _Drawn(group.yaw_rad)
        self.sizes = [None if drawn is None else _Drawn(drawn) for _, drawn in group.sizes]

    def place(self, first: float, second: float) -> Tuple[float, float]:
        """The center (x, y) that belongs to two numbers in [0, 1)."""
        if self.x is not None and self.y is not None:
            return self.x.at(first), self.y.at(second)
        assert self.region is not None  # the specification has a region or x_m and y_m
        x, y = self.region.point(first, second)
        return _rounded(x), _rounded(y)


class Roster:
    """All obstacles that a world may have.

    ``choose`` is True when how many of each group there are is drawn as well, and False when
    all of ``slots`` are there, as in a saved world.
    """

    def __init__(self, spec: ObstacleSpec, slots: Sequence[Slot], choose: bool) -> None:
        self.spec = spec
        self.slots = tuple(slots)
        self._choose = choose
        groups = {id(slot.group): slot.group for slot in self.slots}
        self._draws = {key: _GroupDraws(spec, group) for key, group in groups.items()}

    @classmethod
    def of_spec(cls, spec: ObstacleSpec) -> "Roster":
        """What the specification alone asks for. Raises ``SdfError`` for a bad model file."""
        slots: List[Slot] = []
        files: Dict[Tuple[str, Path], ObstacleModel] = {}
        for group in spec.obstacles:
            if group.count.max == 0:  # only says how to redraw what a saved world has
                continue
            if group.model is None:
                model = ObstacleModel.unit(group.type)
            else:
                key = (group.type, group.model)
                if key not in files:
                    files[key] = read_model(*key)
                model = files[key]
            for index in range(group.count.max):
                name = obstacle_name(group.label, index)
                slots.append(Slot(name, group, model, spec.ground_z_m))
        return cls(spec, slots, choose=True)

    @property
    def dimensions(self) -> int:
        """How many numbers one world takes."""
        drawn = sum(3 + _drawn_sizes(slot.group) for slot in self.slots)
        return drawn + (len(self.spec.obstacles) if self._choose else 0)

    def propose(self, numbers: np.ndarray) -> List[Proposal]:
        """The obstacles for ``numbers``, shape (dimensions,), each in [0, 1)."""
        supply = iter(numbers.tolist())
        counts: Dict[int, int] = {}
        if self._choose:
            for group in self.spec.obstacles:
                counts[id(group)] = group.count.quantile(next(supply))
        proposals: List[Proposal] = []
        taken: Dict[int, int] = {}
        for slot in self.slots:
            key = id(slot.group)
            proposal = self._propose_one(slot, supply)
            taken[key] = taken.get(key, 0) + 1
            if not self._choose or taken[key] <= counts[key]:
                proposals.append(proposal)
        return proposals

    def place_for(self, slot: Slot, first: float, second: float) -> Tuple[float, float]:
        """The center (x, y) that belongs to two numbers in [0, 1)."""
        return self._draws[id(slot.group)].place(first, second)

    def ground(self) -> BaseGeometry:
        """All ground that obstacles can cover, in the world frame (m): the places of their
        centers, widened by as far as the largest of each group reaches."""
        groups = {id(slot.group): slot.group for slot in self.slots}
        places = np.array([places_of(self.spec, g) for g in groups.values()], dtype=object)
        return shapely.union_all(inflate(places, np.array([self.reach_m[key] for key in groups])))

    @functools.cached_property
    def reach_m(self) -> Dict[int, float]:
        """How far (m) the largest obstacle of each group reaches from its center, by the ``id`` of
        the group."""
        found: Dict[int, float] = {}
        for slot in self.slots:
            largest = slot.model.outline(_largest(slot)).reach_m
            found[id(slot.group)] = max(largest, found.get(id(slot.group), 0.0))
        return found

    def area_m2(self) -> float:
        """Area of all regions, the larger ones where groups have different ones."""
        areas = [one.region.area_m2 for one in self._draws.values() if one.region is not None]
        return max(areas, default=0.0)

    def _propose_one(self, slot: Slot, supply: Iterator[float]) -> Proposal:
        draw = supply.__next__
        draws = self._draws[id(slot.group)]
        x, y = draws.place(draw(), draw())
        yaw = draws.yaw.at(draw())
        size = [
            fixed if drawn is None else drawn.at(draw())
            for fixed, drawn in zip(slot.model.size, draws.sizes)
        ]
        return Proposal(slot, x, y, yaw, tuple(size))


def _rounded(value: float) -> float:
    """Rounded to ``_DIGITS``: a number of Python's as Python does it, to the nearest; one of
    numpy's, as places that are drawn again are, as numpy does it, ten times as fast."""
    if type(value) is float:
        return round(value, _DIGITS)
    return round(float(value) * _STEPS_PER_UNIT) / _STEPS_PER_UNIT


def _largest(slot: Slot) -> Size:
    """The largest size that an obstacle can have."""
    return tuple(
        fixed if drawn is None else drawn.support[1]
        for fixed, (_, drawn) in zip(slot.model.size, slot.group.sizes)
    )


def _drawn_sizes(group: AnyObstacles) -> int:
    return sum(drawn is not None for _, drawn in group.sizes)


def _region_sampler(
    spec: ObstacleSpec,
    group: AnyObstacles,
) -> Optional[RegionSampler]:
    regions = group.region or spec.region
    if regions is None:
        return None
    try:
        return RegionSampler(union_of(regions))
    except ValueError as error:
        raise PlacementError(f"obstacles of {group.label!r}: {error}") from error
