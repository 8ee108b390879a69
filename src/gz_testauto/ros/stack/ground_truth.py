"""The ground truth of a trial, requested from the simulator once per control period.

``/gazebo/model_states`` is not used, since it has no time stamp.
"""

import math
import threading
import time
from typing import Callable, Iterable, List, Tuple

import rospy
from gazebo_msgs.msg import ContactsState

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import SimulatorError, simulator_stalled
from gz_testauto.base.observation import Contact, Snapshot
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient

POLL_S = 0.002
JUMP_BACK_S = 1e-3


class GroundTruth:
    def __init__(self, gazebo: GazeboRosClient, contacts_topic: str) -> None:
        self._gazebo = gazebo
        self._contacts: List[Contact] = []
        self._since_s = 0.0
        self._lock = threading.Lock()
        self._subscriber = rospy.Subscriber(contacts_topic, ContactsState, self._on_contacts)

    def begin(self) -> None:
        """Start a trial, which ignores earlier contacts."""
        self._since_s = rospy.get_rostime().to_sec()
        self._take_contacts()

    def request_snapshot(self, robot: str, other_models: Iterable[str]) -> Snapshot:
        """Return the current snapshot of the robot and of those ``other_models`` that exist.

        Raises ``SimulatorError`` if the simulator does not respond or the robot does not exist.
        """
        time_s, models = self._gazebo.states_now([robot, *other_models])
        if robot not in models:
            raise SimulatorError(f"the robot {robot!r} is not in the world at {time_s:.2f} s")
        return Snapshot(time_s, models, {}, contacts=self._take_contacts())

    def next(
        self,
        robot: str,
        other_models: Iterable[str],
        last_s: float,
        period_s: float,
        stall_timeout_s: float,
        meanwhile: Callable[[], None],
    ) -> Snapshot:
        """Wait for the simulated time ``last_s + period_s``, and call ``meanwhile`` repeatedly.
        Return a snapshot that is newer than ``last_s``.

        Raises the errors of :meth:`request_snapshot` and :meth:`await_time`.
        """
        meanwhile()  # also on a slow machine, on which the time has already been reached
        self.await_time(last_s + period_s, last_s, stall_timeout_s, meanwhile)
        deadline = time.monotonic() + stall_timeout_s
        # The snapshot must be newer than the previous one: /clock can be ahead of the states.
        while True:
            snapshot = self.request_snapshot(robot, other_models)
            if snapshot.time_s > last_s:
                return snapshot
            if time.monotonic() > deadline:
                details = f"its states remain at {last_s:.3f} s, although /clock advances"
                raise simulator_stalled(stall_timeout_s, details=details)
            meanwhile()
            time.sleep(POLL_S)

    def await_time(
        self, due_s: float, since_s: float, stall_timeout_s: float, meanwhile: Callable[[], None]
    ) -> None:
        """Wait until simulated time is ``due_s``, and call ``meanwhile`` repeatedly.

        Raises ``SimulatorError`` if the clock stops for ``stall_timeout_s`` of wall time, or jumps
        back before ``since_s``.
        """
        last_s, moved_s = 0.0, time.monotonic()
        while True:
            now_s = rospy.get_rostime().to_sec()
            if now_s >= due_s:
                return
            if now_s < since_s - JUMP_BACK_S and now_s < last_s:
                raise SimulatorError(
                    f"simulated time jumped back from {since_s:.3f} s to {now_s:.3f} s, since the "
                    "simulation was reset; do not reset it during a trial"
                )
            if now_s != last_s:
                last_s, moved_s = now_s, time.monotonic()
            elif time.monotonic() - moved_s > stall_timeout_s:
                raise simulator_stalled(stall_timeout_s, details=f"/clock remains at {now_s:.3f} s")
            meanwhile()
            time.sleep(POLL_S)

    def _on_contacts(self, message: ContactsState) -> None:
        stamp_s = message.header.stamp.to_sec()
        contacts = ros_messages.contacts_of(message, [stamp_s] * len(message.states))
        with self._lock:
            self._contacts.extend(contacts)

    def _take_contacts(self) -> Tuple[Contact, ...]:
        with self._lock:
            contacts, self._contacts = self._contacts, []
        return tuple(contact for contact in contacts if contact.stamp_s >= self._since_s)


def require_max_gap(gap_s: float, max_gap_s: float) -> None:
    if gap_s > max_gap_s:
        shown_s = math.ceil(100.0 * gap_s) / 100.0
        raise SimulatorError(
            f"{shown_s:.2f} s passed between two snapshots of the true state, more than "
            f"stack.max_truth_gap_s = {max_gap_s:g}, since this machine is overloaded; use fewer "
            "--workers, or a lower stack.max_real_time_factor"
        )
