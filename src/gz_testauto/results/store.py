"""Store the results of a campaign in SQLite.

A trial is stored atomically: its trajectory is written to the disk before the row that names it,
and one transaction adds the row and its metrics. The transaction is durable when the call returns
(rollback journal, full synchronization).
"""

import contextlib
import json
import math
import os
import shutil
import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable, Dict, Iterable, Iterator, Optional, Sequence, Tuple

from gz_testauto.base.disk import make_directory, read_end, read_start
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.json_file import RESTORE, validate_as
from gz_testauto.base.scratch import scratch_directory
from gz_testauto.metrics.interface import RELEVANT_SUCCESS, Metric
from gz_testauto.metrics.recording import Recording
from gz_testauto.results import running, schema
from gz_testauto.results.directory import CampaignDirectory, reporting_disk
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.recordings import read_trajectory, write_trajectory
from gz_testauto.results.records import AttemptRecord, CampaignResults, TrialRecord
from gz_testauto.results.world_identity import copies_of_worlds, has_equal_files
from gz_testauto.spec.campaign import StopSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord

# Fields of ``CampaignResults`` with records.
_LISTS = ("worlds", "trials", "invalid_attempts", "worker_deaths", "declared")

# Suffix of the file from which SQLite restores changed pages after a killed transaction.
JOURNAL = "-journal"

# End of a journal that names a super-journal, a file for transactions of several databases.
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")

BUSY_TIMEOUT_S = 30.0

LARGEST_METRIC = 1e100  # largest absolute value of a metric; larger values count as infinite


