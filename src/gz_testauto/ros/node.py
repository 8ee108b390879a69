"""The boundary of every node: where a known error becomes one line and exit status 2.

Owns start and end, no more. A node ends by SIGINT or SIGTERM as rospy arranges it, and when
the roslaunch that started it is gone, however that ended: nobody else would end it then.
"""

import os
import signal
import sys
from typing import Callable

import rospy
from threadpoolctl import threadpool_limits

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.truncation import log_untruncated
from gz_testauto.processes import on_parent_exit
from gz_testauto.ros import LAUNCHER_PID
from gz_testauto.ros.services import needing_the_master


def run_node(name: str, main: Callable[[], int], own_signals: bool = False) -> int:
    """Register the node and run ``main``; return the exit status. Nodes take parameters and
    remappings (``name:=value``), no other arguments. With ``own_signals``, ``main`` handles
    SIGINT and SIGTERM itself.

    Linear algebra keeps to the thread it is called from: nodes share the machine with a
    simulator, and their matrices are small."""
    try:
        rospy.init_node(name, disable_signals=own_signals)
        end_with_launcher()
        with threadpool_limits(limits=1, user_api="blas"), needing_the_master():
            return main()
    except GzTestautoError as error:
        rospy.logfatal("%s", error)
        log_untruncated(error.full)
        return 2
    except rospy.ROSInterruptException:
        return 0


def end_with_launcher() -> None:
    """Have SIGTERM sent to this process once the roslaunch that started it has gone."""
    if not any(argument.startswith("__log:=") for argument in sys.argv):
        return  # started by hand, by rosrun or by a test: who starts it may go before it

    launcher = None if _is_init(LAUNCHER_PID) else LAUNCHER_PID
    on_parent_exit(launcher, lambda: os.kill(os.getpid(), signal.SIGTERM))


def _is_init(pid: int) -> bool:
    """Whether this is the first process, and not a roslaunch that a container begins with: it
    has taken us over from one that was killed while we started."""
    if pid != 1:
        return False
    with open("/proc/1/cmdline", "rb") as command:
        return b"ros" not in command.read()
