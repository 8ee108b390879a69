"""The declarations of this package's metrics: the tables that show them, and the documentation."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from frozen_data import mutable_dataclasses

from gz_testauto import metrics
from gz_testauto.base.errors import SpecError
from gz_testauto.metrics.interface import (
    RELEVANT_SUCCESS,
    Metric,
    MetricContext,
    builtin_metrics,
    measure,
)
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.reported import metric_of_stack, metrics_of_companion
from gz_testauto.results.schema import TRIALS

METRICS = {metric.name: metric for metric in builtin_metrics()}
TABLE = ["spl", "distance_m", "time_s", "safety", "comfort_mps2", "cycle_mean_s"]


def rows_of_the_documentation():
    """Name, unit, better and whether a failure cuts it short, of each metric in the table."""
    text = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        names = re.findall(r"`(\w+)`", cells[0])
        if len(cells) == 4 and names and names[0] in METRICS:
            for name in names:
                better = cells[2].replace("–", "neither")
                yield name, cells[1], better, cells[0].endswith("*")


def test_the_documentation_lists_every_metric_with_its_unit_and_direction():
    declared = [
        (metric.name, metric.unit, metric.better, metric.completed_only)
        for metric in METRICS.values()
    ]
    assert sorted(rows_of_the_documentation()) == sorted(declared)


@pytest.mark.parametrize("name", [*TRIALS.columns, "campaign", "world_length"])
def test_metric_with_the_name_of_an_exported_column_is_rejected(name):
    with pytest.raises(SpecError, match=f"'{name}' is the name of a column.*'own_{name}'"):
        Metric(name=name, better="lower", completed_only=True, description="")


def test_means_and_comparisons_show_six_metrics():
    assert [name for name, metric in METRICS.items() if metric.in_table] == TABLE
    assert [name for name, metric in METRICS.items() if metric.in_comparison] == TABLE


def test_simulators_are_compared_by_length_time_and_least_clearance():
    compared = [name for name, metric in METRICS.items() if metric.in_agreement]
    assert compared == ["distance_m", "time_s", "clearance_min_m"]


def test_the_smallest_relevant_differences_are_those_of_the_documentation():
    relevant = {
        name: metric.smallest_relevant
        for name, metric in METRICS.items()
        if metric.smallest_relevant > 0.0 and metric.in_comparison
    }
    assert relevant == {
        "spl": 0.05, "distance_m": 0.2, "time_s": 1.0, "safety": 0.05,
        "comfort_mps2": 0.05, "cycle_mean_s": 0.005,
    }  # fmt: skip
    assert RELEVANT_SUCCESS == 0.05


def test_cycles_are_shown_in_milliseconds():
    cycles = [metric for name, metric in METRICS.items() if re.fullmatch("cycle_.*_s", name)]
    assert {(one.unit, one.label_unit, one.shown_factor) for one in cycles} == {("s", "ms", 1000.0)}
    assert METRICS["distance_m"].label_unit == "m"


def test_curvature_and_heading_change_have_equally_many_decimals():
    """Both are 1/r on a circle."""
    mean, change = METRICS["curvature_mean_1pm"], METRICS["heading_change_radpm"]
    assert mean.decimals == change.decimals == 3


def test_metrics_of_a_companion_robot_are_shown_as_those_of_the_first_robot():
    companion = {metric.name: metric for metric in metrics_of_companion("guest")}
    assert list(companion) == [
        "guest_reached", "guest_collided", "guest_time_s", "guest_clearance_min_m",
    ]  # fmt: skip
    for name in ("time_s", "clearance_min_m"):
        metric, first = companion[f"guest_{name}"], METRICS[name]
        assert (metric.unit, metric.decimals) == (first.unit, first.decimals)
    # They do not depend on the outcome of the first robot.
    assert not any(metric.completed_only for metric in companion.values())


def test_published_values_of_failures_are_not_averaged():
    metric = metric_of_stack("energy_j", "J", "lower")
    assert (metric.unit, metric.better, metric.completed_only) == ("J", "lower", True)
    assert metric.in_table


def declared(**fields):
    values = {"name": "x", "better": "lower", "completed_only": True, "description": "d", **fields}
    return Metric(**values)


def test_decimals_from_0_to_9_and_a_relevant_difference_from_0_are_valid():
    assert declared(decimals=0).decimals == 0
    assert declared(decimals=9).decimals == 9
    assert declared(smallest_relevant=0.0).smallest_relevant == 0.0
    for wrong in (-0.1, math.inf, math.nan):
        with pytest.raises(SpecError, match="smallest_relevant"):
            declared(smallest_relevant=wrong)


def wavy_drive(seconds=6.0):
    time_s = 0.1 * np.arange(round(10 * seconds) + 1)
    yaw, speed = 0.5 * np.sin(time_s), 0.5 + 0.3 * np.cos(2.0 * time_s)
    steps = 0.1 * speed[:, None] * np.column_stack([np.cos(yaw), np.sin(yaw)])
    return Recording(
        time_s=time_s,
        pose=np.column_stack([np.cumsum(steps, axis=0), yaw]),
        twist=np.column_stack([speed, 0.1 * np.sin(time_s), 0.5 * np.cos(time_s)]),
        command=np.zeros((len(time_s), 2)),
        clearance_m=1.0 + 0.9 * np.sin(time_s),
        cycle_time_s=np.array([0.01, 0.02]),
        cycle_cpu_s=np.array([0.01]),
        wall_time_s=2.0,
        shortest_path_m=2.0,
    )


def test_no_metric_depends_on_where_and_when_the_drive_starts():
    drive = wavy_drive()
    moved = replace(drive, time_s=drive.time_s + 40.0, pose=drive.pose + np.array([7.0, -3.0, 0.0]))
    turned = replace(drive, pose=drive.pose + np.array([0.0, 0.0, 2 * math.pi]))
    here = measure(drive, MetricContext())
    assert not any(map(math.isnan, (here[name] for name in TABLE)))
    for other in (moved, turned):
        found = measure(other, MetricContext())
        assert found == pytest.approx(here, rel=1e-9, abs=1e-9, nan_ok=True)


def test_numbers_of_a_recording_are_added_and_infinite_ones_are_unknown():
    drive = replace(wavy_drive(), numbers={"drawn_friction": 0.4, "plan_m": math.inf})
    values = measure(drive, MetricContext(), [METRICS["time_s"], declared(name="reported")])
    assert list(values) == ["time_s", "drawn_friction", "plan_m"]
    assert values["drawn_friction"] == 0.4
    assert math.isnan(values["plan_m"])


@pytest.mark.parametrize(
    ("name", "shape"),
    [("pose", (61, 2)), ("pose", (60, 3)), ("twist", (61, 2)), ("command", (61, 3)),
     ("clearance_m", (60,)), ("z_m", (60,)), ("roll_pitch_rad", (61, 3)),
     ("roll_pitch_rad", (60, 2))],
)  # fmt: skip
def test_a_recording_rejects_an_array_of_another_shape(name, shape):
    with pytest.raises(ValueError, match=name):
        replace(wavy_drive(), **{name: np.zeros(shape)})


def test_a_recording_rejects_stamps_that_do_not_increase():
    drive = wavy_drive()
    valid = {"z_m": np.zeros(61), "roll_pitch_rad": np.zeros((61, 2))}
    assert replace(drive, **valid).duration_s == pytest.approx(6.0)
    stamps = drive.time_s.copy()
    stamps[3] = stamps[2]
    with pytest.raises(ValueError, match="time_s"):
        replace(drive, time_s=stamps)


def test_a_recording_of_two_samples_has_a_duration_and_one_of_one_sample_none():
    part = {
        name: getattr(wavy_drive(), name) for name in ("pose", "twist", "command", "clearance_m")
    }
    for samples, duration_s in ((2, 0.5), (1, 0.0), (0, 0.0)):
        arrays = {name: array[:samples] for name, array in part.items()}
        short = replace(wavy_drive(), time_s=np.array([3.0, 3.5])[:samples], **arrays)
        assert short.duration_s == duration_s


def test_recordings_and_declarations_cannot_be_changed():
    assert mutable_dataclasses(metrics) == []
