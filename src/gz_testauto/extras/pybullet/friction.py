"""Friction coefficients for Bullet. In Gazebo, the smaller coefficient of two collisions applies,
whereas Bullet multiplies the two coefficients.

This module computes coefficients for Bullet whose products equal the friction in Gazebo. An exact
solution exists in many worlds, for example if only one model moves and all static collisions have
the same coefficient. Otherwise the module computes a weighted approximation, and the pair with the
largest error is logged. Pairs with the ground have the largest weight, followed by pairs with
static models and by pairs of moving models.
"""

from typing import Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

import numpy as np

MAX_FRICTION = 10.0
"""Largest friction coefficient. Larger coefficients have no further effect, and Bullet limits the
product to this value."""

ON_GROUND, ON_STATIC, ON_MOVING = 1e4, 1e2, 1.0
"""Weight of a pair of collisions, by the type of the collision that a moving model touches."""

WARN_ERROR = 0.05
"""Relative error of the friction of a pair above which the pair is logged."""


class FrictionSurface(NamedTuple):
    """A collision's friction coefficient, the name of its model if the model can move, and whether
    the collision is ground (:attr:`~gz_testauto.sdf.scene.CollisionShape.is_ground`)."""

    mu: float
    model: Optional[str]
    ground: bool


class InexactPair(NamedTuple):
    """Two collisions whose friction in Bullet differs from the wanted friction."""

    first: str
    second: str
    has: float
    wanted: float


class FrictionSolution(NamedTuple):
    """Bullet's coefficient of each collision, by name, and the pair with the largest error. The
    pair is None if the friction of all pairs is exact."""

    coefficients: Mapping[str, float]
    worst: Optional[InexactPair]


class _FrictionClass(NamedTuple):
    """A group of collisions with equal friction that can be treated as one collision."""

    mu: float
    moves: bool
    ground: bool


def solve(collisions: Mapping[str, FrictionSurface]) -> FrictionSolution:
    """Return coefficients whose product is the smaller of the two wanted coefficients, for all
    pairs of collisions that can touch. These belong to different models, of which at least one can
    move."""
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
    """Return the pairs of groups of collisions that can touch, since at least one of their models
    can move."""
    return [
        (one, other)
        for number, one in enumerate(kinds)
        for other in kinds[number:]
        if (one.moves or other.moves) and len(models[one] | models[other]) > 1
    ]


def _products(
    kinds: List[_FrictionClass], pairs: List[Tuple[_FrictionClass, _FrictionClass]]
) -> List[float]:
    """Return the coefficients whose products are nearest to the wanted frictions. The function
    solves a weighted least-squares problem for the logarithms of the coefficients."""
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