class ResultStore:
    """The store of the results in one directory, from :meth:`create`, :meth:`open` or :meth:`read`.

    Every method raises ``ResultsError`` if the disk is full or the file is damaged.
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
        """Return a new store in the directory. The caller must hold the directory's lock."""
        _make_trajectory_directory(directory)
        store = cls(directory, connect(directory.results))
        with store._transaction():
            schema.create_tables(store._connection)
            schema.CAMPAIGN.insert(store._connection, [schema.CampaignRow(name, planned)])
            schema.STOP.insert(store._connection, [] if stop is None else [stop])
            schema.PLANNERS.insert(store._connection, map(schema.PlannerRow, planners))
            schema.WORLDS.insert(store._connection, worlds)
        return store

    @classmethod
    def open(
        cls,
        directory: CampaignDirectory,
        check: Callable[["ResultStore"], None] = lambda store: None,
    ) -> Optional["ResultStore"]:
        """Open the store for writing, or return None if no store was completely created. ``check``
        is called with the store before the tables of an older version are upgraded, and can raise
        an error."""
        if not os.path.isfile(directory.results):
            return None
        _make_trajectory_directory(directory)
        return cls(directory, connect(directory.results))._upgraded(check)

    @classmethod
    def read(cls, directory: CampaignDirectory) -> "ResultStore":
        """Open the store for reading only, while another process can write. Tables of an older
        version are upgraded only in memory. Raises ``ResultsError`` without a complete store."""
        directory.require_begun()
        if not os.path.isfile(directory.results):
            if any(directory.trajectories.glob("*.npz")):
                raise ResultsError(f"{directory.results}: the file is missing; {RESTORE}")
            raise ResultsError(f"{directory.path}: no trial has ended yet")
        store = cls(directory, _connect_for_reading(directory.results))._upgraded()
        if store is None:
            raise ResultsError(f"{directory.path}: no trial has ended yet")
        return store

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> "ResultStore":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def declare(
        self,
        metrics: Sequence[Metric],
        relevant_success: float = RELEVANT_SUCCESS,
        normal_real_time_factor: float = 1.0,
    ) -> None:
        """Store declarations of metrics, and the fields ``relevant_success`` and
        ``normal_real_time_factor`` of :class:`CampaignResults`. Stored declarations with other
        names remain."""
        metrics_by_name = {metric.name: metric for metric in metrics}
        with _reporting_damage(self._directory.results), self._transaction():
            stored_metrics = schema.DECLARATIONS.read(self._connection)
            kept_metrics = [
                metric for metric in stored_metrics if metric.name not in metrics_by_name
            ]
            declared_metrics = [*metrics_by_name.values(), *kept_metrics]
            if declared_metrics != stored_metrics:
                self._connection.execute(f"DELETE FROM {schema.DECLARATIONS.name}")
                schema.DECLARATIONS.insert(self._connection, declared_metrics)
            self._update_campaign(
                smallest_relevant_success=relevant_success,
                normal_real_time_factor=normal_real_time_factor,
            )

    def extend(self, worlds: Sequence[WorldRecord], planned: int, further: int) -> None:
        """Store the worlds that are not stored yet, and the fields ``planned`` and
        ``further_worlds`` of :class:`CampaignResults`. ``worlds`` starts with the stored worlds."""
        stored_count = len(self.worlds())
        with self._transaction():
            self._update_campaign(planned=planned, further_worlds=further)
            schema.WORLDS.insert(self._connection, worlds[stored_count:])

    def select(self, selection: str) -> None:
        """Append ``selection`` to the stored description of the selected trials, unless it contains
        this text. An example is ``worlds selected with --only``."""
        with _reporting_damage(self._directory.results):
            stored_selection = self._campaign_row().selection
        if selection in stored_selection:
            return
        with self._transaction():
            self._connection.execute(
                f"UPDATE {schema.CAMPAIGN.name} SET selection = ?",
                (f"{stored_selection} and {selection}" if stored_selection else selection,),
            )

    def add_notices(self, notices: Sequence[str]) -> None:
        """Add the notices of a trial that are not stored yet, for the report."""
        if not notices:
            return
        with _reporting_damage(self._directory.results):
            stored_notices = self._campaign_row().notices
        all_notices = tuple(dict.fromkeys((*stored_notices, *notices)))
        if all_notices != stored_notices:
            with self._transaction():
                self._connection.execute(
                    f"UPDATE {schema.CAMPAIGN.name} SET notices = ?", (json.dumps(all_notices),)
                )

    def judge(self, world: str) -> None:
        """Append a world to those that the early stop has evaluated. The statistical test depends
        on their order."""
        self._insert(schema.JUDGED, schema.JudgedWorld(world))

    def holds_valid_trial(self) -> bool:
        statement = "SELECT 1 FROM trials WHERE outcome <> ? LIMIT 1"
        with reporting_errors(self._directory.results):
            rows = self._connection.execute(statement, (Outcome.INVALID.value,)).fetchall()
        return bool(rows)

    def add_invalid_attempt(self, attempt: AttemptRecord) -> None:
        self._insert(schema.INVALID_ATTEMPTS, attempt)

    def add_worker_death(self, attempt: AttemptRecord) -> None:
        self._insert(schema.WORKER_DEATHS, attempt)

    def retry_limits(self) -> Dict[str, Optional[int]]:
        """Return the limits of the last call of :meth:`reopen` by name; a limit is None before the
        first call."""
        with _reporting_damage(self._directory.results):
            row = self._campaign_row()
        return {"max_attempts": row.max_attempts, "max_worker_deaths": row.max_worker_deaths}

    def reopen(self, trials: Iterable[int], max_attempts: int, max_worker_deaths: int) -> None:
        """Store the limits of attempts, and delete the invalid records of ``trials``, so that they
        run again. ``trials`` are indices in the plan."""
        with self._transaction():
            self._connection.executemany(
                "DELETE FROM trials WHERE trial = ? AND outcome = ?",
                [(trial, Outcome.INVALID.value) for trial in trials],
            )
            self._connection.execute(
                f"UPDATE {schema.CAMPAIGN.name} SET max_attempts = ?, max_worker_deaths = ?",
                (max_attempts, max_worker_deaths),
            )

    def finish(self, record: TrialRecord, recording: Optional[Recording] = None) -> None:
        """Store a finished trial durably, and replace any invalid record of the same trial.
        ``recording`` is written to ``record.trajectory``."""
        if recording is not None:
            write_trajectory(self._directory.trajectories / record.trajectory, recording)
        self.finish_all([record])

    def finish_all(self, records: Sequence[TrialRecord]) -> None:
        """Store finished trials that have no recording, or whose recording is already written."""
        values = [
            schema.MetricValue(record.trial, name, None if math.isnan(value) else value)
            for record in records
            for name, value in record.metrics.items()
        ]
        with self._transaction():
            self._connection.executemany(
                f"DELETE FROM {schema.TRIALS.name} WHERE trial = ? AND outcome = ?",
                [(record.trial, Outcome.INVALID.value) for record in records],
            )
            schema.TRIALS.insert(self._connection, records)
            schema.METRICS.insert(self._connection, values)

    def worlds(self) -> Tuple[WorldRecord, ...]:
        with _reporting_damage(self._directory.results), reporting_errors(self._directory.results):
            return tuple(schema.WORLDS.read(self._connection))

    def results(self) -> CampaignResults:
        path = self._directory.results
        with _reporting_damage(path), reporting_errors(path):
            results = _check(self._read_all(), path)
        if has_equal_files(results.worlds):
            inputs = Manifest.read(self._directory).inputs
            results = replace(results, copies=copies_of_worlds(results.worlds, inputs))
        if len(results.trials) >= results.planned:
            return replace(results, selection="")
        return results

    def _read_all(self) -> CampaignResults:
        connection = self._connection
        campaign = self._campaign_row()
        metrics: Dict[int, Dict[str, float]] = {}
        for row in schema.METRICS.rows(connection):
            value = row["value"]
            trial_metrics = metrics.setdefault(row["trial"], {})
            trial_metrics[row["name"]] = math.nan if value is None else _limited(value)
        return CampaignResults(
            name=campaign.name,
            planners=tuple(row.name for row in schema.PLANNERS.read(connection)),
            worlds=tuple(schema.WORLDS.read(connection)),
            planned=campaign.planned,
            trials=tuple(
                TrialRecord(**row, metrics=metrics.get(row["trial"], {}))
                for row in schema.TRIALS.rows(connection)
            ),
            invalid_attempts=tuple(schema.INVALID_ATTEMPTS.read(connection)),
            worker_deaths=tuple(schema.WORKER_DEATHS.read(connection)),
            declared=tuple(schema.DECLARATIONS.read(connection)),
            relevant_success=campaign.smallest_relevant_success,
            normal_real_time_factor=campaign.normal_real_time_factor,
            stop=next(iter(schema.STOP.read(connection)), None),
            judged=tuple(row.world for row in schema.JUDGED.read(connection)),
            selection=campaign.selection,
            further_worlds=campaign.further_worlds,
            notices=campaign.notices,
            running=running.read_runner(connection),
        )

    def _update_campaign(self, **fields: float) -> None:
        # An unchanged row is not written, so that the file does not become newer than the page.
        names = ", ".join(fields)
        self._connection.execute(
            f"UPDATE {schema.CAMPAIGN.name} SET {' = ?, '.join(fields)} = ? "
            f"WHERE ({names}) IS NOT ({', '.join('?' * len(fields))})",
            (*fields.values(), *fields.values()),
        )

    def _campaign_row(self) -> schema.CampaignRow:
        rows = schema.CAMPAIGN.read(self._connection)
        if len(rows) != 1:
            raise ValueError(f"{schema.CAMPAIGN.name} has {len(rows)} rows, not 1")
        return rows[0]

    def heartbeat(self) -> running.Heartbeat:
        return running.Heartbeat(self._directory.results)

    def trajectory(self, record: TrialRecord) -> Recording:
        if not record.trajectory:
            raise ResultsError(
                f"{record.world}, {record.planner}: the trial is invalid and has no trajectory"
            )
        if Path(record.trajectory).name != record.trajectory:
            raise ResultsError(
                f"{self._directory.results}: the file is damaged: {record.trajectory!r} is not a "
                f"file name; {RESTORE}"
            )
        return read_trajectory(self._directory.trajectories / record.trajectory)

    def _insert(self, table: schema.Table[schema.Record], record: schema.Record) -> None:
        with self._transaction():
            table.insert(self._connection, [record])

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with reporting_errors(self._directory.results):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def _upgraded(
        self, check: Optional[Callable[["ResultStore"], None]] = None
    ) -> Optional["ResultStore"]:
        """Upgrade tables of an older version, and return this store. If the tables were not
        completely created, close the store and return None. If ``check`` is set, it is called
        first, and the file is upgraded. Otherwise only a copy in memory is upgraded."""
        path = self._directory.results
        try:
            with reporting_errors(path):
                if not schema.is_created(self._connection):
                    self.close()
                    return None
                version = schema.stored_version(self._connection)
        except ValueError as error:
            self.close()
            raise ResultsError(f"{path}: {error}") from error
        if check is not None:
            try:
                check(self)
            except BaseException:
                self.close()
                raise
        if version < schema.SCHEMA_VERSION:
            if check is None:
                copy = sqlite3.connect(":memory:", isolation_level=None)
                with reporting_errors(path), contextlib.closing(self._connection):
                    self._connection.backup(copy)
                self._connection = copy
            with self._transaction():
                schema.upgrade(self._connection, version)
        return self


