#!/usr/bin/env python3
"""Run all planners through doors, corridors and U-shaped obstacles.

    python3 benchmarks/doors.py --out DIR [--seed 35] [--worlds 8] [--simulator gazebo]
        [--planners dwa]

The doors are 1.2 to 3 times as wide as the robot, in a wall between two rooms, at a place that is
drawn. The corridors have two bends and are 2.5 times as wide as the robot. The static map contains
doors and corridors. It does not contain the U-shaped obstacles, which are open towards the robot
and on the straight path to the goal. Prints the number of worlds in which each planner reached the
goal, as rows of a Markdown table; ``door_150`` has doors of 1.5 times the width.
"""

import argparse
import functools
import subprocess
import sys
from pathlib import Path

import numpy as np
import yaml

from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

SHARE = Path(__file__).resolve().parents[1]
ROBOT_WIDTH_M = 0.43
DOORS = (1.2, 1.5, 2.0, 2.5, 3.0)
CORRIDOR = 2.5
PLANNERS = ("fgm", "fgm_improved", "dwa", "dwa_fox", "sst", "dki_sst")
BOX = """<model name="{name}"><static>true</static><pose>{x:.4f} {y:.4f} 0.5 0 0 {yaw:.4f}</pose>
<link name="link"><collision name="c"><geometry><box><size>{length:.4f} {width:.4f} 1</size></box>
</geometry></collision></link></model>"""
WORLD = """<sdf version="1.6"><world name="default"><model name="ground"><static>true</static>
<link name="link"><collision name="c"><geometry><plane><normal>0 0 1</normal></plane></geometry>
</collision></link></model>{boxes}</world></sdf>"""
ROOM = [(0, 4, 13, 0.2), (0, -4, 13, 0.2), (6.4, 0, 0.2, 8), (-6.4, 0, 0.2, 8)]
"""Walls around the two rooms: x, y, length along x and along y (m)."""


def door(rng, ratio):
    """Return the walls of two rooms with one door: x, y, length, width (m) and yaw (rad)."""
    opening_m, center_m = ratio * ROBOT_WIDTH_M, rng.uniform(-2.5, 2.5)
    low_m, high_m = center_m - opening_m / 2, center_m + opening_m / 2
    walls = [(0, (low_m - 4) / 2, 0.2, low_m + 4), (0, (high_m + 4) / 2, 0.2, 4 - high_m)]
    return [(*wall, 0.0) for wall in ROOM + walls]


def corridor(rng):
    """Return walls that leave a corridor with two bends."""
    width_m = CORRIDOR * ROBOT_WIDTH_M
    side = rng.choice([-1.0, 1.0])
    center_m, x_m = side * rng.uniform(1.0, 2.5), rng.uniform(-0.5, 0.5)
    walls = []
    # from the left at y = center, along the middle, and to the right at y = -center
    for sign, outer_x in ((-1.0, -3.0), (1.0, 3.0)):
        y_m = -sign * center_m
        near_x = x_m + sign * width_m / 2
        for edge in (-1.0, 1.0):
            inner = near_x if edge == np.sign(-y_m) else x_m - sign * width_m / 2
            begin, end = sorted((outer_x, inner))
            wall_y = y_m + edge * (width_m / 2 + 0.1)
            walls.append(((begin + end) / 2, wall_y, end - begin, 0.2))
            walls.append((outer_x, (wall_y + edge * 4) / 2, 0.2, abs(4 - edge * wall_y)))
    length_m = 2 * abs(center_m) + width_m
    for sign in (-1.0, 1.0):
        arm = np.sign(-sign * center_m)  # the side on which the arm joins the middle part
        begin, end = sorted((arm * (abs(center_m) - width_m / 2), -arm * length_m / 2))
        walls.append((x_m + sign * (width_m / 2 + 0.1), (begin + end) / 2, 0.2, end - begin))
    return [(*wall, 0.0) for wall in ROOM + walls]


