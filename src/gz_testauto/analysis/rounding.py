"""Remove floating-point noise from equal numbers.

Below a tolerance, two values, or a value and zero, are equal. A mean of three times on a 0.1 s grid
and the same mean in another order differ by 1e-16 s; a test that ranks differences would rank that
as well.
"""

import math
from typing import Sequence, Union

import numpy as np

TOLERANCE = 1e-9
"""Relative to the scale of the numbers that were subtracted."""

Values = Union[Sequence[float], np.ndarray]


def mean(values: Values) -> float:
    """Return the mean, which does not depend on the order of ``values``; NaN for none."""
    return math.fsum(values) / len(values) if len(values) else math.nan


def differences(first: Values, second: Values) -> np.ndarray:
    """Subtract ``second`` from ``first``, shape (n,), free of floating-point noise; equal infinite
    values differ by 0."""
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    sizes = np.abs(np.concatenate([one, other]))
    sizes = sizes[np.isfinite(sizes)]
    found = np.zeros(len(one))
    np.subtract(one, other, out=found, where=one != other)
    return without_noise(found, float(sizes.max()) if len(sizes) else 0.0)


def without_noise(values: Values, scale: float = 0.0) -> np.ndarray:
    """Make magnitudes equal that are within the tolerance of each other, and those within it of
    zero zero; shape (n,).

    The tolerance is relative to ``scale``, or to the largest magnitude where that is larger.
    """
    numbers = np.asarray(values, dtype=float)
    sizes = np.abs(numbers)
    finite = sizes[np.isfinite(sizes)]
    if not len(finite):
        return numbers
    tolerance = TOLERANCE * max(scale, float(finite.max()))
    levels = np.concatenate([[0.0], np.unique(finite)])
    begins = np.diff(levels, prepend=-np.inf) > tolerance  # of each group of equal magnitudes
    snapped = levels[begins][np.cumsum(begins) - 1]
    place = np.searchsorted(levels, sizes)
    known = np.isfinite(sizes)
    sizes[known] = snapped[place[known]]
    return np.asarray(np.where(known, np.copysign(sizes, numbers) + 0.0, numbers))