@dataclass(frozen=True)
class LoadedCampaign:
    """The results of a campaign, loaded from a directory. ``label`` is the campaign's name in
    tables."""

    label: str
    results: CampaignResults
    manifest: Manifest


def load_campaign(path: Path, label: str = "") -> LoadedCampaign:
    """Return the campaign in a results directory. The default of ``label`` is the directory's
    name."""
    directory = CampaignDirectory(path)
    with ResultStore.read(directory) as store:
        results = store.results()
    return LoadedCampaign(label or directory.path.name, results, Manifest.read(directory))


def _check(results: CampaignResults, path: Path) -> CampaignResults:
    """Return the validated results. Raises ``ResultsError`` if a value does not have the type of
    its column, or if the world or planner of a trial is not listed. SQLite checks neither."""
    values = {
        name: list(map(vars, value)) if name in _LISTS else value
        for name, value in vars(results).items()
    }
    checked = validate_as(CampaignResults, values, str(path), ResultsError)
    listed_names = {
        "planner": set(checked.planners),
        "world": {world.name for world in checked.worlds},
    }
    for record in checked.trials:
        for kind, names in listed_names.items():
            name = getattr(record, kind)
            if name not in names:
                raise ResultsError(
                    f"{path}: the file is damaged: trial {record.trial} refers to the {kind} "
                    f"{name!r}, which is not in the file's list of {kind}s; {RESTORE}"
                )
    return checked


