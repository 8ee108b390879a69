"""Metrics against trajectories whose value is known on paper."""

import math

import numpy as np
import pytest
from scipy import signal

from gz_testauto.metrics.comfort import _window as window_for_cutoff
from gz_testauto.metrics.comfort import acceleration
from gz_testauto.metrics.interface import METRICS, MetricContext, measure
from gz_testauto.metrics.recording import ContactEpisode, Recording

CONTEXT = MetricContext(safety_distance_m=1.0, acceleration_cutoff_hz=2.0, control_period_s=0.1)


def drive(time_s, x=None, y=None, yaw=None, forward=None, turn=None, clearance=None, **extra):
    time_s = np.asarray(time_s, dtype=float)
    columns = [
        np.zeros_like(time_s) if column is None else np.broadcast_to(column, time_s.shape)
        for column in (x, y, yaw, forward, turn)
    ]
    x, y, yaw, forward, turn = columns
    return Recording(
        time_s=time_s,
        pose=np.column_stack([x, y, yaw]),
        twist=np.column_stack([forward, np.zeros_like(time_s), turn]),
        command=np.full((len(time_s), 2), np.nan),
        clearance_m=np.broadcast_to(
            np.inf if clearance is None else clearance, time_s.shape
        ).astype(float),
        cycle_time_s=np.asarray(extra.pop("cycle_time_s", [])),
        cycle_cpu_s=np.asarray(extra.pop("cycle_cpu_s", [])),
        **extra,
    )


def value(name, recording, context=CONTEXT):
    return METRICS.get(name).compute(recording, context)


def straight_line(length_m=10.0, speed_mps=1.0, period_s=0.1, **extra):
    time_s = np.arange(0.0, length_m / speed_mps + period_s / 2, period_s)
    return drive(time_s, x=speed_mps * time_s, forward=speed_mps, **extra)


def circle(radius_m=2.0, speed_mps=1.0, period_s=0.1, **extra):
    time_s = np.linspace(0.0, 2 * math.pi * radius_m / speed_mps, 2001)
    angle = speed_mps / radius_m * time_s
    return drive(
        time_s,
        x=radius_m * np.sin(angle),
        y=radius_m * (1 - np.cos(angle)),
        yaw=np.remainder(angle + math.pi, 2 * math.pi) - math.pi,
        forward=speed_mps,
        turn=speed_mps / radius_m,
        **extra,
    )


def test_a_straight_path_of_10_m_has_the_distance_10_m():
    assert value("distance_m", straight_line()) == pytest.approx(10.0, abs=1e-12)


def test_a_circle_has_the_distance_two_pi_r():
    assert value("distance_m", circle(radius_m=2.0)) == pytest.approx(4 * math.pi, rel=1e-6)


def test_turning_on_the_spot_adds_no_distance():
    time_s = np.arange(0.0, 12.5, 0.1)
    spin = drive(time_s, yaw=np.remainder(time_s + math.pi, 2 * math.pi) - math.pi, turn=1.0)
    assert value("distance_m", spin) == 0.0
    assert value("comfort_mps2", spin) == pytest.approx(0.0, abs=1e-12)
    assert value("standing_s", spin) == pytest.approx(spin.duration_s)


def test_constant_speed_on_a_line_has_no_acceleration():
    assert value("comfort_mps2", straight_line()) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "clearance", [[np.inf, np.inf, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, np.inf, np.inf]]
)
def test_danger_starts_or_ends_in_the_middle_before_a_sample_without_an_obstacle(clearance):
    appears = drive(np.arange(5.0), clearance=np.array(clearance))
    assert value("danger_share", appears) == pytest.approx(2.5 / 4.0)
    assert value("safety", appears) == pytest.approx(math.sqrt(2.5 / 4.0))
    briefly = drive(np.arange(5.0), clearance=np.array([np.inf, np.inf, 0.5, np.inf, np.inf]))
    assert value("danger_share", briefly) == pytest.approx(1.0 / 4.0)
    far = drive(np.arange(5.0), clearance=np.array([np.inf, 1.0, 1.0, 3.0, np.inf]))
    assert value("danger_share", far) == 0.0


