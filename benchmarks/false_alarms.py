#!/usr/bin/env python3
"""Check the guarantees of intervals, tests, gate and early stop on synthetic campaigns.

The true values of the campaigns are known.

Coverage: in each cell (worlds x repetitions x rates x correlation within worlds) at least 93 % of
the 95 % intervals must contain the true success rate, or the true difference of two planners in the
same worlds. False alarms: in each cell a test may find a difference between two equal planners in
at most 5.5 % of campaigns; the gate and the early stop, evaluated after every world, may be wrong
in at most alpha. The same holds for a comparison of campaigns that stopped early. A cell that
misses its limit by chance is drawn again with ten times as many campaigns, and that result counts.
Savings: the share of 500 worlds that a campaign with early stop saves, at a true difference of 15
points; at least a third.

    python3 benchmarks/false_alarms.py [--campaigns 1000] [--seed 0] [--processes 2] [--only PART]

The exit status is 1 if a guarantee is violated. Needs no simulator; takes about a quarter of an
hour on two cores.
"""

import argparse
import collections
import concurrent.futures
import functools
import itertools
import math
import sys
import time

import numpy as np
from scipy.stats import beta

from gz_testauto.analysis import anytime
from gz_testauto.analysis.anytime import DIFFERENCE
from gz_testauto.analysis.bounded_mean import HALF, RATE, WHOLE, mean_interval, mean_p_value
from gz_testauto.analysis.comparison import PairedCounts, mcnemar, planners_differ
from gz_testauto.analysis.intervals import success_rate
from gz_testauto.analysis.signed_rank import shift, signed_rank
from gz_testauto.analysis.success_curve import success_curve

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
CORRELATIONS = (0.0, 0.4, 0.9)
PAIRS = ((0.5, 0.5), (0.9, 0.9), (0.99, 0.99), (0.8, 0.6), (0.97, 0.99), (1.0, 0.95))


class Table:
    """A printed table of results that records whether a guarantee is violated."""

    def __init__(self):
        self.broken = False

    def row(self, name, value, kept, promise):
        self.broken |= not kept
        print(
            f"{name:<68} {100 * value:6.2f} %  {promise:<10} {'' if kept else 'BROKEN'}", flush=True
        )


@functools.lru_cache(maxsize=None)
def of_worlds(rate, correlation):
    """Return the success rates of worlds: quantiles of a Beta distribution with this mean and
    intra-class correlation, corrected to have exactly this mean."""
    if correlation == 0.0 or rate in (0.0, 1.0):
        return np.full(QUANTILES, rate)
    size = 1.0 / correlation - 1.0
    at = (np.arange(QUANTILES) + 0.5) / QUANTILES
    found = beta.ppf(at, rate * size, (1.0 - rate) * size)
    for _ in range(100):
        found = np.clip(found + rate - found.mean(), 0.0, 1.0)
    return found


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
    other_at = at if correlated else rng.integers(QUANTILES, size=(campaigns, worlds))
    one, other = of_worlds(first, correlation), of_worlds(second, correlation)
    values = rng.binomial(repetitions, one[at]) - rng.binomial(repetitions, other[other_at])
    return values / repetitions, float(one.mean() - other.mean())


def missed(values, truth, bounds, weight):
    """Return the share of campaigns whose interval does not contain the true value. Campaigns with
    equal values are computed once."""
    counts = collections.Counter(map(tuple, np.sort(values, axis=1)))
    wrong = sum(
        times
        for numbers, times in counts.items()
        if mean_p_value(np.array(numbers), truth, bounds, weight) < ALPHA
    )
    return wrong / len(values)


def cell_of_means(draw, bounds, cell, campaigns, seed):
    """Return the share of campaigns whose interval misses the true value, and the mean widths of
    intervals and of bootstrap intervals."""
    repeated = cell[1] > 1
    weight = HALF if bounds == DIFFERENCE and repeated else WHOLE
    rng = np.random.default_rng(seed)
    values, truth = draw(rng, cell, campaigns)
    share = missed(values, truth, bounds, weight)
    if share > (MOST_ALARMS if truth == 0.0 else 1.0 - LEAST_COVERAGE):
        again, _ = draw(rng, cell, AGAIN * campaigns)
        share = missed(again, truth, bounds, weight)
    widths = []
    for some in values[:MEASURED]:
        found = mean_interval(some, bounds, weight)
        at = rng.integers(len(some), size=(BOOTSTRAPS, len(some)))
        widths.append(
            (found.high - found.low, np.ptp(np.quantile(some[at].mean(1), [0.025, 0.975])))
        )
    return cell, share, *np.mean(widths, axis=0)


def coverage(table, name, run, cells, arguments):
    """Print one line for each number of worlds and repetitions."""
    print(f"\n{name}: percent of 95 % intervals that contain the true value, false alarms of the")
    print("test, and mean widths in points of the interval and of the percentile bootstrap")
    print("worlds  repetitions  cells  worst cell   mean  worst alarms  width  bootstrap")
    found, alarms = {}, {}
    for cell, share, *widths in in_parallel(run, cells, arguments):
        found.setdefault(cell[:2], []).append((1.0 - share, *widths))
        if isinstance(cell[2], tuple) and cell[2][0] == cell[2][1]:
            alarms.setdefault(cell[:2], []).append(share)
    for size, rows in sorted(found.items()):
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
        if correlated or correlation == CORRELATIONS[-1]
    ]
    run = functools.partial(cell_of_means, differences_of, DIFFERENCE)
    coverage(table, "Difference of two success rates", run, cells, arguments)


