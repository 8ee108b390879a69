"""Names of random obstacles: the spawner creates them, and other modules recognize them.

Defines the form ``obstacle_<label>_<index>``, and the rule by which the static map, the simulators
and the multiplier distinguish random obstacles from the rest of a world. Worlds from other sources
have other names, which a user's pattern (``worlds.obstacle_names``) describes.
"""

import re
from dataclasses import dataclass
from typing import Optional, Pattern

PREFIX = "obstacle_"

OBSTACLE_PATTERN: Pattern[str] = re.compile(
    rf"{PREFIX}(?P<label>[A-Za-z]\w*?)_(?P<index>[0-9]{{1,9}})"
)
"""Matches, in full, every name of :func:`obstacle_name`."""


@dataclass(frozen=True)
class ObstacleName:
    """The parts of an obstacle's name: its group, and its index in the group."""

    label: str
    index: int


def obstacle_name(label: str, index: int) -> str:
    """Return the name of obstacle ``index`` (from 0) of a group: ``obstacle_box_3``."""
    return f"{PREFIX}{label}_{index}"


def parse_obstacle_name(name: str) -> Optional[ObstacleName]:
    """Parse a name; return None if it is not an obstacle's."""
    match = OBSTACLE_PATTERN.fullmatch(name)
    return ObstacleName(match["label"], int(match["index"])) if match else None


def is_obstacle(name: str, pattern: Optional[Pattern[str]] = None) -> bool:
    """Return whether a model is a random obstacle: by ``pattern``, in full, or by the default
    names."""
    return (pattern or OBSTACLE_PATTERN).fullmatch(name) is not None
