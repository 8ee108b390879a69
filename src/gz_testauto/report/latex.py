r"""Format the tables of a campaign in LaTeX for a paper, with intervals and notes on the methods.

The tables need only ``\usepackage{booktabs}``. Text from results is escaped.
"""

import math
from typing import AbstractSet, List, Sequence, Set, Tuple

from gz_testauto.analysis.intervals import LEVEL
from gz_testauto.analysis.overview import Analysis
from gz_testauto.analysis.summary import failures
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.names import arrows_text, directed_heading, metric_heading
from gz_testauto.report.notes import extent_text, means_notes, notes, success_note
from gz_testauto.report.plain import methods_text
from gz_testauto.report.rows import (
    DifferenceRow,
    Notation,
    has_lanes,
    mean_of,
    measured_metrics,
    metric_differences,
    smallest_text,
    success_difference,
    success_rows,
)

_NOTATION = Notation("–", "–", "−", "{} to {}")
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "²": r"\textsuperscript{2}",
    "³": r"\textsuperscript{3}",
    "–": "--",
    "−": "$-$",
    "∞": r"$\infty$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "·": r"$\cdot$",
    "°": r"$^{\circ}$",
    **{character: "\\" + character for character in "#$%&_{}"},
}
_PERCENT = 100 * LEVEL
PACKAGES = r"% needs \usepackage{booktabs}"


def to_latex(analysis: Analysis) -> str:
    parts = [_success_table(analysis), _means_table(analysis)]
    if any(pair.worlds for pair in analysis.comparisons.pairs):
        parts.append(_differences_table(analysis))
    return "\n".join([PACKAGES, *parts])


def latex_text(text: str) -> str:
    """Return ``text`` escaped for LaTeX and without control characters."""
    parts = (_SPECIAL.get(character, character) for character in text)
    return "".join(piece for piece in parts if piece.isprintable())


def _success_table(analysis: Analysis) -> str:
    shown_failures = failures(analysis.summaries)
    rows = [
        [
            summary.planner,
            f"{summary.reached}/{summary.trials}",
            rate,
            interval,
            *map(str, counts),
            *([] if off_road is None else [off_road]),
        ]
        for summary, rate, interval, counts, off_road in success_rows(
            analysis.summaries, shown_failures, _NOTATION
        )
    ]
    methods = methods_text(summary.success for summary in analysis.summaries)
    text = [
        f"{extent_text(analysis.results)}.",
        str(success_note(analysis.summaries)),
        f"Intervals: {methods}. Invalid trials are excluded.",
        *map(str, notes(analysis)),
    ]
    head = ["planner", "reached", "success ↑ (%)", f"{_PERCENT:.0f} % interval"]
    head += [outcome.label for outcome in shown_failures]
    head += ["off road"] if has_lanes(analysis.summaries) else []
    bold = {
        (row, 2)
        for row in best_indices([row[2] for row in rows], _success_rates(analysis), "higher")
    }
    return format_table("Success rates", head, rows, " ".join(text), bold=bold)


def _means_table(analysis: Analysis) -> str:
    metrics = measured_metrics(analysis)
    are_of_same_worlds = not list(means_notes(analysis))
    rows: List[List[str]] = []
    bold: Set[Tuple[int, int]] = set()
    for metric in metrics:
        means = [mean_of(metric, summary, _NOTATION) for summary in analysis.summaries]
        values = [
            summary.metrics[metric.name].mean if row.trials else math.nan
            for row, summary in zip(means, analysis.summaries)
        ]
        if are_of_same_worlds or not metric.completed_only:
            best = best_indices([row.mean for row in means], values, metric.better)
            bold |= {(len(rows), column + 1) for column in best}
        cells = [
            f"{row.mean} ({row.deviation}; {row.trials})" if row.trials else row.mean
            for row in means
        ]
        rows.append([_heading_with_unit(metric), *cells])
    short = ", ".join(metric_heading(metric) for metric in metrics if metric.completed_only)
    text = (
        f"Mean (standard deviation; number of trials). {arrows_text(metrics)} Bold: the best "
        "value, if the means are over the same worlds."
    )
    if short:
        text += f" Over trials that reached the goal only: {short}."
    head = ["metric", *(summary.planner for summary in analysis.summaries)]
    return format_table("Means", head, rows, text, bold=bold)


