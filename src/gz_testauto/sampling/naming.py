"""Names of random obstacles, by which other modules recognize these obstacles.

Defines the form ``obstacle_<label>_<index>``. The static map, the simulators and the generation of
worlds use the names to distinguish random obstacles from the other models of a world. If worlds
from other sources use different names, the user specifies a pattern (``worlds.obstacle_names``).
"""

import re
from dataclasses import dataclass
from typing import Optional, Pattern

PREFIX = "obstacle_"

OBSTACLE_PATTERN: Pattern[str] = re.compile(
    rf"{PREFIX}(?P<label>[A-Za-z]\w*?)_(?P<index>[0-9]{{1,9}})"
)
"""A regular expression that matches all names from :func:`obstacle_name` in full."""


@dataclass(frozen=True)
class ObstacleName:
    """The parts of an obstacle's name: the label of its group, and its index within the group."""

    label: str
    index: int


def obstacle_name(label: str, index: int) -> str:
    """Return the name of obstacle ``index`` (counted from 0) of a group, such as
    ``obstacle_box_3``."""
    return f"{PREFIX}{label}_{index}"


def parse_obstacle_name(name: str) -> Optional[ObstacleName]:
    """Return the parts of an obstacle's name, or None if the name does not have the form of
    :func:`obstacle_name`."""
    match = OBSTACLE_PATTERN.fullmatch(name)
    return ObstacleName(match["label"], int(match["index"])) if match else None


def is_obstacle(name: str, pattern: Optional[Pattern[str]] = None) -> bool:
    """Return whether a model is a random obstacle.

    ``pattern`` must match the full name of an obstacle. By default, names must have the form of
    :func:`obstacle_name`.
    """
    return (pattern or OBSTACLE_PATTERN).fullmatch(name) is not None
