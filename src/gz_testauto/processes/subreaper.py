"""Runs a command and ends everything that came of it, however anybody ends.

A process of its own, with nothing but the standard library::

    python subreaper.py COMMAND [ARGUMENT ...]

Standard input is the lifeline: when it closes, because its other end was closed or because
whoever held that was killed, all descendants are killed. So they are when the command ends by
itself. Process groups are not enough: roslaunch gives every node a session of its own. This
process is therefore their *subreaper* (prctl(2)): what loses its parent becomes its child and
stays within reach. Should this process itself be killed, the kernel asks the command to end
(SIGTERM, upon which roslaunch ends its nodes), and what it leaves falls to the subreaper above.

SIGTERM and SIGINT are passed on to the command, so that it can end in good order. The exit
status is the command's, 128 + signal where that killed it.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
from typing import Dict, List, Set

PR_SET_CHILD_SUBREAPER = 36
PR_SET_PDEATHSIG = 1


def descendants(root: int) -> Set[int]:
    """All living processes below ``root``, by their parents in /proc.

    A zombie may have living children still: those of its threads that are not gone yet.
    """
    children: Dict[int, List[int]] = {}
    ended: Set[int] = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as stat:
                    fields = stat.read().rpartition(b") ")[2].split()
            except OSError:  # it has just ended
                continue
            children.setdefault(int(fields[1]), []).append(int(entry))
            if fields[0] == b"Z":
                ended.add(int(entry))
    found: Set[int] = set()
    waiting = [root]
    while waiting:
        new = [pid for pid in children.get(waiting.pop(), []) if pid not in found]
        found.update(new)
        waiting += new
    return found - ended


def kill_all() -> None:
    """Kill all descendants of this process, those that are born meanwhile too."""
    while True:
        below = descendants(os.getpid())
        for pid in below:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        reap()
        if not below:
            return
        select.select([], [], [], 0.01)


def reap() -> None:
    """Take the status of every child that has ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main(command: List[str]) -> int:
    """Run ``command`` until it ends or the lifeline closes."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        close_fds=False,
        preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0),  # one thread
    )

    def pass_on(number: int, frame: object) -> None:
        if child.returncode is None:
            os.kill(child.pid, number)

    signal.signal(signal.SIGTERM, pass_on)
    signal.signal(signal.SIGINT, pass_on)
    while child.poll() is None:
        ready, _, _ = select.select([sys.stdin.fileno(), wake_read], [], [])
        if sys.stdin.fileno() in ready and not os.read(sys.stdin.fileno(), 4096):
            kill_all()
            return 128 + signal.SIGKILL
        if wake_read in ready:
            os.read(wake_read, 4096)
    kill_all()
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
