"""Check the guarantees of intervals, tests, gate and early stop on synthetic campaigns.

    python3 benchmarks/false_alarms.py [--campaigns 1000] [--seed 0] [--processes 2] [--only PART]

rates, pairs  In each cell (worlds x repetitions x rates x correlation within worlds), at least 93 %
              of the 95 % intervals must contain the true success rate, or the true difference of
              two planners in the same worlds.
metrics       The same for the median and the mean of a metric with outliers or skewed values.
tests         In each cell, a test must find a difference between equal planners in at most 5.5 % of
              campaigns.
fixed, ends   The gate for a fixed number of worlds, and the gate and the early stop evaluated after
              every world, must be wrong in at most alpha of campaigns.
compared      The same for a comparison of campaigns that stopped early.
boundary      At least 93 % of searches for a boundary must have no wrong bound, or report a hump.
agreement     In each of ten times as many campaigns, the p-value, the interval, the sentence and
              the gate of a comparison must agree.
savings       An early stop must save at least a third of 500 worlds at a difference of 15 points.

A cell of rates, pairs, metrics, tests or fixed that exceeds its limit is drawn again with ten times
as many campaigns, and that result counts. The exit status is 1 if a guarantee is violated. The
program takes about a quarter of an hour on two cores.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import functools
import itertools
import math
import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import expit
from scipy.stats import beta, norm

from gz_testauto.analysis import anytime
from gz_testauto.analysis.anytime import DIFFERENCE
from gz_testauto.analysis.bounded_mean import (
    RATE,
    mean_interval,
    mean_p_value,
    one_sided_p_values,
)
from gz_testauto.analysis.comparison import (
    PairedCounts,
    compare,
    mcnemar,
    planners_differ,
    valid_trials_by_world,
)
from gz_testauto.analysis.early_stop import decide, success_rates
from gz_testauto.analysis.intervals import success_rate
from gz_testauto.analysis.paired_median import median_difference, sign_test
from gz_testauto.analysis.success_curve import success_curve
from gz_testauto.extras.gate.options import GateOptions
from gz_testauto.extras.gate.questions import GatePair, Verdict, evaluate
from gz_testauto.extras.search.boundary import FailureRates, run_adaptively
from gz_testauto.report.verdicts import success_verdict
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.spec.campaign import StopSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord

ALPHA = 0.05
MARGIN = 0.05
WORLDS = 500
CHUNK = 50
LEAST_COVERAGE = 0.93
MOST_ALARMS = 0.055
AGAIN = 10
"""Factor on the number of campaigns of a cell that is drawn again after it missed its limit."""
MEASURED = 6
"""Number of campaigns per cell for the mean widths of intervals and of bootstrap intervals."""
BOOTSTRAPS = 400
QUANTILES = 4000
SAVED = 1.0 / 3.0

SIZES = (3, 5, 10, 20, 50, 100, 200, 500)
REPETITIONS = (1, 3, 10, 20)
RATES = (0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
CORRELATIONS = (0.0, 0.4, 0.9, 1.0)
PAIRS = ((0.5, 0.5), (0.9, 0.9), (0.99, 0.99), (0.8, 0.6), (0.97, 0.99), (1.0, 0.95))


class Table:
    """A printer of results that records whether a guarantee is violated."""

    def __init__(self):
        self.broken = False

    def row(self, name, value, kept, promise):
        self.broken |= not kept
        print(
            f"{name:<68} {100 * value:6.2f} %  {promise:<10} {'' if kept else 'BROKEN'}", flush=True
        )

    def shares(self, title, sizes, rows, limit):
        """Print the shares of each name by the number of worlds. ``rows`` are pairs of name and
        share, in the order of the sizes."""
        print(f"\n{title}")
        print(f"{'worlds':<36}", *(f"{size:>6}" for size in sizes))
        by_name = {}
        for name, share in rows:
            by_name.setdefault(name, []).append(share)
        for name, values in by_name.items():
            kept = max(values) <= limit
            self.broken |= not kept
            texts = (f"{100 * value:6.1f}" for value in values)
            print(f"{name:<36}", *texts, "" if kept else "BROKEN")


@functools.lru_cache(maxsize=None)
def of_worlds(rate, correlation):
    """Return the success rates of worlds: quantiles of a Beta distribution with this mean and
    intra-class correlation, corrected to have exactly this mean."""
    if correlation == 0.0 or rate in (0.0, 1.0):
        return np.full(QUANTILES, rate)
    if correlation == 1.0:
        return np.repeat([0.0, 1.0], [round((1.0 - rate) * QUANTILES), round(rate * QUANTILES)])
    size = 1.0 / correlation - 1.0
    at = (np.arange(QUANTILES) + 0.5) / QUANTILES
    quantiles = beta.ppf(at, rate * size, (1.0 - rate) * size)
    for _ in range(100):
        quantiles = np.clip(quantiles + rate - quantiles.mean(), 0.0, 1.0)
    return quantiles


def rates_of(rng, cell, campaigns):
    """Return the success rates of the worlds of each campaign (campaigns, worlds), and their true
    mean."""
    worlds, repetitions, rate, correlation = cell
    at = rng.integers(QUANTILES, size=(campaigns, worlds))
    truth = of_worlds(rate, correlation)
    return rng.binomial(repetitions, truth[at]) / repetitions, float(truth.mean())


def differences_of(rng, cell, campaigns):
    """Draw the differences of two planners. Equal planners fail more often in the same worlds."""
    worlds, repetitions, (first, second), correlation, correlated = cell
    at = rng.integers(QUANTILES, size=(campaigns, worlds))
    second_at = at if correlated else rng.integers(QUANTILES, size=(campaigns, worlds))
    p, q = of_worlds(first, correlation), of_worlds(second, correlation)
    values = rng.binomial(repetitions, p[at]) - rng.binomial(repetitions, q[second_at])
    return values / repetitions, float(p.mean() - q.mean())


def skewed_differences_of(rng, cell, campaigns):
    """Draw the differences of planners with equal rates. The first one fails completely in a share
    of the worlds, the second one exactly once in each other world."""
    worlds, repetitions, *_ = cell
    fails = rng.uniform(size=(campaigns, worlds)) < 1.0 / (repetitions + 1.0)
    return np.where(fails, -1.0, 1.0 / repetitions), 0.0


def missed(values, truth, bounds):
    """Return the share of campaigns whose interval does not contain the true value. Campaigns with
    equal values are computed once."""
    counts = collections.Counter(map(tuple, np.sort(values, axis=1)))
    wrong = sum(
        times
        for numbers, times in counts.items()
        if mean_p_value(np.array(numbers), truth, bounds) < ALPHA
    )
    return wrong / len(values)


def cell_of_means(draw, bounds, cell, campaigns, seed):
    """Return the share of campaigns whose interval misses the true value, and the mean widths of
    intervals and of bootstrap intervals."""
    rng = np.random.default_rng(seed)
    values, truth = draw(rng, cell, campaigns)
    share = missed(values, truth, bounds)
    if share > (MOST_ALARMS if truth == 0.0 else 1.0 - LEAST_COVERAGE):
        again, _ = draw(rng, cell, AGAIN * campaigns)
        share = missed(again, truth, bounds)
    widths = []
    for sample in values[:MEASURED]:
        interval = mean_interval(sample, bounds)
        at = rng.integers(len(sample), size=(BOOTSTRAPS, len(sample)))
        bootstrap = np.quantile(sample[at].mean(1), [0.025, 0.975])
        widths.append((interval.high - interval.low, np.ptp(bootstrap)))
    return cell, share, *np.mean(widths, axis=0)


def coverage(table, name, run, cells, arguments):
    """Print one line for each number of worlds and repetitions."""
    print(f"\n{name}: percent of 95 % intervals that contain the true value, false alarms of the")
    print("test, and mean widths in points of the interval and of the percentile bootstrap")
    print("worlds  repetitions  cells  worst cell   mean  worst alarms  width  bootstrap")
    results, alarms = {}, {}
    for cell, share, *widths in in_parallel(run, cells, arguments):
        results.setdefault(cell[:2], []).append((1.0 - share, *widths))
        if isinstance(cell[2], tuple) and cell[2][0] == cell[2][1]:
            alarms.setdefault(cell[:2], []).append(share)
    for size, rows in sorted(results.items()):
        worst, (mean, width, bootstrap) = min(rows)[0], np.mean(rows, axis=0)
        alarm = max(alarms.get(size, [0.0]))
        kept = worst >= LEAST_COVERAGE and alarm <= MOST_ALARMS
        table.broken |= not kept
        print(
            f"{size[0]:6d} {size[1]:12d} {len(rows):6d} {100 * worst:11.1f} {100 * mean:6.1f} "
            f"{f'{100 * alarm:.1f}' if size in alarms else '-':>13} {100 * width:6.1f} "
            f"{100 * bootstrap:10.1f} {'' if kept else 'BROKEN'}",
            flush=True,
        )


def in_parallel(run, cells, arguments):
    seeds = np.random.SeedSequence(arguments.seed).spawn(len(cells))
    with concurrent.futures.ProcessPoolExecutor(arguments.processes) as pool:
        yield from pool.map(run, cells, itertools.repeat(arguments.campaigns), seeds)


def rates(table, arguments):
    cells = [
        (worlds, repetitions, rate, correlation)
        for worlds, repetitions, rate, correlation in itertools.product(
            SIZES, REPETITIONS, RATES, CORRELATIONS
        )
        if correlation == 0.0 or (repetitions > 1 and rate < 1.0)
    ]
    run = functools.partial(cell_of_means, rates_of, RATE)
    coverage(table, "Success rate", run, cells, arguments)


def pairs(table, arguments):
    cells = [
        (worlds, repetitions, pair, correlation, correlated)
        for worlds, repetitions, pair, correlation, correlated in itertools.product(
            SIZES, REPETITIONS, PAIRS, CORRELATIONS, (True, False)
        )
        if correlated or correlation in (0.9, 1.0)
    ]
    run = functools.partial(cell_of_means, differences_of, DIFFERENCE)
    coverage(table, "Difference of two success rates", run, cells, arguments)
    cells = list(itertools.product((*SIZES, 9, 27, 52), REPETITIONS[1:], [(0.5, 0.5)]))
    run = functools.partial(cell_of_means, skewed_differences_of, DIFFERENCE)
    coverage(table, "Skewed difference of two equal success rates", run, cells, arguments)


DIFFERENCES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "t, 3 degrees of freedom": lambda rng, size: rng.standard_t(3, size=size),
    "log-normal, skewed": lambda rng, size: np.exp(2.0 * rng.normal(size=size)),
    "10 % outliers": lambda rng, size: np.where(
        rng.uniform(size=size) < 0.1, 40.0, -1.5 + 0.1 * rng.normal(size=size)
    ),
    "coarse grid": lambda rng, size: np.round(2.0 * rng.normal(size=size)) / 2.0,
    "most worlds equal": lambda rng, size: np.where(
        rng.uniform(size=size) < 0.7, 0.0, rng.exponential(size=size)
    ),
}
"""Differences of a metric between two planners in each world (s)."""
TIME_LIMIT_S = 60.0


@functools.lru_cache(maxsize=None)
def of_metric(name, statistic, bounded=False):
    """Return quantiles of the differences whose median or mean is 0."""
    values = np.sort(DIFFERENCES[name](np.random.default_rng(5), QUANTILES))
    if not bounded:
        return values - getattr(np, statistic)(values)
    for _ in range(100):
        values = np.clip(values - values.mean(), 1.0 - TIME_LIMIT_S, TIME_LIMIT_S - 1.0)
    return values


def metric_cell(cell, campaigns, seed):
    """Return the share of campaigns whose median's interval or test misses the true median, and the
    share whose mean's interval misses the true mean, each with a name."""
    name, worlds = cell
    rng = np.random.default_rng(seed)
    rows = []
    for check, statistic in ((median_missed, "median"), (mean_missed, "mean")):
        values = of_metric(name, statistic, statistic == "mean")
        size = campaigns if statistic == "median" else min(campaigns, 1000)
        drawn = values[rng.integers(QUANTILES, size=(size, worlds))]
        share = np.mean([check(row) for row in drawn])
        if share > MOST_ALARMS:
            drawn = values[rng.integers(QUANTILES, size=(AGAIN * size, worlds))]
            share = np.mean([check(row) for row in drawn])
        rows.append((f"{statistic}: {name}", float(share)))
    return rows


