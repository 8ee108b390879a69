"""Topics, windows and poses are selected from the content of a bag, or the choice is requested."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gz_testauto.base.errors import ResultsError
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.field.frames import Transforms
from gz_testauto.extras.field.topics import SCAN, Bag, BagContent, BagGoal, GoalEnd
from gz_testauto.extras.field.window import select_window

PATH = Path("field.bag")
NO_CHOICE = {"scan": None, "odom": None, "map-topic": None}


def bag(topics, **chosen):
    connections = [SimpleNamespace(topic=topic, msgtype=kind) for topic, kind in topics.items()]
    reader = SimpleNamespace(connections=connections, start_time=0, end_time=10**9)
    return Bag(PATH, reader, {**NO_CHOICE, **chosen})


def window(goals, ends, from_s=None, to_s=None, duration_s=60.0):
    goals = [BagGoal(time_s, Pose2D(0, 0), "map", name) for time_s, name in goals]
    ends = [GoalEnd(*end) for end in ends]
    content = BagContent(
        duration_s,
        Transforms(PATH),
        goals,
        ends,
        np.zeros((0, 2)),
        np.zeros((0, 2)),
        None,
        "map",
        "",
    )
    return select_window(PATH, content, from_s, to_s)


def transforms(*rows, static=False):
    """Return transforms of a base at times (s) and positions x (m)."""
    result = Transforms(PATH)
    for time_s, x_m in rows:
        result.add("odom", "base", (time_s, time_s, x_m, 0, 0, 0, 0, 0, 1), static)
    return result


def test_two_scans_need_a_choice():
    topics = {"/front": SCAN, "/rear": SCAN}
    with pytest.raises(ResultsError, match=r"/front, /rear; select one with --scan"):
        bag(topics)
    bag(topics, scan="/rear")


def test_bag_without_scans_lists_its_topics():
    with pytest.raises(ResultsError, match=r"no topic of type .*LaserScan; its topics are /odom"):
        bag({"/odom": "nav_msgs/msg/Odometry"})


def test_window_is_that_of_the_last_goal_that_was_not_reached():
    goals = [(2.0, "a"), (20.0, "b"), (40.0, "c")]
    ends = [(10.0, "aborted", "a"), (30.0, "cancelled", "b"), (50.0, "succeeded", "c")]
    found = window(goals, ends)
    assert (found.from_s, found.to_s) == (19.0, 31.0)
    assert found.reason == "goal 2 of 3, cancelled"


def test_result_of_a_replaced_goal_is_not_that_of_the_next_goal():
    found = window([(2.0, "a"), (20.0, "b")], [(20.1, "cancelled", "a")])
    assert (found.from_s, found.to_s) == (19.0, 60.0)
    assert found.reason == "goal 2 of 2, without a result"


def test_long_bag_without_a_goal_needs_a_window():
    assert window([], []).to_s == 60.0
    with pytest.raises(ResultsError, match=r"no goal and lasts 600 s; select a window"):
        window([], [], duration_s=600.0)


def test_pose_is_interpolated_and_states_the_gap():
    found = transforms((0.0, 0.0), (1.0, 2.0), (5.0, 2.0))
    poses = found.poses("base", "odom", np.array([0.5, 3.0]), (0.0, 5.0))
    assert poses.positions_m[:, 0] == pytest.approx([1.0, 2.0])
    assert poses.gaps_s == pytest.approx([1.0, 4.0])


def test_faulty_positions_of_odometry_are_omitted():
    found = transforms((0.0, 0.0), (0.5, 2.1e6), (1.0, 1.0), (1.2, np.nan))
    poses = found.poses("base", "odom", np.array([0.5]), (0.0, 2.0))
    assert poses.positions_m[0, 0] == pytest.approx(0.5)


def test_frame_without_a_parent_names_the_options():
    with pytest.raises(ResultsError, match=r"field.bag: tf does not connect .*'laser'.*--mount"):
        transforms((0.0, 0.0)).chain("laser", "map")
