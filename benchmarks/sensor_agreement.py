#!/usr/bin/env python3
"""Compare the ranges of all sensors of robots in the embedded simulator with those in Gazebo.

    gz_testauto multiply worlds/arena.world --spec config/obstacle_kinds/furniture_obstacles.yaml \
        --count 5 --seed 3 --out WORLDS
    ROS_PACKAGE_PATH=… ./bootstrap exec python3 benchmarks/sensor_agreement.py --worlds WORLDS \
        models/service_robot@front_lidar,rear_lidar MODEL@LIDAR …

Each robot is placed at one random pose with a clearance in each world, in both simulators. All
sensors measure at time 0 without noise, before physics moves the robot. A ray agrees if both
ranges differ by less than 1 mm, or if both have no return. Prints for each sensor the number of
rays, the share of rays that do not agree, and the largest difference of the others. The exit
status is 1 if more than 0.5 % of the rays of a sensor do not agree.
"""

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Dict, List, Tuple

import numpy as np
from public_robots import free_pose

from gz_testauto.base.pose import Pose2D
from gz_testauto.sdf.robot import RobotModel, read_robot
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.interface import Scene

TOLERANCE_M, LIMIT = 0.001, 0.005

Place = Tuple[RobotModel, Path, Pose2D]


def measured(simulator: str, places: List[Place]) -> Dict[Tuple[str, str], List[np.ndarray]]:
    """Return the ranges (m) of each sensor at each place, by robot and sensor."""
    found: Dict[Tuple[str, str], List[np.ndarray]] = {}
    options = {"stall_timeout_s": 300.0} if simulator == "gazebo" else {}
    with SIMULATORS.get(simulator)(**options) as running:
        for robot, world, pose in places:
            chosen = [one for one in robot.sensors if one.kind != "contact"]
            sensors = tuple(replace(one, noise_m=(0.0, 0.0)) for one in chosen)
            snapshot = running.load(Scene(world, robot, pose, 1, sensors=sensors)).snapshot()
            scan = snapshot.scan
            if scan is not None and robot.single_lidar is not None:
                found.setdefault((robot.name, "scan"), []).append(scan.ranges_m)
            for name, reading in snapshot.sensors.items():
                found.setdefault((robot.name, name), []).append(reading.ranges_m.ravel())
    return found


def main() -> int:
    """Print a table, and return 1 if the simulators do not agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="+", help="MODEL@LIDAR[,LIDAR]")
    parser.add_argument("--worlds", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    failed = False
    for text in arguments.robots:
        path, _, lidar = text.partition("@")
        name = Path(path).name.split(".")[0]
        robot = without_noise(read_robot(path, name, lidar=lidar or None))
        worlds = sorted(arguments.worlds.glob("*.world"))
        places = [(robot, world, free_pose(world, robot, rng)) for world in worlds]
        failed = not agrees(places) or failed
    return int(failed)


def agrees(places: List[Place]) -> bool:
    """Print one line for each sensor, and return whether the simulators agree at all places."""
    first, second = (measured(one, places) for one in ("embedded", "gazebo"))
    failed = False
    for key, ranges in first.items():
        one, other = np.concatenate(ranges), np.concatenate(second[key])
        with np.errstate(invalid="ignore"):
            difference = np.abs(one - other)
        difference[np.isinf(one) & np.isinf(other)] = 0.0
        is_equal = difference < TOLERANCE_M
        share = 1.0 - float(is_equal.mean())
        failed = failed or share > LIMIT
        print(
            f"{key[0]:<22} {key[1]:<24} {len(one):>8} rays {100 * share:7.3f} % differ, the others "
            f"by at most {1000 * difference[is_equal].max():.3f} mm",
            flush=True,
        )
    return not failed


def without_noise(robot: RobotModel) -> RobotModel:
    """Return the robot without noise of its sensors."""
    lidar = robot.lidar
    if lidar is not None and lidar.parts:
        parts = tuple(replace(one, noise_m=(0.0, 0.0)) for one in lidar.parts)
        lidar = replace(lidar, parts=parts)
    sensors = tuple(replace(one, noise_m=(0.0, 0.0)) for one in robot.sensors)
    sdf = re.sub(r"<noise.*?</noise>", "", robot.sdf, flags=re.DOTALL)
    return replace(robot, sdf=sdf, lidar=lidar, sensors=sensors)


if __name__ == "__main__":
    sys.exit(main())
