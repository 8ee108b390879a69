"""The results of a campaign in SQLite: one row per trial, written when the trial ends.

Owns ``results.sqlite`` and ``trajectories/``. A trial is in the store wholly or not at all: its
trajectory is on the disk before the row that names it, the row and its metrics are one
transaction, and a transaction is durable when the call returns (rollback journal, full
synchronisation). Refuses to know what the numbers mean.
"""

import contextlib
import dataclasses
import json
import math
import os
import sqlite3
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from gz_testauto.base.errors import ResultsError
from gz_testauto.base.json_file import shaped
from gz_testauto.metrics.interface import RELEVANT_SUCCESS, Metric
from gz_testauto.metrics.recording import Recording
from gz_testauto.results import declarations, judged, running
from gz_testauto.results.database import BUSY_TIMEOUT_S, connect, reporting, undo_half_a_transaction
from gz_testauto.results.directory import CampaignDirectory, reporting_disk
from gz_testauto.results.recordings import read_trajectory, write_trajectory
from gz_testauto.results.records import AttemptRecord, CampaignResults, TrialRecord
from gz_testauto.spec.stopping import StopSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord

SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE worlds (
    world_index INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
    sha256 TEXT NOT NULL, shortest_path_m REAL);
CREATE TABLE planners (position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE trials (
    trial INTEGER PRIMARY KEY, world TEXT NOT NULL, world_index INTEGER NOT NULL,
    planner TEXT NOT NULL, repetition INTEGER NOT NULL, seed INTEGER NOT NULL,
    outcome TEXT NOT NULL, detail TEXT NOT NULL, attempts INTEGER NOT NULL,
    wall_s REAL NOT NULL, finished_at TEXT NOT NULL, trajectory TEXT NOT NULL,
    UNIQUE (world, planner, repetition));
CREATE TABLE metrics (
    trial INTEGER NOT NULL REFERENCES trials (trial), name TEXT NOT NULL, value REAL,
    PRIMARY KEY (trial, name)) WITHOUT ROWID;
CREATE TABLE invalid_attempts (
    trial INTEGER NOT NULL, attempt INTEGER NOT NULL, cause TEXT NOT NULL,
    wall_s REAL NOT NULL, finished_at TEXT NOT NULL, PRIMARY KEY (trial, attempt));
"""

_WORKER_DEATHS = """
CREATE TABLE IF NOT EXISTS worker_deaths (
    trial INTEGER NOT NULL, attempt INTEGER NOT NULL, cause TEXT NOT NULL,
    wall_s REAL NOT NULL, finished_at TEXT NOT NULL, PRIMARY KEY (trial, attempt))
"""
"""Stores of before have none; a reader of before passes over it."""

_OF_WORLDS: Mapping[str, Tuple[str, Callable[[Any], Any]]] = {
    "published": ("published_of_worlds", dict),
    "missing": ("missing_of_worlds", tuple),
    "unmeasured": ("unmeasured_of_worlds", tuple),
}
"""What is kept in ``meta`` of the worlds that have it: the field, its key there, and its type."""
_PATIENCE = "patience"
"""Keys in ``meta``; stores of before have none."""

_TRIAL_COLUMNS = (
    "trial, world, world_index, planner, repetition, seed, outcome, detail, attempts, wall_s, "
    "finished_at, trajectory"
)
_LISTS = ("worlds", "trials", "invalid_attempts", "worker_deaths", "declared")
"""Fields of :class:`CampaignResults` that hold records."""
_ATTEMPT_COLUMNS = "trial, attempt, cause, wall_s, finished_at"


class ResultStore:
    """The results in one directory. Use :meth:`create`, :meth:`open` or :meth:`read`.

    Also a context manager. Every method raises ``ResultsError`` when the disk is full or the
    file is damaged.
    """

    def __init__(self, directory: CampaignDirectory, connection: sqlite3.Connection) -> None:
        self._directory = directory
        self._connection = connection

    @classmethod
    def create(
        cls,
        directory: CampaignDirectory,
        name: str,
        planners: Sequence[str],
        worlds: Sequence[WorldRecord],
        planned: int,
        stop: Optional[StopSpec] = None,
    ) -> "ResultStore":
        """Make an empty store; the caller holds the directory's lock."""
        with reporting_disk(directory.trajectories):
            directory.trajectories.mkdir(exist_ok=True)
        store = cls(directory, connect(directory.results))
        with store._transaction():
            # One by one: sqlite3's executescript would commit in the middle.
            for statement in filter(str.strip, _SCHEMA.split(";")):
                store._connection.execute(statement)
            store._connection.execute(_WORKER_DEATHS)
            store._connection.executemany(
                "INSERT INTO meta VALUES (?, ?)",
                [
                    ("schema_version", str(SCHEMA_VERSION)),
                    ("name", name),
                    ("planned", str(planned)),
                    *(
                        (key, json.dumps(_of_worlds(worlds, field, kind)))
                        for field, (key, kind) in _OF_WORLDS.items()
                    ),
                ],
            )
            if stop is not None:
                judged.write_rule(store._connection, stop)
            store._connection.executemany(
                "INSERT INTO planners VALUES (?, ?)", list(enumerate(planners))
            )
            store._connection.executemany(
                "INSERT INTO worlds VALUES (?, ?, ?, ?, ?)",
                [
                    (
                        world.world_index,
                        world.name,
                        str(world.path),
                        world.sha256,
                        world.shortest_path_m,
                    )
                    for world in worlds
                ],
            )
        return store

    @classmethod
    def open(cls, directory: CampaignDirectory) -> Optional["ResultStore"]:
        """Open the store for writing, or return None where none was completely made."""
        if not os.path.isfile(directory.results):
            return None
        store = cls(directory, connect(directory.results))
        if not store._is_made():
            store.close()
            return None
        store._check_schema()
        with store._transaction():
            store._connection.execute(_WORKER_DEATHS)
        return store

    @classmethod
    def read(cls, directory: CampaignDirectory) -> "ResultStore":
        """Open the store for reading only; a runner may be writing meanwhile."""
        directory.require_campaign()
        if not os.path.isfile(directory.results):
            raise ResultsError(f"{directory.path}: no trial has ended yet")
        undo_half_a_transaction(directory.results)
        uri = directory.results.as_uri() + "?mode=ro"
        with reporting(directory.results):
            connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S)
        store = cls(directory, connection)
        if not store._is_made():
            store.close()
            raise ResultsError(f"{directory.path}: no trial has ended yet")
        store._check_schema()
        return store

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._connection.close()

    def __enter__(self) -> "ResultStore":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def declare(
        self, metrics: Sequence[Metric], relevant_success: float = RELEVANT_SUCCESS
    ) -> None:
        """Keep what the metrics are that the campaign's trials have from now on, and the smallest
        difference of two success rates that matters."""
        with _reporting_damage(self._directory.results), self._transaction():
            declarations.write_declarations(self._connection, metrics, relevant_success)

    def judge(self, world: str) -> None:
        """Note that one more world counts for the decision, for good."""
        with self._transaction():
            judged.append_judged(self._connection, world)

    def holds_valid_trial(self) -> bool:
        """Whether any trial has said something about a planner."""
        return bool(
            self._query("SELECT 1 FROM trials WHERE outcome <> ? LIMIT 1", (Outcome.INVALID.value,))
        )

    def invalid_attempts(self, trial: int) -> Tuple[AttemptRecord, ...]:
        """The tries at a trial that ended invalid so far, in order."""
        return self._attempts("invalid_attempts", trial)

    def add_invalid_attempt(self, attempt: AttemptRecord) -> None:
        """Note one try that said nothing about the planner."""
        self._add_attempt("invalid_attempts", attempt)

    def worker_deaths(self, trial: int) -> Tuple[AttemptRecord, ...]:
        """The tries at a trial that ended with their worker so far, in order."""
        return self._attempts("worker_deaths", trial)

    def add_worker_death(self, attempt: AttemptRecord) -> None:
        """Note one try whose worker died."""
        self._add_attempt("worker_deaths", attempt)

    def patience(self) -> Dict[str, int]:
        """The limits by which trials are given up, as :meth:`reopen` was told; empty before."""
        rows = self._query("SELECT value FROM meta WHERE key = ?", (_PATIENCE,))
        with _reporting_damage(self._directory.results):
            known = dict(json.loads(rows[0][0])) if rows else {}
            return {str(name): int(limit) for name, limit in known.items()}

    def reopen(self, trials: Iterable[int], patience: Mapping[str, int]) -> None:
        """Forget that trials ended invalid, now that other limits hold."""
        with self._transaction():
            self._connection.executemany(
                "DELETE FROM trials WHERE trial = ? AND outcome = ?",
                [(trial, Outcome.INVALID.value) for trial in trials],
            )
            self._connection.execute(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", (_PATIENCE, json.dumps(dict(patience)))
            )

    def finish(self, record: TrialRecord, recording: Optional[Recording] = None) -> None:
        """Keep a finished trial for good, in place of an invalid end that it may have had.
        ``recording`` goes to ``record.trajectory``."""
        if recording is not None:
            write_trajectory(self._directory.trajectories / record.trajectory, recording)
        self.finish_all([record])

    def finish_all(self, records: Iterable[TrialRecord]) -> None:
        """Keep finished trials whose recordings are written, or that have none."""
        with self._transaction():
            for record in records:
                self._insert(record)

    def _insert(self, record: TrialRecord) -> None:
        self._connection.execute(
            "DELETE FROM trials WHERE trial = ? AND outcome = ?",
            (record.trial, Outcome.INVALID.value),
        )
        row = {**vars(record), "outcome": record.outcome.value}
        self._connection.execute(
            f"INSERT INTO trials ({_TRIAL_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
            [row[name] for name in _TRIAL_COLUMNS.split(", ")],
        )
        self._connection.executemany(
            "INSERT INTO metrics VALUES (?, ?, ?)",
            [
                (record.trial, name, None if math.isnan(value) else value)
                for name, value in record.metrics.items()
            ],
        )

    def worlds(self) -> Tuple[WorldRecord, ...]:
        """The campaign's worlds, in the plan's order."""
        rows = self._query(
            "SELECT world_index, name, path, sha256, shortest_path_m FROM worlds "
            "ORDER BY world_index"
        )
        meta = dict(self._query("SELECT key, value FROM meta"))
        stored = {field: json.loads(meta.get(key, "{}")) for field, (key, _) in _OF_WORLDS.items()}
        return tuple(
            dataclasses.replace(
                world,
                **{
                    field: kind(stored[field].get(world.name, ()))
                    for field, (_, kind) in _OF_WORLDS.items()
                },
            )
            for world in (
                WorldRecord(index, name, Path(str(path)), *rest)
                for index, name, path, *rest in rows
            )
        )

    def results(self) -> CampaignResults:
        """Everything that is known so far."""
        with _reporting_damage(self._directory.results):
            return _checked(self._all_rows(), self._directory.results)

    def _all_rows(self) -> CampaignResults:
        meta = dict(self._query("SELECT key, value FROM meta"))
        metrics: dict = {}
        for trial, name, value in self._query("SELECT trial, name, value FROM metrics"):
            metrics.setdefault(trial, {})[name] = math.nan if value is None else value
        trials = self._query(f"SELECT {_TRIAL_COLUMNS} FROM trials ORDER BY trial")
        planners = self._query("SELECT name FROM planners ORDER BY position")
        return CampaignResults(
            name=meta["name"],
            planners=tuple(row[0] for row in planners),
            worlds=self.worlds(),
            planned=int(meta["planned"]),
            trials=tuple(_record(row, metrics.get(row[0], {})) for row in trials),
            invalid_attempts=self._attempts("invalid_attempts"),
            worker_deaths=self._attempts("worker_deaths"),
            declared=tuple(self._declared(meta)),
            relevant_success=declarations.relevant_success(meta),
            stop=judged.read_rule(meta.get(judged.RULE)),
            judged=self._judged(),
            running=self._running(),
        )

    def _judged(self) -> Tuple[str, ...]:
        if not self._has_table(judged.TABLE):
            return ()
        with reporting(self._directory.results):
            return judged.read_judged(self._connection)

    def heartbeat(self) -> running.Heartbeat:
        """A context in which other processes see that this one runs the campaign, and what."""
        return running.Heartbeat(self._directory.results)

    def _running(self) -> Optional[running.Runner]:
        if not self._has_table(running.TABLE):
            return None
        with reporting(self._directory.results):
            return running.read_runner(self._connection)

    def _declared(self, meta: Mapping[str, str]) -> List[Metric]:
        if not self._has_table(declarations.TABLE):
            return declarations.declarations_of_before(meta.get(declarations.OF_STACK, "[]"))
        with reporting(self._directory.results):
            return declarations.read_declarations(self._connection)

    def trajectory(self, record: TrialRecord) -> Recording:
        """The recording of a finished, valid trial."""
        if not record.trajectory:
            raise ResultsError(
                f"{record.world}, {record.planner}: the trial is invalid and has no trajectory"
            )
        if Path(record.trajectory).name != record.trajectory:
            raise ResultsError(
                f"{self._directory.results}: is damaged: {record.trajectory!r} is not a file name"
            )
        return read_trajectory(self._directory.trajectories / record.trajectory)

    def _attempts(self, table: str, trial: Optional[int] = None) -> Tuple[AttemptRecord, ...]:
        """Those at one trial, or all; a reader may meet a store without the table."""
        if not self._has_table(table):
            return ()
        where, values = ("", ()) if trial is None else ("WHERE trial = ?", (trial,))
        rows = self._query(
            f"SELECT {_ATTEMPT_COLUMNS} FROM {table} {where} ORDER BY trial, attempt", values
        )
        return tuple(AttemptRecord(*row) for row in rows)

    def _add_attempt(self, table: str, attempt: AttemptRecord) -> None:
        with self._transaction():
            self._connection.execute(
                f"INSERT INTO {table} ({_ATTEMPT_COLUMNS}) VALUES (?, ?, ?, ?, ?)",
                dataclasses.astuple(attempt),
            )

    def _query(self, statement: str, values: Sequence = ()) -> List[Tuple]:
        with reporting(self._directory.results):
            return self._connection.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with reporting(self._directory.results):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def _is_made(self) -> bool:
        return self._has_table("meta")

    def _has_table(self, name: str) -> bool:
        return bool(self._query("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)))

    def _check_schema(self) -> None:
        """A store is tables of one version. A view can take for ever to read, and a trigger
        change what is written: somebody else made those."""
        path = self._directory.results
        made = self._query("SELECT type, name FROM sqlite_master WHERE type IN ('view', 'trigger')")
        found = (
            self._query("SELECT value FROM meta WHERE key = 'schema_version'") if not made else ()
        )
        if made or not found:
            self.close()
            what = f"holds the {made[0][0]} {made[0][1]!r}" if made else "says no schema version"
            raise ResultsError(f"{path}: is damaged or not of gz_testauto: {what}")
        if str(found[0][0]) != str(SCHEMA_VERSION):
            self.close()
            raise ResultsError(
                f"{path}: has schema version {found[0][0]}, this version of "
                f"gz_testauto reads {SCHEMA_VERSION}; use the version that wrote it"
            )


def _of_worlds(
    worlds: Sequence[WorldRecord], field: str, kind: Callable[[Any], Any]
) -> Dict[str, Any]:
    """What a field says of the worlds that have it, by their names."""
    return {w.name: kind(getattr(w, field)) for w in worlds if getattr(w, field)}


def _record(row: Tuple, metrics: Mapping[str, float]) -> TrialRecord:
    values = dict(zip(_TRIAL_COLUMNS.split(", "), row))
    return TrialRecord(**{**values, "outcome": Outcome(values["outcome"]), "metrics": metrics})


def _checked(results: CampaignResults, path: Path) -> CampaignResults:
    """The same results when every value is of the type that its column says, and every trial of
    a world and a planner that are listed; SQLite keeps whatever it is given. Raises
    ``ResultsError``."""
    values = {
        name: list(map(vars, value)) if name in _LISTS else value
        for name, value in vars(results).items()
    }
    checked = shaped(CampaignResults, values, str(path), ResultsError)
    listed = {"planner": set(checked.planners), "world": {world.name for world in checked.worlds}}
    for record in checked.trials:
        for kind, names in listed.items():
            name = getattr(record, kind)
            if name not in names:
                raise ResultsError(
                    f"{path}: is damaged: trial {record.trial} is of {kind} {name!r}, which is "
                    "not in its list"
                )
    return checked


@contextlib.contextmanager
def _reporting_damage(path: Path) -> Iterator[None]:
    """Say of rows that make no results that the file is damaged."""
    try:
        yield
    except KeyError as error:
        raise ResultsError(f"{path}: is damaged: says no {error}") from error
    except (IndexError, TypeError, ValueError, RecursionError) as error:
        raise ResultsError(f"{path}: is damaged: {error}") from error
