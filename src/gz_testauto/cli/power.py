"""Say what a number of paired worlds can show, from a pilot campaign or from stated rates.

A difference is shown by the worlds in which exactly one of two planners succeeds; a pilot says how
many those are, --discordant states it. Without either, two stated rates are taken as independent,
which asks for too many worlds where planners fail in the same ones.

examples:
  gz_testauto power --worlds 200 --rates 0.8,0.7
  gz_testauto power --worlds 500 --pilot results/pilot --planners fgm_improved,fgm --margin 0.05
"""

import argparse
from pathlib import Path
from typing import Iterator, List, Tuple

from gz_testauto.analysis.comparison import compare
from gz_testauto.analysis.decisions.power import (
    CHANCE,
    Apart,
    gate_power,
    mcnemar_power,
    smallest_difference,
    stopping_worlds,
    worlds_for,
)
from gz_testauto.errors import ResultsError, SpecError
from gz_testauto.printable import printable
from gz_testauto.registry import unknown_name
from gz_testauto.results.loaded import load_campaign

MOST_WORLDS = 2000
"""Simulated for the gate; more take too long."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "--worlds", type=int, required=True, metavar="N", help="how many worlds are to be run"
    )
    parser.add_argument(
        "--pilot", type=Path, metavar="DIR", help="results that say how planners differ"
    )
    parser.add_argument(
        "--planners",
        default="",
        metavar="A,B",
        help="two planners of the pilot (default: first two)",
    )
    parser.add_argument("--rates", default="", metavar="A,B", help="two rates of success")
    parser.add_argument(
        "--discordant",
        type=float,
        metavar="SHARE",
        help="share of worlds in which exactly one succeeds (default: as if independent)",
    )
    parser.add_argument(
        "--margin",
        type=float,
        default=0.05,
        help="of the gate, --not-worse-than (default: %(default)s)",
    )
    parser.add_argument(
        "--alpha", type=float, default=0.05, metavar="SHARE", help="(default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what the worlds can show; 0."""
    if not 2 <= arguments.worlds <= MOST_WORLDS:
        raise SpecError(f"--worlds is {arguments.worlds}; it must be 2 to {MOST_WORLDS}")
    if not 0.0 < arguments.alpha < 0.5:
        raise SpecError(f"--alpha is {arguments.alpha:g}; it must lie between 0 and 0.5")
    if not 0.0 < arguments.margin < 1.0:
        raise SpecError(f"--margin is {arguments.margin:g}; it must lie between 0 and 1")
    if bool(arguments.rates) == bool(arguments.pilot):
        raise SpecError("give either --pilot DIR or --rates A,B")
    apart, source = _pilot(arguments) if arguments.pilot else _stated(arguments)
    for line in _lines(arguments.worlds, apart, source, arguments.margin, arguments.alpha):
        print(printable(line))
    return 0


def _lines(worlds: int, apart: Apart, source: str, margin: float, alpha: float) -> Iterator[str]:
    often = f"with a chance of {100 * CHANCE:.0f} %"
    yield (
        f"{worlds} worlds, of which {100 * apart.discordant:.1f} % tell the planners apart "
        f"({source})"
    )
    smallest = smallest_difference(worlds, apart.discordant, alpha)
    if smallest is None:
        yield f"no difference is shown {often}: too few worlds tell the planners apart"
    else:
        yield (
            f"a difference of {100 * smallest:.1f} points or more is shown {often} "
            f"(exact McNemar test, alpha {alpha:g})"
        )
    if apart.difference:
        needed = worlds_for(apart, alpha)
        chance = 100 * mcnemar_power(worlds, apart, alpha)
        yield (
            f"{100 * abs(apart.difference):.1f} points are shown with a chance of {chance:.0f} %; "
            + (f"{often} from about {needed} worlds" if needed else "more worlds than 100000")
        )
        mean, decided = stopping_worlds(worlds, apart, alpha)
        yield (
            f"stop: {{when: decided, at_most: {worlds}}} decides that with a chance of "
            f"{100 * decided:.0f} %, after {mean:.0f} worlds on average"
        )
    equal = gate_power(worlds, Apart(apart.discordant, 0.0), margin, alpha)
    yield (
        f"gate --not-worse-than {margin:g} passes on a planner that is as good with a chance of "
        f"{100 * equal:.0f} %"
    )


def _stated(arguments: argparse.Namespace) -> Tuple[Apart, str]:
    try:
        first, second = (float(text) for text in arguments.rates.split(","))
    except ValueError:
        raise SpecError(f"--rates is {arguments.rates!r}; give two, as in 0.8,0.7") from None
    apart = Apart.of_rates(first, second, arguments.discordant)
    how = "as if they were independent" if arguments.discordant is None else "as stated"
    return apart, f"{how}, rates {first:g} and {second:g}"


def _pilot(arguments: argparse.Namespace) -> Tuple[Apart, str]:
    if arguments.discordant is not None:
        raise SpecError("--discordant is what the pilot says; leave one of them out")
    results = load_campaign(arguments.pilot).results
    names = _two_planners(arguments, results.planners)
    (pair,) = compare(results, [names]).pairs
    if pair.counts is None or not pair.worlds:
        raise ResultsError(
            f"{arguments.pilot}: {names[0]} and {names[1]} need one trial each in the same worlds "
            "for a pilot; state --rates and --discordant"
        )
    counts = pair.counts
    apart = Apart(
        (counts.first_only + counts.second_only) / pair.worlds,
        (counts.first_only - counts.second_only) / pair.worlds,
    )
    return apart, f"{names[0]} and {names[1]} in {pair.worlds} worlds of {arguments.pilot}"


def _two_planners(arguments: argparse.Namespace, known: Tuple[str, ...]) -> Tuple[str, str]:
    names: List[str] = [name.strip() for name in arguments.planners.split(",") if name.strip()]
    names = names or list(known[:2])
    for name in names:
        if name not in known:
            raise SpecError(f"{arguments.pilot}: {unknown_name('planner', name, known)}")
    if len(set(names)) != 2:
        raise SpecError(f"{arguments.pilot}: give two planners: --planners A,B")
    return names[0], names[1]
