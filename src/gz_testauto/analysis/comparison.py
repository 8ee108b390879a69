"""Compare planners in pairs, world by world.

A world counts in a comparison if both planners have a valid trial in it. Success is the primary
endpoint. The metrics that declare ``in_comparison`` are secondary and Holm-adjusted together over
all pairs of planners; metrics of completed trials are compared in worlds in which both succeeded,
and every number has its number of worlds.

With one trial of each planner per world, only discordant worlds, in which exactly one of them
succeeded, count: McNemar's test in its exact (binomial) form. The interval of the difference of the
two rates is Gaffke's (:mod:`gz_testauto.analysis.bounded_mean`): its own test of a difference of 0
has the same p-value.

Holm's adjustment: S. Holm, Scandinavian Journal of Statistics 6 (1979). Tests of more than two
planners: W. G. Cochran, Biometrika 37 (1950); M. Friedman, JASA 32 (1937). Cochran's Q is
Friedman's statistic of numbers 0 and 1. Both have a χ² distribution for many worlds; for few, in
which planners differ at all, it is that of the planners' names shuffled within each world, from a
fixed seed.
"""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis import anytime, rounding
from gz_testauto.analysis.bounded_mean import (
    DIFFERENCE,
    HALF,
    METHOD_HALF,
    WHOLE,
    mean_interval,
    mean_p_value,
)
from gz_testauto.analysis.intervals import Estimate
from gz_testauto.analysis.signed_rank import shift, signed_rank
from gz_testauto.analysis.summary import comparable_values
from gz_testauto.metrics.interface import Metric
from gz_testauto.results.records import CampaignResults, TrialRecord

ALPHA = 0.05
"""Adjusted p-values below it are significant."""

SHUFFLED_UP_TO = 200
"""More worlds in which planners differ use the χ² distribution."""

SHUFFLES = 9999
SEED = 0
_CHUNK = 303

WorldTrials = Mapping[str, Sequence[TrialRecord]]


