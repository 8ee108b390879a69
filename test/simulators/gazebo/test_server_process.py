"""Start, log and cleanup of a gzserver process."""

import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest
from process_groups import gone, kill_watchdog

from gz_testauto.base.errors import SimulatorError
from gz_testauto.simulators.gazebo import server
from gz_testauto.simulators.gazebo.installation import GazeboInstallation
from gz_testauto.simulators.gazebo.server import ServerProcess


def fake_gazebo(tmp_path, script):
    path = tmp_path / "gzserver"
    path.write_text("#!/bin/sh\n" + textwrap.dedent(script))
    path.chmod(0o755)
    return GazeboInstallation("system", "a fake", "11.0.0", (str(path),), None)


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
def test_orphaned_directories_are_removed_by_the_next_server(tmp_path, monkeypatch):
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
    kill_watchdog(int(group))
    owner.kill()
    owner.communicate(timeout=60)
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


def test_start_error_contains_the_log_of_the_server(tmp_path):
    gazebo = fake_gazebo(tmp_path, "echo 'Error: the sky is missing'; exit 7")
    with pytest.raises(SimulatorError, match=r"status 7.*the sky is missing"):
        ServerProcess(gazebo, "<sdf/>", seed=1)


def test_start_of_a_silent_server_times_out(tmp_path):
    begun = time.monotonic()
    with pytest.raises(SimulatorError, match="did not start"):
        ServerProcess(fake_gazebo(tmp_path, "sleep 100"), "<sdf/>", seed=1, start_timeout_s=0.5)
    assert time.monotonic() - begun < 60


def test_port_in_use_is_replaced_by_a_free_port(tmp_path, monkeypatch):
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


def test_closing_the_server_removes_its_process_and_files(tmp_path):
    gazebo = fake_gazebo(tmp_path, "echo Connected to gazebo master; sleep 100")
    process = ServerProcess(gazebo, "<sdf/>", seed=1)
    group, directory = process.pid, process.directory
    process.close()
    process.close()
    assert gone(group)
    assert not directory.exists()


def test_server_gets_world_and_seed(tmp_path):
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


def test_errors_since_returns_a_line_that_was_incomplete_at_the_mark(tmp_path):
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
        while not process.errors_since(mark) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.errors_since(mark) == ["[Err] late"]
    finally:
        process.close()


def test_errors_since_returns_only_errors(tmp_path):
    gazebo = fake_gazebo(
        tmp_path,
        r"""
        printf '\033[1;31m[Err] [Plugin.hh:178] Failed to load plugin libX.so\033[0m\n'
        echo "[Wrn] mind the gap"; echo Connected to gazebo master; sleep 100
        """,
    )
    process = ServerProcess(gazebo, "<sdf/>", seed=1)
    try:
        assert process.errors_since(0) == ["[Err] [Plugin.hh:178] Failed to load plugin libX.so"]
        assert process.errors_since(process.log_size()) == []
        assert "libX.so" in process.fatal_error_since(0)
        assert "libX.so" in process.fatal_error_since(0, ["libY*"])
        assert process.fatal_error_since(0, ["libX.so"]) is None
    finally:
        process.close()
