"""Plans that a stack publishes are counted with times and lengths."""

import numpy as np

from gz_testauto.ros.stack.topic_monitor import PublishedPlans

NAVFN = "/move_base/NavfnROS/plan"


def line(length_m):
    return np.array([(x_m, 0.0) for x_m in np.linspace(0.0, length_m, 5)])


def test_a_plan_published_twice_by_navfn_counts_once():
    heard = PublishedPlans()
    for second in (10.0, 11.0, 12.0):
        heard.add(NAVFN, second, second - 10.0, line(7.22))
        heard.add(NAVFN, second, second - 9.99, line(7.27))
    assert np.allclose(heard.lengths_m, [7.27, 7.27, 7.27])
    assert np.allclose(heard.array()[:, 0], [0.0, 1.0, 2.0])


def test_plans_without_a_stamp_or_of_other_topics_are_counted_separately():
    heard = PublishedPlans()
    for length_m in (1.0, 2.0):
        heard.add(NAVFN, 0.0, 0.0, line(length_m))
    heard.add(NAVFN, 5.0, 1.0, line(3.0))
    heard.add("/move_base/GlobalPlanner/plan", 5.0, 1.0, line(4.0))
    assert np.allclose(heard.lengths_m, [1.0, 2.0, 3.0, 4.0])


def test_arrays_of_no_plans_and_of_empty_plans_have_two_columns():
    heard = PublishedPlans()
    assert heard.array().shape == (0, 2)
    heard.add(NAVFN, 1.0, 0.5, np.array([]))
    assert heard.lengths_m == [0.0]


def test_points_of_the_first_plan_are_those_of_its_second_message():
    heard = PublishedPlans()
    assert heard.first_m.shape == (0, 2)
    for stamp_s, length_m in ((10.0, 7.2), (10.0, 7.3), (11.0, 5.0), (11.0, 5.1)):
        heard.add(NAVFN, stamp_s, stamp_s - 10.0, line(length_m))
    assert heard.first_m[-1].tolist() == [7.3, 0.0]
