"""Time that stands still but when it is asked to pass, in a gazebo_ros that has no step.

Owns what a step is: time is let run and stopped at the first clock at or after the due time. How
far it went, a little more than was asked for, is what the simulator says when it rests.
"""

import math
import time

from gz_testauto.base.errors import SimulatorError, simulator_stalled
from gz_testauto.base.ros_messages import NANOSECONDS, nanoseconds_of
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient
from gz_testauto.simulators.gazebo_ros.topics import RobotTopics

STOP_PATIENCE_S = 5.0
POLL_S = 0.002
PROBE_S = 1.0


class PausedTime:
    """Simulated time of one gazebo_ros, in whole nanoseconds. Everything raises
    ``SimulatorError``; ``stall_timeout_s`` is how long (wall time) time may stand still while it
    is to run."""

    def __init__(
        self, client: GazeboRosClient, topics: RobotTopics, stall_timeout_s: float
    ) -> None:
        self._client = client
        self._topics = topics
        self._stall_timeout_s = stall_timeout_s
        self.now_ns = 0

    def stop(self) -> int:
        """Pause, and return the time once it does not go on any more: a physics step that was
        under way when the pause was answered still ends."""
        self._client.pause()
        deadline = time.monotonic() + STOP_PATIENCE_S
        before = self._client.world().time_s
        while True:
            time.sleep(POLL_S)
            now = self._client.world().time_s
            if now == before:
                self.now_ns = nanoseconds_of(now)
                return self.now_ns
            if time.monotonic() > deadline:
                raise SimulatorError("simulated time goes on though paused: who else unpauses it?")
            before = now

    def run(self, duration_s: float) -> int:
        """Let at least that much time pass since it last stopped; return what it is then."""
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
        """Whether it became ``due_ns``. While the clock says nothing the simulator is asked, so
        that one that died is known for it at once."""
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
