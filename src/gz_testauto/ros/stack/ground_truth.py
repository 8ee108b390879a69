"""The truth of a trial, asked of the simulator once per control period of simulated time.

Owns when to look and what one look is: the robot and every obstacle that can move, asked for in
one go, and the contacts that were published meanwhile. ``/gazebo/model_states`` is not used: it
bears no time, and comes with every physics step.
"""

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
    """Snapshots of a running simulator."""

    def __init__(self, gazebo: GazeboRosClient, contacts_topic: str) -> None:
        self._gazebo = gazebo
        self._contacts: List[Contact] = []
        self._since_s = 0.0
        self._lock = threading.Lock()
        self._subscriber = rospy.Subscriber(contacts_topic, ContactsState, self._on_contacts)

    def begin(self) -> None:
        """A trial begins now: contacts of before do not count, however late they come."""
        self._since_s = rospy.get_rostime().to_sec()
        self._heard_contacts()

    def look(self, robot: str, others: Iterable[str]) -> Snapshot:
        """What the simulator shows now. Raises ``SimulatorError`` when it cannot be asked or
        does not know the robot; another model that is gone is left out."""
        time_s, models = self._gazebo.states_now([robot, *others])
        if robot not in models:
            raise SimulatorError(f"the robot {robot!r} is not in the world at {time_s:.2f} s")
        return Snapshot(time_s, models, {}, contacts=self._heard_contacts())

    def next(
        self,
        robot: str,
        others: Iterable[str],
        last_s: float,
        period_s: float,
        stall_timeout_s: float,
        meanwhile: Callable[[], None],
    ) -> Snapshot:
        """The snapshot that follows the one of ``last_s`` after ``period_s``. Arguments, waiting
        and errors as of :meth:`look` and :meth:`await_time`.

        An answer that is no newer than the last is asked for again: simulator and clock are not
        heard at the same instant.
        """
        meanwhile()  # also where the machine is so slow that there is nothing to wait for
        self.await_time(last_s + period_s, last_s, stall_timeout_s, meanwhile)
        deadline = time.monotonic() + stall_timeout_s
        while True:
            snapshot = self.look(robot, others)
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
        """Return once simulated time is ``due_s``, calling ``meanwhile`` while it is not yet.
        Raises ``SimulatorError`` when the clock stands for ``stall_timeout_s`` of wall time, or
        falls behind ``since_s``."""
        last_s, moved_s = 0.0, time.monotonic()
        while True:
            now_s = rospy.get_rostime().to_sec()
            if now_s >= due_s:
                return
            if now_s < since_s - JUMP_BACK_S and now_s < last_s:
                raise SimulatorError(
                    f"simulated time jumped back from {since_s:.3f} s to {now_s:.3f} s: something "
                    "reset the simulation"
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

    def _heard_contacts(self) -> Tuple[Contact, ...]:
        with self._lock:
            heard, self._contacts = self._contacts, []
        return tuple(contact for contact in heard if contact.stamp_s >= self._since_s)
