"""Detection of late answers of a planner, for each control period.

A control period is late if it started without the answer to the previous snapshot. While the
simulator holds time for the planner, the trial would then differ from one on an idle machine, so it
is invalid. At a fixed real-time factor, late periods are a property of the planner and are counted.
"""

from typing import Dict, Tuple

from gz_testauto.base.errors import NavigatorError
from gz_testauto.ros.campaign.snapshots import PeriodSnapshot

LATE_PERIODS = "late_periods"


class Lateness:
    """Checks the answers of ``planner``. ``limits_s`` are the wall times for which time is held:
    per period, and for the first command."""

    def __init__(self, planner: str, limits_s: Tuple[float, float]) -> None:
        self._planner = planner
        self._limits_s = limits_s
        self._held = True
        self._count = 0

    def record(self, seen: PeriodSnapshot, blind: bool = False) -> None:
        """Record a period; ``blind``: the planner has planned without the newest scan. Raises
        ``NavigatorError`` if a held period is late or blind."""
        self._held = seen.held
        self._count += seen.late
        time_s = seen.snapshot.time_s
        if seen.held and seen.late:
            first = seen.command is None
            argument, limit_s = (
                "start_timeout" if first else "command_timeout",
                self._limits_s[first],
            )
            raise NavigatorError(
                f"{self._planner} did not answer in {limit_s:g} s of wall time, so the period up "
                f"to {time_s:.2f} s started without it: this machine is overloaded or was "
                "suspended, or the planner needs longer; increase the limit with campaign.launch "
                f"{argument}:=SECONDS"
            )
        if seen.held and blind:
            raise NavigatorError(
                f"a scan before {time_s:.2f} s reached {self._planner} too late for planning: "
                "this machine is overloaded"
            )

    @property
    def numbers(self) -> Dict[str, float]:
        """Numbers for the results; empty while time is held, when no period can be late."""
        return {} if self._held else {LATE_PERIODS: float(self._count)}
