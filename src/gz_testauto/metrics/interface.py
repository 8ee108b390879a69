"""Declare metrics: named numbers with a unit, computed from one recording.

A metric is a function with a declaration as its decorator, also in other packages::

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
from gz_testauto.spec.stack import is_reserved

BETTER = ("lower", "higher", "neither")
MOST_DECIMALS = 9

SUCCESS = "success"
"""Name of the success rate in lists of metrics."""
RELEVANT_SUCCESS = 0.05
"""Default of the smallest relevant difference of two success rates."""


@dataclass(frozen=True)
class MetricContext:
    """The parameters of metrics, which are the same for all trials of a campaign.

    ``safety_distance_m`` is d_0, the clearance above which no danger exists.
    ``acceleration_cutoff_hz`` is the cut-off of the low-pass filter for velocities before they are
    differentiated. ``control_period_s`` is the time limit of a planner cycle. ``max_linear_mps`` is
    the robot's top speed. ``barn_k`` is the k of the BARN score.
    """

    safety_distance_m: float = 1.0
    acceleration_cutoff_hz: float = 2.0
    control_period_s: float = 0.1
    max_linear_mps: float = 1.0
    barn_k: float = 2.0


Compute = Callable[[Recording, MetricContext], float]


@dataclass(frozen=True)
class Metric:
    """The declaration of one metric, usually created by the decorator :func:`metric`.

    ``unit`` is the SI unit of stored and exported values, empty for a dimensionless number.
    ``better`` is ``"lower"``, ``"higher"`` or ``"neither"``. If ``completed_only`` is true, the
    values of trials that did not reach the goal are never averaged or compared.

    Tables show the metric under ``heading`` (by default its name) with ``decimals``, in
    ``shown_unit`` if set, multiplied by ``shown_factor``. If ``in_table`` is true, the metric is a
    column in the table of means. If ``in_comparison`` is true, pairs of planners are compared by
    the metric, and each comparison counts in Holm's adjustment. If ``in_agreement`` is true,
    simulators are compared by the metric.

    ``compute`` returns NaN if the recording does not determine the value. It is None for a number
    that the trial reports (:attr:`Recording.numbers`), and for a metric that is not installed.

    ``smallest_relevant`` is the smallest practically relevant difference of two planners, in
    ``unit``, or 0 if every difference is relevant. A campaign can set another value.

    ``bounds`` are the smallest and the largest possible value, in ``unit``, if known. A metric with
    bounds is compared by its mean, and one without by the median over worlds.
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
    bounds: Optional[Tuple[float, float]] = None
    compute: Optional[Compute] = field(default=None, compare=False, repr=False)

    def __new__(cls, *positional: object, **fields: object) -> "Metric":
        """Require keyword arguments; raise ``SpecError`` for positional arguments."""
        # The dataclass option kw_only requires Python 3.10.
        if positional:
            raise SpecError(
                f"metric {positional[0]!r}: Metric accepts only keyword arguments: "
                "Metric(name=..., unit=..., better=..., completed_only=..., compute=..., "
                "description=...)"
            )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if is_reserved(self.name):
            raise SpecError(
                f"metric {self.name}: {self.name!r} is the name of a column of the results; use "
                f"another name, such as 'own_{self.name}'"
            )
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
        if self.bounds is not None and not -math.inf < self.bounds[0] < self.bounds[1] < math.inf:
            raise SpecError(
                f"metric {self.name}: 'bounds' is {self.bounds}; it must be two finite numbers in "
                "increasing order"
            )

    def __call__(self, recording: Recording, context: MetricContext) -> float:
        """Return the value of one recording, in ``unit``."""
        assert self.compute is not None, f"metric {self.name} is not computed"
        return self.compute(recording, context)

    @property
    def label_unit(self) -> str:
        """The unit in tables."""
        return self.shown_unit or self.unit


def metric(**declaration: Any) -> Callable[[Compute], Metric]:
    """Return a decorator that creates a :class:`Metric` with the name of the decorated function and
    the other fields ``declaration``."""

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
"""The modules of the metrics, in the order of results."""


METRICS = Registry(
    "metric", {name: f"gz_testauto.metrics.{module}:{name}" for name, module in _MODULES.items()}
)


def builtin_metrics() -> Tuple[Metric, ...]:
    """Return the metrics of this package, in the order of results."""
    return tuple(METRICS.get(name) for name in _MODULES)


def installed_metrics() -> Tuple[Metric, ...]:
    """Return the metrics of this package, then those of other packages sorted by name.

    Raises ``SpecError`` if a plug-in is not a metric, or has another name than the registered one.
    """
    plugin_names = (name for name in METRICS.names() if name not in _MODULES)
    return (*builtin_metrics(), *map(_load_plugin_metric, plugin_names))


def _load_plugin_metric(name: str) -> Metric:
    plugin = METRICS.get(name)
    if not isinstance(plugin, Metric) or plugin.compute is None:
        raise SpecError(f"metric {name!r}: the plug-in must be a Metric with a compute function")
    if plugin.name != name:
        raise SpecError(
            f"metric {name!r}: the Metric of the plug-in has a different name, {plugin.name!r}"
        )
    return plugin


def measure(
    recording: Recording,
    context: MetricContext,
    metrics: Optional[Iterable[Metric]] = None,
) -> Dict[str, float]:
    """Return the values of the metrics, by default all, and the recording's numbers, by name.

    Values that are not finite are NaN.
    """
    values = {}
    for metric in installed_metrics() if metrics is None else metrics:
        if metric.compute is not None:
            value = float(metric.compute(recording, context))
            values[metric.name] = value if math.isfinite(value) else math.nan
    for name, number in recording.numbers.items():
        values[name] = float(number) if math.isfinite(number) else math.nan
    return values
