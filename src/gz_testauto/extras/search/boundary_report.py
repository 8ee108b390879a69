"""The result of a boundary as table, sentences, figure and JSON object."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from rich.table import Table

from gz_testauto.analysis.intervals import LEVEL, Estimate, success_rate
from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.base.json_file import finite_or_none
from gz_testauto.extras.search.boundary import METHOD, FailureRates, Outcomes
from gz_testauto.extras.search.varied import Number
from gz_testauto.report.plain import interval_text, joined, number_text, plain_table
from gz_testauto.results.directory import reporting_disk

SECOND = 0.1  # a failure rate whose boundary is also reported


@dataclass(frozen=True)
class BoundaryReport:
    """The outcomes of a planner at each value of ``key``; ``rate`` is that of the boundary."""

    planner: str
    key: str
    outcomes: Outcomes
    rate: float

    @cached_property
    def compared(self) -> List[FailureRates]:
        rates = sorted({self.rate, SECOND}, reverse=True)
        return [FailureRates(self.outcomes, rate) for rate in rates]

    def table(self) -> Table:
        table = plain_table("value", "trials", "failed", "%", "95 % CI")
        for value, failed in self.outcomes.items():
            rate = success_rate(sum(failed), len(failed))
            cells = number_text(100.0 * rate.value, 1), interval_text(rate, 1, 100.0)
            table.add_row(f"{value:.6g}", str(len(failed)), str(sum(failed)), *cells)
        return table

    @property
    def sentences(self) -> List[str]:
        return [self._sentence(compared) for compared in self.compared]

    @cached_property
    def contradicting(self) -> List[Number]:
        """The values at which the trials contradict the others, if the failure rate only increases
        or only decreases."""
        return sorted({value for compared in self.compared for value in compared.contradicting})

    @property
    def is_monotone(self) -> bool:
        """False if the trials contradict a monotone failure rate. No boundary is then reported."""
        return not self.contradicting and all(compared.is_monotone for compared in self.compared)

    def _boundary_of(self, compared: FailureRates) -> Optional[Estimate]:
        return compared.boundary() if self.is_monotone else None

    def _sentence(self, compared: FailureRates) -> str:
        first, last = min(self.outcomes), max(self.outcomes)
        rate, subject = f"{100 * compared.rate:g} %", f"the failure rate of {self.planner}"
        boundary = self._boundary_of(compared)
        if not all(rates.is_monotone for rates in self.compared):
            return (
                f"no boundary of {rate}: {subject} neither increases only nor decreases only with "
                f"{self.key}; use the rates in the table, or a range in which it does"
            )
        if self.contradicting:
            return (
                f"no boundary of {rate}: the trials at {_values_text(self.contradicting)} "
                f"contradict the others, if {subject} only increases or only decreases with "
                f"{self.key}; increase --budget or --worlds, or use another range"
            )
        if boundary is not None:
            sides = ("below", "above") if compared.increases else ("above", "below")
            known = [f"{sides[0]} {rate} up to {boundary.low:.6g}"] * (boundary.low >= first)
            known += [f"{sides[1]} {rate} from {boundary.high:.6g}"] * (boundary.high <= last)
            low = f"{boundary.low:.6g}" if boundary.low >= first else f"below {first:.6g}"
            high = f"{boundary.high:.6g}" if boundary.high <= last else f"above {last:.6g}"
            value = "" if math.isnan(boundary.value) else f"{boundary.value:.3g} "
            return (
                f"boundary of {rate}: {value}(95 % CI: from {low} to {high}); {subject} is "
                f"{' and '.join(known)}"
            )
        if len(self.outcomes) in (len(compared.below), len(compared.above)):
            side = "below" if compared.below else "above"
            return (
                f"no boundary of {rate}: {subject} is {side} {rate} from {first:.6g} to {last:.6g}"
            )
        known = [
            f"{side} {rate} at {_values_text(values)}"
            for side, values in (("below", compared.below), ("above", compared.above))
            if values
        ]
        known_text = f"; it is {' and '.join(known)}" if known else ""
        return (
            f"no boundary of {rate}: the trials do not show where {subject} crosses it"
            f"{known_text}; increase --budget, or use another range"
        )

    def to_json(self) -> Dict[str, Any]:
        """Return the report as a JSON object, in which infinite ends of intervals are null."""
        levels = []
        for value, failed in self.outcomes.items():
            rate = success_rate(sum(failed), len(failed))
            numbers = [rate.value, rate.low, rate.high] if failed else None
            counts = {"trials": len(failed), "failures": sum(failed)}
            levels.append({"value": value, **counts, "rate": numbers})
        return {
            "planner": self.planner,
            "key": self.key,
            "boundaries": [self._boundary_json(compared) for compared in self.compared],
            "sentences": self.sentences,
            "levels": levels,
        }

    def draw(self, path: Path) -> bool:
        """Draw the rates and the boundary into a PNG file. Return False without matplotlib."""
        try:
            from gz_testauto.report.plots import COLORS, chart_text, figure_class, save_figure

            figure = figure_class()(figsize=(6.0, 4.0), layout="constrained")
        except MissingDependencyError:
            return False
        axes = figure.add_subplot()
        for value, failed in self.outcomes.items():
            if failed:
                rate = success_rate(sum(failed), len(failed))
                axes.plot([value, value], [100 * rate.low, 100 * rate.high], color="0.6")
                axes.plot(value, 100 * rate.value, "o", color=COLORS[0])
                axes.annotate(
                    str(len(failed)), (value, 100 * rate.value), (5, 5), textcoords="offset points"
                )
        boundary = self._boundary_of(
            next(compared for compared in self.compared if compared.rate == self.rate)
        )
        if boundary is not None:
            ends = max(boundary.low, min(self.outcomes)), min(boundary.high, max(self.outcomes))
            axes.axvspan(*ends, color=COLORS[1], alpha=0.2)
            if not math.isnan(boundary.value):
                axes.axvline(boundary.value, color=COLORS[1])
        axes.set_ylim(-3, 103)
        axes.set_xlabel(chart_text(self.key))
        axes.set_ylabel(chart_text(f"failures of {self.planner} (%)"))
        with reporting_disk(path):
            save_figure(figure, path, 100)
        return True

    def _boundary_json(self, compared: FailureRates) -> Dict[str, Any]:
        boundary = self._boundary_of(compared) or Estimate.unknown()
        value, *interval = map(finite_or_none, boundary[:3])
        return {
            "rate": compared.rate,
            "value": value,
            "interval": interval,
            "increases": compared.increases if self.is_monotone else None,
            "is_monotone": self.is_monotone,
            "below": compared.below if self.is_monotone else [],
            "above": compared.above if self.is_monotone else [],
            "contradicting": compared.contradicting,
            "level": LEVEL,
            "method": METHOD,
        }


def _values_text(values: Sequence[Number]) -> str:
    return joined([f"{value:.6g}" for value in values])
