"""Metrics of moving objects and lanes, compared with encounters known on paper."""

import math

import numpy as np
import pytest
import shapely

from gz_testauto.metrics.encounters import placed, time_to_collision_s
from gz_testauto.metrics.interface import MetricContext
from gz_testauto.metrics.recording import ContactEpisode, Recording
from gz_testauto.metrics.traffic import LANE_METRICS, moving_object_metrics

SQUARE = np.array([[0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5]])
SQUARE = SQUARE[::-1] if not shapely.LinearRing(SQUARE).is_ccw else SQUARE


def drive(duration_s, robot, other, step_s=0.1, lanes=(), **fields):
    """Robot and object, squares of 1 m, each at a function of time: x, y, yaw."""
    time_s = step_s * np.arange(round(duration_s / step_s) + 1)
    pose = np.array([robot(t) for t in time_s], dtype=float)
    series = {"footprint": SQUARE}
    if other is not None:
        way = np.array([other(t) for t in time_s], dtype=float)
        series.update(actor_other=way, outline_other=SQUARE)
    for number, lane in enumerate(lanes):
        series[f"lane_{number}"] = np.array(lane, dtype=float)
    n = len(time_s)
    return Recording(
        time_s=time_s,
        pose=pose,
        twist=np.zeros((n, 3)),
        command=np.zeros((n, 2)),
        clearance_m=np.full(n, 1.0),
        cycle_time_s=np.empty(0),
        cycle_cpu_s=np.empty(0),
        series=series,
        **fields,
    )


def measured(recording, metrics=None, max_linear_mps=1.0):
    context = MetricContext(max_linear_mps=max_linear_mps)
    found = moving_object_metrics(["other"]) if metrics is None else metrics
    return {metric.name: metric.compute(recording, context) for metric in found}


@pytest.mark.parametrize("step_s", [0.2, 0.05, 0.0125])
def test_values_of_a_head_on_approach_at_1_mps_each(step_s):
    """d = 4 m, c = 2 m/s: 2 s to the collision, and 2²/(2 · 4) = 0.5 m/s² to avoid it."""
    head_on = drive(step_s, lambda t: (t, 0, 0), lambda t: (5 - t + 2 * step_s, 0, math.pi), step_s)
    found = measured(head_on)
    assert found["object_ttc_min_s"] == pytest.approx(2.0, abs=1e-9)
    assert found["object_drac_max_mps2"] == pytest.approx(0.5, abs=1e-9)
    assert found["object_distance_min_m"] == pytest.approx(4.0, abs=1e-9)


@pytest.mark.parametrize("step_s", [0.1, 0.05, 0.025])
def test_exposure_to_a_collision_is_the_time_below_the_limit(step_s):
    """From 1.5 s before it until then: 1.5 s, and the integral of what is missing 1.5²/2."""
    ends_s = 2.0 - 1e-9
    found = measured(drive(2.0, lambda t: (t, 0, 0), lambda t: (5 - t, 0, 0), step_s))
    assert found["object_tet_s"] == pytest.approx(1.5, abs=1.01 * step_s)
    assert found["object_tit_s2"] == pytest.approx(1.125, abs=1.6 * step_s)
    assert found["object_ttc_min_s"] == pytest.approx(0.0, abs=1e-9 + 2 - ends_s)


@pytest.mark.parametrize(
    ("step_s", "origin"), [(0.1, (0, 0)), (0.05, (0, 0)), (0.02, (0, 0)), (0.1, (30, 70))]
)
def test_post_encroachment_time_of_two_crossing_paths(step_s, origin):
    """The other leaves the square that both cover 1.2 s before the robot enters it."""
    # the robot's front is at x = -0.5 (where the other's path starts) at t = 4.2 s; the other's
    # rear has left y = 0.5 (where the robot's path ends) at t = 3 s
    x, y = origin
    found = measured(
        drive(7.0, lambda t: (x + t - 5.2, y, 0), lambda t: (x, y + t - 2.0, math.pi / 2), step_s)
    )
    # of cells of 0.1 m, and of samples: the corner's cell is left and entered within a cell's time
    assert found["object_pet_min_s"] == pytest.approx(1.2, abs=0.1 + 0.1 + 2 * step_s / 4)
    assert found["object_tet_s"] == 0.0


def test_overtaking_in_a_parallel_lane_is_not_a_collision_course():
    found = measured(drive(6.0, lambda t: (2 * t - 6, 2, 0), lambda t: (t - 3, 0, 0)))
    assert math.isinf(found["object_ttc_min_s"])
    assert found["object_distance_min_m"] == pytest.approx(1.0)
    assert math.isinf(found["object_pet_min_s"])


