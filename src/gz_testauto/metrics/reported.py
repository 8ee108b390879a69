"""Numbers that are told of a trial, beside what is computed from its drive.

They are not computed for every campaign, as metrics are: only a trial on a stack of the user's
own has them, or one over ROS in which time waits for nobody (``Recording.numbers``). Declared
here for tables and comparisons.
"""

import functools
import math
from typing import Dict

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording


def _reported(name: str, recording: Recording, context: MetricContext) -> float:
    return float(recording.numbers.get(name, math.nan))


def _declared(name: str, unit: str, better: str, description: str, decimals: int = 0) -> Metric:
    compute = functools.partial(_reported, name)
    return Metric(name, unit, better, True, compute, description, decimals)


REPORTED: Dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _declared("recoveries", "", "lower", "recovery behaviours that move_base began"),
        _declared("missed_control_cycles", "", "lower", "control loops that came late, as logged"),
        _declared("tf_extrapolations", "", "lower", "warnings of tf extrapolation, as logged"),
        _declared("truth_gap_s", "s", "lower", "longest time between two looks at the truth", 2),
        _declared(
            "late_periods", "", "lower", "control periods begun without the planner's answer"
        ),
        _declared("global_plans", "", "neither", "plans of the global planner"),
        _declared("global_plan_m", "m", "neither", "length of its first plan", 2),
        _declared("local_plan_m", "m", "neither", "mean length of the local plans", 2),
    )
}
"""By name."""
