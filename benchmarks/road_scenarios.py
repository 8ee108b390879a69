#!/usr/bin/env python3
"""The five scenarios of Smit et al. 2022 as campaigns, run, and judged beside the paper's table.

    python3 benchmarks/road_scenarios.py --out DIR --worlds 30 [--simulator gazebo] [--only II]

The paper gives no position, speed, size or width; those here made the behaviour that it describes.
Every world draws them anew. Judged are trajectories planned (I) and driven (II to V).
"""

import argparse
import collections
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import yaml
from scipy.stats import wilcoxon

from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

SHARE = Path(__file__).resolve().parents[1]
LANE_M, SPEED_MPS, FASTEST_MPS = 3.5, 5.0, 25 / 3
ROUNDABOUT_LANE_M = 4.0
RIGHT_M, LEFT_M = -LANE_M / 2, LANE_M / 2
CAR = {"size_m": [4.5, 1.8, 1.4], "mass_kg": 1200.0}
WALKER = {"size_m": [0.5, 0.6, 1.7]}
WALKER_AHEAD_M = 30.0
FULL_SPEED_AFTER_M = 25.0

TIMING = {"latency_s": 0.3, "margin_m": 0.25}
"""A plan begins where the car will be on its way; the margin is for how it keeps to that."""

ABLATION = {
    "sst": {},
    "lane_only": {"lane_branch": True},
    "previous_only": {"previous_branch": True},
    "dki_sst": {"lane_branch": True, "previous_branch": True},
}


def planners(names, **parameters):
    """Entries of a campaign: the search with each of these branches."""
    common = {"speed_share": SPEED_MPS / FASTEST_MPS, "iterations": 3000, **TIMING, **parameters}
    return [
        {"name": name, "plugin": "sst", "parameters": {**common, **ABLATION[name]}}
        for name in names
    ]


def straight(length_m):
    """Two lanes, the right one the route's."""
    ends = [-40.0, length_m]
    return {
        "lanes": [
            {"name": "right", "center_m": [[x, RIGHT_M] for x in ends], "left": "left"},
            {"name": "left", "center_m": [[x, LEFT_M] for x in ends], "right": "right"},
        ],
        "route": ["right"],
    }


