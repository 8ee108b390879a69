#!/usr/bin/env python3
"""Find why trials among DynaBARN's obstacles end differently in two simulators.

    python3 benchmarks/dynabarn.py --out DIR --worlds 7 --planners fgm dki_sst
    python3 benchmarks/dynabarn.py --out DIR --worlds 7 --planners fgm dki_sst --simulator gazebo
    python3 benchmarks/dynabarn_agreement.py differences DIR
    python3 benchmarks/dynabarn_agreement.py alone --out alone.jsonl
    python3 benchmarks/dynabarn_agreement.py summary DIR alone.jsonl
    python3 benchmarks/dynabarn_agreement.py straight

``differences`` prints for each trial the outcomes, the largest difference of the actors' positions
until the commands differ by 0.1 m/s or rad/s, and the time and the difference of the robot's poses
at this moment.

``alone`` repeats each trial in one simulator with a start that is shifted or turned, or with scan
noise. It measures how often small differences change the outcome, and continues after an
interruption. ``summary`` prints the share of trials with the same outcome, and how often a changed
start gave another outcome in the trials that end differently in two simulators.

``straight`` drives the robot straight, with the acceleration of the planners, in the embedded
simulator and in Gazebo with several numbers of solver iterations.
"""

import argparse
import collections
import itertools
import json
import tempfile
from pathlib import Path

import numpy as np
import yaml
from dynabarn import LEVELS, SHARE, campaign

from gz_testauto.analysis.intervals import success_rate
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.testbed import bed_of, read_body

SHIFTS_M = (1e-6, 1e-4, 1e-3, 1e-2)
"""Shifts (m) of the robot's start to the left and to the right."""
TURNS_RAD = (0.002, 0.012)
"""Turns (rad) of the robot's start to the left and to the right."""
OTHER_COMMAND = 0.1
"""Difference of two commands (m/s or rad/s) above which a planner follows another plan."""
RAMP_MPS = [min(1.5, 0.2 * (period + 1)) for period in range(25)]


# ---- recordings of both simulators


def recorded(place):
    """Return the records and recordings of each trial in both simulators, by level, world and
    planner."""
    found = collections.defaultdict(dict)
    for level, simulator in itertools.product(LEVELS, ("embedded", "gazebo")):
        folder = CampaignDirectory(place / f"{level}_{simulator}" / "results")
        with ResultStore.read(folder) as store:
            for record in store.results().trials:
                recording = store.trajectory(record)
                found[level, record.world, record.planner][simulator] = (record, recording)
    return {key: value for key, value in found.items() if len(value) == 2}


def differences(options):
    """Print the first important difference of each trial between the two simulators."""
    for (_, world, planner), both in recorded(options.place).items():
        (ours, one), (theirs, other) = both["embedded"], both["gazebo"]
        count = min(len(one.pose), len(other.pose))
        apart_m = np.hypot(*(one.pose[:count, :2] - other.pose[:count, :2]).T)
        turned = [wrap_angle(a - b) for a, b in zip(one.pose[:count, 2], other.pose[:count, 2])]
        commands = np.abs(one.command[:count] - other.command[:count]).max(axis=1)
        above = np.flatnonzero(commands > OTHER_COMMAND)
        until = int(above[0]) if len(above) else count - 1
        actors_m = max(
            np.abs(one.series[name][: until + 1, :2] - other.series[name][: until + 1, :2]).max()
            for name in one.series
            if name.startswith("actor_")
        )
        mark = "  " if ours.outcome == theirs.outcome else "≠ "
        print(
            f"{mark}{world:10} {planner:8} {ours.outcome.value:9} {theirs.outcome.value:9} "
            f"actors {1e6 * actors_m:7.1f} µm; "
            + (f"other command at {one.time_s[until]:4.1f} s" if len(above) else "same commands")
            + f", {1e3 * apart_m[until]:.1f} mm and {1e3 * abs(turned[until]):.1f} mrad apart; "
            f"at most {apart_m.max():.2f} m"
        )


# ---- one simulator alone


class Bench:
    """The campaign of one level and an executor for its trials."""

    def __init__(self, level, options, shift_m=0.0, turn_rad=0.0, noise_m=0.0):
        data = campaign(level, options.seed, options.worlds, options.simulator, options.planners)
        data["robot"]["start"]["y_m"] += shift_m
        data["robot"]["start"]["yaw_rad"] = turn_rad
        if noise_m:
            data["randomize"] = [{"name": "tiny", "term": "scan_noise", "set": noise_m}]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "campaign.yaml"
            file.write_text(yaml.safe_dump(data))
            spec = load(file, CampaignSpec)
            robot = read_body(spec)
            worlds = gather_worlds(spec, robot, Path(folder))
        prepared = PreparedCampaign(bed_of(spec, robot), worlds)
        self.trials = prepared.trials
        self.executor = LockstepExecutor(prepared.bed, lambda _: open_simulator(options.simulator))

    def __enter__(self):
        self.executor.open()
        return self

    def __exit__(self, *_):
        self.executor.close()


