"""Which planner was better, world by world.

Owns the pairing: a world counts in a comparison when both planners have a valid trial in it.
Success is the one primary question. The metrics that declare ``in_comparison`` are secondary and
Holm-adjusted together over all pairs of planners; those that a failure cuts short are compared on
worlds in which both succeeded, and how many that is goes with every number.
"""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis.decisions import anytime
from gz_testauto.analysis.intervals import LEVEL, Estimate
from gz_testauto.analysis.multiple import cochran_q, holm
from gz_testauto.analysis.paired_success import PairedCounts, mcnemar, rate_difference
from gz_testauto.analysis.signed_rank import shift, signed_rank
from gz_testauto.analysis.summary import comparable_values
from gz_testauto.metrics.interface import Metric
from gz_testauto.results.records import CampaignResults, TrialRecord

DRAWS = 10_000
SEED = 0

WorldTrials = Mapping[str, Sequence[TrialRecord]]


@dataclass(frozen=True)
class MetricComparison:
    """One metric, first minus second, over ``worlds`` worlds in which both gave a number."""

    name: str
    worlds: int
    shift: Estimate
    p_value: float
    p_adjusted: float = math.nan


@dataclass(frozen=True)
class Comparison:
    """Two planners over the worlds in which both have valid trials.

    ``counts`` is None with repetitions. ``difference`` is the first's success rate minus the
    second's; ``p_adjusted`` is Holm-adjusted over all pairs of planners. ``first_won`` and
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
    p_adjusted: float = math.nan


@dataclass(frozen=True)
class Comparisons:
    """All pairs, and whether all planners together differ: ``overall_p`` by ``overall_test``,
    NaN for two planners, whose pair says it, and in a campaign that ends when decided: these tests
    are for a number of worlds that was set before."""

    pairs: Tuple[Comparison, ...]
    overall_p: float = math.nan
    overall_test: str = ""


def compare(
    results: CampaignResults, asked: Optional[Sequence[Tuple[str, str]]] = None
) -> Comparisons:
    """Compare the pairs of planners that are ``asked``, every pair in the campaign's order unless
    told."""
    by_planner = {planner: _judged(results, planner) for planner in results.planners}
    metrics = [metric for metric in results.metrics if metric.in_comparison]
    pairs = [
        _compare(
            first, by_planner[first], second, by_planner[second], metrics, results.stop is not None
        )
        for first, second in (
            itertools.combinations(results.planners, 2) if asked is None else asked
        )
    ]
    compared = tuple(_adjusted(pairs))
    if results.stop is not None:  # the number of worlds depends on how they ended
        return Comparisons(compared)
    return Comparisons(compared, *_overall(list(by_planner.values())))


def trials_by_world(records: Sequence[TrialRecord]) -> Dict[str, List[TrialRecord]]:
    """The valid trials of each world that has some."""
    worlds: Dict[str, List[TrialRecord]] = {}
    for record in records:
        if record.outcome.valid:
            worlds.setdefault(record.world, []).append(record)
    return worlds


def _judged(results: CampaignResults, planner: str) -> Dict[str, List[TrialRecord]]:
    """The valid trials of each world; where the campaign ends when decided, of those that were
    judged, in that order."""
    worlds = trials_by_world(results.of(planner))
    if results.stop is None:
        return worlds
    return {world: worlds[world] for world in results.judged if world in worlds}


def rate(records: Sequence[TrialRecord]) -> float:
    """Share of the trials that reached the goal."""
    return sum(record.completed for record in records) / len(records)


def _compare(
    first: str,
    of_first: WorldTrials,
    second: str,
    of_second: WorldTrials,
    metrics: Sequence[Metric],
    ends_when_decided: bool,
) -> Comparison:
    common = [world for world in of_first if world in of_second]
    rates = np.array([(rate(of_first[world]), rate(of_second[world])) for world in common])
    rates = rates.reshape(-1, 2)
    ahead = rates[:, 0] - rates[:, 1]
    single = all(len(of_first[world]) == len(of_second[world]) == 1 for world in common)
    counts: Optional[PairedCounts] = None
    if single:
        counts = PairedCounts(
            int((rates.sum(axis=1) == 2).sum()),
            int((ahead > 0).sum()),
            int((ahead < 0).sum()),
            int((rates.sum(axis=1) == 0).sum()),
        )
        difference, p_value, test = rate_difference(counts), mcnemar(counts), "exact McNemar"
    else:
        difference, test = mean_over_worlds(ahead), "Wilcoxon (Pratt) over worlds"
        p_value = signed_rank(ahead, zeros="pratt")
    if ends_when_decided:  # the number of worlds depends on how they ended
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
    )


def mean_over_worlds(values: np.ndarray) -> Estimate:
    """Mean with a percentile bootstrap over worlds."""
    if not len(values):
        return Estimate.unknown()
    draws = np.random.default_rng(SEED).integers(len(values), size=(DRAWS, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(values.mean()), float(low), float(high), "bootstrap over worlds")


def metric_differences(
    results: CampaignResults, first: str, second: str, metric: Metric
) -> Dict[str, float]:
    """First minus second, by the name of each world in which both planners gave a number."""
    of_first, of_second = (_judged(results, planner) for planner in (first, second))
    common = [world for world in of_first if world in of_second]
    return _differences(metric, of_first, of_second, common)


def _compare_metric(
    metric: Metric, of_first: WorldTrials, of_second: WorldTrials, common: Sequence[str]
) -> MetricComparison:
    differences = list(_differences(metric, of_first, of_second, common).values())
    p_value = signed_rank(differences) if differences else math.nan
    return MetricComparison(metric.name, len(differences), shift(differences), p_value)


def _differences(
    metric: Metric, of_first: WorldTrials, of_second: WorldTrials, common: Sequence[str]
) -> Dict[str, float]:
    differences = {}
    for world in common:
        a = comparable_values(metric, of_first[world])
        b = comparable_values(metric, of_second[world])
        if a and b:
            differences[world] = float(np.mean(a) - np.mean(b))
    return differences


def _adjusted(pairs: Sequence[Comparison]) -> List[Comparison]:
    """Fill in Holm's adjustment: success over pairs, all other metrics over pairs together."""
    primary = holm([pair.p_value for pair in pairs])
    secondary = iter(holm([metric.p_value for pair in pairs for metric in pair.metrics]))
    return [
        replace(
            pair,
            p_adjusted=p_adjusted,
            metrics=tuple(replace(metric, p_adjusted=next(secondary)) for metric in pair.metrics),
        )
        for pair, p_adjusted in zip(pairs, primary)
    ]


def _overall(planners: Sequence[WorldTrials]) -> Tuple[float, str]:
    """Whether more than two planners succeed equally often, over worlds that all have met."""
    if len(planners) < 3:
        return math.nan, ""
    common = [world for world in planners[0] if all(world in other for other in planners)]
    if not common:
        return math.nan, ""
    rates = np.array([[rate(planner[world]) for planner in planners] for world in common])
    if np.isin(rates, (0.0, 1.0)).all():
        return cochran_q(rates), "Cochran's Q"
    if (rates == rates[:, :1]).all():  # Friedman's statistic is 0/0
        return 1.0, "Friedman"
    from scipy.stats import friedmanchisquare

    return float(friedmanchisquare(*rates.T).pvalue), "Friedman"
