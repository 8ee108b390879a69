"""Requests and replies over a pipe; a thread serves as the child."""

import multiprocessing
import threading
import time

import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.processes.remote import (
    NoReplyError,
    ProgressReport,
    RemoteTraceback,
    send_request,
    serve_requests,
)


def _fail():
    raise ValueError("cannot be unpickled")


class Unsendable(Exception):
    """An error that can be pickled but not unpickled."""

    def __init__(self, text, number):
        super().__init__(text)

    def __reduce__(self):  # without it, tblib can unpickle the error after an import of Dask
        return _fail, ()


class UnsendableSimulatorError(Unsendable, SimulatorError):
    """A simulator error that can be pickled but not unpickled."""


@pytest.fixture
def child():
    """Return a function that starts a child with a handler and returns the connection to it."""
    ours, theirs = multiprocessing.Pipe()
    threads = []

    def start(handle):
        def run():
            serve_requests(theirs, lambda request: handle(request, theirs))
            theirs.close()

        threads.append(threading.Thread(target=run, daemon=True))
        threads[0].start()
        return ours

    yield start
    ours.close()
    threads[0].join(10.0)
    assert not threads[0].is_alive()


def raises(error):
    def handle(_request, _parent):
        raise error

    return handle


def test_child_process_handles_requests_in_order(child):
    connection = child(lambda request, _: request + 1)
    assert [send_request(connection, number, 10.0) for number in (1, 2)] == [2, 3]


def test_error_of_the_child_process_has_its_traceback_as_cause(child):
    with pytest.raises(ValueError, match="wrong") as caught:
        send_request(child(raises(ValueError("wrong"))), "drive", 10.0)
    assert isinstance(caught.value.__cause__, RemoteTraceback)
    assert "in handle" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Unsendable("wrong", 1), RuntimeError),
        (UnsendableSimulatorError("wrong", 1), SimulatorError),
        (SystemExit("wrong"), RuntimeError),
    ],
)
def test_error_that_cannot_be_pickled_keeps_its_text_and_kind(child, error, kind):
    connection = child(raises(error))
    for _ in range(2):  # the child continues to serve
        with pytest.raises(kind, match=f"{type(error).__name__}: wrong"):
            send_request(connection, "drive", 10.0)


def test_exit_of_the_child_process_ends_the_wait(child):
    def handle(_request, parent):
        parent.send(ProgressReport("driving"))
        parent.close()

    with pytest.raises(NoReplyError, match="driving") as caught:
        send_request(child(handle), "drive", 60.0)
    assert not caught.value.is_silent


def test_silence_of_the_child_process_ends_the_wait_after_the_timeout(child):
    proceed = threading.Event()
    with pytest.raises(NoReplyError, match="starting") as caught:
        send_request(child(lambda *_: proceed.wait(10.0)), "drive", 0.1)
    proceed.set()
    assert caught.value.is_silent


def test_progress_report_restarts_the_timeout(child):
    def handle(_request, parent):
        for _ in range(6):
            time.sleep(0.1)
            parent.send(ProgressReport("driving"))
        return "done"

    assert send_request(child(handle), "drive", 0.5) == "done"


def test_warning_of_a_child_process_is_logged_once_per_text_without_numbers(child, caplog):
    def handle(request, parent):
        for warning in ("", f"the goal tolerance is {request}", f"the goal tolerance is {request}"):
            parent.send(ProgressReport("driving", warning))

    connection = child(handle)
    for number in (0.25, 0.3):
        send_request(connection, number, 10.0)
    assert [record.getMessage() for record in caplog.records] == ["the goal tolerance is 0.25"]


def test_exception_before_a_wait_ends_the_wait(child):
    proceed = threading.Event()

    def check():
        raise KeyError("stopped")

    connection = child(lambda *_: proceed.wait(10.0))
    with pytest.raises(KeyError):
        send_request(connection, "drive", 60.0, check)
    proceed.set()


def test_child_ends_without_error_if_its_parent_died_before_reading_the_reply():
    """The connection is then reset, instead of closed."""
    ours, theirs = multiprocessing.Pipe()
    ours.send("request")

    def reply_to_nobody(_request):
        theirs.send(ProgressReport("replying"))
        ours.close()

    assert serve_requests(theirs, reply_to_nobody) is None
