"""Fit logistic regressions to few trials, whose outcomes are correlated within a world.

Firth's penalized likelihood keeps the coefficients finite if the columns separate success from
failure: D. Firth, Biometrika 80 (1993) 27–38; G. Heinze and M. Schemper, Statistics in Medicine 21
(2002) 2409–2419. The covariance with correlated trials is the sandwich estimator over clusters,
K.-Y. Liang and S. L. Zeger, Biometrika 73 (1986) 13–22, corrected for few clusters as L. A. Mancl
and T. A. DeRouen do, Biometrics 57 (2001) 126–134.
"""

from dataclasses import dataclass
from typing import List, Tuple

import numpy as np

_STEPS = 100
_LARGEST_STEP = 2.0
_TOLERANCE = 1e-9
_HALVINGS = 30
_GAIN = 1e-8  # gain of the log-likelihood at which the search stops

# Largest step of a converged coefficient, if columns have standard deviations of about 1.
_CONVERGED = 1e-3

# Added to a matrix, which is singular if the columns separate success from failure.
_RIDGE, _SMALLEST = 1e-12, 1e-300

# Coefficient above which a limit is infinite, if columns have standard deviations of about 1.
_UNLIMITED = 50.0


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """A fitted logistic regression with its k coefficients, shape (k,), and their information
    matrix, shape (k, k)."""

    coefficients: np.ndarray
    information: np.ndarray
    has_converged: bool

    @property
    def model_covariance(self) -> np.ndarray:
        """The covariance of the coefficients, shape (k, k), for independent trials."""
        return np.asarray(np.linalg.inv(self.information))


def fit_logistic(design: np.ndarray, success: np.ndarray, count: np.ndarray) -> LogisticFit:
    """Return the logistic regression for n rows of the ``design`` matrix, shape (n, k), whose
    columns must be linearly independent. Row i has ``success[i]`` successes in ``count[i]``
    trials."""
    from scipy.special import expit

    beta = np.zeros(design.shape[1])
    information = design.T @ design
    largest = np.inf
    # Newton's method solves Firth's score equation.
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
    if largest < _TOLERANCE:
        return LogisticFit(beta, information, True)
    profile = Profile(design, success, count, is_penalized=True)  # with shorter steps
    rate = expit(design @ profile.coefficients)
    information = design.T @ ((count * rate * (1 - rate))[:, None] * design)
    return LogisticFit(profile.coefficients, information, profile.has_converged)


def cluster_covariance(
    fit: LogisticFit,
    design: np.ndarray,
    success: np.ndarray,
    count: np.ndarray,
    clusters: np.ndarray,
) -> np.ndarray:
    """Return the covariance of the coefficients, shape (k, k), if rows with the same value of
    ``clusters``, shape (n,), are correlated."""
    from scipy.special import expit

    inverse = np.linalg.inv(fit.information)
    rate = expit(design @ fit.coefficients)
    weight = count * rate * (1 - rate)
    raw = success - count * rate
    _, index, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    adjusted_scores = raw.copy()
    single = sizes[index] == 1
    leverage = weight * np.einsum("ij,jk,ik->i", design, inverse, design)
    adjusted_scores[single] = raw[single] / (1.0 - leverage[single])
    for cluster in np.flatnonzero(sizes > 1):
        rows = np.flatnonzero(index == cluster)
        hat = weight[rows, None] * design[rows] @ inverse @ design[rows].T
        adjusted_scores[rows] = np.linalg.pinv(np.eye(len(rows)) - hat) @ raw[rows]
    score = np.zeros((len(sizes), design.shape[1]))
    np.add.at(score, index, adjusted_scores[:, None] * design)
    return np.asarray(inverse @ (score.T @ score) @ inverse)


