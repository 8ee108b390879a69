"""Measure the coverage of the intervals of `gz_testauto explain`, with known coefficients.

    python3 benchmarks/explaining.py --runs 1000
    python3 benchmarks/explaining.py --runs 300 --gee      # needs statsmodels

Each run draws worlds with correlated features, and failures with a known logistic probability. The
trials of one world are correlated by a Gaussian copula, so that the probability of each trial, and
with it the true odds ratio, stays exactly that of the model. Runs that `explain` refuses are
counted, and are not part of the coverage. `some false` is the share of runs in which at least one
feature without effect is significant after Holm's adjustment; it must be at most 5 %. No feature
has another effect than that of the model, so notes on a misfit must be about as rare.

With --gee, statsmodels' generalized estimating equations run on the same data, with their
covariance for few clusters (`bias_reduced`). It is an independent implementation of the sandwich
estimator without Firth's penalty. The last line compares this program's sandwich estimator with
that of statsmodels at the same coefficients.
"""

import argparse
import sys
import warnings

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from gz_testauto.analysis.logistic import LogisticFit, cluster_covariance
from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.explain.features import Feature, FeatureTable
from gz_testauto.extras.explain.model import explain

SCENARIOS = {
    # name: worlds, planners, repetitions, intercept, coefficients per standard deviation, skewed
    "300 worlds": (300, 1, 1, -2.2, (0.8, -0.5, 0.0), False),
    "300 worlds, no effect": (300, 1, 1, -2.0, (0.0, 0.0, 0.0), False),
    "300 worlds, skewed features": (300, 1, 1, -2.2, (0.8, -0.5, 0.0), True),
    "100 worlds, half fail": (100, 1, 1, 0.0, (0.8, -0.5, 0.0), False),
    "60 worlds, 5 repetitions": (60, 1, 5, -1.0, (0.8, -0.5, 0.0), False),
    "60 worlds, 20 repetitions": (60, 1, 20, -1.5, (0.8, -0.5, 0.0), False),
    "100 worlds, 3 planners": (100, 3, 1, -1.5, (0.8, -0.5, 0.0), False),
    "100 worlds, strong effect": (100, 1, 1, 0.0, (4.0, 0.0, 0.0), False),
    "40 worlds, one feature separates": (40, 1, 1, 0.0, (10.0,), False),
    "25 worlds, one feature": (25, 1, 1, 0.0, (0.8,), False),
}
CORRELATION = 0.5
"""Correlation of the features, and of the trials in one world before the threshold."""


def draw(random, worlds, planners, repetitions, intercept, coefficients, is_skewed):
    """Return a table of random trials, whose features have the standard deviation 1."""
    k = len(coefficients)
    common = random.standard_normal((worlds, 1))
    features = np.sqrt(CORRELATION) * common + np.sqrt(1 - CORRELATION) * random.standard_normal(
        (worlds, k)
    )
    if is_skewed:
        features = np.exp(features)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    of_world = random.standard_normal(worlds)
    rows, failed, names, of_planner = [], [], [], []
    for planner in range(planners):
        logit = intercept + 0.5 * planner + features @ np.array(coefficients)
        for _ in range(repetitions):
            latent = np.sqrt(CORRELATION) * of_world
            latent = latent + np.sqrt(1 - CORRELATION) * random.standard_normal(worlds)
            rows.append(features)
            failed.append(norm.cdf(latent) < expit(logit))
            names += [f"w{at}" for at in range(worlds)]
            of_planner += [f"p{planner}"] * worlds
    return FeatureTable(
        tuple(Feature(f"f{at}", f"f{at}", "") for at in range(k)),
        np.concatenate(rows),
        np.concatenate(failed),
        tuple(names),
        tuple(of_planner),
    )


