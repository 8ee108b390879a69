#!/usr/bin/env python3
"""Measure how much a Husky vibrates on height maps in the embedded simulator.

    python3 benchmarks/height_map_vibration.py [--terrain NAME ...] [--step-s 0.001 0.005]

The robot drives straight ahead at 0.5 m/s for 8 s on height maps with cells of 25 mm (seed 0), and
also in a circle at 0.5 rad/s on a level one. Prints the distance ahead and sideways (m), the
largest tilt (rad), and the standard deviation of the vertical acceleration (m/s²) of single physics
steps and of means over 10 ms, without the first second.
"""

import argparse
import contextlib
import dataclasses
import logging
import tempfile
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.resources import share_directory
from gz_testauto.extras.simulator_comparison.maneuvers import draw_start
from gz_testauto.extras.simulator_comparison.terrain import TerrainSpec, make_terrain, write_world
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.interface import Scene

TERRAINS = {
    "level": {"kind": "bumps"},
    "class C": {"kind": "iso8608", "road_class": "C"},
    "class E": {"kind": "iso8608", "road_class": "E"},
    "step of 76 mm": {"kind": "step", "height_m": 0.076},
    "bumps": {"kind": "bumps"},
    "gravel": {"kind": "gravel"},
}
EDGE_M = 0.02
"""Height (m) of the edge that makes level ground a height map."""
SPEED_MPS, DURATION_S, START_S, MEAN_S = 0.5, 8.0, 1.0, 0.01


def ground(name):
    """Return the terrain with this name. A level one has an edge."""
    spec = {"name": name.replace(" ", "_"), **TERRAINS[name]}
    terrain = make_terrain(TypeAdapter(TerrainSpec).validate_python(spec), 0)
    if name == "level":
        heights = np.zeros_like(terrain.heights_m)
        heights[[0, -1]] = heights[:, [0, -1]] = EDGE_M
        terrain = dataclasses.replace(terrain, heights_m=heights)
    return terrain


def measure(terrain, skid, step_s, turn_radps):
    """Return the results of one drive as text."""
    robot = read_robot(share_directory() / "models" / "husky_a200")
    start = draw_start("straight", 0, 0)
    speeds, poses = [], []
    with contextlib.ExitStack() as at_exit:
        folder = Path(at_exit.enter_context(tempfile.TemporaryDirectory()))
        simulator = at_exit.enter_context(open_simulator("embedded", skid=skid, step_s=step_s))
        simulation = simulator.load(Scene(write_world(terrain, folder), robot, start))
        simulation.drive(Twist2D(SPEED_MPS, turn_radps))
        for _ in range(round(DURATION_S / step_s)):
            state = simulation.step(step_s).models[robot.name]
            speeds.append(state.linear_mps[2])
            poses.append(state.pose)
    first = start.to_pose().inverse().apply(np.array(poses[-1].position))
    after, every = np.array(speeds[round(START_S / step_s) :]), round(MEAN_S / step_s)
    raw = float(np.std(np.diff(after) / step_s))
    mean = float(np.std(np.diff(after[::every]) / MEAN_S))
    tilt = max(pose.tilt_rad for pose in poses)
    return f"{first[0]:.2f} | {first[1]:.2f} | {tilt:.2f} | {raw:.3f} | {mean:.3f}"


def main():
    """Drive on all terrains, and print a row for each drive."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--terrain", nargs="+", choices=list(TERRAINS), default=list(TERRAINS))
    parser.add_argument("--step-s", type=float, nargs="+", default=[0.001, 0.005])
    parser.add_argument("--skid", nargs="+", choices=["wheels", "servo"], default=["wheels"])
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    print(
        "| terrain | skid | turn, rad/s | step, ms | ahead | sideways | tilt | σ step | σ 10 ms |"
    )
    for name in arguments.terrain:
        terrain = ground(name)
        for skid in arguments.skid:
            for turn_radps in (0.0, 0.5) if name == "level" else (0.0,):
                for step_s in arguments.step_s:
                    row = measure(terrain, skid, step_s, turn_radps)
                    case = f"{name} | {skid} | {turn_radps} | {1000 * step_s:g}"
                    print(f"| {case} | {row} |", flush=True)


if __name__ == "__main__":
    main()
