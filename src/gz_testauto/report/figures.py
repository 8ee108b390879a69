"""Draw the charts of a campaign for a paper, one file per chart, at the width of a column.

With the same version of matplotlib, the same results give identical files.
"""

import itertools
import re
from pathlib import Path
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis.comparison import Comparison, metric_differences
from gz_testauto.analysis.intervals import LEVEL
from gz_testauto.analysis.overview import Analysis
from gz_testauto.analysis.success_curve import SuccessCurve
from gz_testauto.base.escaping import escape_text
from gz_testauto.report.names import metric_heading
from gz_testauto.report.page.difficulty import Figure, Values, figures_of_worlds, success_curves
from gz_testauto.report.page.worlds import WorldContext
from gz_testauto.report.plots import COLORS, chart_text, figure_class, save_figure
from gz_testauto.results.directory import CampaignDirectory, reporting_disk
from gz_testauto.results.manifest import Manifest

COLUMN_INCHES = 3.5  # 88 mm, the width of a column in most journals

_STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,  # text remains text instead of paths
    "svg.fonttype": "none",
    "svg.hashsalt": "gz_testauto",
}
_WITHOUT_DATE = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
_DOTS_PER_INCH = 300
NAME_SHOWN = 24  # shown characters of a planner's name
_DASHES = ("-", "--", ":", "-.")

# a chart: the base name of its file, its height (inches), and a function that draws it
Drawn = Tuple[str, float, Callable[[Any], None]]


def write_figures(
    directory: CampaignDirectory, analysis: Analysis, out: Path, file_format: str = "pdf"
) -> Tuple[List[Path], List[str]]:
    """Write every chart to the directory ``out``. Return the files, and one line per input that
    could not be read."""
    make = figure_class()
    import matplotlib

    worlds = analysis.results.worlds
    context = WorldContext.of(directory, worlds, Manifest.read(directory).is_imported)
    figures = figures_of_worlds(directory, context.spec, worlds, context.problems)
    with reporting_disk(out):
        out.mkdir(parents=True, exist_ok=True)
    paths: List[Path] = []
    charts = [_rates_chart(analysis), *_difference_charts(analysis)]
    charts += [_difficulty_chart(analysis, figure, values) for figure, values in figures.items()]
    with matplotlib.rc_context(_STYLE):
        for name, height, draw in charts:
            drawn = make(figsize=(COLUMN_INCHES, height), layout="constrained")
            draw(drawn.add_subplot())
            path = out / f"{_unused_file_name(name, paths)}.{file_format}"
            with reporting_disk(path):
                save_figure(drawn, path, _DOTS_PER_INCH, _WITHOUT_DATE[file_format])
            paths.append(path)
    return paths, context.problems


def _unused_file_name(name: str, paths: Sequence[Path]) -> str:
    """Return ``name`` without special characters, for a file. A number is appended if one of
    ``paths`` already uses the name."""
    file_stem = re.sub(r"(?:[^\w.-]|_)+", "_", name)
    used_stems = {path.stem for path in paths}
    numbered_stems = (f"{file_stem}_{number}" for number in itertools.count(2))
    return next(
        candidate
        for candidate in itertools.chain([file_stem], numbered_stems)
        if candidate not in used_stems
    )


def _rates_chart(analysis: Analysis) -> Drawn:
    summaries = [summary for summary in analysis.summaries if summary.trials]

    def draw(axes: Any) -> None:
        for row, summary in enumerate(summaries):
            value, low, high = (100 * number for number in summary.success[:3])
            color = _planner_color(analysis, summary.planner)
            axes.plot([low, high], [row, row], color=color, linewidth=1.5)
            axes.plot([value], [row], "o", color=color, markersize=4)
        axes.set_yticks(
            range(len(summaries)), [_shown_name(summary.planner) for summary in summaries]
        )
        axes.set_ylim(len(summaries) - 0.5, -0.5)
        axes.set_xlim(-2, 102)
        axes.set_xlabel(f"goal reached (%), {100 * LEVEL:.0f} % intervals")

    return "success_rates", 0.7 + 0.22 * max(len(summaries), 1), draw


