"""The exit of the ROS master is reported, and costs no attempt of a trial."""

import os
import subprocess
import sys
import time
import types

import pytest
import rosgraph

from gz_testauto.base.errors import MasterError, NavigatorError, SimulatorError
from gz_testauto.processes import free_port
from gz_testauto.ros import graph
from gz_testauto.ros.campaign.executor import RosTrialExecutor
from gz_testauto.ros.graph import require_master

NODE = """
import sys
import rospy
from gz_testauto.ros.node import run_node

def main():
    print("up", flush=True)
    sys.stdin.readline()
    return int(rospy.get_param("/nothing", 0))

sys.exit(run_node("lonely", main, own_signals=True))
"""


@pytest.fixture
def master(monkeypatch):
    """The process of a separate ROS master."""
    port = free_port()
    monkeypatch.setenv("ROS_MASTER_URI", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("ROS_IP", "127.0.0.1")
    process = subprocess.Popen(["rosmaster", "--core", "-p", str(port)], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60.0
    while not rosgraph.is_master_online():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    yield process
    process.kill()
    process.wait(60)


def executor_that_raises(error):
    """Return an executor whose trials raise an error at their start."""

    def fail(trial):
        raise error

    executor = object.__new__(RosTrialExecutor)
    executor._bed = types.SimpleNamespace(actors=fail)
    return executor


@pytest.mark.slow
def test_a_node_whose_master_exits_reports_it_without_a_traceback(master):
    node = subprocess.Popen(
        [sys.executable, "-c", NODE],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert node.stdout.readline() == "up\n"
        master.kill()
        master.wait(60)
        _, err = node.communicate("continue\n", timeout=60.0)
    finally:
        node.kill()
    assert node.returncode == 2
    assert "not reachable" in err and "same command" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("error", [NavigatorError("no action"), SimulatorError("refused")])
def test_the_exit_of_the_master_is_no_attempt_of_a_trial(monkeypatch, error):
    monkeypatch.setenv("ROS_MASTER_URI", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(MasterError, match="not reachable"):
        executor_that_raises(error).execute(None, lambda: False)


@pytest.mark.parametrize("error", [OSError("refused"), SimulatorError("no scan")])
def test_a_restarted_master_is_reported(monkeypatch, error):
    processes = iter([7, 8])
    monkeypatch.setenv("ROS_MASTER_URI", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setattr(graph, "_first_master", {})  # an earlier test can have used this port
    monkeypatch.setattr(graph, "_master_process", lambda: next(processes))
    with pytest.raises(MasterError, match=r"was restarted.* same command"), require_master():
        raise error


def test_errors_do_not_change_while_the_master_is_reachable(master):
    with pytest.raises(NavigatorError, match="no action"):
        executor_that_raises(NavigatorError("no action")).execute(None, lambda: False)
    with pytest.raises(FileNotFoundError), require_master():
        raise FileNotFoundError("a launch file")
