"""Measure how CPU time and peak memory grow with the size of the inputs.

For each axis, runs one command per size in a new process, and prints its CPU time (user and system)
and peak memory, which are the smaller of two runs. The exponent is the slope of log cost over log
size between the two largest sizes. First, cost and size of the smallest are subtracted, because
each process has a constant start. A difference counts at least as a quarter of the smallest cost,
so that noise does not appear as growth. The exit status is 1 if an exponent exceeds 1.2 (n log n)
and the axis does not state a reason.

    python3 benchmarks/growth.py [--axes worlds,map] [--quick]
"""

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, NamedTuple, Tuple

import numpy as np
import yaml

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 1.2
NOISE = 0.25
GRID_M = 0.05
ROOM_CELLS = 125
TRIAL_S = 30
REPORT_WORLDS = 200

WORLD = """<sdf version="1.6"><world name="default"><model name="ground_plane"><static>1</static>
<link name="link"><collision name="collision"><geometry><plane><normal>0 0 1</normal>
<size>1000 1000</size></plane></geometry></collision></link></model>{models}</world></sdf>"""

BOX = """<model name="shape_{name}"><static>1</static><pose>{x:.2f} {y:.2f} 0.5 0 0 {name}</pose>
<link name="link"><collision name="collision"><geometry><box><size>0.4 0.5 1</size></box></geometry>
</collision></link></model>"""

CAMPAIGN = """
name: growth
worlds:
  base: {base}
  count: 1
  obstacles:
    obstacles: [{{type: box, count: 1, size_x_m: 0.6, size_y_m: 0.6, size_z_m: 1.2}}]
    region: {{rectangle: {{x_m: [-5, 5], y_m: [-5, 5]}}}}
robot:
  model: {model}
  start: {{x_m: -11, y_m: -11, yaw_rad: 0.8}}
  max_linear_mps: 1.0
  max_angular_radps: 1.5
goal: {{x_m: 11, y_m: 11, tolerance_m: 0.5, via: [{via}]}}
planners: [fgm_improved]
{extra}
limits: {{timeout_s: {timeout_s}, stuck_window_s: {timeout_s}}}
"""


class Axis(NamedTuple):
    """A command whose input has a size; ``reason`` explains an exponent above the limit."""

    text: str
    sizes: Tuple[int, ...]
    prepare: Callable  # writes inputs of a size into a folder, returns the words of the command
    reason: str = ""


