"""Paused time that advances on request, in a gazebo_ros without a step service.

A step resumes time and pauses it at the first clock message at or after the due time. The simulator
reports the time at rest, which is a little later.
"""

import math
import time

from gz_testauto.base.errors import SimulatorError, simulator_stalled
from gz_testauto.base.ros_messages import NANOSECONDS, nanoseconds_of
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient
from gz_testauto.simulators.gazebo_ros.topics import RobotTopics

STOP_TIMEOUT_S = 5.0
POLL_S = 0.002
PROBE_S = 1.0


class PausedTime:
    """Simulated time of one gazebo_ros, in whole nanoseconds. Every method raises
    ``SimulatorError``; ``stall_timeout_s`` is the longest wall time without progress of time in a
    step."""

    def __init__(
        self, client: GazeboRosClient, topics: RobotTopics, stall_timeout_s: float
    ) -> None:
        self._client = client
        self._topics = topics
        self._stall_timeout_s = stall_timeout_s
        self.now_ns = 0

    def stop(self) -> int:
        """Pause, and return the time when it no longer changes: a physics step that was active when
        the pause was answered still ends."""
        self._client.pause()
        deadline = time.monotonic() + STOP_TIMEOUT_S
        before = self._client.world().time_s
        while True:
            time.sleep(POLL_S)
            now = self._client.world().time_s
            if now == before:
                self.now_ns = nanoseconds_of(now)
                return self.now_ns
            if time.monotonic() > deadline:
                raise SimulatorError("simulated time continues while paused; stop other clients")
            before = now

    def run(self, duration_s: float) -> int:
        """Advance by at least ``duration_s`` since the last pause; return the time."""
        self._client.unpause()
        due_ns = self.now_ns + nanoseconds_of(duration_s)
        try:
            in_time = self._await(due_ns)
        finally:
            self._client.pause()
        if not in_time:
            details = f"/clock remains at {self.now_ns / NANOSECONDS:.3f} s: gzserver does not "
            details += "respond, or another process paused it"
            raise simulator_stalled(self._stall_timeout_s, details=details)
        return self.stop()

    def _await(self, due_ns: int) -> bool:
        """Return whether the time reached ``due_ns``. Without clock messages the simulator is
        polled, so that a dead one is detected immediately."""
        probe_s = min(PROBE_S, self._stall_timeout_s)
        stood_s, seen = 0.0, math.nan
        while not self._topics.await_clock(due_ns, probe_s):
            now = self._client.world().time_s
            if nanoseconds_of(now) >= due_ns:
                return True
            stood_s, seen = (stood_s + probe_s if now == seen else probe_s), now
            if stood_s >= self._stall_timeout_s:
                return False
        return True
