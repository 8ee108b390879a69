"""Measure the cost of lock-step in Gazebo.

The same gzserver, world (30 m x 30 m, 8 boxes, 8 cylinders), robot and subscribed sensors (lidar
270 degrees at 10 Hz, IMU at 100 Hz) run freely at an unlimited update rate, and in lock-step with a
new command every 0.1 s. Both are measured alternately, each time on a new server. Prints wall time
per simulated second of both, and their ratio with its spread.

    python3 benchmarks/gazebo_lockstep.py [--turns 5] [--seconds 30]
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from example import ROOT, print_figures

from gz_testauto.base import resources
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.gazebo import GazeboSimulator
from gz_testauto.simulators.gazebo.installation import find_gazebo
from gz_testauto.simulators.gazebo.readings import leading_stamp
from gz_testauto.simulators.gazebo.robot import DriveCommand
from gz_testauto.simulators.gazebo.server import ServerProcess
from gz_testauto.simulators.gazebo.split_world import split_world
from gz_testauto.simulators.gazebo.world import WorldLink
from gz_testauto.simulators.interface import NamedModel, Scene
from gz_testauto.spec.loader import load
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.worlds.multiply import multiply

PERIOD_S = 0.1
START = Pose2D(-11.0, -11.0, 0.785398)


def run_freely(world, robot, seconds):
    """Return the wall time per simulated second of a gzserver that runs at an unlimited rate."""
    split = split_world(world, update_rate_hz=0.0)
    models = [*split.movables, NamedModel(robot.name, robot.sdf, START.to_pose())]
    server = ServerProcess(
        find_gazebo(),
        split.base,
        seed=1,
        model_path=resources.model_path(),
        one_processor=False,
    )
    try:
        link = WorldLink(server)
        clock = []
        link.listen(
            "world_stats",
            "WorldStatistics",
            lambda payload: clock.append((time.perf_counter(), leading_stamp(payload) / 1e9)),
        )
        velocity = link.advertise_to(robot.name, "vel_cmd", "Pose")
        link.spawn(models)
        for sensor, kind in ((robot.lidar, "scan"), (robot.imu, "imu")):
            topic = f"{robot.name}/{sensor.link}/{sensor.sensor}/{kind}"
            link.listen(topic, "GzString", lambda payload: None)
        link.wait_for_topics()
        link.wait_for(lambda: velocity.connected and clock, "connecting")
        velocity.send(DriveCommand(robot).message(Twist2D(0.5, 0.1)))
        link.acknowledge()
        link.control(multi_step=round(seconds / split.physics.step_size_s))
        link.wait_for(lambda: clock[-1][1] >= seconds, "running freely")
        # the server publishes its time only five times per second
        running = [(wall_s, time_s) for wall_s, time_s in clock if 0 < time_s < seconds]
        if len(running) < 2:
            raise SystemExit(f"{seconds:g} simulated s are too short; increase the duration")
        (first_wall_s, first_s), (last_wall_s, last_s) = running[0], running[-1]
        return (last_wall_s - first_wall_s) / (last_s - first_s)
    finally:
        server.close()


def run_in_lock_step(world, robot, seconds):
    """Return the wall time per simulated second of a gzserver in lock-step."""
    generator = np.random.default_rng(3)
    with GazeboSimulator() as simulator:
        simulation = simulator.load(Scene(world, robot, START, seed=1))
        began_s = time.perf_counter()
        for _ in range(round(seconds / PERIOD_S)):
            simulation.drive(Twist2D(0.5, 0.1 + generator.uniform(-0.01, 0.01)))
            simulation.step(PERIOD_S)
        return (time.perf_counter() - began_s) / seconds


def measure(arguments, directory):
    robot = read_robot(ROOT / "models" / "wheelchair")
    spec = load(ROOT / "config" / "obstacles.yaml", ObstacleSpec)
    base = ROOT / "worlds" / "arena.world"
    free, locked = [], []
    for world in multiply(base, spec, arguments.turns, 7, Path(directory) / "worlds"):
        free.append(run_freely(world.path, robot, arguments.seconds))
        locked.append(run_in_lock_step(world.path, robot, arguments.seconds))
        print(f"free {free[-1]:.4f}  lock-step {locked[-1]:.4f}", file=sys.stderr)
    ratios = [locked_s / free_s for locked_s, free_s in zip(locked, free)]
    return {
        "simulated_s_per_turn": arguments.seconds,
        "turns": arguments.turns,
        "free_wall_s_per_simulated_s": round(statistics.median(free), 4),
        "lock_step_wall_s_per_simulated_s": round(statistics.median(locked), 4),
        "ratio_median": round(statistics.median(ratios), 3),
        "ratio_least": round(min(ratios), 3),
        "ratio_greatest": round(max(ratios), 3),
        "ratio_of_the_fastest": round(min(locked) / min(free), 3),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5, help="turns of each kind (default 5)")
    parser.add_argument("--seconds", type=float, default=30.0, help="simulated s (default 30)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        print_figures(measure(arguments, directory))


if __name__ == "__main__":
    main()
