"""The options of a gate, from which its command and its node are generated."""

import math
from typing import NamedTuple, Optional, Tuple

from pydantic import field_validator

from gz_testauto.cli.trust import TRUST
from gz_testauto.spec.model import SpecPath, fault
from gz_testauto.spec.options import Names, Options, option

MARGIN = 0.05  # default margin of the success rate if a baseline is specified


class MetricMargin(NamedTuple):
    """The largest allowed deterioration of a metric, in its unit. ``bounds`` are its smallest and
    largest possible value, by default those that the metric declares."""

    name: str
    margin: float
    bounds: Optional[Tuple[float, float]] = None

    @classmethod
    def parse(cls, text: str) -> "MetricMargin":
        """Parse ``NAME:MARGIN`` or ``NAME:MARGIN:LOWEST:HIGHEST``."""
        name, *numbers = text.split(":")
        try:
            margin, *bounds = map(float, numbers)
            low, high = bounds or (0.0, 1.0)
        except ValueError:
            raise fault(
                f"is {text!r}; it must have the form NAME:MARGIN or NAME:MARGIN:LOWEST:HIGHEST"
            ) from None
        if not 0.0 < margin < math.inf:
            raise fault(f"is {text!r}; the margin of {name} is {margin:g}; it must be > 0")
        if not -math.inf < low < high < math.inf:
            raise fault(
                f"is {text!r}; the bounds of {name} must be finite, and the first one smaller"
            )
        return cls(name, margin, (low, high) if bounds else None)


class GateOptions(Options):
    """Options of the command and of the node ``gate``."""

    baseline: Optional[SpecPath] = option(None, "DIR", "results directory of the baseline")
    planner: Names = option((), "NAME", "evaluate only this planner (default: all)")
    baseline_planner: str = option(
        "", "NAME", "compare with this planner (default: the baseline's planner of the same name)"
    )
    corpus: Optional[SpecPath] = option(
        None,
        "DIR",
        "first run the planners in the worlds of a directory of outputs of `gz_testauto shrink`; "
        "each planner must reach the goal in each of them; without another question, only the "
        "corpus is judged",
    )
    trust: bool = option(False, "", TRUST)
    not_worse_than: Optional[float] = option(
        None,
        "MARGIN",
        f"largest allowed decrease of the success rate, between 0 and 1 (default: {MARGIN:g})",
        gt=0,
        lt=1,
    )
    min_success: Optional[float] = option(
        None, "RATE", "smallest allowed success rate, between 0 and 1", gt=0, lt=1
    )
    metrics: Names = option(
        (),
        "NAME:MARGIN[:LOWEST:HIGHEST]",
        "NAME:MARGIN, the allowed deterioration of the mean of a metric in its unit, or "
        "NAME:MARGIN:LOWEST:HIGHEST with the smallest and the largest possible value (default: "
        "those that the metric declares; of time_s: 0 and the time limit)",
    )
    fixed_worlds: Optional[int] = option(
        None,
        "N",
        "number of worlds that you chose before the campaign; the gate then needs fewer worlds, "
        "but is valid only once, after exactly N worlds (default: valid after every world)",
        ge=2,
    )
    alpha: float = option(0.05, "SHARE", "allowed probability of a wrong verdict", gt=0, lt=0.5)
    worlds: Optional[int] = option(
        None, "N", "evaluate only the first N worlds of the campaign (default: all)", ge=1
    )
    allow_missing_worlds: int = option(
        0, "N", "allowed number of worlds that are unfinished or in only one of the results", ge=0
    )
    # With the default, invalid trials can hide a loss of at most one percentage point, compared
    # with a margin of five.
    max_invalid: float = option(
        0.01, "SHARE", "largest allowed share of invalid trials of a planner", ge=0, lt=1
    )
    new_planners: Names = option((), "NAME", "do not require this planner in the baseline")
    removed_planners: Names = option(
        (), "NAME", "do not require this planner of the baseline in the campaign"
    )
    ignore_differences: bool = option(
        False, "", "compare even if the baseline has a different robot, goal, limits or simulator"
    )

    @field_validator("metrics")
    @classmethod
    def _require_parsable(cls, metrics: Tuple[str, ...]) -> Tuple[str, ...]:
        for text in metrics:
            MetricMargin.parse(text)
        return metrics

    @property
    def margins(self) -> Tuple[MetricMargin, ...]:
        return tuple(map(MetricMargin.parse, self.metrics))

    @property
    def has_question(self) -> bool:
        """True for a question about the campaign, not only a corpus."""
        questions = self.not_worse_than, self.min_success, self.baseline, self.baseline_planner
        return bool(self.metrics) or any(questions)
