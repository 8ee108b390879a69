"""Schedulers that decide when the next control period of a simulation starts.

A scheduler does not use threads, the simulator or ROS. All times are wall times of one monotonic
clock, in seconds.
"""

import abc
import math

from gz_testauto.ros.simulator.interface import LOCKSTEP, RealTimeFactorParameters


class StepScheduler(abc.ABC):
    """The base class of schedulers of control periods.

    ``start_scene`` is called once per scene. In each control period, ``wait_until`` is called
    first. At every command, ``commanded`` and ``wait_until`` are called. The period ends with a
    call of ``stepped``. ``holds`` is True if simulated time waits for the commands of a
    controller.
    """

    holds: bool = False

    @abc.abstractmethod
    def start_scene(self, now_s: float) -> None:
        """Start a scene, at time 0 of the scene."""

    @abc.abstractmethod
    def commanded(self) -> None:
        """Record that the controller has sent a command."""

    @abc.abstractmethod
    def wait_until(self) -> float:
        """Return the wall time at which the next period starts if no command arrives before that
        time."""

    @abc.abstractmethod
    def stepped(self, now_s: float) -> bool:
        """Start the next period, and return whether the period is late.

        A period is late if it starts without a command, even though time was held for the command
        or the controller has sent commands in the current scene.
        """


class RealTimeScheduler(StepScheduler):
    """A scheduler with a real-time factor. 1 is real time, 2 is twice as fast, and infinity is
    unlimited."""

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
        """Return whether the controller has sent commands, but none since the last period."""
        # If the machine is too slow, the delay is not compensated by running faster later.
        self._due_s = max(self._due_s, now_s - self._interval_s) + self._interval_s
        late, self._answered = self._has_commands and not self._answered, False
        return late


class LockstepScheduler(StepScheduler):
    """A scheduler that holds time until the controller has sent a command for the last period.

    A new scene waits up to ``start_timeout_s`` for its first command, since a planner needs time to
    accept its goal. After the first command, it waits up to ``command_timeout_s`` per period. After
    a timeout, the controller counts as inactive, and time advances in real time until the next
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
        """Return the wall time until which to wait for a command.

        It is in the past if the command has arrived. Otherwise, it is the end of the timeout or, if
        the controller is inactive, the time at which the period ends in real time.
        """
        if self._answered:
            return -math.inf
        return self._deadline_s if self._held else self._idle.wait_until()

    def stepped(self, now_s: float) -> bool:
        """Return whether time was held but no command arrived."""
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
