"""Declare metrics: named numbers with a unit, computed from one recording.

This module contains the declaration that tables, comparisons, exports and the store read, the
registry, and the computation of all metrics of a recording. A metric is independent of other
trials; :mod:`gz_testauto.analysis` averages and compares.

In this and other packages, a metric is a function with a declaration as its decorator::

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
    """The parameters of metrics in addition to the recording, equal for all trials of a campaign.

    ``safety_distance_m`` is d_0, the clearance above which there is no danger.
    ``acceleration_cutoff_hz`` is the cut-off of the low-pass filter for velocities before they are
    differentiated. ``control_period_s`` is the limit of the time of a planner cycle.
    ``max_linear_mps`` is the robot's greatest speed. ``barn_k`` is the multiple of the best time
    that is the lower limit of the time driven in the BARN score.
    """

    safety_distance_m: float = 1.0
    acceleration_cutoff_hz: float = 2.0
    control_period_s: float = 0.1
    max_linear_mps: float = 1.0
    barn_k: float = 2.0


Compute = Callable[[Recording, MetricContext], float]


@dataclass(frozen=True)
class Metric:
    """The declaration of one metric, with keyword arguments only; mostly created by
    :func:`metric`.

    ``unit`` is the SI unit of stored and exported values (``"m"``; empty for a pure number).
    ``better`` is ``"lower"``, ``"higher"`` or ``"neither"``. ``completed_only``: the value of a
    trial that did not reach the goal is incomplete. It is then computed for the part driven, and
    never averaged or compared with completed trials.

    Tables show the metric under ``heading`` (by default its name) with ``decimals``. If
    ``shown_unit`` is set, they use that unit; one ``unit`` is ``shown_factor`` of it. ``in_table``:
    the metric is a column in the table of means. ``in_comparison``: planners are compared by it in
    pairs, and it counts among the hypotheses of Holm's adjustment. ``in_agreement``: two
    simulators are compared by it.

    ``compute`` returns NaN if the recording does not determine the value. It is None for a number
    that the trial reports (:attr:`Recording.numbers`), and for a metric that is not installed.

    ``smallest_relevant`` is the smallest difference between two planners that matters, in ``unit``;
    0 if every difference matters. A campaign can set another value.
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
        """Raise ``SpecError`` for positional values, since ``kw_only`` needs Python 3.10."""
        if positional:
            raise SpecError(
                f"metric {positional[0]!r}: Metric accepts only keyword arguments: "
                "Metric(name=..., unit=..., better=..., completed_only=..., compute=..., "
                "description=...)"
            )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if self.better not in BETTER:
            raise SpecError(
                f"metric {self.name}: 'better' is {self.better!r}; it must be one of {BETTER}"
            )
        if not 0 <= self.decimals <= MOST_DECIMALS:
            raise SpecError(
                f"metric {self.name}: 'decimals' is {self.decimals}; it must be from 0 to "
                f"{MOST_DECIMALS}"
            )

        if not 0.0 <= self.smallest_relevant < math.inf:
            raise SpecError(
                f"metric {self.name}: 'smallest_relevant' is {self.smallest_relevant:g}; it must "
                "be 0 or more, in the metric's unit"
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
    """Return a decorator that creates a :class:`Metric` with the name of the decorated function.

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
    """Return the metrics of this package, in the order in which results show them."""
    return tuple(METRICS.get(name) for name in _MODULES)


def installed_metrics() -> Tuple[Metric, ...]:
    """Return the metrics of this package, then those of other packages sorted by name.

    Raises ``SpecError`` for a plug-in that is not a metric, or whose metric has another name.
    """
    others = (name for name in METRICS.names() if name not in _MODULES)
    return (*builtin_metrics(), *map(_plugin, others))


def _plugin(name: str) -> Metric:
    found = METRICS.get(name)
    if not isinstance(found, Metric) or found.compute is None:
        raise SpecError(f"metric {name!r}: the plug-in must be a Metric with a compute function")
    if found.name != name:
        raise SpecError(
            f"metric {name!r}: the Metric of the plug-in has a different name, {found.name!r}"
        )
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
