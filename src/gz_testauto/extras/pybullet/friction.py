"""Friction coefficients for Bullet. Bullet multiplies those of two collisions, whereas the smaller
one applies in Gazebo.

The solution is exact if possible, for example if only one model moves and all static collisions
have the same coefficient. Otherwise, it is an approximation.
"""

from typing import Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

import numpy as np

MAX_FRICTION = 10.0  # largest friction coefficient, to which Bullet limits the product

ON_GROUND, ON_STATIC, ON_MOVING = 1e4, 1e2, 1.0
"""Weights of a pair by the type of the collision that a moving model touches."""

WARN_ERROR = 0.05  # relative error of the friction above which a pair is logged


class FrictionSurface(NamedTuple):
    """The friction of a collision. ``model`` is None if its model cannot move. For ``ground``, see
    :attr:`~gz_testauto.sdf.scene.CollisionShape.is_ground`."""

    mu: float
    model: Optional[str]
    ground: bool


class InexactPair(NamedTuple):
    first: str
    second: str
    has: float
    wanted: float


class FrictionSolution(NamedTuple):
    """Bullet's coefficients, and the pair with the largest error if it exceeds ``WARN_ERROR``."""

    coefficients: Mapping[str, float]
    worst: Optional[InexactPair]


class _FrictionClass(NamedTuple):
    mu: float
    moves: bool
    ground: bool


def solve(collisions: Mapping[str, FrictionSurface]) -> FrictionSolution:
    """Return a coefficient for each collision, by the names in ``collisions``. The products
    approximate Gazebo's friction for all pairs of collisions that can touch: those of different
    models, of which at least one can move."""
    examples: Dict[_FrictionClass, str] = {}
    models: Dict[_FrictionClass, Set[str]] = {}
    for name, surface in collisions.items():
        kind = _class_of(surface)
        examples.setdefault(kind, name)
        models.setdefault(kind, set()).add(surface.model or "")
    kinds = [kind for kind in examples if kind.mu > 0]
    pairs = _pairs_in_contact(kinds, models)
    coefficients = dict(zip(kinds, _fit_coefficients(kinds, pairs)))
    return FrictionSolution(
        {name: coefficients.get(_class_of(surface), 0.0) for name, surface in collisions.items()},
        _most_inexact_pair(pairs, coefficients, examples),
    )


def _class_of(surface: FrictionSurface) -> _FrictionClass:
    return _FrictionClass(min(surface.mu, MAX_FRICTION), surface.model is not None, surface.ground)


def _pairs_in_contact(
    kinds: List[_FrictionClass], models: Mapping[_FrictionClass, Set[str]]
) -> List[Tuple[_FrictionClass, _FrictionClass]]:
    # Two static surfaces, or two surfaces of the same model, do not collide.
    return [
        (first, second)
        for number, first in enumerate(kinds)
        for second in kinds[number:]
        if (first.moves or second.moves) and len(models[first] | models[second]) > 1
    ]


def _fit_coefficients(
    kinds: List[_FrictionClass], pairs: List[Tuple[_FrictionClass, _FrictionClass]]
) -> List[float]:
    """Return a coefficient of each kind, so that products approximate the lower mu of a pair."""
    # a weighted least-squares problem for the logarithms of the coefficients
    if not pairs:
        return [kind.mu for kind in kinds]
    matrix, log_targets = np.zeros((len(pairs), len(kinds))), np.empty(len(pairs))
    for row, pair in enumerate(pairs):
        weight = _pair_weight(*pair)
        for kind in pair:
            matrix[row, kinds.index(kind)] += weight
        log_targets[row] = weight * np.log(min(kind.mu for kind in pair))
    logs = np.linalg.lstsq(matrix, log_targets, rcond=None)[0]
    return np.exp(logs).tolist()  # type: ignore[no-any-return]


def _pair_weight(first: _FrictionClass, second: _FrictionClass) -> float:
    if first.moves and second.moves:
        return ON_MOVING
    return ON_GROUND if first.ground or second.ground else ON_STATIC


def _most_inexact_pair(
    pairs: List[Tuple[_FrictionClass, _FrictionClass]],
    coefficients: Mapping[_FrictionClass, float],
    examples: Mapping[_FrictionClass, str],
) -> Optional[InexactPair]:
    worst, largest_error = None, WARN_ERROR
    for first, second in pairs:
        product, lower_mu = coefficients[first] * coefficients[second], min(first.mu, second.mu)
        if abs(product / lower_mu - 1.0) > largest_error:
            largest_error = abs(product / lower_mu - 1.0)
            worst = InexactPair(examples[first], examples[second], product, lower_mu)
    return worst
