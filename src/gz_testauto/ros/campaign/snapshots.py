"""Subscriber of the messages of a trial over ROS. A lost message makes the trial invalid."""

import queue
import threading
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np
from std_msgs.msg import String

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import Snapshot, Twist2D
from gz_testauto.msg import PlannerCycle
from gz_testauto.msg import Snapshot as SnapshotMessage
from gz_testauto.ros.campaign import interface
from gz_testauto.ros.graph import subscribe
from gz_testauto.trial.recorder import CycleTimes


class PeriodSnapshot(NamedTuple):
    """A received snapshot; ``late``, ``held`` and ``numbers`` are those of
    :class:`~gz_testauto.ros.simulator.loop.Period`."""

    snapshot: Snapshot
    command: Optional[Twist2D]
    stamp_ns: int
    late: bool
    held: bool
    numbers: Mapping[str, float]


class TrialInbox:
    def __init__(self) -> None:
        self._snapshots: queue.Queue[SnapshotMessage] = queue.Queue()
        self._failure = ""
        self._cycles: List[PlannerCycle] = []
        self._cycles_lock = threading.Lock()
        self._sequence: Optional[int] = None
        # ROS time of a snapshot: stamps of its scan and of the readings of its sensors, by name
        self._measurements: Dict[int, Dict[str, int]] = {}
        self._subscriber = subscribe(interface.SNAPSHOT, self._snapshots.put)
        subscribe(interface.FAILURE, self._on_failure)

    @property
    def connected(self) -> bool:
        return self._subscriber.get_num_connections() > 0

    def clear(self) -> None:
        self._failure, self._sequence, self._measurements = "", None, {}
        with self._cycles_lock:
            self._cycles.clear()
        while not self._snapshots.empty():
            self._snapshots.get_nowait()

    def next(self, scene: int, timeout_s: float) -> Optional[PeriodSnapshot]:
        """Return the next snapshot of a scene; None after ``timeout_s`` of wall time.

        Raises ``SimulatorError`` after a reported failure or a lost snapshot.
        """
        while True:
            try:
                message = self._snapshots.get(timeout=timeout_s)
            except queue.Empty:
                if self._failure:
                    raise SimulatorError(self._failure) from None
                return None
            expected_sequence, self._sequence = self._sequence, message.header.seq + 1
            if message.scene != scene:
                continue
            if expected_sequence not in (None, message.header.seq):
                raise SimulatorError(
                    f"{message.header.seq - expected_sequence} snapshots before scene time "
                    f"{message.scene_time:.2f} s were lost on the topic of the simulator node"
                )
            self._measurements[message.header.stamp.to_nsec()] = _stamps_ns(message)
            return _period_snapshot(message)

    def add_cycle(self, cycle: PlannerCycle) -> None:
        with self._cycles_lock:
            self._cycles.append(cycle)

    def abort_reason(self, stamp_ns: int) -> Optional[str]:
        """Return why the planner aborted at the snapshot with this ROS time, or None."""
        # A planner reports this before it stops the robot, hence before the next snapshot.
        with self._cycles_lock:
            return next(
                (
                    cycle.abort_reason
                    for cycle in reversed(self._cycles)
                    if cycle.abort_reason and cycle.header.stamp.to_nsec() == stamp_ns
                ),
                None,
            )

    def unused(self, before_ns: int) -> Tuple[str, ...]:
        """Return the names of sensors, and ``the scan``, of which the planner used an outdated
        measurement in a cycle before the ROS time ``before_ns``."""
        with self._cycles_lock:
            return tuple(
                name
                for cycle in self._cycles
                for stamp_ns in [cycle.header.stamp.to_nsec()]
                if stamp_ns < before_ns and stamp_ns in self._measurements
                for name, used_ns in _stamps_ns(cycle).items()
                if used_ns != self._measurements[stamp_ns].get(name)
            )

    def cycle_times(self, from_ns: int, before_ns: int) -> CycleTimes:
        """Return the durations of the cycles at the ROS times ``from_ns`` <= t < ``before_ns``.

        A cycle in which the planner aborted is always included.
        """
        with self._cycles_lock:
            cycles = [
                cycle
                for cycle in self._cycles
                if from_ns <= cycle.header.stamp.to_nsec()
                and (cycle.abort_reason or cycle.header.stamp.to_nsec() < before_ns)
            ]
        return CycleTimes(
            np.array([cycle.wall_time for cycle in cycles]),
            np.array([cycle.cpu_time for cycle in cycles]),
        )

    def _on_failure(self, message: String) -> None:
        self._failure = message.data


def _stamps_ns(message: Union[SnapshotMessage, PlannerCycle]) -> Dict[str, int]:
    stamps = zip(message.sensor_names, message.sensor_stamps)
    return {"the scan": message.scan.to_nsec(), **{name: stamp.to_nsec() for name, stamp in stamps}}


def _period_snapshot(message: SnapshotMessage) -> PeriodSnapshot:
    snapshot = Snapshot(
        time_s=message.scene_time,
        models=ros_messages.model_states_of(message.models),
        links={},
        contacts=ros_messages.contacts_of(message.contacts, message.contact_times),
    )
    command = ros_messages.command_of(message.command) if message.commanded else None
    return PeriodSnapshot(
        snapshot,
        command,
        message.header.stamp.to_nsec(),
        message.late,
        message.held,
        dict(zip(message.number_names, message.numbers)),
    )
