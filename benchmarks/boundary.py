"""Check the intervals of `gz_testauto boundary`, and its choice of trials, with simulated planners.

    python3 benchmarks/boundary.py                   # coverage in 2,000 runs with 200 trials each
    python3 benchmarks/boundary.py --runs 200        # fewer runs

A simulated planner fails with a known probability, which is a logistic curve, a probit curve, or a
curve that is neither. Each run has 200 trials at 9 values from 0 to 1. `adaptive` is the method of
the command; `uniform` has the same number of trials at each value. Prints, for each curve:

- the share of runs whose 95 % interval contains the true boundary, of the runs with a boundary,
- the share of runs in which the test of the fit rejects the curve,
- the ratio of the widths of the intervals, adaptive to uniform: the median over the first 100 runs.

For the last curve, each world has its own boundary, and the same worlds are used at each value. The
intervals assume independent trials, so it shows why the command uses other worlds at each value.
"""

import argparse

import numpy as np
from scipy.special import expit
from scipy.stats import chi2, norm

from gz_testauto.extras.search.boundary import FailureCurve, run_adaptively

VALUES = np.linspace(0.0, 1.0, 9)
BUDGET, MOST, WIDTHS = 200, 100, 100
REACH = chi2.ppf(0.95, 1)


def logistic(middle, slope):
    return lambda at: expit(slope * (at - middle))


CURVES = {
    "logistic, flat": (logistic(0.45, 6.0), 0.5),
    "logistic, steep": (logistic(0.45, 15.0), 0.5),
    "logistic, steep, boundary of 10 %": (logistic(0.45, 15.0), 0.1),
    "probit": (lambda at: norm.cdf(6.0 * (at - 0.45)), 0.5),
    "complementary log-log": (lambda at: -np.expm1(-np.exp(8.0 * (at - 0.5))), 0.5),
}
SHARED = "logistic, the same worlds at each value"


def true_boundary(curve, rate):
    at = np.linspace(0.0, 1.0, 100_001)
    return float(np.interp(rate, curve(at), at))


def planner(curve, random):
    """Return a function that runs trials: the first ones at a value are always the same."""
    fails = random.random((len(VALUES), MOST)) < curve(VALUES)[:, None]
    return lambda level, number: (int(fails[level, :number].sum()), number)


def planner_in_shared_worlds(random):
    """Return such a function with a boundary that differs between the worlds, by a normal
    distribution around 0.45, and one outcome per world and value."""
    middle = 0.45 + 0.15 * random.standard_normal(MOST)
    fails = random.random((len(VALUES), MOST)) < expit(20.0 * (VALUES[:, None] - middle))
    return lambda level, number: (int(fails[level, :number].sum()), number)


def uniform(run_level):
    numbers = [BUDGET // len(VALUES) + (level < BUDGET % len(VALUES)) for level in range(9)]
    return np.array([run_level(level, number) for level, number in enumerate(numbers)]).T


def study(name, make, truth, rate, runs):
    covered, rejected, known = np.zeros((3, 2))
    ratios = []
    for run in range(runs):
        random = np.random.default_rng((1, run))
        run_level = make(random)
        counts = run_adaptively(VALUES, BUDGET, MOST, rate, run_level), uniform(run_level)
        curves = [FailureCurve(VALUES, *one) for one in counts]
        for index, curve in enumerate(curves):
            if curve.has_slope:
                known[index] += 1
                covered[index] += curve.deviance(truth, rate) <= REACH
                rejected[index] += curve.lack_of_fit().p < 0.05
        if run < WIDTHS and all(curve.has_slope for curve in curves):
            first, second = (curve.boundary(rate) for curve in curves)
            ratios.append((first.high - first.low) / (second.high - second.low))
    share, rejections = 100 * covered / known, 100 * rejected / known
    print(
        f"{name}: covered {share[0]:.1f} % adaptive, {share[1]:.1f} % uniform; fit rejected "
        f"{rejections[0]:.1f} %, {rejections[1]:.1f} %; width ratio {np.median(ratios):.2f}; "
        f"without boundary {runs - known[0]:.0f}, {runs - known[1]:.0f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--curve", choices=[*CURVES, SHARED], help="only this curve")
    arguments = parser.parse_args()
    for name, (curve, rate) in CURVES.items():
        if arguments.curve in (None, name):
            make = lambda random, curve=curve: planner(curve, random)  # noqa: E731
            study(name, make, true_boundary(curve, rate), rate, arguments.runs)
    if arguments.curve in (None, SHARED):
        study(SHARED, planner_in_shared_worlds, 0.45, 0.5, arguments.runs)


if __name__ == "__main__":
    main()
