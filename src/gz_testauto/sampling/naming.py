"""Names of random obstacles, ``obstacle_<label>_<index>``, which distinguish them from the other
models of a world."""

import re
from dataclasses import dataclass
from typing import Optional, Pattern

PREFIX = "obstacle_"

OBSTACLE_PATTERN: Pattern[str] = re.compile(
    rf"{PREFIX}(?P<label>[A-Za-z]\w*?)_(?P<index>[0-9]{{1,9}})"
)


@dataclass(frozen=True)
class ObstacleName:
    label: str
    index: int


def obstacle_name(label: str, index: int) -> str:
    return f"{PREFIX}{label}_{index}"


def parse_obstacle_name(name: str) -> Optional[ObstacleName]:
    match = OBSTACLE_PATTERN.fullmatch(name)
    return ObstacleName(match["label"], int(match["index"])) if match else None


def is_obstacle(name: str, pattern: Optional[Pattern[str]] = None) -> bool:
    """Return whether a model is a random obstacle. ``pattern`` must match its full name; by
    default, the name must have the form of :func:`obstacle_name`."""
    return (pattern or OBSTACLE_PATTERN).fullmatch(name) is not None
