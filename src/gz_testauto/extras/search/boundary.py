"""Bound the value from which a planner fails, by trials that narrow the bounds.

The failure rate is assumed to be monotone in the value. A hypothesis states for each value whether
the failure rate is at least ``rate``, or at most. Each trial is a bet against it: if the estimated
failure rate contradicts it, the capital, initially 1, is multiplied by the likelihood ratio of the
estimate and ``rate``. The estimate uses the previous trials at this value only. By Ville's
inequality, the capital of the true hypothesis ever reaches 20 in at most 5 % of runs, so hypotheses
that reach it are rejected: A. Ramdas, P. Grünwald, V. Vovk and G. Shafer, Statistical Science 38
(2023) 576–601.
"""

import math
from collections import Counter
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis.intervals import LEVEL, Estimate
from gz_testauto.extras.search.varied import Number

METHOD = "bets against each monotone failure rate"

FIRST = 5  # number of trials at each value before trials are chosen

ROUND = 10  # number of trials at each value that is chosen in one call

PRIOR = 2.0  # number of trials that count as evidence for the tested rate in an estimate

REJECTED = -math.log(1.0 - LEVEL)  # logarithm of the capital that rejects a hypothesis

Outcomes = Mapping[Number, Sequence[bool]]
"""For each value, in increasing order, whether each valid trial failed, in the order of worlds."""

Midpoint = Callable[[Number, Number], Optional[Number]]
"""A function that returns a value between two values, or None."""


def _log_capitals(failed: Sequence[bool], rate: float) -> Tuple[float, float]:
    """Return the logarithms of the capitals of bets that the failure rate at one value is below,
    and above ``rate``."""
    outcomes = np.asarray(failed, dtype=float)
    estimate = np.cumsum(outcomes) - outcomes + PRIOR * rate
    estimate /= np.arange(len(outcomes)) + PRIOR
    gains = np.log(np.where(outcomes, estimate / rate, (1.0 - estimate) / (1.0 - rate)))
    return float(gains[estimate < rate].sum()), float(gains[estimate > rate].sum())


