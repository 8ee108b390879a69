"""Elementary functions of arrays that have the same bits on each x86-64 processor with AVX2 and
FMA, as :mod:`gz_testauto.base.arithmetic` requires."""

import math

from gz_testauto.base.compiled import compiled_ufunc


@compiled_ufunc("float64(float64)")
def exp(value):  # type: ignore[no-untyped-def]
    return math.exp(value)


@compiled_ufunc("float64(float64)")
def arcsin(sine):  # type: ignore[no-untyped-def]
    return math.asin(sine)


@compiled_ufunc("float64(float64, float64)")
def arctan2(y, x):  # type: ignore[no-untyped-def]
    return math.atan2(y, x)
