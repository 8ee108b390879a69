"""Started commands end with the process that started them, even if it is killed."""

import os
import signal
import subprocess
import sys
import time

import pytest
from process_groups import await_members, gone, kill_watchdog, members

from gz_testauto.processes import free_port, free_ports, start_under_subreaper, start_with_watchdog

PROMPT_S = 10.0
"""Limit on the time from a signal to the exit; the processes sleep for 100 s."""

PARENT = """
import os, signal, sys, time
from pathlib import Path
from gz_testauto.processes import start_with_watchdog
for each in (signal.SIGINT, signal.SIGHUP):
    signal.signal(each, signal.SIG_DFL)  # `nohup … &` starts processes that ignore both
{more_descriptors}
process = start_with_watchdog(
    ["/bin/sh", "-c", "sleep 100 & sleep 100"],
    dict(os.environ),
    Path(sys.argv[1]) / "log",
    remove=[Path(sys.argv[1])],
)
print(process.pid, flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize("many_files_open", [False, True])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_death_of_the_parent_process_ends_all_processes_and_removes_files(
    tmp_path, end, many_files_open
):
    files = tmp_path / "the server's files"
    files.mkdir()
    more = "files = [open(os.devnull) for _ in range(30)]" if many_files_open else ""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(more_descriptors=more), str(files)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        group = int(parent.stdout.readline())
        deadline = time.monotonic() + 60
        while members(group) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert members(group) >= 3  # the command, its child, and the watcher
        parent.send_signal(end)
        assert parent.wait(PROMPT_S) == -end
        assert gone(group, PROMPT_S)
    finally:
        parent.kill()
        parent.communicate(timeout=60)
    assert list(tmp_path.iterdir()) == []


ALONE = """
import os, sys, threading, time
from pathlib import Path
from gz_testauto.processes import start_with_watchdog
def start():
    process = start_with_watchdog(["sleep", "100"], dict(os.environ), Path(sys.argv[1]))
    print(process.pid, flush=True)
thread = threading.Thread(target=start)
thread.start()
thread.join()
print("the thread has ended", flush=True)
time.sleep(100)
"""


def test_command_ends_with_its_parent_process_and_not_with_the_starting_thread(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", ALONE, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    )
    group = int(parent.stdout.readline())
    parent.stdout.readline()
    kill_watchdog(group)
    await_members(group, 1)
    assert not gone(group, timeout_s=0.5)
    parent.kill()
    parent.communicate(timeout=60)
    assert gone(group)


def test_kill_ends_a_command_whose_watchdog_was_killed(tmp_path):
    process = start_with_watchdog(["sleep", "100"], dict(os.environ), tmp_path / "log")
    kill_watchdog(process.pid)
    process.kill()
    process.kill()
    assert process.poll() == -signal.SIGKILL
    assert gone(process.pid)


def test_process_that_ignores_an_exit_request_runs_until_it_is_killed(tmp_path):
    script = 'trap "" TERM; echo up; while :; do sleep 0.1; done'
    process = start_with_watchdog(["sh", "-c", script], dict(os.environ), tmp_path / "log")
    deadline = time.monotonic() + 60
    while "up" not in (tmp_path / "log").read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.request_exit(signal.SIGTERM, 0.2)
    assert process.poll() is None
    process.kill()
    assert gone(process.pid)


def test_exit_status_of_a_child_process_is_that_of_the_command(tmp_path):
    process = start_with_watchdog(["sh", "-c", "exit 3"], dict(os.environ), tmp_path / "log")
    process.request_exit(signal.SIGCONT, 60)
    assert process.poll() == 3
    process.kill()
    assert gone(process.pid)


NODE = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    print(os.getpid(), flush=True)
time.sleep(100)
"""


def test_subreaper_kills_processes_that_left_the_process_group(tmp_path):
    log = tmp_path / "log"
    process = start_under_subreaper([sys.executable, "-c", NODE], dict(os.environ), log)
    deadline = time.monotonic() + 60
    while not log.read_text().endswith("\n") and time.monotonic() < deadline:
        time.sleep(0.02)
    node = int(log.read_text())
    assert members(node) == 1
    process.kill()
    assert gone(node)
    assert gone(process.pid)


PARENT_OF_POLLING_CHILD = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
time.sleep(100)
"""
POLLING_CHILD = """
import os, time
from gz_testauto.processes import on_parent_exit
parent = {parent}
print(os.getpid(), flush=True)
on_parent_exit(parent, lambda: os._exit(1))
time.sleep(100)
"""


@pytest.mark.parametrize("expected", ["os.getppid()", "None"])
def test_process_that_polls_for_its_parent_exits_with_the_parent(expected):
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            PARENT_OF_POLLING_CHILD,
            POLLING_CHILD.format(parent=expected),
        ],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    parent.stdout.readline()
    if expected == "None":
        await_members(parent.pid, 1)  # the child has exited
    parent.kill()
    parent.communicate(timeout=60)
    assert gone(parent.pid)


def test_free_port_is_unprivileged():
    assert 1024 <= free_port() <= 65535


def test_free_ports_of_one_call_differ():
    assert len(set(free_ports(20))) == 20
