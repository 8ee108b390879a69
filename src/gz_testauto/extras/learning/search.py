"""Search for the weights of a policy by CMA-ES (pip extra ``learning``)."""

import math
import warnings
from typing import Any, List, Mapping, Sequence, Type

import numpy as np
from threadpoolctl import threadpool_limits

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.base.installation import install_command
from gz_testauto.extras.learning.policies.policy import WeightedPolicy


class WeightSearch:
    """A search for weights by CMA-ES (N. Hansen, "The CMA evolution strategy: a tutorial", 2016,
    arXiv:1604.00772).

    The search depends only on the rankings of the candidates, and gives identical numbers for the
    same seed on any number of processor cores.
    """

    def __init__(
        self,
        kind: Type[WeightedPolicy],
        parts: Mapping[str, slice],
        population: int,
        sigma: float,
        random: np.random.Generator,
    ) -> None:
        """Create the search. ``sigma`` is the standard deviation of the weights of the first
        candidates. Raises ``ValueError`` if the observation does not have the terms that this
        kind of policy needs, and ``MissingDependencyError`` if the package cma is missing."""
        self._start = kind.start(parts)
        self._directions = kind.directions(parts)
        self._strategy = _strategy(self._directions.shape[1], population, sigma, random)
        self._asked: Sequence[np.ndarray] = ()

    def ask(self) -> List[np.ndarray]:
        """Return the candidates of the next generation: a vector of weights (w,) for each."""
        with threadpool_limits(limits=1):
            self._asked = self._strategy.ask()
            return [self._weights(point) for point in self._asked]

    def tell(self, ranking: Sequence[int]) -> np.ndarray:
        """Update the search with the ranking of the last candidates, which are given as indices,
        the best first. Return the weights (w,) of the new mean."""
        places = np.empty(len(ranking))
        places[list(ranking)] = np.arange(len(ranking))
        with threadpool_limits(limits=1):
            self._strategy.tell(self._asked, places.tolist())
            return self._weights(np.array(self._strategy.mean, dtype=float))

    def _weights(self, point: np.ndarray) -> np.ndarray:
        return np.asarray(self._start + matrix_product(self._directions, point))


def _strategy(dimensions: int, population: int, sigma: float, random: np.random.Generator) -> Any:
    try:
        with warnings.catch_warnings():
            # It warns that it cannot plot if matplotlib is missing; nothing is plotted here.
            warnings.simplefilter("ignore", UserWarning)
            import cma
    except ImportError as error:
        raise MissingDependencyError(
            f"training needs cma, which cannot be imported ({error}); install it with "
            f"{install_command('learning')}"
        ) from error

    def normal(*size: int) -> np.ndarray:
        return random.standard_normal(size)

    chosen = {"popsize": population, "verbose": -9, "seed": math.nan, "randn": normal}
    return cma.CMAEvolutionStrategy(np.zeros(dimensions), sigma, chosen)
