"""The targets of a search, values of ``--for``."""

import math
import operator
import re
from dataclasses import dataclass
from typing import Callable, ClassVar, Dict, FrozenSet, List, Mapping, Sequence

from typing_extensions import override

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.metrics.interface import Metric, installed_metrics
from gz_testauto.results.records import TrialRecord
from gz_testauto.trial.outcome import Outcome

FAILED, DISAGREEMENT, LOW_CLEARANCE = "failed", "disagreement", "low-clearance"

LOW_CLEARANCE_CONDITION = "clearance_min_m < 0.1"

_CONDITION = re.compile(r"\s*(\w+)\s*([<>]=?)\s*(\S+)\s*")

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class SearchTarget:
    """The property for which a search selects trials, such as a failure or a low clearance."""

    noun: ClassVar[str] = "failures"  # noun for the selected trials in sentences

    @property
    def metric_name(self) -> str:
        """The metric on which :meth:`is_same` depends, or empty."""
        return ""

    def select(self, records: Sequence[TrialRecord]) -> List[TrialRecord]:
        raise NotImplementedError

    def is_same(self, first: Outcome, outcome: Outcome, value: float) -> bool:
        """Return whether a repeat has the property for which its trial was selected.

        ``first`` is the outcome of the trial. ``outcome`` and ``value`` (:attr:`metric_name`) are
        the repeat's.
        """
        return outcome is first


@dataclass(frozen=True)
class OutcomeTarget(SearchTarget):
    outcomes: FrozenSet[Outcome]

    @override
    def select(self, records: Sequence[TrialRecord]) -> List[TrialRecord]:
        return [record for record in records if record.outcome in self.outcomes]


class DisagreementTarget(SearchTarget):
    """The failed trials in worlds in which another planner reaches the goal."""

    @override
    def select(self, records: Sequence[TrialRecord]) -> List[TrialRecord]:
        solved = {record.world for record in records if record.completed}
        return [
            record
            for record in records
            if record.outcome.valid and not record.completed and record.world in solved
        ]


@dataclass(frozen=True)
class ConditionTarget(SearchTarget):
    """The valid trials whose metric is on one side of a limit, such as ``clearance_min_m < 0.1``.

    A metric that is complete only in trials that reached the goal is compared only in these.
    """

    noun = "findings"

    metric: Metric
    sign: str
    limit: float

    @property
    @override
    def metric_name(self) -> str:
        return self.metric.name

    @override
    def select(self, records: Sequence[TrialRecord]) -> List[TrialRecord]:
        name = self.metric_name
        return [
            record
            for record in records
            if self.is_same(record.outcome, record.outcome, record.metrics.get(name, math.nan))
        ]

    @override
    def is_same(self, first: Outcome, outcome: Outcome, value: float) -> bool:
        if not outcome.valid or (self.metric.completed_only and not outcome.success):
            return False
        return _COMPARE[self.sign](value, self.limit)  # NaN is on neither side


def read_target(text: str, planners: int) -> SearchTarget:
    """Return the target of a value of ``--for``.

    Raises ``SpecError`` for an unknown name or metric, for a limit that is not a number, and for
    ``disagreement`` with a single planner.
    """
    failures = {
        outcome.value: outcome for outcome in Outcome if outcome.valid and not outcome.success
    }
    if text == FAILED:
        return OutcomeTarget(frozenset(failures.values()))
    if text in failures:
        return OutcomeTarget(frozenset((failures[text],)))
    if text == DISAGREEMENT:
        if planners < 2:
            raise SpecError(
                f"--for {text}: the campaign has one planner; add a second one to 'planners'"
            )
        return DisagreementTarget()
    match = _CONDITION.fullmatch(LOW_CLEARANCE_CONDITION if text == LOW_CLEARANCE else text)
    if match is None:
        names = sorted({FAILED, DISAGREEMENT, LOW_CLEARANCE, *failures})
        raise SpecError(
            f"--for: {unknown_name('target', text, names)}, or a condition such as "
            f"{LOW_CLEARANCE_CONDITION!r}"
        )
    metrics: Dict[str, Metric] = {metric.name: metric for metric in installed_metrics()}
    name, sign, limit = match.groups()
    if name not in metrics:
        raise SpecError(f"--for {text!r}: {unknown_name('metric', name, sorted(metrics))}")
    try:
        value = float(limit)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SpecError(f"--for {text!r}: {limit!r} is not a number; write a number in SI units")
    return ConditionTarget(metrics[name], sign, value)
