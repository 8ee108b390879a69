"""Export of ``findings.json``, and of ``measures.csv`` with a row for each measure and entry."""

import csv
import io
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict

from gz_testauto.base.json_file import finite_or_none
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


def write_measures(findings: Findings, path: Path) -> None:
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(COLUMNS)
    for measure in findings.measures:
        for name, values in findings.measured.items():
            measured = values[measure.name]
            score = findings.ranking.table.score(name, measure.name)
            numbers = (*measured.estimate[:3], measured.floor, measured.p_tie, score)
            texts = ("" if math.isnan(number) else repr(float(number)) for number in numbers)
            weight = findings.spec.weights.get(measure.name, "")
            head = (measure.name, measure.unit, measure.better, name)
            rows.writerow([*head, *texts, weight, measured.missing])
    write_atomically(path, text.getvalue().encode())


def findings_to_json(findings: Findings) -> Dict[str, Any]:
    return {
        "format": 1,
        "bench": findings.spec.model_dump(mode="json"),
        "reference": findings.spec.reference,
        "not_ranked": dict(findings.not_ranked),
        "without_interval": findings.without_interval,
        "ranking": _ranking_data(findings.ranking),
        "published_ranking": findings.published_ranking
        and _ranking_data(findings.published_ranking),
        "band_hz": findings.aligned.band_hz,
        "band_limited_by": findings.aligned.slowest or None,
        "lengths": {case: asdict(length) for case, length in findings.aligned.lengths.items()},
        "measures": {
            measure.name: {
                "unit": measure.unit,
                "better": measure.better,
                "formula": measure.formula,
                "source": measure.source,
                "entries": {
                    name: _measured_data(values[measure.name])
                    for name, values in findings.measured.items()
                },
            }
            for measure in findings.measures
        },
        "axes": {
            name: {case: _axes_data(axes) for case, axes in of_cases.items()}
            for name, of_cases in findings.axes.items()
        },
        "conditions": _conditions_data(findings.conditions),
        "examples": [
            {
                "description": example.description,
                "measure": example.measure,
                "error": example.error,
                "published_error": example.published_error,
            }
            for example in findings.spec.examples
        ],
    }


def _axes_data(differences: AxisDifferences) -> Dict[str, Any]:
    return {
        "bias": dict(zip(AXES, map(finite_or_none, differences.bias))),
        "gain": dict(zip(AXES, map(finite_or_none, differences.gain))),
    }


def _conditions_data(conditions: RunConditions) -> Dict[str, Any]:
    grounds = [
        {
            name: finite_or_none(value) if isinstance(value, float) else value
            for name, value in asdict(ground).items()
        }
        for ground in conditions.grounds
    ]
    return {**asdict(conditions), "grounds": grounds}


def _measured_data(measured: Measured) -> Dict[str, Any]:
    if measured.missing:
        return {"missing": measured.missing}
    return {
        "value": finite_or_none(measured.estimate.value),
        "low": finite_or_none(measured.estimate.low),
        "high": finite_or_none(measured.estimate.high),
        "method": measured.estimate.method,
        "floor": finite_or_none(measured.floor),
        "p_same_as_reference": finite_or_none(measured.p_tie),
        "cases": {case: finite_or_none(value) for case, value in measured.by_case.items()},
        "incomplete_cases": dict(measured.incomplete),
        "undetermined_cases": dict(measured.undetermined),
    }


def _ranking_data(ranking: Ranking) -> Dict[str, Any]:
    table, verdict = ranking.table, ranking.verdict
    return {
        "ranked": verdict.ranked,
        "winner": verdict.winner,
        "verdict": verdict.text,
        "first_under_weights_and_measurements": finite_or_none(verdict.share),
        "first_under_weights": finite_or_none(verdict.by_weights),
        "first_under_measurements": finite_or_none(verdict.by_measurement),
        "entries": {
            name: {
                "total": float(table.totals[row]),
                "low": finite_or_none(ranking.intervals[row, 0]),
                "high": finite_or_none(ranking.intervals[row, 1]),
                "bounds": table.bounds[row].tolist(),
                "scores": {
                    criterion: finite_or_none(table.scores[row, column])
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
