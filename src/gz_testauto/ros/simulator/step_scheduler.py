"""Schedulers of control periods. All times are wall times (s) of a monotonic clock."""

import abc
import math

from gz_testauto.ros.simulator.interface import LOCKSTEP, RealTimeFactorParameters


class StepScheduler(abc.ABC):
    """The base class of schedulers of control periods.

    ``start_scene`` is called once per scene, ``wait_until`` first in each period, and ``commanded``
    and ``wait_until`` at every command. A period ends with ``stepped``. ``holds`` is True if
    simulated time waits for commands.
    """

    holds: bool = False

    @abc.abstractmethod
    def start_scene(self, now_s: float) -> None:
        """Start a scene."""

    @abc.abstractmethod
    def commanded(self) -> None:
        """Record that the controller has sent a command."""

    @abc.abstractmethod
    def wait_until(self) -> float:
        """Return the wall time at which the next period starts without a command."""

    @abc.abstractmethod
    def stepped(self, now_s: float) -> bool:
        """Start the next period, and return whether it is late.

        It is late if no command arrived although time was held or the controller is active.
        """


class RealTimeScheduler(StepScheduler):
    """A scheduler with a real-time factor, infinity for unlimited."""

    def __init__(self, factor: float, period_s: float) -> None:
        self.factor = factor
        self._interval_s = period_s / factor
        self._due_s = -math.inf
        self._has_commands = self._has_answer = False

    def start_scene(self, now_s: float) -> None:
        self._due_s = now_s
        self._has_commands = self._has_answer = False

    def commanded(self) -> None:
        self._has_commands = self._has_answer = True

    def wait_until(self) -> float:
        return self._due_s

    def stepped(self, now_s: float) -> bool:
        # If the machine is too slow, the delay is not compensated by running faster later.
        self._due_s = max(self._due_s, now_s - self._interval_s) + self._interval_s
        is_late, self._has_answer = self._has_commands and not self._has_answer, False
        return is_late


class LockstepScheduler(StepScheduler):
    """A scheduler that holds time until the controller has sent a command for the last period.

    After a timeout, the controller counts as inactive, and time advances in real time until the
    next command, so that nodes that need simulated time can start.
    """

    holds = True

    def __init__(self, period_s: float, command_timeout_s: float, start_timeout_s: float) -> None:
        self._limits_s = (command_timeout_s, start_timeout_s)
        self._idle = RealTimeScheduler(1.0, period_s)
        self._deadline_s = -math.inf
        self._is_held = False
        self._has_answer = False

    def start_scene(self, now_s: float) -> None:
        self._idle.start_scene(now_s)
        self._is_held, self._has_answer = True, False
        # A planner needs time to accept its goal.
        self._deadline_s = now_s + self._limits_s[1]

    def commanded(self) -> None:
        self._is_held = self._has_answer = True

    def wait_until(self) -> float:
        if self._has_answer:
            return -math.inf
        return self._deadline_s if self._is_held else self._idle.wait_until()

    def stepped(self, now_s: float) -> bool:
        is_late = self._is_held and not self._has_answer
        self._is_held = self._has_answer
        self._has_answer = False
        self._idle.start_scene(now_s)
        self._idle.stepped(now_s)
        self._deadline_s = now_s + self._limits_s[0]
        return is_late


def make_scheduler(parameters: RealTimeFactorParameters, period_s: float) -> StepScheduler:
    if parameters.real_time_factor == LOCKSTEP:
        return LockstepScheduler(period_s, parameters.command_timeout, parameters.start_timeout)
    return RealTimeScheduler(float(parameters.real_time_factor) or math.inf, period_s)
