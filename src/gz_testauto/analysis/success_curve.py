"""Fit a logistic curve to success against the difficulty of worlds.

The curve is ``P(reached) = 1 / (1 + exp(-(a + b·x)))``, where ``x`` is a figure of the world's
difficulty. The confidence band is pointwise, on the scale of the logit.
"""

import math
from dataclasses import dataclass
from typing import Optional, Sequence

import numpy as np

from gz_testauto.analysis.intervals import LEVEL, Estimate
from gz_testauto.analysis.logistic import cluster_covariance, fit_logistic

LEAST_WORLDS = 4


@dataclass(frozen=True, eq=False)
class SuccessCurve:
    """A logistic regression of the success rate on a figure of the worlds.

    At the figures ``x``, shape (n,), the curve is ``rate`` with the confidence limits ``low`` and
    ``high``. ``slope`` is the coefficient ``b`` of the figure. ``p`` is the p-value of Wald's test
    of ``b = 0``, which agrees with the interval of ``slope``.
    """

    x: np.ndarray
    rate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    slope: Estimate
    worlds: int
    p: float


def success_curve(
    figures: Sequence[float],
    successes: Sequence[int],
    trials: Sequence[int],
    points: int = 61,
) -> Optional[SuccessCurve]:
    """Return the curve for worlds with ``figures``, such as their difficulty, and ``successes`` in
    ``trials``, evaluated at ``points`` figures.

    It is None for fewer than :data:`LEAST_WORLDS` worlds, or if all have the same figure. Worlds
    without trials, and those with a figure that is not finite, are ignored.
    """
    figure, success, trial_counts = (
        np.asarray(v, dtype=float) for v in (figures, successes, trials)
    )
    is_used = (trial_counts > 0) & np.isfinite(figure)
    figure, success, trial_counts = figure[is_used], success[is_used], trial_counts[is_used]
    if len(figure) < LEAST_WORLDS or np.ptp(figure) == 0.0:
        return None
    center, scale = float(figure.mean()), float(figure.std())
    design = np.column_stack([np.ones(len(figure)), (figure - center) / scale])
    fit = fit_logistic(design, success, trial_counts)
    beta, has_repetitions = fit.coefficients, bool((trial_counts > 1).any())
    variance = fit.model_covariance
    # Repetitions in one world are correlated. The wider variance is used, with a t distribution
    # over worlds.
    if has_repetitions:
        robust = cluster_covariance(fit, design, success, trial_counts, np.arange(len(figure)))
        variance = robust if np.trace(robust) > np.trace(variance) else variance
    x = np.linspace(figure.min(), figure.max(), points)
    curve_design = np.column_stack([np.ones(points), (x - center) / scale])
    # scipy.stats, which has the same functions, takes half a second to import
    from scipy.special import expit, ndtr, ndtri, stdtr, stdtrit

    freedom, upper = len(figure) - 2, (1 + LEVEL) / 2
    reach = float(stdtrit(freedom, upper) if has_repetitions else ndtri(upper))
    logit, error = (
        curve_design @ beta,
        np.sqrt(np.einsum("ij,jk,ik->i", curve_design, variance, curve_design)),
    )
    slope, half_width = float(beta[1]) / scale, reach * math.sqrt(variance[1, 1]) / scale
    lower_tail = -abs(beta[1]) / math.sqrt(variance[1, 1])
    return SuccessCurve(
        x,
        expit(logit),
        expit(logit - reach * error),
        expit(logit + reach * error),
        Estimate(slope, slope - half_width, slope + half_width, "logistic regression, Firth"),
        len(figure),
        float(2.0 * (stdtr(freedom, lower_tail) if has_repetitions else ndtr(lower_tail))),
    )