def u_shape(rng):
    """Return a U-shaped obstacle in front of the robot, which is open towards it."""
    inner_m, depth_m = rng.uniform(1.2, 2.4), rng.uniform(0.8, 2.0)
    yaw, x_m, y_m = rng.uniform(-0.3, 0.3), rng.uniform(-0.5, 0.5), rng.uniform(-0.3, 0.3)
    parts = [(0.0, 0.0, 0.2, inner_m + 0.4)]
    parts += [(-depth_m / 2, side * (inner_m / 2 + 0.1), depth_m, 0.2) for side in (-1, 1)]
    cos, sin = np.cos(yaw), np.sin(yaw)
    return [
        (x_m + cos * x - sin * y, y_m + sin * x + cos * y, length, width, yaw)
        for x, y, length, width in parts
    ]


def shapes():
    """Return the function that draws each kind of world, by name."""
    kinds = {}
    for ratio in DOORS:
        kinds[f"door_{100 * ratio:.0f}"] = functools.partial(door, ratio=ratio)
    return {**kinds, "corridor": corridor, "u_shape": u_shape}


def write_worlds(folder, seed, count):
    """Write ``count`` worlds of each kind, and return their file names."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for kind, (name, draw) in enumerate(shapes().items()):
        for number in range(count):
            rng = np.random.default_rng([seed, kind, number])
            # the static map does not contain the models whose names start with "obstacle"
            prefix = "obstacle" if name == "u_shape" else "wall"
            boxes = "".join(
                BOX.format(name=f"{prefix}_{part}", x=x, y=y, length=length, width=width, yaw=yaw)
                for part, (x, y, length, width, yaw) in enumerate(draw(rng))
            )
            names.append(f"{name}_{number:02d}.world")
            (folder / names[-1]).write_text(WORLD.format(boxes=boxes), encoding="utf-8")
    return names


def campaign(names, seed, simulator, planners):
    """Return the campaign with all worlds."""
    return {
        "name": "doors",
        "seed": seed,
        "simulator": simulator,
        "worlds": {
            "directory": "worlds",
            "files": [{"file": name, "name": name[: -len(".world")]} for name in names],
            "obstacle_names": r"obstacle_\d+",
        },
        "robot": {
            "model": str(SHARE / "models" / "jackal_sized" / "model.sdf"),
            "start": {"x_m": -5.0, "y_m": 0.0},
            "max_linear_mps": 1.0,
            "max_angular_radps": 1.5,
        },
        "goal": {"x_m": 5.0, "y_m": 0.0, "tolerance_m": 0.3},
        "planners": list(planners),
        "limits": {"timeout_s": 90.0},
        "global_plan": {"resolution_m": 0.05, "margin_m": 0.2},
    }


def main():
    """Run the campaign, and print a table of the worlds in which the goal was reached."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=35)
    parser.add_argument("--worlds", type=int, default=8, help="worlds of each kind")
    parser.add_argument("--simulator", default="embedded")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--planners", nargs="+", default=PLANNERS)
    arguments = parser.parse_args()
    names = write_worlds(arguments.out / "worlds", arguments.seed, arguments.worlds)
    spec = campaign(names, arguments.seed, arguments.simulator, arguments.planners)
    file = arguments.out / "campaign.yaml"
    file.write_text(yaml.safe_dump(spec), encoding="utf-8")
    command = [sys.executable, "-m", "gz_testauto.cli.main", "run", str(file)]
    command += ["--out", str(arguments.out / "results"), "--workers", str(arguments.workers)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with ResultStore.read(CampaignDirectory(arguments.out / "results")) as store:
        records = store.results().trials
    kinds = list(shapes())
    print("| planner | " + " | ".join(kinds) + " |")
    print("|---" * (len(kinds) + 1) + "|")
    for planner in arguments.planners:
        cells = []
        for kind in kinds:
            own = [r for r in records if r.planner == planner and r.world[:-3] == kind]
            reached = sum(record.outcome.value == "reached" for record in own)
            collided = sum(record.outcome.value == "collided" for record in own)
            cells.append(f"{reached} of {len(own)}" + f" ({collided} collided)" * (collided > 0))
        print(f"| `{planner}` | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
