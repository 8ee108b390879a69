"""The process that speaks ROS for one worker: one master, one rospy node, one trial at a time.

Owns the order *environment first, then rospy*: rospy joins one master in its life. Started by
:mod:`~gz_testauto.ros.stack.executor`, from which it gets the campaign and then one trial after
the other by a pipe; it answers each with a result or an error, and meanwhile says what it is at.
Ends when the pipe closes. What it starts, its subreaper ends.
"""

import contextlib
import os
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any, Tuple

from gz_testauto.errors import GzTestautoError, MissingDependencyError
from gz_testauto.ros.stack.master import start_master
from gz_testauto.ros.stack.protocol import BUG, DOING, ERROR, RESULT, Setting


def main(descriptor: int) -> None:
    """Serve trials until the pipe at ``descriptor`` closes."""
    connection = Connection(descriptor)
    with contextlib.suppress(EOFError, BrokenPipeError):
        _serve(connection)


def _serve(connection: Connection) -> None:
    setting: Setting = connection.recv()
    drive: Any = None
    while True:
        trial = connection.recv()
        try:
            if drive is None:
                connection.send((DOING, "starting roscore"))
                drive = _open(setting, connection)
            answer: Tuple[str, object] = (RESULT, drive.execute(trial))
        except GzTestautoError as error:
            answer = (ERROR, error)
        except Exception:
            answer = (BUG, traceback.format_exc())
        connection.send(answer)


def _open(setting: Setting, connection: Connection) -> Any:
    home = setting.logs / "ros_home"
    home.mkdir(parents=True, exist_ok=True)
    core = start_master(home, setting.logs, setting.campaign.spec.stack.start_timeout_s)
    import rospy  # now that the environment names its master

    try:
        from gz_testauto.ros.stack.trial import StackDrive
    except ImportError as error:
        core.close()
        package = (error.name or "").partition(".")[0]
        if not package or package == "gz_testauto":
            raise
        raise MissingDependencyError(
            f"no ROS package {package} for Python, which a campaign with stack needs ({error}): "
            "install or build it, and source its workspace's setup.bash in this shell"
        ) from error

    rospy.set_param("/use_sim_time", True)
    rospy.init_node("gz_testauto_trial", disable_signals=True)
    return StackDrive(
        setting,
        home,
        core,
        lambda doing: connection.send((DOING, doing)),
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)  # rospy's threads wait for a master that is going down with us
