"""Agreement of two simulators on the same trials of two campaigns, and the selection of trials of a
screened campaign to run again in a more expensive simulator."""

import math
from dataclasses import dataclass
from typing import Dict, List, Mapping, Sequence, Tuple

import numpy as np

from gz_testauto.analysis import rounding
from gz_testauto.analysis.intervals import Estimate
from gz_testauto.analysis.paired_median import median_difference
from gz_testauto.analysis.summary import clustered_rate
from gz_testauto.extras.simulator_comparison.correlation import (
    PlannerCorrelation,
    correlation,
    require_same_worlds,
)
from gz_testauto.metrics.interface import SUCCESS, Metric
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.sampling.seeds import CONTROL_SAMPLE, child_generator
from gz_testauto.trial.outcome import Outcome

Pair = Tuple[TrialRecord, TrialRecord]

INVALID = "invalid"
DISAGREE = "planners disagree"
CLOSEST = "lowest clearance"
CONTROL = "control sample"

CORRELATED = (SUCCESS, "spl")  # as in Kadian et al.


@dataclass(frozen=True)
class MetricAgreement:
    """Differences, second minus first, of one metric over pairs of trials.

    ``difference`` is the median over worlds of the mean difference. ``median_relative`` is the
    median over pairs of ``|difference / first|``, or NaN if no first value differs from 0.
    """

    metric: Metric
    pairs: int
    worlds: int
    difference: Estimate
    median_relative: float


@dataclass(frozen=True)
class SimulatorAgreement:
    """The agreement of two simulators on the trials that are valid in both.

    ``trials`` counts the pairs of trials by planner, and ``same`` those with the same outcome.
    ``rate`` is the share of equal outcomes over all planners.
    """

    trials: Mapping[str, int]
    same: Mapping[str, int]
    rate: Estimate
    metrics: Tuple[MetricAgreement, ...]
    correlations: Tuple[PlannerCorrelation, ...]
    disagreements: Tuple[Pair, ...]


def agreement(first: CampaignResults, second: CampaignResults) -> SimulatorAgreement:
    pairs = _valid_pairs(first, second)
    trials: Dict[str, int] = dict.fromkeys(first.planners, 0)
    same = dict(trials)
    by_world: Dict[str, List[bool]] = {}
    for trial, partner in pairs:
        is_same = trial.outcome is partner.outcome
        trials[trial.planner] += 1
        same[trial.planner] += is_same
        by_world.setdefault(first.copies.get(trial.world, trial.world), []).append(is_same)
    completed_pairs = [pair for pair in pairs if pair[0].completed and pair[1].completed]
    return SimulatorAgreement(
        trials=trials,
        same=same,
        rate=_agreement_rate(by_world),
        metrics=tuple(
            _compare_metric(metric, completed_pairs, first.copies)
            for metric in first.metrics
            if metric.in_agreement
        ),
        correlations=tuple(correlation(second, first, name) for name in CORRELATED),
        disagreements=_disagreeing_pairs(pairs),
    )


def possible_reasons() -> Tuple[str, ...]:
    """Return the reasons to select a trial, in order of precedence."""
    crashes = (outcome.label for outcome in Outcome if outcome.declaration.crash)
    return (INVALID, DISAGREE, *crashes, CLOSEST, CONTROL)


def choose_trials(
    results: CampaignResults, seed: int, closest: int, control: int
) -> Dict[int, str]:
    """Select trials to run again in a slower simulator. Return the reasons by index of the trial.

    Invalid trials, crashes, and runs in which only some planners completed are always selected. The
    ``closest`` remaining trials with the lowest clearances are added. Finally, ``control`` random
    trials represent those that are not selected. The same results and seed select the same trials.
    """
    reasons: Dict[int, str] = {}

    def add_reason(records: List[TrialRecord], reason: str) -> None:
        for record in records:
            reasons.setdefault(record.trial, reason)

    add_reason([r for r in results.trials if not r.outcome.valid], INVALID)
    for records in _trials_by_run(results):
        if len({record.completed for record in records}) > 1:
            add_reason(records, DISAGREE)
    for outcome in Outcome:
        if outcome.declaration.crash:
            add_reason([r for r in results.trials if r.outcome is outcome], outcome.label)
    remaining = [record for record in results.trials if record.trial not in reasons]
    by_clearance = sorted(remaining, key=lambda r: (r.metrics["clearance_min_m"], r.trial))
    add_reason(by_clearance[:closest], CLOSEST)
    remaining = [record for record in remaining if record.trial not in reasons]
    drawn = child_generator(seed, CONTROL_SAMPLE).permutation(len(remaining))[:control]
    add_reason([remaining[index] for index in sorted(drawn.tolist())], CONTROL)
    return reasons