def _make_trajectory_directory(directory: CampaignDirectory) -> None:
    with reporting_disk(directory.trajectories):
        make_directory(directory.trajectories)


@contextlib.contextmanager
def _reporting_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        raise ResultsError(f"{path}: the file is damaged: {error} is missing; {RESTORE}") from error
    except (IndexError, TypeError, ValueError, RecursionError) as error:
        raise ResultsError(f"{path}: the file is damaged: {error}; {RESTORE}") from error


def connect(path: Path) -> sqlite3.Connection:
    _require_no_further_files(path)
    with reporting_errors(path):
        # Transactions are explicit: with implicit ones, the time of a commit is not visible.
        connection = sqlite3.connect(str(path), timeout=BUSY_TIMEOUT_S, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        return connection


def _connect_for_reading(path: Path) -> sqlite3.Connection:
    # An unfinished transaction of a killed process is rolled back in a copy.
    _require_no_further_files(path)
    with reporting_errors(path):
        uri = path.as_uri() + "?mode=ro"
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S)
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchall()
            return connection
        except sqlite3.Error as error:
            connection.close()
            if "readonly" not in str(error):  # the database has a transaction to roll back
                raise
        return _rolled_back_copy(path)


def _rolled_back_copy(path: Path) -> sqlite3.Connection:
    with scratch_directory() as folder, reporting_disk(folder):
        copy = folder / path.name
        for suffix in ("", JOURNAL):
            shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        in_memory = sqlite3.connect(":memory:", isolation_level=None)
        with contextlib.closing(connect(copy)) as connection:
            connection.backup(in_memory)
    return in_memory


def _require_no_further_files(path: Path) -> None:
    """Raise ``ResultsError`` if SQLite would open or delete files other than the database and its
    journal, or would wait for a pipe."""
    fault = ""
    if b"\2" in _read_part(path, read_start, 20)[18:] or os.path.lexists(f"{path}-wal"):
        fault = "the database has a write-ahead log"
    journal = path.with_name(path.name + JOURNAL)
    if _read_part(journal, read_end, len(_JOURNAL_MAGIC)) == _JOURNAL_MAGIC:
        fault = f"{journal.name} names another file, which SQLite would delete"
    if fault:
        raise ResultsError(
            f"{path}: was not written by gz_testauto: {fault}; use results of a source that you "
            "trust"
        )


def _limited(value: float) -> float:
    """Return ``value``, or infinity with its sign if it exceeds :data:`LARGEST_METRIC`. Statistics
    of larger numbers would overflow."""
    is_huge = isinstance(value, float) and abs(value) > LARGEST_METRIC
    return math.copysign(math.inf, value) if is_huge else value


def _read_part(path: Path, read: Callable[[Path, int], bytes], size: int) -> bytes:
    try:
        return read(path, size)
    except FileNotFoundError:  # a running process can remove its journal at any time
        return b""
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextlib.contextmanager
def reporting_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeError as error:  # messages quote names from a damaged file unchanged
        raise ResultsError(f"{path}: the file is damaged: {error}; {RESTORE}") from error
    except sqlite3.Error as error:
        text = str(error) or "is damaged"  # Python 3.8 has no message if it is not valid text
        if "readonly" in text and not os.path.exists(path):
            text = "the file was removed; restore it, or use a new directory"
        if any(fault in text for fault in ("malformed", "not a database", "no such")):
            text += f"; {RESTORE}"
        if "full" in text or "disk I/O" in text:
            text += (
                "; finished trials are stored: free space on the device and run the same "
                "command again"
            )
        raise ResultsError(f"{path}: {text}") from error