def on_grid(values):
    return np.round(2.0 * values) / 2.0


def misses(found, truth):
    return found.has_interval and not found.low <= truth <= found.high


def slope_found(rng, worlds, repetitions):
    """Return whether a dependence on an irrelevant number is found."""
    reached = rng.binomial(repetitions, of_worlds(0.7, 0.4)[rng.integers(QUANTILES, size=worlds)])
    curve = success_curve(rng.uniform(size=worlds), reached, [repetitions] * worlds, points=2)
    return misses(curve.slope, 0.0)


TESTS = {
    "Wilcoxon, normal": lambda rng, n: signed_rank(rng.normal(size=n)) < ALPHA,
    "Wilcoxon, normal on a coarse grid": lambda rng, n: (
        signed_rank(on_grid(rng.normal(size=n))) < ALPHA
    ),
    "shift, t with 3 degrees": lambda rng, n: misses(shift(1.5 + rng.standard_t(3, size=n)), 1.5),
    "shift, normal on a coarse grid": lambda rng, n: misses(shift(on_grid(rng.normal(size=n))), 0),
    "Cochran, 3 planners, 90 %": lambda rng, n: (
        planners_differ((rng.uniform(size=(n, 3)) < 0.9).astype(float))[0] < ALPHA
    ),
    "Cochran, 5 planners, 50 %": lambda rng, n: (
        planners_differ((rng.uniform(size=(n, 5)) < 0.5).astype(float))[0] < ALPHA
    ),
    "Friedman, 3 planners x 3": lambda rng, n: (
        planners_differ(rng.binomial(3, 0.7, size=(n, 3)) / 3.0)[0] < ALPHA
    ),
    "slope of the curve": lambda rng, n: slope_found(rng, n, 1),
    "slope of the curve, 5 repetitions": lambda rng, n: slope_found(rng, n, 5),
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
    print("\nFalse alarms (%) of a fixed number of worlds, at most 5.5 each")
    print(f"{'worlds':<36}", *(f"{size:>6}" for size in sizes))
    found = {}
    for name, share in in_parallel(
        alarms_of_test, list(itertools.product(TESTS, sizes)), arguments
    ):
        found.setdefault(name, []).append(share)
    for name, shares in found.items():
        kept = max(shares) <= MOST_ALARMS
        table.broken |= not kept
        print(f"{name:<36}", *(f"{100 * one:6.1f}" for one in shares), "" if kept else "BROKEN")


def differences(rng, campaigns, first_only, second_only, worlds=WORLDS):
    chances = [second_only, 1.0 - first_only - second_only, first_only]
    return rng.choice([-1.0, 0.0, 1.0], p=chances, size=(campaigns, worlds))


def ever(values, capital, alpha=ALPHA):
    """Return the share of campaigns in which the capital reaches 1/alpha, and for each campaign the
    number of worlds at which it does so. That number is one more than the number of worlds if the
    capital never reaches 1/alpha."""
    limit = -math.log(alpha)
    first = []
    for start in range(0, len(values), CHUNK):
        over = capital(values[start : start + CHUNK]) >= limit
        first.append(np.where(over.any(axis=1), over.argmax(axis=1) + 1, over.shape[1] + 1))
    first = np.concatenate(first)
    return float(np.mean(first <= values.shape[1])), first


def two_sided(mean, bounds=DIFFERENCE):
    return lambda values: anytime.two_sided(values, mean, bounds)


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
    metric = 2.0 + rng.standard_t(3, size=(campaigns, WORLDS // 2))
    row(
        f"gate passes a metric, worse by its margin ({WORLDS // 2} worlds)",
        metric,
        lambda chunk: np.array(
            [anytime.capital_over_time(anytime.shift_above(one, 2.0)) for one in chunk]
        ),
    )


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
    (of_p, of_q), alpha, both_stop, other = case
    rng = np.random.default_rng(seed)
    size = campaigns, STOPPED_WORLDS
    p, q, p_again, q_again = (
        rng.binomial(1, rate, size).astype(float) for rate in (of_p, of_q, of_p, of_q)
    )
    ends = [ever(p - q, two_sided(0.0), alpha)[1]]
    if both_stop:
        ends.append(ever(p_again - q_again, two_sided(0.0), alpha)[1])
    worlds = np.minimum(np.min(ends, axis=0), STOPPED_WORLDS)
    values = p - (p_again if other == "p" else q)
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
    for ((of_p, of_q), alpha, both, other), worlds, *shares in rows:
        texts = []
        for share in shares:
            found = success_rate(round(share * arguments.campaigns), arguments.campaigns)
            texts.append(f"{100 * share:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}] %")
        kept = shares[0] <= ALPHA
        table.broken |= not kept
        print(
            f"p {of_p:g}, q {of_q:g}, alpha {alpha:g}, {'both stop' if both else 'one stops'}, "
            f"{'p and p' if other == 'p' else 'p and a copy of q'}, {worlds:5.1f} worlds:  "
            f"{'   '.join(texts)}{'' if kept else '  BROKEN'}",
            flush=True,
        )


PARTS = {
    "savings": savings,
    "ends": alarms,
    "compared": compared,
    "tests": tests,
    "rates": rates,
    "pairs": pairs,
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
