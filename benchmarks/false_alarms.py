#!/usr/bin/env python3
"""Do intervals, gate and early end keep their promises? Synthetic campaigns whose truth is known.

Coverage: how many of the 95 % intervals of 2,000 campaigns hold the true value; each should be
between 93 and 97 %. False alarms: how many of 2,000 campaigns the gate or the early end ever
decides wrongly when it is looked at after every world; at most alpha. Savings: how many of 500
worlds a campaign saves that ends when decided, at a true difference of 15 points; a third at least.

    python3 benchmarks/false_alarms.py [--campaigns 2000] [--seed 0]

Exit status 1 when a promise is broken. No simulator; some minutes on one core.
"""

import argparse
import functools
import math
import sys
import time

import numpy as np

from gz_testauto.analysis.clusters import clustered_rate
from gz_testauto.analysis.comparison import mean_over_worlds
from gz_testauto.analysis.decisions import anytime
from gz_testauto.analysis.decisions.anytime import DIFFERENCE, RATE
from gz_testauto.analysis.intervals import success_rate
from gz_testauto.analysis.paired_success import PairedCounts, rate_difference
from gz_testauto.analysis.signed_rank import shift

ALPHA = 0.05
MARGIN = 0.05
WORLDS = 500
CHUNK = 50
COVERED = (0.93, 0.97)
SAVED = 1.0 / 3.0


class Table:
    """Prints findings, and knows whether a promise was broken."""

    def __init__(self):
        self.broken = False

    def row(self, name, value, kept, promise):
        self.broken |= not kept
        print(
            f"{name:<68} {100 * value:6.2f} %  {promise:<10} {'' if kept else 'BROKEN'}", flush=True
        )


def covers(estimate, truth):
    return estimate.low <= truth <= estimate.high


def coverage(table, campaigns, rng):
    print("95 % intervals that hold the truth")
    within = f"{100 * COVERED[0]:.0f} to {100 * COVERED[1]:.0f} %"
    for name, one in COVERAGES.items():
        share = np.mean([one(rng) for _ in range(campaigns)])
        table.row(name, share, COVERED[0] <= share <= COVERED[1], within)


def one_rate(rng):
    return covers(success_rate(int(rng.binomial(200, 0.8)), 200), 0.8)


def rate_with_repetitions(rng, worlds=100):
    # ten trials per world, intra-class correlation 0.4: worlds' rates are Beta(1.275, 0.225)
    rates = rng.beta(0.85 * 1.5, 0.15 * 1.5, size=worlds)
    reached = rng.binomial(10, rates)
    return covers(clustered_rate(reached, np.full(worlds, 10)), 0.85)


def paired_rates(rng):
    both, first, second, neither = rng.multinomial(200, [0.65, 0.17, 0.08, 0.10])
    return covers(rate_difference(PairedCounts(both, first, second, neither)), 0.09)


def paired_rates_with_repetitions(rng):
    base = rng.beta(1.6, 0.8, size=100)
    shifted = np.clip(base + rng.choice([-0.1, 0.0, 0.2], size=100), 0.0, 1.0)
    first, second = rng.binomial(5, shifted), rng.binomial(5, base)
    return covers(mean_over_worlds((first - second) / 5.0), _mean_shift())


def _mean_shift(known=[]):  # noqa: B006
    """The mean of what ``paired_rates_with_repetitions`` draws, from ten million draws."""
    if not known:
        rng = np.random.default_rng(99)
        base = rng.beta(1.6, 0.8, size=10_000_000)
        shifted = np.clip(base + rng.choice([-0.1, 0.0, 0.2], size=len(base)), 0.0, 1.0)
        known.append(float((shifted - base).mean()))
    return known[0]


def shift_of_a_metric(rng):
    return covers(shift(1.5 + rng.standard_t(4, size=60)), 1.5)


COVERAGES = {
    "success rate, 200 worlds (Wilson)": one_rate,
    "success rate, 100 worlds x 10, ICC 0.4 (bootstrap over worlds)": rate_with_repetitions,
    "difference of success, 200 pairs (Newcombe)": paired_rates,
    "difference of success, 100 worlds x 5 (bootstrap over worlds)": paired_rates_with_repetitions,
    "shift of a metric, 60 pairs (Hodges-Lehmann)": shift_of_a_metric,
    "success rate, 50 worlds x 10, ICC 0.4 (bootstrap over worlds)": functools.partial(
        rate_with_repetitions, worlds=50
    ),
}


def differences(rng, campaigns, first_only, second_only, worlds=WORLDS):
    chances = [second_only, 1.0 - first_only - second_only, first_only]
    return rng.choice([-1.0, 0.0, 1.0], p=chances, size=(campaigns, worlds))


def ever(values, capital, alpha=ALPHA):
    """Share of campaigns in which the capital ever reaches 1/alpha, and after how many worlds each
    does (one more than there are where it does not)."""
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


def alarms(table, campaigns, rng):
    print(f"\nFalse alarms in {WORLDS} worlds, looked at after each, alpha {100 * ALPHA:.0f} %")
    at_most = f"<= {100 * ALPHA:.0f} %"

    def row(name, values, capital):
        share, _ = ever(values, capital)
        table.row(name, share, share <= ALPHA, at_most)

    for discordant in (0.04, 0.2, 0.6):
        equal = differences(rng, campaigns, discordant / 2, discordant / 2)
        row(
            f"early end, equal planners, {100 * discordant:.0f} % discordant", equal, two_sided(0.0)
        )
    apart = differences(rng, campaigns, 0.2, 0.05)
    row("confidence sequence ever without the true 15 points", apart, two_sided(0.15))
    for discordant in (0.05, 0.2):
        first, second = (discordant - MARGIN) / 2, (discordant + MARGIN) / 2
        edge = differences(rng, campaigns, first, second)
        told = f"worse by the margin, {100 * discordant:.0f} % discordant"
        row(f"gate passes, planner {told}", edge, one_sided(anytime.above, -MARGIN))
        row(f"gate says worse, planner {told}", edge, one_sided(anytime.below, -MARGIN))
    reached = rng.binomial(1, 0.9, size=(campaigns, WORLDS)).astype(float)
    row("gate passes --min-success 0.9 at 0.9", reached, one_sided(anytime.above, 0.9, RATE))
    row(
        "gate says worse than --min-success 0.9 at 0.9",
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


def savings(table, campaigns, rng):
    print(f"\nWorlds of {WORLDS} that an early end saves at a true difference of 15 points")
    for first, second in ((0.17, 0.02), (0.2, 0.05), (0.3, 0.15)):
        values = differences(rng, campaigns, first, second)
        share, after = ever(values, two_sided(0.0))
        saved = 1.0 - float(np.minimum(after, WORLDS).mean()) / WORLDS
        wrong = [values[i, : after[i]].mean() < 0 for i in range(campaigns) if after[i] <= WORLDS]
        told = f"{100 * (first + second):.0f} % discordant (decided {100 * share:.1f} %, "
        told += f"wrong way {100 * np.mean(wrong):.2f} %)"
        table.row(told, saved, saved >= SAVED, f">= {100 * SAVED:.0f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began_s = time.monotonic()
    table, rng = Table(), np.random.default_rng(arguments.seed)
    savings(table, arguments.campaigns, rng)
    alarms(table, arguments.campaigns, rng)
    print()
    coverage(table, arguments.campaigns, rng)
    print(f"\n{arguments.campaigns} campaigns each, {time.monotonic() - began_s:.0f} s")
    return int(table.broken)


if __name__ == "__main__":
    sys.exit(main())