def test_overlap_of_two_objects_is_measured_while_they_pass_each_other():
    """Squares of 1 m at 1 m/s each: they overlap for 1 s."""
    recording = drive(6.0, lambda t: (0, 9, 0), lambda t: (t - 3, 0, 0), step_s=0.01)
    second = np.array([(3 - t, 0.2, math.pi) for t in recording.time_s])
    recording.series.update(actor_second=second, outline_second=SQUARE)
    assert measured(recording)["objects_overlap_s"] == pytest.approx(1.0, abs=0.021)
    second[:, 1] = 1.1
    assert measured(recording)["objects_overlap_s"] == 0.0
    second[:] = np.nan
    assert measured(recording)["objects_overlap_s"] == 0.0
    alone = drive(1.0, lambda t: (0, 9, 0), lambda t: (t - 3, 0, 0))
    assert math.isnan(measured(alone)["objects_overlap_s"])


def test_overlapping_outlines_have_no_distance_and_no_time_to_collision():
    found = measured(drive(6.0, lambda t: (t - 3, 0, 0), lambda t: (0, t - 3, 0)))
    assert found["object_pet_min_s"] == 0.0
    assert found["object_distance_min_m"] == 0.0
    assert found["object_ttc_min_s"] == 0.0


@pytest.mark.slow
def test_time_to_collision_equals_that_of_a_simulation_in_small_steps():
    random = np.random.default_rng(5)
    angles = np.sort(random.uniform(0, 2 * np.pi, 7))
    hull = np.column_stack([np.cos(angles), 0.6 * np.sin(angles)])
    poses = random.uniform(-6, 6, (300, 3))
    first = placed(SQUARE, np.zeros((300, 3)))
    second = placed(hull, poses)
    closing = random.uniform(-2, 2, (300, 2))
    found = time_to_collision_s(first, second, closing)
    stepped = np.full(300, np.inf)
    for time_s in np.arange(8.0, -0.005, -0.01):
        moved = shapely.polygons(first + closing[:, None] * time_s)
        stepped[shapely.intersects(moved, shapely.polygons(second))] = time_s
    soon = found < 7.9
    assert 20 < soon.sum() < 280
    # a step misses outlines that touch only between two steps
    with np.errstate(invalid="ignore"):
        brief = np.abs(stepped - found) > 0.011
    assert (brief & soon).sum() <= 3
    assert not np.isfinite(stepped[found > 8.01]).any()


def test_shares_of_the_time_near_a_person():
    # The distance is 0.3 m for 2 of 10 s, 0.1 m for 1 s, and 5 m otherwise.
    def other(t):
        return (0, 1.3 if 2 <= t < 4 else 1.1 if 4 <= t < 5 else 6.0, 0)

    found = measured(drive(10.0, lambda t: (0, 0, 0), other))
    assert found["intimate_space_share"] == pytest.approx(0.3, abs=0.011)
    assert found["personal_space_share"] == pytest.approx(0.3, abs=0.011)
    assert found["space_compliance"] == pytest.approx(0.7, abs=0.011)
    assert found["discomfort_share"] == pytest.approx(0.1, abs=0.011)


@pytest.mark.parametrize("yaw_rad", [0.0, math.pi / 2, -2.5])
def test_intrusion_depends_on_the_side_of_a_walking_person(yaw_rad):
    """At 1 m/s, σ is 2 v = 2 m ahead, half of that behind, and two thirds to the sides."""
    cos, sin = math.cos(yaw_rad), math.sin(yaw_rad)

    def at(along_m, across_m, t=0.0):
        return (cos * (along_m + t) - sin * across_m, sin * (along_m + t) + cos * across_m, yaw_rad)

    for along_m, across_m, expected in (
        (2, 0, math.exp(-0.5)), (-2, 0, math.exp(-2.0)),
        (0, 4 / 3, math.exp(-0.5)), (0, -4 / 3, math.exp(-0.5)), (2, 4 / 3, math.exp(-1.0)),
    ):  # fmt: skip
        way = drive(2.0, lambda t, a=along_m, c=across_m: at(a, c, t), lambda t: at(0, 0, t))
        assert measured(way)["social_intrusion"] == pytest.approx(expected)


