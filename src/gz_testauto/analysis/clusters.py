"""One success rate with repetitions: the world is the unit, not the trial.

Trials in one world are correlated, so the rate is the mean of the worlds' rates, with an interval
over worlds (:mod:`gz_testauto.analysis.bounded_mean`). The intra-class correlation measures their
similarity: one-way analysis-of-variance estimator for unequal group sizes, S. Wu,
C. M. Crespi and W. K. Wong, Contemporary Clinical Trials 33 (2012), eq. (ANOVA); the design
effect is ``1 + (m − 1)·ICC``.
"""

import math
from typing import Sequence, Tuple

import numpy as np

from gz_testauto.analysis.bounded_mean import RATE, WHOLE, mean_interval
from gz_testauto.analysis.intervals import ONE_WORLD, Estimate, success_rate


def clustered_rate(successes: Sequence[int], trials: Sequence[int]) -> Estimate:
    """Return the mean of the worlds' success rates; ``successes`` and ``trials`` have one entry per
    world.

    With one trial per world this is :func:`~gz_testauto.analysis.intervals.success_rate`. One world
    has a rate and no interval.
    """
    success, count = _worlds(successes, trials)
    if not len(count):
        return Estimate.unknown()
    if len(count) == 1:
        return Estimate.without_interval(float(success[0] / count[0]), ONE_WORLD)
    if (count == 1).all():
        return success_rate(int(success.sum()), len(count))
    return mean_interval(success / count, RATE, WHOLE)


def intraclass_correlation(successes: Sequence[int], trials: Sequence[int]) -> float:
    """Return the ICC of success between trials of one world, 0 where the estimate is negative; NaN
    with one trial per world, fewer than two worlds, or if all trials have the same outcome."""
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
    return max(float((between - within) / spread), 0.0) if spread > 0 else math.nan


def design_effect(successes: Sequence[int], trials: Sequence[int]) -> float:
    """Return by how much repetitions widen the variance of the rate: ``1 + (m − 1)·ICC`` with ``m``
    the mean number of trials per world; NaN where the correlation is."""
    _, count = _worlds(successes, trials)
    correlation = intraclass_correlation(successes, trials)
    if math.isnan(correlation):
        return math.nan
    return 1.0 + (float(count.mean()) - 1.0) * correlation


def _worlds(successes: Sequence[int], trials: Sequence[int]) -> Tuple[np.ndarray, np.ndarray]:
    success, count = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    return success[count > 0], count[count > 0]
