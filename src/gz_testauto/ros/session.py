"""A session: a child process with its own ROS master. This module has both sides of the pipe.

rospy connects to one master per process, so a worker that needs several masters in succession
starts a session for each. It sends its settings and then one request after another, by
:mod:`~gz_testauto.processes.remote`. A session exits when the pipe closes, and its subreaper ends
the processes that it started. This module does not import rospy.
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

ProgressCallback = Callable[[str], None]
"""Reports the current activity to the parent process."""
RequestHandler = Callable[[Any], object]


class Session:
    """A running session, as the parent process sees it."""

    def __init__(self, module: str, settings: object, log_file: Path) -> None:
        """Start ``python -m module`` and send it ``settings``, which must support pickle."""
        self._connection, theirs = multiprocessing.Pipe()
        command = [sys.executable, "-m", module, str(theirs.fileno())]
        self._process = LaunchedProcess(
            "the trial's process", command, log_file, pass_fds=[theirs.fileno()]
        )
        theirs.close()
        self._connection.send(settings)

    def request(self, request: object, should_stop: StopRequest, silence_timeout_s: float) -> Any:
        """Send a request and return its response.

        Raises ``TrialStopped`` if ``should_stop`` returns true while it waits, any exception of the
        session, and ``SimulatorError`` if the session exits or sends nothing for
        ``silence_timeout_s`` of wall time. The session must be closed after any of these.
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
        """End the process and all processes that it started."""
        self._connection.close()
        self._process.close()

    def _death(self) -> str:
        deadline = time.monotonic() + DEATH_TIMEOUT_S
        while not self._process.failure() and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return self._process.failure() or "the trial's process closed its connection"


def new_log_directory(parent: Path, name: str) -> Path:
    """Return a new path in ``parent``: ``name``, or ``name.2`` and so on if it exists."""
    directory, number = parent / name, 1
    while directory.exists():
        number += 1
        directory = parent / f"{name}.{number}"
    return directory


def run(start: Callable[[Any, ProgressCallback], RequestHandler]) -> None:
    """Run the session in a process that :class:`Session` started, and exit. ``start`` is called
    with the settings at the first request, and returns the handler of requests."""
    parent = Connection(int(sys.argv[1]))
    handlers: List[RequestHandler] = []

    def report(doing: str) -> None:
        parent.send(ProgressReport(doing))

    def handle(request: Any) -> object:
        if not handlers:
            report("starting roscore")
            handlers.append(start(settings, report))
        return handlers[0](request)

    with contextlib.suppress(EOFError, OSError):
        settings = parent.recv()
        serve_requests(parent, handle)
    sys.stdout.flush()
    os._exit(0)  # rospy's threads would wait for the master, which ends with this process