def test_an_object_has_no_motion_between_its_disappearance_and_reappearance():
    """The robot is at the origin; the object passes at 3 m and is absent for 1 s."""

    def other(t):
        return (math.nan,) * 3 if 3.95 < t < 5.0 else (t - 2 if t < 4.5 else t - 7, 3, 0)

    found = measured(drive(9.0, lambda t: (0, 0, 0), other))
    once = measured(drive(4.0, lambda t: (0, 0, 0), lambda t: (t - 2, 3, 0)))
    for name in ("object_ttc_min_s", "object_drac_max_mps2", "social_intrusion"):
        assert found[name] == pytest.approx(once[name]), name

    def from_left_to_right(t):  # absent for 1 s between 6 m on the left and 6 m on the right
        return (math.nan,) * 3 if 1.95 < t < 3.0 else (0, -8 + t if t < 2.5 else 9 - t, 0)

    # Its path in between would cross the robot within 0.1 s of its appearance.
    jumps = measured(drive(4.0, lambda t: (0, 0, 0), from_left_to_right))
    assert math.isinf(jumps["object_pet_min_s"])
    assert jumps["object_ttc_min_s"] == pytest.approx(4.0)  # at 1 m/s, 5 m away at the end
    assert jumps["object_tet_s"] == 0.0
    assert jumps["yielding_s"] == 0.0


def test_an_object_that_reappears_nearer_has_not_approached():
    def nearer(t):  # at 20 m, absent for two samples, then at 3 m
        return (math.nan,) * 3 if 1.95 < t < 2.15 else (0, 20 if t < 2 else 3, 0)

    found = measured(drive(4.0, lambda t: (0, 0, 0), nearer))
    assert found["object_drac_max_mps2"] == 0.0
    assert math.isinf(found["object_ttc_min_s"])
    assert found["yielding_s"] == 0.0


def test_an_object_at_a_single_sample_has_no_velocity():
    single = measured(
        drive(1.0, lambda t: (0, 0, 0), lambda t: (3, 0, 0) if t == 0.5 else (math.nan,) * 3)
    )
    assert math.isinf(single["object_ttc_min_s"])
    assert single["object_drac_max_mps2"] == 0.0
    assert single["object_distance_min_m"] == pytest.approx(2.0)


def test_metrics_of_people_need_names_of_people():
    names = {metric.name for metric in moving_object_metrics([])}
    assert "personal_space_share" not in names
    assert "object_ttc_min_s" in names


def test_struck_standing_counts_collisions_with_objects_while_the_robot_is_stationary():
    touches = tuple(
        ContactEpisode(time_s, time_s + 0.1, partner, speed, "contact")
        for time_s, partner, speed in (
            (1.0, "other", 0.0), (2.0, "other", 0.5), (3.0, "wall", 0.0), (4.0, "other", 0.01),
        )
    )  # fmt: skip
    crossed = drive(6.0, lambda t: (0, 0, 0), lambda t: (0, t - 3, 0), contacts=touches)
    assert measured(crossed)["struck_standing"] == 2.0


def test_success_is_weighted_by_the_time_of_the_shortest_path():
    def found(**fields):
        way = drive(10.0, lambda t: (t, 0, 0), lambda t: (0, 9, 0), **fields)
        return measured(way, max_linear_mps=2.0)["stl"]

    assert found(shortest_path_m=9.0) == pytest.approx(0.45)
    assert found(shortest_path_m=30.0) == 1.0
    assert found(shortest_path_m=10.0, completed=False) == 0.0
    assert math.isnan(found())


LANES = ([[0, 0, 3.0], [20, 0, 3.0]], [[0, 3, 3.0], [20, 3, 3.0]])


def test_lane_metrics_inside_and_outside_lanes():
    def robot(t):  # in its lane, then over between the two, then out of both for 2 of 10 s
        return (1 + t, 0.0 if t < 4 else 1.5 if t < 8 else 4.3, 0)

    found = measured(drive(10.0, robot, None, lanes=LANES), LANE_METRICS)
    assert found["lane_departure_share"] == pytest.approx(0.2, abs=0.011)
    assert found["lane_error_mean_m"] == pytest.approx(0.4 * 1.5 + 0.2 * 1.3, abs=0.02)
    assert found["lane_error_max_m"] == pytest.approx(1.5)


EAST, WEST = [[-20, -1.75, 3.5], [40, -1.75, 3.5]], [[40, 1.75, 3.5], [-20, 1.75, 3.5]]


