"""Registration of a node's declared endpoints, and detection of a lost or restarted master."""

import contextlib
import functools
import os
from typing import Any, Callable, Dict, Iterable, Iterator, Optional

import rosgraph
import rospy
from roslib.message import get_message_class, get_service_class

from gz_testauto.base.errors import GzTestautoError, MasterError, NavigatorError, SimulatorError
from gz_testauto.base.truncation import log_untruncated
from gz_testauto.ros.interface import Endpoint

_MESSAGE_FIELDS = ("message", "status_message")


class RequestRejectedError(GzTestautoError):
    """Raised by a service's handler for an invalid request, with the response's message."""


def advertise(
    topic: Endpoint, queue_size: int = 1, listener: Optional[rospy.SubscribeListener] = None
) -> rospy.Publisher:
    return rospy.Publisher(
        topic.name,
        get_message_class(topic.type),
        listener,
        latch=topic.latched,
        queue_size=queue_size,
    )


def subscribe(topic: Endpoint, callback: Callable[[Any], None]) -> rospy.Subscriber:
    return rospy.Subscriber(topic.name, get_message_class(topic.type), callback, tcp_nodelay=True)


Handler = Callable[[Any], Any]


def offer(services: Iterable[Endpoint], find_handler: Callable[[str], Handler]) -> None:
    """Register services of this node. ``find_handler(name)`` returns the handler of a service.

    If a handler raises ``GzTestautoError``, ``OSError`` or ``ValueError``, the response has
    ``success`` False and the error as ``message`` or ``status_message``. Without these fields, the
    call fails. The error is logged unless it is a ``RequestRejectedError``.
    """
    for service in services:
        respond_to = functools.partial(respond, service, find_handler(service.handler))
        rospy.Service(service.name, get_service_class(service.type), respond_to)


def respond(service: Endpoint, handler: Handler, request: Any) -> Any:
    """Return the handler's response, or after an error the response that :func:`offer` states."""
    try:
        return handler(request)
    except (GzTestautoError, OSError, ValueError) as error:
        if not isinstance(error, RequestRejectedError):
            rospy.logerr("%s: %s", rospy.resolve_name(service.name), error)
            log_untruncated(getattr(error, "full", str(error)))
        response = get_service_class(service.type)._response_class
        fields = [field for field in _MESSAGE_FIELDS if field in response.__slots__]
        if not fields:
            raise rospy.ServiceException(str(error)) from error
        return response(**{"success": False, fields[0]: str(error)})


def is_served(service: str, timeout_s: float) -> bool:
    try:
        rospy.wait_for_service(service, timeout=timeout_s)
    except (rospy.ROSException, rospy.ROSInterruptException):
        return False
    return True


@contextlib.contextmanager
def require_master() -> Iterator[None]:
    """Replace an error in this context by ``MasterError`` if the ROS master exited or restarted."""
    # roslaunch detects only the exit of a master that it started itself. A restarted master does
    # not know the parameters, topics and services of running nodes.
    uri = os.environ.get("ROS_MASTER_URI", "")
    first = _first_master.setdefault(uri, _master_process())
    try:
        yield
    except (OSError, SimulatorError, NavigatorError) as error:
        current_master = _master_process()
        if current_master is not None and first in (None, current_master):
            raise
        fault = (
            "is not reachable; start a master"
            if current_master is None
            else "was restarted, and a new master does not know the running nodes; stop them"
        )
        raise MasterError(
            f"the ROS master at {uri} {fault} and run the same command again to continue after "
            "the stored trials"
        ) from error


# process ID of the first master that this process has used, by address
_first_master: Dict[str, Optional[int]] = {}


def _master_process() -> Optional[int]:
    try:
        return int(rosgraph.Master(rospy.get_name()).getPid())
    except (OSError, rosgraph.MasterException):
        return None
