"""Is a planner not worse than another by more than a margin, and good enough by itself?

Owns the questions of the gate and how each is answered: passed, worse, or undecided. A question
about success bets on the differences of the worlds' rates, one about a metric on the signs and
ranks of its differences (:mod:`gz_testauto.analysis.anytime`), so that all answers may
be looked at after every world, and more worlds may be added where one is undecided. Each question
passes wrongly with probability alpha at most, and the whole gate says "worse" wrongly with
probability alpha at most: that share is split among the questions.
"""

import enum
import math
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis import anytime, rounding
from gz_testauto.analysis.comparison import WorldTrials, rate
from gz_testauto.analysis.summary import comparable_values
from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.metrics.interface import Metric


class Verdict(enum.Enum):
    """The answer to one question, and to all."""

    PASSED = "passed"
    WORSE = "worse"
    UNDECIDED = "undecided"


class Kind(enum.Enum):
    """What a question is about."""

    SUCCESS = "success"
    DIFFERENCE = "difference of success"
    METRIC = "difference of a metric"


@dataclass(frozen=True)
class Rules:
    """The questions of a gate. ``not_worse_than`` is a margin of the success rate, ``metrics`` are
    margins by the metric's name, in its own unit; both need a baseline. ``min_success`` is a
    rate. ``alpha`` is the error probability."""

    not_worse_than: Optional[float] = None
    min_success: Optional[float] = None
    metrics: Tuple[Tuple[str, float], ...] = ()
    alpha: float = 0.05

    def __post_init__(self) -> None:
        margin, least = self.not_worse_than, self.min_success
        if margin is not None and not 0.0 < margin < 1.0:
            raise SpecError(f"not_worse_than is {margin:g}; it must lie between 0 and 1")
        if least is not None and not 0.0 < least < 1.0:
            raise SpecError(f"min_success is {least:g}; it must lie between 0 and 1")
        if not 0.0 < self.alpha < 0.5:
            raise SpecError(f"alpha is {self.alpha:g}; it must lie between 0 and 0.5")
        for name, by in self.metrics:
            if not (math.isfinite(by) and by > 0.0):
                raise SpecError(f"the margin of {name} is {by:g}; it must be > 0")


@dataclass(frozen=True)
class GatePair:
    """A planner and its baseline, by the names that answers show.

    ``trials`` are the planner's valid trials by world, ``baseline_trials`` those of the baseline
    under the same names of worlds. ``baseline`` is empty where the planner has none.
    """

    planner: str
    trials: WorldTrials
    baseline: str = ""
    baseline_trials: WorldTrials = field(default_factory=dict)

    @property
    def worlds(self) -> Tuple[str, ...]:
        """The worlds in which both have valid trials."""
        return tuple(world for world in self.trials if world in self.baseline_trials)


@dataclass(frozen=True)
class MetricWorlds:
    """The worlds of a pair, sorted for one metric.

    ``differences`` are the planner's mean minus the baseline's in the worlds in which both have a
    number. ``failed`` are worlds in which one of the two never reached the goal, for a metric of
    completed trials. ``unmeasured`` are the other worlds without a number of both.
    """

    differences: Dict[str, float]
    failed: Tuple[str, ...]
    unmeasured: Tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """One question, answered over ``worlds`` worlds.

    ``value`` is what was estimated, ``low`` and ``high`` are its one-sided bounds, and ``limit`` is
    what it is held against, all in the unit of the metric (rates for success), a difference as the
    planner's minus the baseline's. ``more_worlds`` is about how many more worlds it takes, if they
    are like those so far; None where none would do. ``lost`` are the worlds that speak
    against the planner. ``failed`` are the worlds without a value because one of the two planners
    never reached the goal.
    """

    question: str
    kind: Kind
    planner: str
    verdict: Verdict
    worlds: int
    value: float
    low: float
    high: float
    limit: float
    unit: str
    more_worlds: Optional[int]
    lost: Tuple[str, ...]
    failed: Tuple[str, ...] = ()


def judge(
    pairs: Sequence[GatePair], rules: Rules, declared: Sequence[Metric] = ()
) -> Tuple[Answer, ...]:
    """Answer every question about each pair, with the metrics that are ``declared``.

    Raises ``SpecError`` for an unknown metric, or one of which neither less nor more is better.
    """
    metrics = gate_metrics(rules, declared)
    asked = [question for pair in pairs for question in _questions(pair, rules, metrics)]
    shared = rules.alpha / max(len(asked), 1)
    return tuple(question.answer(rules.alpha, shared) for question in asked)


