"""The report on two simulators that ran the same trials.

Every number comes from :mod:`gz_testauto.analysis`.
"""

import math
from typing import List, Optional, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table

from gz_testauto.analysis.intervals import Estimate
from gz_testauto.base.escaping import escape_all_texts
from gz_testauto.extras.simulator_comparison.agreement import Confirmation, Pair, SimulatorAgreement
from gz_testauto.extras.simulator_comparison.screening import possible_reasons
from gz_testauto.report.plain import (
    interval_text,
    methods_text,
    number_text,
    plain_table,
    report_console,
)
from gz_testauto.results.records import TrialRecord


def print_agreement(
    found: SimulatorAgreement, first: str, second: str, console: Optional[Console] = None
) -> None:
    """Print the report on ``console``; ``first`` and ``second`` are the simulators."""
    console = console or report_console()
    found = escape_all_texts(found)
    total, same = sum(found.trials.values()), sum(found.same.values())
    if not total:
        console.print("No trial is valid in both simulators.")
        return
    rate = found.rate
    parts: List[RenderableType] = [
        f"{same} of {total} trials have the same outcome in {first} and {second}; mean over worlds "
        f"{100 * rate.value:.1f} % {interval_text(rate, 1, 100)}".rstrip(),
        *(f"  {name}: {found.same[name]} of {count}" for name, count in found.trials.items()),
        f"Interval: {methods_text([rate])}.",
        "",
        _metrics(found),
        f"Difference: {second} minus {first}, mean of each world in which both reached the goal, "
        "median over worlds.",
    ]
    console.print(Group(*parts, *_correlations(found), *_differences(found.disagreements)))


def print_confirmation(
    found: Confirmation, screen: str, confirm: str, console: Optional[Console] = None
) -> None:
    """Print how many trials that were screened in one simulator are confirmed by the other."""
    console = console or report_console()
    table = plain_table("run again because", "trials", "same outcome")
    for reason in possible_reasons():
        if reason in found.trials:
            table.add_row(reason, str(found.trials[reason]), str(found.same[reason]))
    count, overall = sum(found.trials.values()), found.overall
    console.print(f"{found.screened} trials screened in {screen}, {count} run again in {confirm}")
    console.print(table)
    if math.isnan(overall.value):
        console.print("Without a control sample the agreement of the other trials is unknown.")
    else:
        console.print(
            f"Of all trials, {100 * overall.value:.1f} % "
            f"{interval_text(overall, 1, 100)} have the same outcome in both.".replace("  ", " ")
        )
        console.print(f"Interval: {methods_text([overall])}.")
    console.print(Group(*_differences(escape_all_texts(found.disagreements))))


def _differences(pairs: Sequence[Pair]) -> List[RenderableType]:
    lines = [f"  {one.world} {one.planner}: {_how(one)}; {_how(other)}" for one, other in pairs]
    return ["", "Trials with different outcomes", *lines] if lines else []


def _how(record: TrialRecord) -> str:
    return f"{record.outcome.value}, {record.detail}" if record.detail else record.outcome.value


def _correlations(found: SimulatorAgreement) -> List[RenderableType]:
    missing = next((one.missing for one in found.correlations if one.missing), "")
    if missing:
        return ["", f"The correlation of planners in both simulators is unknown: {missing}."]
    table = plain_table("planners by", "cells", "SRCC", "Spearman's", "same winner")
    for one in found.correlations:
        estimates = (one.pearson.estimate, one.spearman.estimate, one.same_winner.estimate)
        table.add_row(one.metric, str(one.cells), *map(_with_interval, estimates))
    return [
        "",
        table,
        "SRCC: Pearson's r over planners and worlds (Kadian et al. 2020). Same winner: share of "
        "pairs of planners. Intervals: bootstrap over worlds.",
    ]


def _with_interval(one: Estimate) -> str:
    return f"{number_text(one.value, 2)} {interval_text(one, 2)}".strip()


def _metrics(found: SimulatorAgreement) -> Table:
    table = plain_table(
        "difference of", "pairs", "worlds", "median", "95 % interval", "median of magnitudes"
    )
    for metric in found.metrics:
        difference = metric.difference
        relative = number_text(100 * metric.median_relative, 2)
        unit = metric.metric.unit
        table.add_row(
            f"{metric.metric.name} ({unit})" if unit else metric.metric.name,
            str(metric.pairs),
            str(metric.worlds),
            number_text(difference.value, 3, "+"),
            interval_text(difference, 3, sign="+") or "-",
            f"{relative} %",
        )
    return table
