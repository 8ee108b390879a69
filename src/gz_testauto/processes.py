"""Processes that end with the one that started them, however that ends.

Owns two independent ways, so that each may be killed first. A watcher holds the read end of a
pipe from us: whatever ends this process, SIGKILL included, closes the pipe, and the watcher then
removes the process's files and kills its whole group. And the kernel itself kills the process
(not its children) when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG), which is
why all are started by one thread that lasts as long as we do.
(A process that this one forked without exec keeps the pipe open for as long as it lives.)
"""

import contextlib
import os
import queue
import shlex
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Callable, ContextManager, Mapping, Optional, Sequence, Tuple, TypeVar

Answer = TypeVar("Answer")

# The lifeline comes as standard input: a shell may know no descriptors above 9 by number.
_WATCHED_START = (
    "exec 3<&0 </dev/null; ( read -r _ <&3; {remove} kill -s KILL -- -$$ ) >/dev/null 2>&1 & "
    'exec 3<&-; exec "$@"'
)
# Becomes the command, which keeps what is set here. 1 is PR_SET_PDEATHSIG, 9 SIGKILL.
_TIED_START = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    os.kill(os.getpid(), 9)
os.execvp(sys.argv[2], sys.argv[2:])
"""


def start_watched(
    command: Sequence[str],
    environment: Mapping[str, str],
    log_file: Path,
    remove: Sequence[Path] = (),
    within: Optional[ContextManager[Any]] = None,
) -> "Tuple[subprocess.Popen[bytes], int]":
    """Start ``command`` in a session of its own that ends when this process ends, and takes what
    is to ``remove`` with it then. ``within`` is entered by the thread that starts it.

    Returns the process and the file descriptor of the lifeline; closing that kills the
    command's whole process group.
    """
    removal = f"rm -rf -- {' '.join(shlex.quote(str(path)) for path in remove)};" if remove else ""
    shell = ["/bin/sh", "-c", _WATCHED_START.format(remove=removal), "gz_testauto"]
    tie = [sys.executable, "-I", "-S", "-c", _TIED_START, str(os.getpid())]
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
    return process, write_end


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
