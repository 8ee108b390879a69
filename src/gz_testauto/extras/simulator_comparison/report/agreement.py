"""The report on two simulators that ran the same trials."""

import math
from typing import List, Optional, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table

from gz_testauto.analysis.intervals import Estimate
from gz_testauto.base.escaping import escape_all_texts
from gz_testauto.extras.simulator_comparison.agreement import (
    Confirmation,
    Pair,
    SimulatorAgreement,
    possible_reasons,
)
from gz_testauto.report.plain import (
    interval_text,
    methods_text,
    number_text,
    plain_table,
    report_console,
)
from gz_testauto.results.records import TrialRecord


def print_agreement(
    agreement: SimulatorAgreement, first: str, second: str, console: Optional[Console] = None
) -> None:
    console = console or report_console()
    agreement = escape_all_texts(agreement)
    total, same = sum(agreement.trials.values()), sum(agreement.same.values())
    if not total:
        console.print("No trial is valid in both simulators.")
        return
    rate = agreement.rate
    parts: List[RenderableType] = [
        f"{same} of {total} trials have the same outcome in {first} and {second}; mean over worlds "
        f"{100 * rate.value:.1f} % {interval_text(rate, 1, 100)}".rstrip(),
        *(
            f"  {name}: {agreement.same[name]} of {count}"
            for name, count in agreement.trials.items()
        ),
        f"Interval: {methods_text([rate])}.",
        "",
        _metric_table(agreement),
        f"Difference: {second} minus {first}, mean of each world in which both reached the goal, "
        "median over worlds.",
    ]
    console.print(
        Group(*parts, *_correlation_parts(agreement), *_disagreement_lines(agreement.disagreements))
    )


def print_confirmation(
    confirmation: Confirmation, screen: str, confirm: str, console: Optional[Console] = None
) -> None:
    """Print how many of the trials that were run again have the same outcome."""
    console = console or report_console()
    table = plain_table("run again because", "trials", "same outcome")
    for reason in possible_reasons():
        if reason in confirmation.trials:
            table.add_row(reason, str(confirmation.trials[reason]), str(confirmation.same[reason]))
    count, overall = sum(confirmation.trials.values()), confirmation.overall
    console.print(
        f"{confirmation.screened} trials screened in {screen}, {count} run again in {confirm}"
    )
    console.print(table)
    if math.isnan(overall.value):
        console.print("Without a control sample the agreement of the other trials is unknown.")
    else:
        console.print(
            f"Of all valid trials, {100 * overall.value:.1f} % "
            f"{interval_text(overall, 1, 100)} have the same outcome in both.".replace("  ", " ")
        )
        console.print(f"Interval: {methods_text([overall])}.")
    console.print(Group(*_disagreement_lines(escape_all_texts(confirmation.disagreements))))


def _disagreement_lines(pairs: Sequence[Pair]) -> List[RenderableType]:
    lines = [
        f"  {first.world} {first.planner}: {_outcome_text(first)}; {_outcome_text(second)}"
        for first, second in pairs
    ]
    return ["", "Trials with different outcomes", *lines] if lines else []


def _outcome_text(record: TrialRecord) -> str:
    return f"{record.outcome.value}, {record.detail}" if record.detail else record.outcome.value


def _correlation_parts(agreement: SimulatorAgreement) -> List[RenderableType]:
    missing = next(
        (correlation.missing for correlation in agreement.correlations if correlation.missing), ""
    )
    if missing:
        return ["", f"The correlation of planners in both simulators is unknown: {missing}."]
    table = plain_table("planners by", "cells", "SRCC", "Spearman's", "same winner")
    for correlation in agreement.correlations:
        estimates = (
            correlation.pearson.estimate,
            correlation.spearman.estimate,
            correlation.same_winner.estimate,
        )
        table.add_row(correlation.metric, str(correlation.cells), *map(_estimate_text, estimates))
    return [
        "",
        table,
        "SRCC: Pearson's r over planners and worlds (Kadian et al. 2020). Same winner: share of "
        "pairs of planners. Intervals: bootstrap over worlds.",
    ]


def _estimate_text(estimate: Estimate) -> str:
    return f"{number_text(estimate.value, 2)} {interval_text(estimate, 2)}".strip()


def _metric_table(agreement: SimulatorAgreement) -> Table:
    table = plain_table(
        "difference of", "pairs", "worlds", "median", "95 % interval", "median of magnitudes"
    )
    for metric in agreement.metrics:
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