def median_missed(values):
    return sign_test(values) < ALPHA or misses(median_difference(values), 0.0)


def mean_missed(values):
    return mean_p_value(values, 0.0, (-TIME_LIMIT_S, TIME_LIMIT_S)) < ALPHA


def metrics(table, arguments):
    sizes = (4, 6, 10, 20, 50, 100, 300)
    cells = list(itertools.product(DIFFERENCES, sizes))
    rows = itertools.chain.from_iterable(in_parallel(metric_cell, cells, arguments))
    title = "Intervals (%) of a metric without the true median or mean, at most 5.5 each"
    table.shares(title, sizes, rows, MOST_ALARMS)


def misses(estimate, truth):
    return estimate.has_interval and not estimate.low <= truth <= estimate.high


def has_slope(rng, worlds, repetitions):
    """Return whether a dependence on an irrelevant number is found."""
    reached = rng.binomial(repetitions, of_worlds(0.7, 0.4)[rng.integers(QUANTILES, size=worlds)])
    curve = success_curve(rng.uniform(size=worlds), reached, [repetitions] * worlds, points=2)
    return misses(curve.slope, 0.0)


TESTS = {
    "Cochran, 3 planners, 90 %": lambda rng, n: (
        planners_differ((rng.uniform(size=(n, 3)) < 0.9).astype(float))[0] < ALPHA
    ),
    "Cochran, 5 planners, 50 %": lambda rng, n: (
        planners_differ((rng.uniform(size=(n, 5)) < 0.5).astype(float))[0] < ALPHA
    ),
    "Friedman, 3 planners x 3": lambda rng, n: (
        planners_differ(rng.binomial(3, 0.7, size=(n, 3)) / 3.0)[0] < ALPHA
    ),
    "slope of the curve": lambda rng, n: has_slope(rng, n, 1),
    "slope of the curve, 5 repetitions": lambda rng, n: has_slope(rng, n, 5),
}
"""Functions that return whether a difference is found in a synthetic campaign without one."""