def alone(options):
    """Run each trial in one simulator, unchanged and with a small change."""
    done = {row["key"] for row in read_rows(options.out)}
    changes = [("", 0.0)]
    changes += [("shift_m", sign * value) for value in options.shifts_m for sign in (1, -1)]
    changes += [("turn_rad", sign * value) for value in options.turns_rad for sign in (1, -1)]
    changes += [("noise_m", value) for value in options.noises_m]
    for level, (change, value) in itertools.product(options.levels, changes):
        with Bench(level, options, **{change: value} if change else {}) as bench:
            for trial in bench.trials:
                place = f"{trial.world.name} {trial.planner.name}"
                name = f"{options.simulator} {level} {options.seed} {place}"
                row = {"key": f"{name} {change} {value}", "trial": name, "change": change}
                if row["key"] in done:
                    continue
                result = bench.executor.execute(trial, lambda: False)
                row.update(size=abs(value), outcome=result.outcome.value)
                with options.out.open("a") as stream:
                    stream.write(json.dumps(row) + "\n")


def read_rows(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def summary(options):
    """Print the share of trials with the same outcome in two simulators, and in one alone."""
    rows = read_rows(options.rows)
    outcomes, groups = collections.defaultdict(collections.Counter), collections.defaultdict(list)
    unchanged = {row["trial"]: row["outcome"] for row in rows if not row["change"]}
    for row in rows:
        if row["change"]:
            simulator, planner = row["trial"].split()[0], row["trial"].split()[-1]
            same = row["outcome"] == unchanged[row["trial"]]
            groups[simulator, planner, row["change"], row["size"]].append(same)
            outcomes[row["trial"]][row["change"], row["size"], row["outcome"]] += 1
    for (level, world, planner), both in recorded(options.place).items():
        ours, theirs = (both[name][0].outcome.value for name in ("embedded", "gazebo"))
        groups["embedded and gazebo", planner, level, 0.0].append(ours == theirs)
        if ours != theirs:
            print(f"{world} {planner}: {ours} embedded, {theirs} in Gazebo. Changed starts:")
            trial = f"embedded {level} {options.seed} {world} {planner}"
            for (change, size, outcome), count in sorted(outcomes[trial].items()):
                print(f"    {change} {size:g}: {outcome} {count}")
    for (simulator, planner, change, size), same in sorted(groups.items()):
        rate = success_rate(sum(same), len(same))
        percent = [100 * value for value in (rate.value, rate.low, rate.high)]
        print(
            f"{simulator:20} {planner:8} {change:8} {size:<8g} {sum(same):3} of {len(same):3}, "
            "{:.1f} % [{:.1f}, {:.1f}]".format(*percent)
        )


# ---- motion on a level floor


def straight(_options):
    """Drive straight in the embedded simulator, and in Gazebo with more solver iterations."""
    robot = read_robot(SHARE / "models" / "jackal_sized", "robot")
    text = (SHARE / "worlds" / "plain.world").read_text()
    cases = [("embedded", None), *(("gazebo", count) for count in (50, 200, 1000))]
    for name, iterations in cases:
        solver = f"<ode><solver><iters>{iterations}</iters></solver></ode></physics>"
        with tempfile.TemporaryDirectory() as folder, open_simulator(name) as simulator:
            world = Path(folder) / "plain.world"
            world.write_text(text.replace("</physics>", solver) if iterations else text)
            simulation = simulator.load(Scene(world, robot, Pose2D(-11.0, 0.0)))
            for speed_mps in RAMP_MPS:
                simulation.drive(Twist2D(speed_mps, 0.0))
                pose = simulation.step(0.1).models["robot"].pose.planar
        print(
            f"{name:8} {iterations or '':5} x {pose.x_m + 11:.3f} m, y {1e3 * pose.y_m:5.1f} mm, "
            f"yaw {1e3 * pose.yaw_rad:5.1f} mrad",
            flush=True,
        )


def main():
    """Run the chosen part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="part", required=True)
    for part in (differences, alone, summary, straight):
        sub = commands.add_parser(part.__name__, help=part.__doc__.splitlines()[0])
        sub.set_defaults(part=part)
        if part in (differences, summary):
            sub.add_argument("place", type=Path, metavar="DIR", help="--out of dynabarn.py")
        if part in (alone, summary):
            sub.add_argument("--seed", type=int, default=60, help="campaign seed")
        if part is summary:
            sub.add_argument("rows", type=Path, help="--out of alone")
        if part is alone:
            sub.add_argument("--out", type=Path, required=True)
            sub.add_argument("--simulator", default="embedded")
            sub.add_argument("--worlds", type=int, default=7)
            sub.add_argument("--levels", nargs="+", default=["medium", "hard"], choices=LEVELS)
            sub.add_argument("--planners", nargs="+", default=["fgm", "dki_sst"])
            sub.add_argument("--shifts_m", nargs="*", type=float, default=SHIFTS_M)
            sub.add_argument("--turns_rad", nargs="*", type=float, default=TURNS_RAD)
            sub.add_argument("--noises_m", nargs="*", type=float, default=[1e-6])
    options = parser.parse_args()
    options.part(options)


if __name__ == "__main__":
    main()
