"""A worker process, and the watchdog with which its parent process observes it.

The worker opens a simulator, runs the trials that it receives, and exits with its parent, for any
reason. It sends a reply for its start, and then serves trials, by
:mod:`gz_testauto.processes.remote`. Worker and parent share numbers without locks, which a killed
worker would never release: the flag to stop, and two counters.

A process that computes for a long time is valid. A process that neither sends beats nor uses its
processor is frozen: stopped by a signal, or blocked in native code. A process that does not finish
a control period for much longer is hung.
"""

import contextlib
import os
import pickle
import signal
import threading
import time
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Sequence

from gz_testauto.processes import on_parent_exit
from gz_testauto.processes.remote import send_reply, serve_requests
from gz_testauto.workers.interface import RenewableExecutor

BEATS, STOP_CHECKS = 0, 1
"""Indices of the shared counters: beats of the process, and checks whether to stop, of which a
trial makes one per control period."""

BEAT_S = 0.5

_MAX_INTERVAL_S = 1.0
"""Longest time that counts between two checks; if it is longer, the parent itself was stopped."""


def work(connection: Connection, setting: Any, stop: Any, pulse: Any) -> None:
    """Run a worker. ``setting`` contains the pickled factory of the executor and the campaign;
    ``stop`` (one number) and ``pulse`` (two) are shared with the parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = parent_process()
    assert parent is not None
    on_parent_exit(parent.pid, lambda: os._exit(1))
    threading.Thread(target=_beat, args=(pulse,), daemon=True).start()

    def should_stop() -> bool:
        pulse[STOP_CHECKS] += 1
        return bool(stop.value)

    make_executor, campaign = pickle.loads(bytes(setting))
    executor = RenewableExecutor(make_executor(campaign))
    send_reply(connection, executor.open)
    serve_requests(connection, lambda trial: executor.execute(trial, should_stop))
    executor.close()


def _beat(pulse: Any) -> None:
    while True:
        pulse[BEATS] += 1
        time.sleep(BEAT_S)


class ProcessWatchdog:
    """A watchdog of one process, which increments the two numbers in ``counters``."""

    def __init__(self, pid: int, counters: Sequence[int]) -> None:
        self._stat = Path(f"/proc/{pid}/stat")
        self._counters = counters
        self._checked_s = time.monotonic()
        self._life: Any = None
        self._progress: Any = None
        self.lifeless_s = 0.0
        """Wall time since the last beat, progress or processor time of the process."""
        self.idle_s = 0.0
        """Wall time since its last control period."""

    def check(self) -> None:
        """Update both times."""
        now_s = time.monotonic()
        passed_s = min(now_s - self._checked_s, _MAX_INTERVAL_S)
        self._checked_s = now_s
        progress = self._counters[STOP_CHECKS]
        life = (self._counters[BEATS], progress, self._processor_time())
        self.lifeless_s = self.lifeless_s + passed_s if life == self._life else 0.0
        self.idle_s = self.idle_s + passed_s if progress == self._progress else 0.0
        self._life, self._progress = life, progress

    def begin(self) -> None:
        """Start counting the time without progress."""
        self.idle_s = 0.0

    def _processor_time(self) -> Any:
        """Return the processor time in ticks of the kernel, or None if it is not available."""
        with contextlib.suppress(OSError):
            fields = self._stat.read_text().rpartition(") ")[2].split()
            return fields[11:13]  # utime and stime of proc(5), counted from the state
        return None
