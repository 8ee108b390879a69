"""Names of random obstacles, by which other modules recognize them.

Defines the form ``obstacle_<label>_<index>``. The static map, the simulators and the generation of
worlds use the names to distinguish random obstacles from other models of a world. Worlds from other
sources have other names, which a pattern of the user (``worlds.obstacle_names``) matches.
"""

import re
from dataclasses import dataclass
from typing import Optional, Pattern

PREFIX = "obstacle_"

OBSTACLE_PATTERN: Pattern[str] = re.compile(
    rf"{PREFIX}(?P<label>[A-Za-z]\w*?)_(?P<index>[0-9]{{1,9}})"
)
"""A regular expression that matches each name of :func:`obstacle_name` in full."""


@dataclass(frozen=True)
class ObstacleName:
    """The parts of an obstacle's name: the label of its group, and its index in the group."""

    label: str
    index: int


def obstacle_name(label: str, index: int) -> str:
    """Return the name of obstacle ``index`` (from 0) of a group, such as ``obstacle_box_3``."""
    return f"{PREFIX}{label}_{index}"


def parse_obstacle_name(name: str) -> Optional[ObstacleName]:
    """Return the parts of an obstacle's name, or None if the name has another form."""
    match = OBSTACLE_PATTERN.fullmatch(name)
    return ObstacleName(match["label"], int(match["index"])) if match else None


def is_obstacle(name: str, pattern: Optional[Pattern[str]] = None) -> bool:
    """Return whether a model is a random obstacle. ``pattern`` matches the full names of obstacles;
    by default, they have the form of :func:`obstacle_name`."""
    return (pattern or OBSTACLE_PATTERN).fullmatch(name) is not None