def test_the_percentile_of_clearance_is_finite_with_an_obstacle_most_of_the_time():
    clearance = np.r_[np.linspace(1.0, 3.0, 91), np.full(10, np.inf)]
    mostly = drive(0.1 * np.arange(101), clearance=clearance)
    assert value("clearance_p05_m", mostly) == pytest.approx(1.0 + 2.0 * 0.5 / 9.0, abs=0.01)
    # An obstacle at a single sample is there for 1 % of the time.
    alone = drive(0.1 * np.arange(101), clearance=np.r_[0.5, np.full(100, np.inf)])
    assert math.isinf(value("clearance_p05_m", alone))
    assert math.isnan(measure(alone, CONTEXT)["clearance_p05_m"])


@pytest.mark.parametrize(
    "name", ["danger_share", "safety", "clearance_min_m", "clearance_mean_m", "clearance_p05_m"]
)
def test_an_unknown_clearance_gives_unknown_safety(name):
    gap = drive(np.arange(4.0), clearance=np.array([2.0, np.nan, 2.0, 2.0]))
    assert math.isnan(value(name, gap))


def test_a_circle_at_constant_speed_accelerates_by_v_squared_over_r():
    assert value("comfort_mps2", circle(2.0, 1.0)) == pytest.approx(0.5, rel=0.01)


def test_comfort_divides_by_the_time_between_samples():
    ramp = [
        drive(t, x=0.25 * t**2, forward=0.5 * t)
        for t in (np.arange(0, 8, 0.1), np.arange(0, 8, 0.02))
    ]
    assert value("comfort_mps2", ramp[0]) == pytest.approx(0.5, rel=0.01)
    assert value("comfort_mps2", ramp[1]) == pytest.approx(0.5, rel=0.01)


def test_comfort_of_a_slow_sine_is_its_amplitude_over_root_two():
    time_s = np.arange(0.0, 40.0 + 0.05, 0.1)
    omega = 2 * math.pi * 0.1  # far below the cut-off: the filter must leave it alone
    sine = drive(time_s, x=-np.cos(omega * time_s) / omega, forward=np.sin(omega * time_s))
    assert value("comfort_mps2", sine) == pytest.approx(omega / math.sqrt(2), rel=0.01)


def test_comfort_filter_removes_noise_above_the_cut_off_without_delay():
    time_s = np.arange(0.0, 20.0, 0.02)
    noise = 0.05 * np.sin(2 * math.pi * 20.0 * time_s)
    noisy = drive(time_s, x=time_s, forward=1.0 + noise)
    unfiltered = 0.05 * 2 * math.pi * 20.0 / math.sqrt(2)
    assert value("comfort_mps2", noisy) < 0.01 * unfiltered


def test_comfort_does_not_depend_on_uneven_stamps():
    even = np.arange(0.0, 30.0, 0.1)
    uneven = even + 0.03 * np.sin(np.arange(len(even)) * 2.0)
    omega = 0.5
    a, b = (drive(t, x=t, forward=1 + 0.3 * np.sin(omega * t)) for t in (even, uneven))
    assert value("comfort_mps2", b) == pytest.approx(value("comfort_mps2", a), rel=0.02)


@pytest.mark.parametrize("samples", [2, 3, 5, 9])
def test_comfort_of_a_recording_shorter_than_the_filter_is_still_a_number(samples):
    time_s = 0.1 * np.arange(samples)
    ramp = drive(time_s, x=0.5 * time_s**2, forward=time_s)
    assert value("comfort_mps2", ramp) == pytest.approx(1.0, rel=0.25)


def test_four_samples_are_filtered_and_three_are_not():
    three = drive(0.1 * np.arange(3), forward=np.array([0.0, 1.0, 0.0]))
    assert value("comfort_mps2", three) == pytest.approx(math.sqrt(50.0))  # 10, 0, -10 m/s²
    four = drive(0.1 * np.arange(4), forward=np.array([0.0, 1.0, 0.0, 1.0]))
    assert value("comfort_mps2", four) < 0.9 * math.sqrt(100.0 / 3.0)  # 10, 0, 0, 10 m/s²


