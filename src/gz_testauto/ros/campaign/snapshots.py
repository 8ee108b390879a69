"""What a trial over ROS is watched by: snapshots in order, planner cycles, and failures.

Owns the subscriptions and the conversion back into this package's values, and that a lost
message makes a trial invalid rather than wrong.
"""

import queue
import threading
from typing import Dict, List, NamedTuple, Optional

import numpy as np
import rospy
from std_msgs.msg import String

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import Snapshot, Twist2D
from gz_testauto.msg import PlannerCycle
from gz_testauto.msg import Snapshot as SnapshotMessage
from gz_testauto.trial.recorder import CycleTimes


class Seen(NamedTuple):
    """A snapshot, the command in force in the period that it ends, its ROS time, whether that
    period began without the controller's answer, and whether time was held for that."""

    snapshot: Snapshot
    command: Optional[Twist2D]
    stamp_ns: int
    late: bool
    held: bool


class TrialInbox:
    """Messages of the simulator node ``simulator``, kept until asked for."""

    def __init__(self, simulator: str) -> None:
        self._snapshots: queue.Queue[SnapshotMessage] = queue.Queue()
        self._failure = ""
        self._cycles: List[PlannerCycle] = []
        self._cycles_lock = threading.Lock()
        self._sequence: Optional[int] = None
        self._scans: Dict[int, int] = {}  # ROS time of a snapshot: that of its scan
        self._subscriber = rospy.Subscriber(
            f"{simulator}/snapshot", SnapshotMessage, self._snapshots.put, tcp_nodelay=True
        )
        self._failures = rospy.Subscriber(f"{simulator}/failure", String, self._take_failure)

    @property
    def connected(self) -> bool:
        """Whether snapshots would be heard."""
        return self._subscriber.get_num_connections() > 0

    def clear(self) -> None:
        """Forget everything heard so far: a new scene is about to be loaded."""
        self._failure, self._sequence, self._scans = "", None, {}
        with self._cycles_lock:
            self._cycles.clear()
        while not self._snapshots.empty():
            self._snapshots.get_nowait()

    def next(self, scene: int, timeout_s: float) -> Optional[Seen]:
        """The next snapshot of a scene; None when none comes in ``timeout_s`` of wall time.

        Raises ``SimulatorError`` when the simulator told of a failure, or a snapshot is lost.
        """
        while True:
            try:
                message = self._snapshots.get(timeout=timeout_s)
            except queue.Empty:
                if self._failure:
                    raise SimulatorError(self._failure) from None
                return None
            expected, self._sequence = self._sequence, message.header.seq + 1
            if message.scene != scene:
                continue
            if expected not in (None, message.header.seq):
                raise SimulatorError(
                    f"{message.header.seq - expected} snapshots were lost before scene time "
                    f"{message.scene_time:.2f} s"
                )
            self._scans[message.header.stamp.to_nsec()] = message.scan.to_nsec()
            return _seen(message)

    def take_cycle(self, cycle: PlannerCycle) -> None:
        """Keep a planner cycle of this trial."""
        with self._cycles_lock:
            self._cycles.append(cycle)

    def gave_up(self, stamp_ns: int) -> Optional[str]:
        """Why the planner gave up when shown the snapshot of that ROS time; None if it did not.

        A planner says so before it stops the robot, so it is known before the next snapshot.
        """
        with self._cycles_lock:
            return next(
                (
                    cycle.gave_up
                    for cycle in reversed(self._cycles)
                    if cycle.gave_up and cycle.header.stamp.to_nsec() == stamp_ns
                ),
                None,
            )

    def planned_blind(self, before_ns: int) -> bool:
        """Whether a cycle before that ROS time was planned without the newest scan of then."""
        with self._cycles_lock:
            return any(
                cycle.scan.to_nsec() != self._scans[stamp_ns]
                for cycle in self._cycles
                for stamp_ns in [cycle.header.stamp.to_nsec()]
                if stamp_ns < before_ns and stamp_ns in self._scans
            )

    def cycle_times(self, from_ns: int, before_ns: int) -> CycleTimes:
        """Times of the cycles planned from ``from_ns`` on and before ``before_ns``, ROS time;
        those in which the planner gave up count whenever they were."""
        with self._cycles_lock:
            counted = [
                cycle
                for cycle in self._cycles
                if from_ns <= cycle.header.stamp.to_nsec()
                and (cycle.gave_up or cycle.header.stamp.to_nsec() < before_ns)
            ]
        return CycleTimes(
            np.array([cycle.wall_time for cycle in counted]),
            np.array([cycle.cpu_time for cycle in counted]),
        )

    def _take_failure(self, message: String) -> None:
        self._failure = message.data


def _seen(message: SnapshotMessage) -> Seen:
    snapshot = Snapshot(
        time_s=message.scene_time,
        models=ros_messages.model_states_of(message.models),
        links={},
        contacts=ros_messages.contacts_of(message.contacts, message.contact_times),
    )
    command = ros_messages.command_of(message.command) if message.commanded else None
    return Seen(snapshot, command, message.header.stamp.to_nsec(), message.late, message.held)
