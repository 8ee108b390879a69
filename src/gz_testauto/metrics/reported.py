"""Declare metrics whose values (``Recording.numbers``) are reported during a trial, in some
campaigns.
"""

from typing import Dict, Tuple

from gz_testauto.metrics.interface import Metric


def _reported_metric(
    name: str,
    unit: str,
    better: str,
    description: str,
    decimals: int = 0,
    completed_only: bool = True,
) -> Metric:
    return Metric(
        name=name,
        unit=unit,
        decimals=decimals,
        better=better,
        completed_only=completed_only,
        description=description,
    )


REPORTED: Dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _reported_metric("recoveries", "", "lower", "recovery behaviors that move_base started"),
        _reported_metric(
            "missed_control_cycles",
            "",
            "lower",
            "control loops that missed their rate, as logged",
        ),
        _reported_metric(
            "tf_extrapolations", "", "lower", "warnings of tf extrapolation, as logged"
        ),
        _reported_metric(
            "truth_gap_s", "s", "lower", "longest time between two ground-truth poses", 2
        ),
        _reported_metric(
            "localization_error_m",
            "m",
            "lower",
            "mean distance between the estimated and the true position",
            2,
        ),
        _reported_metric(
            "localization_error_max_m",
            "m",
            "lower",
            "largest distance between the estimated and the true position",
            2,
            completed_only=False,
        ),
        _reported_metric(
            "localization_error_end_m",
            "m",
            "lower",
            "distance between the estimated and the true position at the end",
            2,
            completed_only=False,
        ),
        _reported_metric(
            "late_periods",
            "",
            "lower",
            "control periods that started without a new command",
        ),
        _reported_metric("global_plans", "", "neither", "number of global plans"),
        _reported_metric("global_plan_m", "m", "neither", "length of the first global plan", 2),
        _reported_metric("local_plan_m", "m", "neither", "mean length of the local plans", 2),
    )
}


def metric_of_stack(name: str, unit: str, better: str) -> Metric:
    return Metric(
        name=name,
        unit=unit,
        decimals=3,
        better=better,
        completed_only=True,
        in_table=True,
        description="value that the navigation stack published",
    )


def metrics_of_companion(robot: str) -> Tuple[Metric, ...]:
    """Return the metrics of a further robot of a campaign. ``robot`` is its name."""
    numbers = (
        ("reached", "", "higher", "1 if it reached its goal", 0),
        ("collided", "", "lower", "1 if it collided", 0),
        ("time_s", "s", "neither", "time at which it reached its goal or collided", 1),
        ("clearance_min_m", "m", "higher", "its smallest clearance", 2),
    )
    return tuple(
        _reported_metric(f"{robot}_{name}", unit, better, f"robot {robot}: {text}", decimals, False)
        for name, unit, better, text, decimals in numbers
    )


def metric_of_drawn_value(name: str) -> Metric:
    text = "drawn for the trial; the mean if there are several values"
    return _reported_metric(name, "", "neither", text, 3, completed_only=False)


def metric_of_recorded_value(name: str, source: str = "the scenario") -> Metric:
    return _reported_metric(name, "", "neither", f"recorded by {source}", 3, completed_only=False)


def metric_of_active_time(name: str) -> Metric:
    text = "simulated time in which the effect was active"
    return _reported_metric(name, "s", "neither", text, 2, completed_only=False)
