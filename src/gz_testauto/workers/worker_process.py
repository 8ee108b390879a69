"""Run a worker process, and monitor it from the process of the campaign with a watchdog.

The watchdog considers a worker unresponsive if its heartbeats stop and it uses no processor
time, for example because a signal has stopped it. It considers the worker hung if no control
period finishes for a much longer time.
"""

import os
import pickle
import signal
import threading
import time
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import Any, Sequence

from gz_testauto.processes import cpu_time_s, on_parent_exit
from gz_testauto.processes.remote import send_reply, serve_requests
from gz_testauto.workers.interface import RenewableExecutor

BEATS, STOP_CHECKS = 0, 1  # indices of the shared counters of heartbeats and of control periods

BEAT_S = 0.5

# If the time between two checks is larger, the process of the watchdog was itself stopped.
_MAX_INTERVAL_S = 1.0


def work(connection: Connection, setting: Any, stop: Any, counters: Any) -> None:
    """Run a worker process until its parent requests it to exit.

    ``setting`` contains the pickled executor factory and campaign, and computed results. ``stop``
    (one number) and ``counters`` (two numbers) are shared with the parent process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = parent_process()
    assert parent is not None
    on_parent_exit(parent.pid, lambda: os._exit(1))
    threading.Thread(target=_count_heartbeats, args=(counters,), daemon=True).start()

    def should_stop() -> bool:
        # Without a lock, since a killed process would never release it.
        counters[STOP_CHECKS] += 1
        return bool(stop.value)

    make_executor, campaign, computed = pickle.loads(bytes(setting))
    campaign.adopt(computed)
    executor = RenewableExecutor(make_executor(campaign))
    send_reply(connection, executor.open)
    serve_requests(connection, lambda trial: executor.execute(trial, should_stop))
    executor.close()


def _count_heartbeats(counters: Any) -> None:
    while True:
        counters[BEATS] += 1
        time.sleep(BEAT_S)


class ProcessWatchdog:
    """A watchdog of the worker process ``pid``, which increments the numbers in ``counters``.

    The first number counts heartbeats, the second control periods.
    """

    def __init__(self, pid: int, counters: Sequence[int]) -> None:
        self._pid = pid
        self._counters = counters
        self._checked_s = time.monotonic()
        self._life: Any = None
        self._progress: Any = None
        self.lifeless_s = 0.0
        """Wall time (s) without heartbeat, finished control period or use of the processor."""
        self.idle_s = 0.0
        """Wall time (s) since the process last finished a control period."""

    def check(self) -> None:
        now_s = time.monotonic()
        passed_s = min(now_s - self._checked_s, _MAX_INTERVAL_S)
        self._checked_s = now_s
        progress = self._counters[STOP_CHECKS]
        life = (self._counters[BEATS], progress, cpu_time_s(self._pid))
        self.lifeless_s = self.lifeless_s + passed_s if life == self._life else 0.0
        self.idle_s = self.idle_s + passed_s if progress == self._progress else 0.0
        self._life, self._progress = life, progress
