#!/usr/bin/env python3
"""Find why trials among DynaBARN's obstacles end differently in two simulators.

    python3 benchmarks/dynabarn_agreement.py pairs --out pairs.jsonl
    python3 benchmarks/dynabarn_agreement.py alone --out alone.jsonl [--simulator gazebo]
    python3 benchmarks/dynabarn_agreement.py summary pairs.jsonl alone.jsonl

``pairs`` runs each trial of ``benchmarks/dynabarn.py`` in the embedded simulator and in Gazebo, and
stores the time at which the actors, the scan, the robot's pose and the command first differ by more
than a limit. It also drives the commands of the embedded trial in Gazebo: what differs then is a
difference of the simulators alone.

``alone`` repeats each trial in one simulator with a start that is shifted or turned, or with scan
noise. It measures how often small differences change the outcome. ``summary`` counts, for each
trial with different outcomes, how often a changed start gave the outcome of the other simulator.
Both parts continue after an interruption.
"""

import argparse
import collections
import itertools
import json
import tempfile
from pathlib import Path

import numpy as np
import yaml
from dynabarn import LEVELS, campaign

from gz_testauto.analysis.intervals import success_rate
from gz_testauto.base.observation import Twist2D
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.simulators import open_simulator
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.lockstep import LockstepExecutor
from gz_testauto.trial.setup import prepare, read_body

LIMITS = {"actors_m": 1e-6, "scan_m": 1e-3, "pose_m": 1e-3, "command": 1e-3}
"""Differences that count: of the positions of actors (m), the median ray (m), the position of the
robot (m), and the command (m/s or rad/s)."""
SHIFTS_M = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Shifts (m) of the robot's start to the left and to the right."""


class Bench:
    """The campaign of one level and an executor for its trials."""

    def __init__(self, level, options, simulator, shift_m=0.0, turn_rad=0.0, noise_m=0.0):
        data = campaign(level, options.seed, options.worlds, simulator, options.planners)
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
        self.prepared = prepare(spec, robot, worlds)
        self.executor = LockstepExecutor(self.prepared, lambda _: open_simulator(simulator))

    def __enter__(self):
        self.executor.open()
        return self

    def __exit__(self, *_):
        self.executor.close()


def run(bench, trial, commands=None):
    """Run a trial, and return its outcome and the arrays of each control period. With ``commands``,
    the robot receives these commands, and the planner is not called."""
    loaded = bench.executor.load_trial(trial)
    (robot,), simulation = loaded.robots, loaded.simulation
    names = [model.name for model in loaded.actors.models]
    rows, given = collections.defaultdict(list), []
    period_s = bench.prepared.spec.control_period_s
    send = simulation.drive

    def drive(command, name=None):
        given.append((command.linear_mps, command.angular_radps))
        send(command, name)

    simulation.drive = drive

    def record(snapshot):
        robot.observe(snapshot)
        pose = snapshot.models["robot"].pose.planar
        rows["pose"].append(tuple(pose))
        rows["actors"].append([snapshot.models[name].pose.position[:2] for name in names])
        rows["scan"].append(snapshot.scan.ranges_m)

    try:
        snapshot = simulation.snapshot()
        record(snapshot)
        for number in itertools.count():
            if robot.verdict is not None or (commands is not None and number >= len(commands)):
                break
            if commands is None:
                robot.run_cycle(simulation, snapshot)
            else:
                simulation.drive(Twist2D(*commands[number]))
            snapshot = simulation.step(period_s)
            record(snapshot)
    finally:
        loaded.actors.close()
    arrays = {name: np.array(values) for name, values in rows.items()}
    arrays["command"] = np.array(given)
    verdict = robot.verdict
    return "" if verdict is None else verdict.outcome.value, arrays


def differences(one, other):
    """Return the difference of two trials in each control period, by the names of ``LIMITS``."""
    count = min(len(one["pose"]), len(other["pose"]))
    commands = min(len(one["command"]), len(other["command"]))
    finite = [
        np.where(np.isfinite(run["scan"][:count]), run["scan"][:count], 99.0)
        for run in (one, other)
    ]
    return {
        "actors_m": np.abs(one["actors"][:count] - other["actors"][:count]).max(axis=(1, 2)),
        "scan_m": np.median(np.abs(finite[0] - finite[1]), axis=1),
        "pose_m": np.hypot(*(one["pose"][:count, :2] - other["pose"][:count, :2]).T),
        "command": np.abs(one["command"][:commands] - other["command"][:commands]).max(axis=1),
    }


def first_s(difference, limit, period_s):
    """Return the time (s) at which a difference is above a limit for the first time, or None."""
    above = np.flatnonzero(difference > limit)
    return round(float(above[0]) * period_s, 3) if len(above) else None


