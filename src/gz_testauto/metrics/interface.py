"""What a metric is: a named number with a unit, computed from one recording.

Owns the one declaration that tables, comparisons, exports and the store read, the registry, and
the one place where all metrics of a recording are computed. A metric knows nothing of other
trials; averaging and comparing are :mod:`gz_testauto.analysis`'s.

A plugin of another package is a :class:`Metric` under its name::

    SWERVES = Metric(
        name="swerves",
        heading="swerves",
        better="lower",
        decimals=0,
        completed_only=True,
        description="changes of turning side",
        compute=count_swerves,
    )
    METRICS = {"swerves": SWERVES}
"""

import math
from dataclasses import dataclass, field
from typing import Callable, Dict, Iterable, Optional, Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import Registry
from gz_testauto.metrics.recording import Recording

BETTER = ("lower", "higher", "neither")
MOST_DECIMALS = 9

SUCCESS = "success"
"""What the success rate is called where metrics are named."""
RELEVANT_SUCCESS = 0.05
"""The smallest difference of two success rates that matters, unless the campaign sets it."""


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


Compute = Callable[[Recording, MetricContext], float]


@dataclass(frozen=True)
class Metric:
    """The declaration of one metric; given by keyword.

    ``unit`` is SI text (``"m"``; empty for a pure number), in which values are stored and exported.
    ``better`` is ``"lower"``, ``"higher"`` or ``"neither"``. ``completed_only`` says that a trial
    which did not reach the goal cuts the value short: it is then computed on the part driven, and
    never averaged or compared with completed trials.

    Tables show it under ``heading`` (its name unless given) with ``decimals``; where a
    ``shown_unit`` is given, in that, of which ``shown_factor`` make one ``unit``. ``in_table``: it
    is a column in the table of means. ``in_comparison``: planners are compared by it in pairs, and
    it counts among the questions of Holm's adjustment. ``in_agreement``: two simulators are
    compared by it.

    ``compute`` returns NaN where the recording cannot tell; None is for a number that the trial
    is told (:attr:`Recording.numbers`), and for a metric whose code is not at hand.

    ``smallest_relevant`` is the smallest difference between two planners that matters, in ``unit``;
    0, where every difference does. A campaign may set another one.
    """

    name: str
    better: str
    completed_only: bool
    description: str
    heading: str = ""
    unit: str = ""
    decimals: int = 2
    shown_unit: str = ""
    shown_factor: float = 1.0
    in_table: bool = True
    in_comparison: bool = True
    in_agreement: bool = False
    smallest_relevant: float = 0.0
    compute: Optional[Compute] = field(default=None, compare=False, repr=False)

    def __new__(cls, *positional: object, **fields: object) -> "Metric":
        """Refuse values without names; ``dataclass(kw_only=True)`` needs Python 3.10."""
        if positional:
            raise SpecError(
                f"metric {positional[0]!r}: Metric takes its values by keyword: Metric(name=..., "
                "unit=..., better=..., completed_only=..., compute=..., description=...)"
            )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if self.better not in BETTER:
            raise SpecError(f"metric {self.name}: better is {self.better!r}, not one of {BETTER}")
        if not 0 <= self.decimals <= MOST_DECIMALS:
            raise SpecError(
                f"metric {self.name}: decimals is {self.decimals}, not 0 to {MOST_DECIMALS}"
            )

        if not 0.0 <= self.smallest_relevant < math.inf:
            raise SpecError(
                f"metric {self.name}: smallest_relevant is {self.smallest_relevant:g}; it must be "
                "0 or more, in the metric's unit"
            )

    @property
    def label_unit(self) -> str:
        """The unit that tables show, empty for a pure number."""
        return self.shown_unit or self.unit


_HERE = "gz_testauto.metrics"

_BUILTINS = {
    "spl": f"{_HERE}.spl:SPL",
    "distance_m": f"{_HERE}.distance:DISTANCE",
    "time_s": f"{_HERE}.duration:TIME",
    "safety": f"{_HERE}.safety:SAFETY",
    "comfort_mps2": f"{_HERE}.comfort:COMFORT",
    "cycle_mean_s": f"{_HERE}.cycle_time:MEAN",
    "standing_s": f"{_HERE}.duration:STANDING",
    "danger_share": f"{_HERE}.safety:DANGER",
    "clearance_min_m": f"{_HERE}.clearance:MINIMUM",
    "clearance_mean_m": f"{_HERE}.clearance:MEAN",
    "clearance_p05_m": f"{_HERE}.clearance:FIFTH_PERCENTILE",
    "collisions": f"{_HERE}.collisions:COLLISIONS",
    "impact_speed_mps": f"{_HERE}.collisions:IMPACT_SPEED",
    "jerk_rms_mps3": f"{_HERE}.jerk:RMS_JERK",
    "log_dimensionless_jerk": f"{_HERE}.jerk:LOG_DIMENSIONLESS_JERK",
    "curvature_mean_1pm": f"{_HERE}.curvature:MEAN",
    "curvature_max_1pm": f"{_HERE}.curvature:MAXIMUM",
    "heading_change_radpm": f"{_HERE}.heading_change:HEADING_CHANGE",
    "reversals": f"{_HERE}.reversals:REVERSALS",
    "barn_score": f"{_HERE}.barn:BARN_SCORE",
    "cycle_p95_s": f"{_HERE}.cycle_time:P95",
    "cycle_p99_s": f"{_HERE}.cycle_time:P99",
    "cycle_max_s": f"{_HERE}.cycle_time:MAXIMUM",
    "cycle_cpu_mean_s": f"{_HERE}.cycle_time:CPU_MEAN",
    "cycle_missed_share": f"{_HERE}.cycle_time:MISSED",
    "real_time_factor": f"{_HERE}.real_time_factor:REAL_TIME_FACTOR",
}
"""In the order in which results show them."""

METRICS = Registry("metric", _BUILTINS)


def builtin_metrics() -> Tuple[Metric, ...]:
    """This package's, in the order in which results show them."""
    return tuple(METRICS.get(name) for name in _BUILTINS)


def installed_metrics() -> Tuple[Metric, ...]:
    """This package's, then those of others by name.

    Raises ``SpecError`` for a plugin that is no metric, or is one under another name.
    """
    others = (name for name in METRICS.names() if name not in _BUILTINS)
    return (*builtin_metrics(), *map(_plugin, others))


def _plugin(name: str) -> Metric:
    found = METRICS.get(name)
    if not isinstance(found, Metric) or found.compute is None:
        raise SpecError(f"metric {name!r}: the plugin is not a Metric with compute")
    if found.name != name:
        raise SpecError(f"metric {name!r}: the plugin's Metric has the name {found.name!r}")
    return found


def measure(
    recording: Recording,
    context: MetricContext,
    metrics: Optional[Iterable[Metric]] = None,
) -> Dict[str, float]:
    """Compute the metrics, all that are installed unless told, and add the numbers that the
    recording has of its own.

    What a recording cannot tell, or what is not finite (the clearance where there is no
    obstacle), is NaN.
    """
    values = {}
    for metric in installed_metrics() if metrics is None else metrics:
        if metric.compute is not None:
            value = float(metric.compute(recording, context))
            values[metric.name] = value if math.isfinite(value) else math.nan
    for name, number in recording.numbers.items():
        values[name] = float(number) if math.isfinite(number) else math.nan
    return values
