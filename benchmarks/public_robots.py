#!/usr/bin/env python3
"""Compare the scans of robots in the embedded simulator with those in Gazebo.

    ROS_PACKAGE_PATH=… ./bootstrap exec python3 benchmarks/public_robots.py CAMPAIGN.yaml … \
        --worlds RESULTS/worlds

For each campaign, for example of ``config/robots/``, ten poses with a clearance of at least 0.3 m
are drawn, one in each world of the directory. The robot is placed there in both simulators, and
its scans after 0.5 s are compared. Prints for each robot the share of rays whose ranges differ by
more than 0.1 m, of which one has no return and the other has, or that end on the robot (-inf).
The descriptions are public and not part of this package; docs/robots.md contains the figures.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from gz_testauto.base.pose import Pose2D
from gz_testauto.sdf.floor import obstructing_heights
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.campaign import BuiltinCampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.clearance import ObstacleField, footprint_at
from gz_testauto.trial.testbed import read_body

POSES, CLEARANCE_M, TOLERANCE_M, LIMIT = 10, 0.3, 0.1, 0.01
HALF_SIZE_M = 12.0


def free_pose(world: Path, robot: RobotModel, rng: np.random.Generator) -> Pose2D:
    """Return a random pose with a clearance in a world."""
    field = ObstacleField(read_scene(world), obstructing_heights(robot.height_m))
    outline = np.asarray(robot.footprint_m)
    while True:
        x_m, y_m = rng.uniform(-HALF_SIZE_M, HALF_SIZE_M, 2)
        pose = Pose2D(float(x_m), float(y_m), float(rng.uniform(-np.pi, np.pi)))
        if field.distances_m(np.array([footprint_at(outline, pose)]))[0] >= CLEARANCE_M:
            return pose


def scans(simulator: str, robot: RobotModel, places: "list[tuple[Path, Pose2D]]") -> np.ndarray:
    """Return the ranges (m) at each place, shape (places, rays)."""
    found = []
    instance = SIMULATORS.get(simulator)()
    try:
        for world, pose in places:
            simulation = instance.load(Scene(world, robot, pose, 1))
            for _ in range(5):
                snapshot = simulation.step(0.1)
            found.append(snapshot.scan.ranges_m)
    finally:
        instance.close()
    return np.array(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("campaigns", type=Path, nargs="+")
    parser.add_argument("--worlds", type=Path, required=True, help="directory of .world files")
    arguments = parser.parse_args()
    worlds = sorted(arguments.worlds.glob("*.world"))
    most = 0.0
    for path in arguments.campaigns:
        spec = load(path, BuiltinCampaignSpec)
        robot = read_body(spec)
        rng = np.random.default_rng(spec.seed)
        places = []
        for index in range(POSES):
            world = worlds[index % len(worlds)]
            places.append((world, free_pose(world, robot, rng)))
        embedded, gazebo = (scans(name, robot, places) for name in ("embedded", "gazebo"))
        with np.errstate(invalid="ignore"):
            same = (np.abs(embedded - gazebo) <= TOLERANCE_M) | (embedded == gazebo)
        on_robot = np.isneginf(embedded) | np.isneginf(gazebo)
        share = float(np.mean(~same | on_robot))
        most = max(most, share)
        print(
            f"{spec.name}: {int(np.sum(~same))} of {same.size} rays differ, "
            f"{int(np.sum(on_robot))} end on the robot, {100 * share:.2f} %",
            flush=True,
        )
    return int(most > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
