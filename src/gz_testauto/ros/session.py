"""A process that speaks ROS for one worker: its owner's side, and its own.

rospy joins one master in its life, so whoever needs masters of its own, one after the other, has
each in a process of its own: a *session*. Its owner sends it a setting and then one request after
the other through a pipe; it answers each with a result or an error, and meanwhile says what it is
at. It ends when the pipe closes. What it starts, its subreaper ends. Nothing here imports rospy.
"""

import contextlib
import multiprocessing
import os
import sys
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Callable, Tuple

from gz_testauto.base.errors import GzTestautoError, SimulatorError
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.trial.executor import StopRequest, TrialStopped

DOING, RESULT, ERROR, BUG = "doing", "result", "error", "bug"
"""Kinds of answers: ``(kind, value)``."""

POLL_S = 0.05
DEATH_TIMEOUT_S = 5.0

Say = Callable[[str], None]
"""Tells the owner what the session is at."""
Answer = Callable[[Any], object]


class Session:
    """A running session, as its owner sees it."""

    def __init__(self, module: str, setting: object, log_file: Path) -> None:
        """Start ``python -m module`` and tell it its setting, which can be pickled."""
        self._connection, theirs = multiprocessing.Pipe()
        command = [sys.executable, "-m", module, str(theirs.fileno())]
        self._process = LaunchedProcess(
            "the trial's process", command, log_file, pass_fds=[theirs.fileno()]
        )
        theirs.close()
        self._connection.send(setting)

    def ask(self, request: object, should_stop: StopRequest, silence_timeout_s: float) -> Any:
        """Send a request and wait for its answer, asking ``should_stop`` at each word of the
        session, and at least every :data:`POLL_S`.

        Raises ``TrialStopped`` where that is the answer, what the session raised, and
        ``SimulatorError`` where it died, or said nothing for ``silence_timeout_s`` of wall time.
        After any of these it is to be closed.
        """
        doing, heard_s = "starting", time.monotonic()
        try:
            self._connection.send(request)
            while True:
                if should_stop():
                    raise TrialStopped
                if not self._connection.poll(POLL_S):
                    if time.monotonic() - heard_s > silence_timeout_s:
                        raise SimulatorError(
                            f"the trial hung for {silence_timeout_s:g} s while {doing}; its logs "
                            f"are in {self._process.log_file.parent}"
                        )
                    continue
                kind, value = self._connection.recv()
                heard_s = time.monotonic()
                if kind == DOING:
                    doing = value
                elif kind == RESULT:
                    return value
                elif kind == ERROR:
                    raise value
                elif kind == BUG:
                    raise RuntimeError(f"in the trial's process:\n{value}")
        except (EOFError, ConnectionError) as error:
            raise SimulatorError(self._died(doing)) from error

    def close(self) -> None:
        """End the process and all that it started."""
        self._connection.close()
        self._process.close()

    def _died(self, doing: str) -> str:
        deadline = time.monotonic() + DEATH_TIMEOUT_S
        while not self._process.trouble() and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return f"{self._process.trouble() or 'the trial lost its process'}, while {doing}"


def new_log_directory(parent: Path, name: str) -> Path:
    """One that is not there yet, in ``parent``: ``name``, or ``name.2`` and so on."""
    directory, number = parent / name, 1
    while directory.exists():
        number += 1
        directory = parent / f"{name}.{number}"
    return directory


def run(start: Callable[[Any, Say], Answer]) -> None:
    """Be a session, in a process that :class:`Session` started, and end it. ``start`` gets the
    setting once the first request has come, and returns what answers requests."""
    _serve(Connection(int(sys.argv[1])), start)
    sys.stdout.flush()
    os._exit(0)  # rospy's threads wait for a master that is going down with us


def _serve(connection: Connection, start: Callable[[Any, Say], Answer]) -> None:
    with contextlib.suppress(EOFError, BrokenPipeError):
        setting = connection.recv()
        answers: Any = None
        while True:
            request = connection.recv()
            try:
                if answers is None:
                    connection.send((DOING, "starting roscore"))
                    answers = start(setting, lambda doing: connection.send((DOING, doing)))
                answer: Tuple[str, object] = (RESULT, answers(request))
            except GzTestautoError as error:
                answer = (ERROR, error)
            except Exception:
                answer = (BUG, traceback.format_exc())
            connection.send(answer)
