"""Friction of pairs: the smaller of two coefficients, in an engine that multiplies them.

Owns the coefficients that Bullet is given in place of those of the SDF, so that their products are
what Gazebo takes. That can be had exactly where only one model moves and all that stays has one
coefficient, or none that is lower than one of that model, and in many other worlds; where it
cannot, what touches the ground comes first, then what stands, then what else moves, and the worst
pair is told.
"""

from dataclasses import dataclass
from typing import Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

import numpy as np

LARGEST = 10.0
"""What holds at this coefficient holds at any; Bullet takes no larger product."""

ON_GROUND, ON_STATIC, ON_MOVING = 1e4, 1e2, 1.0
"""How much a pair counts by what it is with."""

WORTH_A_WORD = 0.05
"""A pair whose friction is off by more than this share is told."""


@dataclass(frozen=True)
class Rubs:
    """A collision that rubs: its coefficient, the model if that can move, and whether it is ground
    (:attr:`~gz_testauto.sdf.scene.CollisionShape.is_ground`)."""

    mu: float
    model: Optional[str]
    ground: bool


class Unlike(NamedTuple):
    """Two collisions whose friction is not what it should be."""

    first: str
    second: str
    has: float
    wanted: float


@dataclass(frozen=True)
class Solved:
    """The coefficient for Bullet of each collision, by name, and the pair that is farthest off;
    None where all are right."""

    coefficients: Mapping[str, float]
    worst: Optional[Unlike]


class _Kind(NamedTuple):
    """Collisions that are alike."""

    mu: float
    moves: bool
    ground: bool


def solve(collisions: Mapping[str, Rubs]) -> Solved:
    """Find coefficients whose products are the smaller of the two in all pairs that can touch:
    those of which one moves, of different models."""
    examples: Dict[_Kind, str] = {}
    models: Dict[_Kind, Set[str]] = {}
    for name, rubs in collisions.items():
        kind = _kind(rubs)
        examples.setdefault(kind, name)
        models.setdefault(kind, set()).add(rubs.model or "")
    kinds = [kind for kind in examples if kind.mu > 0]
    pairs = _pairs(kinds, models)
    own = dict(zip(kinds, _products(kinds, pairs)))
    return Solved(
        {name: own.get(_kind(rubs), 0.0) for name, rubs in collisions.items()},
        _worst(pairs, own, examples),
    )


def _kind(rubs: Rubs) -> _Kind:
    return _Kind(min(rubs.mu, LARGEST), rubs.model is not None, rubs.ground)


def _pairs(kinds: List[_Kind], models: Mapping[_Kind, Set[str]]) -> List[Tuple[_Kind, _Kind]]:
    """The kinds of which two can touch; one of them moves."""
    return [
        (one, other)
        for number, one in enumerate(kinds)
        for other in kinds[number:]
        if (one.moves or other.moves) and len(models[one] | models[other]) > 1
    ]


def _products(kinds: List[_Kind], pairs: List[Tuple[_Kind, _Kind]]) -> List[float]:
    """Coefficients whose products are right, or nearly: linear equations of their logarithms."""
    if not pairs:
        return [kind.mu for kind in kinds]
    rows, wanted = np.zeros((len(pairs), len(kinds))), np.empty(len(pairs))
    for row, pair in enumerate(pairs):
        weight = _weight(*pair)
        for kind in pair:
            rows[row, kinds.index(kind)] += weight
        wanted[row] = weight * np.log(min(kind.mu for kind in pair))
    logs = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    return np.exp(logs).tolist()  # type: ignore[no-any-return]


def _weight(one: _Kind, other: _Kind) -> float:
    if one.moves and other.moves:
        return ON_MOVING
    return ON_GROUND if one.ground or other.ground else ON_STATIC


def _worst(
    pairs: List[Tuple[_Kind, _Kind]], own: Mapping[_Kind, float], examples: Mapping[_Kind, str]
) -> Optional[Unlike]:
    worst, farthest = None, WORTH_A_WORD
    for one, other in pairs:
        has, wanted = own[one] * own[other], min(one.mu, other.mu)
        if abs(has / wanted - 1.0) > farthest:
            farthest = abs(has / wanted - 1.0)
            worst = Unlike(examples[one], examples[other], has, wanted)
    return worst
