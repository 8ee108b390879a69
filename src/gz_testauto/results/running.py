"""What runs now, kept in the store for other processes to see.

Owns the tables ``runner`` (who runs the campaign, with a heartbeat) and ``running`` (the trials
under way). They are written by a thread of the runner over a connection of its own, at most once
per second when a trial begins or ends, and every :data:`BEAT_S` else; finished trials are none of
its concern. A runner that was killed leaves its last heartbeat, which then grows old; the next
one takes its place. What cannot be written, as on a full disk, is left out.
"""

import contextlib
import datetime
import os
import socket
import sqlite3
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Dict, Optional, Tuple, Type

from gz_testauto.trial.plan import Trial

BEAT_S = 5.0
"""Wall time between two heartbeats."""

STALE_S = 30.0
"""A heartbeat older than this is that of a runner that was killed or stopped."""

GATHERING_S = 1.0
"""Beginnings and ends of trials within this wall time are written together."""

_BUSY_TIMEOUT_S = 10.0

TABLE = "runner"
_CREATE = (
    "CREATE TABLE IF NOT EXISTS runner (process INTEGER NOT NULL, host TEXT NOT NULL, "
    "started_at TEXT NOT NULL, heartbeat_at TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS running (trial INTEGER PRIMARY KEY, world TEXT NOT NULL, "
    "planner TEXT NOT NULL, repetition INTEGER NOT NULL, worker TEXT NOT NULL, "
    "since TEXT NOT NULL)",
)


@dataclass(frozen=True)
class RunningTrial:
    """A trial under way. ``worker`` says who runs it, in words, empty where it is not known;
    ``since`` is UTC, ISO 8601."""

    trial: int
    world: str
    planner: str
    repetition: int
    worker: str
    since: str


@dataclass(frozen=True)
class Runner:
    """Who runs a campaign, or did when its process was killed. Times are UTC, ISO 8601."""

    process: int
    host: str
    started_at: str
    heartbeat_at: str
    trials: Tuple[RunningTrial, ...] = ()

    def silent_s(self, now: Optional[datetime.datetime] = None) -> float:
        """Wall time since the last heartbeat, as far as the clocks agree."""
        return age_s(self.heartbeat_at, now)

    def is_stale(self, now: Optional[datetime.datetime] = None) -> bool:
        """Whether it was killed or stopped, so that nothing runs."""
        return self.silent_s(now) > STALE_S


def age_s(moment: str, now: Optional[datetime.datetime] = None) -> float:
    """Wall time since ``moment`` (ISO 8601, UTC), 0 where that is still to come."""
    now = now or datetime.datetime.now(datetime.timezone.utc)
    return max((now - datetime.datetime.fromisoformat(moment)).total_seconds(), 0.0)


def read_runner(connection: sqlite3.Connection) -> Optional[Runner]:
    """What the tables say; None when nobody runs the campaign. The caller knows that they are
    there. Raises ``ValueError`` where no runner wrote them so."""
    rows = connection.execute("SELECT process, host, started_at, heartbeat_at FROM runner")
    row = rows.fetchone()
    if row is None:
        return None
    process, host, started_at, heartbeat_at = row
    trials = connection.execute(
        "SELECT trial, world, planner, repetition, worker, since FROM running ORDER BY trial"
    )
    under_way = tuple(RunningTrial(*trial) for trial in trials.fetchall())
    for moment in (started_at, heartbeat_at, *(one.since for one in under_way)):
        age_s(moment)
    return Runner(process, host, started_at, heartbeat_at, under_way)


class Heartbeat:
    """Says in the store, while the block runs, that this process runs the campaign, and what."""

    def __init__(self, path: Path) -> None:
        now = utc_now()
        self._path = path
        self._runner = Runner(os.getpid(), socket.gethostname(), now, now)
        self._trials: Dict[int, RunningTrial] = {}
        self._changed = threading.Condition()
        self._dirty = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._over.set()
        with self._changed:
            self._changed.notify()
        self._thread.join(_BUSY_TIMEOUT_S)

    def began(self, trial: Trial, worker: str) -> None:
        """Note a trial that is under way."""
        entry = RunningTrial(
            trial.index, trial.world, trial.planner, trial.repetition, worker, utc_now()
        )
        self._note({**self._trials, trial.index: entry})

    def ended(self, trial: Trial) -> None:
        """Note that it is not any more."""
        self._note({index: one for index, one in self._trials.items() if index != trial.index})

    def _note(self, trials: Dict[int, RunningTrial]) -> None:
        with self._changed:
            self._trials, self._dirty = trials, True
            self._changed.notify()

    def _beat(self) -> None:
        try:
            connection = sqlite3.connect(
                str(self._path), timeout=_BUSY_TIMEOUT_S, isolation_level=None
            )
        except sqlite3.Error:
            return
        with contextlib.closing(connection):
            while not self._over.is_set():
                with self._changed:
                    trials, self._dirty = self._trials, False
                runner = replace(self._runner, heartbeat_at=utc_now())
                _write(connection, replace(runner, trials=tuple(trials.values())))
                self._over.wait(GATHERING_S)
                with self._changed:
                    if not self._dirty and not self._over.is_set():
                        self._changed.wait(BEAT_S - GATHERING_S)
            _write(connection, None)


def _write(connection: sqlite3.Connection, runner: Optional[Runner]) -> None:
    """Put this in place of what the tables say, whole or not at all."""
    with contextlib.suppress(sqlite3.Error):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in (*_CREATE, "DELETE FROM runner", "DELETE FROM running"):
                connection.execute(statement)
            if runner is not None:
                connection.execute(
                    "INSERT INTO runner VALUES (?, ?, ?, ?)",
                    (runner.process, runner.host, runner.started_at, runner.heartbeat_at),
                )
                connection.executemany(
                    "INSERT INTO running VALUES (?, ?, ?, ?, ?, ?)",
                    [
                        (one.trial, one.world, one.planner, one.repetition, one.worker, one.since)
                        for one in runner.trials
                    ],
                )
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise


def utc_now() -> str:
    """Now, UTC, ISO 8601, to the second."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
