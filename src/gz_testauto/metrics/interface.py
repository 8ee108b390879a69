"""Declare metrics: named numbers with a unit, computed from one recording.

Owns the declaration that tables, comparisons, exports and the store read, the registry, and the
computation of all metrics of a recording. A metric is independent of other trials;
:mod:`gz_testauto.analysis` averages and compares.

A metric is a function with a declaration above it, here and in other packages::

    @metric(
        better="lower",
        decimals=0,
        completed_only=True,
        in_table=True,
        description="changes of turning side",
    )
    def swerves(recording: Recording, context: MetricContext) -> float:
        turning = np.sign(recording.twist[:, 2])
        return float(np.count_nonzero(np.diff(turning[turning != 0])))
"""

import math
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, Optional, Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import Registry
from gz_testauto.metrics.recording import Recording

BETTER = ("lower", "higher", "neither")
MOST_DECIMALS = 9

SUCCESS = "success"
"""Name of the success rate in lists of metrics."""
RELEVANT_SUCCESS = 0.05
"""The smallest difference of two success rates that matters, unless the campaign sets it."""


@dataclass(frozen=True)
class MetricContext:
    """The parameters of metrics in addition to the recording; one per campaign.

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
    """The declaration of one metric; given by keyword, mostly by :func:`metric`.

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
    in_table: bool = False
    in_comparison: bool = False
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

    def __call__(self, recording: Recording, context: MetricContext) -> float:
        """Compute the metric of one recording."""
        assert self.compute is not None, f"metric {self.name} is not computed"
        return self.compute(recording, context)

    @property
    def label_unit(self) -> str:
        """The unit that tables show, empty for a pure number."""
        return self.shown_unit or self.unit


def metric(**declaration: Any) -> Callable[[Compute], Metric]:
    """Return a decorator that makes a :class:`Metric`, named as the function that it decorates.

    ``declaration`` are the fields of :class:`Metric` other than ``name`` and ``compute``.
    """

    def declare(compute: Compute) -> Metric:
        return Metric(name=compute.__name__, compute=compute, **declaration)

    return declare


_MODULES = {
    "spl": "efficiency",
    "distance_m": "efficiency",
    "time_s": "efficiency",
    "safety": "safety",
    "comfort_mps2": "comfort",
    "cycle_mean_s": "computing",
    "standing_s": "efficiency",
    "danger_share": "safety",
    "clearance_min_m": "safety",
    "clearance_mean_m": "safety",
    "clearance_p05_m": "safety",
    "collisions": "safety",
    "impact_speed_mps": "safety",
    "jerk_rms_mps3": "comfort",
    "log_dimensionless_jerk": "comfort",
    "curvature_mean_1pm": "path_shape",
    "curvature_max_1pm": "path_shape",
    "heading_change_radpm": "path_shape",
    "reversals": "path_shape",
    "barn_score": "efficiency",
    "cycle_p95_s": "computing",
    "cycle_p99_s": "computing",
    "cycle_max_s": "computing",
    "cycle_cpu_mean_s": "computing",
    "cycle_missed_share": "computing",
    "real_time_factor": "computing",
}
"""The module of each metric, in the order in which results show them."""


METRICS = Registry(
    "metric", {name: f"gz_testauto.metrics.{module}:{name}" for name, module in _MODULES.items()}
)


def builtin_metrics() -> Tuple[Metric, ...]:
    """Return the metrics of this package, in the order of results."""
    return tuple(METRICS.get(name) for name in _MODULES)


def installed_metrics() -> Tuple[Metric, ...]:
    """Return the metrics of this package, then those of other packages by name.

    Raises ``SpecError`` for a plugin that is no metric, or is one under another name.
    """
    others = (name for name in METRICS.names() if name not in _MODULES)
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
    """Compute the metrics, by default all installed ones, and add the numbers of the recording.

    A value that a recording does not determine, or that is not finite (the clearance without an
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
