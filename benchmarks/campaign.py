"""Measure the wall time of a whole campaign in Gazebo, compared with a freely running gzserver.

The time includes everything that `gz_testauto run` does between its first line and its table. For
comparison, the same gzserver runs the same worlds, robot and subscribed sensors at an unlimited
rate (see gazebo_lockstep.py). Both are measured alternately. Prints wall time per simulated second
of both and their ratio, for each number of workers.

    python3 benchmarks/campaign.py [--turns 3] [--worlds 4] [--workers 1,2]
"""

import argparse
import functools
import statistics
import sys
import tempfile
import time
from pathlib import Path

from example import ROOT, example_campaign, numbers, print_figures
from gazebo_lockstep import run_freely

from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.sdf.robot import read_robot
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.workers.processes import local_workers

FREE_S = 20.0
FREE_WORLDS = 4
"""Number of worlds of the campaign in which a gzserver also runs at an unlimited rate."""


def run_once(spec, workers, out):
    """Return the wall time of a campaign and the simulated time of its trials, in seconds."""
    began_s = time.perf_counter()
    results = run_campaign(
        spec,
        out,
        functools.partial(LockstepExecutor, open_simulator=start_simulator),
        make_workers=local_workers(workers),
    )
    wall_s = time.perf_counter() - began_s
    return wall_s, sum(record.metrics["time_s"] for record in results.trials)


def measure(arguments, directory):
    robot = read_robot(ROOT / "models" / "wheelchair")
    free = []
    locked = {workers: [] for workers in arguments.workers}
    for turn in range(arguments.turns):
        spec = example_campaign("gazebo", arguments.worlds, turn)
        for workers in arguments.workers:
            out = Path(directory) / f"{turn}-{workers}"
            wall_s, simulated_s = run_once(spec, workers, out)
            worlds = sorted((out / "worlds").glob("*.world"))
            sample = worlds[:: max(1, len(worlds) // FREE_WORLDS)][:FREE_WORLDS]
            free += [run_freely(world, robot, FREE_S) for world in sample]
            locked[workers].append(wall_s / simulated_s)
            print(
                f"turn {turn}, workers {workers}: {wall_s:.1f} s for {simulated_s:.0f} simulated s",
                f"({locked[workers][-1]:.4f}), free",
                *(f"{value:.4f}" for value in free[-len(sample) :]),
                file=sys.stderr,
            )
    figures = {"turns": arguments.turns, "trials_per_turn": 2 * arguments.worlds}
    figures["free_wall_s_per_simulated_s"] = round(statistics.median(free), 4)
    for workers, values in locked.items():
        median = statistics.median(values)
        figures[f"campaign_wall_s_per_simulated_s_{workers}"] = round(median, 4)
        figures[f"ratio_{workers}"] = round(median / statistics.median(free), 3)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3, help="turns of each kind (default 3)")
    parser.add_argument("--worlds", type=int, default=4, help="worlds per turn (default 4)")
    parser.add_argument("--workers", type=numbers, default=[1, 2], help="numbers (default 1,2)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        print_figures(measure(arguments, directory))


if __name__ == "__main__":
    main()
