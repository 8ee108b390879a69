"""Remove floating-point noise, since tests rank all differences.

For example, the mean of three times on a 0.1 s grid changes by 1e-16 s with their order.
"""

import math
from typing import Sequence, Union

import numpy as np

TOLERANCE = 1e-9  # relative to the scale of the numbers that were subtracted

Values = Union[Sequence[float], np.ndarray]


def mean(values: Values) -> float:
    """Return the mean, which does not depend on the order of the values; NaN without values."""
    return math.fsum(values) / len(values) if len(values) else math.nan


def differences(first: Values, second: Values) -> np.ndarray:
    """Return ``first`` minus ``second``, shape (n,), without rounding errors (see
    :func:`without_noise`); 0 for equal infinite values."""
    minuend, subtrahend = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    sizes = np.abs(np.concatenate([minuend, subtrahend]))
    sizes = sizes[np.isfinite(sizes)]
    difference = np.zeros(len(minuend))
    np.subtract(minuend, subtrahend, out=difference, where=minuend != subtrahend)
    return without_noise(difference, float(sizes.max()) if len(sizes) else 0.0)


def without_noise(values: Values, scale: float = 0.0) -> np.ndarray:
    """Return ``values`` without rounding errors. Magnitudes within the tolerance of each other
    become equal, and those within the tolerance of zero become zero.

    The tolerance is :data:`TOLERANCE` times ``scale``, or times the largest magnitude if that is
    larger.
    """
    numbers = np.asarray(values, dtype=float)
    sizes = np.abs(numbers)
    finite = sizes[np.isfinite(sizes)]
    if not len(finite):
        return numbers
    tolerance = TOLERANCE * max(scale, float(finite.max()))
    levels = np.concatenate([[0.0], np.unique(finite)])
    is_first = np.diff(levels, prepend=-np.inf) > tolerance  # of equal magnitudes
    snapped_levels = levels[is_first][np.cumsum(is_first) - 1]
    index = np.searchsorted(levels, sizes)
    is_finite = np.isfinite(sizes)
    sizes[is_finite] = snapped_levels[index[is_finite]]
    return np.asarray(np.where(is_finite, np.copysign(sizes, numbers) + 0.0, numbers))
