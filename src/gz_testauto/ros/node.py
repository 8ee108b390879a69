"""Start and end of the nodes of this package, and their parameters."""

import os
import signal
import sys
from pathlib import Path
from typing import Any, Callable, Mapping, Type, TypeVar

import rospy
from pydantic import ValidationError
from threadpoolctl import threadpool_limits

from gz_testauto.base.errors import GzTestautoError, SpecError
from gz_testauto.base.truncation import log_untruncated
from gz_testauto.processes import on_parent_exit
from gz_testauto.ros import LAUNCHER_PID
from gz_testauto.ros.graph import require_master
from gz_testauto.ros.interface import NodeParameters, user_directory
from gz_testauto.spec.loader import fault_text

Parameters = TypeVar("Parameters", bound=NodeParameters)


def run_node(name: str, main: Callable[[], int], own_signals: bool = False) -> int:
    """Register a ROS node, run ``main``, and return its exit status. A known error is logged, and
    the status is then 2.

    With ``own_signals``, ``main`` handles SIGINT and SIGTERM instead of rospy.
    """
    try:
        rospy.init_node(name, disable_signals=own_signals)
        end_with_launcher()
        # Nodes share the machine with a simulator: linear algebra uses only the calling thread.
        with threadpool_limits(limits=1, user_api="blas"), require_master():
            return main()
    except GzTestautoError as error:
        rospy.logfatal("%s", error)
        log_untruncated(error.full)
        return 2
    except rospy.ROSInterruptException:
        return 0


def read_parameters(kind: Type[Parameters]) -> Parameters:
    """Return the private parameters of this node, or raise ``SpecError`` with all invalid
    parameters."""
    node = rospy.get_name()
    parameters = rospy.get_param(node, {})
    try:
        return kind.model_validate(parameters, context={"source": user_directory()})
    except ValidationError as invalid:
        faults = [_fault_message(node, error) for error in invalid.errors()]
        raise SpecError("\n".join(faults)) from None


def _fault_message(node: str, error: Mapping[str, Any]) -> str:
    name = f"parameter {node}/" + ".".join(map(str, error["loc"]))
    return f"{name} is not set" if error["type"] == "missing" else fault_text(name, error)


def end_with_launcher() -> None:
    """Send SIGTERM to this process as soon as the roslaunch that started it has exited."""
    if not any(argument.startswith("__log:=") for argument in sys.argv):
        return  # started by a shell, rosrun or a test, which can exit before the node

    launcher = None if _launcher_is_init() else LAUNCHER_PID
    on_parent_exit(launcher, lambda: os.kill(os.getpid(), signal.SIGTERM))


def _launcher_is_init() -> bool:
    # init adopts a process whose roslaunch was killed; the first process of a container can be a
    # roslaunch with the id 1.
    return LAUNCHER_PID == 1 and b"ros" not in Path("/proc/1/cmdline").read_bytes()
