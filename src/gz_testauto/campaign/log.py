"""``campaign.log``: the campaign in the words of the paper, for people who already parse them.

Per trial a line that names the planner (the paper kept one file per planner), the line of the
start and the line of the end::

    # fgm
    Simulation Started! || Goal successfully published at (-22.0, 22.0) in world 137
    Goal Reached! Total distance traveled is: 35.0726 || Avg execution time per cycle is: 0.000562

The log repeats what the store holds and owns nothing: it is written anew from the store when a
campaign is taken up again, so a runner that was killed leaves neither gaps nor doubles.
"""

import math
import re
from pathlib import Path
from typing import Iterable

from gz_testauto.campaign.directory import reporting_disk, write_atomically
from gz_testauto.campaign.outcome import Outcome
from gz_testauto.campaign.results import TrialRecord
from gz_testauto.campaign.trials import Trial
from gz_testauto.geometry import Pose2D

_ENDS = {
    Outcome.COLLIDED: "Collision occured!",
    Outcome.TIMED_OUT: "Timed out!",
    Outcome.STUCK: "Robot stuck!",
    Outcome.PLANNER_ABORTED: "Planner aborted!",
}


class CampaignLog:
    """Appends to the log of one campaign."""

    def __init__(self, path: Path, goal: Pose2D) -> None:
        self._path = path
        self._goal = goal

    def rewrite(self, records: Iterable[TrialRecord]) -> None:
        """Make the log say exactly what ``records`` say, and open it for more."""
        text = "".join(
            self._start_of(record.planner, record.world, record.world_index) + end_line(record)
            for record in records
        )
        write_atomically(self._path, text.encode("utf-8"))

    def began(self, trial: Trial) -> None:
        """Note that the goal was sent."""
        self._append(self._start_of(trial.planner, trial.world, trial.world_index))

    def ended(self, record: TrialRecord) -> None:
        """Note how the trial ended."""
        self._append(end_line(record))

    def _start_of(self, planner: str, world: str, world_index: int) -> str:
        goal = f"({float(self._goal.x_m)}, {float(self._goal.y_m)})"
        number = world_number(world, world_index)
        return (
            f"# {planner}\n"
            f"Simulation Started! || Goal successfully published at {goal} in world {number}\n"
        )

    def _append(self, text: str) -> None:
        with reporting_disk(self._path), open(self._path, "a", encoding="utf-8") as stream:
            stream.write(text)


def end_line(record: TrialRecord) -> str:
    """The line of a trial's end, with the empty line that follows it."""
    if record.outcome is Outcome.INVALID:
        return f"Trial invalid! || {record.detail}\n\n"
    cycle = f"Avg execution time per cycle is: {_number(record, 'cycle_mean_s')}"
    if record.outcome is Outcome.REACHED:
        distance = _number(record, "distance_m")
        return f"Goal Reached! Total distance traveled is: {distance} || {cycle}\n\n"
    return f"{_ENDS[record.outcome]} || {cycle}\n\n"


def world_number(world: str, world_index: int) -> str:
    """The number at the end of a world's name (``world_0137`` is 137), else its index."""
    digits = re.search(r"(\d+)$", world)
    return str(int(digits.group(1)) if digits else world_index)


def _number(record: TrialRecord, metric: str) -> str:
    """Six significant digits, as the paper's log has."""
    value = record.metrics.get(metric, math.nan)
    return f"{value:.6g}"
