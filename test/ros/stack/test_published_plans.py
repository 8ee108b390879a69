"""Plans that a stack publishes are counted with times and lengths."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import shapely

pytest.importorskip("rospy")

from gz_testauto.base.pose import Pose2D
from gz_testauto.ros.stack import topic_monitor
from gz_testauto.ros.stack.topic_monitor import STORED_WITHIN_M, PublishedPlans, StackMonitor
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load

NAVFN = "/move_base/NavfnROS/plan"


def line(length_m):
    return np.array([(x_m, 0.0) for x_m in np.linspace(0.0, length_m, 5)])


def test_a_plan_published_twice_by_navfn_counts_once():
    heard = PublishedPlans(stored_after_s=0.5)
    for second in (10.0, 11.0, 12.0):
        heard.add(NAVFN, second, second - 10.0, line(7.22))
        heard.add(NAVFN, second, second - 9.99, line(7.27))
    assert np.allclose(heard.lengths_m, [7.27, 7.27, 7.27])
    assert np.allclose(heard.array()[:, 0], [0.0, 1.0, 2.0])


def test_plans_without_a_stamp_or_of_other_topics_are_counted_separately():
    heard = PublishedPlans(stored_after_s=0.5)
    for length_m in (1.0, 2.0):
        heard.add(NAVFN, 0.0, 0.0, line(length_m))
    heard.add(NAVFN, 5.0, 1.0, line(3.0))
    heard.add("/move_base/GlobalPlanner/plan", 5.0, 1.0, line(4.0))
    assert np.allclose(heard.lengths_m, [1.0, 2.0, 3.0, 4.0])


def test_arrays_of_no_plans_and_of_empty_plans_have_two_columns():
    heard = PublishedPlans(stored_after_s=0.5)
    assert heard.array().shape == (0, 2)
    heard.add(NAVFN, 1.0, 0.5, np.array([]))
    assert heard.lengths_m == [0.0]


def test_points_of_a_plan_are_those_of_its_second_message():
    heard = PublishedPlans(stored_after_s=0.5)
    assert heard.points().shape == (0, 3)
    for stamp_s, length_m in ((10.0, 7.25), (10.0, 7.5), (11.0, 5.0), (11.0, 5.5)):
        heard.add(NAVFN, stamp_s, stamp_s - 10.0, line(length_m))
    assert heard.points().tolist() == [[0, 0, 0], [0, 7.5, 0], [1, 0, 0], [1, 5.5, 0]]


def test_points_of_plans_within_the_interval_are_not_stored():
    heard = PublishedPlans(stored_after_s=0.5)
    for tenth in range(11):
        heard.add("/plan", 0.0, tenth / 10, line(1.0 + tenth))
    assert len(heard.lengths_m) == 11
    assert sorted(set(heard.points()[:, 0].tolist())) == [0.0, 0.5, 1.0]


def test_plan_in_another_frame_is_stored_in_the_world_frame():
    heard = PublishedPlans(stored_after_s=0.5)
    odom = Pose2D(1.0, 2.0, math.pi / 2)
    heard.add("/plan", 0.0, 0.25, np.array([(0.0, 0.0), (3.0, 0.0), (3.0, 1.0)]), odom)
    stored = heard.points()
    assert np.allclose(stored, [(0.25, 1, 2), (0.25, 1, 5), (0.25, 0, 5)], atol=1e-6)
    assert stored.dtype == np.float32


def test_plan_in_an_unknown_frame_is_counted_and_not_stored():
    heard = PublishedPlans(stored_after_s=0.5)
    heard.add("/plan", 0.0, 0.0, line(1.0), None)
    heard.add("/plan", 0.0, 0.1, line(2.0))
    assert heard.lengths_m == [1.0, 2.0]
    assert heard.points()[:, 0].tolist() == pytest.approx([0.1, 0.1])


def test_stored_plan_differs_from_the_received_plan_by_the_limit_at_most():
    angles = np.linspace(0.0, math.pi, 400)
    received = np.column_stack([np.cos(angles), np.sin(angles)])
    heard = PublishedPlans(stored_after_s=0.5)
    heard.add("/plan", 0.0, 0.0, received)
    stored = heard.points()[:, 1:]
    assert len(stored) < 20
    distance_m = shapely.hausdorff_distance(
        shapely.LineString(received), shapely.LineString(stored), densify=0.01
    )
    assert distance_m <= STORED_WITHIN_M + 1e-6


@pytest.mark.parametrize(("publishers", "count"), [(0, math.nan), (1, 0.0)])
def test_number_of_plans_is_unknown_if_no_node_publishes_plans(monkeypatch, publishers, count):
    subscriber = SimpleNamespace(get_num_connections=lambda: publishers)
    monkeypatch.setattr(topic_monitor.rospy, "Subscriber", lambda *_, **__: subscriber)
    spec = load(Path(__file__).parents[3] / "config" / "own_stack_campaign.yaml", CampaignSpec)
    numbers = StackMonitor(spec.stack, None).numbers()
    assert numbers["global_plans"] == pytest.approx(count, nan_ok=True)
