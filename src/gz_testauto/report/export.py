"""Results as CSV and JSON, for other programs.

One CSV row per finished trial: what identifies it, how it ended, what a benchmark publishes of its
world (``world_…``), then every metric in the order of its name; what is not known is empty. JSON
holds summaries and comparisons as well; what is not a finite number is null.
"""

import csv
import dataclasses
import io
import json
import math
from typing import Any, Dict, Mapping

from gz_testauto.analysis.comparison import compare
from gz_testauto.analysis.summary import metric_named, summarize
from gz_testauto.analysis.winners import group_worlds
from gz_testauto.results.records import CampaignResults
from gz_testauto.trial.outcome import Outcome

FORMAT = 1

_COLUMNS = (
    "trial",
    "world",
    "planner",
    "repetition",
    "seed",
    "outcome",
    "detail",
    "attempts",
    "wall_s",
    "finished_at",
    "trajectory",
)


def to_csv(results: CampaignResults) -> str:
    """All finished trials as CSV text, RFC 4180 with plain line ends."""
    metrics = sorted({name for record in results.trials for name in record.metrics})
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    of_worlds = {world.name: world.published for world in results.worlds}
    published = list(dict.fromkeys(name for known in of_worlds.values() for name in known))
    writer.writerow([*_COLUMNS, *(f"world_{name}" for name in published), *metrics])
    for record in results.trials:
        row = [getattr(record, name) for name in _COLUMNS]
        row[_COLUMNS.index("outcome")] = record.outcome.value
        values = [record.metrics.get(name, math.nan) for name in metrics]
        row += [of_worlds.get(record.world, {}).get(name, "") for name in published]
        writer.writerow([*row, *("" if math.isnan(value) else repr(value) for value in values)])
    return stream.getvalue()


def to_json(results: CampaignResults) -> str:
    """Trials, summaries and comparisons as JSON text."""
    names = sorted({name for record in results.trials for name in record.metrics})
    document = {
        "format": FORMAT,
        "campaign": results.name,
        "planned": results.planned,
        "metrics": {**{name: _declared(name) for name in names}, **_own(results)},
        "worlds": results.worlds,
        "trials": results.trials,
        "invalid_attempts": results.invalid_attempts,
        "worker_deaths": results.worker_deaths,
        "planners": summarize(results),
        "comparison": compare(results),
        "worlds_by_winner": group_worlds(results),
    }
    return json.dumps(_plain(document), indent=2, ensure_ascii=False) + "\n"


def _declared(name: str) -> Dict[str, Any]:
    metric = metric_named(name)
    return {
        "unit": metric.unit,
        "better": metric.better,
        "completed_only": metric.completed_only,
        "description": metric.description,
    }


def _own(results: CampaignResults) -> Dict[str, Any]:
    """The metrics that the campaign declares itself."""
    return {
        metric.name: {
            "unit": metric.unit,
            "better": metric.better,
            "completed_only": True,
            "description": "published by the stack",
        }
        for metric in results.declared
    }


def _plain(value: Any) -> Any:
    """The value in JSON's own types."""
    if isinstance(value, Outcome):
        return value.value
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
