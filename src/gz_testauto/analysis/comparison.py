"""Compare planners in pairs, world by world.

A world counts if it contains a valid trial of both planners. Success is the primary endpoint. The
metrics that declare ``in_comparison`` are secondary and are Holm-adjusted together over all pairs.
Metrics of completed trials are compared in worlds in which both planners succeeded.

The difference of the success rates, and of a metric with bounds, is the mean over the worlds, with
Gaffke's test and interval (:mod:`gz_testauto.analysis.bounded_mean`). With one trial of each
planner per world, the test is McNemar's in its exact (binomial) form. No test of a mean is valid
for unbounded numbers, so a metric without bounds is compared by the median difference
(:mod:`gz_testauto.analysis.paired_median`).

Holm's adjustment: S. Holm, Scandinavian Journal of Statistics 6 (1979). Tests of more than two
planners: W. G. Cochran, Biometrika 37 (1950); M. Friedman, JASA 32 (1937).
"""

import functools
import itertools
import math
from dataclasses import dataclass, replace
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar

import numpy as np

from gz_testauto.analysis import anytime, rounding
from gz_testauto.analysis.bounded_mean import (
    DIFFERENCE,
    METHOD,
    mean_interval,
    mean_p_value,
)
from gz_testauto.analysis.intervals import Estimate
from gz_testauto.analysis.paired_median import (
    TEST,
    coin_p_value,
    median_difference,
    sign_test,
)
from gz_testauto.analysis.summary import comparable_values
from gz_testauto.metrics.interface import Metric
from gz_testauto.results.records import CampaignResults, TrialRecord

ALPHA = 0.05  # significance level for adjusted p-values

OUT_OF_BOUNDS = "a value is outside the bounds of the metric"

# Largest number of worlds with differences for which names are shuffled within each world. Above
# it, the asymptotic χ² distribution is used.
SHUFFLED_UP_TO = 200

SHUFFLES = 9999
SEED = 0
_CHUNK = 303

WorldTrials = Mapping[str, Sequence[TrialRecord]]
WorldValues = Mapping[str, float]


