"""Friction of pairs: the smaller of two coefficients, in an engine that multiplies them.

This module computes coefficients for Bullet whose products equal the friction in Gazebo. An exact
solution exists if only one model moves and all static collisions have one coefficient, or none that
is lower than one of that model, and in many other worlds. Otherwise pairs with the ground have the
largest weight, then those with static models, then those of moving models; the worst pair is
logged.
"""

from typing import Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

import numpy as np

MAX_FRICTION = 10.0
"""Larger coefficients have no further effect; Bullet uses no larger product."""

ON_GROUND, ON_STATIC, ON_MOVING = 1e4, 1e2, 1.0
"""Weight of a pair by its other collision."""

WARN_ERROR = 0.05
"""Relative error of a pair's friction from which on it is logged."""


class FrictionSurface(NamedTuple):
    """The friction of a collision: its coefficient, its model if that can move, and whether it is
    ground (:attr:`~gz_testauto.sdf.scene.CollisionShape.is_ground`)."""

    mu: float
    model: Optional[str]
    ground: bool


class InexactPair(NamedTuple):
    """Two collisions whose friction has an error."""

    first: str
    second: str
    has: float
    wanted: float


class FrictionSolution(NamedTuple):
    """Bullet's coefficient of each collision, by name, and the pair with the largest error; None if
    all are exact."""

    coefficients: Mapping[str, float]
    worst: Optional[InexactPair]


class _FrictionClass(NamedTuple):
    """Collisions with equal properties."""

    mu: float
    moves: bool
    ground: bool


def solve(collisions: Mapping[str, FrictionSurface]) -> FrictionSolution:
    """Return coefficients whose products are the smaller of the two in all pairs that can touch:
    those of different models of which one can move."""
    examples: Dict[_FrictionClass, str] = {}
    models: Dict[_FrictionClass, Set[str]] = {}
    for name, surface in collisions.items():
        kind = _kind(surface)
        examples.setdefault(kind, name)
        models.setdefault(kind, set()).add(surface.model or "")
    kinds = [kind for kind in examples if kind.mu > 0]
    pairs = _pairs(kinds, models)
    own = dict(zip(kinds, _products(kinds, pairs)))
    return FrictionSolution(
        {name: own.get(_kind(surface), 0.0) for name, surface in collisions.items()},
        _worst(pairs, own, examples),
    )


def _kind(surface: FrictionSurface) -> _FrictionClass:
    return _FrictionClass(min(surface.mu, MAX_FRICTION), surface.model is not None, surface.ground)


def _pairs(
    kinds: List[_FrictionClass], models: Mapping[_FrictionClass, Set[str]]
) -> List[Tuple[_FrictionClass, _FrictionClass]]:
    """Return the pairs of classes that can touch; one of them can move."""
    return [
        (one, other)
        for number, one in enumerate(kinds)
        for other in kinds[number:]
        if (one.moves or other.moves) and len(models[one] | models[other]) > 1
    ]


def _products(
    kinds: List[_FrictionClass], pairs: List[Tuple[_FrictionClass, _FrictionClass]]
) -> List[float]:
    """Return coefficients with the right products, if possible: a least-squares problem of their
    logarithms."""
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


def _weight(one: _FrictionClass, other: _FrictionClass) -> float:
    if one.moves and other.moves:
        return ON_MOVING
    return ON_GROUND if one.ground or other.ground else ON_STATIC


def _worst(
    pairs: List[Tuple[_FrictionClass, _FrictionClass]],
    own: Mapping[_FrictionClass, float],
    examples: Mapping[_FrictionClass, str],
) -> Optional[InexactPair]:
    worst, farthest = None, WARN_ERROR
    for one, other in pairs:
        has, wanted = own[one] * own[other], min(one.mu, other.mu)
        if abs(has / wanted - 1.0) > farthest:
            farthest = abs(has / wanted - 1.0)
            worst = InexactPair(examples[one], examples[other], has, wanted)
    return worst