def alarms_of_test(cell, campaigns, seed):
    name, worlds = cell
    rng = np.random.default_rng(seed)
    share = np.mean([TESTS[name](rng, worlds) for _ in range(campaigns)])
    if share > MOST_ALARMS:
        share = np.mean([TESTS[name](rng, worlds) for _ in range(AGAIN * campaigns)])
    return name, float(share)


def tests(table, arguments):
    sizes = (4, 6, 10, 20, 50, 300)
    rows = in_parallel(alarms_of_test, list(itertools.product(TESTS, sizes)), arguments)
    title = "False alarms (%) of a fixed number of worlds, at most 5.5 each"
    table.shares(title, sizes, rows, MOST_ALARMS)


def differences(rng, campaigns, first_only, second_only, worlds=WORLDS):
    chances = [second_only, 1.0 - first_only - second_only, first_only]
    return rng.choice([-1.0, 0.0, 1.0], p=chances, size=(campaigns, worlds))


def ever(values, capital, alpha=ALPHA):
    """Return the share of campaigns in which the capital reaches 1/alpha, and for each campaign the
    number of worlds at which it does so, or one more than all worlds."""
    limit = -math.log(alpha)
    first = []
    for start in range(0, len(values), CHUNK):
        over = capital(values[start : start + CHUNK]) >= limit
        first.append(np.where(over.any(axis=1), over.argmax(axis=1) + 1, over.shape[1] + 1))
    first = np.concatenate(first)
    return float(np.mean(first <= values.shape[1])), first


