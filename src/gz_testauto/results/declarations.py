"""What the metrics of a stored campaign are: their declarations, kept beside the values.

Owns the table ``metric_declarations`` and the answer where a store of before has none: what this
package and the plugins installed here declare. So results are read with headings and units where
the plugin that measured them is not installed.
"""

import dataclasses
import json
import sqlite3
from typing import Any, Collection, Dict, List, Mapping, Sequence, Set, Tuple

from gz_testauto.base.errors import GzTestautoError, SpecError
from gz_testauto.metrics.interface import (
    METRICS,
    RELEVANT_SUCCESS,
    Metric,
    builtin_metrics,
)
from gz_testauto.metrics.reported import REPORTED, published_by_stack

TABLE = "metric_declarations"

CREATE = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
    position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, heading TEXT NOT NULL,
    unit TEXT NOT NULL, shown_unit TEXT NOT NULL, shown_factor REAL NOT NULL,
    decimals INTEGER NOT NULL, better TEXT NOT NULL, completed_only INTEGER NOT NULL,
    in_table INTEGER NOT NULL, in_comparison INTEGER NOT NULL, in_agreement INTEGER NOT NULL,
    description TEXT NOT NULL, smallest_relevant REAL NOT NULL DEFAULT 0)
"""
"""Stores of before have none; a reader of before passes over it."""

_ADDED = {"smallest_relevant": "REAL NOT NULL DEFAULT 0"}
"""Columns that tables of before have not."""

RELEVANT_SUCCESS_KEY = "smallest_relevant_success"
"""Key in ``meta``; stores of before have none."""

OF_STACK = "declared_metrics"
"""Key in ``meta`` under which stores of before have the numbers of the user's own stack."""

_FLAGS = ("completed_only", "in_table", "in_comparison", "in_agreement")
_FIELDS = tuple(one.name for one in dataclasses.fields(Metric) if one.name != "compute")


def write_declarations(
    connection: sqlite3.Connection, metrics: Sequence[Metric], relevant_success: float
) -> None:
    """Put ``metrics`` in place of what was declared under their names, first and in their order,
    and keep the smallest difference of success that matters; the caller has begun a transaction."""
    connection.execute(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)", (RELEVANT_SUCCESS_KEY, repr(relevant_success))
    )
    connection.execute(CREATE)
    named = {metric.name: metric for metric in metrics}
    kept = [metric for metric in read_declarations(connection) if metric.name not in named]
    for column in _ADDED.keys() - _columns(connection):
        connection.execute(f"ALTER TABLE {TABLE} ADD COLUMN {column} {_ADDED[column]}")
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
    there = _columns(connection)
    names = [name for name in _FIELDS if name in there or name not in _ADDED]
    rows = connection.execute(f"SELECT {', '.join(names)} FROM {TABLE} ORDER BY position")
    found = [_metric(dict(zip(names, row))) for row in rows.fetchall()]
    return found if "smallest_relevant" in there else [_relevant_as_now(one) for one in found]


def relevant_success(meta: Mapping[str, str]) -> float:
    """The smallest difference of two success rates that matters, as ``meta`` has it. Raises
    ``ValueError`` where no runner wrote it so."""
    return float(meta.get(RELEVANT_SUCCESS_KEY, RELEVANT_SUCCESS))


def _columns(connection: sqlite3.Connection) -> Set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({TABLE})")}


def _relevant_as_now(metric: Metric) -> Metric:
    """``metric`` with the smallest relevant difference that this package's of its name has."""
    now = {one.name: one.smallest_relevant for one in builtin_metrics()}
    return dataclasses.replace(metric, smallest_relevant=now.get(metric.name, 0.0))


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
        description="not installed",
    )


def _metric(values: Mapping[str, Any]) -> Metric:
    flags = {name: values[name] == 1 for name in _FLAGS}
    try:
        return Metric(**{**values, **flags})
    except SpecError as error:
        raise ValueError(str(error)) from error
