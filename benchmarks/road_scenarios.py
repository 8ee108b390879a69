#!/usr/bin/env python3
"""Run the five scenarios of Smit et al. 2022 as campaigns, and compare them with the paper's table.

    python3 benchmarks/road_scenarios.py --out DIR --seeds 10 --worlds 3 [--simulator gazebo]
        [--seed 0] [--planner-seeds 10] [--only II]

The paper specifies no position, speed, size or width; those here cause the behavior that it
describes. Each seed is a campaign with different worlds and different random numbers of the
planners. With --planner-seeds, each planner runs several times in each world, with different random
numbers. Planned trajectories (I) and driven ones (II to V) are evaluated. The statistical unit is
the seed; with --planner-seeds, it is the world. The interval of a mean is Student's over the means
of the units. That of a rate is the interval of repetitions, with a unit in the place of a world
(docs/statistics.md). So both include the correlation within a unit. The same command continues an
interrupted run, and prints the tables again.
"""

import argparse
import math
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Tuple

import numpy as np
import yaml
from scipy import stats

from gz_testauto.analysis.comparison import holm
from gz_testauto.analysis.summary import clustered_rate
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import TrialRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.trial.outcome import Outcome

SHARE = Path(__file__).resolve().parents[1]
LANE_M, SPEED_MPS, FASTEST_MPS = 3.5, 5.0, 25 / 3
ROUNDABOUT_LANE_M = 4.0
RIGHT_M, LEFT_M = -LANE_M / 2, LANE_M / 2
CAR = {"size_m": [4.5, 1.8, 1.4], "mass_kg": 1200.0}
WALKER = {"size_m": [0.5, 0.6, 1.7]}
WALKER_AHEAD_M = 30.0
FULL_SPEED_AFTER_M = 25.0

TIMING = {"latency_s": 0.3, "margin_m": 0.25}
"""Latency and margin of the planner. A plan starts at the predicted pose of the car; the margin is
for the tracking error."""

ABLATION = {
    "sst": {},
    "lane_only": {"lane_branch": True},
    "previous_only": {"previous_branch": True},
    "dki_sst": {"lane_branch": True, "previous_branch": True},
}


def planners(names, **parameters):
    """Return the planners of a campaign: the search with each of these branches."""
    common = {"speed_share": SPEED_MPS / FASTEST_MPS, **TIMING, **parameters}
    return [
        {"name": name, "plugin": "sst", "parameters": {**common, **ABLATION[name]}}
        for name in names
    ]


def straight(length_m):
    """Return a road with two lanes; the route uses the right one."""
    ends = [-40.0, length_m]
    return {
        "lanes": [
            {"name": "right", "center_m": [[x, RIGHT_M] for x in ends], "left": "left"},
            {"name": "left", "center_m": [[x, LEFT_M] for x in ends], "right": "right"},
        ],
        "route": ["right"],
    }


def campaign(name, seed, worlds, road, goal, planners, **more):
    """Return a campaign with the keys that all five scenarios have."""
    return {
        "name": f"roads_{name}",
        "seed": seed,
        "worlds": {"directory": str(SHARE / "worlds"), "files": worlds},
        "robot": {
            "model": str(SHARE / "models" / "car" / "model.sdf"),
            "start": worlds[0]["start"],
            "max_linear_mps": FASTEST_MPS,
            "max_angular_radps": 3.0,
            "max_linear_accel_mps2": 4.0,
            "max_angular_accel_radps2": 20.0,
            "steering": {"wheelbase_m": 2.7, "max_rad": 0.5},
        },
        "goal": {**goal, "tolerance_m": 4.0},
        "planners": planners,
        "tracking": {},
        "limits": {"timeout_s": 60.0},
        **({"road": road} if road else {}),
        **more,
    }


def uniform(middle, aside):
    return [middle - aside, middle + aside]


def files(count, start):
    """Return ``count`` copies of the empty world, each with a start returned by ``start``."""
    return [
        {"file": "plain.world", "name": f"world_{number:02d}", "start": start(number)}
        for number in range(count)
    ]


def at(x_m, y_m, yaw_rad=0.0):
    return {"x_m": float(x_m), "y_m": float(y_m), "yaw_rad": float(yaw_rad)}


def scenario_i(seed, count, names):
    """Return scenario I: a free straight road."""

    def start(number):
        return at(0.0, RIGHT_M + np.random.default_rng([1, seed, number]).uniform(-0.1, 0.1))

    return campaign(
        "I", seed, files(count, start), straight(200), {"x_m": 75.0, "y_m": RIGHT_M},
        planners(names, follow="lane"),
    )  # fmt: skip


