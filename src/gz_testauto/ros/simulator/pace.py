"""How fast simulated time may run: as the wall clock does, or as the controller answers.

Owns the decision when the next control period may begin, and nothing else: no thread, no
simulator, no ROS. All times are wall time from one monotonic clock, in seconds.
"""

import abc
import math
from typing import Union

from gz_testauto.base.errors import SpecError

HOLD = "hold"

HOLD_TIMEOUT_S, START_TIMEOUT_S = 5.0, 10.0
"""How long time is held for a controller unless told: per period, and until its first command."""


class Pace(abc.ABC):
    """Told what happens; asked until when to wait.

    Call order: ``scene_began`` once per scene; then per control period ``wait_until`` and, on
    every command meanwhile, ``commanded`` and ``wait_until`` again; then ``stepped``. ``holds``:
    time waits for the controller.
    """

    holds: bool = False

    @abc.abstractmethod
    def scene_began(self, now_s: float) -> None:
        """A scene stands still at its time 0."""

    @abc.abstractmethod
    def commanded(self) -> None:
        """The controller has spoken since the last step."""

    @abc.abstractmethod
    def wait_until(self) -> float:
        """Wall time at which the next period begins, if nothing happens before."""

    @abc.abstractmethod
    def stepped(self, now_s: float) -> bool:
        """The next period begins now. Returns whether it is late: it begins without the answer
        of a controller that was waited for, or that has spoken in this scene."""


class RateLimit(Pace):
    """A real-time factor: 1 is real time, 2 twice as fast, infinity as fast as it goes."""

    def __init__(self, factor: float, period_s: float) -> None:
        self.factor = factor
        self._interval_s = period_s / factor
        self._due_s = -math.inf
        self._spoke = self._answered = False

    def scene_began(self, now_s: float) -> None:
        """Begin its first period at once."""
        self._due_s = now_s
        self._spoke = self._answered = False

    def commanded(self) -> None:
        """Note it: nobody is waited for."""
        self._spoke = self._answered = True

    def wait_until(self) -> float:
        """One interval after the period before began."""
        return self._due_s

    def stepped(self, now_s: float) -> bool:
        """Late when the controller has spoken before, and not since the last period."""
        # A machine that cannot keep up falls behind for good; it does not race to catch up.
        self._due_s = max(self._due_s, now_s - self._interval_s) + self._interval_s
        late, self._answered = self._spoke and not self._answered, False
        return late


class Hold(Pace):
    """Time stands still until the controller has answered the period just shown.

    A new scene waits ``start_timeout_s`` for its first command: as long as a planner may take
    to accept its goal. A controller that has spoken in this scene is given
    ``hold_timeout_s`` per period. When nobody answers in time nobody is driving: time runs
    on at real time, so that whatever needs time to pass can start, until somebody speaks.
    """

    holds = True

    def __init__(self, period_s: float, hold_timeout_s: float, start_timeout_s: float) -> None:
        self._limits_s = (hold_timeout_s, start_timeout_s)
        self._idle = RateLimit(1.0, period_s)
        self._deadline_s = -math.inf
        self._held = False
        self._answered = False

    def scene_began(self, now_s: float) -> None:
        """Wait for its first command."""
        self._idle.scene_began(now_s)
        self._held, self._answered = True, False
        self._deadline_s = now_s + self._limits_s[1]

    def commanded(self) -> None:
        """Begin the next period at once, and wait for the answer to it."""
        self._held = self._answered = True

    def wait_until(self) -> float:
        """At once when answered; else as long as the controller may take, or in real time."""
        if self._answered:
            return -math.inf
        return self._deadline_s if self._held else self._idle.wait_until()

    def stepped(self, now_s: float) -> bool:
        """Late when the controller was waited for in vain."""
        late = self._held and not self._answered
        self._held = self._answered
        self._answered = False
        self._idle.scene_began(now_s)
        self._idle.stepped(now_s)
        self._deadline_s = now_s + self._limits_s[0]
        return late


def make_pace(
    pace: Union[str, float], period_s: float, hold_timeout_s: float, start_timeout_s: float
) -> Pace:
    """Build the pace that a user asked for: ``"hold"`` or a real-time factor, 0 for as fast
    as it goes. Raises ``SpecError`` for anything else."""
    if pace == HOLD:
        return Hold(period_s, hold_timeout_s, start_timeout_s)
    try:
        factor = float(pace)
    except (TypeError, ValueError):
        factor = math.nan
    if not 0.0 <= factor < math.inf:
        raise SpecError(f"pace is {pace!r}; it must be 'hold' or a real-time factor, 0 or more")
    return RateLimit(factor or math.inf, period_s)
