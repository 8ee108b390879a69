#!/usr/bin/env python3
"""Measure people in groups, the cost of twenty people, and planners among people with reactions.

    ./bootstrap exec python3 benchmarks/people.py formations
    ./bootstrap exec python3 benchmarks/people.py cost [--simulator gazebo] [--worlds 4]
    ./bootstrap exec python3 benchmarks/people.py simulators
    ./bootstrap exec python3 benchmarks/people.py reactions OUT [--worlds 50] [--planners dwa_fox]

``formations`` prints the distance, angle and speed in groups of one to four people that walk in an
open field with a desired speed of 1.3 m/s, next to the speeds that Moussaïd et al. 2010 fitted.
``cost`` compares the wall time of a simulated second with twenty people and without people, in
the campaign of ``config/people``; its trials alternate. ``simulators`` prints for how long 16 and
20 people without a robot have the same bits in the embedded simulator and in Gazebo, and the
largest distance between the same person in both. ``reactions`` runs the campaign with eight
people of each reaction, in the same worlds, and prints the success with its 95 % interval (Clopper
and Pearson). An interrupted run continues with its first missing trial.
"""

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import yaml

from gz_testauto.actors.creation import ActorPlacementArea, ObstacleOutlines, create_actors
from gz_testauto.actors.simulation import ActorSimulation
from gz_testauto.analysis.intervals import success_rate
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.extras.people.pedestrian import PedestrianSpec
from gz_testauto.extras.people.reactions import KINDS
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.campaign import BuiltinCampaignSpec
from gz_testauto.spec.loader import parse
from gz_testauto.testing.simulator_suite import WORLD
from gz_testauto.trial.outcome import Outcome

ROOT = Path(__file__).resolve().parents[1]
CAMPAIGN = ROOT / "config" / "people" / "people_campaign.yaml"
PERIOD_S = 0.1
SEEDS = 4
DURATION_S = 60.0
SPEED_MPS = 1.3
MOST_WORLDS = 50


def campaign(**changes):
    """Return the campaign with absolute paths and the given changes."""
    data = yaml.safe_load(CAMPAIGN.read_text())
    data["worlds"]["base"] = str(ROOT / "worlds" / "arena.world")
    data["worlds"]["count"] = changes.pop("count")
    return {**data, **changes}


def run(data, out, *options):
    """Run a campaign, and return its valid trials."""
    out.parent.mkdir(parents=True, exist_ok=True)
    file = out.parent / f"{out.name}.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    command = ["gz_testauto", "run", str(file), "--out", str(out), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with ResultStore.read(CampaignDirectory(out)) as store:
        return [record for record in store.results().trials if record.outcome.valid]


# ---- formations


def walk(size, seed):
    """Return the positions (m) of the members of one group, shape (n, size, 2)."""
    field = {"rectangle": {"x_m": (-30.0, 30.0), "y_m": (-30.0, 30.0)}}
    spec = PedestrianSpec.model_validate(
        {
            "name": "p",
            "behavior": "pedestrian",
            "count": size,
            "region": [field],
            "speed_mps": {"value": SPEED_MPS},
            "group": {"size": size},
        }
    )
    start = Pose2D(-40.0, -40.0)
    area = ActorPlacementArea(ObstacleOutlines({}), start, 0.6)
    actors = create_actors([spec], seed, 0, 0, area)
    robot = read_robot(share_directory() / "models" / "wheelchair", "robot")
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "field.world"
        world.write_text(WORLD.replace("{models}", ""))
        models = tuple(model for actor in actors for model in actor.models)
        scene = Scene(world, robot, start, models=models)
        simulation = ActorSimulation(EmbeddedSimulator().load(scene), actors)
        rows = []
        for _ in range(round(DURATION_S / PERIOD_S)):
            states = simulation.step(PERIOD_S).models
            rows.append([states[actor.name].pose.position[:2] for actor in actors])
    return np.array(rows)


def formations():
    """Print the distance and angle of neighbors, and the speed, for each size of a group."""
    print("| people | distance (m) | angle (deg) | speed (m/s) | low | moderate density |")
    print("|---|---|---|---|---|---|")
    for size in range(1, 5):
        distances_m, angles_deg, speeds_mps = [], [], []
        for seed in range(SEEDS):
            places = walk(size, seed)[50:]
            center = places.mean(axis=1)
            velocity = np.diff(center, axis=0) / PERIOD_S
            speed = np.hypot(*velocity.T)
            walking = speed > 0.8  # not while the group turns to its next target
            speeds_mps += speed[walking].tolist()
            ahead = velocity / np.maximum(speed, 1e-9)[:, None]
            left = np.column_stack([-ahead[:, 1], ahead[:, 0]])
            offsets = places[1:] - center[1:, None]
            across, along = ((offsets * axis[:, None]).sum(axis=2) for axis in (left, ahead))
            for row in np.flatnonzero(walking):
                order = np.argsort(-across[row])
                for one, other in zip(order, order[1:]):
                    width = across[row, one] - across[row, other]
                    length = along[row, other] - along[row, one]
                    distances_m.append(math.hypot(width, length))
                    angles_deg.append(math.degrees(math.atan2(width, length)))
        cells = ["", ""]
        if size > 1:
            low, high = np.percentile(distances_m, [5, 95])
            cells = [
                f"{np.mean(distances_m):.2f} [{low:.2f}, {high:.2f}]",
                f"{np.mean(angles_deg):.0f} ± {np.std(angles_deg):.0f}",
            ]
        fits = (1.26 - 0.04 * size, 1.24 - 0.08 * size)
        cells += [f"{np.mean(speeds_mps):.2f}", *(f"{fit:.2f}" for fit in fits)]
        print(f"| {size} | {' | '.join(cells)} |", flush=True)