def _trials_by_run(results: CampaignResults) -> List[List[TrialRecord]]:
    runs: Dict[tuple, List[TrialRecord]] = {}
    for record in results.trials:
        if record.outcome.valid:
            runs.setdefault((record.world_index, record.repetition), []).append(record)
    return list(runs.values())


@dataclass(frozen=True)
class Confirmation:
    """Comparison of two simulators on the trials that were selected for the second one.

    ``trials`` and ``same`` count pairs, and pairs with the same outcome, by reason. ``overall``
    estimates the share with the same outcome of the trials that are valid in the first simulator,
    without selected trials that are invalid in the second one. The other selected trials count
    directly, and the control sample represents the remaining ones.
    """

    screened: int
    trials: Mapping[str, int]
    same: Mapping[str, int]
    overall: Estimate
    disagreements: Tuple[Pair, ...]


def confirmation(
    first: CampaignResults, second: CampaignResults, reasons: Mapping[int, str]
) -> Confirmation:
    """Compare a campaign with the selected trials in a second simulator. ``reasons`` are those of
    :func:`choose_trials`."""
    trials: Dict[str, int] = {}
    same: Dict[str, int] = {}
    agreements_by_world: Dict[str, List[bool]] = {}
    pairs = [pair for pair in _valid_pairs(first, second) if pair[0].trial in reasons]
    for trial, partner in pairs:
        reason, is_same = reasons[trial.trial], trial.outcome is partner.outcome
        trials[reason] = trials.get(reason, 0) + 1
        same[reason] = same.get(reason, 0) + is_same
        if reason == CONTROL:
            world = first.copies.get(trial.world, trial.world)
            agreements_by_world.setdefault(world, []).append(is_same)
    chosen = sum(count for reason, count in trials.items() if reason != CONTROL)
    agreed = sum(count for reason, count in same.items() if reason != CONTROL)
    remaining = sum(
        record.outcome.valid and reasons.get(record.trial, CONTROL) == CONTROL
        for record in first.trials
    )
    return Confirmation(
        screened=len(first.trials),
        trials=trials,
        same=same,
        overall=_combine_strata(agreed, chosen, _agreement_rate(agreements_by_world), remaining),
        disagreements=_disagreeing_pairs(pairs),
    )


def _agreement_rate(by_world: Mapping[str, Sequence[bool]]) -> Estimate:
    return clustered_rate(list(map(sum, by_world.values())), list(map(len, by_world.values())))


def _combine_strata(agreed: int, chosen: int, rate: Estimate, remaining: int) -> Estimate:
    """Return the share of all trials with the same outcome in both simulators. These are ``agreed``
    of the ``chosen`` trials, and the share ``rate`` of the ``remaining`` trials."""
    if chosen + remaining == 0:
        return Estimate.unknown()
    if remaining == 0:
        return Estimate.without_interval(agreed / chosen, "all were run in both")
    value, low, high = ((agreed + remaining * r) / (chosen + remaining) for r in rate[:3])
    return Estimate(value, low, high, f"{rate.method}, of the control sample")


def _valid_pairs(first: CampaignResults, second: CampaignResults) -> List[Pair]:
    require_same_worlds(first, second)
    partners = {(r.world, r.planner, r.repetition): r for r in second.trials}
    candidates = ((r, partners.get((r.world, r.planner, r.repetition))) for r in first.trials)
    return [
        (trial, partner)
        for trial, partner in candidates
        if partner is not None and trial.outcome.valid and partner.outcome.valid
    ]


def _disagreeing_pairs(pairs: Sequence[Pair]) -> Tuple[Pair, ...]:
    return tuple(pair for pair in pairs if pair[0].outcome is not pair[1].outcome)


def _compare_metric(
    metric: Metric, pairs: Sequence[Pair], copies: Mapping[str, str]
) -> MetricAgreement:
    values = np.array(
        [[record.metrics.get(metric.name, math.nan) for record in pair] for pair in pairs]
    ).reshape(-1, 2)
    is_known = ~np.isnan(values).any(axis=1)
    differences = rounding.differences(values[:, 1], values[:, 0])
    differences_by_world: Dict[str, List[float]] = {}
    for (record, _), difference, has_values in zip(pairs, differences.tolist(), is_known):
        if has_values:
            world = copies.get(record.world, record.world)
            differences_by_world.setdefault(world, []).append(difference)
    is_relative = is_known & (values[:, 0] != 0)
    relative = np.abs(differences[is_relative] / values[is_relative, 0])
    return MetricAgreement(
        metric,
        int(is_known.sum()),
        len(differences_by_world),
        median_difference(
            [
                rounding.mean(world_differences)
                for world_differences in differences_by_world.values()
            ]
        ),
        float(np.median(relative)) if len(relative) else math.nan,
    )
