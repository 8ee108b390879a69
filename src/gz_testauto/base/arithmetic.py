"""Array operations that have the same bits on each x86-64 processor with AVX2 and FMA.

``@``, ``np.dot``, ``np.linalg`` and functions such as ``np.exp`` choose a kernel for the processor,
and their last bits differ. For values that are recorded, or on which recorded values depend, use
this module, :mod:`gz_testauto.base.elementary`, arithmetic operators, sums, ``np.hypot``,
``np.sin``, ``np.cos`` and ``math``.
"""

import numpy as np


def matrix_product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the product of (stacks of) matrices, or of a matrix and a vector."""
    if np.ndim(second) == 1:
        return np.einsum("...j,j->...", first, second)
    if np.ndim(first) == 1:
        return np.einsum("j,jk->k", first, second)
    return np.einsum("...ij,...jk->...ik", first, second)


def turned_tensor(turn: np.ndarray, tensor: np.ndarray) -> np.ndarray:
    """Return a tensor, such as an inertia, shape (3, 3), rotated by the matrix ``turn``:
    ``turn · tensor · turnᵀ``."""
    return matrix_product(matrix_product(turn, tensor), turn.T)
