"""Multiple comparisons: Holm's adjustment, and tests of more than two planners.

S. Holm, Scandinavian Journal of Statistics 6 (1979); W. G. Cochran, Biometrika 37 (1950);
M. Friedman, JASA 32 (1937). Cochran's Q is Friedman's statistic of numbers 0 and 1. Both have a χ²
distribution for many worlds; for few, in which planners differ at all, it is that of the planners'
names shuffled within each world, from a fixed seed.
"""

import math
from typing import List, Sequence, Tuple

import numpy as np

from gz_testauto.analysis.rounding import without_noise

SHUFFLED_UP_TO = 200
"""More worlds in which planners differ use the χ² distribution."""

SHUFFLES = 9999
SEED = 0
_CHUNK = 303


def holm(p_values: Sequence[float]) -> List[float]:
    """Return adjusted p-values in the given order; NaN stays NaN and counts as no question."""
    adjusted = [math.nan] * len(p_values)
    known = sorted((p, index) for index, p in enumerate(p_values) if not math.isnan(p))
    highest = 0.0
    for rank, (p, index) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        adjusted[index] = highest
    return adjusted


def planners_differ(rates: np.ndarray) -> Tuple[float, str]:
    """Return the p-value that several planners succeed equally often in the same worlds, and the
    name of the test; 1 if they are equal in every world.

    ``rates`` has shape (worlds, planners): Cochran's Q where each is 0 or 1, else Friedman's test.
    """
    from scipy.stats import chi2, rankdata

    levels = without_noise(np.ravel(rates), 1.0).reshape(np.shape(rates))
    name = "Cochran's Q" if np.isin(levels, (0.0, 1.0)).all() else "Friedman"
    planners = levels.shape[1]
    ranks = rankdata(levels, axis=1) - (planners + 1) / 2.0
    ranks = ranks[ranks.any(axis=1)]
    if not len(ranks):
        return 1.0, name
    found = float((ranks.sum(axis=0) ** 2).sum())
    if len(ranks) > SHUFFLED_UP_TO:
        statistic = (planners - 1) * found / float((ranks**2).sum())
        return float(chi2.sf(statistic, planners - 1)), f"{name} (χ²)"
    generator = np.random.default_rng(SEED)
    as_far = 1
    for _ in range(SHUFFLES // _CHUNK):
        shuffled = generator.permuted(np.broadcast_to(ranks, (_CHUNK, *ranks.shape)), axis=2)
        sums = (shuffled.sum(axis=1) ** 2).sum(axis=1)
        as_far += int(np.count_nonzero(sums >= found - 1e-9))
    return as_far / (SHUFFLES + 1), f"{name} (shuffled within worlds)"
