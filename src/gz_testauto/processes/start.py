"""Start commands that exit with this process, even if it is killed; find free ports.

The parent process of a command, a watchdog or a subreaper, reads from a pipe whose write end this
process holds. The pipe closes when this process exits. If this process forks without exec, the
child keeps the pipe open.
"""

import contextlib
import os
import queue
import shlex
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Callable, ContextManager, List, Mapping, Optional, Sequence, Tuple, TypeVar

from gz_testauto.processes import subreaper

Result = TypeVar("Result")

# The pipe is passed as standard input: a shell may not support descriptors above 9.
_WATCHDOG_SCRIPT = (
    "exec 3<&0 </dev/null; ( read -r _ <&3; {remove} kill -s KILL -- -$$ ) >/dev/null 2>&1 & "
    'exec 3<&-; exec "$@"'
)
# Replaces itself by the command, which inherits the setting. 1 is PR_SET_PDEATHSIG, 9 SIGKILL.
_PDEATHSIG_WRAPPER = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    os.kill(os.getpid(), 9)
os.execvp(sys.argv[2], sys.argv[2:])
"""


class ChildProcess:
    """A running command and all its descendants."""

    def __init__(self, process: "subprocess.Popen[bytes]", lifeline: int, one_group: bool) -> None:
        """Closing the file descriptor ``lifeline`` kills the command and its descendants.

        ``one_group`` means that they all belong to the process group of ``process``.
        """
        self._process = process
        self._lifeline: Optional[int] = lifeline
        self._one_group = one_group

    @property
    def pid(self) -> int:
        """Return the process ID of the command, or of its subreaper if it has one."""
        return self._process.pid

    def poll(self) -> Optional[int]:
        """Return the exit status, negative for a signal, or None while it runs."""
        return self._process.poll()

    def request_exit(self, number: int, timeout_s: float) -> None:
        """Send the signal ``number``; wait up to ``timeout_s`` of wall time, without an error."""
        if self._process.poll() is None:
            self._process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)

    def kill(self) -> None:
        """Kill the command and all its descendants. Idempotent."""
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
    """Start ``command`` in a new session that ends when this process ends.

    If this process exits first, the watchdog deletes the files and directories in ``remove``.
    Another thread starts the command inside the context manager ``within``.
    """
    removal = f"rm -rf -- {' '.join(shlex.quote(str(path)) for path in remove)};" if remove else ""
    shell = ["/bin/sh", "-c", _WATCHDOG_SCRIPT.format(remove=removal), "gz_testauto"]
    wrapper = [sys.executable, "-I", "-S", "-c", _PDEATHSIG_WRAPPER, str(os.getpid())]
    return _start([*shell, *wrapper, *command], environment, log_file, within=within)


def start_under_subreaper(
    command: Sequence[str],
    environment: Mapping[str, str],
    log_file: Path,
    pass_fds: Sequence[int] = (),
) -> ChildProcess:
    """Start ``command``. Its descendants, in any session, end with it or with this process."""
    program = [sys.executable, "-I", "-S", subreaper.__file__]
    return _start([*program, *command], environment, log_file, one_group=False, pass_fds=pass_fds)


def _start(
    command: Sequence[str],
    environment: Mapping[str, str],
    log_file: Path,
    one_group: bool = True,
    pass_fds: Sequence[int] = (),
    within: Optional[ContextManager[Any]] = None,
) -> ChildProcess:
    read_end, write_end = os.pipe()

    def start() -> "subprocess.Popen[bytes]":
        with within or contextlib.nullcontext(), log_file.open("wb") as log:
            return subprocess.Popen(
                command,
                stdin=read_end,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
                pass_fds=pass_fds,
            )

    try:
        # One thread starts all commands: PR_SET_PDEATHSIG kills a command when the thread exits
        # that started it.
        process = _starter_thread().run(start)
    except BaseException:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    return ChildProcess(process, write_end, one_group)


class _StarterThread:
    def __init__(self) -> None:
        self.process = os.getpid()
        self._calls: queue.SimpleQueue[Tuple[Callable[[], Any], Future[Any]]]
        self._calls = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="starter", daemon=True).start()

    def run(self, call: Callable[[], Result]) -> Result:
        future: Future[Result] = Future()
        self._calls.put((call, future))
        return future.result()

    def _serve(self) -> None:
        while True:
            call, future = self._calls.get()
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)


_thread: Optional[_StarterThread] = None
_thread_lock = threading.Lock()


def _starter_thread() -> _StarterThread:
    global _thread
    with _thread_lock:
        if _thread is None or _thread.process != os.getpid():
            _thread = _StarterThread()
        return _thread


def cpu_time_s(pid: int) -> float:
    """Return the CPU time (s) that a process has used, or 0 if there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return 0.0
    # utime and stime of proc(5), counted from the state
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """Return a TCP port of the loopback interface that is currently free."""
    return free_ports(1)[0]


def free_ports(count: int) -> List[int]:
    with contextlib.ExitStack() as open_sockets:
        probes = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
