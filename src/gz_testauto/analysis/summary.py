"""Summarize the results of each planner.

Invalid trials are reported but excluded, metrics of completed trials are
averaged over those only, and every mean has its number of trials.
"""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Dict, Iterable, List, Mapping, Sequence, Tuple

import numpy as np

from gz_testauto.analysis.clusters import (
    clustered_rate,
    design_effect,
    intraclass_correlation,
)
from gz_testauto.analysis.intervals import Estimate, success_rate
from gz_testauto.metrics.interface import Metric
from gz_testauto.results.records import AttemptRecord, CampaignResults, TrialRecord
from gz_testauto.spec.stack import MIN_REAL_TIME_FACTOR
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.real_time_factor import is_low_factor_cause

ON_STACK = "missed_control_cycles"
"""A metric that every trial on a stack has, and no other."""


@dataclass(frozen=True)
class MetricSummary:
    """Mean and standard deviation of one metric over ``trials`` trials; NaN for none (and for
    the deviation of one)."""

    name: str
    trials: int
    mean: float
    deviation: float


@dataclass(frozen=True)
class MachineLoad:
    """The trials of one planner that the load of the machine can have affected. Only trials on a
    stack, or over ROS in real time, can be; all counts are 0 for others.

    ``slow_attempts`` were repeated or abandoned because of their speed. Of the valid trials,
    ``slow_trials`` on a stack ran at a real-time factor below :data:`MIN_REAL_TIME_FACTOR`, in
    ``missed_cycles_trials`` its control loop missed its rate, and in ``late_trials`` a control
    period started without the planner's command.
    """

    slow_attempts: int
    slow_trials: int
    missed_cycles_trials: int
    late_trials: int


@dataclass(frozen=True)
class PlannerSummary:
    """One planner over all its finished trials.

    ``trials`` are the valid ones, in ``worlds`` worlds; ``invalid`` trials are not among them.
    ``correlation`` is the intra-class correlation of success within worlds, NaN without
    repetitions. ``naive`` has the interval for independent trials, ``design_effect`` is the number
    of correlated trials that are worth one independent trial. ``load`` counts late trials.
    """

    planner: str
    trials: int
    invalid: int
    worlds: int
    outcomes: Mapping[Outcome, int]
    success: Estimate
    correlation: float
    naive: Estimate
    design_effect: float
    metrics: Mapping[str, MetricSummary]
    load: MachineLoad

    @property
    def reached(self) -> int:
        """The number of valid trials that reached the goal."""
        return sum(count for outcome, count in self.outcomes.items() if outcome.success)

    def mean_trials(self, metric: str) -> int:
        """Return the number of trials with a value of a metric."""
        return self.metrics[metric].trials if metric in self.metrics else 0


def summarize(results: CampaignResults) -> Tuple[PlannerSummary, ...]:
    """Return one summary per planner, in the campaign's order."""
    metrics = sorted(results.metrics, key=lambda metric: metric.name)
    return tuple(
        _summarize(planner, results.of(planner), results.invalid_attempts, metrics)
        for planner in results.planners
    )


def _summarize(
    planner: str,
    records: Sequence[TrialRecord],
    attempts: Sequence[AttemptRecord],
    metrics: Sequence[Metric],
) -> PlannerSummary:
    valid = [record for record in records if record.outcome.valid]
    per_world: Dict[str, List[bool]] = {}
    for record in valid:
        per_world.setdefault(record.world, []).append(record.completed)
    successes = [sum(ended) for ended in per_world.values()]
    counts = [len(ended) for ended in per_world.values()]
    measured = {name for record in valid for name in record.metrics}
    return PlannerSummary(
        planner=planner,
        trials=len(valid),
        invalid=len(records) - len(valid),
        worlds=len(per_world),
        outcomes=Counter(record.outcome for record in valid),
        success=clustered_rate(successes, counts),
        correlation=intraclass_correlation(successes, counts),
        naive=success_rate(sum(successes), sum(counts)),
        design_effect=design_effect(successes, counts),
        metrics={m.name: _metric_summary(m, valid) for m in metrics if m.name in measured},
        load=_load(records, attempts),
    )


def failures(summaries: Iterable[PlannerSummary], all_but_rare: bool = False) -> List[Outcome]:
    """Return the outcomes of valid trials that did not reach the goal, in declared order: those
    that occur, or all that occur or are not rare."""
    seen = {outcome for summary in summaries for outcome in summary.outcomes}
    return [
        outcome
        for outcome in Outcome
        if outcome.valid
        and not outcome.success
        and (outcome in seen or (all_but_rare and not outcome.declaration.rare))
    ]


def _load(records: Sequence[TrialRecord], attempts: Sequence[AttemptRecord]) -> MachineLoad:
    """``records`` are those of one planner, ``attempts`` the invalid ones of all planners."""
    trials = {record.trial for record in records}
    metrics = [record.metrics for record in records if record.outcome.valid]
    return MachineLoad(
        sum(one.trial in trials and is_low_factor_cause(one.cause) for one in attempts),
        sum(
            m.get("real_time_factor", math.nan) < MIN_REAL_TIME_FACTOR
            for m in metrics
            if ON_STACK in m
        ),
        sum(m.get(ON_STACK, 0.0) > 0.0 for m in metrics),
        sum(m.get("late_periods", 0.0) > 0.0 for m in metrics),
    )


def _metric_summary(metric: Metric, valid: Sequence[TrialRecord]) -> MetricSummary:
    values = np.array(comparable_values(metric, valid))
    return MetricSummary(
        metric.name,
        len(values),
        float(values.mean()) if len(values) else math.nan,
        float(values.std(ddof=1)) if len(values) > 1 else math.nan,
    )


def comparable_values(metric: Metric, records: Sequence[TrialRecord]) -> List[float]:
    """Return the metric's known values over the trials for which it is defined."""
    values = [
        record.metrics.get(metric.name, math.nan)
        for record in records
        if record.completed or not metric.completed_only
    ]
    return [value for value in values if not math.isnan(value)]
