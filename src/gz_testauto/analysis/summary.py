"""Summarize the results of each planner.

Statistics exclude invalid trials. Trials in the same world are correlated. With repetitions, the
success rate is therefore the mean of the worlds' rates, with an interval over worlds
(:mod:`gz_testauto.analysis.bounded_mean`).
"""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Dict, Iterable, List, Mapping, Sequence, Tuple

import numpy as np

from gz_testauto.analysis.bounded_mean import RATE, mean_interval
from gz_testauto.analysis.intervals import ONE_WORLD, Estimate, success_rate
from gz_testauto.metrics.interface import Metric
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.spec.stack import MIN_REAL_TIME_FACTOR
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.real_time_factor import is_low_factor_cause

# A metric that exists exactly for trials with a navigation stack.
ON_STACK = "missed_control_cycles"


@dataclass(frozen=True)
class MetricSummary:
    """Mean and standard deviation of one metric over ``trials`` trials. The mean is NaN without
    trials, and the deviation for fewer than two."""

    name: str
    trials: int
    mean: float
    deviation: float


@dataclass(frozen=True)
class MachineLoad:
    """Numbers of trials of one planner that the load of the machine can have affected.

    They are 0 except for trials with a navigation stack, or over ROS in real time.
    ``slow_attempts`` were repeated or abandoned because of their speed. Of the valid trials,
    ``slow_trials`` ran at a real-time factor below ``slow_factor``, in ``missed_cycles_trials`` the
    control loop missed its rate, and in ``late_trials`` a period started without a command.
    """

    slow_attempts: int
    slow_trials: int
    missed_cycles_trials: int
    late_trials: int
    slow_factor: float = MIN_REAL_TIME_FACTOR


@dataclass(frozen=True)
class PlannerSummary:
    """The statistics of one planner over all its finished trials.

    ``trials`` is the number of valid trials, in ``worlds`` worlds. ``correlation`` is the
    intra-class correlation of success within worlds, NaN without repetitions. ``naive`` is the
    success rate with the interval for independent trials. ``design_effect`` is the number of
    correlated trials that contain the information of one independent trial.
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
        return sum(trial_count for outcome, trial_count in self.outcomes.items() if outcome.success)

    def mean_trials(self, metric: str) -> int:
        return self.metrics[metric].trials if metric in self.metrics else 0


def summarize(results: CampaignResults) -> Tuple[PlannerSummary, ...]:
    metrics = sorted(results.metrics, key=lambda metric: metric.name)
    return tuple(_summarize(planner, results, metrics) for planner in results.planners)


def _summarize(planner: str, results: CampaignResults, metrics: Sequence[Metric]) -> PlannerSummary:
    records = results.of(planner)
    valid = [record for record in records if record.outcome.valid]
    per_world: Dict[str, List[bool]] = {}
    for record in valid:
        per_world.setdefault(record.world, []).append(record.completed)
    successes = [sum(completed) for completed in per_world.values()]
    counts = [len(completed) for completed in per_world.values()]
    measured_names = {name for record in valid for name in record.metrics}
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
        metrics={m.name: _metric_summary(m, valid) for m in metrics if m.name in measured_names},
        load=_machine_load(records, results),
    )


def failures(summaries: Iterable[PlannerSummary], all_but_rare: bool = False) -> List[Outcome]:
    """Return the outcomes of failed valid trials that occur, in the order of declaration. If
    ``all_but_rare`` is true, outcomes that are not rare are included even if they do not occur."""
    occurring = {outcome for summary in summaries for outcome in summary.outcomes}
    return [
        outcome
        for outcome in Outcome
        if outcome.valid
        and not outcome.success
        and (outcome in occurring or (all_but_rare and not outcome.declaration.rare))
    ]


def _machine_load(records: Sequence[TrialRecord], results: CampaignResults) -> MachineLoad:
    trials = {record.trial for record in records}
    metrics = [record.metrics for record in records if record.outcome.valid]
    slow_factor = MIN_REAL_TIME_FACTOR * results.normal_real_time_factor
    attempts = results.invalid_attempts
    return MachineLoad(
        sum(attempt.trial in trials and is_low_factor_cause(attempt.cause) for attempt in attempts),
        sum(m.get("real_time_factor", math.nan) < slow_factor for m in metrics if ON_STACK in m),
        sum(m.get(ON_STACK, 0.0) > 0.0 for m in metrics),
        sum(m.get("late_periods", 0.0) > 0.0 for m in metrics),
        slow_factor,
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
    values = [
        record.metrics.get(metric.name, math.nan)
        for record in records
        if record.completed or not metric.completed_only
    ]
    return [value for value in values if math.isfinite(value)]


def clustered_rate(successes: Sequence[int], trials: Sequence[int]) -> Estimate:
    """Return the mean of the worlds' success rates, without an interval for a single world."""
    success, trial_counts = _worlds_with_trials(successes, trials)
    if not len(trial_counts):
        return Estimate.unknown()
    if len(trial_counts) == 1:
        return Estimate.without_interval(float(success[0] / trial_counts[0]), ONE_WORLD)
    if (trial_counts == 1).all():
        return success_rate(int(success.sum()), len(trial_counts))
    return mean_interval(success / trial_counts, RATE)


def intraclass_correlation(successes: Sequence[int], trials: Sequence[int]) -> float:
    """Return the intra-class correlation of success, from the successes and trials in each world.

    One-way analysis-of-variance estimator for unequal group sizes, S. Wu, C. M. Crespi and W. K.
    Wong, Contemporary Clinical Trials 33 (2012), eq. (ANOVA). A negative estimate is replaced by 0.
    It is NaN for one trial per world, for fewer than two worlds, and if all outcomes are equal.
    """
    success, trial_counts = _worlds_with_trials(successes, trials)
    total, worlds = trial_counts.sum(), len(trial_counts)
    if worlds < 2 or total <= worlds:
        return math.nan
    rates = success / trial_counts
    mean = success.sum() / total
    between_squares = (trial_counts * (rates - mean) ** 2).sum() / (worlds - 1)
    within_squares = (trial_counts * rates * (1 - rates)).sum() / (total - worlds)
    size = (total - (trial_counts**2).sum() / total) / (worlds - 1)
    spread = between_squares + (size - 1) * within_squares
    return max(float((between_squares - within_squares) / spread), 0.0) if spread > 0 else math.nan


def design_effect(successes: Sequence[int], trials: Sequence[int]) -> float:
    """Return ``1 + (m − 1)·ICC``, the factor of the variance of the success rate for ``m`` trials
    per world on average. It is NaN if the intra-class correlation (ICC) is NaN."""
    _, trial_counts = _worlds_with_trials(successes, trials)
    correlation = intraclass_correlation(successes, trials)
    if math.isnan(correlation):
        return math.nan
    return 1.0 + (float(trial_counts.mean()) - 1.0) * correlation


def _worlds_with_trials(
    successes: Sequence[int], trials: Sequence[int]
) -> Tuple[np.ndarray, np.ndarray]:
    success, trial_counts = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    return success[trial_counts > 0], trial_counts[trial_counts > 0]
