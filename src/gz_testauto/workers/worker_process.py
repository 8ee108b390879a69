"""What a worker process does: it opens a simulator, runs the trials that it is sent, and ends.

Its owner is :mod:`gz_testauto.workers.processes`. By :mod:`gz_testauto.processes.remote` it sends
an answer for its start, and then serves trials. It
shares plain numbers with its owner, without locks, which a worker that is killed would keep for
ever: whether to stop, and the two in which its owner sees whether it still works. It ends when
its owner has gone, however that ended.
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

BEATS, QUESTIONS = 0, 1
"""Places in the shared numbers: beats of the process, and how often a trial has asked whether to
stop, which it does once per control period."""

BEAT_S = 0.5


def work(owner: Connection, setting: Any, stop: Any, pulse: Any) -> None:
    """Live a worker's life. ``setting`` holds the pickled factory of the executor and campaign;
    ``stop`` (one number) and ``pulse`` (two) are shared with the owner."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches it too; its owner decides
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = parent_process()
    assert parent is not None
    on_parent_exit(parent.pid, lambda: os._exit(1))
    threading.Thread(target=_beat, args=(pulse,), daemon=True).start()

    def should_stop() -> bool:
        pulse[QUESTIONS] += 1
        return bool(stop.value)

    make_executor, campaign = pickle.loads(bytes(setting))
    executor = RenewableExecutor(make_executor(campaign))
    send_reply(owner, executor.open)
    serve_requests(owner, lambda trial: executor.execute(trial, should_stop))
    executor.close()


def _beat(pulse: Any) -> None:
    while True:
        pulse[BEATS] += 1
        time.sleep(BEAT_S)
