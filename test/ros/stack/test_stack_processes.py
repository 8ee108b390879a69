"""All processes of a trial exit with it, and the cause of a death is reported."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gz_testauto.ros.launched_process import LaunchedProcess

# A node as roslaunch starts it: in a separate session; it ignores SIGINT and SIGTERM.
STUBBORN = """
import os, signal, subprocess, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
code = "import time; time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
open(sys.argv[1], "w").write(f"{os.getpid()} {child.pid}")
if len(sys.argv) > 2:
    sys.exit(int(sys.argv[2]))
time.sleep(600)
"""


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] not in ("Z", "X")
    except OSError:
        return False


def await_true(condition, timeout_s=60.0):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def pids_in(path):
    await_true(lambda: path.exists() and len(path.read_text().split()) == 2)
    return [int(pid) for pid in path.read_text().split()]


@pytest.fixture
def stubborn(tmp_path):
    parts = []

    def start(*arguments):
        told = tmp_path / "pids"
        command = [sys.executable, "-c", STUBBORN, str(told), *arguments]
        part = LaunchedProcess("a node", command, tmp_path / "log")
        parts.append(part)
        return part, pids_in(told)

    yield start
    for part in parts:
        part.close()


def test_close_kills_children_in_other_sessions(stubborn):
    part, pids = stubborn()
    assert all(map(lives, pids))
    part.close()
    assert not any(map(lives, pids))


def test_interrupt_kills_a_command_that_ignores_signals(stubborn):
    part, pids = stubborn()
    part.interrupt(0.2)
    assert not any(map(lives, pids))


def test_children_of_a_finished_command_are_killed(stubborn):
    part, pids = stubborn("3")
    await_true(lambda: part.failure() != "")
    assert "a node ended (status 3)" in part.failure()
    await_true(lambda: not any(map(lives, pids)))


def test_a_killed_command_is_reported_with_the_signal(stubborn):
    part, pids = stubborn()
    os.kill(pids[0], signal.SIGKILL)
    await_true(lambda: part.failure() != "")
    assert "a node ended (killed by SIGKILL)" in part.failure()


def test_nodes_flush_each_line_since_they_can_be_killed(tmp_path):
    code = (
        "import os; "
        "print([os.environ.get(f'{name}BUFFERED') "
        "for name in ('PYTHONUN', 'ROSCONSOLE_STDOUT_LINE_')])"
    )
    part = LaunchedProcess("a node", [sys.executable, "-c", code], tmp_path / "log", may_exit=True)
    try:
        await_true(lambda: "['1', '1']" in (tmp_path / "log").read_text())
    finally:
        part.close()


def test_the_death_of_a_node_is_detected_while_roslaunch_runs(tmp_path):
    said = "\033[0m[ INFO] [17951.7\033[31m[gazebo-2] process has died [pid 7, exit code -9, "
    said += "cmd /long/command __name:=gazebo]."
    code = f"import time; print({said!r}); time.sleep(600)"
    part = LaunchedProcess("stack.simulator", [sys.executable, "-c", code], tmp_path / "log")
    try:
        await_true(lambda: part.failure() != "")
        told = "stack.simulator: [gazebo-2] process has died [pid 7, exit code -9] (SIGKILL)"
        assert part.failure() == told
    finally:
        part.close()


@pytest.mark.parametrize(
    ("output", "is_invalid"),
    [
        ("RLException: error loading <rosparam> tag: \n\tfile does not exist [/a.yaml]\n", True),
        ("RLException: roslaunch file contains multiple nodes named [/n].\n", True),
        ("RLException: while processing /a.launch:\nInvalid roslaunch XML syntax: a\n", True),
        ("Resource not found: no_package\nROS path [0]=/ws\n", True),
        ("Value error: perhaps is not a 'bool' type\n", True),
        (
            'Traceback (most recent call last):\n  File "parent.py", line 164, in _load_config\n',
            True,
        ),
        ("RLException: Unable to contact my own server at [http://a:1/].\n", False),
        ("started roslaunch server http://a:1/\nRLException: command [a] failed: b\n", False),
        ("Segmentation fault\n", False),
    ],
)
def test_launch_file_that_roslaunch_rejects_is_distinguished_from_other_failures(
    tmp_path, output, is_invalid
):
    part = LaunchedProcess.__new__(LaunchedProcess)
    part.log_file = tmp_path / "log"
    part.log_file.write_text("... logging to /a.log\n" + output)
    assert part.launch_file_is_invalid() == is_invalid


DIED = """\
[Err] [REST.cc:205] Error in REST request
{noise}process[spawn-1]: started with pid [7]
Traceback (most recent call last):
  File "/opt/ros/noetic/lib/gazebo_ros/spawn_model", line 34, in <module>
