"""A process that speaks ROS for one worker: its owner's side, and its own.

rospy joins one master in its life, so whoever needs masters of its own, one after the other, has
each in a process of its own: a *session*. Its owner sends it a setting and then one request after
the other, by :mod:`~gz_testauto.processes.remote`. It ends when the pipe closes. Its subreaper ends
the processes that it started. Nothing here imports rospy.
"""

import contextlib
import multiprocessing
import os
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Callable, List

from gz_testauto.base.errors import SimulatorError
from gz_testauto.processes.remote import (
    POLL_S,
    NoReplyError,
    ProgressReport,
    send_request,
    serve_requests,
)
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.trial.executor import StopRequest, TrialStopped

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
        """Send a request and return its answer.

        Raises ``TrialStopped`` if ``should_stop`` returns true meanwhile, what the session raised,
        and ``SimulatorError`` if it died, or sent nothing for ``silence_timeout_s`` of wall time.
        After any of these it must be closed.
        """

        def check() -> None:
            if should_stop():
                raise TrialStopped

        try:
            return send_request(self._connection, request, silence_timeout_s, check)
        except NoReplyError as error:
            if error.is_silent:
                cause = (
                    f"the trial hung for {silence_timeout_s:g} s while {error.doing}; its logs are "
                    f"in {self._process.log_file.parent}"
                )
            else:
                cause = f"{self._death()}, while {error.doing}"
            raise SimulatorError(cause) from error

    def close(self) -> None:
        """End the process and all that it started."""
        self._connection.close()
        self._process.close()

    def _death(self) -> str:
        deadline = time.monotonic() + DEATH_TIMEOUT_S
        while not self._process.trouble() and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return self._process.trouble() or "the trial lost its process"


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
    owner = Connection(int(sys.argv[1]))
    answers: List[Answer] = []

    def say(doing: str) -> None:
        owner.send(ProgressReport(doing))

    def handle(request: Any) -> object:
        if not answers:
            say("starting roscore")
            answers.append(start(setting, say))
        return answers[0](request)

    with contextlib.suppress(EOFError, OSError):
        setting = owner.recv()
        serve_requests(owner, handle)
    sys.stdout.flush()
    os._exit(0)  # rospy's threads wait for a master that is going down with us
