"""Headings of what has only a name: figures that a benchmark publishes, metrics without heading.

Owns the reading of a name such as ``global_plan_m``: words, and at the end the unit.
"""

from typing import Tuple

from gz_testauto.metrics.interface import Metric
from gz_testauto.spec.worlds import PATH_M

_UNITS = {
    "m": "m",
    "s": "s",
    "mps": "m/s",
    "mps2": "m/s²",
    "mps3": "m/s³",
    "1pm": "1/m",
    "rad": "rad",
    "radps": "rad/s",
    "radpm": "rad/m",
}
"""Units by the ends of names."""


def words_and_unit(name: str) -> Tuple[str, str]:
    """``global_plan_m`` is a ``global plan`` in ``m``; the unit is empty where there is none."""
    words, _, end = name.rpartition("_")
    unit = _UNITS.get(end, "") if words else ""
    return (words if unit else name).replace("_", " "), unit


def metric_heading(metric: Metric) -> str:
    """What stands above a metric's column: its heading, or its name in words, without the unit
    that stands beside it. A metric that states no unit has that of its name."""
    if metric.heading:
        return metric.heading
    words, unit = words_and_unit(metric.name)
    if unit == metric.unit:
        return words
    return metric.name.replace("_", " ") if metric.unit else f"{words} ({unit})"


def published_heading(name: str) -> Tuple[str, str]:
    """Heading and unit of a figure that a benchmark publishes of its worlds, by the campaign's name
    for it."""
    words, unit = words_and_unit(name)
    return "published best way" if name == PATH_M else f"published {words}", unit