class FailureRates:
    """The failure rates at some values, compared with ``rate``.

    ``below`` and ``above`` are the values at which all hypotheses that are not rejected have a
    failure rate of at most, and of at least ``rate``. ``contradicting`` are those among them whose
    trials are on the other side. ``is_monotone`` is false if all hypotheses are rejected.
    ``increases`` is None if both directions or neither are possible.
    """

    def __init__(self, outcomes: Outcomes, rate: float) -> None:
        self.rate = rate
        self._values = list(outcomes)
        self._failures = np.array([sum(failed) for failed in outcomes.values()])
        self._trials = np.array([len(failed) for failed in outcomes.values()])
        # Each row is a hypothesis: the values with a failure rate of at least ``rate``.
        levels = np.arange(len(outcomes))
        increasing = levels >= np.arange(len(outcomes) + 1)[:, np.newaxis]
        is_above = np.concatenate([increasing, ~increasing])
        capitals = np.array([_log_capitals(failed, rate) for failed in outcomes.values()])
        # Trials at different values are independent, so their capitals are multiplied.
        capital = is_above @ capitals[:, 0] + ~is_above @ capitals[:, 1]
        possible = is_above[capital < REJECTED]
        self.is_monotone = bool(len(possible))
        is_below, is_above = self.is_monotone & ~possible.any(axis=0), possible.all(axis=0)
        is_above &= self.is_monotone
        self.below, self.above = self._selected_values(is_below), self._selected_values(is_above)
        excess = self._failures - rate * self._trials
        contradicts = is_below & (excess > 0.0) | is_above & (excess < 0.0)
        self.contradicting = self._selected_values(contradicts)
        self._undecided = self._selected_values(
            contradicts | self.is_monotone & ~is_below & ~is_above
        )
        rises = bool((~possible[:, 0] & possible[:, -1]).any())
        falls = bool((possible[:, 0] & ~possible[:, -1]).any())
        self.increases = rises if rises != falls else None

    def boundary(self) -> Optional[Estimate]:
        """Return the value at which the failure rate crosses ``rate``, or None if it is unknown.

        The interval ends at the nearest values that are surely on one side, or is infinite. The
        estimate is that of isotonic regression with linear interpolation, or NaN.
        """
        if self.increases is None or not (self.below or self.above):
            return None
        first, last = (self.below, self.above) if self.increases else (self.above, self.below)
        low, high = first[-1] if first else -math.inf, last[0] if last else math.inf
        return Estimate(min(max(self._crossing(), low), high), low, high, METHOD)

    def next_trials(
        self, number: int, planned: Mapping[Number, int], most: int, midpoint: Midpoint
    ) -> Dict[Number, int]:
        """Return the number of trials to add at each value, at most ``number`` in total.

        With its ``planned`` trials, a value has at most ``most``. Trials are added at the values
        whose side of ``rate`` is unknown, or whose trials contradict the other values. Without
        these, ``midpoint`` divides the widest gap.
        """
        chosen = [value for value in self._undecided if planned[value] < most]
        boundary = self.boundary()
        if not chosen and boundary is not None:
            inside = [value for value in self._values if boundary.low <= value <= boundary.high]
            gaps = sorted(zip(inside, inside[1:]), key=lambda gap: gap[0] - gap[1])
            middle = midpoint(*gaps[0]) if gaps else None
            chosen = [] if middle is None else [middle]
        # One trial at each value in turn, so that all values have a share of the last trials.
        trials = [
            value
            for turn in range(ROUND)
            for value in chosen
            if planned.get(value, 0) + turn < most
        ]
        return dict(Counter(trials[:number]))

    def _selected_values(self, is_selected: np.ndarray) -> List[Number]:
        return [self._values[level] for level in np.flatnonzero(is_selected)]

    def _crossing(self) -> float:
        """Return the value at which the fitted monotone failure rate crosses ``rate``, or NaN."""
        order = slice(None) if self.increases else slice(None, None, -1)
        values = np.array(self._values, dtype=float)[order]
        failures, trials = self._failures[order], self._trials[order]
        size = len(values)

        def pooled_rate(start: int, end: int) -> float:
            return float(failures[start:end].sum() / max(trials[start:end].sum(), 1))

        rates = [  # the max-min formula of isotonic regression
            max(
                min(pooled_rate(start, end) for end in range(level + 1, size + 1))
                for start in range(level + 1)
            )
            for level in range(size)
        ]
        level = int(np.searchsorted(rates, self.rate))
        if level in (0, size):
            return math.nan
        share = (self.rate - rates[level - 1]) / (rates[level] - rates[level - 1])
        return float(values[level - 1] + share * (values[level] - values[level - 1]))


RunLevel = Callable[[Number, int], Sequence[bool]]
"""A function that runs the first trials at a value and returns whether each valid one failed."""


def run_adaptively(
    values: Sequence[Number],
    budget: int,
    most: int,
    rates: Sequence[float],
    run_level: RunLevel,
    midpoint: Midpoint,
) -> Outcomes:
    """Run at most ``budget`` trials, at most ``most`` at a value, to bound the boundaries.

    A boundary is where the failure rate crosses one of ``rates``, which are in order of importance.
    ``values`` are the first values. The outcomes depend only on the results of the trials, so that
    an interrupted run can be repeated.
    """
    planned: Dict[Number, int] = {}
    outcomes: Dict[Number, Sequence[bool]] = {}
    added = dict.fromkeys(values, FIRST)
    while added:
        for value, number in added.items():
            planned[value] = planned.get(value, 0) + number
            outcomes[value] = run_level(value, planned[value])
        outcomes = dict(sorted(outcomes.items()))
        remaining = budget - sum(planned.values())
        added = {}
        for rate in rates:
            if not added:
                compared = FailureRates(outcomes, rate)
                added = compared.next_trials(remaining, planned, most, midpoint)
    return outcomes
