"""Registration of a node's services, and waiting for other nodes' services with a timeout.

Defines the response of a service when its handler raises a known error, and the error that is
raised when the ROS master is not reachable. The handlers are in the modules of the nodes.
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
"""Maps the full name of each service to its type and its handler, which accepts the request and
returns the response. A name that starts with ``~`` is relative to the name of the node."""

_MESSAGE_FIELDS = ("message", "status_message")


def offer(services: Services) -> List[rospy.Service]:
    """Register services.

    If a handler raises ``GzTestautoError`` or ``OSError``, the error is logged. The response then
    has ``success`` False and the error as ``message`` or ``status_message``; if its type has no
    such fields, the call fails with the error.
    """
    return [
        rospy.Service(name, kind, functools.partial(respond, name, kind, handler))
        for name, (kind, handler) in services.items()
    ]


def respond(name: str, kind: Any, handler: Callable[[Any], Any], request: Any) -> Any:
    """Return the response of a handler, or one that reports its error (:func:`offer`)."""
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
    """Return true if the service is available within ``timeout_s`` of wall time."""
    try:
        rospy.wait_for_service(service, timeout=timeout_s)
    except (rospy.ROSException, rospy.ROSInterruptException):
        return False
    return True


@contextlib.contextmanager
def require_master() -> Iterator[None]:
    """Raise ``MasterError`` instead of an error that was caused by the exit of the ROS master.

    roslaunch detects only the exit of a master that it started itself.
    """
    try:
        yield
    except (OSError, SimulatorError, NavigatorError) as error:
        if rosgraph.is_master_online():
            raise
        raise MasterError(
            f"the ROS master at {os.environ.get('ROS_MASTER_URI')} is not reachable; finished "
            "trials are stored: start a master and run the same command again"
        ) from error
