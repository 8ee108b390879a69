"""Several questions at once: Holm's adjustment, and tests of more than two planners.

S. Holm, Scandinavian Journal of Statistics 6 (1979); W. G. Cochran, Biometrika 37 (1950).
"""

import math
from typing import List, Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> List[float]:
    """Adjusted p-values in the order given; NaN stays NaN and counts as no question."""
    adjusted = [math.nan] * len(p_values)
    asked = sorted((p, index) for index, p in enumerate(p_values) if not math.isnan(p))
    highest = 0.0
    for rank, (p, index) in enumerate(asked):
        highest = max(highest, min(1.0, (len(asked) - rank) * p))
        adjusted[index] = highest
    return adjusted


def cochran_q(successes: np.ndarray) -> float:
    """p-value that several planners succeed equally often in the same worlds.

    ``successes`` has shape (worlds, planners), 0 or 1. NaN for fewer than two planners; 1 when
    no world tells them apart.
    """
    from scipy.stats import chi2

    table = np.asarray(successes, dtype=float)
    planners = table.shape[1]
    if planners < 2:
        return math.nan
    per_planner, per_world = table.sum(axis=0), table.sum(axis=1)
    denominator = planners * per_world.sum() - (per_world**2).sum()
    if denominator == 0:
        return 1.0
    spread = planners * (per_planner**2).sum() - per_planner.sum() ** 2
    return float(chi2.sf((planners - 1) * spread / denominator, planners - 1))
