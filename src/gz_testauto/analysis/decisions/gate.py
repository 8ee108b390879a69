"""Is a planner not worse than another by more than a margin, and good enough by itself?

Owns the questions of the gate and how each is answered: passed, worse, or undecided. A question
about success bets on the differences of the worlds' rates, one about a metric on the signs and
ranks of its differences (:mod:`gz_testauto.analysis.decisions.anytime`), so that all answers may
be looked at after every world, and more worlds may be added where one is undecided. Each question
passes wrongly with probability alpha at most, and the whole gate says "worse" wrongly with
probability alpha at most: that share is split among the questions.
"""

import enum
import math
from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis.comparison import WorldTrials, rate, trials_by_world
from gz_testauto.analysis.decisions import anytime
from gz_testauto.analysis.summary import comparable_values
from gz_testauto.errors import SpecError
from gz_testauto.metrics.interface import Metric
from gz_testauto.registry import unknown_name
from gz_testauto.results.records import CampaignResults, TrialRecord


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
    """What is asked. ``not_worse_than`` is a margin of the success rate, ``metrics`` are margins by
    the metric's name, in its own unit; both need a baseline. ``min_success`` is a rate."""

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
class Answer:
    """One question, answered over ``worlds`` worlds.

    ``value`` is what was estimated, ``low`` and ``high`` are its one-sided bounds, and ``limit`` is
    what it is held against, all in the unit of the metric (rates for success), a difference as the
    planner's minus the baseline's. ``more_worlds`` is about how many more worlds it takes, if they
    are like those so far; None where none would do. ``lost`` are the worlds that speak
    against the planner.
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


def judge(
    results: CampaignResults, pairs: Sequence[Tuple[str, Optional[str]]], rules: Rules
) -> Tuple[Answer, ...]:
    """Answer every question about each pair of a planner and its baseline (None: it has none).

    Raises ``SpecError`` for an unknown metric, or one of which neither less nor more is better.
    """
    metrics = _metrics(results, rules)
    asked = [
        question
        for planner, baseline in pairs
        for question in _questions(results, planner, baseline, rules, metrics)
    ]
    shared = rules.alpha / max(len(asked), 1)
    return tuple(question.answer(rules.alpha, shared) for question in asked)


def overall(answers: Sequence[Answer]) -> Verdict:
    """Worse where any is, else undecided where any is, else passed."""
    verdicts = {answer.verdict for answer in answers}
    for verdict in (Verdict.WORSE, Verdict.UNDECIDED):
        if verdict in verdicts:
            return verdict
    return Verdict.PASSED


def settled_part(results: CampaignResults) -> CampaignResults:
    """The results in the worlds before the first one whose trials have not all ended: which of the
    others have ended may depend on how they did."""
    if results.stop is not None:
        judged = set(results.judged)
        return replace(results, trials=tuple(t for t in results.trials if t.world in judged))
    if len(results.trials) >= results.planned:
        return results
    expected = max(results.planned // max(len(results.worlds), 1), 1)
    ended: Dict[str, int] = {}
    for record in results.trials:
        ended[record.world] = ended.get(record.world, 0) + 1
    kept = set()
    for world in results.worlds:
        if ended.get(world.name, 0) < expected:
            break
        kept.add(world.name)
    return replace(results, trials=tuple(t for t in results.trials if t.world in kept))


@dataclass(frozen=True)
class _Question:
    """``values`` are one per world of ``worlds``, the higher the better; the planner is worse
    where their centre lies below ``limit``. ``sign`` is -1 where they were turned for that. A world
    whose value lies below ``against`` speaks against the planner."""

    text: str
    planner: str
    worlds: Tuple[str, ...]
    values: np.ndarray
    limit: float
    against: float
    unit: str = ""
    sign: float = 1.0
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
        return self._answered(verdict, self._centre(), self._ends(alpha, shared), more)

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

    def _centre(self) -> float:
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

    def _answered(
        self, verdict: Verdict, value: float, ends: Tuple[float, float], more: Optional[int]
    ) -> Answer:
        low, high = sorted(self.sign * end for end in ends)
        return Answer(
            self.text,
            self.kind,
            self.planner,
            verdict,
            len(self.values),
            self.sign * value,
            low,
            high,
            self.sign * self.limit,
            self.unit,
            more,
            tuple(w for w, v in zip(self.worlds, self.values) if v < self.against),
        )


def _questions(
    results: CampaignResults,
    planner: str,
    baseline: Optional[str],
    rules: Rules,
    metrics: Sequence[Tuple[Metric, float]],
) -> List[_Question]:
    mine = trials_by_world(results.of(planner))
    theirs = {} if baseline is None else trials_by_world(results.of(baseline))
    order = [world.name for world in results.worlds if world.name in mine]
    questions = []
    if rules.min_success is not None:
        questions.append(_enough(planner, {world: mine[world] for world in order}, rules))
    if baseline is None:
        return questions
    worlds = [world for world in order if world in theirs]
    if rules.not_worse_than is not None:
        questions.append(
            _Question(
                f"{planner} succeeds not less often than {baseline} by more than "
                f"{100 * rules.not_worse_than:g} points",
                planner,
                tuple(worlds),
                np.array([rate(mine[world]) - rate(theirs[world]) for world in worlds]),
                -rules.not_worse_than,
                against=0.0,
                bounds=anytime.DIFFERENCE,
            )
        )
    for metric, margin in metrics:
        both = {world: (mine[world], theirs[world]) for world in worlds}
        questions.append(_no_worse_metric(metric, margin, (planner, baseline), both))
    return questions


def _enough(planner: str, trials: WorldTrials, rules: Rules) -> _Question:
    least = rules.min_success or 0.0
    return _Question(
        f"{planner} succeeds in at least {100 * least:g} % of worlds",
        planner,
        tuple(trials),
        np.array([rate(ended) for ended in trials.values()]),
        least,
        against=1.0,
        bounds=anytime.RATE,
    )


def _no_worse_metric(
    metric: Metric,
    margin: float,
    names: Tuple[str, str],
    both: Mapping[str, Tuple[Sequence[TrialRecord], Sequence[TrialRecord]]],
) -> _Question:
    """Over the worlds in which both gave a number."""
    sign = 1.0 if metric.better == "higher" else -1.0
    differences = {}
    for world, trials in both.items():
        mine, theirs = (comparable_values(metric, ended) for ended in trials)
        if mine and theirs:
            differences[world] = sign * float(np.mean(mine) - np.mean(theirs))
    unit = f" {metric.unit}" if metric.unit else ""
    return _Question(
        f"{metric.name} of {names[0]} is not worse than of {names[1]} by more than "
        f"{margin:g}{unit}",
        names[0],
        tuple(differences),
        np.array(list(differences.values())),
        -margin,
        against=-margin,
        unit=metric.unit,
        sign=sign,
    )


def _metrics(results: CampaignResults, rules: Rules) -> List[Tuple[Metric, float]]:
    known = {metric.name: metric for metric in results.metrics}
    found = []
    for name, margin in rules.metrics:
        if name not in known:
            raise SpecError(unknown_name("metric", name, known))
        if known[name].better == "neither":
            raise SpecError(f"metric {name}: neither less nor more of it is better")
        found.append((known[name], margin))
    return found
