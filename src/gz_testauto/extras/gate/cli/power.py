"""Report which differences a number of paired worlds can detect.

The rates are those of a pilot campaign or of --rates.

Only discordant worlds, in which one of two planners succeeds more often, show a difference. Their
share is estimated from a pilot, with or without repetitions, or stated with --discordant. Without
either, the planners are assumed to be independent; this requires too many worlds if planners fail
in the same ones.

examples:
  gz_testauto power --worlds 200 --rates 0.8,0.7
  gz_testauto power --pass 0.9 --rates 0.8,0.8 --discordant 0.1
  gz_testauto power --worlds 500 --pilot results/pilot --planners fgm_improved,fgm --margin 0.05
"""

import argparse
from pathlib import Path
from typing import Iterator, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis.comparison import compare, success_differences
from gz_testauto.analysis.intervals import success_rate
from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.registry import unknown_name
from gz_testauto.cli.options import add_options, read_options
from gz_testauto.extras.gate.options import MARGIN
from gz_testauto.extras.gate.power import (
    CHANCE,
    DiscordantRate,
    Pilot,
    Source,
    fixed_gate_failures,
    fixed_gate_power,
    fixed_gate_worlds,
    gate_failures,
    gate_power,
    gate_worlds,
    share_upper_bound,
    smallest_difference,
    smallest_failed_loss,
    stopping_worlds,
    worlds_for,
)
from gz_testauto.report.plain import count_text, interval_text
from gz_testauto.results.store import load_campaign
from gz_testauto.spec.model import SpecPath
from gz_testauto.spec.options import Names, Options, option

GROUP = ("continuous integration", 2)
MOST_WORLDS = 2000  # the simulation of the gate after each world takes long
OFTEN = f"with a probability of {100 * CHANCE:.0f} %"


