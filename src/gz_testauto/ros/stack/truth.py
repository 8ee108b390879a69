"""The truth of a trial, asked of the simulator once per control period of simulated time.

Owns when to look and what one look is: the robot and every obstacle that can move, by
``/gazebo/get_model_state``, whose answers carry the time they are of; and the contacts that were
published meanwhile. ``/gazebo/model_states`` is not used: it bears no time, and comes with every
physics step.
"""

import threading
import time
from typing import Callable, Iterable, List, Tuple

import rospy
from gazebo_msgs.msg import ContactsState
from gazebo_msgs.srv import GetModelState

from gz_testauto.errors import SimulatorError
from gz_testauto.observation import Contact, ModelState, Snapshot
from gz_testauto.ros import messages

LOOK_S = 0.002
JUMP_BACK_S = 1e-3


class GroundTruth:
    """Snapshots of a running simulator."""

    def __init__(self, contacts_topic: str) -> None:
        self._ask = rospy.ServiceProxy("/gazebo/get_model_state", GetModelState, persistent=True)
        self._contacts: List[Contact] = []
        self._since_s = 0.0
        self._lock = threading.Lock()
        self._subscriber = rospy.Subscriber(contacts_topic, ContactsState, self._take_contacts)

    def begin(self) -> None:
        """A trial begins now: contacts of before do not count, however late they come."""
        self._since_s = rospy.get_rostime().to_sec()
        self._heard_contacts()

    def look(self, robot: str, others: Iterable[str]) -> Snapshot:
        """What the simulator shows now. Raises ``SimulatorError`` when it cannot be asked or
        does not know the robot; another model that is gone is left out."""
        stamp_s, state = self._state(robot)
        models = {robot: state}
        for name in others:
            try:
                models[name] = self._state(name)[1]
            except _NoSuchModel:
                continue
        return Snapshot(stamp_s, models, {}, contacts=self._heard_contacts())

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
                raise SimulatorError(f"simulated time stood still for {stall_timeout_s:g} s")
            meanwhile()
            time.sleep(LOOK_S)

    def _state(self, name: str) -> Tuple[float, ModelState]:
        try:
            answer = self._ask(name, "world")
        except (rospy.ServiceException, rospy.ROSException) as error:
            raise SimulatorError(f"/gazebo/get_model_state cannot be called: {error}") from error
        if not answer.success:
            raise _NoSuchModel(f"no model {name!r} in the simulator: {answer.status_message}")
        stamp = answer.header.stamp or rospy.get_rostime()
        return stamp.to_sec(), messages.state_of(answer.pose, answer.twist)

    def _take_contacts(self, message: ContactsState) -> None:
        stamp_s = message.header.stamp.to_sec()
        contacts = messages.contacts_of(message, [stamp_s] * len(message.states))
        with self._lock:
            self._contacts.extend(contacts)

    def _heard_contacts(self) -> Tuple[Contact, ...]:
        with self._lock:
            heard, self._contacts = self._contacts, []
        return tuple(contact for contact in heard if contact.stamp_s >= self._since_s)


class _NoSuchModel(SimulatorError):
    """The simulator does not know a model."""
