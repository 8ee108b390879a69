"""Tests whether a planner is not worse than a baseline, and whether its success rate is sufficient.

The verdict on a question is passed, failed or undecided. Each question is about a mean over worlds:
of the success rate, of the difference of the success rates, or of the difference of a metric with
known bounds. By default, the tests are based on betting (:mod:`gz_testauto.analysis.anytime`), so
that all verdicts are valid after every world, and worlds can be added while a verdict is undecided.
With a fixed number of worlds, they are Gaffke's (:mod:`gz_testauto.analysis.bounded_mean`), which
need fewer worlds. For each question, the probability of passing wrongly is at most alpha. For the
whole gate, the probability of failing wrongly is at most alpha, which is divided among the
questions.
"""

import enum
import math
from dataclasses import dataclass, field, replace
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis import anytime, bounded_mean, rounding
from gz_testauto.analysis.comparison import WorldTrials, rate
from gz_testauto.analysis.summary import comparable_values
from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.names import metric_heading


class Verdict(enum.Enum):
    """The result of one question or of the whole gate."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"


class QuestionKind(enum.Enum):
    """The quantity that a question tests."""

    SUCCESS = "success"
    DIFFERENCE = "difference of success"
    METRIC = "difference of a metric"


class MetricMargin(NamedTuple):
    """The largest allowed deterioration of a metric, in its unit.

    ``bounds`` are the smallest and the largest possible value of the metric. The default is the
    declaration of the metric.
    """

    name: str
    margin: float
    bounds: Optional[Tuple[float, float]] = None


@dataclass(frozen=True)
class GateQuestions:
    """The questions of a gate. ``not_worse_than`` is the margin of the success rate. Like
    ``metrics``, it requires a baseline. ``min_success`` is the required success rate, and ``alpha``
    the error probability. ``fixed_worlds`` is the number of worlds that was declared before the
    campaign, or None if the gate is valid at every number of worlds."""

    not_worse_than: Optional[float] = None
    min_success: Optional[float] = None
    metrics: Tuple[MetricMargin, ...] = ()
    alpha: float = 0.05
    fixed_worlds: Optional[int] = None

    def __post_init__(self) -> None:
        margin, least = self.not_worse_than, self.min_success
        if margin is not None and not 0.0 < margin < 1.0:
            raise SpecError(f"not_worse_than is {margin:g}; it must be between 0 and 1")
        if least is not None and not 0.0 < least < 1.0:
            raise SpecError(f"min_success is {least:g}; it must be between 0 and 1")
        if not 0.0 < self.alpha < 0.5:
            raise SpecError(f"alpha is {self.alpha:g}; it must be between 0 and 0.5")
        if self.fixed_worlds is not None and self.fixed_worlds < 2:
            raise SpecError(f"fixed_worlds is {self.fixed_worlds}; it must be at least 2")
        for name, by, bounds in self.metrics:
            if not (math.isfinite(by) and by > 0.0):
                raise SpecError(f"the margin of {name} is {by:g}; it must be > 0")
            if bounds is not None and not -math.inf < bounds[0] < bounds[1] < math.inf:
                raise SpecError(
                    f"the bounds of {name} are {bounds[0]:g} and {bounds[1]:g}; they must be "
                    "finite, and the first one smaller"
                )


@dataclass(frozen=True)
class GatePair:
    """A planner and its baseline, with their names as in the verdicts.

    ``trials`` contains the valid trials of the planner by world, and ``baseline_trials`` those of
    the baseline in the same worlds. ``baseline`` is empty if the planner has no baseline.
    """

    planner: str
    trials: WorldTrials
    baseline: str = ""
    baseline_trials: WorldTrials = field(default_factory=dict)

    @property
    def worlds(self) -> Tuple[str, ...]:
        """The worlds in which both planners have valid trials."""
        return tuple(world for world in self.trials if world in self.baseline_trials)


@dataclass(frozen=True)
class MetricWorlds:
    """The worlds of a pair, classified for one metric.

    ``differences`` contains the planner's mean minus the baseline's mean, for the worlds in which
    both have a value. If the metric is defined only for completed trials, ``failed`` contains the
    worlds in which one of the two planners never reached the goal. ``unmeasured`` contains the
    other worlds in which a value is missing.
    """

    differences: Dict[str, float]
    failed: Tuple[str, ...]
    unmeasured: Tuple[str, ...]


@dataclass(frozen=True)
class QuestionVerdict:
    """The verdict on one question, over ``worlds`` worlds.

    ``question`` is the tested hypothesis, ``subject`` the tested quantity with its planner.
    ``baseline`` is empty for a required rate. ``value`` is the estimate, ``low`` and ``high`` are
    its one-sided bounds with the confidence ``levels``, and ``limit`` is the tested limit. They are
    in the unit of the metric (rates for success). A difference is the planner's value minus the
    baseline's. ``more_worlds`` estimates how many more worlds like the present ones are needed; it
    is None if no number is sufficient. ``lost`` are the worlds in which the planner is worse than
    its baseline (for a required rate: in which it fails), and ``won`` those in which it is better.
    ``failed`` are the worlds without a value because one of the two planners never reached the
    goal. ``fixed`` is true if the verdict is valid only for a number of worlds that was declared.
    """

    question: str
    subject: str
    kind: QuestionKind
    planner: str
    baseline: str
    verdict: Verdict
    worlds: int
    value: float
    low: float
    high: float
    levels: Tuple[float, float]
    limit: float
    unit: str
    more_worlds: Optional[int]
    lost: Tuple[str, ...]
    won: Tuple[str, ...] = ()
    failed: Tuple[str, ...] = ()
    fixed: bool = False


def evaluate(
    pairs: Sequence[GatePair], rules: GateQuestions, declared: Sequence[Metric] = ()
) -> Tuple[QuestionVerdict, ...]:
    """Return the verdict on every question about each pair. ``declared`` contains the known
    metrics.

    Raises ``SpecError`` if a metric is unknown, or if its declaration does not state whether lower
    or higher values are better.
    """
    metrics = gate_metrics(rules, declared)
    questions = [question for pair in pairs for question in _questions(pair, rules, metrics)]
    shared = rules.alpha / max(len(questions), 1)
    fixed = rules.fixed_worlds is not None
    return tuple(question.evaluate(rules.alpha, shared, fixed) for question in questions)


def gate_metrics(rules: GateQuestions, declared: Sequence[Metric]) -> List[Tuple[Metric, float]]:
    """Return the metrics of the questions with their bounds, each with its margin.

    Raises ``SpecError`` if a metric or its bounds are unknown, or if its declaration does not state
    whether lower or higher values are better.
    """
    known = {metric.name: metric for metric in declared}
    metrics = []
    for name, margin, bounds in rules.metrics:
        if name not in known:
            raise SpecError(unknown_name("metric", name, known))
        metric = known[name]
        if metric.better == "neither":
            raise SpecError(f"metric {name}: neither lower nor higher values are better")
        bounds = bounds or metric.bounds
        if bounds is None:
            raise SpecError(
                f"metric {name}: its smallest and largest possible values are unknown, without "
                "which no test of its mean is valid; state them: "
                f"{name}:{margin:g}:LOWEST:HIGHEST"
            )
        metrics.append((replace(metric, bounds=bounds), margin))
    return metrics


def metric_worlds(metric: Metric, pair: GatePair) -> MetricWorlds:
    """Classify the worlds of a pair for one metric."""
    means: Dict[str, Tuple[float, float]] = {}
    failed, unmeasured = [], []
    for world in pair.worlds:
        sides = pair.trials[world], pair.baseline_trials[world]
        mine, theirs = (comparable_values(metric, ended) for ended in sides)
        for value in (*mine, *theirs):
            if metric.bounds is not None and not metric.bounds[0] <= value <= metric.bounds[1]:
                raise SpecError(
                    f"metric {metric.name} is {value:g} in {world}, outside its bounds of "
                    f"{metric.bounds[0]:g} to {metric.bounds[1]:g}; state bounds that contain all "
                    f"possible values: {metric.name}:MARGIN:LOWEST:HIGHEST"
                )
        if mine and theirs:
            means[world] = rounding.mean(mine), rounding.mean(theirs)
        elif metric.completed_only and not all(any(t.completed for t in s) for s in sides):
            failed.append(world)
        else:
            unmeasured.append(world)
    both = np.array(list(means.values())).reshape(-1, 2)
    differences = rounding.differences(both[:, 0], both[:, 1]).tolist()
    return MetricWorlds(dict(zip(means, differences)), tuple(failed), tuple(unmeasured))


@dataclass(frozen=True)
class _Question:
    """A question with the data to answer it.

    ``values`` contains one number for each world in ``worlds``, within ``bounds``, where higher is
    better. The planner fails if the mean of the values is below ``limit``. ``sign`` is -1 if the
    values were negated, so that higher is better. The planner is worse in a world whose value is
    below ``against``, and better in a world whose value is above ``ahead``.
    """

    text: str
    subject: str
    kind: QuestionKind
    planner: str
    baseline: str
    worlds: Tuple[str, ...]
    values: np.ndarray
    bounds: Tuple[float, float]
    limit: float
    against: float
    ahead: float
    unit: str = ""
    sign: float = 1.0
    failed: Tuple[str, ...] = ()

    def evaluate(self, alpha: float, shared: float, fixed: bool) -> QuestionVerdict:
        errors = alpha, shared
        if not len(self.values):
            ends = math.nan, math.nan
            return self._with_verdict(Verdict.UNDECIDED, math.nan, ends, errors, None)
        more = None
        if fixed:
            p_values = bounded_mean.one_sided_p_values(self.values, self.limit, self.bounds)
            passed, failed = p_values[0] <= alpha, p_values[1] <= shared
            ends = bounded_mean.one_sided_bounds(self.values, errors, self.bounds)
        else:
            better = anytime.above(self.values, self.limit, self.bounds)
            worse = anytime.below(self.values, self.limit, self.bounds)
            passed = anytime.first_rejected(better, alpha) is not None
            failed = anytime.first_rejected(worse, shared) is not None
            ends = anytime.one_sided_bounds(self.values, errors, self.bounds)
            needed = anytime.worlds_needed(better, alpha), anytime.worlds_needed(worse, shared)
            known = [number for number in needed if number is not None]
            if known and not passed and not failed:
                more = max(min(known) - len(self.values), 1)
        verdict = Verdict.UNDECIDED
        if failed:
            verdict = Verdict.FAILED
        elif passed:
            verdict = Verdict.PASSED
        answer = self._with_verdict(verdict, rounding.mean(self.values), ends, errors, more)
        return replace(answer, fixed=fixed)

    def _lost(self) -> Tuple[str, ...]:
        return tuple(world for world, by in self._beyond(self.against) if by < 0.0)

    def _won(self) -> Tuple[str, ...]:
        return tuple(world for world, by in self._beyond(self.ahead) if by > 0.0)

    def _beyond(self, limit: float) -> Iterator[Tuple[str, float]]:
        """Yield each world with the difference between its value and ``limit``."""
        margins = rounding.differences(self.values, np.full(len(self.values), limit))
        return zip(self.worlds, margins)

    def _with_verdict(
        self,
        verdict: Verdict,
        value: float,
        ends: Tuple[float, float],
        errors: Tuple[float, float],
        more: Optional[int],
    ) -> QuestionVerdict:
        if self.sign < 0.0:
            ends, errors = ends[::-1], errors[::-1]
        low, high = (_signed(self.sign, end) for end in ends)
        return QuestionVerdict(
            self.text,
            self.subject,
            self.kind,
            self.planner,
            self.baseline,
            verdict,
            len(self.values),
            _signed(self.sign, value),
            low,
            high,
            (1.0 - errors[0], 1.0 - errors[1]),
            _signed(self.sign, self.limit),
            self.unit,
            more,
            self._lost(),
            self._won(),
            self.failed,
        )


def _questions(
    pair: GatePair, rules: GateQuestions, metrics: Sequence[Tuple[Metric, float]]
) -> List[_Question]:
    questions = []
    if rules.min_success is not None:
        questions.append(_required_success(pair, rules.min_success))
    if not pair.baseline:
        return questions
    if rules.not_worse_than is not None:
        questions.append(_success_margin(pair, rules.not_worse_than))
    questions.extend(_metric_margin(metric, margin, pair) for metric, margin in metrics)
    return questions


def _required_success(pair: GatePair, least: float) -> _Question:
    subject = f"the success rate of {pair.planner}"
    return _Question(
        f"{subject} is at least {100 * least:g} %",
        subject,
        QuestionKind.SUCCESS,
        pair.planner,
        "",
        tuple(pair.trials),
        np.array([rate(ended) for ended in pair.trials.values()]),
        bounded_mean.RATE,
        least,
        against=1.0,
        ahead=1.0,
    )


def _success_margin(pair: GatePair, margin: float) -> _Question:
    mine, theirs = (
        [rate(trials[world]) for world in pair.worlds]
        for trials in (pair.trials, pair.baseline_trials)
    )
    subject = f"the success rate of {pair.planner}"
    return _Question(
        f"{subject} is at most {100 * margin:g} percentage points lower than that of "
        f"{pair.baseline}",
        subject,
        QuestionKind.DIFFERENCE,
        pair.planner,
        pair.baseline,
        pair.worlds,
        rounding.differences(mine, theirs),
        bounded_mean.DIFFERENCE,
        -margin,
        against=0.0,
        ahead=0.0,
    )


def _metric_margin(metric: Metric, margin: float, pair: GatePair) -> _Question:
    """Return the question about a metric, with the worlds in which both planners have a value."""
    sign = 1.0 if metric.better == "higher" else -1.0
    worlds = metric_worlds(metric, pair)
    differences = worlds.differences
    unit = f" {metric.unit}" if metric.unit else ""
    subject = f"the mean {metric_heading(metric)} ({metric.name}) of {pair.planner}"
    worse = "lower" if metric.better == "higher" else "higher"
    assert metric.bounds is not None
    scale = metric.bounds[1] - metric.bounds[0]
    if margin >= scale:
        raise SpecError(
            f"the margin of {metric.name} is {margin:g}; it must be smaller than the range of its "
            f"values, {scale:g}{unit}"
        )
    return _Question(
        f"{subject} is at most {margin:g}{unit} {worse} than that of {pair.baseline}",
        subject,
        QuestionKind.METRIC,
        pair.planner,
        pair.baseline,
        tuple(differences),
        sign * np.array(list(differences.values())),
        (-scale, scale),
        -margin,
        against=-margin,
        ahead=margin,
        unit=metric.unit,
        sign=sign,
        failed=worlds.failed,
    )


def _signed(sign: float, value: float) -> float:
    """Return the product, with 0 instead of a negative zero."""
    return sign * value + 0.0
