"""One success rate with repetitions: the world is the unit, not the trial.

Trials in one world resemble each other, so the rate's interval comes from drawing whole worlds
again (percentile bootstrap, 10 000 draws from a fixed seed), and the intra-class correlation
says how alike they are: one-way analysis-of-variance estimator for unequal group sizes, S. Wu,
C. M. Crespi and W. K. Wong, Contemporary Clinical Trials 33 (2012), eq. (ANOVA); the design
effect is ``1 + (m − 1)·ICC``.
"""

import math
from typing import Sequence, Tuple

import numpy as np

from gz_testauto.analysis.intervals import LEVEL, Estimate, success_rate

DRAWS = 10_000
SEED = 0


def clustered_rate(successes: Sequence[int], trials: Sequence[int]) -> Estimate:
    """Success rate over all trials; ``successes`` and ``trials`` have one entry per world.

    With one trial per world this is :func:`~gz_testauto.analysis.intervals.success_rate`.
    Where every trial ended alike the bootstrap has no width, and the exact interval with as
    many trials as there are worlds is given instead.
    """
    success, count = _worlds(successes, trials)
    if not len(count):
        return Estimate.unknown()
    if (count == 1).all():
        return success_rate(int(success.sum()), len(count))
    rate = float(success.sum() / count.sum())
    if rate in (0.0, 1.0):
        exact = success_rate(len(count) if rate else 0, len(count))
        return Estimate(rate, exact.low, exact.high, "Clopper–Pearson over worlds")
    generator = np.random.default_rng(SEED)
    draws = generator.integers(len(count), size=(DRAWS, len(count)))
    rates = success[draws].sum(axis=1) / count[draws].sum(axis=1)
    low, high = np.quantile(rates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(rate, float(low), float(high), "bootstrap over worlds")


def intraclass_correlation(successes: Sequence[int], trials: Sequence[int]) -> float:
    """ICC of success between trials of one world; NaN with one trial per world, fewer than two
    worlds, or when every trial ended alike. May be slightly negative."""
    success, count = _worlds(successes, trials)
    total, worlds = count.sum(), len(count)
    if worlds < 2 or total <= worlds:
        return math.nan
    rates = success / count
    mean = success.sum() / total
    between = (count * (rates - mean) ** 2).sum() / (worlds - 1)
    within = (count * rates * (1 - rates)).sum() / (total - worlds)
    size = (total - (count**2).sum() / total) / (worlds - 1)
    spread = between + (size - 1) * within
    return float((between - within) / spread) if spread > 0 else math.nan


def design_effect(successes: Sequence[int], trials: Sequence[int]) -> float:
    """By how much repetitions widen the variance of the rate: ``1 + (m − 1)·ICC`` with ``m`` the
    mean number of trials per world, at least 1; NaN where the correlation is."""
    _, count = _worlds(successes, trials)
    correlation = intraclass_correlation(successes, trials)
    if math.isnan(correlation):
        return math.nan
    return max(1.0 + (float(count.mean()) - 1.0) * correlation, 1.0)


def _worlds(successes: Sequence[int], trials: Sequence[int]) -> Tuple[np.ndarray, np.ndarray]:
    success, count = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    return success[count > 0], count[count > 0]