def test_comfort_of_one_sample_is_unknown():
    assert math.isnan(value("comfort_mps2", drive([0.0])))


def test_standing_time_of_stop_and_go_is_the_time_of_the_stops():
    time_s = np.arange(0.0, 30.0 + 0.05, 0.1)
    x = np.clip(time_s, 0, 10) + np.clip(time_s - 20, 0, 10)
    stop_and_go = drive(time_s, x=x, forward=((time_s < 10) | (time_s >= 20)).astype(float))
    assert value("standing_s", stop_and_go) == pytest.approx(10.0, abs=1e-9)
    assert value("time_s", stop_and_go) == pytest.approx(30.0)
    assert value("distance_m", stop_and_go) == pytest.approx(20.0)


def test_safety_at_constant_clearance_is_the_difference_of_reciprocals():
    assert value("safety", straight_line(clearance=0.5)) == pytest.approx(1 / 0.5 - 1 / 1.0)


def test_safety_is_zero_beyond_d0_and_without_obstacles():
    assert value("safety", straight_line(clearance=1.5)) == 0.0
    assert value("safety", straight_line()) == 0.0


def test_safety_weighs_time_and_not_samples():
    sparse = np.arange(0.0, 5.0, 1.0)
    dense = np.arange(5.0, 10.0001, 0.001)
    time_s = np.concatenate([sparse, dense])
    near = np.where(time_s < 5.0, 0.5, 2.0)
    # dis² falls from 1 to 0 between 4 s and 5 s: 4 s of one, and a triangle of a half.
    assert value("safety", drive(time_s, clearance=near)) == pytest.approx(
        math.sqrt(4.5 / 10.0), rel=1e-6
    )


def test_safety_counts_a_touch_as_a_clearance_of_one_centimeter():
    assert value("safety", straight_line(clearance=0.0)) == pytest.approx(100.0 - 1.0)
    assert value("safety", straight_line(clearance=0.02)) == pytest.approx(50.0 - 1.0)


def test_danger_includes_the_last_interval():
    time_s = np.arange(0.0, 10.0 + 0.05, 0.1)
    assert value("danger_share", drive(time_s, clearance=0.5)) == pytest.approx(1.0)
    approach = drive(time_s, clearance=2.0 - 0.15 * time_s)  # crosses 1 m at 6.667 s
    assert value("danger_share", approach) == pytest.approx(1 - (1 / 0.15) / 10.0, abs=1e-9)


def test_clearance_statistics_of_a_ramp():
    time_s = np.arange(0.0, 10.0 + 0.05, 0.1)
    ramp = drive(time_s, clearance=0.2 * time_s + 1.0)
    assert value("clearance_min_m", ramp) == pytest.approx(1.0)
    assert value("clearance_mean_m", ramp) == pytest.approx(2.0)
    assert value("clearance_p05_m", ramp) == pytest.approx(1.1, abs=1e-3)


def test_mean_clearance_is_weighted_by_time_and_not_by_samples():
    time_s = np.array([0.0, 8.0, 8.5, 9.0, 9.5, 10.0])
    uneven = drive(time_s, clearance=np.array([1.0, 1.0, 3.0, 3.0, 3.0, 3.0]))
    assert value("clearance_mean_m", uneven) == pytest.approx((8.0 + 1.0 + 4.5) / 10.0)


def test_spl_is_the_ratio_of_lengths_and_zero_for_a_failure():
    assert value("spl", straight_line(shortest_path_m=8.0)) == pytest.approx(0.8)
    assert value("spl", straight_line(shortest_path_m=10.5)) == 1.0
    assert value("spl", straight_line(shortest_path_m=8.0, completed=False)) == 0.0
    assert value("spl", straight_line(completed=False)) == 0.0
    assert math.isnan(value("spl", straight_line()))


