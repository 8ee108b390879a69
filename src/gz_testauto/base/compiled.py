"""Decorators that compile inner loops with numba, which is imported only with this module.

Compiled functions return the same bits as the same arithmetic in Python or NumPy: sums keep their
order, and no operations are fused or reordered. Do not call trigonometric functions in a compiled
function: it would use the C library, whose last bit differs from NumPy's. Square roots and
``math.hypot`` are identical in both.
"""

from typing import Any, Callable, Optional

import numba


def compiled(function):  # type: ignore[no-untyped-def]
    """Compile ``function`` at its first call; cache the result on disk if possible."""
    return _compile(function, None)


def compiled_for(signature: str) -> Callable[[Any], Any]:
    """Compile at import for a numba signature; cache the result on disk if possible.

    Use it for functions that a planner calls, so that its first cycle takes no longer than others.
    """
    return lambda function: _compile(function, signature)


def _compile(function: Any, signature: Optional[str]) -> Any:
    try:
        return numba.njit(signature, cache=True, error_model="numpy")(function)
    except RuntimeError:  # neither the source's directory nor the user's cache is writable
        return numba.njit(signature, error_model="numpy")(function)
