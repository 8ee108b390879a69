"""Social metrics, compared with values known on paper."""

import math

import numpy as np
import pytest

from gz_testauto.extras.people.social_metrics import RANGE_M, STRENGTH_MPS2, social_force
from gz_testauto.metrics.interface import MetricContext
from gz_testauto.metrics.recording import ContactEpisode, Recording
from gz_testauto.metrics.traffic import moving_object_metrics

SQUARE = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
CONTEXT = MetricContext(max_linear_mps=1.0)


def recorded(robot, people, duration_s=1.0, step_s=0.1, contacts=()):
    """Return a recording of a robot and people, squares of 1 m, each at a function of time."""
    time_s = step_s * np.arange(round(duration_s / step_s) + 1)
    series = {"footprint": SQUARE}
    for name, motion in people.items():
        series["actor_" + name] = np.array([(*motion(t), 0.0) for t in time_s], dtype=float)
        series["outline_" + name] = SQUARE
    n = len(time_s)
    return Recording(
        time_s=time_s,
        pose=np.array([(*robot(t), 0.0) for t in time_s], dtype=float),
        twist=np.zeros((n, 3)),
        command=np.zeros((n, 2)),
        clearance_m=np.full(n, 1.0),
        cycle_time_s=np.empty(0),
        cycle_cpu_s=np.empty(0),
        contacts=contacts,
        series=series,
    )


def measured(recording, people, groups=()):
    metrics = moving_object_metrics(people, groups)
    return {metric.name: metric.compute(recording, CONTEXT) for metric in metrics}


def at(x_m, y_m):
    return lambda t: (x_m, y_m)


def test_social_force_of_a_person_at_rest_has_the_value_on_paper():
    """D = e, so that |D| = 1, θ = 0 and B = γ: the force is A e^(-d/γ) away from the person."""
    found = social_force(np.array([[1.0, 0.0], [0.0, 0.7]]), np.zeros((2, 2)))
    expected = [[-2.1 * math.exp(-1 / 0.35), 0.0], [0.0, -2.1 * math.exp(-0.7 / 0.35)]]
    assert found == pytest.approx(np.array(expected), abs=1e-12)


def test_social_force_of_an_approach_has_the_value_on_paper():
    """Head-on at 1.5 m/s: D = (2 · 1.5 + 1) e = 4 e and B = 4 γ, so that the range is longer."""
    found = social_force(np.array([[2.0, 0.0]]), np.array([[1.5, 0.0]]))
    assert found == pytest.approx(np.array([[-2.1 * math.exp(-2 / (4 * 0.35)), 0.0]]), abs=1e-12)


def test_social_force_turns_an_agent_to_the_other_side_of_a_crossing_person():
    """e = (1, 0), D = 2 (0, 0.5) + e = (1, 1), |D| = √2, θ = -45°, B = √2 γ."""
    (found,) = social_force(np.array([[1.0, 0.0]]), np.array([[0.0, 0.5]]))
    reach = math.sqrt(2) * RANGE_M
    slow = STRENGTH_MPS2 * math.exp(-1 / reach - (3 * reach * math.pi / 4) ** 2)
    turn = STRENGTH_MPS2 * math.exp(-1 / reach - (2 * reach * math.pi / 4) ** 2)
    along, across = np.array([1.0, 1.0]) / math.sqrt(2), np.array([-1.0, 1.0]) / math.sqrt(2)
    assert found == pytest.approx(-slow * along + turn * across, abs=1e-12)


def test_social_force_is_zero_where_its_direction_is_undefined():
    same = social_force(np.zeros((1, 2)), np.array([[1.0, 0.0]]))
    parting = social_force(np.array([[1.0, 0.0]]), np.array([[-0.5, 0.0]]))  # D = 0
    assert not same.any() and not parting.any()


def test_social_work_of_two_people_at_rest_has_the_value_on_paper():
    """Both forces on the robot have opposite directions; those on the people are added."""
    near, far = 2.1 * math.exp(-2 / 0.35), 2.1 * math.exp(-3 / 0.35)
    recording = recorded(at(0, 0), {"a": at(2, 0), "b": at(-3, 0), "box": at(0, 1.5)}, 2.0)
    found = measured(recording, ["a", "b"])
    assert found["social_force_on_people_mps"] == pytest.approx(2.0 * (near + far))
    assert found["social_work_mps"] == pytest.approx(2.0 * (near - far + near + far))


def test_robot_that_drives_to_a_person_exerts_a_larger_force():
    """At 0.5 m/s, |D| = 2 · 0.5 + 1 = 2, so that the range is 2 γ for the robot and the person."""
    recording = recorded(lambda t: (0.5 * t, 0), {"a": at(3, 0)}, 0.1)
    found = measured(recording, ["a"])
    force = 2.1 * math.exp(-3 / (2 * 0.35))
    assert found["social_force_on_people_mps"] == pytest.approx(0.1 * force)
    assert found["social_work_mps"] == pytest.approx(0.2 * force)