BARN = MetricContext(max_linear_mps=2.0, barn_k=2.0)


@pytest.mark.parametrize(
    ("speed_mps", "k", "score"),
    [
        (2.0, 2.0, 0.5),  # 5 s at full speed are the best time: clipped from below, 1/2
        (2.0, 4.0, 0.25),  # with the k of before, 1/4
        (0.5, 2.0, 0.25),  # four times as long, 5 / 20
        (0.1, 2.0, 0.125),  # twenty times as long: clipped from above, 1/8
    ],
)
def test_barn_score_is_the_best_time_over_the_clipped_time(speed_mps, k, score):
    # The time counts from 0.1 m on, so 10.1 m are driven; the distance of samples is at most 1 mm.
    line = straight_line(10.1, speed_mps, period_s=0.0005, published_path_m=10.0)
    context = MetricContext(max_linear_mps=2.0, barn_k=k)
    assert value("barn_score", line, context) == pytest.approx(score, rel=1e-3)


def test_barn_score_is_zero_for_a_failure_and_uses_the_shortest_path_if_none_is_published():
    assert value("barn_score", straight_line(published_path_m=8.0, completed=False), BARN) == 0.0
    published = straight_line(10.1, 0.5, 0.0005, published_path_m=10.0, shortest_path_m=1.0)
    computed = straight_line(10.1, 0.5, 0.0005, shortest_path_m=10.0)
    assert value("barn_score", published, BARN) == value("barn_score", computed, BARN)
    assert math.isnan(value("barn_score", straight_line(), BARN))


@pytest.mark.parametrize("way_m", [0.0, -1.0])
def test_success_with_a_shortest_path_of_zero_has_no_score(way_m):
    assert math.isnan(value("spl", straight_line(shortest_path_m=way_m)))
    assert math.isnan(value("barn_score", straight_line(shortest_path_m=way_m), BARN))


def test_a_robot_at_the_limit_of_standing_speed_is_not_standing():
    steps = np.array([0.0, 0.02, 0.03, 0.03])
    assert value("standing_s", drive(np.arange(4.0), x=steps)) == pytest.approx(2.0)
    assert value("reversals", drive(np.arange(3.0), forward=np.array([0.02, -0.5, 0.5]))) == 1


def test_barn_time_starts_when_the_robot_moves():
    time_s = np.array([0.0, 30.0, 30.1, 50.1])  # half a minute of thinking, then 10 m in 20 s
    late = drive(time_s, x=np.array([0.0, 0.0, 0.1, 10.1]), published_path_m=10.0)
    assert value("barn_score", late, BARN) == pytest.approx(5.0 / 20.0)


def test_mean_percentiles_and_missed_share_of_cycle_times():
    cycles = np.r_[np.full(98, 0.01), 0.2, 0.3]
    recording = straight_line(cycle_time_s=cycles, cycle_cpu_s=cycles / 2)
    assert value("cycle_mean_s", recording) == pytest.approx(0.0148)
    assert value("cycle_cpu_mean_s", recording) == pytest.approx(0.0074)
    assert value("cycle_p95_s", recording) == pytest.approx(0.01)
    assert value("cycle_p99_s", recording) == pytest.approx(np.percentile(cycles, 99))
    assert value("cycle_max_s", recording) == 0.3
    even = straight_line(cycle_time_s=np.arange(101.0))
    assert value("cycle_p95_s", even) == pytest.approx(95.0)
    assert value("cycle_p99_s", even) == pytest.approx(99.0)
    on_time = straight_line(cycle_time_s=np.array([0.1, 0.1, 0.11, 0.09]))
    assert value("cycle_missed_share", on_time) == 0.25
    assert value("cycle_missed_share", recording) == pytest.approx(0.02)


def test_a_recording_without_cycles_has_no_times_of_cycles():
    for name in ("cycle_mean_s", "cycle_cpu_mean_s", "cycle_p95_s", "cycle_max_s"):
        assert math.isnan(value(name, straight_line()))
    assert math.isnan(value("cycle_missed_share", straight_line()))


