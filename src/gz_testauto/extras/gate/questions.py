"""Tests of the success rate of a planner, and of its differences from a baseline.

Each question is about a mean over worlds: of the success rate, of its difference, or of the
difference of a metric with known bounds. By default, the tests are based on betting
(:mod:`gz_testauto.analysis.anytime`), so that all verdicts are valid after every world. With a
fixed number of worlds, they are Gaffke's (:mod:`gz_testauto.analysis.bounded_mean`), which need
fewer worlds. For each question, the probability of passing wrongly is at most alpha. For the whole
gate, the probability of failing wrongly is at most alpha, which is divided among the questions.
"""

import enum
import math
from dataclasses import dataclass, field, replace
from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis import anytime, bounded_mean, rounding
from gz_testauto.analysis.comparison import WorldTrials, completed_share, world_differences
from gz_testauto.analysis.summary import comparable_values
from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.extras.gate.options import GateOptions
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.names import metric_heading


class Verdict(enum.Enum):
    """The result of a test: passed, failed, or undecided because of too few worlds."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"


class QuestionKind(enum.Enum):
    SUCCESS = "success"
    DIFFERENCE = "difference of success"
    METRIC = "difference of a metric"


@dataclass(frozen=True)
class GatePair:
    """A planner and its baseline or "", with their valid trials by world.

    The names are those in verdicts. ``short_names`` are those in the campaigns, which can be equal.
    """

    planner: str
    trials: WorldTrials
    baseline: str = ""
    baseline_trials: WorldTrials = field(default_factory=dict)
    short_names: Tuple[str, str] = ("", "")

    @property
    def worlds(self) -> Tuple[str, ...]:
        """The worlds in which both planners have valid trials."""
        return tuple(world for world in self.trials if world in self.baseline_trials)


@dataclass(frozen=True)
class MetricWorlds:
    """The worlds of a pair, classified for one metric.

    ``differences`` are the planner's mean minus the baseline's, and ``means`` the means of these
    two over the same worlds. For a metric of completed trials, ``failed`` are the worlds in which a
    planner never reached the goal. ``unmeasured`` are the other worlds in which a value is missing.
    """

    differences: Dict[str, float]
    means: Tuple[float, float]
    failed: Tuple[str, ...]
    unmeasured: Tuple[str, ...]


@dataclass(frozen=True)
class QuestionVerdict:
    """The verdict on one question, over ``worlds`` worlds.

    ``question`` is the tested hypothesis, ``subject`` the tested quantity with its planner.
    ``baseline`` is empty for a required rate. ``low`` and ``high`` are one-sided bounds of
    ``value`` with the confidence ``levels``, in the unit of the metric (rates for success). A
    difference is the planner's value minus the baseline's, and ``means`` are these two values.
    ``short_names`` are the planner's and the baseline's names in their campaigns. ``quantity`` is
    the name of the metric, and empty for success. ``more_worlds`` estimates how many more worlds
    with similar results are needed, or is None if no number is sufficient. ``lost`` are the worlds
    in which the planner is worse than its baseline or, for a required rate, fails. ``won`` are
    those in which it is better. ``failed`` are the worlds in which one of the two planners never
    reached the goal. A ``fixed`` verdict is valid only for the declared number of worlds.
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
    means: Tuple[float, float] = (math.nan, math.nan)
    short_names: Tuple[str, str] = ("", "")
    quantity: str = ""


def evaluate(
    pairs: Sequence[GatePair], options: GateOptions, declared: Sequence[Metric] = ()
) -> Tuple[QuestionVerdict, ...]:
    """Return the verdicts on the questions in ``options``. ``declared`` are the known metrics."""
    metrics = gate_metrics(options, declared)
    questions = [
        question for pair in pairs for question in _create_questions(pair, options, metrics)
    ]
    errors = options.alpha, options.alpha / max(len(questions), 1)
    fixed = options.fixed_worlds is not None
    return tuple(question.answer(errors, fixed) for question in questions)


def gate_metrics(options: GateOptions, declared: Sequence[Metric]) -> List[Tuple[Metric, float]]:
    """Return the metrics of the questions with their bounds and margins.

    Raises ``SpecError`` if a metric, its bounds or its better direction are unknown.
    """
    known = {metric.name: metric for metric in declared}
    metrics = []
    for name, margin, bounds in options.margins:
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
    failed: List[str] = []
    unmeasured: List[str] = []
    differences = world_differences(metric, pair.trials, pair.baseline_trials)
    for world in pair.worlds:
        sides = pair.trials[world], pair.baseline_trials[world]
        for value in (value for trials in sides for value in comparable_values(metric, trials)):
            if metric.bounds is not None and not metric.bounds[0] <= value <= metric.bounds[1]:
                raise SpecError(
                    f"metric {metric.name} is {value:g} in {world}, outside its bounds of "
                    f"{metric.bounds[0]:g} to {metric.bounds[1]:g}; state bounds that contain all "
                    f"possible values: {metric.name}:MARGIN:LOWEST:HIGHEST"
                )
        if world not in differences:
            both_completed = all(any(trial.completed for trial in trials) for trials in sides)
            is_failed = metric.completed_only and not both_completed
            (failed if is_failed else unmeasured).append(world)
    means = [
        rounding.mean([rounding.mean(comparable_values(metric, trials[w])) for w in differences])
        for trials in (pair.trials, pair.baseline_trials)
    ]
    return MetricWorlds(differences, (means[0], means[1]), tuple(failed), tuple(unmeasured))


