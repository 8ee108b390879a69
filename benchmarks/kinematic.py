"""Measure the cost of a trial in the simulator `kinematic`, as a multiple of `embedded`.

The planners of the campaign, or the specified ones, drive through the worlds of the example
campaign in both simulators alternately. Each trial runs a second time with its recorded commands,
which measures the simulator alone: its steps with their scans and snapshots. Since trials have
different durations, costs are CPU time per simulated second. Prints for each simulator, for the
simulator alone and for the whole trial (from loading its world to its row in the store), the median
over the repetitions, and the ratio of kinematic to embedded.

    python3 benchmarks/kinematic.py [--worlds 6] [--turns 3] [--planners fgm,straight] [--json]
"""

import argparse
import functools
import statistics
import sys
import tempfile
from pathlib import Path

from embedded import Trials, TwiceDriving
from example import example_campaign, print_figures

from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.spec.campaign import BuiltinPlannerSpec

SIMULATORS = ("embedded", "kinematic")


def measure(simulator, worlds, planners, out):
    """Return CPU time in ms per simulated second: of the simulator alone, and of whole trials."""
    TwiceDriving.steps_s = TwiceDriving.again_s = 0.0
    spec = example_campaign(simulator, worlds, seed=7)
    if planners:
        chosen = tuple(BuiltinPlannerSpec(name=name, plugin=name) for name in planners)
        spec = spec.model_copy(update={"planners": chosen})
    listener = Trials()
    make_executor = functools.partial(TwiceDriving, open_simulator=start_simulator)
    results = run_campaign(spec, out, make_executor, listener=listener)
    simulated_s = sum(record.metrics["time_s"] for record in results.trials)
    whole_s = listener.ended_s - listener.began_s - TwiceDriving.again_s
    return 1000 * TwiceDriving.steps_s / simulated_s, 1000 * whole_s / simulated_s


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=6, help="worlds of each turn (default 6)")
    parser.add_argument("--turns", type=int, default=3, help="turns of both (default 3)")
    parser.add_argument("--planners", default="", help="names; else those of the campaign")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    planners = arguments.planners.split(",") if arguments.planners else []
    seen = {simulator: [] for simulator in SIMULATORS}
    with tempfile.TemporaryDirectory() as directory:
        for turn in range(arguments.turns + 1):  # the first one loads and compiles
            for simulator in SIMULATORS:
                out = Path(directory) / f"{simulator}_{turn}"
                worlds = arguments.worlds if turn else 1
                costs = measure(simulator, worlds, planners, out)
                if turn:
                    seen[simulator].append(costs)
            print(f"turn {turn} done", file=sys.stderr)
    figures = {}
    for part, name in enumerate(("simulator", "whole_trial")):
        costs = {one: [turn[part] for turn in seen[one]] for one in SIMULATORS}
        for one in SIMULATORS:
            figures[f"{name}_ms_per_simulated_s_{one}"] = round(statistics.median(costs[one]), 2)
        ratios = [there / here for here, there in zip(costs["embedded"], costs["kinematic"])]
        figures[f"{name}_ratio"] = round(statistics.median(ratios), 2)
        figures[f"{name}_ratios"] = [round(ratio, 2) for ratio in ratios]
    print_figures(figures, arguments.json)


if __name__ == "__main__":
    main()
