"""Fit a logistic curve, with its confidence band, to success against the difficulty of worlds.

The curve ``P(reached) = 1 / (1 + exp(-(a + b·x)))`` is fitted over worlds, where ``x`` is a figure
of the world's difficulty. Firth's penalized likelihood keeps the curve finite if the figure
separates success from failure, which is frequent with few worlds: D. Firth, Biometrika 80 (1993)
27–38; G. Heinze and M. Schemper, Statistics in Medicine 21 (2002) 2409–2419. With repetitions, the
unit is the world, and the variance is the sandwich estimator over worlds, K.-Y. Liang and S. L.
Zeger, Biometrika 73 (1986) 13–22, corrected for few worlds as L. A. Mancl and T. A. DeRouen do,
Biometrics 57 (2001) 126–134, with a t distribution whose degrees of freedom are the number of
worlds minus two. The band is pointwise, on the scale of the logit.
"""

import math
from dataclasses import dataclass
from typing import Optional, Sequence

import numpy as np

from gz_testauto.analysis.intervals import LEVEL, Estimate

LEAST_WORLDS = 4
"""Smallest number of worlds for which a curve is fitted."""
_STEPS = 100
_LARGEST_STEP = 2.0
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class SuccessCurve:
    """The curve at ``x``, shape (n,): ``rate`` with the limits ``low`` and ``high``.

    ``slope`` is ``b``, the change of the log-odds of success per unit of ``x``. If it is negative,
    success decreases with ``x``. ``worlds`` is the number of fitted worlds. ``p`` is the p-value of
    Wald's test of ``b = 0``, which agrees with the interval of ``slope``.
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
    """Fit the curve to the figure, the number of successes and the number of trials of each world.

    Return None for fewer than :data:`LEAST_WORLDS` worlds, or if all worlds have the same figure.
    """
    figure, success, count = (np.asarray(v, dtype=float) for v in (figures, successes, trials))
    used = (count > 0) & np.isfinite(figure)
    figure, success, count = figure[used], success[used], count[used]
    if len(figure) < LEAST_WORLDS or np.ptp(figure) == 0.0:
        return None
    center, scale = float(figure.mean()), float(figure.std())
    design = np.column_stack([np.ones(len(figure)), (figure - center) / scale])
    beta, information = _fit(design, success, count)
    variance = _variance(design, success, count, beta, information)
    x = np.linspace(figure.min(), figure.max(), points)
    at = np.column_stack([np.ones(points), (x - center) / scale])
    from scipy.special import expit
    from scipy.stats import norm, t

    repeated = bool((count > 1).any())
    distribution = t(len(figure) - 2) if repeated else norm()
    reach = float(distribution.ppf((1 + LEVEL) / 2))
    logit, error = at @ beta, np.sqrt(np.einsum("ij,jk,ik->i", at, variance, at))
    slope, of_slope = float(beta[1]) / scale, reach * math.sqrt(variance[1, 1]) / scale
    return SuccessCurve(
        x,
        expit(logit),
        expit(logit - reach * error),
        expit(logit + reach * error),
        Estimate(slope, slope - of_slope, slope + of_slope, "logistic regression, Firth"),
        len(figure),
        float(2.0 * distribution.sf(abs(beta[1]) / math.sqrt(variance[1, 1]))),
    )


def _fit(design: np.ndarray, success: np.ndarray, count: np.ndarray) -> tuple:
    """Return the coefficients, computed by Newton's method on Firth's score, and their information
    matrix.
    """
    from scipy.special import expit

    beta = np.zeros(design.shape[1])
    information = design.T @ design
    for _ in range(_STEPS):
        rate = expit(design @ beta)
        weight = count * rate * (1 - rate)
        information = design.T @ (weight[:, None] * design)
        inverse = np.linalg.inv(information)
        leverage = weight * np.einsum("ij,jk,ik->i", design, inverse, design)
        score = design.T @ (success - count * rate + leverage * (0.5 - rate))
        step = inverse @ score
        largest = float(np.abs(step).max())
        beta = beta + step * min(1.0, _LARGEST_STEP / max(largest, _TOLERANCE))
        if largest < _TOLERANCE:
            break
    return beta, information


def _variance(
    design: np.ndarray,
    success: np.ndarray,
    count: np.ndarray,
    beta: np.ndarray,
    information: np.ndarray,
) -> np.ndarray:
    """Return the covariance of the coefficients.

    It is the inverse information matrix or, with repetitions, the sandwich estimator over worlds if
    that is wider.
    """
    from scipy.special import expit

    inverse = np.linalg.inv(information)
    if (count == 1).all():
        return inverse
    rate = expit(design @ beta)
    leverage = count * rate * (1 - rate) * np.einsum("ij,jk,ik->i", design, inverse, design)
    residual = ((success - count * rate) / (1.0 - leverage))[:, None] * design
    robust = inverse @ (residual.T @ residual) @ inverse
    return robust if np.trace(robust) > np.trace(inverse) else inverse
