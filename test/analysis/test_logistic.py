"""Logistic regressions against direct maximization, closed forms and the sandwich formula."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from gz_testauto.analysis.logistic import Profile, cluster_covariance, fit_logistic

DESIGN = np.column_stack([np.ones(8), [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 3.0]])
SUCCESS = np.array([1.0, 2.0, 1.0, 3.0, 2.0, 4.0, 5.0, 6.0])
COUNT = np.array([6.0, 5.0, 3.0, 7.0, 4.0, 5.0, 6.0, 6.0])


def information(design, count, beta):
    rate = expit(design @ beta)
    return design.T @ np.diag(count * rate * (1.0 - rate)) @ design


def log_likelihood(beta, is_penalized, design=DESIGN, success=SUCCESS, count=COUNT):
    logits = design @ beta
    value = success @ np.log(expit(logits)) + (count - success) @ np.log(expit(-logits))
    if is_penalized:
        value += 0.5 * math.log(np.linalg.det(information(design, count, beta)))
    return value


def maximum(is_penalized, slope=None, **data):
    """Return the largest log-likelihood, and its coefficients; ``slope`` fixes the second one."""
    size = data.get("design", DESIGN).shape[1]
    fixed = [] if slope is None else [slope]
    found = minimize(
        lambda beta: -log_likelihood(np.array([*beta, *fixed]), is_penalized, **data),
        np.zeros(size - len(fixed)),
        tol=1e-9,
    )
    return -found.fun, found.x


@pytest.mark.parametrize("is_penalized", [False, True])
def test_profile_has_the_maximum_of_the_likelihood(is_penalized):
    largest, coefficients = maximum(is_penalized)
    profile = Profile(DESIGN, SUCCESS, COUNT, is_penalized)
    assert profile.has_converged
    assert profile.largest == pytest.approx(largest, abs=1e-7)
    assert profile.coefficients == pytest.approx(coefficients, abs=1e-4)
    for slope in (-0.5, 2.0):
        expected = 2.0 * (largest - maximum(is_penalized, slope)[0])
        assert profile.deviance(1, slope) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("design", "success", "count"),
    [
        (DESIGN, SUCCESS, COUNT),
        (
            np.column_stack([np.ones(4), [9.0, -2.0, -1.0, -1.0]]),
            np.array([0.0, 1.0, 21.0, 1.0]),
            np.array([1.0, 4.0, 23.0, 4.0]),
        ),
    ],
    ids=["Newton's steps converge", "Newton's steps do not converge"],
)
def test_fit_has_the_maximum_and_the_information_of_the_penalized_likelihood(
    design, success, count
):
    _, coefficients = maximum(True, design=design, success=success, count=count)
    fit = fit_logistic(design, success, count)
    assert fit.has_converged
    assert fit.coefficients == pytest.approx(coefficients, abs=1e-4)
    expected = np.linalg.inv(information(design, count, fit.coefficients))
    assert fit.model_covariance == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("is_penalized", [False, True])
@pytest.mark.parametrize(("start", "step"), [(0.8, 0.02), (0.8, 0.3), (-3.0, 0.3), (5.0, 0.3)])
def test_limits_have_the_deviance_of_the_interval_from_any_start(is_penalized, start, step):
    largest, _ = maximum(is_penalized)
    low, high = Profile(DESIGN, SUCCESS, COUNT, is_penalized).limits(1, start, step, 3.84)
    assert low < high
    for limit in (low, high):
        deviance = 2.0 * (largest - maximum(is_penalized, limit)[0])
        assert deviance == pytest.approx(3.84, abs=1e-3)


def test_interval_contains_the_estimate_if_the_steps_pass_over_it():
    profile = Profile(np.ones((1, 1)), np.array([3920.0]), np.array([4000.0]), False)
    with np.errstate(all="raise"):
        low, high = profile.limits(0, 0.0, 1.0, 3.84)
    assert low < logit(0.98) < high


@pytest.mark.parametrize(("success", "sign"), [(9.0, 1.0), (0.0, -1.0)])
def test_equal_outcomes_have_a_limit_on_one_side(success, sign):
    """The likelihood of 9 successes in 9 trials is the ninth power of the rate."""
    profile = Profile(np.ones((1, 1)), np.array([success]), np.array([9.0]), False)
    limits = profile.limits(0, 2.0 * sign, 0.5, 3.84)
    finite, infinite = sorted(limits, key=abs)
    assert finite == pytest.approx(sign * logit(math.exp(-3.84 / 18.0)), abs=1e-3)
    assert infinite == sign * math.inf


def test_covariance_of_clusters_is_the_sandwich_of_mancl_and_derouen():
    clusters = np.array([4, 1, 1, 0, 2, 2, 2, 7])
    fit = fit_logistic(DESIGN, SUCCESS, COUNT)
    rate = expit(DESIGN @ fit.coefficients)
    bread = np.linalg.inv(information(DESIGN, COUNT, fit.coefficients))
    hat = np.diag(COUNT * rate * (1.0 - rate)) @ DESIGN @ bread @ DESIGN.T
    middle = np.zeros((2, 2))
    for cluster in set(clusters):
        rows = clusters == cluster
        residual = np.linalg.solve(
            np.eye(rows.sum()) - hat[np.ix_(rows, rows)], (SUCCESS - COUNT * rate)[rows]
        )
        score = DESIGN[rows].T @ residual
        middle += np.outer(score, score)
    covariance = cluster_covariance(fit, DESIGN, SUCCESS, COUNT, clusters)
    assert covariance == pytest.approx(bread @ middle @ bread, rel=1e-6)
