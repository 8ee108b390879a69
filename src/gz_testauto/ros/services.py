"""Whether somebody serves a service, asked with a limit in wall time."""

import rospy


def is_served(service: str, timeout_s: float) -> bool:
    """Whether it answers, or begins to within ``timeout_s``."""
    try:
        rospy.wait_for_service(service, timeout=timeout_s)
    except (rospy.ROSException, rospy.ROSInterruptException):
        return False
    return True
