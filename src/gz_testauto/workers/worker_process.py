"""A worker process: it opens a simulator, runs the trials that it receives, and exits.

Its parent process is :mod:`gz_testauto.workers.processes`. It sends a reply for its start, and then
serves trials, by :mod:`gz_testauto.processes.remote`. It shares numbers with its parent without
locks, which a killed worker would never release: the flag to stop, and two counters by which the
parent detects a frozen or hung worker. It exits with its parent, for any reason.
"""

import os
import pickle
import signal
import threading
import time
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import Any

from gz_testauto.processes import on_parent_exit
from gz_testauto.processes.remote import send_reply, serve_requests
from gz_testauto.workers.interface import RenewableExecutor

BEATS, STOP_CHECKS = 0, 1
"""Indices of the shared counters: beats of the process, and checks whether to stop, of which a
trial makes one per control period."""

BEAT_S = 0.5


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
