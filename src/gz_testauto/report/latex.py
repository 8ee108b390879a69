r"""The tables of a campaign as LaTeX, for a paper: booktabs, intervals, and notes on the methods.

Owns the layout; numbers and headings come from :mod:`gz_testauto.analysis` and the metrics'
declarations. The text needs ``\usepackage{booktabs}`` and nothing else, and text from results is
escaped.
"""

import math
from typing import List, Sequence

from gz_testauto.analysis.comparison import Comparison
from gz_testauto.analysis.intervals import LEVEL
from gz_testauto.analysis.overview import Analysis
from gz_testauto.analysis.summary import PlannerSummary, failures
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.metric_tables import OPEN_END, smallest_text, verdict_text
from gz_testauto.report.names import metric_heading
from gz_testauto.report.plain import methods_text, number_text

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
    "·": r"$\cdot$",
    "°": r"$^{\circ}$",
    **{character: "\\" + character for character in "#$%&_{}"},
}
_PERCENT = 100 * LEVEL


def to_latex(analysis: Analysis) -> str:
    """Three tables: success, means, and differences of pairs; the last only for two planners or
    more."""
    parts = [_success(analysis), _means(analysis)]
    if any(pair.worlds for pair in analysis.comparisons.pairs):
        parts.append(_differences(analysis))
    return r"% needs \usepackage{booktabs}" + "\n" + "\n".join(parts)


def latex_text(text: str) -> str:
    """``text`` as LaTeX prints it; control characters are left out."""
    printed = (_SPECIAL.get(character, character) for character in text)
    return "".join(piece for piece in printed if piece.isprintable())


def _success(analysis: Analysis) -> str:
    ends = failures(analysis.summaries)
    head = ["planner", "reached", "success (%)", f"{_PERCENT:.0f} % interval"]
    rows = []
    for summary in analysis.summaries:
        rate = summary.success
        rows.append(
            [
                summary.planner,
                f"{summary.reached}/{summary.trials}",
                _number(100 * rate.value, 1),
                _interval(100 * rate.low, 100 * rate.high, 1, ""),
                *(str(summary.outcomes.get(outcome, 0)) for outcome in ends),
            ]
        )
    methods = methods_text(summary.success for summary in analysis.summaries)
    worlds = max((summary.worlds for summary in analysis.summaries), default=0)
    notes = (
        f"{worlds} worlds; success: mean over worlds of the share of trials that reached the goal. "
        f"Intervals: {methods}. Invalid trials "
        "count for nobody."
    )
    head += [outcome.label for outcome in ends]
    return _table("Success rates", head, rows, notes)


def _means(analysis: Analysis) -> str:
    metrics = [
        metric
        for metric in analysis.metrics
        if metric.in_table and any(_trials(metric, summary) for summary in analysis.summaries)
    ]
    rows = []
    for metric in metrics:
        row = [_heading(metric)]
        for summary in analysis.summaries:
            found = summary.metrics.get(metric.name)
            if found is None or not found.trials:
                row.append("–")
                continue
            mean = _number(found.mean * metric.shown_factor, metric.decimals)
            spread = _number(found.deviation * metric.shown_factor, metric.decimals)
            row.append(f"{mean} ({spread}; {found.trials})")
        rows.append(row)
    short = ", ".join(metric_heading(metric) for metric in metrics if metric.completed_only)
    notes = "Mean (standard deviation; number of trials)."
    if short:
        notes += f" Over trials that reached the goal only: {short}."
    head = ["metric", *(summary.planner for summary in analysis.summaries)]
    return _table("Means", head, rows, notes)


def _differences(analysis: Analysis) -> str:
    metrics = {metric.name: metric for metric in analysis.metrics}
    rows = []
    for pair in analysis.comparisons.pairs:
        if not pair.worlds:
            continue
        name = f"{pair.first} − {pair.second}"
        rows.append([name, "success (points)", *_success_difference(pair)])
        for found in pair.metrics:
            metric = metrics[found.name]
            shift = [number * metric.shown_factor for number in found.shift[:3]]
            rows.append(
                [
                    "",
                    _heading(metric),
                    str(found.worlds),
                    _number(shift[0], metric.decimals, "+"),
                    _interval(shift[1], shift[2], metric.decimals, "+"),
                    _p(found.p_value),
                    _p(found.p_adjusted),
                    verdict_text(found).replace("-", "–"),
                ]
            )
    pairs = [pair for pair in analysis.comparisons.pairs if pair.worlds]
    tests = sorted({pair.test for pair in pairs})
    compared = [metric for metric in analysis.metrics if metric.in_comparison]
    smallest = ", ".join(smallest_text(metric) for metric in compared)
    shifts = methods_text(found.shift for pair in pairs for found in pair.metrics)
    notes = (
        f"First minus second planner. Success, mean over worlds: {'; '.join(tests)}, Holm-adjusted "
        f"over the pairs; intervals: {methods_text(pair.difference for pair in pairs)}. Metrics: "
        f"Wilcoxon signed-rank, Holm-adjusted together; intervals: {shifts or '–'}. {OPEN_END} "
        "Verdict: significant (Holm-adjusted p < 0.05), relevant (difference of at least: success "
        f"{100 * analysis.results.relevant_success:g} points{', ' if smallest else ''}{smallest}), "
        "both, or neither."
    )
    head = ["planners", "of", "worlds", "difference", f"{_PERCENT:.0f} % interval"]
    head += ["p", "p (Holm)", "verdict"]
    return _table("Differences", head, rows, notes, left=2)


def _success_difference(pair: Comparison) -> List[str]:
    value, low, high = (100 * number for number in pair.difference[:3])
    return [
        str(pair.worlds),
        _number(value, 1, "+"),
        _interval(low, high, 1, "+"),
        _p(pair.p_value),
        _p(pair.p_adjusted),
        verdict_text(pair).replace("-", "–"),
    ]


def _table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], notes: str, left: int = 1
) -> str:
    columns = "l" * left + "r" * (len(head) - left)
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{latex_text(caption)}}}",
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        _row(head),
        r"    \midrule",
        *map(_row, rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"",
        rf"  \smallskip{{\footnotesize {latex_text(notes)}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "    " + " & ".join(map(latex_text, cells)) + r" \\"


def _interval(low: float, high: float, decimals: int, sign: str) -> str:
    if math.isnan(low) or math.isnan(high):
        return "–"
    return f"{_number(low, decimals, sign)} to {_number(high, decimals, sign)}"


def _heading(metric: Metric) -> str:
    return metric_heading(metric) + (f" ({metric.label_unit})" if metric.label_unit else "")


def _trials(metric: Metric, summary: PlannerSummary) -> int:
    found = summary.metrics.get(metric.name)
    return 0 if found is None else found.trials


def _p(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _number(value: float, decimals: int, sign: str = "") -> str:
    """A number with a minus and a dash as they are printed."""
    return "–" if math.isnan(value) else number_text(value, decimals, sign).replace("-", "−")