def _difference_charts(analysis: Analysis) -> Iterator[Drawn]:
    metrics = {metric.name: metric for metric in analysis.metrics}
    differences_of = metric_differences(analysis.results)
    for pair in analysis.comparisons.pairs:
        for comparison in pair.metrics:
            if comparison.worlds:
                metric = metrics[comparison.name]
                per_world = differences_of(pair.first, pair.second, metric)
                values = np.sort([value * metric.shown_factor for value in per_world.values()])
                estimate = [value * metric.shown_factor for value in comparison.difference[:3]]
                label = f"{metric_heading(metric)} ({metric.label_unit})".replace(" ()", "")
                draw = _difference_drawer(pair, label, values, estimate)
                planners = f"{pair.first[:NAME_SHOWN]}_minus_{pair.second[:NAME_SHOWN]}"
                yield f"difference_{planners}_{metric.name}", 2.2, draw


def _difference_drawer(
    pair: Comparison, label: str, values: np.ndarray, estimate: Sequence[float]
) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        if np.isfinite(estimate).all():
            axes.axhspan(estimate[1], estimate[2], color=COLORS[0], alpha=0.2, linewidth=0)
        axes.axhline(estimate[0], color=COLORS[0], linewidth=1.2)
        axes.axhline(0, color="black", linewidth=0.6)
        axes.plot(np.arange(1, len(values) + 1), values, ".", color=COLORS[0], markersize=4)
        axes.set_title(f"{_shown_name(pair.first)} − {_shown_name(pair.second)}")
        axes.set_xlabel("worlds, in order of their difference")
        axes.set_ylabel(chart_text(label))

    return draw


def _difficulty_chart(analysis: Analysis, figure: Figure, values: Values) -> Drawn:
    results = analysis.results
    fitted_curves = success_curves(results, values)
    figure_of_world = {world.name: value for world, value in zip(results.worlds, values)}

    def draw(axes: Any) -> None:
        for planner, curve in zip(results.planners, fitted_curves):
            color = _planner_color(analysis, planner)
            dashes = _DASHES[results.planners.index(planner) % len(_DASHES)]
            _draw_curve(
                axes, curve, figure, color=color, linestyle=dashes, label=_shown_name(planner)
            )
            points = [
                (figure_of_world[record.world], 100 * record.completed)
                for record in results.of(planner)
                if record.outcome.valid and figure_of_world.get(record.world) is not None
            ]
            if points:
                x, y = np.array(points, dtype=float).T
                up_points = 1.5 * (1 + results.planners.index(planner))
                offset_points = np.where(y > 50, up_points, -up_points)
                axes.plot(x * figure.factor, y + offset_points, "|", color=color, markersize=3)
        axes.set_ylim(-14, 114)
        axes.set_yticks([0, 25, 50, 75, 100])
        axes.set_xlabel(chart_text(f"{figure.heading} ({figure.unit})".replace(" ()", "")))
        axes.set_ylabel("goal reached (%)")
        if any(curve is not None for curve in fitted_curves):
            placement = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncol": 3}
            axes.legend(frameon=False, fontsize=7, **placement)

    return f"difficulty_{figure.key}", 2.4, draw


def _draw_curve(axes: Any, curve: Optional[SuccessCurve], figure: Figure, **line: str) -> None:
    if curve is None:
        return
    x, color = curve.x * figure.factor, line["color"]
    axes.fill_between(x, 100 * curve.low, 100 * curve.high, color=color, alpha=0.15, linewidth=0)
    axes.plot(x, 100 * curve.rate, linewidth=1.2, **line)


def _shown_name(planner: str) -> str:
    text = escape_text(planner)
    return chart_text(text if len(text) <= NAME_SHOWN else text[:NAME_SHOWN] + "…")


def _planner_color(analysis: Analysis, planner: str) -> str:
    return COLORS[analysis.results.planners.index(planner) % len(COLORS)]
