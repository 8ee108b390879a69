"""Run a campaign in the world of each map, in two simulators, and compare the outcomes.

Each argument is a YAML file of map_server. `gz_testauto world-from-map` converts it to a world and
a campaign with random obstacles. The goal is moved along the planned path to --goal-m from the
start, and the timeout is set, so that trials are short. `gz_testauto run` then runs the campaign in
each simulator, with one worker. The same command continues an interrupted run.

Prints the outcomes for each map and simulator, the share of worlds with the same outcome, and the
median wall time of a trial. --summary only prints them. The exit status is 1 if a trial is invalid.

    python3 benchmarks/map_campaigns.py MAP.yaml ... --out DIR [--worlds 20] [--goal-m 8]
"""

import argparse
import collections
import re
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

from gz_testauto.analysis.intervals import success_rate
from gz_testauto.cli.main import main as gz_testauto
from gz_testauto.grid.map_server import read_map_file
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.grid.search import shortest_path
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.outcome import Outcome

RADIUS_M = 0.5
"""The default of --radius of `gz_testauto world-from-map`."""


def convert(path, folder, goal_m, timeout_s, worlds):
    """Write the world and the campaign of a map with a near goal, and return the campaign."""
    if gz_testauto(["world-from-map", str(path), "--out", str(folder)]) != 0:
        sys.exit(f"{path} cannot be converted")
    campaign = folder / "campaign.yaml"
    spec, found = load(campaign, CampaignSpec), read_map_file(path)
    walls = np.pad(found.occupied | found.unknown, 1, constant_values=True)
    x_m, y_m, _ = found.origin
    cell_m = found.resolution_m
    # The cells whose centers are closer to a wall than the robot's radius are not free, as in the
    # command that chose the start.
    grid = OccupancyGrid(walls, cell_m, x_m - cell_m, y_m - cell_m)
    wide = OccupancyGrid(
        grid.clearance_m() <= RADIUS_M - cell_m, cell_m, x_m - cell_m, y_m - cell_m
    )
    start, goal = spec.robot.start, spec.goal
    points = shortest_path(wide, (start.x_m, start.y_m), (goal.x_m, goal.y_m))
    driven_m = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    near = points[min(int(np.searchsorted(driven_m, goal_m)), len(points) - 1)]
    text = re.sub(
        r"goal: \{x_m: \S+, y_m: \S+,",
        f"goal: {{x_m: {near[0]:.3f}, y_m: {near[1]:.3f},",
        campaign.read_text(encoding="utf-8"),
    )
    text = re.sub(r"timeout_s: [\d.]+", f"timeout_s: {timeout_s:g}", text)
    campaign.write_text(text.replace("count: 20", f"count: {worlds}"), encoding="utf-8")
    return campaign


def records_in(folder):
    """Return the records of a campaign by world."""
    if not CampaignDirectory(folder).results.exists():
        return {}
    with ResultStore.read(CampaignDirectory(folder)) as store:
        return {record.world: record for record in store.results().trials}


def outcomes(records):
    """Return the outcomes of some trials with their numbers, the most frequent first."""
    count = collections.Counter(record.outcome.value for record in records)
    return ", ".join(f"{name} {number}" for name, number in count.most_common()) or "none"


def summarize(out, simulators):
    """Print the table, and return whether all trials are valid."""
    heads = [head for name in simulators for head in (name, "s")]
    print(f"| map | {' | '.join(heads)} | same outcome |\n|---|{'---|' * len(heads)}---|")
    same, pairs, valid = 0, 0, True
    notes = []
    for folder in sorted(one for one in out.iterdir() if (one / "campaign.yaml").exists()):
        results = [records_in(folder / f"results_{name}") for name in simulators]
        cells = [folder.name]
        for name, found in zip(simulators, results):
            wall_s = [record.wall_s for record in found.values()]
            cells += [
                outcomes(found.values()),
                f"{statistics.median(wall_s):.1f}" if found else "-",
            ]
            for record in found.values():
                valid = valid and record.outcome is not Outcome.INVALID
                if not record.completed:
                    notes.append(f"{folder.name} {name} {record.world}: {record.detail}")
        both = [
            [found[world].outcome for found in results]
            for world in results[0]
            if all(
                world in found and found[world].outcome is not Outcome.INVALID for found in results
            )
        ]
        alike = sum(len(set(one)) == 1 for one in both)
        same, pairs = same + alike, pairs + len(both)
        print(f"| {' | '.join(cells)} | {alike} of {len(both)} |")
    if pairs:
        rate = success_rate(same, pairs)
        print(
            f"\nsame outcome: {same} of {pairs} worlds, {100 * rate.value:.1f} % "
            f"[{100 * rate.low:.1f}, {100 * rate.high:.1f}]"
        )
    print("\n".join(["", "Trials without success:", *notes]))
    return valid


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("maps", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, required=True, help="directory of worlds and results")
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--goal-m", type=float, default=8.0, help="length of the planned path")
    parser.add_argument("--timeout-s", type=float, default=60.0, help="simulated time of a trial")
    parser.add_argument("--simulators", nargs="+", default=["embedded", "gazebo"])
    parser.add_argument("--only", type=int, help="run only the first worlds of each campaign")
    parser.add_argument("--summary", action="store_true", help="run no trials")
    arguments = parser.parse_args()
    for path in [] if arguments.summary else arguments.maps:
        folder = arguments.out / path.stem
        campaign = folder / "campaign.yaml"
        if not campaign.exists():
            convert(path, folder, arguments.goal_m, arguments.timeout_s, arguments.worlds)
        for simulator in arguments.simulators:
            results = folder / f"results_{simulator}"
            command = ["gz_testauto", "run", str(campaign), "--simulator", simulator]
            command += ["--workers", "1", "--out", str(results)]
            command += ["--worlds", str(arguments.only)] if arguments.only else []
            status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
            if status not in (0, 1):
                print(f"{path.stem} {simulator}: exit status {status}", flush=True)
    return 0 if summarize(arguments.out, arguments.simulators) else 1


if __name__ == "__main__":
    sys.exit(main())
