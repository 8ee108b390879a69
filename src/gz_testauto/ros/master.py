"""Start of a separate ROS master for trials, on the loopback interface.

This module does not import rospy, which would connect to the master of the environment.
"""

import contextlib
import os
import time
import xmlrpc.client
from pathlib import Path
from typing import Any, Dict, Iterator

from gz_testauto.base.errors import ConfigurationError, SimulatorError
from gz_testauto.processes import free_ports
from gz_testauto.processes.subreaper import descendants
from gz_testauto.ros.launched_process import LaunchedProcess

ATTEMPTS = 5
# output of a roscore that exits because of an invalid ``package.xml``
INVALID_PACKAGE = "InvalidPackage: "
POLL_S = 0.05
LOOPBACK = "127.0.0.1"
NOT_INHERITED = ("ROS_HOSTNAME", "ROS_NAMESPACE", "ROS_MASTER_URI")
# Gazebo's model database without a server, so that no model is downloaded
DEAD_ADDRESS = "http://127.0.0.1:9/"


@contextlib.contextmanager
def master_faults() -> Iterator[None]:
    """Replace a ``ConnectionError`` in this context by ``SimulatorError``. rospy raises it if it
    does not reach the master of the trial.
    """
    try:
        yield
    except ConnectionError as error:
        raise SimulatorError(f"the ROS master of the trial does not respond ({error})") from error


def isolate(master_port: int, gazebo_port: int, home: Path, logs: Path) -> None:
    for name in NOT_INHERITED:
        os.environ.pop(name, None)
    os.environ.setdefault("GAZEBO_MODEL_DATABASE_URI", DEAD_ADDRESS)
    os.environ.update(
        ROS_MASTER_URI=f"http://{LOOPBACK}:{master_port}",
        ROS_IP=LOOPBACK,
        ROS_HOME=str(home),
        ROS_LOG_DIR=str(logs),
        GAZEBO_MASTER_URI=f"http://{LOOPBACK}:{gazebo_port}",
        GAZEBO_IP=LOOPBACK,
        GAZEBO_HOSTNAME=LOOPBACK,
        GAZEBO_IP_WHITE_LIST=LOOPBACK,
        IGN_IP=LOOPBACK,
        IGN_PARTITION=f"gz_testauto_{os.getpid()}_{gazebo_port}",
    )


def start_master(home: Path, logs: Path, timeout_s: float) -> LaunchedProcess:
    """Start a roscore on a free port, and set the environment variables of this process to it.

    Raises ``SimulatorError`` after ``timeout_s`` of wall time without a response, and
    ``ConfigurationError`` for an invalid ``package.xml``.
    """
    home.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout_s
    failure = ""
    for _ in range(ATTEMPTS):
        # a new port, since the roscore has exited or another process uses the previous port
        port, gazebo_port = free_ports(2)
        isolate(port, gazebo_port, home, logs)
        core = LaunchedProcess("roscore", ["roscore", "-p", str(port)], logs / "00_roscore.log")
        failure = _await_master(core, port, deadline)
        if not failure:
            return core
        core.close()
        if INVALID_PACKAGE in failure:
            raise ConfigurationError(failure)
        if time.monotonic() >= deadline:
            raise SimulatorError(f"roscore did not start within {timeout_s:g} s: {failure}")
    raise SimulatorError(f"roscore did not start in {ATTEMPTS} attempts: {failure}")


def _await_master(core: LaunchedProcess, port: int, deadline: float) -> str:
    """Return "" when the master responds, or the reason why it failed. ``deadline`` is a time (s)
    of the monotonic clock."""
    while time.monotonic() < deadline:
        failure = core.failure()
        if failure:
            return failure
        answer = _query_master(port)
        # The master must be the process that was started.
        if answer.get("pid") in descendants(core.pid) and answer.get("rosout"):
            return ""
        if answer and answer.get("pid") not in descendants(core.pid):
            return f"another process uses port {port}"
        time.sleep(POLL_S)
    return "roscore does not respond"


def _query_master(port: int) -> Dict[str, object]:
    try:
        with xmlrpc.client.ServerProxy(f"http://{LOOPBACK}:{port}") as proxy:
            master: Any = proxy  # the responses of the master are untyped
            pid = master.getPid("/gz_testauto")[2]
            state = master.getSystemState("/gz_testauto")[2]
    except (OSError, xmlrpc.client.Error):
        return {}
    nodes = {node for endpoints in state for _, nodes in endpoints for node in nodes}
    return {"pid": pid, "rosout": "/rosout" in nodes}
