#!/usr/bin/env python3
"""Measure the depth of a Husky's wheels in the ground, by simulator and terrain.

    python3 benchmarks/wheels_in_ground.py [--entry NAME ...]

The robot drives straight ahead at 0.5 m/s for 5 s from three starts, as in `simulators compare`.
Prints the greatest depth (mm) of any point of a wheel's cylinder, and the longest time that a wheel
is so deep that the run is invalid.
"""

import argparse
import itertools
import tempfile
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.resources import share_directory
from gz_testauto.extras.simulator_comparison.bench.run_maneuver import (
    MAX_WHEEL_DEPTH_M,
    ManeuverRequest,
    run_maneuver,
)
from gz_testauto.extras.simulator_comparison.bench.simulator_process import sampling_options
from gz_testauto.extras.simulator_comparison.bench.wheels import is_inside
from gz_testauto.extras.simulator_comparison.maneuvers import PERIOD_S, draw_start
from gz_testauto.extras.simulator_comparison.terrain import TerrainSpec, make_terrain, write_world
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import PlacedRobot

ENTRIES = {
    "gazebo ode": ("gazebo", {"engine": "ode"}),
    "gazebo ode, meshes": ("gazebo", {"engine": "ode", "height_maps": "meshes"}),
    "gazebo bullet": ("gazebo", {"engine": "bullet"}),
    "pybullet": ("pybullet", {}),
    "embedded, servo": ("embedded", {"skid": "servo"}),
    "embedded, wheels": ("embedded", {"skid": "wheels"}),
}
TERRAINS = (
    {"name": "step_38_mm", "kind": "step", "height_m": 0.038},
    {"name": "step_76_mm", "kind": "step", "height_m": 0.076},
    {"name": "bumps", "kind": "bumps"},
    {"name": "gravel", "kind": "gravel"},
)
STARTS = 3
AHEAD = np.tile([0.5, 0.0], (100, 1))
MOST_MM = 80


def main():
    """Drive on all terrains, and print a row for each entry."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entry", action="append", choices=list(ENTRIES))
    arguments = parser.parse_args()
    reader = TypeAdapter(TerrainSpec)
    terrains = [make_terrain(reader.validate_python(one), 0) for one in TERRAINS]
    print("| | " + " | ".join(terrain.name for terrain in terrains) + " |")
    for entry in arguments.entry or ENTRIES:
        name, options = ENTRIES[entry]
        try:
            with open_simulator(name, **sampling_options(name, options)) as simulator:
                cells = [cell(simulator, terrain) for terrain in terrains]
        except GzTestautoError as error:
            cells = [str(error)]
        print(f"| {entry} | " + " | ".join(cells) + " |", flush=True)


def cell(simulator, terrain):
    """Return the worst value of all starts: the depth of a wheel (mm), and the time (s) at a depth
    that makes a run invalid."""
    robot = read_robot(share_directory() / "models" / "husky_a200")
    deepest_mm, longest_s = 0, 0.0
    for repetition in range(STARTS):
        start = PlacedRobot(robot, draw_start(f"{terrain.name}/straight", repetition, 0))
        with tempfile.TemporaryDirectory() as folder:
            world = write_world(terrain, Path(folder))
            order = ManeuverRequest("a drive", world, (start,), (0.0,), AHEAD)
            driven = run_maneuver(simulator, order)
        for points in driven.wheels_m.values():
            deepest_mm = max(deepest_mm, depth_mm(terrain, points))
            deep = is_inside(terrain, points, MAX_WHEEL_DEPTH_M).any(axis=1)
            longest_s = max(longest_s, longest_run(deep) * PERIOD_S)
    return f"{deepest_mm}" if not longest_s else f"**{deepest_mm}** ({longest_s:.2f})"


def depth_mm(terrain, points_m):
    """Return the greatest whole number of millimeters by which a point is inside the ground."""
    least, most = 0, MOST_MM + 1
    while most - least > 1:
        middle = (least + most) // 2
        if is_inside(terrain, points_m, middle / 1000).any():
            least = middle
        else:
            most = middle
    return least


def longest_run(flags):
    """Return the length of the longest series of True."""
    runs = (len(list(run)) for flag, run in itertools.groupby(flags) if flag)
    return max(runs, default=0)


if __name__ == "__main__":
    main()
