"""A ROS master and a Gazebo master of a trial's own: ports, directories, environment.

Owns that no two trials, and no roscore of the user's, ever meet: ports are chosen free, the
master that answers is checked to be the one that was started, and everything stays on loopback.
Imports nothing of rospy, which joins the master that the environment names when it is imported.
"""

import contextlib
import os
import time
import xmlrpc.client
from pathlib import Path
from typing import Any, Dict, Iterator

from gz_testauto.base.errors import SimulatorError
from gz_testauto.processes import free_ports
from gz_testauto.processes.subreaper import descendants
from gz_testauto.ros.launched_process import LaunchedProcess

ATTEMPTS = 5
POLL_S = 0.05
LOOPBACK = "127.0.0.1"
NOT_INHERITED = ("ROS_HOSTNAME", "ROS_NAMESPACE", "ROS_MASTER_URI")
DEAD_ADDRESS = "http://127.0.0.1:9/"
"""Where Gazebo looks for models on the network, unless the user says: nowhere."""


@contextlib.contextmanager
def master_faults() -> Iterator[None]:
    """Raise ``SimulatorError`` where a call of rospy finds its master gone: what the master was
    part of has failed, not the program that asked it."""
    try:
        yield
    except ConnectionError as error:
        raise SimulatorError(f"the ROS master of the trial does not answer ({error})") from error


def isolate(master_port: int, gazebo_port: int, home: Path, logs: Path) -> None:
    """Make this process, and all that it starts, speak to these masters only."""
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
    """Start a roscore on a free port and point the environment at it. Another is tried where it
    ends or somebody took its port, and none where it is only slow: raises ``SimulatorError`` when
    none has come up after ``timeout_s`` of wall time."""
    deadline = time.monotonic() + timeout_s
    trouble = ""
    for _ in range(ATTEMPTS):
        port, gazebo_port = free_ports(2)
        isolate(port, gazebo_port, home, logs)
        core = LaunchedProcess("roscore", ["roscore", "-p", str(port)], logs / "00_roscore.log")
        trouble = _await_master(core, port, deadline)
        if not trouble:
            return core
        core.close()
        if time.monotonic() >= deadline:
            raise SimulatorError(f"no roscore after {timeout_s:g} s: {trouble}")
    raise SimulatorError(f"no roscore after {ATTEMPTS} attempts: {trouble}")


def _await_master(core: LaunchedProcess, port: int, deadline: float) -> str:
    """Wait for the master; return why there is none, or nothing."""
    while time.monotonic() < deadline:
        trouble = core.trouble()
        if trouble:
            return trouble
        answer = _ask(port)
        if answer.get("pid") in descendants(core.pid) and answer.get("rosout"):
            return ""
        if answer and answer.get("pid") not in descendants(core.pid):
            return f"port {port} was taken meanwhile"
        time.sleep(POLL_S)
    return "it does not answer"


def _ask(port: int) -> Dict[str, object]:
    """The process that is master at a port, and whether rosout has joined it."""
    try:
        with xmlrpc.client.ServerProxy(f"http://{LOOPBACK}:{port}") as proxy:
            master: Any = proxy  # what a master answers has no types
            pid = master.getPid("/gz_testauto")[2]
            state = master.getSystemState("/gz_testauto")[2]
    except (OSError, xmlrpc.client.Error):
        return {}
    nodes = {node for part in state for _, nodes in part for node in nodes}
    return {"pid": pid, "rosout": "/rosout" in nodes}