def scenario_ii(seed, count, names):
    """Return scenario II: a parked car in the lane, slightly to the right."""
    parked = {
        "name": "parked",
        "behavior": "script",
        "body": CAR,
        "waypoints_m": [[60.0, RIGHT_M - 0.4]],
        "shift_x_m": uniform(0.0, 5.0),
        "shift_y_m": uniform(0.0, 0.3),
    }
    return campaign(
        "II", seed, files(count, lambda number: at(0.0, RIGHT_M)), straight(200),
        {"x_m": 95.0, "y_m": RIGHT_M}, planners(names), actors=[parked],
    )  # fmt: skip


def roundabout(seed, number):
    """Return a lane around three quarters of a circle, with an entry and an exit at an angle."""
    random = np.random.default_rng([3, seed, number])
    radius, kink = random.uniform(12.0, 18.0), math.radians(random.uniform(30.0, 60.0))
    turns = np.linspace(-math.pi, math.pi / 2, 73)  # counter-clockwise, from the west to the north
    circle = radius * np.column_stack([np.cos(turns), np.sin(turns)])
    first, last = circle[0], circle[-1]
    # the circle's direction is south at its west and west at its north
    into, out = -math.pi / 2 + kink, math.pi - kink
    entry = first - 45.0 * np.array([math.cos(into), math.sin(into)])
    exit_ = last + 45.0 * np.array([math.cos(out), math.sin(out)])
    ends = {"entry": [entry, first], "circle": circle, "exit": [last, exit_]}
    follow = {"entry": ["circle"], "circle": ["exit"], "exit": []}
    road = {
        "lanes": [
            {
                "name": name,
                "center_m": np.round(np.array(center), 6).tolist(),
                "width_m": ROUNDABOUT_LANE_M,
                "successors": follow[name],
            }
            for name, center in ends.items()
        ],
        "route": list(ends),
    }
    start = entry + 5.0 * np.array([math.cos(into), math.sin(into)])
    goal = last + 35.0 * np.array([math.cos(out), math.sin(out)])
    return road, at(*start, into), at(*goal)


def scenario_iii(seed, count, names):
    """Return scenario III: a roundabout that the car leaves at the third exit."""
    worlds = []
    for number in range(count):
        road, start, goal = roundabout(seed, number)
        name = f"world_{number:02d}"
        entry = {"file": "plain.world", "name": name, "start": start, "goal": goal, "road": road}
        worlds.append(entry)
    return campaign("III", seed, worlds, None, {"x_m": 0.0, "y_m": 0.0}, planners(names))


def walker(speed_mps, speed_aside, start_aside):
    """Return a walker that crosses from the right when the car is near the crossing."""
    x_m, from_m = 60.0, -5.5
    near_m = math.hypot(WALKER_AHEAD_M, from_m - RIGHT_M)
    return {
        "name": "walker",
        "behavior": "script",
        "body": WALKER,
        "waypoints_m": [[x_m, from_m], [x_m, 12.0]],
        "speed_mps": uniform(speed_mps, speed_aside),
        "shift_y_m": uniform(0.0, start_aside),
        "trigger_distance_m": near_m,
    }


def crossing(name, seed, count, entries, who):
    """Return a campaign in which a walker crosses the straight road."""
    return campaign(
        name, seed, files(count, lambda number: at(0.0, RIGHT_M)), straight(200),
        {"x_m": 100.0, "y_m": RIGHT_M}, entries, actors=[who],
    )  # fmt: skip


def scenario_iv(seed, count, names):
    """Return scenario IV: a walker that has just started to cross."""
    return crossing("IV", seed, count, planners(names), walker(0.6, 0.1, 0.5))


def scenario_v(seed, count, names):
    """Return scenario V: a walker in the middle of the crossing."""
    return crossing("V", seed, count, planners(names), walker(0.95, 0.05, 0.2))


SCENARIOS = {
    "I": scenario_i,
    "II": scenario_ii,
    "III": scenario_iii,
    "IV": scenario_iv,
    "V": scenario_v,
}
LIDAR_ONLY = ("dwa", "fgm_improved", "dwa_fox")
SEEDED = "__"
"""Separates the name of a planner and its seed in the name of a campaign's planner."""
Unit = Tuple[int, str]
"""A statistical unit: the seed of a campaign, and the name of a world, or an empty name for all
worlds of the campaign."""


