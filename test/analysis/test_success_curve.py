import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import t as student

from gz_testauto.analysis.success_curve import success_curve


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


@pytest.mark.slow
def test_the_interval_of_the_slope_covers_the_truth():
    generator = np.random.default_rng(3)
    covered = 0
    for _ in range(300):
        figure = generator.uniform(0, 1, 60)
        success = generator.uniform(size=60) < 1 / (1 + np.exp(-(2 - 3 * figure)))
        curve = success_curve(figure, success, [1] * 60, points=2)
        covered += curve.slope.low <= -3 <= curve.slope.high
        assert (curve.p < 0.05) == (not curve.slope.low <= 0 <= curve.slope.high)
    assert 0.92 * 300 <= covered <= 0.99 * 300


def test_repetitions_in_a_world_do_not_count_as_worlds():
    figure, success = np.repeat(np.arange(20.0), 1), np.arange(20) % 3 > 0
    once = success_curve(figure, success, [1] * 20).slope
    ten_times = success_curve(figure, 10 * success, [10] * 20).slope
    assert ten_times.high - ten_times.low > 0.7 * (once.high - once.low)


@pytest.mark.parametrize("figures", [[1.0, 2.0, 3.0], [2.0] * 9, [math.nan] * 9])
def test_too_few_worlds_or_equal_worlds_give_no_curve(figures):
    assert success_curve(figures, [1] * len(figures), [1] * len(figures)) is None


def test_the_fit_maximizes_the_penalized_likelihood():
    """Fit by a maximizer without scores: log-likelihood + log |information| / 2."""
    generator = np.random.default_rng(8)
    figure = generator.uniform(0, 4, size=15)
    trials = generator.integers(1, 6, size=15)
    success = generator.binomial(trials, 1 / (1 + np.exp(figure - 2)))
    design = np.column_stack([np.ones(15), figure])

    def loss(beta):
        rate = 1 / (1 + np.exp(-design @ beta))
        information = design.T @ ((trials * rate * (1 - rate))[:, None] * design)
        likelihood = success @ np.log(rate) + (trials - success) @ np.log(1 - rate)
        return -likelihood - 0.5 * math.log(np.linalg.det(information))

    best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12})
    curve = success_curve(figure, success, trials, points=2)
    assert curve.slope.value == pytest.approx(best.x[1], abs=1e-5)
    expected = 1 / (1 + np.exp(-(best.x[0] + best.x[1] * np.array([figure.min(), figure.max()]))))
    assert curve.rate == pytest.approx(expected, abs=1e-6)


def test_few_worlds_with_repetitions_rarely_have_a_wrong_significant_slope():
    """Without the correction for few worlds, 12 % of the intervals miss 0."""
    generator = np.random.default_rng(9)
    missed = 0
    for _ in range(200):
        rates = generator.beta(0.7 * 1.5, 0.3 * 1.5, size=6)
        curve = success_curve(generator.uniform(size=6), generator.binomial(5, rates), [5] * 6, 2)
        missed += not curve.slope.low <= 0.0 <= curve.slope.high
    assert missed <= 0.055 * 200


@pytest.mark.parametrize("success", [[0] * 6, [5] * 6])
def test_equal_outcomes_give_a_constant_curve(success):
    curve = success_curve(range(6), success, [5] * 6)
    assert curve.slope.low <= 0.0 <= curve.slope.high
    assert np.isfinite([curve.rate, curve.low, curve.high]).all()


def test_the_interval_with_repetitions_is_that_of_mancl_and_derouen():
    figure, trials = np.arange(8.0), np.full(8, 5)
    success = np.array([5, 5, 4, 5, 1, 3, 0, 2])
    curve = success_curve(figure, success, trials, points=2)
    slope = curve.slope.value
    design = np.column_stack([np.ones(8), figure])
    rate = expit(logit(curve.rate[0]) + slope * figure)
    information = sum(t * r * (1 - r) * np.outer(x, x) for t, r, x in zip(trials, rate, design))
    inverse, middle = np.linalg.inv(information), np.zeros((2, 2))
    for t, r, x, s in zip(trials, rate, design, success):
        of_world = np.tile(x, (t, 1))  # one row for each trial of the world
        hat = of_world @ inverse @ of_world.T * r * (1 - r)
        residual = np.linalg.solve(np.eye(t) - hat, np.repeat([1 - r, -r], [s, t - s]))
        score = of_world.T @ residual
        middle += np.outer(score, score)
    error = math.sqrt((inverse @ middle @ inverse)[1, 1])
    half = student.ppf(0.975, 6) * error
    assert (curve.slope.high - curve.slope.low) / 2 == pytest.approx(half, rel=1e-6)


@pytest.mark.parametrize("trials", [1, 3])
def test_the_band_is_symmetric_on_the_scale_of_the_logit(trials):
    figure = np.arange(12.0)
    success = trials * np.array([1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0])
    curve = success_curve(figure, success, [trials] * 12, points=5)
    upper, lower = logit(curve.high) - logit(curve.rate), logit(curve.rate) - logit(curve.low)
    assert upper == pytest.approx(lower)
    assert (upper > 0.1).all()
    assert curve.x.tolist() == [0.0, 2.75, 5.5, 8.25, 11.0]
    assert curve.worlds == 12
    slope = curve.slope
    assert slope.high - slope.value == pytest.approx(slope.value - slope.low)
    along = np.diff(logit(curve.rate)) / np.diff(curve.x)
    assert along == pytest.approx(np.full(4, slope.value))


def test_worlds_without_trials_or_without_a_figure_are_excluded():
    figure, success = [0.0, 1.0, 2.0, 3.0, 9.0, math.nan], [1, 1, 0, 0, 0, 1]
    curve = success_curve(figure, success, [1, 1, 1, 1, 0, 1], points=3)
    assert curve.worlds == 4
    assert curve.x.tolist() == [0.0, 1.5, 3.0]
    assert success_curve(figure[:3], success[:3], [1, 1, 1]) is None
