"""What runs now, kept in the store for other processes to see.

Owns what is in the tables ``runner`` (the process that runs the campaign, with a heartbeat) and
``running`` (its trials). They are written by a thread of the runner over a connection of its own,
at most once per second when a trial begins or ends, and every :data:`BEAT_S` else; finished trials
are none of its concern. A runner that was killed leaves its last heartbeat, which then grows old;
the next one takes its place. What cannot be written, as on a full disk, is left out.
"""

import contextlib
import os
import socket
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Dict, Optional, Type

from gz_testauto.results.records import Runner, RunningTrial, age_s, utc_now
from gz_testauto.results.schema import RUNNER, RUNNING
from gz_testauto.trial.plan import Trial

BEAT_S = 5.0
"""Wall time between two heartbeats."""

GATHERING_S = 1.0
"""Beginnings and ends of trials within this wall time are written together."""

_BUSY_TIMEOUT_S = 10.0


def read_runner(connection: sqlite3.Connection) -> Optional[Runner]:
    """Return the process that runs the campaign, with its trials; None when no process does.
    Raises ``ValueError`` for rows that no runner wrote."""
    for row in RUNNER.rows(connection):
        runner = Runner(**row, trials=tuple(RUNNING.read(connection)))
        for moment in (runner.started_at, runner.heartbeat_at, *(t.since for t in runner.trials)):
            age_s(moment)
        return runner
    return None


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
            for table in (RUNNER, RUNNING):
                connection.execute(f"DELETE FROM {table.name}")
            if runner is not None:
                RUNNER.insert(connection, [runner])
                RUNNING.insert(connection, runner.trials)
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
