"""Gates, track, regions and time to collision, against drives known on paper."""

from dataclasses import replace

import numpy as np
import pytest

from gz_testauto.metrics.interface import MetricContext
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.tasks import least_time_to_collision_s, task_metrics
from gz_testauto.spec.campaign import MetricsSpec


class Campaign:
    others_move = True
    has_road = False
    actors = ()

    def __init__(self, **metrics):
        self.metrics = MetricsSpec(**metrics)


def recording(x_m, y_m=None, clearance_m=None):
    n = len(x_m)
    pose = np.zeros((n, 3))
    pose[:, 0] = x_m
    pose[:, 1] = 0.0 if y_m is None else y_m
    return Recording(
        time_s=0.1 * np.arange(n),
        pose=pose,
        twist=np.zeros((n, 3)),
        command=np.zeros((n, 2)),
        clearance_m=np.full(n, 5.0) if clearance_m is None else np.asarray(clearance_m),
        cycle_time_s=np.empty(0),
        cycle_cpu_s=np.empty(0),
    )


def measured(drive, **metrics):
    found = {metric.name: metric for metric in task_metrics(Campaign(**metrics))}
    return {name: metric.compute(drive, MetricContext()) for name, metric in found.items()}


STRAIGHT = recording(np.linspace(0.0, 10.0, 101))


@pytest.mark.parametrize(
    ("xs", "passed"), [((2, 4, 6), 3), ((2, 12, 6), 1), ((6, 4, 2), 1), ((12,), 0), ((2, 2), 2)]
)
def test_only_gates_that_are_passed_in_order_count(xs, passed):
    gates = [((float(x), -1.0), (float(x), 1.0)) for x in xs]
    assert measured(STRAIGHT, gates_m=gates)["gates_passed"] == passed


def test_a_gate_next_to_the_path_is_not_passed():
    assert measured(STRAIGHT, gates_m=[((2.0, 1.0), (2.0, 3.0))])["gates_passed"] == 0


def test_time_in_a_region_and_share_off_a_track():
    box = [{"rectangle": {"x_m": (2.0, 4.5), "y_m": (-1.0, 1.0)}}]
    found = measured(STRAIGHT, regions={"kitchen": box}, track=box)
    assert found["time_in_kitchen_s"] == pytest.approx(2.5, abs=0.11)
    assert found["off_track_share"] == pytest.approx(0.75, abs=0.011)


def test_time_to_collision_is_clearance_over_closing_speed():
    closing = recording(np.zeros(11), clearance_m=np.linspace(3.0, 1.0, 11))
    assert least_time_to_collision_s(closing, MetricContext()) == pytest.approx(0.5)
    parting = recording(np.zeros(11), clearance_m=np.linspace(1.0, 3.0, 11))
    assert np.isnan(least_time_to_collision_s(parting, MetricContext()))


def test_an_obstacle_that_appears_or_disappears_has_no_time_to_collision():
    x_m = np.zeros(6)
    for clearance in ([np.inf, np.inf, 2.0, 2.0, np.inf, np.inf], np.full(6, np.inf)):
        sudden = recording(x_m, clearance_m=clearance)
        assert np.isnan(least_time_to_collision_s(sudden, MetricContext()))
    # An object appears 1 m away at 0.3 s, where a wall was 5 m away, and approaches at 1 m/s.
    way = np.full((6, 3), np.nan)
    way[3:] = 0.0
    clearance = np.array([5.0, 5.0, 5.0, 1.0, 0.9, 0.8])
    appears = replace(recording(x_m, clearance_m=clearance), series={"actor_walker": way})
    assert least_time_to_collision_s(appears, MetricContext()) == pytest.approx(0.8)


def test_a_campaign_without_tasks_has_no_task_metrics():
    campaign = Campaign()
    campaign.others_move = False
    assert task_metrics(campaign) == ()