@pytest.mark.parametrize("step_s", [0.1, 0.025])
def test_social_work_does_not_depend_on_the_sample_rate(step_s):
    recording = recorded(at(0, 0), {"a": at(1, 0)}, 1.0, step_s)
    found = measured(recording, ["a"])
    assert found["social_work_mps"] == pytest.approx(2 * 2.1 * math.exp(-1 / 0.35))


def test_person_counts_only_while_present():
    people = {"a": lambda t: (2.0, 0.0) if t < 0.45 else (math.nan, math.nan)}
    found = measured(recorded(at(0, 0), people), ["a"])
    assert found["social_force_on_people_mps"] == pytest.approx(0.5 * 2.1 * math.exp(-2 / 0.35))
    assert found["person_distance_mean_m"] == pytest.approx(1.0)


def test_nearest_person_determines_distance_and_speed():
    """A person at rest at a gap of 4 m, and one that moves away at 1 m/s from a gap of 2 m."""
    people = {"a": at(-5, 0), "b": lambda t: (3 + t, 0), "box": at(1.2, 0)}
    found = measured(recorded(at(0, 0), people, 3.0), ["a", "b"])
    # b is nearer in 20 of 30 periods, at 2.0, 2.1 ... 3.9 m
    assert found["person_distance_mean_m"] == pytest.approx((20 * 2.95 + 10 * 4.0) / 30, abs=1e-9)
    assert found["nearest_person_speed_mps"] == pytest.approx(20 / 30)


def test_collisions_with_people_are_counted():
    contacts = [ContactEpisode(0.1, 0.2, name, 0.5, "contact") for name in ("a", "box", "a", "b")]
    recording = recorded(at(0, 0), {"a": at(3, 0), "b": at(5, 0)}, contacts=tuple(contacts))
    assert measured(recording, ["a", "b"])["person_collisions"] == 3.0


def test_passage_through_a_group_has_the_values_on_paper():
    """Two people at y = ±1.5 m: their space has the length 1 m, and the robot, also 1 m long,
    is in it while its center is within 1 m of theirs."""
    people = {"a": at(0, 1.5), "b": at(0, -1.5)}
    recording = recorded(lambda t: (t - 4.05, 0), people, 8.0)
    found = measured(recording, ["a", "b"], [("a", "b")])
    assert found["group_intrusion_share"] == pytest.approx(2.0 / 8.0)
    assert found["group_distance_min_m"] == 0.0
    aside = measured(recorded(at(4, 0), people), ["a", "b"], [("a", "b")])
    assert aside["group_intrusion_share"] == 0.0
    assert aside["group_distance_min_m"] == pytest.approx(3.0)


def test_dispersed_group_has_no_space():
    people = {"a": at(0, 2.1), "b": at(0, -2.1)}
    found = measured(recorded(at(0, 0), people), ["a", "b"], [("a", "b")])
    assert found["group_intrusion_share"] == 0.0
    assert found["group_distance_min_m"] == math.inf


def test_large_group_side_by_side_has_a_space():
    people = {f"p{index}": at(index - 2.5, 0) for index in range(6)}  # up to 2.5 m from the center
    found = measured(recorded(at(0, 0), people), list(people), [tuple(people)])
    assert found["group_intrusion_share"] == 1.0


def test_group_with_an_absent_member_has_no_space():
    people = {"a": at(0, 1), "b": lambda t: (0, -1) if t < 0.45 else (math.nan, math.nan)}
    found = measured(recorded(at(0, 0), people), ["a", "b"], [("a", "b")])
    assert found["group_intrusion_share"] == pytest.approx(0.5)


@pytest.mark.parametrize("duration_s", [0.0, 1.0])
def test_social_metrics_without_people_or_duration_are_undefined(duration_s):
    people = {} if duration_s else {"a": at(1, 0), "b": at(2, 0)}
    found = measured(recorded(at(0, 0), people, duration_s), ["a", "b"], [("a", "b")])
    names = ["social_work_mps", "social_force_on_people_mps", "person_distance_mean_m"]
    for name in [*names, "nearest_person_speed_mps"]:
        assert math.isnan(found[name])


def test_group_metrics_exist_only_with_groups():
    names = {metric.name for metric in moving_object_metrics(["a"], [("a",)])}
    assert "social_work_mps" in names and "group_intrusion_share" not in names
    assert "social_work_mps" not in {metric.name for metric in moving_object_metrics([])}