def _success_rates(analysis: Analysis) -> List[float]:
    return [summary.success.value for summary in analysis.summaries]


def best_indices(texts: Sequence[str], values: Sequence[float], better: str) -> List[int]:
    """Return the indices of the planners whose text equals that of the best value. ``texts`` and
    ``values`` have an entry for each planner. The result is empty if all texts are equal, if all
    values are NaN, or if ``better`` is ``neither``."""
    known = [value for value in values if not math.isnan(value)]
    if better == "neither" or not known:
        return []
    best = texts[values.index(max(known) if better == "higher" else min(known))]
    indices = [index for index, text in enumerate(texts) if text == best]
    return indices if len(indices) < len(texts) else []


def _differences_table(analysis: Analysis) -> str:
    metrics = {metric.name: metric for metric in analysis.metrics}
    rows = []
    for pair in analysis.comparisons.pairs:
        if not pair.worlds:
            continue
        name = f"{pair.first} − {pair.second}"
        success = success_difference(pair, _NOTATION)
        rows.append([name, "success (%, points)", *_difference_cells(success)])
        for metric, row in metric_differences(pair, metrics, _NOTATION):
            if row.worlds:
                rows.append(["", _heading_with_unit(metric), *_difference_cells(row)])
    pairs = [pair for pair in analysis.comparisons.pairs if pair.worlds]
    tests = sorted({pair.test for pair in pairs})
    compared_metrics = [metric for metric in analysis.metrics if metric.in_comparison]
    smallest = ", ".join(smallest_text(metric) for metric in compared_metrics)
    intervals = methods_text(compared.difference for pair in pairs for compared in pair.metrics)
    metric_tests = sorted({row.test for pair in pairs for row in pair.metrics if row.worlds})
    is_fixed = analysis.early_stop is None
    correction = "Holm-adjusted over" if is_fixed else "multiplied by the number of"
    text = (
        f"First minus second planner. Success, mean over worlds: {'; '.join(tests)}, {correction} "
        f"the pairs; intervals: {methods_text(pair.difference for pair in pairs)}. Metrics: "
        f"{'; '.join(metric_tests) or '–'}, Holm-adjusted together; intervals: {intervals or '–'}. "
        "Means: of both planners in the same worlds. Median: the difference in the typical world. "
        "Significant: the adjusted p is below 0.05. Relevant: the difference is at least: "
        f"success {100 * analysis.results.relevant_success:g} points"
        f"{', ' if smallest else ''}{smallest}."
    )
    head = ["planners", "of", "worlds", "means", "statistic", "difference"]
    level = f"{_PERCENT:.0f} % " if is_fixed else ""
    head += [f"{level}interval", "p", "p (Holm)" if is_fixed else "p (adjusted)", "verdict"]
    return format_table("Differences", head, rows, text, left_columns=2)


def _difference_cells(row: DifferenceRow) -> List[str]:
    return [str(row.worlds), " and ".join(row.means), *row[2:]]


def format_table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: str,
    left_columns: int = 1,
    bold: AbstractSet[Tuple[int, int]] = frozenset(),
) -> str:
    """Format a table with notes below it. Texts are escaped. The first ``left_columns`` columns are
    aligned left. ``bold`` contains the row and column of each bold cell."""
    columns = "l" * left_columns + "r" * (len(head) - left_columns)
    lines = [
        r"\begin{table}[tb]",
        r"  \centering",
        rf"  \caption{{{latex_text(caption)}}}",
        rf"  \label{{tab:{caption.lower().replace(' ', '-')}}}",
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        _format_row(head),
        r"    \midrule",
        *(
            _format_row(row, [column for line, column in bold if line == index])
            for index, row in enumerate(rows)
        ),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"",
        rf"  \smallskip{{\footnotesize {latex_text(notes)}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _format_row(cells: Sequence[str], bold: Sequence[int] = ()) -> str:
    texts = [
        rf"\textbf{{{latex_text(cell)}}}" if column in bold else latex_text(cell)
        for column, cell in enumerate(cells)
    ]
    return "    " + " & ".join(texts) + r" \\"


def _heading_with_unit(metric: Metric) -> str:
    return directed_heading(metric) + (f" ({metric.label_unit})" if metric.label_unit else "")