def gate_metrics(rules: Rules, declared: Sequence[Metric]) -> List[Tuple[Metric, float]]:
    """The metrics of the rules with their margins. Raises ``SpecError`` for an unknown metric, or
    one of which neither less nor more is better."""
    known = {metric.name: metric for metric in declared}
    found = []
    for name, margin in rules.metrics:
        if name not in known:
            raise SpecError(unknown_name("metric", name, known))
        if known[name].better == "neither":
            raise SpecError(f"metric {name}: neither less nor more of it is better")
        found.append((known[name], margin))
    return found


def metric_worlds(metric: Metric, pair: GatePair) -> MetricWorlds:
    """Sort the worlds of a pair for one metric."""
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
    """``values`` are one per world of ``worlds``, the higher the better; the planner is worse
    where their center lies below ``limit``. ``sign`` is -1 where they were turned for that. A world
    whose value lies below ``against`` speaks against the planner."""

    text: str
    planner: str
    worlds: Tuple[str, ...]
    values: np.ndarray
    limit: float
    against: float
    unit: str = ""
    sign: float = 1.0
    failed: Tuple[str, ...] = ()
    bounds: Optional[Tuple[float, float]] = None

    @property
    def kind(self) -> Kind:
        if self.bounds is None:
            return Kind.METRIC
        return Kind.SUCCESS if self.bounds == anytime.RATE else Kind.DIFFERENCE

    def answer(self, alpha: float, shared: float) -> Answer:
        if not len(self.values):
            return self._answered(Verdict.UNDECIDED, math.nan, (math.nan, math.nan), None)
        better, worse = self._bets()
        verdict = Verdict.UNDECIDED
        if anytime.capital(worse) >= -math.log(shared):
            verdict = Verdict.WORSE
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
        return self._answered(verdict, self._center(), self._ends(alpha, shared), more)

    def _bets(self) -> Tuple[np.ndarray, np.ndarray]:
        """On being better than the limit, and on being worse."""
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
        margin = rounding.differences(self.values, np.full(len(self.values), self.against))
        return tuple(world for world, by in zip(self.worlds, margin) if by < 0.0)

    def _answered(
        self, verdict: Verdict, value: float, ends: Tuple[float, float], more: Optional[int]
    ) -> Answer:
        low, high = sorted(_signed(self.sign, end) for end in ends)
        return Answer(
            self.text,
            self.kind,
            self.planner,
            verdict,
            len(self.values),
            _signed(self.sign, value),
            low,
            high,
            _signed(self.sign, self.limit),
            self.unit,
            more,
            self._lost(),
            self.failed,
        )


def _questions(
    pair: GatePair, rules: Rules, metrics: Sequence[Tuple[Metric, float]]
) -> List[_Question]:
    questions = []
    if rules.min_success is not None:
        questions.append(_enough(pair, rules.min_success))
    if not pair.baseline:
        return questions
    if rules.not_worse_than is not None:
        questions.append(_not_less_often(pair, rules.not_worse_than))
    questions.extend(_no_worse_metric(metric, margin, pair) for metric, margin in metrics)
    return questions


def _enough(pair: GatePair, least: float) -> _Question:
    return _Question(
        f"{pair.planner} succeeds in at least {100 * least:g} percent of worlds",
        pair.planner,
        tuple(pair.trials),
        np.array([rate(ended) for ended in pair.trials.values()]),
        least,
        against=1.0,
        bounds=anytime.RATE,
    )


def _not_less_often(pair: GatePair, margin: float) -> _Question:
    mine, theirs = (
        [rate(trials[world]) for world in pair.worlds]
        for trials in (pair.trials, pair.baseline_trials)
    )
    return _Question(
        f"{pair.planner} succeeds not less often than {pair.baseline} by more than "
        f"{100 * margin:g} points",
        pair.planner,
        pair.worlds,
        rounding.differences(mine, theirs),
        -margin,
        against=0.0,
        bounds=anytime.DIFFERENCE,
    )


def _no_worse_metric(metric: Metric, margin: float, pair: GatePair) -> _Question:
    """Over the worlds in which both have a number."""
    sign = 1.0 if metric.better == "higher" else -1.0
    worlds = metric_worlds(metric, pair)
    differences = worlds.differences
    unit = f" {metric.unit}" if metric.unit else ""
    return _Question(
        f"{metric.name} of {pair.planner} is not worse than of {pair.baseline} by more than "
        f"{margin:g}{unit}",
        pair.planner,
        tuple(differences),
        sign * np.array(list(differences.values())),
        -margin,
        against=-margin,
        unit=metric.unit,
        sign=sign,
        failed=worlds.failed,
    )


def _signed(sign: float, value: float) -> float:
    """The product, without a negative zero."""
    return sign * value + 0.0
