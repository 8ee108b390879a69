"""A server ends with us, whatever ends us; and what is said when it does not start."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

from gz_testauto.errors import SimulatorError
from gz_testauto.processes import start_watched
from gz_testauto.simulators.gazebo import server
from gz_testauto.simulators.gazebo.installation import GazeboInstallation
from gz_testauto.simulators.gazebo.server import ServerProcess


def fake_gazebo(tmp_path, script):
    path = tmp_path / "gzserver"
    path.write_text("#!/bin/sh\n" + textwrap.dedent(script))
    path.chmod(0o755)
    return GazeboInstallation("system", "a fake", "11.0.0", (str(path),), None)


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


PARENT = """
import os, sys, time
from pathlib import Path
from gz_testauto.processes import start_watched
{more_descriptors}
process, lifeline = start_watched(
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
def test_everything_ends_when_we_are_ended(tmp_path, end, many_files_open):
    files = tmp_path / "the server's files"
    files.mkdir()
    more = "files = [open(os.devnull) for _ in range(30)]" if many_files_open else ""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(more_descriptors=more), str(files)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    group = int(parent.stdout.readline())
    deadline = time.monotonic() + 60
    while members(group) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert members(group) >= 3  # the command, its child, and the watcher
    parent.send_signal(end)
    parent.wait()
    parent.stdout.close()
    assert gone(group)
    assert list(tmp_path.iterdir()) == []


ALONE = """
import os, sys, threading, time
from pathlib import Path
from gz_testauto.processes import start_watched
def start():
    process, lifeline = start_watched(["sleep", "100"], dict(os.environ), Path(sys.argv[1]))
    print(process.pid, flush=True)
thread = threading.Thread(target=start)
thread.start()
thread.join()
print("the thread has ended", flush=True)
time.sleep(100)
"""


def test_a_process_whose_watcher_was_killed_first_ends_with_us_and_not_with_the_thread(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", ALONE, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    )
    group = int(parent.stdout.readline())
    parent.stdout.readline()
    kill_watcher(group)
    await_members(group, 1)
    assert not gone(group, within_s=0.5)
    parent.kill()
    parent.communicate()
    assert gone(group)


OWNER = """
import sys, time
from gz_testauto.simulators.gazebo.installation import GazeboInstallation
from gz_testauto.simulators.gazebo.server import ServerProcess
gazebo = GazeboInstallation("system", "a fake", "11.0.0", (sys.argv[1],), None)
process = ServerProcess(gazebo, "<sdf/>", seed=1)
print(process.pid, process.directory, flush=True)
time.sleep(100)
"""


@pytest.mark.slow
def test_directories_that_nobody_could_remove_go_with_the_next_server(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    script = 'mkdir -p "$HOME/.gazebo/server-${GAZEBO_MASTER_URI##*:}"; '
    gazebo = fake_gazebo(tmp_path, script + "echo Connected to gazebo master; exec sleep 100")
    lives = ServerProcess(gazebo, "<sdf/>", seed=1)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, *gazebo.server], stdout=subprocess.PIPE, text=True
    )
    group, orphan = owner.stdout.readline().split()
    kill_watcher(int(group))
    owner.kill()
    owner.communicate()
    assert gone(int(group))
    assert Path(orphan).exists()
    assert len(list((tmp_path / ".gazebo").iterdir())) == 2
    another = ServerProcess(gazebo, "<sdf/>", seed=1)
    try:
        assert not Path(orphan).exists()
        assert lives.directory.exists()
        assert len(list((tmp_path / ".gazebo").iterdir())) == 2
    finally:
        another.close()
        lives.close()
    assert list((tmp_path / ".gazebo").iterdir()) == []
    assert list(tmp_path.glob("*gz_testauto*")) == []


def test_closing_the_lifeline_ends_everything(tmp_path):
    process, lifeline = start_watched(["sleep", "100"], dict(os.environ), tmp_path / "log")
    os.close(lifeline)
    assert process.wait(timeout=60) == -signal.SIGKILL
    assert gone(process.pid)


def test_the_status_of_the_command_is_its_own(tmp_path):
    process, lifeline = start_watched(["sh", "-c", "exit 3"], dict(os.environ), tmp_path / "log")
    assert process.wait(timeout=60) == 3
    os.close(lifeline)
    assert gone(process.pid)


def test_a_server_that_does_not_start_is_quoted(tmp_path):
    gazebo = fake_gazebo(tmp_path, "echo 'Error: the sky is missing'; exit 7")
    with pytest.raises(SimulatorError, match=r"status 7.*the sky is missing"):
        ServerProcess(gazebo, "<sdf/>", seed=1)


def test_a_server_that_says_nothing_is_given_up(tmp_path):
    begun = time.monotonic()
    with pytest.raises(SimulatorError, match="did not start"):
        ServerProcess(fake_gazebo(tmp_path, "sleep 100"), "<sdf/>", seed=1, start_timeout_s=0.5)
    assert time.monotonic() - begun < 60


def test_a_port_that_was_taken_meanwhile_is_given_up_for_another(tmp_path, monkeypatch):
    ports = iter([7001, 7002])
    monkeypatch.setattr(server, "free_port", lambda: next(ports))
    gazebo = fake_gazebo(
        tmp_path,
        """
        case "$GAZEBO_MASTER_URI" in
          *7001) echo "Exception: Unable to start server[bind: Address already in use]"; exit 255;;
        esac
        echo "[Msg] Connected to gazebo master @ http://127.0.0.1"
        sleep 100
        """,
    )
    process = ServerProcess(gazebo, "<sdf/>", seed=1)
    try:
        assert process.port == 7002
        assert process.alive
    finally:
        process.close()


def test_closing_leaves_neither_process_nor_file(tmp_path):
    gazebo = fake_gazebo(tmp_path, "echo Connected to gazebo master; sleep 100")
    process = ServerProcess(gazebo, "<sdf/>", seed=1)
    group, directory = process.pid, process.directory
    process.close()
    process.close()
    assert gone(group)
    assert not directory.exists()


def test_the_world_and_the_seed_are_handed_over(tmp_path):
    gazebo = fake_gazebo(
        tmp_path,
        """
        for last; do :; done
        echo "[Msg] $*"; cat "$last"; echo; echo Connected to gazebo master; sleep 100
        """,
    )
    process = ServerProcess(gazebo, "<sdf>a world</sdf>", seed=42)
    try:
        said = "\n".join(process.log_lines())
    finally:
        process.close()
    assert "--seed 42" in said
    assert "-u" in said.split()
    assert "<sdf>a world</sdf>" in said


def test_what_was_said_after_a_mark_is_found_though_the_line_had_begun(tmp_path):
    gazebo = fake_gazebo(
        tmp_path,
        r"""
        printf 'Connected to gazebo master\n\033[0m'; read -r go < {go}
        printf '\033[1;31m[Err] late\033[0m\n'; sleep 100
        """.format(go=tmp_path / "go"),
    )
    os.mkfifo(tmp_path / "go")
    process = ServerProcess(gazebo, "<sdf/>", seed=1)
    try:
        mark = process.log_size()
        (tmp_path / "go").write_text("\n")
        deadline = time.monotonic() + 60
        while not process.complaints_since(mark) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.complaints_since(mark) == ["[Err] late"]
    finally:
        process.close()


def test_errors_are_told_from_other_talk(tmp_path):
    gazebo = fake_gazebo(
        tmp_path,
        r"""
        printf '\033[1;31m[Err] [Plugin.hh:178] Failed to load plugin libX.so\033[0m\n'
        echo "[Wrn] mind the gap"; echo Connected to gazebo master; sleep 100
        """,
    )
    process = ServerProcess(gazebo, "<sdf/>", seed=1)
    try:
        assert process.complaints_since(0) == [
            "[Err] [Plugin.hh:178] Failed to load plugin libX.so"
        ]
        assert process.complaints_since(process.log_size()) == []
        assert "libX.so" in process.fatal_complaint_since(0)
        assert "libX.so" in process.fatal_complaint_since(0, ["libY*"])
        assert process.fatal_complaint_since(0, ["libX.so"]) is None
    finally:
        process.close()
