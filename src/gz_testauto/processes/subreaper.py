"""Run a command, and kill all its descendants when it exits or standard input closes::

    python subreaper.py COMMAND [ARGUMENT ...]

This program uses only the standard library. It is a *subreaper* (prctl(2)): the kernel makes it the
parent of each descendant whose parent exits. SIGTERM and SIGINT are forwarded to the command. The
exit status is that of the command, or 128 + the signal number if a signal killed it.
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
    children: Dict[int, List[int]] = {}
    zombies: Set[int] = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as stat:
                    fields = stat.read().rpartition(b") ")[2].split()
            except OSError:  # the process has just exited
                continue
            children.setdefault(int(fields[1]), []).append(int(entry))
            if fields[0] == b"Z":
                # A zombie's children still count, because its other threads can run.
                zombies.add(int(entry))
    descendant_pids: Set[int] = set()
    pending_pids = [root]
    while pending_pids:
        new_pids = [
            pid for pid in children.get(pending_pids.pop(), []) if pid not in descendant_pids
        ]
        descendant_pids.update(new_pids)
        pending_pids += new_pids
    return descendant_pids - zombies


def kill_all() -> None:
    """Kill all descendants of this process, and those that start in the meantime."""
    while True:
        pids = descendants(os.getpid())
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        reap()
        if not pids:
            return
        select.select([], [], [], 0.01)


def reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main(command: List[str]) -> int:
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
        # If this process is killed, SIGTERM lets roslaunch stop its nodes.
        preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0),  # single thread
    )

    def forward(number: int, frame: object) -> None:
        if child.returncode is None:
            os.kill(child.pid, number)

    signal.signal(signal.SIGTERM, forward)
    signal.signal(signal.SIGINT, forward)
    while child.poll() is None:
        ready_files, _, _ = select.select([sys.stdin.fileno(), wake_read], [], [])
        if sys.stdin.fileno() in ready_files and not os.read(sys.stdin.fileno(), 4096):
            kill_all()
            return 128 + signal.SIGKILL
        if wake_read in ready_files:
            os.read(wake_read, 4096)
    kill_all()
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
