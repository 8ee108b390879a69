"""Write ``campaign.log``, which has the log format of the paper, for existing parsers.

Each trial has three lines and an empty line::

    # fgm
    Simulation Started! || Goal successfully published at (-22.0, 22.0) in world 137
    Goal Reached! Total distance traveled is: 35.0726 || Avg execution time per cycle is: 0.000562

The lines of a trial are written together when it has finished. Each start of the campaign's command
rewrites the log from the store.
"""

import math
from pathlib import Path
from typing import Callable, Iterable, Tuple

from gz_testauto.base.disk import read_file
from gz_testauto.base.pose import Pose2D
from gz_testauto.results.directory import reporting_disk, write_atomically
from gz_testauto.results.records import TrialRecord


class CampaignLog:
    """The file ``campaign.log`` of one campaign. ``goals_in(name)`` returns the goals of a
    world."""

    def __init__(self, path: Path, goals_in: Callable[[str], Tuple[Pose2D, ...]]) -> None:
        self._path = path
        self._goals_in = goals_in

    def rewrite(self, records: Iterable[TrialRecord]) -> None:
        content = "".join(map(self._format_trial, records)).encode("utf-8")
        if not self._path.is_file() or read_file(self._path) != content:
            write_atomically(self._path, content)

    def add(self, record: TrialRecord) -> None:
        with reporting_disk(self._path), open(self._path, "a", encoding="utf-8") as stream:
            stream.write(self._format_trial(record))

    def _format_trial(self, record: TrialRecord) -> str:
        goals = self._goals_in(record.world)
        positions = ", ".join(f"({float(goal.x_m)}, {float(goal.y_m)})" for goal in goals)
        number = world_number(record.world, record.world_index)
        return (
            f"# {record.planner}\n"
            f"Simulation Started! || Goal successfully published at {positions} in world {number}\n"
            f"{format_outcome(record)}"
        )


def format_outcome(record: TrialRecord) -> str:
    text = record.outcome.declaration.log
    if not record.outcome.valid:
        return f"{text} || {record.detail}\n\n"
    cycle = f"Avg execution time per cycle is: {_format_metric(record, 'cycle_mean_s')}"
    if record.completed:
        distance = _format_metric(record, "distance_m")
        return f"{text} Total distance traveled is: {distance} || {cycle}\n\n"
    return f"{text} || {cycle}\n\n"


def world_number(world: str, world_index: int) -> str:
    """Return the number at the end of a world's name (137 for ``world_0137``), or its index."""
    digits = world[len(world.rstrip("0123456789")) :]
    return digits.lstrip("0") or ("0" if digits else str(world_index))


def _format_metric(record: TrialRecord, metric: str) -> str:
    return f"{record.metrics.get(metric, math.nan):.6g}"