ModuleNotFoundError: No module named 'tf'
[spawn-1] process has died [pid 7, exit code {code}, cmd spawn_model -urdf].
log file: /tmp/spawn-1*.log
"""


@pytest.mark.parametrize(
    ("noise", "code", "told"),
    [
        ("a line\n" * 40, 1, "; just before: ModuleNotFoundError: No module named 'tf'"),
        ("a line\n" * 40, -9, " (SIGKILL)"),
        ("a line\n" * 40, 137, " (SIGKILL)"),
        ("a line\n" * 40, -11,
         " (SIGSEGV); just before: ModuleNotFoundError: No module named 'tf'"),
        ("gzserver: error while loading shared libraries: libx.so: not found\n", 127,
         "; just before: gzserver: error while loading shared libraries: libx.so: not found"
         " | ModuleNotFoundError: No module named 'tf'"),
    ],
)  # fmt: skip
def test_errors_before_the_death_of_a_node_are_quoted(tmp_path, noise, code, told):
    said = DIED.format(noise=noise, code=code)
    part = LaunchedProcess(
        "stack.robot", [sys.executable, "-c", SAYS.format(said)], tmp_path / "log"
    )
    try:
        await_true(lambda: part.failure() != "")
        died = f"stack.robot: [spawn-1] process has died [pid 7, exit code {code}]"
        assert part.failure() == died + told
    finally:
        part.close()


def test_error_of_a_successful_start_is_not_quoted(tmp_path):
    said = DIED.format(noise="", code=1)
    usual = {"ModuleNotFoundError: No module named 'tf'"}
    command = [sys.executable, "-c", SAYS.format(said)]
    part = LaunchedProcess("stack.robot", command, tmp_path / "log", usual=usual)
    try:
        await_true(lambda: part.failure() != "")
        assert part.failure().endswith("just before: [Err] [REST.cc:205] Error in REST request")
        assert "tf" not in part.log_excerpt()
        assert usual < part.error_signatures()
    finally:
        part.close()


LAUNCH = (
    """\
PARAMETERS
ERROR: cannot launch node of type [amcl/amcll]: Cannot locate node of type [amcll] in package [amcl]
process[move_base-2]: started with pid [12]
[ERROR] [1700000000.1, 3.2]: the map has no cells
[ERROR] [1700000001.1, 4.2]: the map has no cells
"""
    + "[ WARN] [1700000000.1]: TF_REPEATED_DATA ignoring data\n" * 20
)


@pytest.fixture
def launched(tmp_path):
    """A running roslaunch with this output."""
    part = LaunchedProcess(
        "stack.navigation", [sys.executable, "-c", SAYS.format(LAUNCH)], tmp_path / "log"
    )
    await_true(lambda: (tmp_path / "log").read_text().count("\n") > 20)
    yield part
    part.close()


SAYS = "import time; print({!r}, flush=True); time.sleep(600)"


def test_a_node_that_roslaunch_did_not_find_is_reported_but_is_no_death(launched):
    assert launched.node_not_found().startswith(
        "cannot launch node of type [amcl/amcll]: Cannot locate"
    )
    assert launched.failure() == ""


def test_errors_of_the_log_are_quoted_once_instead_of_its_last_lines(launched):
    first, second = launched.log_excerpt().split(" | ")
    assert first.startswith("ERROR: cannot launch node of type [amcl/amcll]")
    assert second == "[ERROR] [1700000000.1, 3.2]: the map has no cells"


def test_an_excluded_text_is_not_quoted(launched):
    assert launched.log_excerpt(excluding=launched.node_not_found()) == (
        "[ERROR] [1700000000.1, 3.2]: the map has no cells"
    )


OWNER = """
import sys, time
from pathlib import Path
from gz_testauto.ros.launched_process import LaunchedProcess
command = [sys.executable, "-c", sys.argv[2], sys.argv[1]]
part = LaunchedProcess("a node", command, Path(sys.argv[3]))
time.sleep(600)
"""


def test_all_processes_exit_when_the_parent_process_is_killed(tmp_path):
    told = tmp_path / "pids"
    command = [sys.executable, "-c", OWNER, str(told), STUBBORN, str(tmp_path / "log")]
    owner = subprocess.Popen(command)
    try:
        pids = pids_in(told)
    finally:
        owner.kill()
        owner.wait(60)
    await_true(lambda: not any(map(lives, pids)))


def test_processes_of_a_killed_subreaper_end_with_the_parent_subreaper(tmp_path):
    told = tmp_path / "pids"
    owner = [sys.executable, "-c", OWNER, str(told), STUBBORN, str(tmp_path / "log")]
    above = LaunchedProcess("a trial's process", owner, tmp_path / "above.log")
    try:
        pids = pids_in(told)
        os.kill(keeper_of(pids[0]), signal.SIGKILL)
        assert all(map(lives, pids))
    finally:
        above.close()
    assert not any(map(lives, pids))


POLITE = """
import os, signal, sys, time
def end(number, frame):
    open(sys.argv[1], "w").write("asked to end")
    sys.exit()
signal.signal(signal.SIGTERM, end)
print(os.getpid(), flush=True)
time.sleep(600)
"""


def test_a_command_receives_a_signal_when_its_subreaper_is_killed(tmp_path):
    told = tmp_path / "told"
    part = LaunchedProcess("a node", [sys.executable, "-c", POLITE, str(told)], tmp_path / "log")
    await_true(lambda: (tmp_path / "log").read_text().endswith("\n"))
    os.kill(part.pid, signal.SIGKILL)
    await_true(lambda: told.exists() and told.read_text() == "asked to end")
    part.close()


def keeper_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
