import math

import numpy as np
import pytest
from scipy.special import logit

from gz_testauto.analysis.curves.success import success_curve


def test_a_figure_of_two_values_gives_the_log_odds_with_half_a_trial_added_to_each_cell():
    """Firth's penalty is Jeffreys' prior, which in a saturated model adds 1/2 to every cell."""
    curve = success_curve([0, 1] * 10, [1, 0] * 9 + [0, 1], [1] * 20, points=2)
    expected = [9.5 / 11, 1.5 / 11]
    assert curve.rate == pytest.approx(expected, abs=1e-6)
    assert curve.slope.value == pytest.approx(logit(expected[1]) - logit(expected[0]), abs=1e-6)


def test_a_figure_that_separates_success_from_failure_still_gives_a_finite_curve():
    curve = success_curve(range(12), [1] * 6 + [0] * 6, [1] * 12)
    assert np.isfinite([curve.rate, curve.low, curve.high]).all()
    assert curve.rate[0] > 0.9 > 0.1 > curve.rate[-1]
    assert (curve.low <= curve.rate).all() and (curve.rate <= curve.high).all()


def test_the_interval_of_the_slope_covers_the_truth():
    generator = np.random.default_rng(3)
    covered = 0
    for _ in range(300):
        figure = generator.uniform(0, 1, 60)
        success = generator.uniform(size=60) < 1 / (1 + np.exp(-(2 - 3 * figure)))
        slope = success_curve(figure, success, [1] * 60, points=2).slope
        covered += slope.low <= -3 <= slope.high
    assert 0.92 * 300 <= covered <= 0.99 * 300


def test_repetitions_in_a_world_do_not_count_as_worlds():
    figure, success = np.repeat(np.arange(20.0), 1), np.arange(20) % 3 > 0
    once = success_curve(figure, success, [1] * 20).slope
    ten_times = success_curve(figure, 10 * success, [10] * 20).slope
    assert ten_times.high - ten_times.low > 0.7 * (once.high - once.low)


@pytest.mark.parametrize("figures", [[1.0, 2.0, 3.0], [2.0] * 9, [math.nan] * 9])
def test_too_few_worlds_or_worlds_that_are_alike_give_no_curve(figures):
    assert success_curve(figures, [1] * len(figures), [1] * len(figures)) is None
