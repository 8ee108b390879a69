"""Measure which share of outcomes is fragile, and whether two simulators agree on the others.

    gz_testauto run benchmarks/shrinking.yaml --out RESULTS
    python3 benchmarks/robustness.py RESULTS --planners fgm fgm_improved --repeats 4 --out LINES
    python3 benchmarks/robustness.py RESULTS --planners fgm fgm_improved --worlds 12 --repeats 0 \\
        --and-failures --simulator gazebo --out LINES

Each stored trial of the first worlds is repeated with the small changes of `perturb`, in
the simulator of RESULTS or in another one. There, the unchanged trial runs first. An outcome
is fragile if at least one of its repeats has another outcome. Compares: the share of repeats with
another outcome, the share of fragile outcomes of successes and of failures, and the share of trials
with the same outcome in both simulators, for robust and fragile outcomes separately. Intervals are
95 % bootstrap intervals over worlds, which are the independent units.

The file LINES has one line per simulation; the same command continues, also with more repeats. Exit
status 1 if --minutes are over before the last simulation.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.campaign.resume import open_for_replay
from gz_testauto.campaign.simulator import with_simulator
from gz_testauto.campaign.trial_runner import TrialRunner
from gz_testauto.cli.trust import require_trust
from gz_testauto.extras.search.perturbation import Perturbation
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

UNCHANGED = -1
"""Number of the repeat without changes."""

RESAMPLES = 10_000


def measure(arguments, lines):
    """Append the missing lines, and return the simulator and whether all lines exist."""
    directory = CampaignDirectory(arguments.results)
    with ResultStore.read(directory) as store:
        campaign = open_for_replay(directory, store, require_trust)
        stored = {one.trial: one for one in store.results().trials}
    own = campaign.spec.simulator
    simulator = arguments.simulator or own
    spec = with_simulator(campaign.spec, simulator)
    known = {(one["world"], one["planner"], one["simulator"], one["number"]) for one in lines}
    names = [world.name for world in campaign.worlds[: arguments.worlds]]
    trials = [t for t in campaign.trials if t.planner.name in arguments.planners]
    own_trials = by_trial(lines, own)
    trials = [
        t
        for t in trials
        if t.world.name in names or (arguments.and_failures and _selected(own_trials, t))
    ]
    until = time.monotonic() + arguments.minutes * 60
    perturbation = Perturbation(spec)
    with TrialRunner(spec) as runner, contextlib.closing(perturbation), open(
        arguments.out, "a"
    ) as file:
        for number in range(UNCHANGED, arguments.repeats):
            for trial in trials:
                key = (trial.world.name, trial.planner.name, simulator, number)
                if key in known:
                    continue
                if time.monotonic() > until:
                    return own, False
                if number != UNCHANGED:
                    result = perturbation.run(trial, number)
                    outcome = None if result is None else result.outcome
                elif simulator == own:
                    outcome = stored[trial.index].outcome
                else:
                    outcome = _unchanged(runner, trial)
                word = None if outcome is None or not outcome.valid else outcome.value
                line = dict(zip(("world", "planner", "simulator", "number"), key), outcome=word)
                lines.append(line)
                file.write(json.dumps(line) + "\n")
                file.flush()
    return own, True


def _selected(own_trials, trial):
    """Return whether a trial failed, or has a fragile outcome."""
    outcome, repeats = own_trials.get((trial.world.name, trial.planner.name), ("reached", []))
    return outcome != "reached" or any(one != outcome for one in repeats)


def _unchanged(runner, trial):
    try:
        return runner.execute(trial).outcome
    except GzTestautoError as error:
        print(f"{trial.label}: no valid trial: {error}")
        return None


def by_trial(lines, simulator):
    """Return the outcome of each unchanged trial, and the outcomes of its repeats."""
    found = {}
    for one in lines:
        if one["simulator"] == simulator and one["outcome"] is not None:
            found.setdefault((one["world"], one["planner"]), {})[one["number"]] = one["outcome"]
    return {key: (of.pop(UNCHANGED), list(of.values())) for key, of in found.items() if -1 in of}


def share(values):
    """Return the text of a share. ``values`` are pairs of a world and a list of 0 and 1."""
    worlds = sorted({world for world, _ in values})
    sums = np.zeros((len(worlds), 2))
    for world, of in values:
        sums[worlds.index(world)] += sum(of), len(of)
    if not sums[:, 1].sum():
        return "no trial"
    drawn = np.random.default_rng(1).integers(len(worlds), size=(RESAMPLES, len(worlds)))
    resampled = sums[drawn].sum(axis=1)
    rates = resampled[resampled[:, 1] > 0]
    low, high = 100 * np.quantile(rates[:, 0] / rates[:, 1], (0.025, 0.975))
    count, total = sums.sum(axis=0).astype(int)
    text = f"{count} of {total}, {100 * count / total:.1f} % [{low:.1f}, {high:.1f}]"
    return f"{text} in {len(worlds)} worlds"


def summarize(lines, own):
    """Print the figures of each simulator, and of their agreement."""
    simulators = sorted({one["simulator"] for one in lines})
    found = {name: by_trial(lines, name) for name in simulators}
    for name, trials in found.items():
        repeated = {key: one for key, one in trials.items() if one[1]}
        planners = sorted({planner for _, planner in repeated})
        print(
            f"{name}: {len(repeated)} outcomes, {sum(len(r) for _, r in repeated.values())} repeats"
        )
        for title, chosen in (
            ("all", lambda key, one: True),
            ("successes", lambda key, one: one[0] == "reached"),
            ("failures", lambda key, one: one[0] != "reached"),
            *((p, lambda key, one, p=p: key[1] == p) for p in planners),
        ):
            of = [(key[0], one) for key, one in repeated.items() if chosen(key, one)]
            changed = [(world, [r != o for r in repeats]) for world, (o, repeats) in of]
            print(f"  {title}: repeats with another outcome {share(changed)}")
            fragile = [(world, [any(values)]) for world, values in changed]
            print(f"  {title}: fragile outcomes {share(fragile)}")
    for other in simulators:
        if other == own:
            continue
        for title, wanted in (("robust", False), ("fragile", True)):
            of = {"successes": [], "failures": []}
            for key, (outcome, _) in found[other].items():
                first, repeats = found[own].get(key, ("", []))
                if repeats and any(one != first for one in repeats) is wanted:
                    kind = "successes" if first == "reached" else "failures"
                    of[kind].append((key[0], [outcome == first]))
            for kind, same in of.items():
                print(f"agreement of {own} and {other}, {title} {kind}: {share(same)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--planners", nargs="+", required=True)
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--simulator", default="")
    parser.add_argument(
        "--and-failures",
        action="store_true",
        help="also the trials of all worlds that failed or are fragile in the own simulator",
    )
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after this wall time")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    lines = []
    if os.path.exists(arguments.out):
        lines = [json.loads(one) for one in arguments.out.read_text().splitlines()]
    own, is_complete = measure(arguments, lines)
    summarize(lines, own)
    return int(not is_complete)


if __name__ == "__main__":
    sys.exit(main())