def with_seeds(planners, count):
    """Return each planner that draws random numbers ``count`` times, with different seeds."""
    if count == 1:
        return planners
    found = []
    for one in planners:
        if "parameters" not in one:
            found.append(one)
            continue
        for seed in range(count):
            parameters = {**one["parameters"], "seed": seed}
            found.append({**one, "name": f"{one['name']}{SEEDED}{seed}", "parameters": parameters})
    return found


def run(name, seed, arguments):
    """Run one scenario's campaign of one seed; return its results directory."""
    names = list(ABLATION) if name in ("I", "II") else ["sst", "dki_sst"]
    spec = SCENARIOS[name](seed, arguments.worlds, names)
    if name in ("II", "IV", "V"):
        spec["planners"] += [{"name": name} for name in LIDAR_ONLY]
    for one in spec["planners"]:
        if "parameters" in one:
            one["parameters"]["iterations"] = arguments.iterations
    chosen = arguments.planners
    spec["planners"] = [one for one in spec["planners"] if not chosen or one["name"] in chosen]
    spec["planners"] = with_seeds(spec["planners"], arguments.planner_seeds)
    spec["simulator"] = arguments.simulator
    folder = arguments.out / f"{name}_{arguments.simulator}" / f"seed_{seed:02d}"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "campaign.yaml"
    file.write_text(yaml.safe_dump(spec, sort_keys=False))
    command = [sys.executable, "-m", "gz_testauto.cli.main", "run", str(file)]
    command += ["--out", str(folder / "results"), "--workers", str(arguments.workers)]
    with (folder / "run.log").open("a") as log:
        subprocess.run(command, check=True, stdout=log, stderr=subprocess.STDOUT)
    return folder / "results"


def mean_of(groups):
    """Return the mean over seeds of the means of their values, and its 95 % Student interval. Each
    group has the values of one seed. The result is NaN without values."""
    means = np.array([np.mean(values) for values in groups if len(values)])
    if len(means) < 2:
        return (float(means.mean()) if len(means) else math.nan), math.nan, math.nan
    reach = stats.t.ppf(0.975, len(means) - 1) * means.std(ddof=1) / math.sqrt(len(means))
    return float(means.mean()), float(means.mean() - reach), float(means.mean() + reach)


def counted(groups):
    """Return a share as text, such as "3 of 4, 75 % [30, 95]". Each group has the truth values of
    one seed."""
    successes, trials = [sum(group) for group in groups], [len(group) for group in groups]
    rate = clustered_rate(successes, trials)
    low, high = 100 * rate.low, 100 * rate.high
    return f"{sum(successes)} of {sum(trials)}, {100 * rate.value:.0f} % [{low:.0f}, {high:.0f}]"


def trials_of(results, by_world):
    """Return the valid records of trials by planner and statistical unit, in order of worlds. The
    units are worlds if ``by_world``, otherwise the seeds of campaigns."""
    found: Dict[str, Dict[Unit, List[TrialRecord]]] = {}
    for seed, directory in results.items():
        with ResultStore.read(CampaignDirectory(directory)) as store:
            for record in store.results().trials:
                of_planner = found.setdefault(record.planner.split(SEEDED)[0], {})
                of_unit = of_planner.setdefault((seed, record.world if by_world else ""), [])
                if record.outcome is not Outcome.INVALID:
                    of_unit.append(record)
    return found


def driven(results, record):
    """Return values that describe the motion of a trial by name, from its recording."""
    with ResultStore.read(CampaignDirectory(results)) as store:
        recording = store.trajectory(record)
    pose, speed = recording.pose, recording.twist[:, 0]
    middle = pose[:, :2] + 1.35 * np.column_stack([np.cos(pose[:, 2]), np.sin(pose[:, 2])])
    values = {"y_max_m": float(pose[:, 1].max())}
    actors = [array for name, array in recording.series.items() if name.startswith("actor_")]
    if actors:
        (other,) = actors
        distances = np.hypot(*(middle - other[:, :2]).T)
        values["least_m"] = float(distances.min())
        met = (pose[:, 0] > FULL_SPEED_AFTER_M) & (pose[:, 0] < other[:, 0] + 10.0)
        values["slowest_mps"] = float(speed[met].min()) if met.any() else math.nan
        values["passed"] = float((pose[:, 0] > other[:, 0] + 10.0).any())
    return values


