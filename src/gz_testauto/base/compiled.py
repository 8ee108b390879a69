"""Compile inner loops with numba, which no other module imports.

Results are those of the same arithmetic in Python or NumPy, bit by bit. Trigonometric functions are
those of the C library, as in :mod:`gz_testauto.base.elementary`, and differ from NumPy's in the
last bit.
"""

import importlib
import sys
from typing import Any, Callable, Optional

_BLAS = "scipy.linalg.cython_blas"


def _import_numba() -> Any:
    """Import numba without BLAS, which the first compiled matrix product loads."""
    # The import of scipy.linalg takes an eighth of the time from the start to the first trial.
    is_loaded = _BLAS in sys.modules
    if not is_loaded:
        sys.modules[_BLAS] = None  # type: ignore[assignment]  # no import finds it
    try:
        importlib.import_module("numba.np.arraymath")  # which searches for BLAS
        return importlib.import_module("numba")
    finally:
        if not is_loaded:
            del sys.modules[_BLAS]


numba = _import_numba()


def compiled(function):  # type: ignore[no-untyped-def]
    """Return ``function`` compiled at its first call."""
    return _compile(function, None)


def compiled_for(signature: str) -> Callable[[Any], Any]:
    """Return a decorator that compiles a function at import for a numba signature."""
    # so that the first cycle of a planner is not slower than others
    return lambda function: _compile(function, signature)


def _compile(function: Any, signature: Optional[str]) -> Any:
    try:
        return numba.njit(signature, cache=True, error_model="numpy")(function)
    except RuntimeError:  # neither the source's directory nor the user's cache is writable
        return numba.njit(signature, error_model="numpy")(function)