def pairs(options):
    """Run each trial in both simulators, and store the first differences."""
    for level in options.levels:
        with Bench(level, options, "embedded") as fast, Bench(level, options, "gazebo") as slow:
            period_s = fast.prepared.spec.control_period_s
            for trial in fast.prepared.trials:
                key = f"{level} {options.seed} {trial.world} {trial.planner}"
                if key in options.done:
                    continue
                here, ours = run(fast, trial)
                there, theirs = run(slow, trial)
                _, driven = run(slow, trial, ours["command"].tolist())
                closed, same = differences(ours, theirs), differences(ours, driven)
                yield {
                    "key": key,
                    "embedded": here,
                    "gazebo": there,
                    "embedded_s": round(period_s * (len(ours["pose"]) - 1), 3),
                    "gazebo_s": round(period_s * (len(theirs["pose"]) - 1), 3),
                    "first_s": {n: first_s(closed[n], LIMITS[n], period_s) for n in LIMITS},
                    "same_commands": {n: float(np.max(same[n])) for n in ("actors_m", "pose_m")},
                    "growth_m": [
                        float(same["pose_m"][min(k, len(same["pose_m"]) - 1)])
                        for k in (10, 50, 100)
                    ],
                }


def alone(options):
    """Run each trial in one simulator, unchanged and with a small change."""
    changes = [("", 0.0)]
    changes += [("shift_m", sign * value) for value in options.shifts_m for sign in (1, -1)]
    changes += [("turn_rad", sign * value) for value in options.turns_rad for sign in (1, -1)]
    changes += [("noise_m", value) for value in options.noises_m]
    for level, (change, value) in itertools.product(options.levels, changes):
        start = f"{options.simulator} {level} {options.seed}"
        with Bench(level, options, options.simulator, **{change: value} if change else {}) as bench:
            for trial in bench.prepared.trials:
                name = f"{start} {trial.world} {trial.planner}"
                key = f"{name} {change} {value}"
                if key not in options.done:
                    outcome, _ = run(bench, trial)
                    yield {
                        "key": key,
                        "trial": name,
                        "change": change,
                        "size": abs(value),
                        "outcome": outcome,
                    }


def summary(options):
    """Print the share of trials with the same outcome, and each pair with different outcomes."""
    rows = [row for file in options.files for row in read_rows(file)]
    both = [row for row in rows if "gazebo" in row]
    outcomes = collections.defaultdict(collections.Counter)
    for row in rows:
        if row.get("change"):
            outcomes[row["trial"]][row["outcome"]] += 1
    for row in both:
        if row["embedded"] != row["gazebo"]:
            changed = dict(outcomes[f"embedded {row['key']}"])
            print(row["key"], row["embedded"], row["gazebo"], row["first_s"], changed)
    for planner in sorted({row["key"].split()[-1] for row in both}):
        found = [row for row in both if row["key"].endswith(f" {planner}")]
        same = [row["embedded"] == row["gazebo"] for row in found]
        print(f"embedded and Gazebo, {planner:8} {share(same)}")
    unchanged = {row["trial"]: row["outcome"] for row in rows if row.get("change") == ""}
    groups = collections.defaultdict(list)
    for row in rows:
        if row.get("change"):
            simulator, planner = row["trial"].split()[0], row["trial"].split()[-1]
            same = row["outcome"] == unchanged[row["trial"]]
            groups[simulator, planner, row["change"], row["size"]].append(same)
    for (simulator, planner, change, size), same in sorted(groups.items()):
        name = f"{simulator} alone, {planner:8} {change} {size:g}"
        print(f"{name:48} {share(same)}")


def share(same):
    """Return the share of trials with the same outcome, with its 95 % interval, as text."""
    rate = success_rate(sum(same), len(same))
    percent = [100 * value for value in (rate.value, rate.low, rate.high)]
    return f"{sum(same)} of {len(same)}, " + "{:.1f} % [{:.1f}, {:.1f}]".format(*percent)


def read_rows(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def main():
    """Run the chosen part, or print the summary of files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="part", required=True)
    for part in (pairs, alone):
        sub = commands.add_parser(part.__name__, help=part.__doc__.splitlines()[0])
        sub.set_defaults(part=part)
        sub.add_argument("--out", type=Path, required=True)
        sub.add_argument("--seed", type=int, default=60, help="campaign seed")
        sub.add_argument("--worlds", type=int, default=7)
        sub.add_argument("--levels", nargs="+", default=["medium", "hard"], choices=list(LEVELS))
        sub.add_argument("--planners", nargs="+", default=["fgm", "dki_sst"])
        if part is alone:
            sub.add_argument("--simulator", default="embedded")
            sub.add_argument("--shifts_m", nargs="*", type=float, default=SHIFTS_M)
            sub.add_argument("--turns_rad", nargs="*", type=float, default=[0.012])
            sub.add_argument("--noises_m", nargs="*", type=float, default=[1e-6])
    table = commands.add_parser("summary", help=summary.__doc__)
    table.set_defaults(part=summary)
    table.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    if options.part is summary:
        summary(options)
        return
    options.done = {row["key"] for row in read_rows(options.out)}
    with options.out.open("a") as stream:
        for row in options.part(options):
            stream.write(json.dumps(row) + "\n")
            stream.flush()


if __name__ == "__main__":
    main()
