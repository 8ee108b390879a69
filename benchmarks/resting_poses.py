"""Compare the resting pose and the scan of a robot in two simulators, in any world.

In each world the robot is placed at free poses drawn from a seed: on the ground, without collision
shapes between the ground and its own height. After two seconds at rest its height, its roll and
pitch, and its scan are read. A ray differs if its ranges differ by more than
--max-range-difference-m, or if it is finite in one simulator only. A pose is bad if the robot's
height differs by more than 0.02 m or its tilt by more than 0.05 rad.

Prints for each world: the share of rays that differ, bad poses, the largest differences of height
(m) and tilt (rad) from level ground in each simulator, and the wall time of loading in each: the
first, and the median of the others.

    export GAZEBO_MODEL_PATH=models  # the folders of the worlds' models, as for Gazebo
    python3 benchmarks/resting_poses.py WORLD... [--poses 10] [--seed 0] [--pose X,Y,YAW]
        [--robot models/wheelchair] [--simulators gazebo,embedded]
        [--max-range-difference-m 0.1] [--each]
"""

import argparse
import contextlib
import math
import statistics
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import shapely
from example import ROOT, obstacle_outlines

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.pose import Pose2D
from gz_testauto.sdf.robot import read_robot
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.shapes import Plane
from gz_testauto.simulators import Scene, open_simulator
from gz_testauto.trial.clearance import footprint_at
from gz_testauto.worlds.static_map import bounds_of

STANDING_S = 2.0
CLEAR_M = 0.05
MAX_HEIGHT_DIFFERENCE_M = 0.02
MAX_TILT_DIFFERENCE_RAD = 0.05


class RestingRobot(NamedTuple):
    """State of a robot at rest: height, tilt, ranges of the scan, and wall time of loading the
    scene."""

    height_m: float
    tilt_rad: float
    ranges_m: np.ndarray
    load_s: float


def free_poses(world, robot, count, seed):
    """Return random poses on the ground at which the robot touches no obstacle."""
    scene = read_scene(world)
    shapes = [shape for model in scene.models.values() for shape in model.collisions]
    obstacles = obstacle_outlines(shapes, robot)
    ground = [shape for shape in shapes if shape.is_ground]
    floor = None
    if not any(isinstance(shape.geometry, Plane) for shape in ground):
        floor = shapely.union_all([shape.footprint(-math.inf, math.inf) for shape in ground])
    generator = np.random.default_rng(seed)
    outline = np.asarray(robot.footprint_m)
    x_min, y_min, x_max, y_max = bounds_of(scene, 0.05)
    found = []
    for _ in range(10_000):
        place = generator.uniform((x_min, y_min, -math.pi), (x_max, y_max, math.pi))
        pose = Pose2D(*place.tolist())
        covered = footprint_at(outline, pose).buffer(CLEAR_M)
        if obstacles.intersects(covered) or not (floor is None or floor.contains(covered)):
            continue
        found.append(pose)
        if len(found) == count:
            break
    return found


def let_rest(simulator, world, robot, pose):
    """Place the robot, and wait until it is at rest."""
    began = time.monotonic()
    simulation = simulator.load(Scene(world, robot, pose))
    load_s = time.monotonic() - began
    for _ in range(round(STANDING_S / 0.1)):
        snapshot = simulation.step(0.1)
    at = snapshot.models[robot.name].pose
    tilt = math.acos(max(-1.0, min(1.0, float(at.rotation[2, 2]))))
    return RestingRobot(at.position[2], tilt, snapshot.scan.ranges_m, load_s)


def differing_rays(first, second, max_difference_m):
    """Return for each ray whether the two ranges differ by more than the limit."""
    with np.errstate(invalid="ignore"):
        return ~((first == second) | (np.abs(first - second) <= max_difference_m))


def format_largest(robots):
    """Return the largest height and tilt from level ground, as text."""
    return f"{max((r.height_m for r in robots), key=abs):.3f}/{max(r.tilt_rad for r in robots):.3f}"


def format_load_times(robots):
    """Return the first loading time and the median of all later ones, as text."""
    others = [r.load_s for r in robots[1:]] or [math.nan]
    return f"{robots[0].load_s:.1f}/{statistics.median(others):.1f}"


def compare(world, robot, simulators, arguments):
    """Return one line for a world. With --each, print one line for each pose."""
    poses = arguments.pose or free_poses(world, robot, arguments.poses, arguments.seed)
    if not poses:
        return "no free pose"
    names = list(simulators)
    of = {
        name: [let_rest(simulators[name], world, robot, pose) for pose in poses] for name in names
    }
    first, second = of[names[0]], of[names[-1]]
    shares, bad = [], 0
    for pose, a, b in zip(poses, first, second):
        differ = differing_rays(a.ranges_m, b.ranges_m, arguments.max_range_difference_m)
        shares.append(float(differ.mean()))
        wrong = (
            abs(a.height_m - b.height_m) > MAX_HEIGHT_DIFFERENCE_M
            or abs(a.tilt_rad - b.tilt_rad) > MAX_TILT_DIFFERENCE_RAD
        )
        bad += wrong
        if arguments.each:
            print(
                f"    {pose.x_m:.2f},{pose.y_m:.2f},{pose.yaw_rad:.2f} rays {shares[-1]:.1%} "
                f"z {a.height_m:.3f} {b.height_m:.3f} tilt {a.tilt_rad:.3f} {b.tilt_rad:.3f}"
            )
    figures = [
        f"{name} {format_largest(of[name])} m/rad, load {format_load_times(of[name])} s"
        for name in names
    ]
    return f"{np.mean(shares):.2%} of rays, {bad} of {len(poses)} bad; " + "; ".join(figures)


def _pose(text):
    """Parse X,Y,YAW in meters and radians; a type for argparse."""
    return Pose2D(*map(float, text.split(",")))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("worlds", nargs="+", type=Path)
    parser.add_argument("--poses", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pose", type=_pose, action="append", default=[])
    parser.add_argument("--robot", type=Path, default=ROOT / "models" / "wheelchair")
    parser.add_argument("--simulators", default="gazebo,embedded")
    parser.add_argument("--max-range-difference-m", type=float, default=0.1)
    parser.add_argument("--each", action="store_true", help="a line for every pose too")
    arguments = parser.parse_args()
    robot = read_robot(arguments.robot)
    with contextlib.ExitStack() as stack:
        simulators = {
            name: stack.enter_context(open_simulator(name))
            for name in arguments.simulators.split(",")
        }
        for world in arguments.worlds:
            try:
                print(f"{world.stem}: {compare(world, robot, simulators, arguments)}", flush=True)
            except GzTestautoError as error:
                print(f"{world.stem}: refused: {str(error)[:400]}", flush=True)


if __name__ == "__main__":
    main()