def gee(table):
    """Return the limits of each coefficient by statsmodels, or None if it fails."""
    import statsmodels.api as sm

    planners = np.asarray(table.planners)
    intercepts = [(planners == one).astype(float) for one in dict.fromkeys(table.planners)]
    design = np.column_stack([table.values, *intercepts])
    groups = np.unique(table.worlds, return_inverse=True)[1]
    order = np.argsort(groups, kind="stable")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit = sm.GEE(
                table.failed[order].astype(float),
                design[order],
                groups[order],
                family=sm.families.Binomial(),
            ).fit(cov_type="bias_reduced")
    except Exception as error:
        return str(type(error).__name__)
    k = table.values.shape[1]
    reach = norm.ppf(0.975) * fit.bse[:k]
    return np.column_stack([fit.params[:k] - reach, fit.params[:k] + reach])


def largest_difference(random):
    """Return the largest relative difference of two sandwich estimators at the same values."""
    import statsmodels.api as sm

    largest = 0.0
    for _ in range(20):
        table = draw(random, 60, 2, 3, -1.0, (0.8, -0.5, 0.0), False)
        groups = np.unique(table.worlds, return_inverse=True)[1]
        order = np.argsort(groups, kind="stable")
        design = np.column_stack([table.values, np.ones(len(groups))])[order]
        failed = table.failed[order].astype(float)
        fit = sm.GEE(failed, design, groups[order], family=sm.families.Binomial()).fit(
            cov_type="bias_reduced"
        )
        rate = expit(design @ fit.params)
        information = design.T @ ((rate * (1 - rate))[:, None] * design)
        own = cluster_covariance(
            LogisticFit(fit.params, information, True),
            design,
            failed,
            np.ones(len(failed)),
            groups[order],
        )
        largest = max(largest, float(np.abs(own / fit.cov_params() - 1.0).max()))
    return largest


def measure(name, runs, with_gee, seed):
    """Print the figures of one scenario."""
    scenario = SCENARIOS[name]
    random = np.random.default_rng([seed, list(SCENARIOS).index(name)])
    truth = np.array(scenario[4])
    covered, of_gee = np.zeros(len(truth)), np.zeros(len(truth))
    used = refused = false = gee_failed = separated = misfit = 0
    bias, failures = np.zeros(len(truth)), 0
    for _ in range(runs):
        table = draw(random, *scenario)
        try:
            found, _ = explain(table)
        except ResultsError as error:
            refused += 1
            if "are too few" not in str(error):
                raise
            continue
        used += 1
        failures += found.worlds_with_failure
        separated += any("separate" in note for note in found.notes)
        misfit += any("differs between" in one or "steadily" in one for one in found.notes)
        with np.errstate(divide="ignore"):  # a limit of 0
            ratios = np.log([one.odds_ratio[:3] for one in found.effects])
        covered += (ratios[:, 1] <= truth) & (truth <= ratios[:, 2])
        bias += ratios[:, 0] - truth
        false += any(one.trend and not true for one, true in zip(found.effects, truth))
        if with_gee:
            limits = gee(table)
            if isinstance(limits, str):
                gee_failed += 1
            else:
                of_gee += (limits[:, 0] <= truth) & (truth <= limits[:, 1])
    line = f"{name}: {used} runs, {refused} refused, {separated} separated"
    if used:
        shares = " ".join(f"{100 * one / used:.1f}" for one in covered)
        biases = " ".join(f"{one / used:+.2f}" for one in bias)
        line += f", {failures / used:.0f} worlds with a failure; coverage {shares} %; "
        line += f"bias {biases}; some false {100 * false / used:.1f} %; "
        line += f"notes on a misfit {100 * misfit / used:.1f} %"
        if with_gee:
            fitted = used - gee_failed
            shares = " ".join(f"{100 * one / max(fitted, 1):.1f}" for one in of_gee)
            line += f"; GEE: failed in {gee_failed}, coverage of the others {shares} %"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=38)
    parser.add_argument("--gee", action="store_true", help="compare with statsmodels")
    parser.add_argument("--only", choices=SCENARIOS, nargs="+", default=list(SCENARIOS))
    arguments = parser.parse_args()
    for name in arguments.only:
        measure(name, arguments.runs, arguments.gee, arguments.seed)
    if arguments.gee:
        largest = largest_difference(np.random.default_rng(arguments.seed))
        print(f"sandwich estimators: largest relative difference {largest:.1g}")


if __name__ == "__main__":
    sys.exit(main())
