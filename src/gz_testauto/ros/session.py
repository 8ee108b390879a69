"""Sessions, which are child processes with a separate ROS master, and both ends of their pipes.

rospy, which this module does not import, connects to only one master per process.
"""

import abc
import contextlib
import logging
import multiprocessing
import os
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Callable, List, Optional

from typing_extensions import Protocol

from gz_testauto.base.errors import SimulatorError
from gz_testauto.processes.remote import (
    POLL_S,
    NoReplyError,
    ProgressReport,
    send_request,
    serve_requests,
)
from gz_testauto.results.directory import TRIALS_FILE
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.trial.executor import StopRequest, TrialExecutor, TrialStopped
from gz_testauto.trial.trial import Trial

LOGGER = logging.getLogger(__name__)
DEATH_TIMEOUT_S = 5.0


class ProgressCallback(Protocol):
    """A function that reports a session's activity and a warning for the user."""

    def __call__(self, doing: str, warning: str = "") -> None:
        """Send the report."""


RequestHandler = Callable[[Any], object]  # a function from a request to the response of a session
SessionStart = Callable[[ProgressCallback], RequestHandler]


class Session:
    """The parent's connection to a running session."""

    def __init__(self, start: SessionStart, log_file: Path) -> None:
        """Start a process that calls ``start``, which must support pickle. Its output is written to
        ``log_file``."""
        self._trials_file = log_file.with_name(TRIALS_FILE)
        self._connection, child_end = multiprocessing.Pipe()
        command = [sys.executable, "-m", "gz_testauto.ros.session", str(child_end.fileno())]
        self._process = LaunchedProcess(
            "the trial's process", command, log_file, pass_fds=[child_end.fileno()]
        )
        child_end.close()
        self._connection.send(start)

    def request(self, request: object, should_stop: StopRequest, silence_timeout_s: float) -> Any:
        """Send a request and return its response.

        Raises ``TrialStopped``, any exception of the session, and ``SimulatorError`` if the session
        exits or is silent for ``silence_timeout_s`` of wall time. Close the session after each of
        these errors.
        """

        def check() -> None:
            if should_stop():
                raise TrialStopped

        try:
            return send_request(self._connection, request, silence_timeout_s, check)
        except NoReplyError as error:
            if error.is_silent:
                cause = (
                    f"the trial did not respond for {silence_timeout_s:g} s while {error.doing}; "
                    f"see the logs in {self._process.log_file.parent}"
                )
            else:
                cause = f"{self._await_death()}, while {error.doing}"
            raise SimulatorError(cause) from error

    def list_trial(self, trial: Trial) -> None:
        """Add the wall time (s) and the label of a trial to the list in the log directory."""
        with self._trials_file.open("a", encoding="utf-8") as stream:
            stream.write(f"{time.time():.3f} {trial.label}\n")

    def close(self) -> None:
        self._connection.close()
        self._process.close()

    def _await_death(self) -> str:
        """Wait up to :data:`DEATH_TIMEOUT_S` until the process ends, and return why it ended."""
        deadline = time.monotonic() + DEATH_TIMEOUT_S
        while not self._process.failure() and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return self._process.failure() or "the trial's process closed its connection"


class SessionRestartError(SimulatorError):
    """Raised in a session that cannot run the next trial, although a new session can."""


class SessionExecutor(TrialExecutor):
    """An executor whose session starts at the first request and is closed after each error."""

    _session: Optional[Session] = None

    def recover(self) -> None:
        self.close()

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    @abc.abstractmethod
    def _start_session(self, request: Any) -> Session:
        """Start the session whose first request is ``request``."""

    @property
    @abc.abstractmethod
    def _silence_timeout_s(self) -> float:
        """Wall time (s) without a progress report after which the session counts as hung."""

    def _request(self, request: object, should_stop: StopRequest) -> Any:
        try:
            if self._session is None:
                self._session = self._start_session(request)
            if isinstance(request, Trial):
                self._session.list_trial(request)
            return self._session.request(request, should_stop, self._silence_timeout_s)
        except SessionRestartError as error:
            LOGGER.warning("the session is restarted: %s", error)
            self.close()
            return self._request(request, should_stop)
        except BaseException:
            self.close()
            raise


def new_log_directory(parent: Path, name: str) -> Path:
    directory, number = parent / name, 1
    while directory.exists():
        number += 1
        directory = parent / f"{name}.{number}"
    return directory


def _serve() -> None:
    parent = Connection(int(sys.argv[1]))
    handlers: List[RequestHandler] = []

    def report(activity: str, warning: str = "") -> None:
        parent.send(ProgressReport(activity, warning))

    def handle(request: Any) -> object:
        if not handlers:
            report("starting roscore")
            handlers.append(start(report))
        return handlers[0](request)

    with contextlib.suppress(EOFError, OSError):
        start = parent.recv()
        serve_requests(parent, handle)
    sys.stdout.flush()
    os._exit(0)  # rospy's threads would wait for the master, which ends with this process


if __name__ == "__main__":
    _serve()