class Profile:
    """The profile likelihood of the coefficients, for the inputs of :func:`fit_logistic`.

    Intervals from a standard error are too short for strong effects: W. W. Hauck and A. Donner,
    Journal of the American Statistical Association 72 (1977) 851–853. Without Firth's penalty, a
    coefficient has no limit if the columns separate success from failure.
    """

    def __init__(
        self, design: np.ndarray, success: np.ndarray, count: np.ndarray, is_penalized: bool
    ) -> None:
        self._design, self._success, self._trial_counts = design, success, count
        self._is_penalized = is_penalized
        columns = list(range(design.shape[1]))
        self.largest, self.coefficients = self._maximum(columns, np.zeros(len(design)))

    def deviance(self, column: int, value: float) -> float:
        """Return twice the decrease of the maximum log-likelihood if the coefficient of ``column``
        is fixed at ``value``."""
        free_columns = [index for index in range(self._design.shape[1]) if index != column]
        likelihood, _ = self._maximum(free_columns, self._design[:, column] * value)
        return max(2.0 * (self.largest - likelihood), 0.0)

    def limits(self, column: int, start: float, step: float, reach: float) -> Tuple[float, float]:
        """Return the lowest and the highest coefficient of ``column`` with a deviance of up to
        ``reach``, or infinity. The search starts at ``start`` with steps of ``step``."""
        from scipy.optimize import brentq

        start = self._start_within_reach(column, start, step, reach)
        ends = []
        for sign in (-1.0, 1.0):
            inner, width = start, step
            while abs(inner) <= _UNLIMITED:
                outer = start + sign * width
                if self.deviance(column, outer) > reach:
                    inner = brentq(
                        lambda value: self.deviance(column, value) - reach,
                        inner,
                        outer,
                        xtol=1e-4 * step,
                    )
                    break
                inner, width = outer, 2.0 * width
            ends.append(float(inner) if abs(inner) <= _UNLIMITED else sign * np.inf)
        return ends[0], ends[1]

    def _start_within_reach(self, column: int, start: float, step: float, reach: float) -> float:
        """Return a coefficient near ``start`` with a deviance of up to ``reach``."""
        # The deviance at ``start`` is larger only if ``start`` is from a fit with another penalty.
        deviance = self.deviance(column, start)
        if deviance > reach and self.deviance(column, start + step) > deviance:
            step = -step
        while deviance > reach and abs(start) <= _UNLIMITED:
            start, step = start + step, 2.0 * step
            deviance = self.deviance(column, start)
        return start

    @property
    def has_converged(self) -> bool:
        logit = self._design @ self.coefficients
        step = np.linalg.solve(*self._newton_equations(self._design, logit))
        return bool(np.abs(step).max() < _CONVERGED)

    def _maximum(self, free_columns: List[int], offset: np.ndarray) -> Tuple[float, np.ndarray]:
        """Return the largest log-likelihood over the coefficients of ``free_columns``, and these
        coefficients. ``offset``, shape (n,), is the logit of the other columns."""
        design, beta, logit = self._design[:, free_columns], np.zeros(len(free_columns)), offset
        likelihood = self._log_likelihood(logit)
        for _ in range(_STEPS if free_columns else 0):
            step, gain = np.linalg.solve(*self._newton_equations(design, logit)), -np.inf
            for _ in range(_HALVINGS):
                gain = self._log_likelihood(offset + design @ (beta + step)) - likelihood
                if gain >= 0.0:
                    break
                step = step / 2.0
            if not gain >= 0.0:
                break
            beta = beta + step
            logit, likelihood = offset + design @ beta, likelihood + gain
            if gain < _GAIN:
                break
        return likelihood, beta

    def _newton_equations(
        self, design: np.ndarray, logit: np.ndarray
    ) -> Tuple[np.ndarray, np.ndarray]:
        from scipy.special import expit

        rate = expit(logit)
        weight = self._trial_counts * rate * (1 - rate)
        residual = self._success - self._trial_counts * rate
        if self._is_penalized:
            residual = residual + self._leverage(weight) * (0.5 - rate)
        information = design.T @ (weight[:, None] * design)
        diagonal = _RIDGE * np.trace(information) + _SMALLEST
        information[np.diag_indices(design.shape[1])] += diagonal
        return information, design.T @ residual

    def _log_likelihood(self, logit: np.ndarray) -> float:
        failures = self._trial_counts - self._success
        loss = self._success @ np.logaddexp(0.0, -logit) + failures @ np.logaddexp(0.0, logit)
        if not self._is_penalized:
            return -float(loss)
        from scipy.special import expit

        rate = expit(logit)
        weight = self._trial_counts * rate * (1 - rate)
        sign, logarithm = np.linalg.slogdet(self._design.T @ (weight[:, None] * self._design))
        return float(0.5 * logarithm - loss) if sign > 0.0 else -np.inf

    def _leverage(self, weight: np.ndarray) -> np.ndarray:
        inverse = np.linalg.pinv(self._design.T @ (weight[:, None] * self._design), hermitian=True)
        leverage = weight * np.einsum("ij,jk,ik->i", self._design, inverse, self._design)
        return np.asarray(leverage)
