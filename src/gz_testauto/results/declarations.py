"""What the metrics of a stored campaign are: their declarations, kept beside the values.

Owns the table ``metric_declarations`` and the answer where a store of before has none: what this
package and the plugins installed here declare. So results are read with headings and units where
the plugin that measured them is not installed.
"""

import dataclasses
import json
import sqlite3
from typing import Any, Collection, Dict, List, Mapping, Sequence, Tuple

from gz_testauto.errors import GzTestautoError, SpecError
from gz_testauto.metrics.interface import METRICS, Metric, builtin_metrics
from gz_testauto.metrics.reported import REPORTED, published_by_stack

TABLE = "metric_declarations"

CREATE = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
    position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, heading TEXT NOT NULL,
    unit TEXT NOT NULL, shown_unit TEXT NOT NULL, shown_factor REAL NOT NULL,
    decimals INTEGER NOT NULL, better TEXT NOT NULL, completed_only INTEGER NOT NULL,
    in_table INTEGER NOT NULL, in_comparison INTEGER NOT NULL, in_agreement INTEGER NOT NULL,
    description TEXT NOT NULL)
"""
"""Stores of before have none; a reader of before passes over it."""

OF_STACK = "declared_metrics"
"""Key in ``meta`` under which stores of before have the numbers of the user's own stack."""

_FLAGS = ("completed_only", "in_table", "in_comparison", "in_agreement")
_FIELDS = tuple(one.name for one in dataclasses.fields(Metric) if one.name != "compute")


def write_declarations(connection: sqlite3.Connection, metrics: Sequence[Metric]) -> None:
    """Put ``metrics`` in place of what was declared under their names, first and in their order;
    the caller has begun a transaction."""
    connection.execute(CREATE)
    named = {metric.name: metric for metric in metrics}
    kept = [metric for metric in read_declarations(connection) if metric.name not in named]
    connection.execute(f"DELETE FROM {TABLE}")
    connection.executemany(
        f"INSERT INTO {TABLE} (position, {', '.join(_FIELDS)}) VALUES (?{', ?' * len(_FIELDS)})",
        [
            (position, *(getattr(metric, name) for name in _FIELDS))
            for position, metric in enumerate((*named.values(), *kept))
        ],
    )


def read_declarations(connection: sqlite3.Connection) -> List[Metric]:
    """What the table says. Raises ``ValueError`` where no runner wrote it so."""
    rows = connection.execute(f"SELECT {', '.join(_FIELDS)} FROM {TABLE} ORDER BY position")
    return [_metric(dict(zip(_FIELDS, row))) for row in rows.fetchall()]


def declarations_of_before(of_stack: str) -> List[Metric]:
    """Those of a store without the table; ``of_stack`` is the JSON under :data:`OF_STACK`."""
    own = [published_by_stack(**entry) for entry in json.loads(of_stack)]
    return [*builtin_metrics(), *own]


def shown_metrics(declared: Sequence[Metric], measured: Collection[str]) -> Tuple[Metric, ...]:
    """The metrics of a campaign, in the order in which results show them: those that are always
    shown, and those that were ``measured``, by name."""
    known: Dict[str, Metric] = {one.name: one for one in declared or builtin_metrics()}
    for name in sorted(measured):
        if name not in known:
            known[name] = _installed(name)
    return tuple(
        metric
        for metric in known.values()
        if metric.name in measured or metric.in_table or metric.in_comparison or metric.in_agreement
    )


def _installed(name: str) -> Metric:
    """As declared here; else known by its name only, and meaningful for completed trials only."""
    found = REPORTED.get(name)
    if found is None:
        try:
            found = METRICS.get(name)
        except GzTestautoError:
            found = None
    if isinstance(found, Metric):
        return found
    return Metric(
        name=name,
        better="neither",
        completed_only=True,
        in_table=False,
        in_comparison=False,
        description="not installed",
    )


def _metric(values: Mapping[str, Any]) -> Metric:
    flags = {name: values[name] == 1 for name in _FLAGS}
    try:
        return Metric(**{**values, **flags})
    except SpecError as error:
        raise ValueError(str(error)) from error