def test_a_simulation_of_no_wall_time_has_no_real_time_factor():
    assert math.isnan(value("real_time_factor", straight_line(wall_time_s=0.0)))


def test_real_time_factor_is_simulated_over_wall_time():
    assert value("real_time_factor", straight_line(wall_time_s=2.0)) == pytest.approx(5.0)
    assert math.isnan(value("real_time_factor", straight_line()))


def test_collisions_are_episodes_and_keep_the_first_speed():
    touches = (
        ContactEpisode(1.0, 1.4, "box", 0.7, "contact"),
        ContactEpisode(3.0, 3.1, "box", 0.2, "contact"),
    )
    recording = straight_line(contacts=touches)
    assert value("collisions", recording) == 2
    assert value("impact_speed_mps", recording) == 0.7


def test_measure_returns_all_metrics_and_infinite_values_as_nan():
    values = measure(straight_line(), CONTEXT)
    assert set(values) == set(METRICS.names())
    assert math.isnan(values["clearance_min_m"])
    assert values["distance_m"] == pytest.approx(10.0)


def test_every_builtin_metric_is_registered_under_its_own_name():
    for name in METRICS.names():
        assert METRICS.get(name).name == name


def least_jerk(length_m=4.0, duration_s=10.0, period_s=0.01):
    """From rest to rest by ``x = D (10 τ³ − 15 τ⁴ + 6 τ⁵)``."""
    time_s = np.arange(0.0, duration_s + period_s / 2, period_s)
    tau = time_s / duration_s
    x = length_m * (10 * tau**3 - 15 * tau**4 + 6 * tau**5)
    forward = length_m / duration_s * (30 * tau**2 - 60 * tau**3 + 30 * tau**4)
    return drive(time_s, x=x, forward=forward)


@pytest.mark.parametrize(("length_m", "duration_s"), [(4.0, 10.0), (40.0, 30.0)])
def test_the_movement_of_least_jerk_has_the_smoothness_of_the_paper(length_m, duration_s):
    # ∫ j² dt = 720 D²/T⁵ and v_peak = 15 D/(8 T): ln(720 / 1.875²) for any D and T
    recording = least_jerk(length_m, duration_s)
    paper = -math.log(720 / 1.875**2)
    assert value("log_dimensionless_jerk", recording) == pytest.approx(paper, abs=0.02)
    rms = math.sqrt(720.0) * length_m / duration_s**3
    assert value("jerk_rms_mps3", recording) == pytest.approx(rms, rel=0.01)


def test_an_oscillating_speed_has_the_jerk_of_a_sine():
    # v = 1 + a sin(ω t): j = −a ω² sin(ω t), whose RMS is a ω²/√2; 0.1 Hz passes the filter
    time_s = np.arange(0.0, 100.0, 0.05)
    omega = 2 * math.pi * 0.1
    speed = 1.0 + 0.4 * np.sin(omega * time_s)
    recording = drive(time_s, x=np.cumsum(speed) * 0.05, forward=speed)
    assert value("jerk_rms_mps3", recording) == pytest.approx(
        0.4 * omega**2 / math.sqrt(2.0), rel=0.02
    )


def test_a_circle_at_constant_speed_has_the_jerk_of_its_turning_acceleration():
    # |a| = v²/r turns with v/r, so |j| = v³/r²
    assert value("jerk_rms_mps3", circle(2.0, 1.0)) == pytest.approx(0.25, rel=0.03)


def test_constant_speed_on_a_line_has_no_jerk_and_unknown_smoothness():
    assert value("jerk_rms_mps3", straight_line()) == pytest.approx(0.0, abs=1e-9)
    assert math.isnan(value("log_dimensionless_jerk", straight_line()))
    standing = drive(np.arange(0.0, 3.0, 0.1))
    assert math.isnan(value("log_dimensionless_jerk", standing))
    time_s = np.arange(0.0, 3.0, 0.1)
    settling = drive(time_s, forward=1e-3 * np.sin(40.0 * time_s))
    assert math.isnan(value("log_dimensionless_jerk", settling))
    assert math.isnan(value("jerk_rms_mps3", drive([0.0, 0.1, 0.2])))


