"""Define the tables of ``results.sqlite``.

A column is a field of a record. To add one, add the field to the record; all readers, including CSV
and JSON, use it. After the first release, also increase :data:`SCHEMA_VERSION` and add a function
to :data:`UPGRADES`.
"""

import collections.abc
import enum
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import ValidationError

from gz_testauto.base.errors import SpecError
from gz_testauto.metrics.interface import RELEVANT_SUCCESS, Metric
from gz_testauto.results.records import AttemptRecord, Runner, RunningTrial, TrialRecord
from gz_testauto.spec.campaign import StopSpec
from gz_testauto.worlds.record import WorldRecord

SCHEMA_VERSION = 7

LONGEST_DEFAULT = 100  # characters of a column's default value, which upgrades can add
LONGEST_TEXT = 100_000  # characters of a stored text; those of this package are much shorter

Upgrade = Callable[[sqlite3.Connection], None]


def _add_bounds(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE metric_declarations ADD COLUMN [bounds] TEXT")
    connection.execute(
        "UPDATE metric_declarations SET bounds = '[0.0, 1.0]' "
        "WHERE name IN ('spl', 'danger_share', 'cycle_missed_share')"
    )


def _add_further_worlds(connection: sqlite3.Connection) -> None:
    connection.execute(
        "ALTER TABLE campaign ADD COLUMN [further_worlds] INTEGER NOT NULL DEFAULT 0"
    )


def _add_hashes_of_contents(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE worlds ADD COLUMN [content_sha256] TEXT NOT NULL DEFAULT ''")


def _add_other_visuals(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE worlds ADD COLUMN [other_visuals] TEXT NOT NULL DEFAULT '[]'")


def _add_notices(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE campaign ADD COLUMN [notices] TEXT NOT NULL DEFAULT '[]'")


def _add_drawn_missions(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE worlds ADD COLUMN [mission] TEXT NOT NULL DEFAULT '[]'")


# Functions that upgrade the tables to the next version, by the old version, in a transaction. They
# must use only SQL, because the records do not describe older tables.
UPGRADES: Dict[int, Upgrade] = {
    1: _add_bounds,
    2: _add_further_worlds,
    3: _add_hashes_of_contents,
    4: _add_other_visuals,
    5: _add_notices,
    6: _add_drawn_missions,
}

Record = TypeVar("Record")

_SQL_TYPES = {bool: "INTEGER", int: "INTEGER", float: "REAL"}


class Table(Generic[Record]):
    """A table whose columns are the fields of a record, except for those in ``without``.

    ``constraints`` and ``options`` are parts of ``CREATE TABLE``. ``order`` contains the SQL
    expressions of ``ORDER BY``. Mappings and tuples are stored as JSON text, None as NULL.
    """

    def __init__(
        self,
        name: str,
        record: Type[Record],
        *,
        without: Sequence[str] = (),
        constraints: Sequence[str] = (),
        options: str = "",
        order: str = "rowid",
    ) -> None:
        hints = get_type_hints(record)
        names = getattr(record, "model_fields", None) or record.__dataclass_fields__  # type: ignore[attr-defined]
        self.name = name
        self._record = record
        self._kinds = {field: _column_type(hints[field]) for field in names if field not in without}
        self.columns: Tuple[str, ...] = tuple(self._kinds)
        self._constraints, self._options, self._order = constraints, options, order

    def create(self, connection: sqlite3.Connection) -> None:
        columns = [
            f"[{name}] {_SQL_TYPES.get(kind, 'TEXT')}{'' if optional else ' NOT NULL'}"
            for name, (kind, optional) in self._kinds.items()
        ]
        connection.execute(
            f"CREATE TABLE {self.name} ({', '.join([*columns, *self._constraints])}) "
            f"{self._options}"
        )

    def insert(self, connection: sqlite3.Connection, records: Iterable[Record]) -> None:
        connection.executemany(
            f"INSERT INTO {self.name} ({self._column_list}) "
            f"VALUES (?{', ?' * (len(self.columns) - 1)})",
            [[_sql_value(getattr(record, name)) for name in self.columns] for record in records],
        )

    def rows(
        self, connection: sqlite3.Connection, where: str = "", values: Sequence = ()
    ) -> List[Dict[str, Any]]:
        """Return the rows as mappings from columns to values. ``where`` is an SQL clause that
        starts with WHERE, or empty, and ``values`` are the values of its placeholders. Raises
        ``ValueError`` for invalid values."""
        decoders = {
            name: decoder
            for name, (kind, _) in self._kinds.items()
            for decoder in (_decoder(kind),)
            if decoder is not None
        }
        cursor = connection.execute(
            f"SELECT {self._column_list} FROM {self.name} {where} ORDER BY {self._order}", values
        )
        sql_rows = cursor.fetchall()
        for name, column in zip(self.columns, zip(*sql_rows)):
            longest = max((len(value) for value in column if isinstance(value, str)), default=0)
            if longest > LONGEST_TEXT:  # it would be copied and printed many times
                raise ValueError(
                    f"{name} has {longest} characters; at most {LONGEST_TEXT} are read"
                )
        rows = [dict(zip(self.columns, row)) for row in sql_rows]
        required_columns = [name for name, (_, optional) in self._kinds.items() if not optional]
        for row in rows:
            # SQLite checks NOT NULL when it writes, but not when it reads a damaged file.
            missing_columns = (
                [name for name in required_columns if row[name] is None]
                if None in row.values()
                else []
            )
            if missing_columns:
                raise ValueError(f"a required value is missing: {missing_columns[0]}")
            for name, decoder in decoders.items():
                if row[name] is not None:
                    row[name] = decoder(row[name])
        return rows

    def read(
        self, connection: sqlite3.Connection, where: str = "", values: Sequence = ()
    ) -> List[Record]:
        """Return the rows as records. Raises ``ValueError`` if a row is not a valid record. The
        parameters are those of :meth:`rows`."""
        try:
            return [self._record(**row) for row in self.rows(connection, where, values)]
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            field = ".".join(map(str, fault["loc"]))
            raise ValueError(f"{self.name}.{field}: {fault['msg']}") from error
        except (SpecError, TypeError, ValueError) as error:
            raise ValueError(f"{self.name}: {error}") from error

    @property
    def _column_list(self) -> str:
        # SQLite interprets the double-quoted name of a missing column as a string.
        return ", ".join(f"[{name}]" for name in self.columns)


def _column_type(hint: Any) -> Tuple[Any, bool]:
    """Return the type of a field without ``Optional``, and whether it is optional."""
    arguments = get_args(hint)
    if get_origin(hint) is Union and type(None) in arguments:
        (kind,) = (argument for argument in arguments if argument is not type(None))
        return kind, True
    return hint, False


def _sql_value(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    if isinstance(value, (list, tuple)):
        return json.dumps(list(value))
    return value


def _decoder(kind: Any) -> Optional[Callable[[Any], Any]]:
    if kind is bool:
        return lambda value: {0: False, 1: True}.get(value, value)
    if get_origin(kind) is tuple:
        return lambda text: _as_tuple(json.loads(text))
    if get_origin(kind) is collections.abc.Mapping:
        return json.loads
    if isinstance(kind, type) and issubclass(kind, (enum.Enum, Path)):
        return kind
    return None


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class CampaignRow:
    """The campaign of a store. The limits are those of the last call of ``ResultStore.reopen``, and
    the other fields those of :class:`~gz_testauto.results.records.CampaignResults`."""

    name: str
    planned: int
    smallest_relevant_success: float = RELEVANT_SUCCESS
    normal_real_time_factor: float = 1.0
    max_attempts: Optional[int] = None
    max_worker_deaths: Optional[int] = None
    selection: str = ""
    further_worlds: int = 0
    notices: Tuple[str, ...] = ()


@dataclass(frozen=True)
class PlannerRow:
    name: str


@dataclass(frozen=True)
class MetricValue:
    trial: int
    name: str
    value: Optional[float]


@dataclass(frozen=True)
class JudgedWorld:
    world: str


@dataclass(frozen=True)
class SchemaRow:
    version: int


_ATTEMPT = ("PRIMARY KEY (trial, attempt)",)

SCHEMA = Table("schema", SchemaRow)
CAMPAIGN = Table("campaign", CampaignRow)
STOP = Table("stop", StopSpec)
PLANNERS = Table("planners", PlannerRow, constraints=["UNIQUE (name)"])
WORLDS = Table(
    "worlds",
    WorldRecord,
    without=("obstacles", "difficulty", "redrawn"),
    constraints=["PRIMARY KEY (world_index)", "UNIQUE (name)"],
)
TRIALS = Table(
    "trials",
    TrialRecord,
    without=("metrics",),
    constraints=["PRIMARY KEY (trial)", "UNIQUE (world, planner, repetition)"],
)
METRICS = Table(
    "metrics",
    MetricValue,
    constraints=["PRIMARY KEY (trial, name)", "FOREIGN KEY (trial) REFERENCES trials (trial)"],
    options="WITHOUT ROWID",
    order="trial, name",
)
INVALID_ATTEMPTS = Table(
    "invalid_attempts", AttemptRecord, constraints=_ATTEMPT, order="trial, attempt"
)
WORKER_DEATHS = Table("worker_deaths", AttemptRecord, constraints=_ATTEMPT, order="trial, attempt")
DECLARATIONS = Table(
    "metric_declarations", Metric, without=("compute",), constraints=["UNIQUE (name)"]
)
JUDGED = Table("judged", JudgedWorld, constraints=["UNIQUE (world)"])
RUNNER = Table("runner", Runner, without=("trials",))
RUNNING = Table("running", RunningTrial, constraints=["PRIMARY KEY (trial)"])

TABLES: Tuple[Table[Any], ...] = (
    SCHEMA,
    CAMPAIGN,
    STOP,
    PLANNERS,
    WORLDS,
    TRIALS,
    METRICS,
    INVALID_ATTEMPTS,
    WORKER_DEATHS,
    DECLARATIONS,
    JUDGED,
    RUNNER,
    RUNNING,
)


def create_tables(connection: sqlite3.Connection) -> None:
    for table in TABLES:
        table.create(connection)
    SCHEMA.insert(connection, [SchemaRow(SCHEMA_VERSION)])


def is_created(connection: sqlite3.Connection) -> bool:
    cursor = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (SCHEMA.name,))
    return bool(cursor.fetchall())


def stored_version(connection: sqlite3.Connection) -> int:
    """Return the version of the tables in a store. Raises ``ValueError`` for a damaged file or an
    unknown version."""
    _require_stored_values(connection)
    versions = [row.version for row in SCHEMA.read(connection)]
    if len(versions) != 1 or not isinstance(versions[0], int):
        raise ValueError(
            "the file is damaged or was not written by gz_testauto: its schema version is "
            f"{versions}"
        )
    version = versions[0]
    if version > SCHEMA_VERSION:
        raise ValueError(
            f"the file has schema version {version}, but this version of gz_testauto reads "
            f"versions up to {SCHEMA_VERSION}; use the version of gz_testauto that wrote it, or a "
            "later one"
        )
    if any(older not in UPGRADES for older in range(version, SCHEMA_VERSION)):
        raise ValueError(
            f"the file has schema version {version}, which this version of gz_testauto cannot "
            f"upgrade to {SCHEMA_VERSION}; use the version of gz_testauto that wrote it"
        )
    return version


def _require_stored_values(connection: sqlite3.Connection) -> None:
    """Raise ``ValueError`` if a damaged or malicious file would return values that it does not
    store, such as those of a view."""
    # Otherwise a small file could contain unlimited values: views, virtual tables, generated
    # columns, long default values, and pages that several rows share. Triggers change written data.
    unsafe = connection.execute(
        "SELECT CASE type WHEN 'table' THEN 'virtual table' ELSE type END, name FROM sqlite_master "
        "WHERE type NOT IN ('table', 'index') OR type = 'table' AND rootpage = 0 UNION ALL "
        "SELECT 'column with generated values', t.name || '.' || c.name FROM sqlite_master AS t, "
        "pragma_table_xinfo(t.name) AS c WHERE t.type = 'table' "
        "AND (c.hidden <> 0 OR length(c.dflt_value) > ?)",
        (LONGEST_DEFAULT,),
    ).fetchone()
    if unsafe:
        kind, name = unsafe
        raise ValueError(
            f"the file is damaged or was not written by gz_testauto: it contains the {kind} "
            f"{name!r}"
        )
    connection.execute("PRAGMA ignore_check_constraints = ON")  # these are expressions of the file
    fault = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if fault != "ok":
        raise ValueError(f"the file is damaged: {' '.join(fault.split())}")


def upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Upgrade the tables from ``version`` to the current version, in the caller's transaction."""
    for older in range(version, SCHEMA_VERSION):
        UPGRADES[older](connection)
    connection.execute(f"UPDATE {SCHEMA.name} SET version = ?", (SCHEMA_VERSION,))
