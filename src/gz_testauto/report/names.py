"""Create headings for metrics and published numbers that declare none."""

from typing import Sequence, Tuple

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


def words_and_unit(name: str) -> Tuple[str, str]:
    """Split a name such as ``global_plan_m`` into ``global plan`` and ``m``, or an empty unit."""
    words, _, end = name.rpartition("_")
    unit = _UNITS.get(end, "") if words else ""
    return (words if unit else name).replace("_", " "), unit


def metric_heading(metric: Metric) -> str:
    """Return the heading of a metric, by default its name in words. A unit in the name is omitted
    if it is the declared unit, and put in parentheses if no unit is declared."""
    if metric.heading:
        return metric.heading
    words, unit = words_and_unit(metric.name)
    if unit == metric.unit:
        return words
    return metric.name.replace("_", " ") if metric.unit else f"{words} ({unit})"


def better_arrow(metric: Metric) -> str:
    """Return an arrow that shows which values are better, or an empty text if neither are."""
    return {"higher": "↑", "lower": "↓"}.get(metric.better, "")


def arrows_text(metrics: Sequence[Metric]) -> str:
    """Return the meaning of the arrows in a table of ``metrics``."""
    text = "↑: larger values are better; ↓: smaller values are better"
    return f"{text}, also of safety." if any(m.name == "safety" for m in metrics) else f"{text}."


def directed_heading(metric: Metric) -> str:
    return f"{metric_heading(metric)} {better_arrow(metric)}".strip()


def published_heading(name: str) -> Tuple[str, str]:
    words, unit = words_and_unit(name)
    return "published shortest path" if name == PATH_M else f"published {words}", unit
