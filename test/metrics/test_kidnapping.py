"""Metrics of a robot that is moved to another place.

Every metric is compared with that of the same motion without the move, or with its two parts.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import shapely

from gz_testauto.metrics.interface import METRICS, MetricContext
from gz_testauto.metrics.recording import KIDNAPPING_SERIES
from gz_testauto.metrics.tasks import least_time_to_collision_s, task_metrics
from gz_testauto.metrics.traffic import moving_object_metrics
from gz_testauto.spec.campaign import MetricsSpec
from gz_testauto.testing.analytic_drives import constant, drive

MOVED = 40  # the sample after which the robot is moved
PLACE = (7.0, -3.0, 2.0)  # the displacement in x, y (m) and yaw (rad)


def kidnapped(recording, displacement=PLACE):
    """Return the recording with all poses after sample :data:`MOVED` displaced as a whole."""
    pose, pivot = recording.pose.copy(), recording.pose[MOVED, :2]
    cos, sin = math.cos(displacement[2]), math.sin(displacement[2])
    later = pose[MOVED + 1 :]
    later[:, :2] = (later[:, :2] - pivot) @ np.array([[cos, sin], [-sin, cos]]) + pivot
    later += displacement
    place = recording.pose[MOVED] + displacement
    moves = np.array([[recording.time_s[MOVED], *place]])
    return replace(recording, pose=pose, series={**recording.series, KIDNAPPING_SERIES: moves})


def value(name, recording):
    return METRICS.get(name).compute(recording, MetricContext())


@pytest.mark.parametrize(
    "name",
    ["distance_m", "time_s", "standing_s", "heading_change_radpm", "curvature_max_1pm"],
)
def test_a_move_changes_no_metric_of_the_driven_path(name):
    circle, _ = drive(constant(1.0), 8.0, 10, 1 / 2.0)
    assert value(name, kidnapped(circle)) == pytest.approx(value(name, circle), rel=1e-9)


def test_comfort_and_jerk_do_not_contain_the_change_of_speed_at_a_move():
    """The robot drives at 1 m/s until it is moved, and is at rest afterwards."""
    recording, _ = drive(constant(1.0), 8.0, 10)
    recording.twist[MOVED + 1 :] = 0.0
    still = kidnapped(recording)
    for name in ("comfort_mps2", "jerk_rms_mps3"):
        assert value(name, recording) > 0.1
        assert value(name, still) == pytest.approx(0.0, abs=1e-9)
    assert math.isnan(value("log_dimensionless_jerk", still))


def test_comfort_is_the_mean_over_the_time_of_both_parts():
    """Circles of 2 m: at 1 m/s, 0.5 m/s² for 4 s, and at 2 m/s, 2 m/s² for 4 s."""
    slow, _ = drive(constant(1.0), 8.0, 10, 1 / 2.0)
    recording = kidnapped(slow)
    recording.twist[MOVED + 1 :] *= 2.0
    lengths_s = (4.0, recording.time_s[-1] - recording.time_s[MOVED + 1])
    expected = math.sqrt((lengths_s[0] * 0.5**2 + lengths_s[1] * 2.0**2) / sum(lengths_s))
    assert value("comfort_mps2", recording) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("completed", [True, False])
def test_scores_relative_to_the_path_from_the_start_are_undefined(completed):
    recording, _ = drive(constant(1.0), 8.0, 10)
    recording = replace(recording, completed=completed, shortest_path_m=8.0)
    for name in ("spl", "barn_score"):
        assert not math.isnan(value(name, recording))
        assert math.isnan(value(name, kidnapped(recording)))


class Campaign:
    others_move = True
    has_road = False
    actors = ()
    metrics = MetricsSpec(gates_m=[((5.0, -9.0), (5.0, 9.0))])


def test_a_move_passes_no_gate_and_approaches_no_obstacle():
    straight, _ = drive(constant(1.0), 4.5, 10)
    clearance_m = np.where(np.arange(len(straight.time_s)) <= MOVED, 9.0, 1.0)
    still = replace(straight, clearance_m=clearance_m)
    (gates,) = (m for m in task_metrics(Campaign()) if m.name == "gates_passed")
    assert gates.compute(kidnapped(still, (3.0, 0.0, 0.0)), MetricContext()) == 0
    assert gates.compute(kidnapped(still, (0.9, 0.0, 0.0)), MetricContext()) == 1
    assert least_time_to_collision_s(still, MetricContext()) < 0.1
    assert math.isnan(least_time_to_collision_s(kidnapped(still), MetricContext()))


def test_a_move_past_an_object_is_no_encounter():
    """A robot at rest is moved from 10 m on one side of an object to 10 m on its other side."""
    still, _ = drive(constant(0.0), 8.0, 10)
    square = np.array([[0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5]])
    assert shapely.LinearRing(square).is_ccw
    object_poses = np.tile((10.0, 0.0, 0.0), (len(still.time_s), 1))
    series = {"footprint": square, "actor_other": object_poses, "outline_other": square}
    still = replace(still, series=series)
    metrics = {metric.name: metric for metric in moving_object_metrics(["other"])}

    def values(recording):
        names = ("object_ttc_min_s", "object_drac_max_mps2", "object_pet_min_s", "yielding_s")
        return [metrics[name].compute(recording, MetricContext()) for name in names]

    moved = kidnapped(still, (20.0, 0.0, 0.0))
    assert values(moved) == values(still) == [math.inf, 0.0, math.inf, 0.0]
    # without the series, the robot crosses the object
    assert values(replace(moved, series=series)) != values(still)
    nearer = kidnapped(still, (7.0, 0.0, 0.0))
    assert values(nearer)[:3] == values(still)[:3]
