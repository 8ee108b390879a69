"""Exchange requests and replies with a child process over one pipe.

The child replies to each request with a value, or with an error and its traceback, and can report
its progress before that. It serves until it receives None or the pipe closes, which happens when
its parent exits. The parent starts and stops the child.
"""

import contextlib
import functools
import pickle
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any, Callable, NamedTuple, Optional, Union

from gz_testauto.base.errors import SimulatorError

POLL_S = 0.05


class ProgressReport(NamedTuple):
    """The present activity of a child that processes a request."""

    doing: str


class Reply(NamedTuple):
    """The reply to one request: a value, or an error and its traceback in the child."""

    value: Any = None
    error: Optional[BaseException] = None
    trace: str = ""

    def result(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error from RemoteTraceback(self.trace)
        return self.value


class RemoteTraceback(Exception):
    """The traceback of an error in a child process, used as the cause of that error."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class NoReplyError(Exception):
    """The child process exited, or sent no message within the timeout (``is_silent``)."""

    def __init__(self, doing: str, is_silent: bool) -> None:
        super().__init__(doing)
        self.doing = doing
        """The last progress that the child reported."""
        self.is_silent = is_silent


def send_request(
    child: Connection,
    request: object,
    silence_timeout_s: float,
    before_each_wait: Optional[Callable[[], object]] = None,
) -> Any:
    """Send a request to a child and return the value of its reply.

    ``before_each_wait`` is called after each progress report and at least every :data:`POLL_S`; an
    exception of it ends the wait. Raises the child's error, or ``NoReplyError`` if the child exits
    or sends no message for ``silence_timeout_s`` of wall time. After any exception except the
    child's error, the caller must close the connection.
    """
    doing = "starting"
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
                doing, deadline_s = message.doing, time.monotonic() + silence_timeout_s
            elif time.monotonic() >= deadline_s:
                raise NoReplyError(doing, is_silent=True)
    except (EOFError, OSError) as error:
        raise NoReplyError(doing, is_silent=False) from error
    return message.result()


def receive_message(child: Connection) -> Union[Reply, ProgressReport]:
    """Return the next message of a child; if it cannot be unpickled, a reply with the error.

    Raises ``EOFError`` or ``OSError`` if the child has exited.
    """
    try:
        message: Union[Reply, ProgressReport] = child.recv()
    except (EOFError, OSError):
        raise
    except Exception as error:
        return Reply(error=error)
    return message


def serve_requests(parent: Connection, handle: Callable[[Any], Any]) -> None:
    """Reply to each request of the parent with the result of ``handle``.

    Returns when the parent sends None or closes the pipe.
    """
    with contextlib.suppress(EOFError, OSError):
        for request in iter(parent.recv, None):
            send_reply(parent, functools.partial(handle, request))


def send_reply(parent: Connection, act: Callable[[], Any]) -> None:
    """Send the result of ``act``, or its error.

    An error that cannot be pickled and unpickled, and an exception such as ``SystemExit`` that is
    not an ``Exception``, is replaced by one with the same text: a ``SimulatorError`` if it was one,
    otherwise a ``RuntimeError``.
    """
    try:
        message = Reply(act())
    except BaseException as error:
        message = Reply(None, _sendable(error), traceback.format_exc())
    with contextlib.suppress(ConnectionError):  # the parent has exited; this process will too
        parent.send(message)


def _sendable(error: BaseException) -> BaseException:
    with contextlib.suppress(Exception):
        pickle.loads(pickle.dumps(error))  # some errors can be pickled but not unpickled
        if isinstance(error, Exception):
            return error
    kind = SimulatorError if isinstance(error, SimulatorError) else RuntimeError
    return kind(f"{type(error).__name__}: {error}")
