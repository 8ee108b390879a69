"""Which worlds a campaign that ends when decided has judged, in which order, by which rule.

Owns the table ``judged`` and the rule's place in ``meta``. The order is part of the test: worlds
are only ever appended, so that whoever looks later, after a kill or with other workers, looks at
the same sequence.
"""

import sqlite3
from typing import Optional, Tuple

from pydantic import ValidationError

from gz_testauto.spec.stopping import StopSpec

TABLE = "judged"
CREATE = (
    "CREATE TABLE IF NOT EXISTS judged (position INTEGER PRIMARY KEY, world TEXT NOT NULL UNIQUE)"
)
RULE = "stop"
"""Key in ``meta``; only campaigns that end when decided have it, and the table."""


def write_rule(connection: sqlite3.Connection, rule: StopSpec) -> None:
    """Keep the rule, and make room for worlds; the caller has begun a transaction."""
    connection.execute(CREATE)
    connection.execute("INSERT INTO meta VALUES (?, ?)", (RULE, rule.model_dump_json()))


def read_rule(text: Optional[str]) -> Optional[StopSpec]:
    """The rule as ``meta`` has it. Raises ``ValueError`` where no runner wrote it so."""
    if text is None:
        return None
    try:
        return StopSpec.model_validate_json(text)
    except ValidationError as error:
        raise ValueError(f"{RULE}: {error.errors(include_url=False)[0]['msg']}") from error


def read_judged(connection: sqlite3.Connection) -> Tuple[str, ...]:
    """The worlds, in the order in which they were judged."""
    rows = connection.execute(f"SELECT world FROM {TABLE} ORDER BY position").fetchall()
    return tuple(str(row[0]) for row in rows)


def append_judged(connection: sqlite3.Connection, world: str) -> None:
    """Judge one more world; the caller has begun a transaction."""
    connection.execute(f"INSERT INTO {TABLE} (world) VALUES (?)", (world,))
