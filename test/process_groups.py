"""Functions that inspect process groups, for tests of processes that end with their parent."""

import os
import signal
import subprocess
import time


def members(group):
    listed = subprocess.run(
        ["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True
    )
    rows = (line.split() for line in listed.stdout.splitlines())
    return sum(int(pgid) == group and not stat.startswith("Z") for pgid, stat in rows)


def await_members(group, count):
    deadline = time.monotonic() + 60
    while members(group) != count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def kill_watchdog(group):
    """Kill the watchdog of a group: the child of its first process that reads from the pipe."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True)
        rows = (line.split(None, 2) for line in listed.stdout.splitlines())
        watchdogs = [
            int(pid) for pid, ppid, args in rows if int(ppid) == group and "read -r" in args
        ]
        if watchdogs:
            os.kill(watchdogs[0], signal.SIGKILL)
            return
    raise AssertionError(f"group {group} has no watchdog")


def gone(group, timeout_s=60.0):
    deadline = time.monotonic() + timeout_s
    while members(group):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
