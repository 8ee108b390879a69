"""Whether somebody serves a service, asked with a limit in wall time, and what is to be said when
the ROS master has gone, which everything else is asked of."""

import contextlib
import os
from typing import Iterator

import rosgraph
import rospy

from gz_testauto.base.errors import MasterError, NavigatorError, SimulatorError


def is_served(service: str, timeout_s: float) -> bool:
    """Whether it answers, or begins to within ``timeout_s``."""
    try:
        rospy.wait_for_service(service, timeout=timeout_s)
    except (rospy.ROSException, rospy.ROSInterruptException):
        return False
    return True


@contextlib.contextmanager
def needing_the_master() -> Iterator[None]:
    """Tell what the end of the ROS master brought about from any other failure: raises
    ``MasterError`` then. roslaunch only notices the end of a master that it started itself."""
    try:
        yield
    except (OSError, SimulatorError, NavigatorError) as error:
        if rosgraph.is_master_online():
            raise
        raise MasterError(
            f"the ROS master at {os.environ.get('ROS_MASTER_URI')} has gone; what is finished is "
            "safe: give the same command again"
        ) from error
