"""Tests whether a planner is not worse than a baseline, and whether its success rate is sufficient.

The verdict on a question is passed, failed or undecided. The tests are based on betting
(:mod:`gz_testauto.analysis.anytime`). A question about success uses the differences of the success
rates in each world. A question about a metric uses the signs and ranks of the metric's differences.
All verdicts are valid after every world, so worlds can be added while a verdict is undecided. For
each question, the probability of passing wrongly is at most alpha. For the whole gate, the
probability of failing wrongly is at most alpha, which is divided among the questions.
"""

import enum
import math
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis import anytime, rounding
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


@dataclass(frozen=True)
class GateQuestions:
    """The questions of a gate. ``not_worse_than`` is the margin of the success rate. ``metrics``
    contains the names of metrics with their margins, in the unit of each metric. Both require a
    baseline. ``min_success`` is the required success rate, and ``alpha`` the error probability."""

    not_worse_than: Optional[float] = None
    min_success: Optional[float] = None
    metrics: Tuple[Tuple[str, float], ...] = ()
    alpha: float = 0.05

    def __post_init__(self) -> None:
        margin, least = self.not_worse_than, self.min_success
        if margin is not None and not 0.0 < margin < 1.0:
            raise SpecError(f"not_worse_than is {margin:g}; it must be between 0 and 1")
        if least is not None and not 0.0 < least < 1.0:
            raise SpecError(f"min_success is {least:g}; it must be between 0 and 1")
        if not 0.0 < self.alpha < 0.5:
            raise SpecError(f"alpha is {self.alpha:g}; it must be between 0 and 0.5")
        for name, by in self.metrics:
            if not (math.isfinite(by) and by > 0.0):
                raise SpecError(f"the margin of {name} is {by:g}; it must be > 0")


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
    goal.
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
    return tuple(question.evaluate(rules.alpha, shared) for question in questions)


def gate_metrics(rules: GateQuestions, declared: Sequence[Metric]) -> List[Tuple[Metric, float]]:
    """Return the metrics of the questions, each with its margin.

    Raises ``SpecError`` if a metric is unknown, or if its declaration does not state whether lower
    or higher values are better.
    """
    known = {metric.name: metric for metric in declared}
    found = []
    for name, margin in rules.metrics:
        if name not in known:
            raise SpecError(unknown_name("metric", name, known))
        if known[name].better == "neither":
            raise SpecError(f"metric {name}: neither lower nor higher values are better")
        found.append((known[name], margin))
    return found


def metric_worlds(metric: Metric, pair: GatePair) -> MetricWorlds:
    """Classify the worlds of a pair for one metric."""
    means: Dict[str, Tuple[float, float]] = {}
    failed, unmeasured = [], []
    for world in pair.worlds:
        sides = pair.trials[world], pair.baseline_trials[world]
        mine, theirs = (comparable_values(metric, ended) for ended in sides)
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

    ``values`` contains one number for each world in ``worlds``, where higher is better. The planner
    fails if the center of the values is below ``limit``. ``sign`` is -1 if the values were negated,
    so that higher is better. The planner is worse in a world whose value is below ``against``, and
    better in a world whose value is above ``ahead``.
    """

    text: str
    subject: str
    planner: str
    baseline: str
    worlds: Tuple[str, ...]
    values: np.ndarray
    limit: float
    against: float
    ahead: float
    unit: str = ""
    sign: float = 1.0
    failed: Tuple[str, ...] = ()
    bounds: Optional[Tuple[float, float]] = None

    @property
    def kind(self) -> QuestionKind:
        if self.bounds is None:
            return QuestionKind.METRIC
        return QuestionKind.SUCCESS if self.bounds == anytime.RATE else QuestionKind.DIFFERENCE

    def evaluate(self, alpha: float, shared: float) -> QuestionVerdict:
        if not len(self.values):
            ends = math.nan, math.nan
            return self._with_verdict(Verdict.UNDECIDED, math.nan, ends, (alpha, shared), None)
        better, worse = self._bets()
        verdict = Verdict.UNDECIDED
        if anytime.capital(worse) >= -math.log(shared):
            verdict = Verdict.FAILED
        elif anytime.capital(better) >= -math.log(alpha):
            verdict = Verdict.PASSED
        more = None
        if verdict is Verdict.UNDECIDED:
            needed = [
                anytime.worlds_needed(better, alpha),
                anytime.worlds_needed(worse, shared),
            ]
            known = [number for number in needed if number is not None]
            more = max(min(known) - len(self.values), 1) if known else None
        return self._with_verdict(
            verdict, self._center(), self._ends(alpha, shared), (alpha, shared), more
        )

    def _bets(self) -> Tuple[np.ndarray, np.ndarray]:
        """Return the bets that the center is above the limit, and those that it is below the
        limit."""
        if self.bounds is None:
            return (
                anytime.shift_above(self.values, self.limit),
                anytime.shift_above(-self.values, -self.limit),
            )
        return (
            anytime.above(self.values, self.limit, self.bounds),
            anytime.below(self.values, self.limit, self.bounds),
        )

    def _center(self) -> float:
        if self.bounds is not None:
            return float(self.values.mean())
        rows, columns = np.triu_indices(len(self.values))
        return float(np.median((self.values[rows] + self.values[columns]) / 2.0))

    def _ends(self, alpha: float, shared: float) -> Tuple[float, float]:
        if self.bounds is None:
            low, _ = anytime.shift_bounds(self.values, alpha)
            _, high = anytime.shift_bounds(self.values, shared)
        else:
            low, _ = anytime.one_sided_bounds(self.values, alpha, self.bounds)
            _, high = anytime.one_sided_bounds(self.values, shared, self.bounds)
        return low, high

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
        low, high = sorted(_signed(self.sign, end) for end in ends)
        low_error, high_error = errors if self.sign > 0 else errors[::-1]
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
            (1.0 - low_error, 1.0 - high_error),
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
        pair.planner,
        "",
        tuple(pair.trials),
        np.array([rate(ended) for ended in pair.trials.values()]),
        least,
        against=1.0,
        ahead=1.0,
        bounds=anytime.RATE,
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
        pair.planner,
        pair.baseline,
        pair.worlds,
        rounding.differences(mine, theirs),
        -margin,
        against=0.0,
        ahead=0.0,
        bounds=anytime.DIFFERENCE,
    )


def _metric_margin(metric: Metric, margin: float, pair: GatePair) -> _Question:
    """Return the question about a metric, with the worlds in which both planners have a value."""
    sign = 1.0 if metric.better == "higher" else -1.0
    worlds = metric_worlds(metric, pair)
    differences = worlds.differences
    unit = f" {metric.unit}" if metric.unit else ""
    subject = f"the {metric_heading(metric)} ({metric.name}) of {pair.planner}"
    worse = "lower" if metric.better == "higher" else "higher"
    return _Question(
        f"{subject} is at most {margin:g}{unit} {worse} than that of {pair.baseline}",
        subject,
        pair.planner,
        pair.baseline,
        tuple(differences),
        sign * np.array(list(differences.values())),
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
