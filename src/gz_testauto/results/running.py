"""Store the running trials of a campaign, and a heartbeat, for other processes.

A thread writes them over a separate connection. The last heartbeat of a killed process remains.
Data that cannot be written are skipped.
"""

import contextlib
import os
import socket
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path
from typing import Dict, Optional

from gz_testauto.results.records import Runner, RunningTrial, age_s, utc_now
from gz_testauto.results.schema import RUNNER, RUNNING
from gz_testauto.trial.trial import Trial

BEAT_S = 5.0

GATHERING_S = 1.0  # wall time within which starts and ends of trials are written together

_BUSY_TIMEOUT_S = 10.0


def read_runner(connection: sqlite3.Connection) -> Optional[Runner]:
    """Return the runner of the campaign, which can have been killed, or None if no process is
    stored. Raises ``ValueError`` for invalid rows."""
    for row in RUNNER.rows(connection):
        runner = Runner(**row, trials=tuple(RUNNING.read(connection)))
        for moment in (runner.started_at, runner.heartbeat_at, *(t.since for t in runner.trials)):
            age_s(moment)
        return runner
    return None


class Heartbeat:
    """A context manager that stores this process as the runner of the campaign, with its running
    trials. It deletes them at its exit."""

    def __init__(self, path: Path) -> None:
        started_at = utc_now()
        self._path = path
        self._runner = Runner(os.getpid(), socket.gethostname(), started_at, started_at)
        self._trials: Dict[int, RunningTrial] = {}
        self._changed = threading.Condition()
        self._dirty = False
        self._end_event = threading.Event()
        self._thread = threading.Thread(
            target=self._write_until_exit, name="heartbeat", daemon=True
        )

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_event.set()
        with self._changed:
            self._changed.notify()
        self._thread.join(_BUSY_TIMEOUT_S)

    def add_trial(self, trial: Trial, worker: str) -> None:
        entry = RunningTrial(
            trial.index,
            trial.world.name,
            trial.planner.name,
            trial.repetition,
            worker,
            utc_now(),
        )
        self._set_trials({**self._trials, trial.index: entry})

    def remove_trial(self, trial: Trial) -> None:
        self._set_trials(
            {
                index: running_trial
                for index, running_trial in self._trials.items()
                if index != trial.index
            }
        )

    def _set_trials(self, trials: Dict[int, RunningTrial]) -> None:
        with self._changed:
            self._trials, self._dirty = trials, True
            self._changed.notify()

    def _write_until_exit(self) -> None:
        try:
            connection = sqlite3.connect(
                str(self._path), timeout=_BUSY_TIMEOUT_S, isolation_level=None
            )
        except sqlite3.Error:
            return
        with contextlib.closing(connection):
            while not self._end_event.is_set():
                with self._changed:
                    trials, self._dirty = self._trials, False
                runner = replace(self._runner, heartbeat_at=utc_now())
                _write_runner(connection, replace(runner, trials=tuple(trials.values())))
                self._end_event.wait(GATHERING_S)
                with self._changed:
                    if not self._dirty and not self._end_event.is_set():
                        self._changed.wait(BEAT_S - GATHERING_S)
            _write_runner(connection, None)


def _write_runner(connection: sqlite3.Connection, runner: Optional[Runner]) -> None:
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
