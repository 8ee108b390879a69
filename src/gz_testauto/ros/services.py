"""Registers the services of a node, and waits for services of other nodes with a limit.

Owns what every service of this package does when its handler raises a known error, and the error
to raise when the ROS master is no longer reachable. The handlers are in the modules of the nodes.
"""

import contextlib
import functools
import os
from typing import Any, Callable, Iterator, List, Mapping, Tuple

import rosgraph
import rospy

from gz_testauto.base.errors import GzTestautoError, MasterError, NavigatorError, SimulatorError
from gz_testauto.base.truncation import log_untruncated

Services = Mapping[str, Tuple[type, Callable[[Any], Any]]]
"""For the full name of each service its type and its handler, which gets the request and returns
the response. A name that begins with ``~`` is relative to the node's."""

_MESSAGE_FIELDS = ("message", "status_message")


def offer(services: Services) -> List[rospy.Service]:
    """Register services. Where a handler raises ``GzTestautoError`` or ``OSError``, the error is
    logged and the response has ``success`` False and the error as ``message`` or
    ``status_message``; if its type has no such fields, the call fails with the error."""
    return [
        rospy.Service(name, kind, functools.partial(respond, name, kind, handler))
        for name, (kind, handler) in services.items()
    ]


def respond(name: str, kind: Any, handler: Callable[[Any], Any], request: Any) -> Any:
    """Return the response of a handler, or the one that reports its error (:func:`offer`)."""
    try:
        return handler(request)
    except (GzTestautoError, OSError) as error:
        rospy.logerr("%s: %s", rospy.resolve_name(name), error)
        log_untruncated(getattr(error, "full", str(error)))
        response = kind._response_class
        fields = [field for field in _MESSAGE_FIELDS if field in response.__slots__]
        if not fields:
            raise rospy.ServiceException(str(error)) from error
        return response(**{"success": False, fields[0]: str(error)})


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