def two_sided(mean, bounds=DIFFERENCE):
    """Return the function of the logarithm of half of the larger of both capitals."""

    def capital(values):
        sides = (side(values, mean, bounds) for side in (anytime.above, anytime.below))
        return np.maximum(*map(anytime.capital_over_time, sides)) - math.log(2.0)

    return capital


def one_sided(side, mean, bounds=DIFFERENCE):
    return lambda values: anytime.capital_over_time(side(values, mean, bounds))


def alarms(table, arguments):
    campaigns, rng = arguments.campaigns, np.random.default_rng(arguments.seed)
    print(f"\nEver wrong within {WORLDS} worlds, looked at after each, alpha {100 * ALPHA:.0f} %")
    at_most = f"<= {100 * ALPHA:.0f} %"

    def row(name, values, capital):
        share, _ = ever(values, capital)
        table.row(name, share, share <= ALPHA, at_most)

    for discordant in (0.04, 0.2, 0.6):
        equal = differences(rng, campaigns, discordant / 2, discordant / 2)
        row(
            f"early end, equal planners, {100 * discordant:.0f} % discordant", equal, two_sided(0.0)
        )
    different = differences(rng, campaigns, 0.2, 0.05)
    row("confidence sequence ever without the true 15 points", different, two_sided(0.15))
    for discordant in (0.05, 0.2):
        first, second = (discordant - MARGIN) / 2, (discordant + MARGIN) / 2
        edge = differences(rng, campaigns, first, second)
        text = f"worse by the margin, {100 * discordant:.0f} % discordant"
        row(f"gate passes, planner {text}", edge, one_sided(anytime.above, -MARGIN))
        row(f"gate reports worse, planner {text}", edge, one_sided(anytime.below, -MARGIN))
    reached = rng.binomial(1, 0.9, size=(campaigns, WORLDS)).astype(float)
    row("gate passes --min-success 0.9 at 0.9", reached, one_sided(anytime.above, 0.9, RATE))
    row(
        "gate reports worse than --min-success 0.9 at 0.9",
        reached,
        one_sided(anytime.below, 0.9, RATE),
    )
    repeated = rng.binomial(5, 0.5, size=(campaigns, WORLDS)) / 5.0
    repeated -= rng.binomial(5, 0.5, size=(campaigns, WORLDS)) / 5.0
    row("early end, equal planners, five repetitions", repeated, two_sided(0.0))
    limits = (-TIME_LIMIT_S, TIME_LIMIT_S)
    for name in DIFFERENCES:
        values = of_metric(name, "mean", True)
        drawn = values[rng.integers(QUANTILES, size=(campaigns, WORLDS))] - 1.0
        row(
            f"gate passes a metric, worse by its margin, {name}",
            drawn,
            one_sided(anytime.above, -1.0, limits),
        )


