"""Comparison of simulators as CSV: a row for each measure and entry."""

import csv
import io
import math
from pathlib import Path

from gz_testauto.extras.simulator_comparison.findings import Findings
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
    """Write the CSV file. Raises ``OSError``."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(COLUMNS)
    table = found.ranking.table
    for measure in found.measures:
        for name, own in found.measured.items():
            one = own[measure.name]
            score = math.nan
            if measure.name in table.criteria and name in table.entries:
                row, column = table.entries.index(name), table.criteria.index(measure.name)
                score = float(table.scores[row, column])
            numbers = (*one.estimate[:3], one.floor, one.p_tie, score)
            value, low, high, floor, p_tie, score_text = (
                "" if math.isnan(number) else repr(float(number)) for number in numbers
            )
            weight = found.spec.weights.get(measure.name, "")
            head = (measure.name, measure.unit, measure.better, name)
            rows.writerow([*head, value, low, high, floor, p_tie, score_text, weight, one.missing])
    write_atomically(path, text.getvalue().encode())