# ---- cost


def cost(options):
    """Print the wall time of a simulated second with twenty people and without people."""
    walls = {"no people": [], "20 people": []}
    with tempfile.TemporaryDirectory(prefix="people-") as folder:
        for world in range(options.worlds):
            for name, found in walls.items():
                data = campaign(count=options.worlds, planners=["fgm_improved"])
                if name == "no people":
                    data["actors"] = []
                out = Path(folder) / f"{name.replace(' ', '_')}_{world}"
                chosen = ("--only", str(world), "--workers", "1")
                trials = run(data, out, "--simulator", options.simulator, *chosen)
                found += [1.0 / one.metrics["real_time_factor"] for one in trials]
    none, many = (statistics.median(found) for found in walls.values())
    print(
        f"{options.simulator}: wall time of a simulated second, median of {options.worlds} trials"
    )
    print(f"no people {none:.4f} s, 20 people {many:.4f} s, ratio {many / none:.2f}")


# ---- simulators


def people_alone(simulator_name, entries, duration_s):
    """Return the positions (m) and yaw (rad) of the people of the campaign's first ``entries``
    actors after each period, without a robot, shape (n, people, 3)."""
    text = yaml.safe_dump(campaign(count=1), sort_keys=False)
    spec = parse(text, BuiltinCampaignSpec, CAMPAIGN)
    robot = read_robot(share_directory() / "models" / "jackal_sized", "robot")
    start = Pose2D(0.0, 0.0)
    area = ActorPlacementArea(ObstacleOutlines({}), start, 0.4)
    actors = create_actors(spec.actors[:entries], spec.seed, 0, 0, area)
    models = tuple(model for actor in actors for model in actor.models)
    scene = Scene(ROOT / "worlds" / "arena.world", robot, start, models=models)
    with open_simulator(simulator_name) as simulator:
        simulation = ActorSimulation(simulator.load(scene), actors)
        simulation.delete([robot.name])
        rows = []
        for _ in range(round(duration_s / PERIOD_S)):
            states = simulation.step(PERIOD_S).models
            rows.append([states[actor.name].pose.planar for actor in actors])
    return np.array(rows)


def simulators(duration_s=30.0):
    """Compare the people in two simulators, without a robot."""
    for entries in (2, 3):
        first, second = (people_alone(name, entries, duration_s) for name in ("embedded", "gazebo"))
        apart_m = np.hypot(*np.moveaxis((first - second)[:, :, :2], 2, 0)).max(axis=1)
        equal_s = PERIOD_S * np.argmax([*(first != second).any(axis=(1, 2)), True])
        print(
            f"{first.shape[1]} people: equal bits for {equal_s:g} s of {duration_s:g} s, largest "
            f"distance {apart_m.max():.3g} m",
            flush=True,
        )


# ---- reactions


def reactions(options):
    """Run the campaign with people of each reaction, and print the outcomes."""
    print("| planner | reaction | reached | % [95 %] | collided | other |")
    print("|---|---|---|---|---|---|")
    for planner in options.planners.split(","):
        for kind in ("none", *KINDS):
            people = {
                "name": "person",
                "behavior": "pedestrian",
                "count": 8,
                "region": {"rectangle": {"x_m": [-8, 8], "y_m": [-5, 5]}},
                "speed_mps": [0.9, 1.3],
                "reaction": kind,
            }
            actors = [] if kind == "none" else [people]
            data = campaign(count=MOST_WORLDS, actors=actors, planners=[planner])
            chosen = ("--worlds", str(options.worlds), "--workers", "1")
            trials = run(data, options.out / f"{planner}_{kind}", *chosen)
            reached = sum(one.outcome.success for one in trials)
            collided = sum(one.outcome is Outcome.COLLIDED for one in trials)
            _, low, high, _ = success_rate(reached, len(trials))
            share = f"{100 * reached / len(trials):.0f} [{100 * low:.0f}, {100 * high:.0f}]"
            others = len(trials) - reached - collided
            print(
                f"| `{planner}` | `{kind}` | {reached}/{len(trials)} | {share} | {collided} | "
                f"{others} |",
                flush=True,
            )


def main():
    """Run one measurement."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("measurement", choices=("formations", "cost", "simulators", "reactions"))
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--simulator", default="embedded")
    parser.add_argument("--worlds", type=int, default=0)
    parser.add_argument("--planners", default="fgm_improved,dwa_fox,dwa")
    options = parser.parse_args()
    if options.measurement == "formations":
        formations()
    elif options.measurement == "simulators":
        simulators()
    elif options.measurement == "cost":
        options.worlds = options.worlds or 4
        cost(options)
    else:
        if options.out is None:
            parser.error("'reactions' needs the directory OUT")
        options.worlds = options.worlds or MOST_WORLDS
        reactions(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