FIXED_CASES = {
    "1 trial, 5 % discordant": lambda rng, size: rng.choice([-1, 0, 1], size, p=[0.05, 0.95, 0.0]),
    "1 trial, 20 % discordant": lambda rng, size: rng.choice(
        [-1, 0, 1], size, p=[0.125, 0.8, 0.075]
    ),
    "skewed, 3 trials": lambda rng, size: np.where(
        rng.uniform(size=size) < 0.2875, -1.0, 1.0 / 3.0
    ),
    "skewed, 10 trials": lambda rng, size: np.where(rng.uniform(size=size) < 0.15 / 1.1, -1.0, 0.1),
}
"""Differences in each world with a mean of -MARGIN."""


def fixed_gate(case, campaigns, seed):
    """Return the share of campaigns in which a gate for a fixed number of worlds passes wrongly."""
    rng = np.random.default_rng(seed)
    share = wrong_passes(case, campaigns, rng)
    return case[0], wrong_passes(case, AGAIN * campaigns, rng) if share > ALPHA else share


def wrong_passes(case, campaigns, rng):
    name, worlds = case
    if name in DIFFERENCES:
        quantiles, bounds, limit = of_metric(name, "mean", True), TIME_LIMIT_S, -1.0
        values = quantiles[rng.integers(QUANTILES, size=(campaigns, worlds))] - 1.0
    else:
        values, bounds, limit = FIXED_CASES[name](rng, (campaigns, worlds)), 1.0, -MARGIN
    rows, times = np.unique(np.sort(values, axis=1), axis=0, return_counts=True)
    passed = [one_sided_p_values(row, limit, (-bounds, bounds))[0] <= ALPHA for row in rows]
    return float(np.average(passed, weights=times))


def fixed(table, arguments):
    sizes = (10, 20, 50, 100, 300)
    cells = list(itertools.product((*FIXED_CASES, *DIFFERENCES), sizes))
    rows = in_parallel(fixed_gate, cells, arguments)
    title = (
        "Wrong passes (%) of a gate for a fixed number of worlds, worse by its margin, at most 5"
    )
    table.shares(title, sizes, rows, ALPHA)


def savings(table, arguments):
    campaigns, rng = arguments.campaigns, np.random.default_rng(arguments.seed)
    print(f"\nWorlds of {WORLDS} that an early end saves at a true difference of 15 points")
    for first, second in ((0.17, 0.02), (0.2, 0.05), (0.3, 0.15)):
        values = differences(rng, campaigns, first, second)
        share, after = ever(values, two_sided(0.0))
        saved = 1.0 - float(np.minimum(after, WORLDS).mean()) / WORLDS
        wrong = [values[i, : after[i]].mean() < 0 for i in range(campaigns) if after[i] <= WORLDS]
        text = f"{100 * (first + second):.0f} % discordant (decided {100 * share:.1f} %, "
        text += f"wrong direction {100 * np.mean(wrong):.2f} %)"
        table.row(text, saved, saved >= SAVED, f">= {100 * SAVED:.0f} %")


STOPPED_WORLDS = 200
STOPPED_CASES = (
    # Success rates of planners p and q, alpha of `stop`, whether both campaigns have `stop`, and
    # the planner that p is compared with: p of another campaign, or q under another name.
    ((0.7, 0.7), 0.05, False, "p"),
    ((0.7, 0.5), 0.05, False, "p"),
    ((0.7, 0.5), 0.05, True, "p"),
    ((0.5, 0.5), 0.05, False, "q"),
    ((0.9, 0.9), 0.05, False, "q"),
    ((0.5, 0.5), 0.2, False, "q"),
    ((0.5, 0.5), 0.2, True, "p"),
)


