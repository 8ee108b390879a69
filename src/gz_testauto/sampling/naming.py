"""Names of random obstacles: given by the spawner, recognized by everyone else.

Owns the form ``obstacle_<label>_<index>``, and the one rule by which the known map, the
simulators and the multiplier tell random obstacles from the rest of a world. A world that was made
elsewhere has other names, which a user's pattern (``worlds.obstacle_names``) then describes.
"""

import re
from dataclasses import dataclass
from typing import Optional, Pattern

PREFIX = "obstacle_"

OBSTACLE_PATTERN: Pattern[str] = re.compile(
    rf"{PREFIX}(?P<label>[A-Za-z]\w*?)_(?P<index>[0-9]{{1,9}})"
)
"""Matches, in full, every name that :func:`obstacle_name` gives."""


@dataclass(frozen=True)
class ObstacleName:
    """What an obstacle's name says: the group it was drawn from, and which of it it is."""

    label: str
    index: int


def obstacle_name(label: str, index: int) -> str:
    """The name of obstacle ``index`` (from 0) of a group: ``obstacle_box_3``."""
    return f"{PREFIX}{label}_{index}"


def parse_obstacle_name(name: str) -> Optional[ObstacleName]:
    """Take a name apart, or None when it is no obstacle's."""
    match = OBSTACLE_PATTERN.fullmatch(name)
    return ObstacleName(match["label"], int(match["index"])) if match else None


def is_obstacle(name: str, pattern: Optional[Pattern[str]] = None) -> bool:
    """Whether a model is a random obstacle: by ``pattern``, in full, or by the usual names."""
    return (pattern or OBSTACLE_PATTERN).fullmatch(name) is not None