def judge_plans(results, by_world):
    """Print rows one to three of the table."""
    found = trials_of(results, by_world)
    rows = ("plan_accel_mps2", "plan_speed_error_mps", "plan_lane_error_m")
    tests = {}
    for row in rows:
        groups = {
            planner: [[record.metrics[row] for record in records] for records in by_seed.values()]
            for planner, by_seed in found.items()
        }
        first = np.array([np.mean(values) for values in groups["sst"]])
        for planner, values in groups.items():
            mean, low, high = mean_of(values)
            text = f"{row:22s} {planner:14s} {mean:.3f} [{low:.3f}, {high:.3f}]"
            if planner != "sst":
                means = np.array([np.mean(of_seed) for of_seed in values])
                less, low, high = mean_of([[gain] for gain in 100.0 * (1.0 - means / first)])
                tests[row, planner] = stats.wilcoxon(means - first).pvalue
                text += f"  less {less:.1f} % [{low:.1f}, {high:.1f}]"
            print(text)
    for key, p_value in zip(tests, holm(list(tests.values()))):
        print(f"Holm-adjusted p over units {key[0]} {key[1]}: {p_value:.2g}")


def print_motion(name, results, by_world):
    """Print the values that describe the motion of each planner."""
    for planner, by_unit in trials_of(results, by_world).items():
        outcomes = sorted({one.outcome.value for records in by_unit.values() for one in records})
        ends = {
            end: [[one.outcome.value == end for one in records] for records in by_unit.values()]
            for end in outcomes
        }
        text = f"{planner:14s} " + "; ".join(f"{k} {counted(v)}" for k, v in ends.items())
        drives = [
            [driven(results[seed], one) for one in records if one.trajectory]
            for (seed, _), records in by_unit.items()
        ]
        for key in next(one for of_seed in drives for one in of_seed):
            values = [[d[key] for d in of_seed if math.isfinite(d[key])] for of_seed in drives]
            mean, low, high = mean_of(values)
            spread = np.std([value for of_seed in values for value in of_seed], ddof=1)
            text += f"; {key} {mean:.2f} [{low:.2f}, {high:.2f}] s.d. {spread:.2f}"
        if name == "IV":
            kept = [
                [d["y_max_m"] > 0.0 and d["slowest_mps"] >= 0.8 * SPEED_MPS for d in of_seed]
                for of_seed in drives
            ]
            text += f"; changed lane at 80 % of the speed {counted(kept)}"
        if name == "V":
            slowed = [
                [d["slowest_mps"] < 0.7 * SPEED_MPS and d["passed"] > 0 for d in of_seed]
                for of_seed in drives
            ]
            text += f"; below 70 % of the speed, and went on {counted(slowed)}"
        if name == "III":
            text += in_the_roundabout(list(by_unit.values()))
        print(text)


def in_the_roundabout(records):
    """Return the distance between the car and its lane, from the records of each seed."""
    errors = {
        key: [[one.metrics[key] for one in of_seed] for of_seed in records]
        for key in ("lane_error_max_m", "lane_error_mean_m", "lane_departure_share")
    }
    kept = [[e < ROUNDABOUT_LANE_M / 2 for e in of_seed] for of_seed in errors["lane_error_max_m"]]
    most = max(error for of_seed in errors["lane_error_max_m"] for error in of_seed)
    mean, low, high = mean_of(errors["lane_error_mean_m"])
    return (
        f"; rear axle in its lane {counted(kept)}, at most {most:.2f} m from its center, "
        f"{mean:.2f} m [{low:.2f}, {high:.2f}] in the mean; a corner outside "
        f"{100 * mean_of(errors['lane_departure_share'])[0]:.1f} % of the time"
    )


def main():
    """Run the campaigns, seed by seed, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0, help="first campaign seed")
    parser.add_argument("--seeds", type=int, default=10, help="number of campaign seeds")
    parser.add_argument("--worlds", type=int, default=3, help="worlds of each seed")
    parser.add_argument("--planner-seeds", type=int, default=1, help="seeds of each planner")
    parser.add_argument("--iterations", type=int, default=3000, help="of each search of sst")
    parser.add_argument("--simulator", default="embedded")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--planners", nargs="+", default=[])
    arguments = parser.parse_args()
    found = {name: {} for name in arguments.only}
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        for name in arguments.only:
            found[name][seed] = run(name, seed, arguments)
        print(f"seed {seed} is done", file=sys.stderr)
    for name, results in found.items():
        print(
            f"\nScenario {name}, {arguments.seeds} seeds × {arguments.worlds} worlds × "
            f"{arguments.planner_seeds} seeds of the planner, {arguments.simulator}",
            flush=True,
        )
        by_world = arguments.planner_seeds > 1
        if name == "I":
            judge_plans(results, by_world)
        else:
            print_motion(name, results, by_world)


if __name__ == "__main__":
    main()