@functools.lru_cache(maxsize=None)
def mcnemar_of(first_only, second_only):
    return mcnemar(PairedCounts(0, first_only, second_only, 0))


def stopped_campaigns(case, campaigns, seed):
    """Return the shares of pairs of campaigns in which the comparison of two planners with equal
    rates is significant: by the sequential test, and by the test for a fixed number of worlds.

    The first campaign runs the planners p and q until its early stop. The second campaign runs the
    same worlds. A copy of q with another name has the same outcomes as q.
    """
    (of_p, of_q), alpha, both_stop, compared_with = case
    rng = np.random.default_rng(seed)
    size = campaigns, STOPPED_WORLDS
    p, q, p_again, q_again = (
        rng.binomial(1, rate, size).astype(float) for rate in (of_p, of_q, of_p, of_q)
    )
    ends = [ever(p - q, two_sided(0.0), alpha)[1]]
    if both_stop:
        ends.append(ever(p_again - q_again, two_sided(0.0), alpha)[1])
    worlds = np.minimum(np.min(ends, axis=0), STOPPED_WORLDS)
    values = p - (p_again if compared_with == "p" else q)
    done = np.arange(STOPPED_WORLDS) < worlds[:, np.newaxis]
    sequential = ever(np.where(done, values, 0.0), two_sided(0.0))[0]
    counts = [((values == sign) & done).sum(axis=1) for sign in (1.0, -1.0)]
    fixed = np.mean([mcnemar_of(*map(int, pair)) < ALPHA for pair in zip(*counts)])
    return case, float(worlds.mean()), sequential, float(fixed)


def compared(table, arguments):
    print(
        f"\nCampaigns with stop, compared with another campaign (at most {STOPPED_WORLDS} worlds):"
        "\nfalse alarms with 95 % intervals, by the sequential test and by McNemar's"
    )
    rows = in_parallel(stopped_campaigns, STOPPED_CASES, arguments)
    for ((of_p, of_q), alpha, both, compared_with), worlds, *shares in rows:
        texts = []
        for share in shares:
            rate = success_rate(round(share * arguments.campaigns), arguments.campaigns)
            texts.append(f"{100 * share:.1f} [{100 * rate.low:.1f}, {100 * rate.high:.1f}] %")
        kept = shares[0] <= ALPHA
        table.broken |= not kept
        print(
            f"p {of_p:g}, q {of_q:g}, alpha {alpha:g}, {'both stop' if both else 'one stops'}, "
            f"{'p and p' if compared_with == 'p' else 'p and a copy of q'}, {worlds:5.1f} worlds:  "
            f"{'   '.join(texts)}{'' if kept else '  BROKEN'}",
            flush=True,
        )


TINY = 1e-9
STOP = StopSpec(when="decided")


def drawn_campaign(rng):
    """Draw the results of two or three planners: single trials or repetitions, copies of worlds,
    invalid trials, skewed metrics, and campaigns with and without early stop."""
    count, repetitions = int(rng.choice([1, 2, 5, 9, 30, 80])), int(rng.choice([1, 1, 3]))
    planners = ("a", "b", "c")[: int(rng.choice([2, 3]))]
    correlation = rng.choice([0.0, 0.4, 1.0])
    kind = list(DIFFERENCES)[rng.integers(len(DIFFERENCES))]
    base = rng.uniform(0.3, 0.95)
    at = rng.integers(QUANTILES, size=count)
    trials = []
    for planner in planners:
        rates = of_worlds(
            round(float(np.clip(base + rng.normal(0, 0.2), 0.0, 1.0)), 2), correlation
        )
        times_s = np.clip(20.0 + DIFFERENCES[kind](rng, count), 1.0, TIME_LIMIT_S - 1.0)
        for world, repetition in itertools.product(range(count), range(repetitions)):
            reached = rng.uniform() < rates[at[world]]
            outcome = Outcome.REACHED if reached else Outcome.COLLIDED
            if rng.uniform() < 0.03:
                outcome = Outcome.INVALID
            metrics = {"time_s": float(times_s[world]), "spl": 0.8 * reached}
            fields = (planner, repetition, 0, outcome, "", 1, 0.0, "", "", metrics)
            trials.append(TrialRecord(len(trials), f"w{world}", world, *fields))
    worlds = tuple(WorldRecord(i, f"w{i}", Path(f"w{i}"), str(i)) for i in range(count))
    copies = {f"w{i}": f"w{i - 1}" for i in range(1, count, 2)} if rng.uniform() < 0.2 else {}
    results = CampaignResults("drawn", planners, worlds, len(trials), tuple(trials), copies=copies)
    if rng.uniform() < 0.3:
        judged = [
            world.name
            for world in worlds
            if all(t.outcome.valid for t in trials if t.world == world.name)
        ]
        results = dataclasses.replace(results, stop=STOP, judged=tuple(judged))
    return results.without_copies


