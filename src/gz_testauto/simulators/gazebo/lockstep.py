"""Advances time on a gzserver so that the same commands give the same bits.

Gazebo measures in threads while physics continues in another thread, so a sensor that is due during
a step can measure the world before or after it. Here no sensor is due during a step. Time passes in
two parts:

1. *physics*: the commanded steps, in which no sensor is due;
2. *rest*: physics is disabled and time advanced by one tiny step, in which every sensor is due. The
   world does not change until all have measured; the probes measure the poses.

Gazebo's clock is ahead of the simulated time by one tick per rest. ``LockStep`` converts.

Only the clock is published with every step. More topics would halve the speed: gzserver's threads
then wait for each other, and the last messages of a step can be delayed until the next.
"""

from typing import Dict, Optional, Set

from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.readings import leading_stamp
from gz_testauto.simulators.gazebo.threads.states import ThreadStates
from gz_testauto.simulators.gazebo.world import CLOCK_TOPIC, WorldLink

TICK_NS = 1000
"""Difference (ns) between a sensor's period and the longest interval of physics: large enough not
to be lost when a rate is rounded, and small enough to have no visible effect."""

MAX_STEPS = 100
"""Largest number of physics steps in an interval: Gazebo's contact sensor drops older contacts."""

STEPPING_RATE_HZ = 50000.0
"""Update rate during steps: higher than physics can reach, so that it never waits."""

RESTING_RATE_HZ = 5000.0
"""Update rate at rest, at which the paused server polls for commands. It is not higher, since each
poll costs a message."""

SETTLING_CPU_S, SETTLING_S = 1.0, 20.0
"""CPU time that no thread of a server at rest uses before it sleeps, except one of a plugin that
never sleeps; and the wall time after which a busy machine is no longer waited for."""


class LockStep:
    """The clock of one world, at rest unless a method of this class is running.

    ``sensors`` are the topics on which a message arrives at every rest, ``motion_sensors`` those
    with a message only after physics. Their subscribers add them and call :meth:`answered`.
    """

    def __init__(self, link: WorldLink, stretch_ns: int, step_ns: int) -> None:
        """Set the longest time between two rests (ns) and the physics step (ns)."""
        self._link = link
        self.stretch_ns = min(max(stretch_ns // step_ns, 1), MAX_STEPS) * step_ns
        self.step_ns = step_ns
        self.time_ns = 0
        self.begun_ns = 0
        self.sensors: Set[str] = set()
        self.motion_sensors: Set[str] = set()
        self._ahead_ns = 0
        self._ahead_in_physics_ns = 0
        self._measured_ns = 0
        self._clock_ns = -1
        self._answers: Dict[str, int] = {}
        self._threads: Optional[ThreadStates] = None
        link.listen(CLOCK_TOPIC, "PosesStamped", self._on_clock, latest_only=True)

    @property
    def sensor_period_ns(self) -> int:
        """The period (ns) that every sensor must have."""
        return self.stretch_ns + TICK_NS

    @property
    def gazebo_ns(self) -> int:
        """The time (ns) on Gazebo's clock."""
        return self.time_ns + self._ahead_ns

    def pass_period(self) -> None:
        """Advance Gazebo's clock, without physics, beyond the period of the sensors."""
        self._link.wait_for(lambda: self._clock_ns >= 0, "starting the world")
        before_ns = self._clock_ns
        self._switch_physics(on=False, step_ns=2 * self.sensor_period_ns)
        self._link.control(multi_step=1)
        self._link.wait_for(lambda: self._clock_ns > before_ns, "resting")

    def rewind(self) -> None:
        """Set Gazebo's clock to zero, before any sensor is spawned.

        A sensor that is spawned after its period on the clock measures immediately. A measurement
        has a lasting effect: Gazebo normalizes the direction of a ray each time, so the last bits
        of a scan depend on the number of earlier scans. All start at zero here.
        """
        # The alarms of the sensor threads expire in one long tick, so that none wakes them at a
        # wrong time later. A reset replaces a step, so its effect must be visible, which requires a
        # clock that was not at zero before.
        self.pass_period()
        self._link.control(reset=MESSAGES["WorldReset"](all=False, time_only=True))
        self._link.wait_for(lambda: self._clock_ns == 0, "setting the clock to zero")

    def begin(self, seed: int) -> None:
        """Seed the world's generators and take the first rest, after everything is spawned."""
        self._link.control(seed=seed)
        self._link.acknowledge()
        self._threads = ThreadStates(self._link.server.pid)
        self._rest(self.sensors)

    def advance(self, duration_ns: int) -> None:
        """Advance by ``duration_ns``, a whole number of physics steps not longer than
        ``stretch_ns``, and rest."""
        self._await_sensor_threads()
        self._switch_physics(on=True, step_ns=self.step_ns)
        self._ahead_in_physics_ns = self._ahead_ns
        self.begun_ns = self.time_ns
        self.time_ns += duration_ns
        self._link.control(multi_step=duration_ns // self.step_ns)
        self._wait_for_clock("stepping")
        self._rest(self.sensors | self.motion_sensors)

    def refresh(self) -> None:
        """Rest again, to measure after models were moved. No simulated time passes."""
        self._await_sensor_threads()
        self._rest(self.sensors)

    def answered(self, topic: str) -> None:
        """Note that a message of a sensor arrived."""
        self._answers[topic] = self._measured_ns

    def our_ns(self, gazebo_ns: int) -> int:
        """Convert a stamp of Gazebo (ns) to simulated time, for an event in the last interval of
        physics. An event in a rest gets a time up to ``begun_ns`` or after ``time_ns``."""
        return gazebo_ns - self._ahead_in_physics_ns

    # inside

    def _on_clock(self, payload: bytes) -> None:
        self._clock_ns = leading_stamp(payload)

    def _switch_physics(self, on: bool, step_ns: int) -> None:
        self._link.set_physics(
            enable_physics=on,
            max_step_size=step_ns / 1e9,
            real_time_update_rate=STEPPING_RATE_HZ if on else RESTING_RATE_HZ,
        )

    def _rest(self, expected: Set[str]) -> None:
        """Advance Gazebo's clock, without physics, until every sensor is due, and wait for the
        ``expected`` topics."""
        tick_ns = self._measured_ns + self.sensor_period_ns - self.gazebo_ns
        self._switch_physics(on=False, step_ns=tick_ns)
        self._ahead_ns += tick_ns
        self._measured_ns = self.gazebo_ns
        self._link.control(multi_step=1)
        self._wait_for_clock("resting")
        self._link.wait_for(
            lambda: all(self._answers.get(topic) == self._measured_ns for topic in expected),
            "measuring",
        )

    def _await_sensor_threads(self) -> None:
        """Wait until the sensor threads have set their alarms and sleep.

        An alarm expires one period after it was set. One that is set while time passes is late for
        the next rest, so the sensor does not measure.
        """
        if self._threads is None:
            return
        if not self._threads.wait_until_asleep(SETTLING_CPU_S, SETTLING_S):
            self._threads = None

    def _wait_for_clock(self, doing: str) -> None:
        self._link.wait_for(lambda: self._clock_ns >= self.gazebo_ns, doing)
        if self._clock_ns != self.gazebo_ns:
            self._link.fail(
                f"its clock is at {self._clock_ns / 1e9:.9f} s instead of "
                f"{self.gazebo_ns / 1e9:.9f} s, so another client steps it"
            )
