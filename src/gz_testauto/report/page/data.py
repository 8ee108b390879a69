"""Create the JSON blocks that the page's script reads: one for all worlds and one for each world.
Worlds, planners, outcomes and metrics are indices into the lists of the first block."""

import math
import shlex
from typing import Any, Dict, List, Mapping, Optional, Sequence

from gz_testauto.analysis.comparison import metric_differences
from gz_testauto.analysis.overview import Analysis
from gz_testauto.analysis.success_curve import SuccessCurve
from gz_testauto.base.escaping import escape_all_texts, escape_text
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.names import metric_heading
from gz_testauto.report.page.difficulty import Figure, Values
from gz_testauto.report.sources import Source, source_of
from gz_testauto.results.records import TrialRecord
from gz_testauto.trial.outcome import Outcome

FEW = "fewer than six worlds"  # the reason for an infinite end of an interval


def campaign_block(
    analysis: Analysis,
    shapes: Sequence[Any],
    footprint_m: Optional[Sequence[Sequence[float]]],
    figures: Mapping[Figure, Values],
    curves_of_figures: Mapping[Figure, Sequence[Optional[SuccessCurve]]],
    replay: Sequence[Optional[Dict[str, Any]]],
) -> Dict[str, Any]:
    """Return the data of the page that apply to all worlds. ``shapes`` are those of a
    ``ShapeTable``, ``footprint_m`` is the robot's outline, and ``replay`` the result of
    :func:`replays`."""
    results = analysis.results
    outcomes = list(Outcome)
    recorded_names = {name for record in results.trials for name in record.metrics}
    further_names = {"localization_error_max_m"} & recorded_names
    if "recoveries" in recorded_names:
        further_names = set(OF_STACKS)
    trials_of_worlds: Dict[str, List[List[int]]] = {}
    for record in results.trials:
        entry = [results.planners.index(record.planner), outcomes.index(record.outcome)]
        trials_of_worlds.setdefault(record.world, []).append(entry)
    return {
        "planners": escape_all_texts(results.planners),
        "outcomes": [
            {
                "text": outcome.label,
                "kind": outcome.value,
                "valid": outcome.valid,
                "success": outcome.success,
                "crash": outcome.declaration.crash,
            }
            for outcome in outcomes
        ],
        "worlds": [
            {
                "name": escape_text(world.name),
                "ended": trials_of_worlds.get(world.name, []),
                "figures": [rounded_or_none(values[world_index]) for values in figures.values()],
            }
            for world_index, world in enumerate(results.worlds)
        ],
        "figures": [_figure_block(figure, curves_of_figures[figure]) for figure in figures],
        "metrics": [
            _metric_block(metric, metric.name in further_names) for metric in analysis.metrics
        ],
        "pairs": _pair_blocks(analysis),
        "shapes": shapes,
        "footprint": footprint_m,
        "replay": replay,
    }


# additional metrics for each trial on a stack
OF_STACKS = ("recoveries", "real_time_factor", "localization_error_max_m")


def replays(
    planners: Sequence[str], sources: Sequence[Source], imported: Sequence[bool]
) -> List[Optional[Dict[str, Any]]]:
    """Return the replay command of each planner, or None if its trials were imported. The page adds
    world, planner and repetition, by their names in the results directory."""
    commands: List[Optional[Dict[str, Any]]] = []
    for planner in planners:
        source = source_of(sources, planner)
        if imported[sources.index(source)]:
            commands.append(None)
            continue
        commands.append(
            {
                "start": f"gz_testauto replay {shlex.quote(source.typed)}",
                "planner": escape_text(source.planners[planner]),
                "worlds": {
                    escape_text(shown_name): escape_text(stored_name)
                    for shown_name, stored_name in source.worlds.items()
                },
            }
        )
    return commands


def trial_block(record: TrialRecord, analysis: Analysis) -> Dict[str, Any]:
    values = (record.metrics.get(metric.name) for metric in analysis.metrics)
    return {
        "planner": analysis.results.planners.index(record.planner),
        "repetition": record.repetition,
        "outcome": list(Outcome).index(record.outcome),
        "detail": escape_text(record.detail),
        "attempts": record.attempts,
        "metrics": [rounded_or_none(value) for value in values],
    }


def rounded_or_none(value: Optional[float], digits: int = 5) -> Optional[float]:
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{digits}g}")


def _metric_block(metric: Metric, is_shown: bool) -> Dict[str, Any]:
    return {
        "label": metric_heading(metric),
        "unit": metric.label_unit,
        "factor": metric.shown_factor,
        "decimals": metric.decimals,
        "table": metric.in_table or is_shown,
        "better": metric.better,
    }


def _pair_blocks(analysis: Analysis) -> List[Dict[str, Any]]:
    results = analysis.results
    world_indexes = {world.name: index for index, world in enumerate(results.worlds)}
    metric_indexes = {metric.name: index for index, metric in enumerate(analysis.metrics)}
    differences_of = metric_differences(results)
    pairs = []
    for pair in analysis.comparisons.pairs:
        comparisons = []
        for comparison in pair.metrics:
            metric = analysis.metrics[metric_indexes[comparison.name]]
            differences = differences_of(pair.first, pair.second, metric)
            comparisons.append(
                {
                    "metric": metric_indexes[comparison.name],
                    "statistic": comparison.statistic,
                    "estimate": [rounded_or_none(number) for number in comparison.difference[:3]],
                    "unbounded": FEW
                    if comparison.difference.has_interval
                    else comparison.difference.method,
                    "worlds": [world_indexes[world] for world in differences],
                    "differences": [rounded_or_none(value) for value in differences.values()],
                }
            )
        pairs.append(
            {
                "first": escape_text(pair.first),
                "second": escape_text(pair.second),
                "won": [
                    [world_indexes[name] for name in won]
                    for won in (pair.first_won, pair.second_won)
                ],
                "metrics": comparisons,
            }
        )
    return pairs


def _figure_block(figure: Figure, curves: Sequence[Optional[SuccessCurve]]) -> Dict[str, Any]:
    return {
        "heading": figure.heading,
        "unit": figure.unit,
        "factor": figure.factor,
        "decimals": figure.decimals,
        "curves": [None if curve is None else _curve_block(curve) for curve in curves],
    }


def _curve_block(curve: SuccessCurve) -> Dict[str, List[Optional[float]]]:
    return {
        name: [rounded_or_none(value, 4) for value in getattr(curve, name).tolist()]
        for name in ("x", "rate", "low", "high")
    }
