"""Lets time pass on a gzserver so that the same commands give the same bits.

Owns the one protocol for it. Gazebo measures in threads of their own while physics goes on in
another, so what falls due during a step may show the world before or after it. Here nothing
falls due during a step. Time passes in two parts:

1. *physics*: the commanded steps, in which no sensor is due;
2. *rest*: physics is switched off and time advanced by one tiny step, in which every sensor
   falls due. The world stands still until all have answered; the probes' answers are the
   poses.

Gazebo's clock runs ahead of ours by one tick for every rest. ``LockStep`` converts.

Nothing but the clock is published with every step. It could be otherwise, and costs half the
speed: gzserver's threads then wait for each other, and the last messages of a step may be held
back until the next.
"""

from typing import Dict, Optional, Set

from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.readings import leading_stamp
from gz_testauto.simulators.gazebo.threads.states import ThreadStates
from gz_testauto.simulators.gazebo.world import CLOCK_TOPIC, WorldLink

TICK_NS = 1000
"""How much longer than the longest stretch of physics a sensor's period is: long enough to
survive the rounding of a rate, short enough for nobody to notice."""

MAX_STEPS = 100
"""Physics steps in a stretch: Gazebo's contact sensor forgets what is older."""

STEPPING_RATE_HZ = 50000.0
"""Update rate while stepping: faster than physics can be, so that it never waits."""

RESTING_RATE_HZ = 5000.0
"""Update rate at rest: the paused server looks for commands this often, and not more often,
because each look costs a message."""

SETTLING_CPU_S, SETTLING_S = 1.0, 20.0
"""CPU time that no thread of a server at rest uses before it sleeps, unless it is one of a
plugin's that never does; and wall time until it is waited for no longer on a machine that is
busy with other things."""


class LockStep:
    """The clock of one world, at rest whenever no method of this class is running.

    ``sensors`` are the topics that are answered on at every rest, ``motion_sensors`` those
    that are when there was physics before it. Both are filled by whoever listens to them, who
    also calls :meth:`answered`.
    """

    def __init__(self, link: WorldLink, stretch_ns: int, step_ns: int) -> None:
        """``stretch_ns`` is the longest time between two rests, ``step_ns`` the physics step."""
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
        """The period that every sensor must have."""
        return self.stretch_ns + TICK_NS

    @property
    def gazebo_ns(self) -> int:
        """The time on Gazebo's clock."""
        return self.time_ns + self._ahead_ns

    def pass_period(self) -> None:
        """Advance Gazebo's clock, without physics, beyond the period of the sensors."""
        self._link.wait_for(lambda: self._clock_ns >= 0, "starting the world")
        before_ns = self._clock_ns
        self._switch_physics(on=False, step_ns=2 * self.sensor_period_ns)
        self._link.control(multi_step=1)
        self._link.wait_for(lambda: self._clock_ns > before_ns, "resting")

    def rewind(self) -> None:
        """Set Gazebo's clock to zero, before anything that measures is spawned.

        A sensor that comes into a world whose clock is past its period measures at once. A
        measurement leaves a trace: Gazebo normalizes the direction of a ray anew each time, so
        the last bits of a scan depend on how many have been taken. All begin at zero here.
        """
        # The alarms that the sensors' threads have set themselves go off in one long tick, so
        # that none is left to wake them at a wrong time later on. A reset takes the place of a
        # step, so it must be seen to be done, which takes a clock that was not at zero before.
        self.pass_period()
        self._link.control(reset=MESSAGES["WorldReset"](all=False, time_only=True))
        self._link.wait_for(lambda: self._clock_ns == 0, "setting the clock to zero")

    def begin(self, seed: int) -> None:
        """With everything spawned, seed the world's generators and take the first rest."""
        self._link.control(seed=seed)
        self._link.acknowledge()
        self._threads = ThreadStates(self._link.server.pid)
        self._rest(self.sensors)

    def advance(self, duration_ns: int) -> None:
        """Let ``duration_ns`` pass, a whole number of physics steps not longer than
        ``stretch_ns``, and rest."""
        self._settle()
        self._switch_physics(on=True, step_ns=self.step_ns)
        self._ahead_in_physics_ns = self._ahead_ns
        self.begun_ns = self.time_ns
        self.time_ns += duration_ns
        self._link.control(multi_step=duration_ns // self.step_ns)
        self._wait_for_clock("stepping")
        self._rest(self.sensors | self.motion_sensors)

    def refresh(self) -> None:
        """Rest again, to see what has been placed since. No time passes on our clock."""
        self._settle()
        self._rest(self.sensors)

    def answered(self, topic: str) -> None:
        """Note that a sensor has measured."""
        self._answers[topic] = self._measured_ns

    def our_ns(self, gazebo_ns: int) -> int:
        """A stamp of Gazebo's on our clock, for what happened in the last stretch of physics.
        What happened in a rest comes out no later than ``begun_ns`` or later than
        ``time_ns``."""
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
        """Advance Gazebo's clock, without physics, to where every sensor falls due, and wait
        for those ``expected``."""
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

    def _settle(self) -> None:
        """Wait until the sensors' threads have set their alarms and gone back to sleep.

        An alarm goes off a period after the time at which it is set. One that is set when time
        passes already is late for the next rest, and the sensor silent.
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
                f"{self.gazebo_ns / 1e9:.9f} s, so something else steps it"
            )
