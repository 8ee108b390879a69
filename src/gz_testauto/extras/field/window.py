"""Select the part of a bag in which the navigation failed."""

import math
from pathlib import Path
from typing import NamedTuple, Optional

from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.field.topics import BagContent, BagGoal

MARGIN_S = 1.0
UNBOUNDED_S = 120.0  # longest bag without a goal that is used completely


class Window(NamedTuple):
    """The times (s since the start of the bag) of a window, and its goal. ``reason`` states how it
    was selected. ``failed_s`` is the time at which the goal ended with the failure ``result``."""

    from_s: float
    to_s: float
    goal: Optional[BagGoal]
    reason: str
    result: str = ""
    failed_s: float = math.nan


def select_window(
    path: Path, content: BagContent, from_s: Optional[float], to_s: Optional[float]
) -> Window:
    """Return the window from ``from_s`` to ``to_s``, or else that of the last goal that was not
    reached. A short bag without goals is used completely. Raises ``ResultsError`` if there is no
    window."""
    if from_s is not None or to_s is not None:
        low_s = 0.0 if from_s is None else from_s
        high_s = content.duration_s if to_s is None else to_s
        if not 0 <= low_s < high_s or low_s >= content.duration_s:
            raise ResultsError(
                f"{path}: the window from {low_s:g} to {high_s:g} s is not in the bag, which lasts "
                f"{content.duration_s:.1f} s; change --from or --to"
            )
        goals = [goal for goal in content.goals if goal.time_s <= high_s]
        high_s = min(high_s, content.duration_s)
        return Window(low_s, high_s, goals[-1] if goals else None, "selected by --from and --to")
    for number, goal in reversed(list(enumerate(content.goals))):
        later = [other.time_s for other in content.goals[number + 1 :]]
        next_s = later[0] if later else content.duration_s + MARGIN_S
        ends = [
            end
            for end in content.ends
            if goal.time_s <= end.time_s < next_s + MARGIN_S
            and end.identity in ("", goal.identity or end.identity)
        ]
        if ends and ends[-1].status == "succeeded":
            continue
        end_s = ends[-1].time_s if ends else min(next_s, content.duration_s)
        status = ends[-1].status if ends else "without a result"
        low_s = max(goal.time_s - MARGIN_S, 0.0)
        high_s = min(end_s + MARGIN_S, content.duration_s)
        reason = f"goal {number + 1} of {len(content.goals)}, {status}"
        return Window(low_s, high_s, goal, reason, status, end_s)
    if content.goals:
        raise ResultsError(
            f"{path}: all {len(content.goals)} goals succeeded; select a window with --from and "
            "--to"
        )
    if content.duration_s > UNBOUNDED_S:
        raise ResultsError(
            f"{path}: the bag has no goal and lasts {content.duration_s:.0f} s; select a window "
            "with --from and --to"
        )
    return Window(0.0, content.duration_s, None, "the whole bag, which has no goal")
