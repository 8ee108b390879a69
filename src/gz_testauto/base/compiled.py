"""Compiles inner loops with numba; only importing this module loads it.

Owns how it is done, so that it is done the same way everywhere. What is compiled gives the same
bits as the same arithmetic in Python or numpy: sums keep their order, nothing is fused or taken
for exact. Sine, cosine, their inverses and the like are numpy's to compute, whose last bit differs
from that of the C library, which a compiled loop would ask; square roots and ``math.hypot`` are
the same in both.
"""

from typing import Any, Callable, Optional

import numba


def compiled(function):  # type: ignore[no-untyped-def]
    """Compile when first called, kept on disk where there is a place for it."""
    return _compile(function, None)


def compiled_for(signature: str) -> Callable[[Any], Any]:
    """Compile at once for arguments of these types, numba's text for them, kept on disk likewise.

    For what a planner calls: so its first cycle is no longer than the others.
    """
    return lambda function: _compile(function, signature)


def _compile(function: Any, signature: Optional[str]) -> Any:
    try:
        return numba.njit(signature, cache=True, error_model="numpy")(function)
    except RuntimeError:  # neither beside the source nor in the user's cache
        return numba.njit(signature, error_model="numpy")(function)