@dataclass(frozen=True)
class _Question:
    """The question whether the mean of ``values`` is at least ``limit``.

    Higher is better; ``sign`` is -1 if the values were negated for this. The planner is worse in a
    world whose value is below ``against``, and better above ``ahead``.
    """

    kind: QuestionKind
    pair: GatePair
    subject: str
    condition: str
    values: Mapping[str, float]
    bounds: Tuple[float, float]
    limit: float
    against: float = 0.0
    ahead: float = 0.0
    unit: str = ""
    sign: float = 1.0
    failed: Tuple[str, ...] = ()
    means: Tuple[float, float] = (math.nan, math.nan)
    quantity: str = ""

    def answer(self, errors: Tuple[float, float], fixed: bool) -> QuestionVerdict:
        """Return the verdict. ``errors`` are the allowed probabilities of passing and of failing
        wrongly. ``fixed`` states that the number of worlds was declared before the first trial."""
        values, limit = np.array([*self.values.values()], dtype=float), self.limit
        passed, failed, more, ends = False, False, None, (math.nan, math.nan)
        if fixed and len(values):
            p_values = bounded_mean.one_sided_p_values(values, limit, self.bounds)
            passed, failed = p_values[0] <= errors[0], p_values[1] <= errors[1]
            ends = bounded_mean.one_sided_bounds(values, errors, self.bounds)
        elif len(values):
            tests = [test(values, limit, self.bounds) for test in (anytime.above, anytime.below)]
            passed, failed = (
                anytime.first_rejected(*test) is not None for test in zip(tests, errors)
            )
            ends = anytime.one_sided_bounds(values, errors, self.bounds)
            needed = [anytime.worlds_needed(*test) for test in zip(tests, errors)]
            known = [number for number in needed if number is not None]
            if known and not passed and not failed:
                more = max(min(known) - len(values), 1)
        verdict = Verdict.PASSED if passed else Verdict.UNDECIDED
        step = -1 if self.sign < 0.0 else 1  # the sign of negated values exchanges the bounds
        low, high = (_signed(self.sign, end) for end in ends[::step])
        first, second = errors[::step]
        return QuestionVerdict(
            question=f"{self.subject} is {self.condition}",
            subject=self.subject,
            kind=self.kind,
            planner=self.pair.planner,
            baseline="" if self.kind is QuestionKind.SUCCESS else self.pair.baseline,
            verdict=Verdict.FAILED if failed else verdict,
            worlds=len(values),
            value=_signed(self.sign, rounding.mean(values)),
            low=low,
            high=high,
            levels=(1.0 - first, 1.0 - second),
            limit=_signed(self.sign, limit),
            unit=self.unit,
            more_worlds=more,
            lost=tuple(
                world
                for world, difference in self._differences_from(self.against)
                if difference < 0.0
            ),
            won=tuple(
                world
                for world, difference in self._differences_from(self.ahead)
                if difference > 0.0
            ),
            failed=self.failed,
            fixed=fixed,
            means=self.means,
            short_names=self.pair.short_names,
            quantity=self.quantity,
        )

    def _differences_from(self, limit: float) -> Iterator[Tuple[str, float]]:
        limits = np.full(len(self.values), limit)
        return zip(self.values, rounding.differences([*self.values.values()], limits))


def _create_questions(
    pair: GatePair, options: GateOptions, metrics: Sequence[Tuple[Metric, float]]
) -> Iterator[_Question]:
    if options.min_success is not None:
        yield _required_success_question(pair, options.min_success)
    if pair.baseline and options.not_worse_than is not None:
        yield _success_margin_question(pair, options.not_worse_than)
    if pair.baseline:
        yield from (_metric_margin_question(metric, margin, pair) for metric, margin in metrics)


def _required_success_question(pair: GatePair, min_success: float) -> _Question:
    return _Question(
        QuestionKind.SUCCESS,
        pair,
        f"the success rate of {pair.planner}",
        f"at least {100 * min_success:g} %",
        {world: completed_share(trials) for world, trials in pair.trials.items()},
        bounded_mean.RATE,
        min_success,
        against=1.0,
        ahead=1.0,
    )


def _success_margin_question(pair: GatePair, margin: float) -> _Question:
    rates, baseline_rates = (
        [completed_share(trials[world]) for world in pair.worlds]
        for trials in (pair.trials, pair.baseline_trials)
    )
    return _Question(
        QuestionKind.DIFFERENCE,
        pair,
        f"the success rate of {pair.planner}",
        f"at most {100 * margin:g} percentage points lower than that of {pair.baseline}",
        dict(zip(pair.worlds, rounding.differences(rates, baseline_rates))),
        bounded_mean.DIFFERENCE,
        -margin,
        means=(rounding.mean(rates), rounding.mean(baseline_rates)),
    )


def _metric_margin_question(metric: Metric, margin: float, pair: GatePair) -> _Question:
    sign, worse = (1.0, "lower") if metric.better == "higher" else (-1.0, "higher")
    worlds = metric_worlds(metric, pair)
    unit = f" {metric.unit}" if metric.unit else ""
    assert metric.bounds is not None
    scale = metric.bounds[1] - metric.bounds[0]
    if margin >= scale:
        raise SpecError(
            f"the margin of {metric.name} is {margin:g}; it must be smaller than the range of its "
            f"values, {scale:g}{unit}"
        )
    return _Question(
        QuestionKind.METRIC,
        pair,
        f"the mean {metric_heading(metric)} ({metric.name}) of {pair.planner}",
        f"at most {margin:g}{unit} {worse} than that of {pair.baseline}",
        {world: sign * difference for world, difference in worlds.differences.items()},
        (-scale, scale),
        -margin,
        against=-margin,
        ahead=margin,
        unit=metric.unit,
        sign=sign,
        failed=worlds.failed,
        means=worlds.means,
        quantity=metric.name,
    )


def _signed(sign: float, value: float) -> float:
    # 0 instead of a negative zero
    return sign * value + 0.0
