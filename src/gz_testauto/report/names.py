"""Headings of numbers without a declared heading: published numbers of worlds, and metrics.

A name such as ``global_plan_m`` has words, and at the end the unit.
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
    """Split a name: ``global_plan_m`` into ``global plan`` and ``m``; the unit can be empty."""
    words, _, end = name.rpartition("_")
    unit = _UNITS.get(end, "") if words else ""
    return (words if unit else name).replace("_", " "), unit


def metric_heading(metric: Metric) -> str:
    """Return the heading of a metric's column: the declared one, or its name in words without the
    unit. A metric without a declared unit has the unit of its name."""
    if metric.heading:
        return metric.heading
    words, unit = words_and_unit(metric.name)
    if unit == metric.unit:
        return words
    return metric.name.replace("_", " ") if metric.unit else f"{words} ({unit})"


def published_heading(name: str) -> Tuple[str, str]:
    """Return heading and unit of a number that a benchmark publishes of its worlds, by its name in
    the campaign."""
    words, unit = words_and_unit(name)
    return "published shortest path" if name == PATH_M else f"published {words}", unit
