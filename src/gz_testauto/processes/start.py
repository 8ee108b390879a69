"""Starts commands that end with the process that starts them, however that ends.

A watched command has two independent ways, so that each may be killed first. A watcher holds the
read end of a pipe from us: whatever ends this process, SIGKILL included, closes the pipe, and the
watcher then removes the command's files and kills its whole group. And the kernel itself kills the
command (not its children) when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG), which
is why all are started by one thread that lasts as long as we do.
(A process that this one forked without exec keeps the pipe open for as long as it lives.)

Under a subreaper the pipe is the same, and who holds its read end is the command's parent:
:mod:`gz_testauto.processes.subreaper`.
"""

import contextlib
import os
import queue
import shlex
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Callable, ContextManager, Mapping, Optional, Sequence, Tuple, TypeVar

from gz_testauto.processes import subreaper

Answer = TypeVar("Answer")

# The lifeline comes as standard input: a shell may know no descriptors above 9 by number.
_WATCHED_START = (
    "exec 3<&0 </dev/null; ( read -r _ <&3; {remove} kill -s KILL -- -$$ ) >/dev/null 2>&1 & "
    'exec 3<&-; exec "$@"'
)
# Becomes the command, which keeps what is set here. 1 is PR_SET_PDEATHSIG, 9 SIGKILL.
_PDEATHSIG_WRAPPER = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    os.kill(os.getpid(), 9)
os.execvp(sys.argv[2], sys.argv[2:])
"""


class ChildProcess:
    """A command that was started here, and everything that comes of it."""

    def __init__(self, process: "subprocess.Popen[bytes]", lifeline: int, one_group: bool) -> None:
        """``lifeline`` is the file descriptor whose closing ends all; ``one_group`` whether all
        are in the process's group, which can then be killed whoever still watches."""
        self._process = process
        self._lifeline: Optional[int] = lifeline
        self._one_group = one_group

    @property
    def pid(self) -> int:
        """Of the command, which is also its process group, or of the subreaper above it."""
        return self._process.pid

    def poll(self) -> Optional[int]:
        """Its exit status, negative where a signal killed it; None while it runs."""
        return self._process.poll()

    def request_exit(self, number: int, timeout_s: float) -> None:
        """Send it a signal, and wait for its end for so long (wall time); it may go on."""
        if self._process.poll() is None:
            self._process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)

    def kill(self) -> None:
        """End it and all that comes of it, now. Idempotent."""
        if self._lifeline is None:
            return
        if self._one_group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        os.close(self._lifeline)
        self._lifeline = None
        self._process.wait()


def start_with_watchdog(
    command: Sequence[str],
    environment: Mapping[str, str],
    log_file: Path,
    remove: Sequence[Path] = (),
    within: Optional[ContextManager[Any]] = None,
) -> ChildProcess:
    """Start ``command`` in a session of its own that ends when this process ends, and takes what
    is to ``remove`` with it then. ``within`` is entered by the thread that starts it."""
    removal = f"rm -rf -- {' '.join(shlex.quote(str(path)) for path in remove)};" if remove else ""
    shell = ["/bin/sh", "-c", _WATCHED_START.format(remove=removal), "gz_testauto"]
    tie = [sys.executable, "-I", "-S", "-c", _PDEATHSIG_WRAPPER, str(os.getpid())]
    read_end, write_end = os.pipe()

    def start() -> "subprocess.Popen[bytes]":
        with within or contextlib.nullcontext(), log_file.open("wb") as log:
            return subprocess.Popen(
                [*shell, *tie, *command],
                stdin=read_end,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
            )

    try:
        process = _lasting_thread().run(start)
    except BaseException:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    return ChildProcess(process, write_end, one_group=True)


def start_under_subreaper(
    command: Sequence[str],
    environment: Mapping[str, str],
    log_file: Path,
    pass_fds: Sequence[int] = (),
) -> ChildProcess:
    """Start ``command`` below a subreaper, in a session of its own: what it starts ends with this
    process or with it, in whatever session that is. ``pass_fds`` are handed on to it."""
    read_end, write_end = os.pipe()
    try:
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", subreaper.__file__, *command],
                stdin=read_end,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
                pass_fds=pass_fds,
            )
    except BaseException:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    return ChildProcess(process, write_end, one_group=False)


class _LastingThread:
    """Does what it is given, one thing at a time, until the process ends."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._calls: queue.SimpleQueue[Tuple[Callable[[], Any], Future[Any]]]
        self._calls = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="starter", daemon=True).start()

    def run(self, call: Callable[[], Answer]) -> Answer:
        """Return or raise what ``call`` does on the thread."""
        future: Future[Answer] = Future()
        self._calls.put((call, future))
        return future.result()

    def _serve(self) -> None:
        while True:
            call, future = self._calls.get()
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)


_thread: Optional[_LastingThread] = None
_thread_lock = threading.Lock()


def _lasting_thread() -> _LastingThread:
    """Made when first asked for, and again in a process that was forked: threads do not follow."""
    global _thread
    with _thread_lock:
        if _thread is None or _thread.owner != os.getpid():
            _thread = _LastingThread()
        return _thread
