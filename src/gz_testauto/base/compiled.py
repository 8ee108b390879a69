"""Compile inner loops with numba, which no other module imports.

A compiled function and the same arithmetic in Python or NumPy give identical results, bit by bit:
no operations are fused or reordered. Do not call trigonometric functions in a compiled function. It
would use those of the C library, whose results differ from NumPy's in the last bit. Square roots
and ``math.hypot`` are identical in both.
"""

from typing import Any, Callable, Optional

import numba


def compiled(function):  # type: ignore[no-untyped-def]
    """Return ``function`` compiled at its first call; cache the compiled code on disk if
    possible.
    """
    return _compile(function, None)


def compiled_for(signature: str) -> Callable[[Any], Any]:
    """Return a decorator that compiles a function at import for a numba signature.

    Use the decorator for functions that a planner calls, so that the first planner cycle takes no
    longer than later cycles. The compiled code is cached on disk if possible.
    """
    return lambda function: _compile(function, signature)


def _compile(function: Any, signature: Optional[str]) -> Any:
    try:
        return numba.njit(signature, cache=True, error_model="numpy")(function)
    except RuntimeError:  # neither the source's directory nor the user's cache is writable
        return numba.njit(signature, error_model="numpy")(function)