@pytest.mark.parametrize(
    ("robot", "share"),
    [
        (lambda t: (t, -1.75, 0), 0.0),
        (lambda t: (t, 1.75, 0), 1.0),
        (lambda t: (t, 1.75 if t < 2.5 else -1.75, 0), 0.25),
        (lambda t: (-t, 1.75, math.pi), 0.0),
        (lambda t: (t, 9.0, 0), 0.0),  # beside the road
        (lambda t: (min(t, 5.0), 1.75, 0), 1.0),  # stops in the oncoming lane
        (lambda t: (min(t, 5.0), -1.75, 0), 0.0),
        (lambda t: (0, 1.75, 0), 0.0),  # has not moved
        (lambda t: (-1e-4 * t, -1.75, 0), 0.0),  # has not moved, except by noise
    ],
    ids=[
        "own", "oncoming", "a quarter", "turned", "beside", "stops", "stops on own", "stands",
        "noise",
    ],
)  # fmt: skip
def test_wrong_way_share_is_the_time_against_the_direction_of_the_lane(robot, share):
    found = measured(drive(10.0, robot, None, lanes=[EAST, WEST]), LANE_METRICS)
    assert found["wrong_way_share"] == pytest.approx(share, abs=0.011)


def test_robot_on_crossing_lanes_is_not_on_the_wrong_way_if_one_fits():
    north = [[0, -20, 3.5], [0, 20, 3.5]]
    found = measured(drive(6.0, lambda t: (0, t - 3, 0), None, lanes=[WEST, north]), LANE_METRICS)
    assert found["wrong_way_share"] == 0.0
    bend = [[0, 0, 2], [10, 0, 2], [10, 10, 2]]
    back = drive(8.0, lambda t: (10, 9 - t, 0), None, lanes=[bend])
    assert measured(back, LANE_METRICS)["wrong_way_share"] == pytest.approx(1.0, abs=0.011)


def test_wrong_way_share_is_unknown_without_lanes():
    found = measured(drive(1.0, lambda t: (t, 0, 0), None), LANE_METRICS)
    assert math.isnan(found["wrong_way_share"])


def test_a_corner_beyond_a_bend_is_off_the_lane():
    bend = [[0, 0, 3.0], [10, 0, 3.0], [10, 10, 3.0]]
    found = measured(drive(1.0, lambda t: (10.6, -0.6, 0), None, lanes=[bend]), LANE_METRICS)
    assert found["lane_departure_share"] == pytest.approx(1.0)
    inside = measured(drive(1.0, lambda t: (10, 0, 0), None, lanes=[bend]), LANE_METRICS)
    assert inside["lane_departure_share"] == 0.0


def test_metrics_of_a_recording_without_outlines_are_unknown():
    plain = drive(2.0, lambda t: (t, 0, 0), None)
    found = measured(plain)
    for name in ("object_distance_min_m", "object_ttc_min_s", "object_pet_min_s", "object_tet_s"):
        assert math.isnan(found[name])


@pytest.mark.parametrize("step_s", [0.1, 0.05, 0.02])
def test_a_stationary_robot_in_front_of_an_object_yields(step_s):
    """The gap of 8 m closes at 1 m/s, and would at 2: from 2 s on it would be closed within 3 s."""
    for speed_mps, expected_s in [(0.0, 4.0), (0.5, 0.0)]:
        way = drive(6.0, lambda t, v=speed_mps: (v * t, 0, 0), lambda t: (9 - t, 0, 0), step_s)
        assert measured(way)["yielding_s"] == pytest.approx(expected_s, abs=1.01 * step_s)
    aside = drive(6.0, lambda t: (0, 0, math.pi / 2), lambda t: (9 - t, 0, 0), step_s)
    assert measured(aside)["yielding_s"] == 0.0  # it would leave before the object arrives


@pytest.mark.parametrize(("closing", "time_s"), [((1.0, 1.0), 0.15), ((1.0, 0.0), 0.3)])
def test_the_time_to_collision_with_a_slanted_side_is_exact(closing, time_s):
    # the diamond's side is x + y = 1.3; their ranges of x and of y overlap from the start
    diamond = np.array([[0.5, 0.0], [0.0, 0.5], [-0.5, 0.0], [0.0, -0.5]]) + 0.9
    for one, other, sign in ((SQUARE, diamond, 1.0), (diamond, SQUARE, -1.0)):
        found = time_to_collision_s(one[None], other[None], sign * np.array([closing]))
        assert found == pytest.approx(time_s)


def test_an_object_at_the_limit_is_not_nearer_than_the_limit():
    at_limit = measured(drive(2.0, lambda t: (0, 0, 0), lambda t: (1.5, 0, 0)))
    assert at_limit["space_compliance"] == 1.0
    assert at_limit["object_distance_min_m"] == 0.5
