"""Export results as CSV and JSON, for other programs.

CSV contains one row per finished trial. The columns are the identification of the trial, its
outcome, the published numbers of its world (``world_…``), and all metrics sorted by name. Unknown
values are empty. JSON also contains summaries and comparisons, and null for numbers that are not
finite.
"""

import csv
import dataclasses
import io
import json
import math
from operator import attrgetter
from pathlib import Path
from typing import Any, Dict, Mapping, Optional

from gz_testauto.analysis.early_stop import EarlyStop
from gz_testauto.analysis.overview import Analysis
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.notes import notes
from gz_testauto.results.records import CampaignResults, Runner
from gz_testauto.results.schema import TRIALS, WORLDS
from gz_testauto.trial.outcome import Outcome

FORMAT = 1

_COLUMNS = tuple(name for name in TRIALS.columns if name != "world_index")


def to_csv(results: CampaignResults, campaigns: Optional[Mapping[str, str]] = None) -> str:
    """Return all finished trials as CSV text in the format of RFC 4180, with plain newlines as line
    ends.

    ``campaigns`` maps planners to their campaigns, which a column ``campaign`` then contains.
    """
    metrics = sorted({name for record in results.trials for name in record.metrics})
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    of_worlds = {world.name: world.published for world in results.worlds}
    published = list(dict.fromkeys(name for known in of_worlds.values() for name in known))
    first = [] if campaigns is None else ["campaign"]
    writer.writerow([*first, *_COLUMNS, *(f"world_{name}" for name in published), *metrics])
    for record in results.trials:
        row = [getattr(record, name) for name in _COLUMNS]
        row[_COLUMNS.index("outcome")] = record.outcome.value
        values = [record.metrics.get(name, math.nan) for name in metrics]
        row += [of_worlds.get(record.world, {}).get(name, "") for name in published]
        row[:0] = [] if campaigns is None else [campaigns[record.planner]]
        writer.writerow([*row, *("" if math.isnan(value) else repr(value) for value in values)])
    return stream.getvalue()


def to_json(analysis: Analysis, **further: Any) -> str:
    """Return trials, declarations of the metrics, summaries and comparisons as JSON text.

    The JSON object starts with the values in ``further``.
    """
    results = analysis.results
    metrics = sorted(analysis.metrics, key=attrgetter("name"))
    document = {
        **further,
        "format": FORMAT,
        "campaign": results.name,
        "planned": results.planned,
        "early_stop": _early_stop(analysis.early_stop),
        "running": _running(results.running),
        "metrics": {metric.name: _declaration(metric) for metric in metrics},
        "worlds": [{name: getattr(w, name) for name in WORLDS.columns} for w in results.worlds],
        "trials": results.trials,
        "invalid_attempts": results.invalid_attempts,
        "worker_deaths": results.worker_deaths,
        "planners": analysis.summaries,
        "comparison": analysis.comparisons,
        "worlds_by_winner": analysis.winners,
        "notes": [str(note) for note in notes(analysis)],
    }
    return json.dumps(_plain(document), indent=2, ensure_ascii=False) + "\n"


def _running(runner: Optional[Runner]) -> Optional[Dict[str, Any]]:
    if runner is None:
        return None
    return {**vars(runner), "silent_s": runner.silent_s(), "stale": runner.is_stale()}


def _early_stop(end: Optional[EarlyStop]) -> Optional[Dict[str, Any]]:
    if end is None:
        return None
    return {
        "rule": end.rule.model_dump(),
        "decided": end.decided,
        "worlds": end.worlds,
        "max_worlds": end.max_worlds,
        "pairs": end.pairs,
    }


def _declaration(metric: Metric) -> Dict[str, Any]:
    values = {one.name: getattr(metric, one.name) for one in dataclasses.fields(metric)}
    del values["name"], values["compute"]
    return {**values, "heading": metric.heading or metric.name, "shown_unit": metric.label_unit}


def _plain(value: Any) -> Any:
    """Return the value converted to types that JSON supports."""
    if isinstance(value, Outcome):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
