"""Estimate the value from which a planner fails, and choose the trials that determine it best.

The failure rate at a value ``x`` is the logistic curve ``1 / (1 + exp(-(a + b·x)))``, fitted with
Firth's penalty. The boundary of a rate is the value at which the curve has this rate. Its interval
contains the values that the profile of the penalized likelihood does not reject. It has two ends
exactly if the likelihood rejects ``b = 0``, so no other curve has a boundary.

The next trials are those that reduce the variance of the boundary most (c-optimality), or, as long
as ``b`` may be 0, the volume of the confidence ellipse of both coefficients (D-optimality): V. V.
Fedorov, Theory of Optimal Experiments, Academic Press, 1972.
"""

from functools import cached_property
from typing import Callable, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis.intervals import LEVEL, Estimate
from gz_testauto.analysis.logistic import Profile, fit_logistic

METHOD = "profile of the penalized likelihood"

FIRST = 5
"""Number of trials at each level before trials are chosen."""

BATCH = 20
"""Number of trials that are chosen together."""


class LackOfFit(NamedTuple):
    """The test of the curve against a separate rate for each value: twice the difference of the
    log-likelihoods, its degrees of freedom, and the p-value."""

    deviance: float
    degrees: int
    p: float


class FailureCurve:
    """The failure rate against a value, of which the numbers of failures and of trials are known
    for some ``values``, at least two of them."""

    def __init__(
        self, values: Sequence[float], failures: Sequence[int], trials: Sequence[int]
    ) -> None:
        self._values = np.asarray(values, dtype=float)
        self._middle = (self._values.max() + self._values.min()) / 2.0
        self._half = np.ptp(self._values) / 2.0
        self._at = (self._values - self._middle) / self._half
        self._failures = np.asarray(failures, dtype=float)
        self._trials = np.asarray(trials, dtype=float)
        self._fit = fit_logistic(self._design(0.0), self._failures, self._trials)

    def rate(self, values: np.ndarray) -> np.ndarray:
        """Return the failure rate of the curve at ``values``, shape (n,)."""
        from scipy.special import expit

        base, slope = self._fit.coefficients
        return np.asarray(expit(base + slope * (values - self._middle) / self._half))

    @property
    def increases(self) -> bool:
        """Return whether the failure rate increases with the value."""
        return bool(self._fit.coefficients[1] > 0.0)

    @cached_property
    def p_slope(self) -> float:
        """The p-value of the likelihood-ratio test that the failure rate does not depend on the
        value."""
        from scipy.special import logit
        from scipy.stats import chi2

        # The most probable constant rate, since the penalty is then that rate times its complement.
        constant = (self._failures.sum() + 1.0) / (self._trials.sum() + 2.0)
        gained = self._likelihood(*self._fit.coefficients) - self._likelihood(logit(constant), 0.0)
        return float(chi2.sf(2.0 * gained, 1))

    @property
    def has_slope(self) -> bool:
        """Return whether the failure rate depends on the value."""
        return self.p_slope < 1.0 - LEVEL

    def deviance(self, value: float, rate: float) -> float:
        """Return twice the log-likelihood ratio of the curve and of the most probable curve with
        the failure rate ``rate`` at ``value``."""
        return self._deviance((value - self._middle) / self._half, rate)

    def boundary(self, rate: float) -> Optional[Estimate]:
        """Return the value with the failure rate ``rate``, with its interval, or None if the
        failure rate does not depend on the value. The numbers can be outside of the range."""
        if not self.has_slope:
            return None
        from scipy.optimize import brentq
        from scipy.stats import chi2

        reach = float(chi2.ppf(LEVEL, 1))
        best = self._scaled_boundary(rate)
        ends = []
        for sign in (-1.0, 1.0):
            width = 0.05
            while self._deviance(best + sign * width, rate) <= reach:
                width *= 2.0
            outer = best + sign * width
            ends.append(brentq(lambda at: self._deviance(at, rate) - reach, best, outer, rtol=1e-6))
        low, high = (self._middle + self._half * one for one in ends)
        return Estimate(self._middle + self._half * best, float(low), float(high), METHOD)

    def lack_of_fit(self) -> Optional[LackOfFit]:
        """Return the test whether the rates deviate from the curve, or None if trials have fewer
        than three values."""
        from scipy.special import xlogy
        from scipy.stats import chi2

        degrees = int((self._trials > 0).sum()) - 2
        if degrees < 1:
            return None
        expected = self._trials * self.rate(self._values)
        successes, others = self._trials - self._failures, self._trials - expected
        used = self._trials > 0
        terms = xlogy(self._failures[used], self._failures[used] / expected[used])
        terms = terms + xlogy(successes[used], successes[used] / others[used])
        deviance = float(2.0 * terms.sum())
        return LackOfFit(deviance, degrees, float(chi2.sf(deviance, degrees)))

    def next_trials(self, number: int, rate: float, room: np.ndarray) -> np.ndarray:
        """Return how many of ``number`` further trials are at each value, shape (n,), to estimate
        the boundary of ``rate``. There are at most ``room``, shape (n,), at a value."""
        curve = self.rate(self._values)
        weight = curve * (1.0 - curve)
        rows = self._design(0.0)
        covariance = self._fit.model_covariance
        target = np.array([1.0, np.clip(self._scaled_boundary(rate), -1.0, 1.0)])
        added = np.zeros(len(rows), dtype=int)
        for _ in range(min(number, int(room.sum()))):
            leverage = weight * ((rows @ covariance) * rows).sum(axis=1)
            gain = leverage
            if self.has_slope:
                gain = weight * (rows @ covariance @ target) ** 2 / (1.0 + leverage)
            best = int(np.where(added < room, gain, -np.inf).argmax())
            added[best] += 1
            moved = covariance @ rows[best]
            covariance = covariance - weight[best] * np.outer(moved, moved) / (1.0 + leverage[best])
        return added

    def _scaled_boundary(self, rate: float) -> float:
        from scipy.special import logit

        base, slope = self._fit.coefficients
        return float((logit(rate) - base) / slope) if slope else 0.0

    def _design(self, origin: float) -> np.ndarray:
        return np.column_stack([np.ones(len(self._at)), self._at - origin])

    def _likelihood(self, base: float, slope: float) -> float:
        """Return the logarithm of the penalized likelihood of a curve."""
        from scipy.special import expit

        logits = base + slope * self._at
        weight = self._trials * expit(logits) * expit(-logits)
        rows = self._design(0.0)
        penalty = 0.5 * np.linalg.slogdet(rows.T @ (weight[:, None] * rows))[1]
        failed = self._failures @ np.logaddexp(0.0, -logits)
        succeeded = (self._trials - self._failures) @ np.logaddexp(0.0, logits)
        return float(penalty - failed - succeeded)

    def _deviance(self, at: float, rate: float) -> float:
        from scipy.special import logit

        profile = Profile(self._design(at), self._failures, self._trials, is_penalized=True)
        return profile.deviance(0, float(logit(rate)))


RunLevel = Callable[[int, int], Tuple[int, int]]
"""A function that runs the first trials at a level, given the index of the level and the number of
trials. It returns the numbers of failures and of valid trials among them."""


def run_adaptively(
    values: Sequence[float], budget: int, most: int, rate: float, run_level: RunLevel
) -> Tuple[np.ndarray, np.ndarray]:
    """Run ``budget`` trials, at most ``most`` at a level, to estimate the boundary of ``rate``.

    Return the numbers of failures and of valid trials at each of ``values``, shape (n,). They are a
    function of the results of the trials, so that an interrupted run can be repeated.
    """
    planned, failures, trials = np.zeros((3, len(values)), dtype=int)
    added = np.full(len(values), FIRST)
    while added.any():
        planned += added
        for level in np.flatnonzero(added):
            failures[level], trials[level] = run_level(int(level), int(planned[level]))
        number = min(BATCH, budget - int(planned.sum()))
        added = FailureCurve(values, failures, trials).next_trials(number, rate, most - planned)
    return failures, trials
