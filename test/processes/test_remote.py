"""Requests and answers over a pipe; the child is a thread here."""

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


def _refuse():
    raise ValueError("cannot be unpickled")


class Unsendable(Exception):
    """Can be pickled and not be unpickled."""

    def __init__(self, text, number):
        super().__init__(text)

    def __reduce__(self):  # without it, tblib can unpickle the error once Dask was imported
        return _refuse, ()


class UnsendableSimulatorError(Unsendable, SimulatorError):
    """One of a simulator."""


@pytest.fixture
def child():
    """A function that starts a child with a handler and returns the connection to it."""
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
    def handle(_request, _owner):
        raise error

    return handle


def test_requests_are_answered_in_order(child):
    line = child(lambda request, _: request + 1)
    assert [send_request(line, number, 10.0) for number in (1, 2)] == [2, 3]


def test_an_error_has_the_childs_traceback_as_its_cause(child):
    with pytest.raises(ValueError, match="wrong") as caught:
        send_request(child(raises(ValueError("wrong"))), "go", 10.0)
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
def test_an_error_that_cannot_be_sent_keeps_its_text_and_kind(child, error, kind):
    line = child(raises(error))
    for _ in range(2):  # the child serves on
        with pytest.raises(kind, match=f"{type(error).__name__}: wrong"):
            send_request(line, "go", 10.0)


def test_a_child_that_ends_is_not_waited_for(child):
    def handle(_request, owner):
        owner.send(ProgressReport("driving"))
        owner.close()

    with pytest.raises(NoReplyError, match="driving") as caught:
        send_request(child(handle), "go", 60.0)
    assert not caught.value.is_silent


def test_a_silent_child_is_given_up_after_the_timeout(child):
    proceed = threading.Event()
    with pytest.raises(NoReplyError, match="starting") as caught:
        send_request(child(lambda *_: proceed.wait(10.0)), "go", 0.1)
    proceed.set()
    assert caught.value.is_silent


def test_progress_postpones_the_timeout(child):
    def handle(_request, owner):
        for _ in range(6):
            time.sleep(0.1)
            owner.send(ProgressReport("driving"))
        return "done"

    assert send_request(child(handle), "go", 0.5) == "done"


def test_an_error_of_the_callers_check_ends_the_wait(child):
    proceed = threading.Event()

    def check():
        raise KeyError("stopped")

    line = child(lambda *_: proceed.wait(10.0))
    with pytest.raises(KeyError):
        send_request(line, "go", 60.0, check)
    proceed.set()