def campaign(name, worlds, road, goal, planners, **more):
    """What all five have in common."""
    return {
        "name": f"roads_{name}",
        "seed": 5,
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
    """A distribution."""
    return [middle - aside, middle + aside]


def files(count, start):
    """The plain world ``count`` times, with a start that a function says of each number."""
    return [
        {"file": "plain.world", "name": f"world_{number:02d}", "start": start(number)}
        for number in range(count)
    ]


def at(x_m, y_m, yaw_rad=0.0):
    """A pose."""
    return {"x_m": float(x_m), "y_m": float(y_m), "yaw_rad": float(yaw_rad)}


def scenario_i(count, names):
    """A free straight road, carried along its lane."""

    def start(number):
        return at(0.0, RIGHT_M + np.random.default_rng([1, number]).uniform(-0.1, 0.1))

    return campaign(
        "I", files(count, start), straight(200), {"x_m": 75.0, "y_m": RIGHT_M},
        planners(names, follow="lane"),
    )  # fmt: skip


def scenario_ii(count, names):
    """A car stands in the lane, a little to the right."""
    parked = {
        "name": "parked",
        "behaviour": "script",
        "body": CAR,
        "waypoints_m": [[60.0, RIGHT_M - 0.4]],
        "shift_x_m": uniform(0.0, 5.0),
        "shift_y_m": uniform(0.0, 0.3),
    }
    return campaign(
        "II", files(count, lambda number: at(0.0, RIGHT_M)), straight(200),
        {"x_m": 95.0, "y_m": RIGHT_M}, planners(names), actors=[parked],
    )  # fmt: skip


def roundabout(number):
    """One lane around three quarters of a circle, entered and left at an angle to it."""
    random = np.random.default_rng([3, number])
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


def scenario_iii(count, names):
    """A roundabout, left at its third exit."""
    worlds = []
    for number in range(count):
        road, start, goal = roundabout(number)
        name = f"world_{number:02d}"
        entry = {"file": "plain.world", "name": name, "start": start, "goal": goal, "road": road}
        worlds.append(entry)
    return campaign("III", worlds, None, {"x_m": 0.0, "y_m": 0.0}, planners(names))


def walker(speed_mps, speed_aside, start_aside):
    """Who crosses from the right when the car has come within so much of the crossing."""
    x_m, from_m = 60.0, -5.5
    near_m = math.hypot(WALKER_AHEAD_M, from_m - RIGHT_M)
    return {
        "name": "walker",
        "behaviour": "script",
        "body": WALKER,
        "waypoints_m": [[x_m, from_m], [x_m, 12.0]],
        "speed_mps": uniform(speed_mps, speed_aside),
        "shift_y_m": uniform(0.0, start_aside),
        "within_m": near_m,
    }


def crossing(name, count, entries, who):
    """A walker crosses the straight road."""
    return campaign(
        name, files(count, lambda number: at(0.0, RIGHT_M)), straight(200),
        {"x_m": 100.0, "y_m": RIGHT_M}, entries, actors=[who],
    )  # fmt: skip


def scenario_iv(count, names):
    """A walker who has just begun to cross."""
    return crossing("IV", count, planners(names), walker(0.6, 0.1, 0.5))


def scenario_v(count, names):
    """A walker who is well into crossing."""
    return crossing("V", count, planners(names), walker(0.95, 0.05, 0.2))


SCENARIOS = {
    "I": scenario_i,
    "II": scenario_ii,
    "III": scenario_iii,
    "IV": scenario_iv,
    "V": scenario_v,
}
LIDAR_ONLY = ("fgm_improved", "dwa")


def run(name, count, out, simulator, workers, only):
    """Run one scenario's campaign; where its results are."""
    names = list(ABLATION) if name in ("I", "II") else ["sst", "dki_sst"]
    spec = SCENARIOS[name](count, names)
    if name in ("II", "IV", "V"):
        spec["planners"] += [{"name": name} for name in LIDAR_ONLY]
    spec["planners"] = [one for one in spec["planners"] if not only or one["name"] in only]
    spec["simulator"] = simulator
    folder = out / f"{name}_{simulator}"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "campaign.yaml"
    file.write_text(yaml.safe_dump(spec, sort_keys=False))
    command = [sys.executable, "-m", "gz_testauto.cli.main", "run", str(file)]
    command += ["--out", str(folder / "results")]
    subprocess.run([*command, "--workers", str(workers)], check=True)
    return folder / "results"


def interval(values):
    """Mean and the bootstrap interval of it, 95 %."""
    values = np.asarray(values, dtype=float)
    random = np.random.default_rng(0)
    means = values[random.integers(0, len(values), (4000, len(values)))].mean(axis=1)
    return values.mean(), *np.percentile(means, [2.5, 97.5])


def trials_of(results):
    """Records of trials by planner, in order of worlds."""
    found = {}
    with ResultStore.read(CampaignDirectory(results)) as store:
        for record in store.results().trials:
            found.setdefault(record.planner, []).append(record)
    return found


def driven(results, record):
    """What a trial's recording says of how it was driven, by name."""
    with ResultStore.read(CampaignDirectory(results)) as store:
        recording = store.trajectory(record)
    pose, speed = recording.pose, recording.twist[:, 0]
    middle = pose[:, :2] + 1.35 * np.column_stack([np.cos(pose[:, 2]), np.sin(pose[:, 2])])
    said = {"y_max_m": float(pose[:, 1].max())}
    actors = [array for name, array in recording.series.items() if name.startswith("actor_")]
    if actors:
        (other,) = actors
        apart = np.hypot(*(middle - other[:, :2]).T)
        said["least_m"] = float(apart.min())
        met = (pose[:, 0] > FULL_SPEED_AFTER_M) & (pose[:, 0] < other[:, 0] + 10.0)
        said["slowest_mps"] = float(speed[met].min()) if met.any() else math.nan
        said["passed"] = float((pose[:, 0] > other[:, 0] + 10.0).any())
    return said


def judge_plans(results):
    """Rows one to three of the table."""
    found = trials_of(results)
    rows = ("plan_accel_mps2", "plan_speed_error_mps", "plan_lane_error_m")
    base = found["sst"]
    tests = {}
    for row in rows:
        for planner, records in found.items():
            values = [record.metrics[row] for record in records]
            first = np.array([record.metrics[row] for record in base])
            mean, low, high = interval(values)
            said = f"{row:22s} {planner:14s} {mean:.3f} [{low:.3f}, {high:.3f}]"
            if planner != "sst":
                gain = interval(100.0 * (1.0 - np.array(values) / first))
                tests[row, planner] = wilcoxon(values, first).pvalue
                said += f"  less {gain[0]:.1f} % [{gain[1]:.1f}, {gain[2]:.1f}]"
            print(said)
    ordered = sorted(tests, key=tests.get)
    worst = 0.0
    for place, key in enumerate(ordered):
        worst = max(worst, min(1.0, tests[key] * (len(ordered) - place)))
        print(f"Holm-adjusted p {key[0]} {key[1]}: {worst:.2g}")


def judge_drives(name, results):
    """How each planner drove."""
    for planner, records in trials_of(results).items():
        outcomes = collections.Counter(record.outcome.value for record in records)
        said = f"{planner:14s} " + ", ".join(f"{k} {v}" for k, v in sorted(outcomes.items()))
        drives = [driven(results, record) for record in records if record.trajectory]
        for key in drives[0]:
            values = [one[key] for one in drives if math.isfinite(one[key])]
            mean, low, high = interval(values)
            said += f"; {key} {mean:.2f} [{low:.2f}, {high:.2f}] s.d. {np.std(values):.2f}"
        if name == "IV":
            kept = [
                one["y_max_m"] > 0.0 and one["slowest_mps"] >= 0.8 * SPEED_MPS for one in drives
            ]
            said += f"; changed lane at 80 % of the speed {sum(kept)} of {len(kept)}"
        if name == "V":
            slowed = [one["slowest_mps"] < 0.7 * SPEED_MPS and one["passed"] for one in drives]
            said += f"; below 70 % of the speed, and went on {sum(slowed)} of {len(slowed)}"
        if name == "III":
            off = [record.metrics["lane_departure_share"] for record in records]
            aside = [record.metrics["lane_error_mean_m"] for record in records]
            most = [record.metrics["lane_error_max_m"] for record in records]
            kept = sum(error < ROUNDABOUT_LANE_M / 2 for error in most)
            said += f"; rear axle in its lane {kept} of {len(most)}, at most {max(most):.2f} m"
            said += f" beside its centre, {np.mean(aside):.2f} m in the mean"
            said += f"; a corner outside {100 * np.mean(off):.1f} % of the time"
        print(said)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("--worlds", type=int, default=30)
    arguments.add_argument("--simulator", default="embedded")
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    arguments.add_argument("--planners", nargs="+", default=[])
    given = arguments.parse_args()
    for scenario in given.only:
        results = run(
            scenario, given.worlds, given.out, given.simulator, given.workers, given.planners
        )
        print(f"\nScenario {scenario}, {given.worlds} worlds, {given.simulator}")
        if scenario == "I":
            judge_plans(results)
        else:
            judge_drives(scenario, results)