@pytest.mark.parametrize("radius_m", [0.5, 2.0, 10.0])
def test_a_circle_has_the_curvature_one_over_r_everywhere(radius_m):
    around = circle(radius_m)
    assert value("curvature_mean_1pm", around) == pytest.approx(1 / radius_m, rel=0.01)
    assert value("curvature_max_1pm", around) == pytest.approx(1 / radius_m, rel=0.02)
    assert value("heading_change_radpm", around) == pytest.approx(1 / radius_m, rel=0.01)


@pytest.mark.parametrize(("turns", "samples"), [(0.1, 2), (1.0, 9), (1.0, 21)])
def test_the_curvature_of_a_circle_is_exact_for_few_samples(turns, samples):
    time_s = 3.0 + np.linspace(0.0, turns * 2 * math.pi * 2.0, samples)
    angle = (time_s - 3.0) / 2.0
    yaw = np.remainder(angle + math.pi, 2 * math.pi) - math.pi
    coarse = drive(time_s, yaw=yaw, forward=1.0, turn=0.5)
    assert value("curvature_mean_1pm", coarse) == pytest.approx(0.5, rel=1e-9)
    assert value("curvature_max_1pm", coarse) == pytest.approx(0.5, rel=1e-9)
    assert value("heading_change_radpm", coarse) == pytest.approx(0.5, rel=1e-9)
    clockwise = drive(time_s, yaw=-yaw, forward=1.0, turn=-0.5)
    assert value("curvature_max_1pm", clockwise) == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize(("length_m", "known"), [(0.19, False), (0.21, True), (0.31, True)])
def test_heading_change_needs_a_path_of_two_tenths_of_a_meter(length_m, known):
    time_s = np.linspace(0.0, length_m, 32)
    bend = drive(time_s, yaw=time_s, forward=1.0, turn=1.0)
    found = value("heading_change_radpm", bend)
    assert found == pytest.approx(1.0 if known else math.nan, nan_ok=True)
    assert value("curvature_mean_1pm", bend) == pytest.approx(
        1.0 if known else math.nan, nan_ok=True
    )


