"""Post-encroachment times of objects that are present at single samples only."""

import math

import numpy as np
import pytest

from gz_testauto.metrics.encounters import post_encroachment_s
from gz_testauto.metrics.recording import Recording

SQUARE = np.array([[0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5]])


def crossing(poses, way):
    """Robot and object, squares of 1 m, once a second at these positions; None if absent."""
    absent = (math.nan,) * 3
    count = len(poses)
    return Recording(
        time_s=np.arange(float(count)),
        pose=np.array([(x, y, 0.0) for x, y in poses]),
        twist=np.zeros((count, 3)),
        command=np.zeros((count, 2)),
        clearance_m=np.full(count, 1.0),
        cycle_time_s=np.empty(0),
        cycle_cpu_s=np.empty(0),
        series={
            "footprint": SQUARE,
            "outline_other": SQUARE,
            "actor_other": np.array([absent if at is None else (*at, 0.0) for at in way]),
        },
    )


HERE, THERE, AWAY = (0.0, 0.0), (9.0, 30.0), (50.0, -40.0)


@pytest.mark.parametrize("last", [2, 4, 6])
def test_positions_at_the_first_and_last_sample_count(last):
    """The object is at the origin at 0 s, the robot at the last sample."""
    way = [HERE, *[None] * (last // 2 - 1), THERE, *[None] * (last // 2 - 1), THERE]
    poses = [(100.0 + 10 * second, 90.0) for second in range(last)] + [HERE]
    assert post_encroachment_s(crossing(poses, way), "other") == pytest.approx(last)


def test_positions_between_samples_do_not_count_while_the_object_is_absent():
    """The object disappears at (-20, 0) and appears at (20, 0): it did not pass the origin."""
    poses = [AWAY, AWAY, HERE, AWAY]
    passed = [(-20.0, 0.0), None, (20.0, 0.0), (20.0, 0.0)]
    assert post_encroachment_s(crossing(poses, passed), "other") == math.inf
    present = [(-20.0, 0.0), (0.0, 0.0), (20.0, 0.0), (20.0, 0.0)]
    assert post_encroachment_s(crossing(poses, present), "other") == pytest.approx(1.0, abs=0.3)


def test_the_latest_of_several_visits_before_the_robot_counts():
    """The object is at the origin until 2 s and at 9 s, the robot at 5 s: 3 s are the least."""
    poses = [HERE if second == 5 else AWAY for second in range(10)]
    way = [HERE if second in (0, 1, 2, 9) else THERE for second in range(10)]
    assert post_encroachment_s(crossing(poses, way), "other") == pytest.approx(3.0)


def test_an_object_at_a_single_sample_crosses_no_path():
    assert post_encroachment_s(crossing([HERE, HERE], [HERE, None]), "other") == math.inf
    assert post_encroachment_s(crossing([HERE, HERE], [HERE, HERE]), "other") == 0.0
