"""Schedulers that decide when the next control period of a simulation starts.

A scheduler uses neither threads nor the simulator nor ROS. All times are wall time of one monotonic
clock, in seconds.
"""

import abc
import math

from gz_testauto.ros.simulator.interface import LOCKSTEP, RealTimeFactorParameters


class StepScheduler(abc.ABC):
    """The base class of schedulers of control periods.

    Call order: ``start_scene`` once per scene; then per control period ``wait_until`` and, at
    every command, ``commanded`` and ``wait_until`` again; then ``stepped``. ``holds`` is true if
    simulated time waits for the commands of a controller.
    """

    holds: bool = False

    @abc.abstractmethod
    def start_scene(self, now_s: float) -> None:
        """Start a scene at its time 0."""

    @abc.abstractmethod
    def commanded(self) -> None:
        """Record that the controller has sent a command."""

    @abc.abstractmethod
    def wait_until(self) -> float:
        """Return the wall time at which the next period starts if no command arrives before."""

    @abc.abstractmethod
    def stepped(self, now_s: float) -> bool:
        """Start the next period, and return true if the period is late.

        A period is late if it starts without a command although time was held for the command, or
        although the controller has sent commands in this scene.
        """


class RealTimeScheduler(StepScheduler):
    """A scheduler with a real-time factor: 1 is real time, 2 twice as fast, infinity unlimited."""

    def __init__(self, factor: float, period_s: float) -> None:
        self.factor = factor
        self._interval_s = period_s / factor
        self._due_s = -math.inf
        self._has_commands = self._answered = False

    def start_scene(self, now_s: float) -> None:
        """Start the first period immediately."""
        self._due_s = now_s
        self._has_commands = self._answered = False

    def commanded(self) -> None:
        """Record a command, which does not change the time of the next period."""
        self._has_commands = self._answered = True

    def wait_until(self) -> float:
        """Return the start of the previous period plus one interval."""
        return self._due_s

    def stepped(self, now_s: float) -> bool:
        """Return true if the controller has sent commands, but none since the last period."""
        # A slow machine stays behind; it does not run faster later to compensate.
        self._due_s = max(self._due_s, now_s - self._interval_s) + self._interval_s
        late, self._answered = self._has_commands and not self._answered, False
        return late


class LockstepScheduler(StepScheduler):
    """A scheduler that holds time until the controller has sent a command for the last period.

    A new scene waits up to ``start_timeout_s`` for its first command, since a planner needs time to
    accept its goal. After the first command it waits up to ``command_timeout_s`` per period. After
    a timeout the controller counts as inactive, and time advances in real time until the next
    command, so that nodes that need simulated time can start.
    """

    holds = True

    def __init__(self, period_s: float, command_timeout_s: float, start_timeout_s: float) -> None:
        self._limits_s = (command_timeout_s, start_timeout_s)
        self._idle = RealTimeScheduler(1.0, period_s)
        self._deadline_s = -math.inf
        self._held = False
        self._answered = False

    def start_scene(self, now_s: float) -> None:
        """Wait for the first command of a scene."""
        self._idle.start_scene(now_s)
        self._held, self._answered = True, False
        self._deadline_s = now_s + self._limits_s[1]

    def commanded(self) -> None:
        """Start the next period immediately, and then wait for the next command."""
        self._held = self._answered = True

    def wait_until(self) -> float:
        """Return a past time if a command has arrived. Otherwise, return the end of the timeout, or
        of a period in real time if the controller is inactive."""
        if self._answered:
            return -math.inf
        return self._deadline_s if self._held else self._idle.wait_until()

    def stepped(self, now_s: float) -> bool:
        """Return true if time was held, but no command arrived."""
        late = self._held and not self._answered
        self._held = self._answered
        self._answered = False
        self._idle.start_scene(now_s)
        self._idle.stepped(now_s)
        self._deadline_s = now_s + self._limits_s[0]
        return late


def make_scheduler(parameters: RealTimeFactorParameters, period_s: float) -> StepScheduler:
    """Return the scheduler that the parameters select, for control periods of ``period_s``."""
    if parameters.real_time_factor == LOCKSTEP:
        return LockstepScheduler(period_s, parameters.command_timeout, parameters.start_timeout)
    return RealTimeScheduler(float(parameters.real_time_factor) or math.inf, period_s)
