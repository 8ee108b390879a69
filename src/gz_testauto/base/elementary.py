"""Elementary functions of arrays, shape (n,), that have the same bits on each x86-64 processor with
AVX2 and FMA, as :mod:`gz_testauto.base.arithmetic` requires."""

import math

import numpy as np

from gz_testauto.base.compiled import compiled_for

# Loops, since loading three compiled ufuncs takes 0.12 s more. Arrays can be views and read-only.


@compiled_for("f8[::1](Array(f8, 1, 'A', True))")
def exp(values):  # type: ignore[no-untyped-def]
    results = np.empty(len(values))
    for index in range(len(values)):
        results[index] = math.exp(values[index])
    return results


@compiled_for("f8[::1](Array(f8, 1, 'A', True))")
def arcsin(sines):  # type: ignore[no-untyped-def]
    angles = np.empty(len(sines))
    for index in range(len(sines)):
        angles[index] = math.asin(sines[index])
    return angles


@compiled_for("f8[::1](Array(f8, 1, 'A', True), Array(f8, 1, 'A', True))")
def arctan2(y, x):  # type: ignore[no-untyped-def]
    if len(y) != len(x):
        raise ValueError("y and x have different lengths")
    angles = np.empty(len(y))
    for index in range(len(y)):
        angles[index] = math.atan2(y[index], x[index])
    return angles
