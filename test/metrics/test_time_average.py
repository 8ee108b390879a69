"""Means, percentiles and shares over time, of signals whose value is known on paper."""

import math

import numpy as np
import pytest

from gz_testauto.metrics.time_average import share_below, time_mean, time_percentile, time_rms

RAMP = np.array([0.0, 10.0])
LATER = np.array([5.0, 7.0])
"""Stamps that do not start at zero."""
FUNCTIONS = {
    "mean": time_mean,
    "rms": time_rms,
    "percentile": lambda values, time_s: time_percentile(values, time_s, 50.0),
    "share": lambda values, time_s: share_below(values, time_s, 1.0),
}


def test_a_ramp_has_the_mean_and_the_rms_of_a_ramp():
    assert time_mean(RAMP, LATER) == pytest.approx(5.0)
    steps = np.linspace(0.0, 10.0, 1001)
    assert time_rms(steps, 5.0 + steps) == pytest.approx(10.0 / math.sqrt(3.0), rel=1e-5)


@pytest.mark.parametrize("percent", [0.0, 5.0, 25.0, 50.0, 93.0, 100.0])
def test_a_ramp_is_below_each_of_its_values_for_the_same_share_of_time(percent):
    assert time_percentile(RAMP, LATER, percent) == pytest.approx(percent / 10.0)
    assert time_percentile(RAMP[::-1], LATER, percent) == pytest.approx(percent / 10.0)
    assert share_below(RAMP, LATER, percent / 10.0) == pytest.approx(percent / 100.0)


def test_a_percentile_weighs_time_and_not_samples():
    values, time_s = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 6.0, 6.001, 10.0])
    assert time_percentile(values, time_s, 55.0) == 0.0
    assert time_percentile(values, time_s, 65.0) == 1.0


@pytest.mark.parametrize("values", [[1.0, np.inf], [np.inf, 1.0]])
def test_an_infinite_sample_counts_for_half_of_the_period_next_to_it(values):
    values = np.array(values)
    assert time_percentile(values, LATER, 35.0) == 1.0
    assert math.isinf(time_percentile(values, LATER, 60.0))
    assert share_below(values, LATER, 2.0) == 0.5


def test_a_value_that_equals_the_limit_is_not_below_it():
    assert share_below(np.ones(3), np.arange(3.0), 1.0) == 0.0
    assert share_below(np.array([0.0, 1.0, 2.0]), np.arange(3.0), 1.0) == pytest.approx(0.5)


def test_shares_of_uneven_periods_are_weighted_by_time():
    values, time_s = np.array([0.0, 4.0, 4.0, 0.0]), np.array([1.0, 2.0, 5.0, 9.0])
    assert share_below(values, time_s, 1.0) == pytest.approx((0.25 * 1.0 + 0.25 * 4.0) / 8.0)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_average_is_undefined_for_one_sample_and_for_nan(name):
    assert math.isnan(FUNCTIONS[name](np.array([1.0]), np.array([2.0])))
    assert math.isnan(FUNCTIONS[name](np.array([1.0, np.nan, 1.0]), np.arange(3.0)))