class PairedCounts(NamedTuple):
    """The numbers of worlds in which both planners, only the first, only the second or neither
    succeeded."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def worlds(self) -> int:
        return sum(self)


@dataclass(frozen=True)
class MetricComparison:
    """The difference of two planners, first minus second, in one metric.

    It is estimated over the ``worlds`` in which both planners have a value; ``first_mean`` and
    ``second_mean`` are the means in these worlds. ``difference`` is the mean difference if ``test``
    is Gaffke's, and otherwise the median difference. ``significant`` is true if the adjusted
    p-value is below 0.05. ``relevant`` is true if the size of the estimate is at least
    ``smallest_relevant`` (in the metric's unit).
    """

    name: str
    worlds: int
    first_mean: float
    second_mean: float
    difference: Estimate
    test: str
    p_value: float
    smallest_relevant: float
    p_adjusted: float = math.nan
    significant: bool = False
    relevant: bool = False

    @property
    def is_of_means(self) -> bool:
        return self.test == METHOD

    @property
    def statistic(self) -> str:
        return "mean" if self.is_of_means else "median"

    @property
    def mean_contradicts(self) -> bool:
        return (self.first_mean - self.second_mean) * self.difference.value < 0.0


@dataclass(frozen=True)
class Comparison:
    """The comparison of two planners over the worlds in which both have valid trials.

    ``counts`` is None for trials with repetitions. ``first_rate`` and ``second_rate`` are the mean
    success rates over these worlds, and ``difference`` is the first minus the second.
    ``p_adjusted`` is Holm-adjusted over all pairs of planners. With early stop, it is the p-value
    times the number of pairs that the stop decides, ``difference`` has the level of the stop, and
    ``significant`` is its decision. Otherwise ``significant`` and ``relevant`` are defined as in
    :class:`MetricComparison`. ``first_won`` and ``second_won`` are the worlds in
    which only that planner succeeded (with repetitions, in which it succeeded more often).
    """

    first: str
    second: str
    worlds: int
    counts: Optional[PairedCounts]
    first_rate: float
    second_rate: float
    difference: Estimate
    p_value: float
    test: str
    first_won: Tuple[str, ...]
    second_won: Tuple[str, ...]
    metrics: Tuple[MetricComparison, ...]
    smallest_relevant: float
    p_adjusted: float = math.nan
    significant: bool = False
    relevant: bool = False

    @property
    def sign(self) -> float:
        """-1 if the second planner has the higher success rate, otherwise 1."""
        # A sequential interval can exclude the present mean, so it decides if it excludes 0.
        value, low, high, _ = self.difference
        return 1.0 if low > 0.0 or (value >= 0.0 and not high < 0.0) else -1.0


Compared = TypeVar("Compared", MetricComparison, Comparison)


@dataclass(frozen=True)
class Comparisons:
    """The comparisons of pairs, and the test of all planners together.

    ``overall_p`` is the p-value of the hypothesis that all planners have equal success rates. It is
    NaN for two planners, and with early stop, since ``overall_test`` assumes a fixed number of
    worlds.
    """

    pairs: Tuple[Comparison, ...]
    overall_p: float = math.nan
    overall_test: str = ""


def compare(
    results: CampaignResults, selected: Optional[Sequence[Tuple[str, str]]] = None
) -> Comparisons:
    """Compare the ``selected`` pairs of planners, by default all pairs."""
    metrics = [metric for metric in results.metrics if metric.in_comparison]
    sides = {planner: _PlannerTrials.of(results, planner, metrics) for planner in results.planners}
    pairs = [
        _compare_pair(results, sides[first], sides[second], metrics)
        for first, second in (
            itertools.combinations(results.planners, 2) if selected is None else selected
        )
    ]
    comparisons = tuple(_holm_adjusted(pairs))
    if results.is_sequential:  # the number of worlds depends on their outcomes
        return Comparisons(comparisons)
    return Comparisons(comparisons, *_overall_test([side.rates for side in sides.values()]))


class _PlannerTrials(NamedTuple):
    planner: str
    trials: WorldTrials
    rates: WorldValues
    means: Mapping[str, WorldValues]

    @classmethod
    def of(
        cls, results: CampaignResults, planner: str, metrics: Sequence[Metric]
    ) -> "_PlannerTrials":
        trials = _evaluated_trials(results, planner)
        means = {metric.name: _world_means(metric, trials) for metric in metrics}
        return cls(planner, trials, _world_rates(trials), means)


def valid_trials_by_world(records: Sequence[TrialRecord]) -> Dict[str, List[TrialRecord]]:
    worlds: Dict[str, List[TrialRecord]] = {}
    for record in records:
        if record.outcome.valid:
            worlds.setdefault(record.world, []).append(record)
    return worlds


def _evaluated_trials(results: CampaignResults, planner: str) -> Dict[str, List[TrialRecord]]:
    """Return the valid trials of a planner by world. With early stop, only the evaluated worlds are
    included, in the order of evaluation."""
    worlds = valid_trials_by_world(results.of(planner))
    if not results.is_sequential:
        return worlds
    return {world: worlds[world] for world in results.judged if world in worlds}


def completed_share(records: Sequence[TrialRecord]) -> float:
    return sum(record.completed for record in records) / len(records)


def _compare_pair(
    results: CampaignResults,
    first: _PlannerTrials,
    second: _PlannerTrials,
    metrics: Sequence[Metric],
) -> Comparison:
    common_worlds, rates = _paired_values(first.rates, second.rates)
    rate_differences = rounding.differences(*rates)
    has_single_trials = all(
        len(first.trials[world]) == len(second.trials[world]) == 1 for world in common_worlds
    )
    counts: Optional[PairedCounts] = None
    difference, p_value = (
        mean_interval(rate_differences, DIFFERENCE),
        mean_p_value(rate_differences, 0.0, DIFFERENCE),
    )
    test = METHOD
    if has_single_trials:
        ties = [world for world, gain in zip(common_worlds, rate_differences) if gain == 0]
        both_reached = sum(first.trials[world][0].completed for world in ties)
        first_only, second_only = (
            int((rate_differences > 0).sum()),
            int((rate_differences < 0).sum()),
        )
        counts = PairedCounts(both_reached, first_only, second_only, len(ties) - both_reached)
        p_value, test = mcnemar(counts), "exact McNemar test"
    if results.is_sequential:  # the number of worlds depends on how they ended
        test, difference = anytime.TEST, anytime.interval(rate_differences, DIFFERENCE)
        p_value = anytime.p_value(rate_differences, 0.0, DIFFERENCE)
    return Comparison(
        first.planner,
        second.planner,
        len(common_worlds),
        counts,
        rounding.mean(rates[0]),
        rounding.mean(rates[1]),
        difference,
        p_value if common_worlds else math.nan,
        test,
        tuple(world for world, gain in zip(common_worlds, rate_differences) if gain > 0),
        tuple(world for world, gain in zip(common_worlds, rate_differences) if gain < 0),
        tuple(
            _compare_metric(metric, first.means[metric.name], second.means[metric.name])
            for metric in metrics
        ),
        results.relevant_success,
    )


def mcnemar(counts: PairedCounts) -> float:
    """Return the exact two-sided p-value of equal success rates, 1 without discordant worlds."""
    majority = max(counts.first_only, counts.second_only)
    return coin_p_value(majority, counts.first_only + counts.second_only)


def rate_difference(counts: PairedCounts) -> Estimate:
    ties = counts.both + counts.neither
    differences = np.repeat([1.0, -1.0, 0.0], [counts.first_only, counts.second_only, ties])
    return mean_interval(differences, DIFFERENCE)


def success_differences(results: CampaignResults, first: str, second: str) -> np.ndarray:
    """Return the differences of the success rates, first minus second, in the worlds with valid
    trials of both planners, shape (n,)."""
    _, rates = _paired_values(
        *(_world_rates(_evaluated_trials(results, planner)) for planner in (first, second))
    )
    return rounding.differences(*rates)


def metric_differences(
    results: CampaignResults,
) -> Callable[[str, str, Metric], Dict[str, float]]:
    """Return a function of two planners and a metric. It returns the difference of their means in
    each common world, first minus second, by world."""
    trials = {planner: _evaluated_trials(results, planner) for planner in results.planners}

    @functools.lru_cache(maxsize=None)
    def means(planner: str, metric: Metric) -> WorldValues:
        return _world_means(metric, trials[planner])

    return lambda first, second, metric: _differences_by_world(
        means(first, metric), means(second, metric)
    )


def world_differences(
    metric: Metric, of_first: WorldTrials, of_second: WorldTrials
) -> Dict[str, float]:
    """Return the difference of the means of a metric in each common world, first minus second."""
    return _differences_by_world(_world_means(metric, of_first), _world_means(metric, of_second))


def _differences_by_world(first: WorldValues, second: WorldValues) -> Dict[str, float]:
    worlds, values = _paired_values(first, second)
    return dict(zip(worlds, rounding.differences(*values).tolist()))


def _paired_values(first: WorldValues, second: WorldValues) -> Tuple[List[str], np.ndarray]:
    """Return the common worlds, and the values in them, shape (2, n)."""
    worlds = [world for world in first if world in second]
    return worlds, np.array([[values[world] for world in worlds] for values in (first, second)])


def _world_rates(trials: WorldTrials) -> WorldValues:
    return {world: completed_share(records) for world, records in trials.items()}


def _world_means(metric: Metric, trials: WorldTrials) -> WorldValues:
    values = {world: comparable_values(metric, records) for world, records in trials.items()}
    return {world: rounding.mean(numbers) for world, numbers in values.items() if numbers}


def _compare_metric(metric: Metric, first: WorldValues, second: WorldValues) -> MetricComparison:
    _, values = _paired_values(first, second)
    differences = rounding.differences(*values)
    if metric.bounds is None:
        difference, p_value, test = median_difference(differences), sign_test(differences), TEST
    else:
        scale = metric.bounds[1] - metric.bounds[0]
        difference = mean_interval(differences, (-scale, scale))
        p_value, test = mean_p_value(differences, 0.0, (-scale, scale)), METHOD
        if np.any(np.clip(values, *metric.bounds) != values):
            difference = Estimate.without_interval(difference.value, OUT_OF_BOUNDS)
            p_value = math.nan
    return MetricComparison(
        metric.name,
        len(differences),
        rounding.mean(values[0]),
        rounding.mean(values[1]),
        difference,
        test,
        p_value if len(differences) else math.nan,
        metric.smallest_relevant,
    )


def _holm_adjusted(pairs: Sequence[Comparison]) -> List[Comparison]:
    primary = holm([pair.p_value for pair in pairs])
    secondary = iter(holm([metric.p_value for pair in pairs for metric in pair.metrics]))
    return [
        replace(
            _adjusted(pair, p_adjusted),
            metrics=tuple(_adjusted(metric, next(secondary)) for metric in pair.metrics),
        )
        for pair, p_adjusted in zip(pairs, primary)
    ]


def _adjusted(comparison: Compared, p_adjusted: float) -> Compared:
    smallest_relevant = comparison.smallest_relevant * (1.0 - rounding.TOLERANCE)
    return replace(
        comparison,
        p_adjusted=p_adjusted,
        significant=p_adjusted < ALPHA,
        relevant=abs(comparison.difference.value) > smallest_relevant,  # never for NaN
    )


def _overall_test(planner_rates: Sequence[WorldValues]) -> Tuple[float, str]:
    if len(planner_rates) < 3:
        return math.nan, ""
    common_worlds = [
        world for world in planner_rates[0] if all(world in rates for rates in planner_rates)
    ]
    if not common_worlds:
        return math.nan, ""
    return planners_differ(
        np.array([[rates[world] for rates in planner_rates] for world in common_worlds])
    )


def holm(p_values: Sequence[float]) -> List[float]:
    """Return the Holm-adjusted p-values, in the order of ``p_values``. NaN remains NaN and is not
    counted as a test."""
    adjusted_p_values = [math.nan] * len(p_values)
    sorted_p_values = sorted((p, index) for index, p in enumerate(p_values) if not math.isnan(p))
    highest = 0.0
    for rank, (p, index) in enumerate(sorted_p_values):
        highest = max(highest, min(1.0, (len(sorted_p_values) - rank) * p))
        adjusted_p_values[index] = highest
    return adjusted_p_values


def planners_differ(rates: np.ndarray) -> Tuple[float, str]:
    """Return the p-value of equal ``rates``, shape (worlds, planners), and the test's name.

    The test is Cochran's Q if all rates are 0 or 1, and otherwise Friedman's.
    """
    from scipy.special import chdtrc

    levels = rounding.without_noise(np.ravel(rates), 1.0).reshape(np.shape(rates))
    # Friedman's statistic of numbers 0 and 1 is Cochran's Q.
    name = "Cochran's Q" if np.isin(levels, (0.0, 1.0)).all() else "Friedman"
    planners = levels.shape[1]
    # the ranks minus their mean, with mean ranks for equal rates
    ranks = np.sign(levels[:, :, np.newaxis] - levels[:, np.newaxis, :]).sum(axis=2) / 2.0
    ranks = ranks[ranks.any(axis=1)]
    if not len(ranks):
        return 1.0, name
    spread = float((ranks.sum(axis=0) ** 2).sum())
    if len(ranks) > SHUFFLED_UP_TO:
        statistic = (planners - 1) * spread / float((ranks**2).sum())
        return float(chdtrc(planners - 1, statistic)), f"{name} (χ²)"
    generator = np.random.default_rng(SEED)
    extreme_count = 1
    for _ in range(SHUFFLES // _CHUNK):
        shuffled_ranks = generator.permuted(np.broadcast_to(ranks, (_CHUNK, *ranks.shape)), axis=2)
        sums = (shuffled_ranks.sum(axis=1) ** 2).sum(axis=1)
        extreme_count += int(np.count_nonzero(sums >= spread - 1e-9))
    return extreme_count / (SHUFFLES + 1), f"{name} (shuffled within worlds)"