def run(words, log):
    """Run a verb of gz_testauto, and return its CPU time (s) and peak memory (MB)."""
    command = [sys.executable, "-m", "gz_testauto.cli.main", *map(str, words)]
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    text = log.read_text()
    if status or (words[0] == "run" and "timed_out" not in text):
        sys.exit(f"{' '.join(command)}: status {status}, or another outcome\n{text[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def prepare_worlds(folder, count):
    spec = ROOT / "config" / "obstacles.yaml"
    base = ROOT / "worlds" / "arena.world"
    return ["multiply", base, "--spec", spec, "--count", count, "--out", folder / "worlds"]


def prepare_obstacles(folder, count):
    """Write the obstacles of the example at a constant density on open ground."""
    base, spec = folder / "base.world", folder / "obstacles.yaml"
    base.write_text(WORLD.format(models=""))
    data = yaml.safe_load((ROOT / "config" / "obstacles.yaml").read_text())
    for obstacle in data["obstacles"]:
        obstacle["count"] = count // 2
    edge = 3 * count**0.5
    data["region"] = {"rectangle": {"x_m": [-edge, edge], "y_m": [-edge, edge]}}
    data["mission"].update(start=[-edge, -edge], goal=[edge, edge])
    spec.write_text(yaml.safe_dump(data))
    return ["multiply", base, "--spec", spec, "--count", 10, "--out", folder / "worlds"]


def prepare_trial(
    folder,
    base=ROOT / "worlds" / "arena.world",
    model="package://gz_testauto/models/wheelchair/model.sdf",
    extra="",
    timeout_s=TRIAL_S,
):
    """Write a campaign of one trial, in which the robot drives between two corners."""
    legs = timeout_s // TRIAL_S
    via = ", ".join("{x_m: 11, y_m: 11}, {x_m: -11, y_m: -11}" for _ in range(legs // 2))
    campaign = folder / "campaign.yaml"
    campaign.write_text(
        CAMPAIGN.format(base=base, model=model, extra=extra, timeout_s=timeout_s, via=via)
    )
    return run_words(folder, campaign)


def run_words(folder, campaign):
    options = ["--simulator", "embedded", "--workers", 1, "--worlds", 1]
    return ["run", campaign, *options, "--out", folder / "results"]


def prepare_shapes(folder, count):
    """Write a world with a constant density of boxes around the free diagonal of the robot."""
    side = math.ceil((2 * count) ** 0.5)
    axis = [2.0 * (index - side // 2) for index in range(side)]
    positions = [(x, y) for x in axis for y in axis if abs(x - y) > 5][:count]
    models = "".join(BOX.format(name=index, x=x, y=y) for index, (x, y) in enumerate(positions))
    base = folder / "base.world"
    base.write_text(WORLD.format(models=models))
    return prepare_trial(folder, base=base)


def prepare_map(folder, cells):
    """Write a square map of rooms, each with a door to the next room on two sides."""
    side = math.isqrt(cells)
    grid = np.full((side, side), 254, np.uint8)
    for wall in range(0, side, ROOM_CELLS):
        grid[wall : wall + 4, :] = grid[:, wall : wall + 4] = 0
    grid[-4:, :] = grid[:, -4:] = 0
    rng = np.random.default_rng(1)
    for wall in range(ROOM_CELLS, side - ROOM_CELLS // 2, ROOM_CELLS):
        for room in range(0, side - ROOM_CELLS // 2, ROOM_CELLS):
            door, other = room + rng.integers(8, ROOM_CELLS - 40, 2)
            grid[wall : wall + 4, door : door + 32] = 254
            grid[other : other + 32, wall : wall + 4] = 254
    (folder / "map.pgm").write_bytes(b"P5 %d %d 255\n" % grid.shape + grid.tobytes())
    path = folder / "map.yaml"
    path.write_text(
        f"image: map.pgm\nresolution: {GRID_M}\norigin: [0, 0, 0]\nnegate: 0\n"
        "occupied_thresh: 0.65\nfree_thresh: 0.196\n"
    )
    return ["world-from-map", path, "--out", folder / "building"]


def prepare_building(folder, cells):
    run(prepare_map(folder, cells), folder / "log")
    campaign = folder / "building" / "campaign.yaml"
    text = re.sub(r"timeout_s: [\d.]+", f"timeout_s: {TRIAL_S}", campaign.read_text())
    campaign.write_text(text)
    return run_words(folder, campaign)


def prepare_report(folder, worlds, planners):
    """Import random results of planners with the same success rates in worlds."""
    rng = np.random.default_rng(1)
    rows = ["world,planner,repetition,outcome,time_s,distance_m,clearance_min_m,safety"]
    for world in range(worlds):
        for planner in range(planners):
            outcome = "reached" if rng.random() < 0.8 else "collided"
            values = ",".join(f"{value:.4f}" for value in 1 + rng.random(4))
            rows.append(f"world_{world:05d},planner_{planner:02d},0,{outcome},{values}")
    (folder / "trials.csv").write_text("\n".join(rows) + "\n")
    run(["import", folder / "trials.csv", "--out", folder / "results"], folder / "log")
    return ["report", folder / "results"]


def prepare_actors(folder, count, behavior):
    actors = (
        f"actors: [{{name: actor, behavior: {behavior}, count: {count}, speed_mps: [0.5, 1.2], "
        "region: {polygon: [[-12, -6], [-12, 12], [6, 12]]}}]"
    )
    return prepare_trial(folder, extra=actors)


def prepare_rays(folder, rays):
    text = (ROOT / "models" / "wheelchair" / "model.sdf").read_text()
    model = folder / "model.sdf"
    model.write_text(re.sub(r"<samples>\d+</samples>", f"<samples>{rays}</samples>", text))
    return prepare_trial(folder, model=model)


AXES = {
    "worlds": Axis("worlds (`multiply`)", (64, 256, 1024, 4096), prepare_worlds),
    "obstacles": Axis("obstacles in each of 10 worlds", (16, 64, 256, 1024), prepare_obstacles),
    "shapes": Axis(
        "static shapes (a trial of 30 s)",
        (64, 256, 1024, 4096),
        prepare_shapes,
        "GEOS unites the outlines of all shapes, with an exponent of 1.3",
    ),
    "map": Axis("cells (`world-from-map`)", (500**2, 1000**2, 2000**2, 4000**2), prepare_map),
    "building": Axis(
        "cells (a trial of 30 s there)",
        (500**2, 1000**2, 2000**2, 4000**2),
        prepare_building,
        "the shortest path tests lines of sight between pairs of corners",
    ),
    "trials": Axis(
        "trials of two planners (`report`)",
        (1000, 10_000, 30_000, 100_000),
        lambda folder, count: prepare_report(folder, count // 2, 2),
    ),
    "planners": Axis(
        f"planners in {REPORT_WORLDS} worlds (`report`)",
        (2, 5, 10, 20),
        lambda folder, count: prepare_report(folder, REPORT_WORLDS, count),
        "the report compares each pair of planners",
    ),
    "actors": Axis(
        "actors `wander` (a trial of 30 s)",
        (1, 4, 16, 64),
        lambda folder, count: prepare_actors(folder, count, "wander"),
    ),
    "people": Axis(
        "people (a trial of 30 s)",
        (1, 4, 16, 64),
        lambda folder, count: prepare_actors(folder, count, "pedestrian"),
        "each person reacts to each other person",
    ),
    "rays": Axis("rays (a trial of 30 s)", (90, 1440, 5760, 23_040), prepare_rays),
    "length": Axis(
        "length of a trial, s",
        (30, 120, 480, 1920),
        lambda folder, seconds: prepare_trial(folder, timeout_s=seconds),
    ),
}


def exponent(sizes, costs):
    above = [max(cost - costs[0], NOISE * costs[0]) for cost in costs[-2:]]
    steps = [size - sizes[0] for size in sizes[-2:]]
    return math.log(above[1] / above[0]) / math.log(steps[1] / steps[0])


def measure(axis, sizes, place):
    costs = []
    for size in sizes:
        turns = []
        for turn in range(2):
            folder = place / f"{size}_{turn}"
            folder.mkdir()
            turns.append(run(axis.prepare(folder, size), folder / "log"))
        costs.append([min(values) for values in zip(*turns)])
    return costs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--axes", default=",".join(AXES), help="of %(default)s")
    parser.add_argument("--quick", action="store_true", help="omit the largest size of each axis")
    arguments = parser.parse_args()
    exceeded = []
    print("| size | values | CPU s | exponent | peak MB | exponent |\n|---|---|---|---|---|---|")
    for name in arguments.axes.split(","):
        axis = AXES[name]
        sizes = axis.sizes[:-1] if arguments.quick else axis.sizes
        with tempfile.TemporaryDirectory(prefix="growth_") as place:
            costs = measure(axis, sizes, Path(place))
        cells = [axis.text, ", ".join(f"{size:,}" for size in sizes)]
        for values, digits in zip(zip(*costs), (1, 0)):
            power = exponent(sizes, values)
            cells += [", ".join(f"{value:,.{digits}f}" for value in values), f"{power:.2f}"]
            if power > LIMIT:
                exceeded.append((name, power, axis.reason))
        print(f"| {' | '.join(cells)} |", flush=True)
    for name, power, reason in exceeded:
        print(f"{name}: exponent {power:.2f}, {reason or 'without a reason'}", file=sys.stderr)
    return int(any(not reason for _, _, reason in exceeded))


if __name__ == "__main__":
    sys.exit(main())