def contradictions(results):
    """Yield the contradictions in the comparisons of a campaign."""
    comparisons = compare(results)
    for pair in comparisons.pairs:
        if not pair.worlds:
            continue
        significant = pair.p_value < ALPHA
        empty = pair.difference.method == anytime.CONTRADICTION
        if significant != (misses(pair.difference, 0.0) or empty):
            yield "p-value and interval of success", pair
        lead = success_verdict(pair).lead
        if pair.significant != ("significantly higher" in lead):
            yield "p-value and sentence", pair
        if misses(pair.difference, 0.0) and pair.significant:
            ahead = pair.first if pair.difference.low > 0.0 else pair.second
            if not lead.startswith(f"The success rate of {ahead} was"):
                yield "interval and sentence", pair
        for metric in pair.metrics:
            significant = metric.p_value < ALPHA
            if metric.difference.has_interval and significant != misses(metric.difference, 0.0):
                yield f"p-value and interval of {metric.name}", pair
        yield from gate_contradictions(results, pair)
    if results.stop is not None:
        pairs = decide(STOP, results.planners, results.judged, success_rates(results.trials))
        for decision in pairs:
            empty = decision.difference.method == anytime.CONTRADICTION
            if bool(decision.better) != (misses(decision.difference, 0.0) or empty):
                yield "decision and interval of the early stop", decision
            if misses(decision.difference, 0.0):
                ahead = decision.first if decision.difference.low > 0.0 else decision.second
                if decision.better != ahead:
                    yield "direction of the early stop", decision


def gate_contradictions(results, pair):
    """Yield contradictions between a comparison and a gate with half of its level and almost no
    margin."""
    sequential = results.stop is not None
    if not pair.difference.has_interval:
        return
    first, second = (
        {
            world: trials
            for world, trials in valid_trials_by_world(results.of(planner)).items()
            if not sequential or world in results.judged
        }
        for planner in (pair.first, pair.second)
    )
    rules = GateOptions(
        not_worse_than=TINY, alpha=ALPHA / 2.0, fixed_worlds=None if sequential else pair.worlds
    )
    if sequential:
        order = {world: place for place, world in enumerate(results.judged)}
        first, second = (
            dict(sorted(of.items(), key=lambda i: order[i[0]])) for of in (first, second)
        )
    (answer,) = evaluate([GatePair(pair.first, first, pair.second, second)], rules)
    low, high = pair.difference.low, pair.difference.high
    expected = Verdict.UNDECIDED
    if high < -TINY:
        expected = Verdict.FAILED
    elif low > -TINY:
        expected = Verdict.PASSED
    if answer.verdict is not expected and min(abs(low), abs(high)) > 1e-6:
        yield "comparison and gate", pair
    if (answer.verdict is Verdict.PASSED) != (answer.low > answer.limit):
        yield "verdict and bound of the gate", pair


def list_contradictions(case, campaigns, seed):
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(campaigns):
        texts += [f"{text}: {about}" for text, about in contradictions(drawn_campaign(rng))]
    return texts


def agreement(table, arguments):
    total = AGAIN * arguments.campaigns
    print(f"\nContradictions in {total} campaigns")
    number = 0
    for texts in in_parallel(list_contradictions, range(AGAIN), arguments):
        number += len(texts)
        for text in texts[:3]:
            print(text[:400])
    table.row("contradictions per campaign", number / total, number == 0, "= 0 %")