class PairedCounts(NamedTuple):
    """The numbers of worlds in which both, only the first, only the second or none succeeded."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def worlds(self) -> int:
        """The number of all worlds."""
        return sum(self)


@dataclass(frozen=True)
class MetricComparison:
    """One metric, first minus second, over ``worlds`` worlds in which both have a value.

    ``significant`` is that the adjusted p-value is below 0.05, ``relevant`` that the estimate is at
    least ``smallest_relevant`` (in the metric's unit).
    """

    name: str
    worlds: int
    shift: Estimate
    p_value: float
    smallest_relevant: float
    p_adjusted: float = math.nan
    significant: bool = False
    relevant: bool = False


@dataclass(frozen=True)
class Comparison:
    """Two planners over the worlds in which both have valid trials.

    ``counts`` is None with repetitions. ``difference`` is the first's success rate minus the
    second's; ``p_adjusted`` is Holm-adjusted over all pairs of planners; ``significant`` and
    ``relevant`` are those of :class:`MetricComparison`. ``first_won`` and
    ``second_won`` are the worlds in which one succeeded (with repetitions: succeeded more
    often) and the other did not.
    """

    first: str
    second: str
    worlds: int
    counts: Optional[PairedCounts]
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


@dataclass(frozen=True)
class Comparisons:
    """All pairs, and the p-value ``overall_p`` of ``overall_test`` that all planners are equal.

    It is NaN for two planners, and in a campaign with early stop, because these tests assume a
    fixed number of worlds.
    """

    pairs: Tuple[Comparison, ...]
    overall_p: float = math.nan
    overall_test: str = ""


def compare(
    results: CampaignResults, selected: Optional[Sequence[Tuple[str, str]]] = None
) -> Comparisons:
    """Compare the ``selected`` pairs of planners; by default all pairs in the campaign's order."""
    by_planner = {planner: _judged(results, planner) for planner in results.planners}
    metrics = [metric for metric in results.metrics if metric.in_comparison]
    pairs = [
        _compare(results, first, by_planner[first], second, by_planner[second], metrics)
        for first, second in (
            itertools.combinations(results.planners, 2) if selected is None else selected
        )
    ]
    compared = tuple(_adjusted(pairs))
    if results.stop is not None:  # the number of worlds depends on their outcomes
        return Comparisons(compared)
    return Comparisons(compared, *_overall(list(by_planner.values())))


def trials_by_world(records: Sequence[TrialRecord]) -> Dict[str, List[TrialRecord]]:
    """Return the valid trials of each world with at least one."""
    worlds: Dict[str, List[TrialRecord]] = {}
    for record in records:
        if record.outcome.valid:
            worlds.setdefault(record.world, []).append(record)
    return worlds


def _judged(results: CampaignResults, planner: str) -> Dict[str, List[TrialRecord]]:
    """Return the valid trials of each world; in a campaign with early stop, of the judged worlds in
    their order."""
    worlds = trials_by_world(results.of(planner))
    if results.stop is None:
        return worlds
    return {world: worlds[world] for world in results.judged if world in worlds}


def rate(records: Sequence[TrialRecord]) -> float:
    """Return the share of the trials that reached the goal."""
    return sum(record.completed for record in records) / len(records)


def _compare(
    results: CampaignResults,
    first: str,
    of_first: WorldTrials,
    second: str,
    of_second: WorldTrials,
    metrics: Sequence[Metric],
) -> Comparison:
    common = [world for world in of_first if world in of_second]
    ahead = _ahead(of_first, of_second, common)
    single = all(len(of_first[world]) == len(of_second[world]) == 1 for world in common)
    counts: Optional[PairedCounts] = None
    if single:
        level = [world for world, lead in zip(common, ahead) if lead == 0]
        both = sum(of_first[world][0].completed for world in level)
        first_only, second_only = int((ahead > 0).sum()), int((ahead < 0).sum())
        counts = PairedCounts(both, first_only, second_only, len(level) - both)
        difference, p_value, test = rate_difference(counts), mcnemar(counts), "exact McNemar test"
    else:
        difference = mean_interval(ahead, DIFFERENCE, HALF)
        p_value, test = mean_p_value(ahead, 0.0, DIFFERENCE, HALF), METHOD_HALF
    if results.stop is not None:  # the number of worlds depends on how they ended
        test, difference = anytime.TEST, anytime.interval(ahead, anytime.DIFFERENCE)
        p_value = anytime.p_value(ahead)
    return Comparison(
        first,
        second,
        len(common),
        counts,
        difference,
        p_value if common else math.nan,
        test,
        tuple(world for world, lead in zip(common, ahead) if lead > 0),
        tuple(world for world, lead in zip(common, ahead) if lead < 0),
        tuple(_compare_metric(metric, of_first, of_second, common) for metric in metrics),
        results.relevant_success,
    )


def mcnemar(counts: PairedCounts) -> float:
    """Return the two-sided exact p-value that both succeed equally often; 1 without discordant
    worlds."""
    from scipy.stats import binomtest

    discordant = counts.first_only + counts.second_only
    return float(binomtest(counts.first_only, discordant).pvalue) if discordant else 1.0


def rate_difference(counts: PairedCounts) -> Estimate:
    """Return the rate of the first minus the rate of the second, with its interval."""
    level = counts.both + counts.neither
    differences = np.repeat([1.0, -1.0, 0.0], [counts.first_only, counts.second_only, level])
    return mean_interval(differences, DIFFERENCE, WHOLE)


def success_differences(results: CampaignResults, first: str, second: str) -> np.ndarray:
    """Return the first minus the second success rate in each world with valid trials of both, shape
    (n,)."""
    of_first, of_second = (_judged(results, planner) for planner in (first, second))
    return _ahead(of_first, of_second, [world for world in of_first if world in of_second])


def metric_differences(
    results: CampaignResults, first: str, second: str, metric: Metric
) -> Dict[str, float]:
    """Return first minus second, by the name of each world in which both planners have a value."""
    of_first, of_second = (_judged(results, planner) for planner in (first, second))
    common = [world for world in of_first if world in of_second]
    return _differences(metric, of_first, of_second, common)


def _ahead(of_first: WorldTrials, of_second: WorldTrials, common: Sequence[str]) -> np.ndarray:
    of_planners = ([rate(trials[world]) for world in common] for trials in (of_first, of_second))
    return rounding.differences(*of_planners)


def _compare_metric(
    metric: Metric, of_first: WorldTrials, of_second: WorldTrials, common: Sequence[str]
) -> MetricComparison:
    differences = list(_differences(metric, of_first, of_second, common).values())
    p_value = signed_rank(differences) if differences else math.nan
    return MetricComparison(
        metric.name, len(differences), shift(differences), p_value, metric.smallest_relevant
    )


def _differences(
    metric: Metric, of_first: WorldTrials, of_second: WorldTrials, common: Sequence[str]
) -> Dict[str, float]:
    means = {}
    for world in common:
        values = [comparable_values(metric, trials[world]) for trials in (of_first, of_second)]
        if all(values):
            means[world] = [rounding.mean(some) for some in values]
    pairs = np.array(list(means.values())).reshape(-1, 2)
    return dict(zip(means, rounding.differences(pairs[:, 0], pairs[:, 1]).tolist()))


def _adjusted(pairs: Sequence[Comparison]) -> List[Comparison]:
    """Add Holm's adjustment, of success over pairs and of all other metrics over pairs together,
    and which differences are significant and relevant."""
    primary = holm([pair.p_value for pair in pairs])
    secondary = iter(holm([metric.p_value for pair in pairs for metric in pair.metrics]))
    return [
        replace(
            pair,
            p_adjusted=p_adjusted,
            significant=p_adjusted < ALPHA,
            relevant=_is_relevant(pair.difference.value, pair.smallest_relevant),
            metrics=tuple(_judged_metric(metric, next(secondary)) for metric in pair.metrics),
        )
        for pair, p_adjusted in zip(pairs, primary)
    ]


def _judged_metric(found: MetricComparison, p_adjusted: float) -> MetricComparison:
    return replace(
        found,
        p_adjusted=p_adjusted,
        significant=p_adjusted < ALPHA,
        relevant=_is_relevant(found.shift.value, found.smallest_relevant),
    )


def _is_relevant(estimate: float, smallest: float) -> bool:
    """Return whether the estimate has at least the size ``smallest``; false for NaN and 0."""
    return abs(estimate) > smallest * (1.0 - rounding.TOLERANCE)


def _overall(planners: Sequence[WorldTrials]) -> Tuple[float, str]:
    """Return p-value and name of the test that more than two planners succeed equally often, over
    their common worlds."""
    if len(planners) < 3:
        return math.nan, ""
    common = [world for world in planners[0] if all(world in other for other in planners)]
    if not common:
        return math.nan, ""
    return planners_differ(
        np.array([[rate(planner[world]) for planner in planners] for world in common])
    )


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

    levels = rounding.without_noise(np.ravel(rates), 1.0).reshape(np.shape(rates))
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
