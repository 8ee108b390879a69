"""The topics of a robot in gazebo_ros: clock, sensors and velocity commands.

Stamps are converted to the time of the scene, which starts with :meth:`RobotTopics.begin`.
"""

import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Tuple

import numpy as np
import rospy
from gazebo_msgs.msg import ContactsState
from geometry_msgs.msg import Twist
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu
from sensor_msgs.msg import LaserScan as LaserScanMessage

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import Contact, ImuSample, LaserScan, Twist2D
from gz_testauto.base.pose import Pose

POLL_S = 0.01


@dataclass(frozen=True)
class TopicNames:
    """Names of the topics of a robot. Relative names are resolved as by rospy."""

    clock: str = "/clock"
    scan: str = "/scan"
    imu: str = "/imu"
    contacts: Tuple[str, ...] = ("/contacts",)
    cmd_vel: str = "/cmd_vel"
    odom: str = "/odom"


class RobotTopics:
    """The publisher and the subscribers for the topics of one robot.

    A ROS node is initialized if this process has none. The ROS master must be running.
    """

    # /gazebo/model_states and link_states are not used: at 1 kHz, they would occupy one processor,
    # and they are not published while time is paused.

    def __init__(self, names: TopicNames) -> None:
        if not rospy.core.is_initialized():
            rospy.init_node("gz_testauto", anonymous=True, disable_signals=True)
        self._names = names
        self._condition = threading.Condition()
        self._origin_ns = 0
        self._mount = Pose()
        self._clock_ns: Optional[int] = None
        self._scan: Optional[LaserScan] = None
        self._imu: List[ImuSample] = []
        self._contacts: List[Contact] = []
        self._commands = rospy.Publisher(names.cmd_vel, Twist, queue_size=10, tcp_nodelay=True)
        topics = [
            (names.clock, Clock, self._on_clock),
            (names.scan, LaserScanMessage, self._on_scan),
            (names.imu, Imu, self._on_imu),
            *((topic, ContactsState, self._on_contacts) for topic in names.contacts),
        ]
        self._subscribers = {
            topic: rospy.Subscriber(topic, kind, callback, tcp_nodelay=True)
            for topic, kind, callback in topics
        }

    def close(self) -> None:
        for subscriber in self._subscribers.values():
            subscriber.unregister()
        # A rospy node that is about to connect when the publisher disappears never connects to this
        # process again. Without a connection, the publisher therefore remains registered.
        if self._commands.get_num_connections():
            self._commands.unregister()

    def begin(self, origin_ns: int, mount: Pose) -> None:
        """Start a scene at the simulated time ``origin_ns``, and forget earlier messages. ``mount``
        is the pose of the lidar in the base frame."""
        with self._condition:
            self._origin_ns, self._mount = origin_ns, mount
            self._scan, self._imu, self._contacts = None, [], []

    def await_robot(self, has_lidar: bool, timeout_s: float) -> None:
        """Wait until a node subscribes to commands and, with ``has_lidar``, a node publishes scans.

        Raises ``SimulatorError``, which names the topic, after ``timeout_s`` of wall time.
        """
        requirements: List[Tuple[str, Callable[[], int], str]] = [
            (self._names.cmd_vel, self._commands.get_num_connections, "subscribes to")
        ]
        if has_lidar:
            scans = self._subscribers[self._names.scan]
            requirements.append((self._names.scan, scans.get_num_connections, "publishes"))
        deadline = time.monotonic() + timeout_s
        for topic, connections, verb in requirements:
            while not connections():
                if time.monotonic() > deadline:
                    raise SimulatorError(
                        f"no node {verb} {rospy.resolve_name(topic)} after {timeout_s:g} s; check "
                        "that the robot's model has gazebo_ros's plugin with this topic name"
                    )
                time.sleep(POLL_S)

    def command(self, command: Twist2D) -> None:
        self._commands.publish(ros_messages.command_message(command))

    def await_clock(self, due_ns: int, stall_timeout_s: float) -> bool:
        """Wait for a clock message at or after ``due_ns``, and return whether it arrives.

        The wait ends if the clock does not advance for ``stall_timeout_s`` of wall time.
        """
        with self._condition:
            while self._clock_ns is None or self._clock_ns < due_ns:
                if not self._moves(self._clock_ns, stall_timeout_s):
                    return False
        return True

    def _moves(self, clock_ns: Optional[int], timeout_s: float) -> bool:
        """Return whether the clock changes from ``clock_ns`` within ``timeout_s`` of wall time. The
        caller must hold the lock."""
        return self._condition.wait_for(lambda: self._clock_ns != clock_ns, timeout_s)

    def await_scan(self, since_s: float, timeout_s: float) -> bool:
        """Return whether a scan with a stamp later than ``since_s`` (scene time) arrives within
        ``timeout_s`` of wall time."""

        def is_fresh() -> bool:
            return self._scan is not None and self._scan.stamp_s > since_s

        with self._condition:
            return self._condition.wait_for(is_fresh, timeout_s)

    @property
    def scan(self) -> Optional[LaserScan]:
        return self._scan

    def take(self) -> Tuple[Tuple[ImuSample, ...], Tuple[Contact, ...]]:
        """Return the IMU samples and contacts since the previous call, in order of time."""
        with self._condition:
            imu, contacts = self._imu, self._contacts
            self._imu, self._contacts = [], []
        return tuple(imu), tuple(sorted(contacts, key=lambda contact: contact.stamp_s))

    def _on_clock(self, message: Clock) -> None:
        with self._condition:
            self._clock_ns = message.clock.to_nsec()
            self._condition.notify_all()

    def _on_scan(self, message: LaserScanMessage) -> None:
        with self._condition:
            stamp_s = self._scene_stamp_s(message)
            if stamp_s >= 0.0:
                self._scan = _without_limits(ros_messages.scan_of(message, stamp_s, self._mount))
                self._condition.notify_all()

    def _on_imu(self, message: Imu) -> None:
        with self._condition:
            stamp_s = self._scene_stamp_s(message)
            if stamp_s > 0.0:
                self._imu.append(ros_messages.imu_sample_of(message, stamp_s))

    def _on_contacts(self, message: ContactsState) -> None:
        with self._condition:
            stamp_s = self._scene_stamp_s(message)
            if stamp_s > 0.0:
                stamps_s = [stamp_s] * len(message.states)
                self._contacts.extend(ros_messages.contacts_of(message, stamps_s))

    def _scene_stamp_s(self, message: Any) -> float:
        stamp_ns = message.header.stamp.to_nsec()
        return (stamp_ns - self._origin_ns) / ros_messages.NANOSECONDS


def _without_limits(scan: LaserScan) -> LaserScan:
    """Set distances at or beyond Gazebo's limits to ±inf (REP-117), and return the scan."""
    ranges = scan.ranges_m
    ranges[~(ranges < scan.range_max_m)] = np.inf
    ranges[ranges < scan.range_min_m] = -np.inf
    ranges.setflags(write=False)
    return scan
