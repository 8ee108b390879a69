"""Export of a comparison's results: ``findings.json``, and ``measures.csv`` with a row for each
measure and entry."""

import csv
import io
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, Optional

from gz_testauto.extras.simulator_comparison.bench.simulated import RunConditions
from gz_testauto.extras.simulator_comparison.estimates import Measured
from gz_testauto.extras.simulator_comparison.findings import AxisDifferences, Findings, Ranking
from gz_testauto.extras.simulator_comparison.measures.inertial import AXES
from gz_testauto.results.directory import write_atomically

COLUMNS = (
    "measure",
    "unit",
    "better",
    "entry",
    "value",
    "low",
    "high",
    "floor",
    "p_same_as_reference",
    "score",
    "weight",
    "missing",
)


def write_measures(found: Findings, path: Path) -> None:
    """Write ``measures.csv``. Raises ``OSError`` if the file cannot be written."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(COLUMNS)
    for measure in found.measures:
        for name, own in found.measured.items():
            one = own[measure.name]
            score = found.ranking.table.score(name, measure.name)
            numbers = (*one.estimate[:3], one.floor, one.p_tie, score)
            texts = ("" if math.isnan(number) else repr(float(number)) for number in numbers)
            weight = found.spec.weights.get(measure.name, "")
            head = (measure.name, measure.unit, measure.better, name)
            rows.writerow([*head, *texts, weight, one.missing])
    write_atomically(path, text.getvalue().encode())


def findings_to_json(found: Findings) -> Dict[str, Any]:
    """Return the content of ``findings.json``. Its key ``bench`` has the specification with all
    features and their sources."""
    return {
        "format": 1,
        "bench": found.spec.model_dump(mode="json"),
        "reference": found.spec.reference,
        "not_ranked": dict(found.not_ranked),
        "without_interval": found.without_interval,
        "ranking": _ranking_data(found.ranking),
        "published_ranking": found.published_ranking and _ranking_data(found.published_ranking),
        "band_hz": found.aligned.band_hz,
        "band_limited_by": found.aligned.slowest or None,
        "lengths": {case: asdict(length) for case, length in found.aligned.lengths.items()},
        "measures": {
            measure.name: {
                "unit": measure.unit,
                "better": measure.better,
                "formula": measure.formula,
                "source": measure.source,
                "entries": {
                    name: _measured_data(own[measure.name]) for name, own in found.measured.items()
                },
            }
            for measure in found.measures
        },
        "axes": {
            name: {case: _axes_data(one) for case, one in of_cases.items()}
            for name, of_cases in found.axes.items()
        },
        "conditions": _conditions_data(found.conditions),
        "examples": [
            {
                "description": one.description,
                "measure": one.measure,
                "error": one.error,
                "published_error": one.published_error,
            }
            for one in found.spec.examples
        ],
    }


def _axes_data(one: AxisDifferences) -> Dict[str, Any]:
    return {
        "bias": dict(zip(AXES, map(_number, one.bias))),
        "gain": dict(zip(AXES, map(_number, one.gain))),
    }


def _conditions_data(conditions: RunConditions) -> Dict[str, Any]:
    grounds = [
        {
            name: _number(value) if isinstance(value, float) else value
            for name, value in asdict(ground).items()
        }
        for ground in conditions.grounds
    ]
    return {**asdict(conditions), "grounds": grounds}


def _measured_data(one: Measured) -> Dict[str, Any]:
    if one.missing:
        return {"missing": one.missing}
    return {
        "value": _number(one.estimate.value),
        "low": _number(one.estimate.low),
        "high": _number(one.estimate.high),
        "method": one.estimate.method,
        "floor": _number(one.floor),
        "p_same_as_reference": _number(one.p_tie),
        "cases": {case: _number(value) for case, value in one.by_case.items()},
    }


def _number(value: float) -> Optional[float]:
    return float(value) if math.isfinite(value) else None


def _ranking_data(ranking: Ranking) -> Dict[str, Any]:
    table, verdict = ranking.table, ranking.verdict
    return {
        "ranked": verdict.ranked,
        "winner": verdict.winner,
        "verdict": verdict.text,
        "first_under_weights_and_measurements": _number(verdict.share),
        "first_under_weights": _number(verdict.by_weights),
        "first_under_measurements": _number(verdict.by_measurement),
        "entries": {
            name: {
                "total": float(table.totals[row]),
                "low": _number(ranking.intervals[row, 0]),
                "high": _number(ranking.intervals[row, 1]),
                "bounds": table.bounds[row].tolist(),
                "scores": {
                    criterion: _number(table.scores[row, column])
                    for column, criterion in enumerate(table.criteria)
                },
                "rank_acceptability": ranking.near_ranks[row].tolist(),
                "rank_acceptability_any_weights": ranking.any_ranks[row].tolist(),
            }
            for row, name in enumerate(table.entries)
        },
        "left_out": {name: list(lacking) for name, lacking in table.left_out.items()},
        "rank_reversal_weights": [asdict(change) for change in ranking.reversals],
    }
