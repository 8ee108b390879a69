"""Random numbers in [0, 1) for each world: independent, from a Latin hypercube, or from a Sobol
sequence.

The numbers of world *i* depend only on the seed, *i* and the specification, not on the number of
worlds. :mod:`gz_testauto.sampling.draws` defines their meaning.
"""

from typing import Any, Dict, NamedTuple

import numpy as np
import scipy

from gz_testauto.sampling.seeds import FIRST, LATIN_HYPERCUBE, SOBOL, WORLD, child_generator
from gz_testauto.spec.obstacles import SamplingSpec

# Number of points of the Sobol sequence that are computed together.
SOBOL_BLOCK = 256  # scrambling the sequence takes far more time than computing points

# The keyword by which scipy accepts a generator; scipy 2 removes the old one.
_RNG = "rng" if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 15) else "seed"


class Coverage(NamedTuple):
    """The uniformity of points in the unit cube: their centered discrepancy (Hickernell 1998), and
    the mean discrepancy of the same number of independent points. Lower is more uniform."""

    discrepancy: float
    independent: float


class UnitSequence:
    """A sequence with a point in the unit cube for each world."""

    def __init__(self, sampling: SamplingSpec, dimensions: int, seed: int) -> None:
        self._sampling = sampling
        self._dimensions = dimensions
        self._seed = seed
        self._blocks: Dict[int, np.ndarray] = {}

    def point(self, index: int) -> np.ndarray:
        """Return the random numbers in [0, 1) of world ``index``, shape (dimensions,)."""
        if self._sampling.method == "uniform":
            return child_generator(self._seed, WORLD, index, FIRST).random(self._dimensions)
        size = self._sampling.block if self._sampling.method == "lhs" else SOBOL_BLOCK
        block, offset = divmod(index, size)
        if block not in self._blocks:
            self._blocks[block] = self._block_sampler(block).random(size)
        return self._blocks[block][offset]

    def coverage(self, count: int) -> Coverage:
        """Return the mean discrepancy of the first ``count`` worlds over all pairs of neighboring
        dimensions, for example x and y of an obstacle."""
        # With 16 obstacles, a sequence has about 80 dimensions, in which the discrepancy of a few
        # hundred points would have no meaning.
        from scipy.stats import qmc

        points = np.array([self.point(index) for index in range(count)])
        pairs = [points[:, d : d + 2] for d in range(max(1, self._dimensions - 1))]
        discrepancies = [qmc.discrepancy(pair, method="CD") for pair in pairs]
        dimensions = pairs[0].shape[1]
        independent = ((5 / 4) ** dimensions - (13 / 12) ** dimensions) / count
        return Coverage(float(np.mean(discrepancies)), independent)

    def _block_sampler(self, block: int) -> Any:
        from scipy.stats import qmc

        if self._sampling.method == "lhs":
            generator = child_generator(self._seed, LATIN_HYPERCUBE, block)
            return qmc.LatinHypercube(self._dimensions, **{_RNG: generator})
        generator = child_generator(self._seed, SOBOL)
        sampler = qmc.Sobol(self._dimensions, scramble=True, **{_RNG: generator})
        if block:
            sampler.fast_forward(block * SOBOL_BLOCK)
        return sampler