def test_heading_change_is_sampled_every_tenth_of_a_meter():
    length_m = 0.4 + 1e-6
    time_s = np.linspace(0.0, length_m, 401)
    weaving = 0.2 * np.abs(np.remainder(time_s / 0.1 + 1.0, 2.0) - 1.0)  # up and down by 0.2 rad
    turn = np.where(np.arange(401) // 100 % 2 == 0, 2.0, -2.0)
    recording = drive(time_s, yaw=weaving, forward=1.0, turn=turn)
    assert value("heading_change_radpm", recording) == pytest.approx(4 * 0.2 / 0.4, rel=1e-3)


def test_comfort_pads_a_long_recording_as_scipy_does():
    time_s = 0.1 * np.arange(40)
    twist = np.column_stack([np.sin(time_s), np.cos(3.0 * time_s), np.zeros(40)])
    sections = signal.butter(2, 2.0, fs=10.0, output="sos")
    filtered = signal.sosfiltfilt(sections, twist[:, :2], axis=0)
    _, found = acceleration(time_s, twist, 2.0)
    assert found == pytest.approx(np.gradient(filtered, 0.1, axis=0), abs=1e-9)


@pytest.mark.parametrize(("samples", "known"), [(4, False), (5, True)])
def test_jerk_needs_as_many_samples_as_its_polynomial(samples, known):
    time_s = 0.1 * np.arange(samples)
    speeding_up = drive(time_s, forward=1.0 + time_s**2)  # the jerk is 2 m/s³
    expected = 2.0 if known else math.nan
    assert value("jerk_rms_mps3", speeding_up) == pytest.approx(expected, nan_ok=True)
    assert math.isnan(value("log_dimensionless_jerk", speeding_up)) != known


@pytest.mark.parametrize(
    ("cutoff_hz", "samples", "width"),
    [
        (2.0, 100, 11),
        (1.0, 100, 19),
        (20.0, 100, 5),
        (1e6, 100, 5),
        (2.0, 7, 7),
        (2.0, 8, 7),
        (3.6, 100, 9),
    ],
)
def test_the_window_for_jerk_has_the_width_of_its_cutoff(cutoff_hz, samples, width):
    # (5 / (2 f Δt) + 4.6) / 3.2 samples to each side, Δt = 0.1 s; Schafer 2011, equation 6
    assert window_for_cutoff(cutoff_hz, 0.1, samples) == width


def test_a_straight_line_has_no_curvature_however_unevenly_it_is_driven():
    time_s = np.arange(0.0, 20.0, 0.1)
    forward = np.where(time_s < 10.0, 0.01, 1.0)
    crawling = drive(time_s, x=np.cumsum(0.1 * forward), forward=forward)
    assert value("curvature_max_1pm", crawling) == pytest.approx(0.0, abs=1e-9)
    assert value("heading_change_radpm", crawling) == 0.0


def test_half_a_line_and_half_a_circle_have_half_its_mean_curvature():
    radius_m, length_m = 1.0, math.pi
    line = np.linspace(0.0, length_m, 1000)
    bend = np.linspace(0.0, math.pi, 1000)[1:]
    x = np.concatenate([line, length_m + radius_m * np.sin(bend)])
    y = np.concatenate([0 * line, radius_m * (1 - np.cos(bend))])
    yaw = np.concatenate([0 * line, bend])
    recording = drive(0.01 * np.arange(len(x)), x=x, y=y, yaw=yaw, forward=0.1 * math.pi)
    assert value("curvature_mean_1pm", recording) == pytest.approx(0.5, rel=2e-3)
    assert value("curvature_max_1pm", recording) == pytest.approx(1.0, rel=0.03)
    assert value("heading_change_radpm", recording) == pytest.approx(0.5, rel=0.01)


def test_a_turn_on_the_spot_counts_as_heading_and_not_as_curvature():
    there = np.linspace(0.0, 2.0, 201)
    x = np.concatenate([there, np.full(20, 2.0), there + 2.0])
    yaw = np.concatenate([np.zeros(201), np.linspace(0.0, 2 * math.pi, 20), np.zeros(201)])
    forward = np.concatenate([np.ones(201), np.zeros(20), np.ones(201)])
    recording = drive(0.01 * np.arange(len(x)), x=x, yaw=yaw, forward=forward)
    assert value("heading_change_radpm", recording) == pytest.approx(2 * math.pi / 4.0, rel=0.01)
    assert value("curvature_max_1pm", recording) == pytest.approx(0.0, abs=1e-9)


def test_driving_backward_and_forward_again_is_two_reversals_and_no_curvature():
    speed = np.concatenate([np.full(30, 1.0), np.zeros(5), np.full(10, -1.0), np.full(30, 1.0)])
    x = np.cumsum(speed) * 0.1
    recording = drive(0.1 * np.arange(len(x)), x=x, forward=speed)
    assert value("reversals", recording) == 2
    assert value("curvature_max_1pm", recording) == pytest.approx(0.0, abs=1e-9)
    assert value("reversals", straight_line()) == 0


def test_curvature_of_a_path_below_0_2_m_is_unknown():
    short = drive([0.0, 0.1, 0.2], x=[0.0, 0.01, 0.02], forward=0.1)
    for name in ("curvature_mean_1pm", "curvature_max_1pm", "heading_change_radpm"):
        assert math.isnan(value(name, short))
    # The curvature of 0.2 m would be known at one point only.
    limit = drive([0.0, 0.1, 0.2], x=[0.0, 0.1, 0.2], forward=1.0)
    for name in ("curvature_mean_1pm", "curvature_max_1pm"):
        assert math.isnan(value(name, limit))
