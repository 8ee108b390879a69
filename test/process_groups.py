"""What is left of a process group, for tests of what ends with its owner."""

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


def kill_watcher(group):
    """Kill what would end a group with its owner: the child of its first process."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True)
        rows = (line.split(None, 2) for line in listed.stdout.splitlines())
        watchers = [
            int(pid) for pid, ppid, what in rows if int(ppid) == group and "read -r" in what
        ]
        if watchers:
            os.kill(watchers[0], signal.SIGKILL)
            return
    raise AssertionError(f"no watcher of {group}")


def gone(group, within_s=60.0):
    deadline = time.monotonic() + within_s
    while members(group):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
