#!/usr/bin/env python3
"""Measure the cost, accuracy and repeatability of bodies that move in every control period.

Bodies of one link move along circles and receive a new twist in each period. For a simulator,
prints the wall time of a period without bodies, with bodies at rest, with bodies moved by twists
and, in Gazebo, by poses; the largest error against the circles; and the number of new simulators
that gave the same bits.

    python3 benchmarks/movers.py --simulator gazebo --movers 20
"""

import argparse
import hashlib
import math
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from gz_testauto.actors.bodies import body_sdf
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.shapes import Cylinder
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.changes import SetModel
from gz_testauto.simulators.interface import NamedModel, Scene
from gz_testauto.testing.simulator_suite import WORLD

PERIOD_S = 0.1
RADIUS_M = 1.0


def start_m(number):
    return np.array([4.0 * (number % 5) - 8.0, 4.0 * (number // 5) - 8.0, 0.02])


def target_m(number, time_s):
    angle = time_s * (0.5 + 0.05 * number)
    return start_m(number) + RADIUS_M * np.array([math.sin(angle), 1 - math.cos(angle), 0.0])


def scene(world, count):
    sdf = body_sdf(Cylinder(0.25, 1.7), 70.0, (0.0, 0.0, 0.85))
    models = tuple(
        NamedModel(f"mover_{i}", sdf, Pose(tuple(start_m(i).tolist()))) for i in range(count)
    )
    robot = read_robot(share_directory() / "models" / "wheelchair", "robot")
    return Scene(world, robot, Pose2D(20.0, 20.0), models=models)


def drive(simulation, count, periods, by):
    """Return the wall time of each period, the largest error, and a hash of all poses."""
    digest, worst, walls = hashlib.sha256(), 0.0, []
    snapshot = simulation.step(PERIOD_S)
    for period in range(periods):
        began = time.perf_counter()
        changes = []
        for i in range(0 if by == "standing" else count):
            wanted = target_m(i, (period + 1) * PERIOD_S)
            if by == "pose":
                changes.append(SetModel(f"mover_{i}", Pose(tuple(wanted.tolist()))))
            else:
                now = np.array(snapshot.models[f"mover_{i}"].pose.position)
                speed = tuple(((wanted - now) / PERIOD_S).tolist())
                changes.append(SetModel(f"mover_{i}", None, speed, (0.0, 0.0, 0.5)))
        if changes:
            simulation.apply(changes)
        snapshot = simulation.step(PERIOD_S)
        walls.append(time.perf_counter() - began)
        for i in range(count):
            position = np.array(snapshot.models[f"mover_{i}"].pose.position)
            digest.update(position.tobytes())
            if by == "twist":
                off = position - target_m(i, (period + 1) * PERIOD_S)
                worst = max(worst, float(np.linalg.norm(off)))
    return statistics.median(walls), worst, digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--simulator", default="gazebo")
    parser.add_argument("--movers", type=int, default=20)
    parser.add_argument("--periods", type=int, default=40)
    parser.add_argument("--fresh", type=int, default=5, help="fresh simulators (default 5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "movers.world"
        world.write_text(WORLD.format(models=""))
        digests, walls, worst = [], {"none": [], "standing": [], "twist": [], "pose": []}, 0.0
        for _ in range(options.fresh):
            with open_simulator(options.simulator) as simulator:
                loaded = simulator.load(scene(world, options.movers))
                wall, error, digest = drive(loaded, options.movers, options.periods, "twist")
                walls["twist"].append(wall)
                digests.append(digest)
                worst = max(worst, error)
                loaded = simulator.load(scene(world, options.movers))
                still = drive(loaded, options.movers, options.periods, "standing")[0]
                walls["standing"].append(still)
                loaded = simulator.load(scene(world, 0))
                walls["none"].append(drive(loaded, 0, options.periods, "twist")[0])
                loaded = simulator.load(scene(world, options.movers))
                periods = min(options.periods, 10)
                walls["pose"].append(drive(loaded, options.movers, periods, "pose")[0])
    none, still, twist, pose = (statistics.median(found) for found in walls.values())
    print(
        f"{options.simulator}, {options.movers} movers, {options.periods} periods of {PERIOD_S} s"
    )
    print(f"period_ms_without            {1e3 * none:9.2f}")
    print(f"period_ms_standing           {1e3 * still:9.2f}")
    print(f"period_ms_by_twists          {1e3 * twist:9.2f}")
    print(f"period_ms_by_placing         {1e3 * pose:9.2f}")
    print(f"twists_over_none             {twist / none:9.2f}   limit 4")
    print(f"twists_over_standing         {twist / still:9.2f}   limit 1.5 embedded, 2.5 gazebo")
    print(f"twists_over_placing          {twist / pose:9.2f}   limit 0.33")
    print(f"largest_error_mm             {1e3 * worst:9.4f}   limit 1")
    print(f"same_bits                    {max(map(digests.count, digests))} of {len(digests)}")


if __name__ == "__main__":
    main()
