"""Whether the planner answered in time, period by period.

Owns what becomes of a control period that began without the answer to what was shown before it.
Where time is held for the planner, such a period is another one than on an idle machine, and the
trial says nothing; where time runs at a rate of its own, lateness is the planner's, and counted.
"""

from typing import Dict, Tuple

from gz_testauto.base.errors import NavigatorError
from gz_testauto.ros.campaign.snapshots import Seen

LATE_PERIODS = "late_periods"


class Lateness:
    """Watches over the answers of ``planner``, for whom time is held for ``limits_s`` of wall
    time: per period, and until its first command."""

    def __init__(self, planner: str, limits_s: Tuple[float, float]) -> None:
        self._planner = planner
        self._limits_s = limits_s
        self._held = True
        self._count = 0

    def note(self, seen: Seen, blind: bool = False) -> None:
        """Note a period; ``blind``: the planner has planned without the newest scan. Raises
        ``NavigatorError`` where time was held in vain."""
        self._held = seen.held
        self._count += seen.late
        time_s = seen.snapshot.time_s
        if seen.held and seen.late:
            first = seen.command is None
            argument, limit_s = "start_timeout" if first else "hold_timeout", self._limits_s[first]
            raise NavigatorError(
                f"{self._planner} gave no answer in {limit_s:g} s of wall time, and the period up "
                f"to {time_s:.2f} s began without it: this machine is too busy or was suspended, "
                f"or the planner needs longer; campaign.launch {argument}:=SECONDS waits longer"
            )
        if seen.held and blind:
            raise NavigatorError(
                f"a scan before {time_s:.2f} s reached {self._planner} too late to be planned "
                "from: this machine is too busy"
            )

    @property
    def numbers(self) -> Dict[str, float]:
        """What results say of it: nothing where time is held, since then there are none."""
        return {} if self._held else {LATE_PERIODS: float(self._count)}