class PowerOptions(Options):
    """The options of ``power``."""

    worlds: Optional[int] = option(
        None, "N", "number of worlds of the campaign", ge=2, le=MOST_WORLDS
    )
    pass_: Optional[float] = option(
        None,
        "SHARE",
        "print the numbers of worlds after which the gate passes an equally good planner with this "
        "probability",
        gt=0,
        lt=1,
    )
    pilot: Optional[SpecPath] = option(None, "DIR", "results directory of a pilot campaign")
    planners: Optional[Names] = option(
        None, "A,B", "two planners of the pilot campaign (default: the first two)"
    )
    rates: Optional[Names] = option(None, "A,B", "two success rates")
    discordant: Optional[float] = option(
        None,
        "SHARE",
        "share of worlds in which exactly one of the two planners succeeds (default: the share for "
        "independent planners)",
    )
    margin: float = option(
        MARGIN,
        "MARGIN",
        "largest allowed decrease of the success rate, as --not-worse-than of the gate",
        gt=0,
        lt=1,
    )
    alpha: float = option(
        0.05, "SHARE", "allowed probability of a wrong verdict, as of the gate", gt=0, lt=0.5
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    size = parser.add_mutually_exclusive_group(required=True)
    add_options(size, PowerOptions, "worlds", "pass_")
    add_options(parser, PowerOptions, "pilot", "planners", "rates", "discordant", "margin", "alpha")


def run(arguments: argparse.Namespace) -> int:
    options = read_options(arguments, PowerOptions)
    if (options.rates is None) == (options.pilot is None):
        raise SpecError("specify either --pilot DIR or --rates A,B")
    if options.pilot is not None:
        source, described = _source_of_pilot(options.pilot, options)
    else:
        source, described = _source_of_rates(options)
    if options.worlds is not None:
        lines = _power_lines(options.worlds, source, described, options.margin, options.alpha)
    else:
        chance = options.pass_ or 0.0
        lines = _required_worlds_lines(chance, source, described, options.margin, options.alpha)
    for line in lines:
        print(escape_text(line))
    return 0


def _required_worlds_lines(
    chance: float, source: Source, described: str, margin: float, alpha: float
) -> Iterator[str]:
    equal = source.with_difference(0.0)
    yield f"worlds {described}"
    yield f"an equally good planner passes with a probability of {_percent(chance)} after"
    for find_worlds, flag in ((gate_worlds, ""), (fixed_gate_worlds, " --fixed-worlds")):
        count = find_worlds(chance, MOST_WORLDS, equal, margin, alpha)
        if count is None:
            yield f"more than {MOST_WORLDS} worlds: gate --not-worse-than {margin:g}{flag}"
        else:
            stated = f"{flag} {count}" if flag else ", evaluated after any number of worlds"
            yield f"{count} worlds: gate --not-worse-than {margin:g}{stated}"


def _power_lines(
    worlds: int, source: Source, described: str, margin: float, alpha: float
) -> Iterator[str]:
    yield f"{worlds} worlds, {described}"
    yield from _detection_lines(worlds, source, alpha)
    if source.difference:
        average, decided = stopping_worlds(worlds, source, alpha)
        yield (
            f"stop: {{when: decided, max_worlds: {worlds}}} decides with a probability of "
            f"{_percent(decided)}, after {average:.0f} worlds on average"
        )
    equal = source.with_difference(0.0)
    for find_power, find_failures, flag in (
        (gate_power, gate_failures, ""),
        (fixed_gate_power, fixed_gate_failures, f" --fixed-worlds {worlds}"),
    ):
        gate = f"gate --not-worse-than {margin:g}{flag}"
        yield (
            f"{gate} passes an equally good planner with a probability of "
            f"{_percent(find_power(worlds, equal, margin, alpha))}"
        )
        loss = smallest_failed_loss(find_failures, worlds, equal, margin, alpha)
        if loss is None:
            yield f"{gate} fails no planner {OFTEN}: there are too few worlds"
        else:
            yield f"{gate} fails a planner that is about {loss} points worse {OFTEN}"


def _detection_lines(worlds: int, source: Source, alpha: float) -> Iterator[str]:
    smallest = smallest_difference(worlds, source, alpha)
    simulated = isinstance(source, Pilot)
    if smallest is None:
        needed = "worlds" if simulated else "discordant worlds"
        yield f"no difference is detected {OFTEN}: there are too few {needed}"
    else:
        points = f"{'about ' if simulated else ''}{100 * smallest:.1f} points"
        yield (
            f"a difference of {points} or more is detected {OFTEN} ({source.test}, alpha {alpha:g})"
        )
    if source.difference:
        yield _probability_text(
            source.difference, source.power(worlds, alpha), worlds_for(source, alpha)
        )


def _probability_text(difference: float, chance: float, needed: Optional[int]) -> str:
    enough = f"about {needed} worlds" if needed else "more than 100000 worlds"
    points = f"{100 * abs(difference):.1f} points"
    return (
        f"a difference of {points} is detected with a probability of {_percent(chance)}; "
        f"{100 * CHANCE:.0f} % requires {enough}"
    )


def _percent(chance: float) -> str:
    if chance > 0.99:  # never 100 %, since an estimate is not certain
        return "more than 99 %"
    return "less than 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"


def _source_of_rates(options: PowerOptions) -> Tuple[Source, str]:
    rates = options.rates or ()
    try:
        first, second = map(float, rates)
    except ValueError:
        raise SpecError(
            f"--rates is {','.join(rates)!r}; specify two rates, such as 0.8,0.7"
        ) from None
    source = DiscordantRate.from_rates(first, second, options.discordant)
    how = "as for independent planners" if options.discordant is None else "as stated"
    share = f"of which {100 * source.discordant:.1f} % are discordant"
    return source, f"{share} ({how}, rates {first:g} and {second:g})"


def _source_of_pilot(directory: Path, options: PowerOptions) -> Tuple[Source, str]:
    """Return the differences between two planners in a pilot campaign, and their description."""
    if options.discordant is not None:
        raise SpecError(
            "--pilot already estimates the share that --discordant specifies; omit one of the two "
            "options"
        )
    results = load_campaign(directory).results.without_copies
    names = _require_two_planners(
        directory, options.planners or results.planners[:2], results.planners
    )
    (pair,) = compare(results, [names]).pairs
    if not pair.worlds:
        raise ResultsError(
            f"{directory}: {names[0]} and {names[1]} have no world in common; name two "
            "planners that were run in the same worlds, or state --rates and --discordant"
        )
    compared = f"{names[0]} and {names[1]} in {count_text(pair.worlds, 'world')} of "
    compared += str(directory)
    if results.copies:
        compared += f", not counting {len(results.copies)} copies of worlds"
    discordant = len(pair.first_won) + len(pair.second_won)
    if not discordant:
        upper_share = share_upper_bound(pair.worlds)
        return DiscordantRate(upper_share, 0.0), (
            f"of which at most {100 * upper_share:.1f} % are discordant (upper 95 % bound, because "
            f"no world of the pilot is; {compared})"
        )
    share = success_rate(discordant, pair.worlds)
    described = (
        f"of which {100 * share.value:.1f} % {interval_text(share, 1, 100)} are discordant "
        f"({compared})"
    )
    if pair.counts is not None:
        first, second = (len(won) / pair.worlds for won in (pair.first_won, pair.second_won))
        return DiscordantRate(first + second, first - second), described
    differences = success_differences(results, *names)
    if np.ptp(differences) == 0.0:
        raise ResultsError(
            f"{directory}: {names[0]} and {names[1]} differ by the same amount in each of "
            f"{pair.worlds} worlds, so their variance is unknown; run more worlds"
        )
    return Pilot(differences), described


def _require_two_planners(
    directory: Path, names: Sequence[str], known: Sequence[str]
) -> Tuple[str, str]:
    for name in names:
        if name not in known:
            raise SpecError(f"{directory}: {unknown_name('planner', name, known)}")
    if len(set(names)) != 2:
        raise SpecError(f"{directory}: specify two planners with --planners A,B")
    return names[0], names[1]