VALUES = tuple(float(value) for value in range(9))
BUDGET, MOST = 200, 100
HUMP = (lambda at: 0.05 + 0.8 * np.exp(-(((at - 4.0) / 1.33) ** 2)), 0.5)
WIDE_HUMP = (lambda at: 0.8 * np.exp(-(((at - 4.0) / 2.0) ** 2)), 0.5)
BOUNDARIES = {
    "threshold between two values": (lambda at: at > 3.53, 0.5),
    "threshold next to a value": (lambda at: at > 4.01, 0.5),
    "jump from 5 to 60 %": (lambda at: np.where(at > 3.53, 0.6, 0.05), 0.5),
    "jump from 5 to 60 %, boundary of 10 %": (lambda at: np.where(at > 3.53, 0.6, 0.05), 0.1),
    "jump from 0 to 30 %, boundary of 10 %": (lambda at: np.where(at > 4.67, 0.3, 0.0), 0.1),
    "saturates at 70 %": (lambda at: np.clip(0.225 * at - 0.6, 0.0, 0.7), 0.5),
    "constant, 2 %": (lambda at: np.full_like(at, 0.02), 0.5),
    "constant, 3 %": (lambda at: np.full_like(at, 0.03), 0.5),
    "constant, 10 %, boundary of 10 %": (lambda at: np.full_like(at, 0.1), 0.1),
    "constant, 45 %": (lambda at: np.full_like(at, 0.45), 0.5),
    "logistic, flat": (lambda at: expit(0.75 * (at - 3.6)), 0.5),
    "logistic, steep": (lambda at: expit(1.9 * (at - 3.6)), 0.5),
    "logistic, steep, boundary of 10 %": (lambda at: expit(1.9 * (at - 3.6)), 0.1),
    "logistic, decreasing": (lambda at: expit(1.9 * (3.6 - at)), 0.5),
    "probit": (lambda at: norm.cdf(0.75 * (at - 3.6)), 0.5),
    "complementary log-log": (lambda at: -np.expm1(-np.exp(at - 4.0)), 0.5),
    "hump of 85 %": HUMP,
    "wide hump of 80 %": WIDE_HUMP,
}
"""Failure rates at values from 0 to 8, and the failure rate of the boundary."""


def bounded(name, campaigns, seed):
    """Return the share of campaigns with a wrong bound, that with a boundary, and the median width
    of the intervals. A hump has no right bound, and must be reported."""
    curve, rate = BOUNDARIES[name]
    wrong, widths = 0, []
    for child in seed.spawn(campaigns):
        rng = np.random.default_rng(child)
        worlds = collections.defaultdict(lambda: rng.random(MOST))  # noqa: B023
        outcomes = run_adaptively(
            VALUES,
            BUDGET,
            MOST,
            [rate],
            lambda value, number: worlds[value][:number] < curve(np.array(value)),  # noqa: B023
            lambda low, high: (low + high) / 2.0 if high - low > 1e-5 else None,
        )
        compared = FailureRates(outcomes, rate)
        boundary = compared.boundary()
        if (curve, rate) in (HUMP, WIDE_HUMP):
            wrong += compared.is_monotone and not compared.contradicting
        else:
            below, above = curve(np.array(compared.below)), curve(np.array(compared.above))
            wrong += not compared.is_monotone or (below > rate).any() or (above < rate).any()
        if boundary is not None:
            widths.append(min(boundary.high, VALUES[-1]) - max(boundary.low, VALUES[0]))
    return name, wrong / campaigns, len(widths) / campaigns, np.median(widths or [math.nan])


def boundaries(table, arguments):
    print(
        f"\nBoundary of a failure rate with {BUDGET} trials at values from {VALUES[0]:g} to "
        f"{VALUES[-1]:g}: share of campaigns\nwithout a wrong bound, share with a boundary, and "
        "median width of its interval"
    )
    for name, wrong, share, width in in_parallel(bounded, list(BOUNDARIES), arguments):
        text = f"{name} ({100 * share:.0f} %, {width:.2g})"
        is_kept = 1.0 - wrong >= LEAST_COVERAGE
        table.row(text, 1.0 - wrong, is_kept, f">= {100 * LEAST_COVERAGE:g} %")


PARTS = {
    "savings": savings,
    "agreement": agreement,
    "metrics": metrics,
    "fixed": fixed,
    "ends": alarms,
    "compared": compared,
    "tests": tests,
    "rates": rates,
    "pairs": pairs,
    "boundary": boundaries,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    arguments = parser.parse_args()
    began_s = time.monotonic()
    table = Table()
    for part, run in PARTS.items():
        if part in arguments.only:
            run(table, arguments)
    print(f"\n{arguments.campaigns} campaigns each, {time.monotonic() - began_s:.0f} s")
    return int(table.broken)


if __name__ == "__main__":
    sys.exit(main())
