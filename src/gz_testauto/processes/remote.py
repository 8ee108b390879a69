"""Exchange requests and replies with a child process over one pipe.

The child can report progress before its reply. It exits when it receives None or the pipe closes.
"""

import contextlib
import functools
import logging
import pickle
import re
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any, Callable, NamedTuple, Optional, Set, Union

from gz_testauto.base.errors import SimulatorError

POLL_S = 0.05


LOGGER = logging.getLogger(__name__)
_logged_warnings: Set[str] = set()


class ProgressReport(NamedTuple):
    """The activity of a child process. A ``warning`` is logged once per text without numbers."""

    doing: str
    warning: str = ""


class Reply(NamedTuple):
    """The reply of a child process to a request: a value, or an error with its traceback."""

    value: Any = None
    error: Optional[BaseException] = None
    trace: str = ""

    def result(self) -> Any:
        if self.error is not None:
            raise self.error from RemoteTraceback(self.trace)
        return self.value


class RemoteTraceback(Exception):
    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class NoReplyError(Exception):
    """A child process exited, or sent no message in time (``is_silent``)."""

    def __init__(self, doing: str, is_silent: bool) -> None:
        super().__init__(doing)
        self.doing = doing
        self.is_silent = is_silent


def send_request(
    child: Connection,
    request: object,
    silence_timeout_s: float,
    before_each_wait: Optional[Callable[[], object]] = None,
) -> Any:
    """Send a request to a child process, wait for the reply, and return its value.

    ``before_each_wait`` is called at least every :data:`POLL_S`; it can raise an exception to stop
    the wait. Raises the error of the reply, or ``NoReplyError``. After an exception that is not
    from the reply, the caller must close the connection.
    """
    activity = "starting"
    try:
        child.send(request)
        deadline_s = time.monotonic() + silence_timeout_s
        while True:
            wait_s = max(deadline_s - time.monotonic(), 0.0)
            if before_each_wait is not None:
                before_each_wait()
                wait_s = min(wait_s, POLL_S)
            if child.poll(wait_s):
                message = receive_message(child)
                if isinstance(message, Reply):
                    break
                activity, deadline_s = message.doing, time.monotonic() + silence_timeout_s
                _log_once(message.warning)
            elif time.monotonic() >= deadline_s:
                raise NoReplyError(activity, is_silent=True)
    except (EOFError, OSError) as error:
        raise NoReplyError(activity, is_silent=False) from error
    return message.result()


def _log_once(warning: str) -> None:
    text = re.sub(r"\d", "", warning)  # numbers differ between trials
    if text and text not in _logged_warnings:
        _logged_warnings.add(text)
        LOGGER.warning("%s", warning)


def receive_message(child: Connection) -> Union[Reply, ProgressReport]:
    """Return the next message of a child process; a reply with an error if unpickling fails.

    Raises ``EOFError`` or ``OSError`` if the child process has exited.
    """
    try:
        message: Union[Reply, ProgressReport] = child.recv()
    except (EOFError, OSError):
        raise
    except Exception as error:
        return Reply(error=error)
    return message


def serve_requests(parent: Connection, handle: Callable[[Any], Any]) -> None:
    """Reply to each request with the result of ``handle``, until None or the end of the pipe."""
    with contextlib.suppress(EOFError, OSError):
        for request in iter(parent.recv, None):
            send_reply(parent, functools.partial(handle, request))


def send_reply(parent: Connection, act: Callable[[], Any]) -> None:
    """Call ``act``, and send its result or exception to the parent process."""
    try:
        message = Reply(act())
    except BaseException as error:
        # an error that cannot be pickled is replaced by its text
        message = Reply(None, _picklable_error(error), traceback.format_exc())
    with contextlib.suppress(ConnectionError):  # the parent has exited; this process will too
        parent.send(message)


def _picklable_error(error: BaseException) -> BaseException:
    with contextlib.suppress(Exception):
        pickle.loads(pickle.dumps(error))  # some errors can be pickled but not unpickled
        if isinstance(error, Exception):
            return error
    kind = SimulatorError if isinstance(error, SimulatorError) else RuntimeError
    return kind(f"{type(error).__name__}: {error}")
