"""The result of a boundary: its table, its sentences, its figure and its JSON object."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
from rich.table import Table

from gz_testauto.analysis.intervals import LEVEL, Estimate, success_rate
from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.extras.search.boundary import FailureCurve
from gz_testauto.extras.search.varied import Number
from gz_testauto.report.plain import interval_text, number_text, p_text, plain_table
from gz_testauto.results.directory import reporting_disk

SECOND = 0.1
"""A failure rate whose boundary is also reported."""


@dataclass(frozen=True)
class BoundaryReport:
    """The result for a planner: the numbers of failures and of valid trials at each of the
    increasing ``values`` of ``key``. ``rate`` is the failure rate of the boundary."""

    planner: str
    key: str
    values: Tuple[Number, ...]
    failures: Tuple[int, ...]
    trials: Tuple[int, ...]
    rate: float

    @cached_property
    def curve(self) -> FailureCurve:
        """The fitted curve."""
        return FailureCurve(self.values, self.failures, self.trials)

    @cached_property
    def boundaries(self) -> Dict[float, Estimate]:
        """The boundaries by failure rate; empty if the failure rate does not depend on the
        value."""
        rates = sorted({self.rate, SECOND}, reverse=True)
        found = {rate: self.curve.boundary(rate) for rate in rates}
        return {rate: one for rate, one in found.items() if one is not None}

    def table(self) -> Table:
        """Return the table of the values for a terminal with 80 columns."""
        table = plain_table("value", "trials", "failed", "%", "95 % CI")
        for value, failures, trials in zip(self.values, self.failures, self.trials):
            rate = success_rate(failures, trials)
            cells = number_text(100.0 * rate.value, 1), interval_text(rate, 1, 100.0)
            table.add_row(f"{value:.6g}", str(trials), str(failures), *cells)
        return table

    @property
    def sentences(self) -> List[str]:
        """The dependence on the value, the boundaries, and whether the curve fits, in words."""
        low, high = self.values[0], self.values[-1]
        p = p_text(self.curve.p_slope)
        if not self.boundaries:
            failures, trials = sum(self.failures), sum(self.trials)
            rate = success_rate(failures, trials)
            return [
                f"no boundary: the failure rate of {self.planner} does not depend significantly on "
                f"{self.key} from {low:.6g} to {high:.6g} ({p}); {failures} of {trials} trials "
                f"failed, {100 * rate.value:.1f} % {interval_text(rate, 1, 100.0)}; use another "
                "range, or increase --budget"
            ]
        direction = "increases" if self.curve.increases else "decreases"
        first = f"the failure rate of {self.planner} {direction} with {self.key} ({p})"
        found = [self._boundary_text(rate, one) for rate, one in self.boundaries.items()]
        return [first, *found, self._fit_text()]

    def _boundary_text(self, rate: float, one: Estimate) -> str:
        low, high = self.values[0], self.values[-1]
        start = f"boundary of {100 * rate:g} %: "
        from_, to = (
            "from " + _text(one.low) if one.low >= low else f"from below {low:.6g}",
            "to " + _text(one.high) if one.high <= high else f"to above {high:.6g}",
        )
        if one.low > high:
            from_, to = f"above {high:.6g}", ""
        if one.high < low:
            from_, to = f"below {low:.6g}", ""
        if low <= one.value <= high:
            text = _text(one.value)
        else:
            text = f"not within the range, {'below' if one.value < low else 'above'} "
            text += f"{low if one.value < low else high:.6g}"
        return f"{start}{text} (95 % CI: {f'{from_} {to}'.strip()})"

    def _fit_text(self) -> str:
        fit = self.curve.lack_of_fit()
        if fit is None:
            return "the fit of the logistic curve cannot be tested with two values"
        p = f"deviance {fit.deviance:.1f}, {fit.degrees} degrees of freedom, {p_text(fit.p)}"
        if fit.p < 1.0 - LEVEL:
            return (
                f"the rates deviate from a logistic curve ({p}), so the intervals of "
                "the boundaries are not reliable; use the rates in the table, or a smaller range"
            )
        return f"no significant deviation from a logistic curve ({p})"

    def to_json(self) -> Dict[str, Any]:
        """Return the result as a JSON object. Boundaries and ends of intervals outside of the range
        of values are null."""
        fit = self.curve.lack_of_fit()
        levels = []
        for value, failures, trials in zip(self.values, self.failures, self.trials):
            rate = success_rate(failures, trials)
            numbers = [rate.value, rate.low, rate.high] if trials else None
            entry = {"value": value, "trials": trials, "failures": failures, "rate": numbers}
            levels.append(entry)
        return {
            "planner": self.planner,
            "key": self.key,
            "increases": self.curve.increases if self.boundaries else None,
            "p_slope": self.curve.p_slope,
            "boundaries": [
                {
                    "rate": rate,
                    "value": self._inside(one.value),
                    "interval": [self._inside(one.low), self._inside(one.high)],
                    "level": LEVEL,
                    "method": one.method,
                }
                for rate, one in self.boundaries.items()
            ],
            "fit": None if fit is None else fit._asdict(),
            "sentences": self.sentences,
            "levels": levels,
        }

    def _inside(self, value: float) -> Optional[float]:
        return value if self.values[0] <= value <= self.values[-1] else None

    def draw(self, path: Path) -> bool:
        """Draw the rates, the curve and the boundary into a PNG file. Return False without
        matplotlib."""
        try:
            from gz_testauto.report.plots import COLORS, chart_text, figure_class, save_figure

            figure = figure_class()(figsize=(6.0, 4.0), layout="constrained")
        except MissingDependencyError:
            return False
        axes = figure.add_subplot()
        for value, failures, trials in zip(self.values, self.failures, self.trials):
            if trials:
                rate = success_rate(failures, trials)
                axes.plot([value, value], [100 * rate.low, 100 * rate.high], color="0.6")
                axes.plot(value, 100 * rate.value, "o", color=COLORS[0])
                axes.annotate(
                    str(trials), (value, 100 * rate.value), (5, 5), textcoords="offset points"
                )
        if self.boundaries:
            at = np.linspace(self.values[0], self.values[-1], 200)
            axes.plot(at, 100 * self.curve.rate(at), color=COLORS[0])
        one = self.boundaries.get(self.rate)
        if one is not None:
            ends = np.clip([one.low, one.high], self.values[0], self.values[-1])
            axes.axvspan(*ends, color=COLORS[1], alpha=0.2)
            if self._inside(one.value) is not None:
                axes.axvline(one.value, color=COLORS[1])
        axes.set_ylim(-3, 103)
        axes.set_xlabel(chart_text(self.key))
        axes.set_ylabel(chart_text(f"failures of {self.planner} (%)"))
        with reporting_disk(path):
            save_figure(figure, path, 100)
        return True


def _text(value: float) -> str:
    return f"{value:.3g}"
