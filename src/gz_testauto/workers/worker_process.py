"""What a worker process does: it opens a simulator, runs the trials that it is sent, and ends.

Owns the talk with its owner (:mod:`gz_testauto.workers.processes`) from the worker's
side. First the worker answers for its start, then for each trial, until it is sent None. It
shares plain numbers with its owner, without locks, which a worker that is killed would keep for
ever: whether to stop, and the two in which its owner sees whether it still works. It ends when
its owner has gone, however that ended.
"""

import contextlib
import functools
import os
import pickle
import signal
import threading
import time
import traceback
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import Any, Callable, NamedTuple, Optional

from gz_testauto.processes import when_owner_ends
from gz_testauto.workers.interface import RenewableExecutor

BEATS, QUESTIONS = 0, 1
"""Places in the shared numbers: beats of the process, and how often a trial has asked whether to
stop, which it does once per control period."""

BEAT_S = 0.5


class Answer(NamedTuple):
    """What came of a start or a trial: a value, or an error and where it was raised."""

    value: Any = None
    error: Optional[BaseException] = None
    trace: str = ""

    def result(self) -> Any:
        """The value; raises the error."""
        if self.error is not None:
            raise self.error from WorkerTraceback(self.trace)
        return self.value


class WorkerTraceback(Exception):
    """Where in the worker's process an error was raised."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def work(owner: Connection, setting: Any, stop: Any, pulse: Any) -> None:
    """Live a worker's life. ``setting`` holds the pickled factory of the executor and campaign;
    ``stop`` (one number) and ``pulse`` (two) are shared with the owner."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches it too; its owner decides
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _end_with_owner()
    threading.Thread(target=_beat, args=(pulse,), daemon=True).start()

    def should_stop() -> bool:
        pulse[QUESTIONS] += 1
        return bool(stop.value)

    make_executor, campaign = pickle.loads(bytes(setting))
    executor = RenewableExecutor(make_executor(campaign))
    _answer(owner, executor.open)
    while True:
        try:
            trial = owner.recv()
        except EOFError:
            trial = None
        if trial is None:
            executor.close()
            return
        _answer(owner, functools.partial(executor.execute, trial, should_stop))


def _answer(owner: Connection, act: Callable[[], Any]) -> None:
    try:
        answer = Answer(act())
    except BaseException as error:
        answer = Answer(None, error, traceback.format_exc())
    try:
        pickle.loads(pickle.dumps(answer.error))  # some can be sent and not be received
    except Exception:
        answer = Answer(None, RuntimeError("a worker raised what cannot be sent"), answer.trace)
    with contextlib.suppress(BrokenPipeError):  # the owner has gone, and so do we
        owner.send(answer)


def _beat(pulse: Any) -> None:
    while True:
        pulse[BEATS] += 1
        time.sleep(BEAT_S)


def _end_with_owner() -> None:
    """A worker whose owner was killed must not wait for work for ever."""
    owner = parent_process()
    assert owner is not None
    when_owner_ends(owner.pid, lambda: os._exit(1))
