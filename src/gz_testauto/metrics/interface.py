"""What a metric is: a named number with a unit, computed from one recording.

Owns the declaration that tables, comparisons and plugins share, the registry, and the one
place where all metrics of a recording are computed. A metric knows nothing of other trials;
averaging and comparing are :mod:`gz_testauto.analysis`'s.

A plugin of another package is a :class:`Metric` under its name::

    METRICS = {"swerves": Metric("swerves", "", "lower", True, count_swerves, "…")}
"""

import math
from dataclasses import dataclass
from typing import Callable, Dict, Iterable, Optional

from gz_testauto.metrics.recording import Recording
from gz_testauto.registry import Registry

BETTER = ("lower", "higher", "neither")


@dataclass(frozen=True)
class MetricContext:
    """What metrics need to know beside the recording; one per campaign.

    ``safety_distance_m`` is d_0, the clearance that is no danger any more;
    ``acceleration_cutoff_hz`` the low-pass that velocity passes before differentiating;
    ``control_period_s`` the time that one planner cycle may take; ``max_linear_mps`` the robot's
    greatest speed; ``barn_k`` the multiple of the best time below which the BARN score does
    not count the time driven.
    """

    safety_distance_m: float = 1.0
    acceleration_cutoff_hz: float = 2.0
    control_period_s: float = 0.1
    max_linear_mps: float = 1.0
    barn_k: float = 2.0


@dataclass(frozen=True)
class Metric:
    """One metric.

    ``unit`` is SI text (``"m"``; empty for a pure number); ``better`` is ``"lower"``,
    ``"higher"`` or ``"neither"``. ``completed_only`` says that a trial which did not reach
    the goal cuts the value short: it is then computed on the part driven, and never averaged
    or compared with completed trials. ``compute`` returns NaN where the recording cannot tell.
    ``decimals`` is how many tables show.
    """

    name: str
    unit: str
    better: str
    completed_only: bool
    compute: Callable[[Recording, MetricContext], float]
    description: str
    decimals: int = 2

    def __post_init__(self) -> None:
        if self.better not in BETTER:
            raise ValueError(f"metric {self.name}: better is {self.better!r}, not one of {BETTER}")


_HERE = "gz_testauto.metrics"

METRICS = Registry(
    "metric",
    {
        "distance_m": f"{_HERE}.distance:DISTANCE",
        "time_s": f"{_HERE}.duration:TIME",
        "standing_s": f"{_HERE}.duration:STANDING",
        "safety": f"{_HERE}.safety:SAFETY",
        "danger_share": f"{_HERE}.danger:DANGER",
        "comfort_mps2": f"{_HERE}.comfort:COMFORT",
        "clearance_min_m": f"{_HERE}.clearance:MINIMUM",
        "clearance_mean_m": f"{_HERE}.clearance:MEAN",
        "clearance_p05_m": f"{_HERE}.clearance:FIFTH_PERCENTILE",
        "collisions": f"{_HERE}.collisions:COLLISIONS",
        "impact_speed_mps": f"{_HERE}.collisions:IMPACT_SPEED",
        "spl": f"{_HERE}.spl:SPL",
        "barn_score": f"{_HERE}.barn:BARN_SCORE",
        "cycle_mean_s": f"{_HERE}.cycle_time:MEAN",
        "cycle_p95_s": f"{_HERE}.cycle_time:P95",
        "cycle_p99_s": f"{_HERE}.cycle_time:P99",
        "cycle_max_s": f"{_HERE}.cycle_time:MAXIMUM",
        "cycle_cpu_mean_s": f"{_HERE}.cycle_time:CPU_MEAN",
        "cycle_missed_share": f"{_HERE}.cycle_time:MISSED",
        "real_time_factor": f"{_HERE}.real_time_factor:REAL_TIME_FACTOR",
    },
)


def measure(
    recording: Recording, context: MetricContext, names: Optional[Iterable[str]] = None
) -> Dict[str, float]:
    """Compute the named metrics, all known ones unless told, and add the numbers that the
    recording has of its own.

    What a recording cannot tell, or what is not finite (the clearance where there is no
    obstacle), is NaN. Raises ``UnknownNameError``.
    """
    values = {}
    for name in METRICS.names() if names is None else names:
        value = float(METRICS.get(name).compute(recording, context))
        values[name] = value if math.isfinite(value) else math.nan
    for name, number in recording.numbers.items():
        values[name] = float(number) if math.isfinite(number) else math.nan
    return values
