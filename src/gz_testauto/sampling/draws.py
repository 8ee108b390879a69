"""What the numbers behind a world mean: which obstacles, how large, turned how, proposed where.

Owns the order of those numbers, which is fixed by the specification alone: first one per
group whose count is a range, then for every obstacle that there may be its x, y, heading and
each size that is drawn. An obstacle that is not there this time leaves its numbers unused, so
that each number means the same in every world. Whether a proposal fits is
:mod:`gz_testauto.sampling.placement`'s business.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.errors import PlacementError
from gz_testauto.grid.visibility import widen
from gz_testauto.sampling.models import ObstacleModel, Size, read_model
from gz_testauto.sampling.naming import obstacle_name
from gz_testauto.sampling.regions import RegionSampler, places_of
from gz_testauto.spec.obstacles import AnyObstacles, ObstacleSpec
from gz_testauto.spec.regions import union_of

_DIGITS = 6
"""Drawn values are rounded to micrometres: worlds stay readable, and what the manifest says
is what the world holds."""


@dataclass(frozen=True)
class Slot:
    """An obstacle that there may be: its name, how it is drawn, what it is made of.

    ``ground_z_m`` is the height on which it stands.
    """

    name: str
    group: AnyObstacles  # type: ignore[valid-type]
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


class Roster:
    """All obstacles that a world may have.

    ``choose`` is True when how many of each group there are is drawn as well, and False when
    all of ``slots`` are there, as in a saved world.
    """

    def __init__(self, spec: ObstacleSpec, slots: Sequence[Slot], choose: bool) -> None:
        self.spec = spec
        self.slots = tuple(slots)
        self._choose = choose
        self._regions: Dict[int, Optional[RegionSampler]] = {}
        for slot in self.slots:
            self._regions.setdefault(id(slot.group), _region_sampler(spec, slot.group))

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
        """The centre (x, y) that belongs to two numbers in [0, 1)."""
        group = slot.group
        if group.x_m is not None and group.y_m is not None:
            return (
                _rounded(group.x_m, group.x_m.quantile(first)),
                _rounded(group.y_m, group.y_m.quantile(second)),
            )
        sampler = self._regions[id(group)]
        assert sampler is not None  # the specification has a region or x_m and y_m
        x, y = sampler.point(first, second)
        return round(x, _DIGITS), round(y, _DIGITS)

    def ground(self) -> BaseGeometry:
        """All ground that obstacles can cover, in the world frame (m): the places of their
        centres, widened by as far as the largest of each group reaches."""
        reach_m: Dict[int, float] = {}
        groups = {id(slot.group): slot.group for slot in self.slots}
        for slot in self.slots:
            largest = slot.model.outline(_largest(slot)).reach_m
            reach_m[id(slot.group)] = max(largest, reach_m.get(id(slot.group), 0.0))
        places = np.array([places_of(self.spec, g) for g in groups.values()], dtype=object)
        return shapely.union_all(widen(places, np.array([reach_m[key] for key in groups])))

    def area_m2(self) -> float:
        """Area of all regions, the larger ones where groups have different ones."""
        areas = [sampler.area_m2 for sampler in self._regions.values() if sampler is not None]
        return max(areas, default=0.0)

    def _propose_one(self, slot: Slot, supply: "object") -> Proposal:
        draw = supply.__next__  # type: ignore[attr-defined]
        x, y = self.place_for(slot, draw(), draw())
        yaw = _rounded(slot.group.yaw_rad, slot.group.yaw_rad.quantile(draw()))
        size = [
            fixed if drawn is None else _rounded(drawn, drawn.quantile(draw()))
            for fixed, (_, drawn) in zip(slot.model.size, slot.group.sizes)
        ]
        return Proposal(slot, x, y, yaw, tuple(size))


def _rounded(distribution: "object", value: float) -> float:
    low, high = distribution.support  # type: ignore[attr-defined]
    return float(min(max(round(value, _DIGITS), low), high))


def _largest(slot: Slot) -> Size:
    """The largest size that an obstacle can have."""
    return tuple(
        fixed if drawn is None else drawn.support[1]
        for fixed, (_, drawn) in zip(slot.model.size, slot.group.sizes)
    )


def _drawn_sizes(group: AnyObstacles) -> int:  # type: ignore[valid-type]
    return sum(drawn is not None for _, drawn in group.sizes)


def _region_sampler(
    spec: ObstacleSpec,
    group: AnyObstacles,  # type: ignore[valid-type]
) -> Optional[RegionSampler]:
    regions = group.region or spec.region
    if regions is None:
        return None
    try:
        return RegionSampler(union_of(regions))
    except ValueError as error:
        raise PlacementError(f"obstacles of {group.label!r}: {error}") from error
