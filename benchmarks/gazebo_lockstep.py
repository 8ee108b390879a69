"""Measure the cost of lock-step in Gazebo, and check that trials are repeatable to the bit.

Speed: the same gzserver, world (30 m x 30 m, 8 boxes, 8 cylinders), robot and subscribed sensors
(lidar 270 degrees at 10 Hz, IMU at 100 Hz) run freely at an unlimited update rate, and in lock-step
with a new command every 0.1 s. Both are measured alternately in one run, each time on a new server,
so that other load of the machine affects both. Prints wall time per simulated second of both, and
their ratio with its spread.

Repeatability (--repeat): the robot follows commands computed from its scans, so that one different
bit would change the trial. Every repetition has a new server, which runs the trials in another
order. So each trial is compared between new servers and servers that have already run others.

    python3 benchmarks/gazebo_lockstep.py [--turns 5] [--seconds 30] [--json]
    python3 benchmarks/gazebo_lockstep.py --repeat 5 --trials 10
"""

import argparse
import hashlib
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


def make_worlds(directory, count, dynamic):
    """Generate ``count`` worlds as in the example campaign."""
    spec = load(ROOT / "config" / "obstacles.yaml", ObstacleSpec)
    if dynamic:
        groups = [group.model_copy(update={"static": False}) for group in spec.obstacles]
        spec = spec.model_copy(update={"obstacles": groups})
    worlds = multiply(ROOT / "worlds" / "arena.world", spec, count, 7, Path(directory) / "worlds")
    return [world.path for world in worlds]


def run_freely(world, robot, seconds):
    """Return the wall time per simulated second of a gzserver that runs at an unlimited rate.

    The server publishes its time only five times per second. So the time between the first and the
    last message is measured.
    """
    split = split_world(world, update_rate_hz=0.0)
    with_models = [*split.movables, NamedModel(robot.name, robot.sdf, START.to_pose())]
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
        link.spawn(with_models)
        for sensor, kind in ((robot.lidar, "scan"), (robot.imu, "imu")):
            topic = f"{robot.name}/{sensor.link}/{sensor.sensor}/{kind}"
            link.listen(topic, "GzString", lambda payload: None)
        link.wait_for_topics()
        link.wait_for(lambda: velocity.connected and clock, "connecting")
        velocity.send(DriveCommand(robot).message(Twist2D(0.5, 0.1)))
        link.acknowledge()
        link.control(multi_step=round(seconds / split.physics.step_size_s))
        link.wait_for(lambda: clock[-1][1] >= seconds, "running freely")
        running = [(wall_s, time_s) for wall_s, time_s in clock if 0 < time_s < seconds]
        if len(running) < 2:
            raise SystemExit(f"{seconds:g} simulated s are over too soon to be timed; give more")
        (first_wall_s, first_s), (last_wall_s, last_s) = running[0], running[-1]
        return (last_wall_s - first_wall_s) / (last_s - first_s)
    finally:
        server.close()


def run_in_lock_step(world, robot, seconds):
    """Return the wall time per simulated second of a gzserver in lock-step."""
    generator = np.random.default_rng(3)
    with GazeboSimulator() as simulator:
        simulation = simulator.load(Scene(world, robot, START, seed=1))
        begun_s = time.perf_counter()
        for _ in range(round(seconds / PERIOD_S)):
            simulation.drive(Twist2D(0.5, 0.1 + generator.uniform(-0.01, 0.01)))
            simulation.step(PERIOD_S)
        return (time.perf_counter() - begun_s) / seconds


def measure_speed(arguments, robot, directory):
    worlds = make_worlds(directory, arguments.turns, arguments.dynamic)
    free, locked = [], []
    for world in worlds:
        free.append(run_freely(world, robot, arguments.seconds))
        locked.append(run_in_lock_step(world, robot, arguments.seconds))
        print(f"free {free[-1]:.4f}  lock-step {locked[-1]:.4f}", file=sys.stderr)
    ratios = [one / other for one, other in zip(locked, free)]
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


def trial(simulator, world, robot, seed, seconds):
    """Drive the robot towards the free side of its scan, and return the hash of all
    observations."""
    simulation = simulator.load(Scene(world, robot, START, seed=seed))
    digest = hashlib.sha256()
    snapshot = simulation.snapshot()
    for _ in range(round(seconds / PERIOD_S)):
        ranges = np.minimum(snapshot.scan.ranges_m, 10.0)
        middle = len(ranges) // 2
        left, right = ranges[middle : middle + 120].mean(), ranges[middle - 120 : middle].mean()
        speed = min(0.9, 0.3 * float(ranges[middle - 20 : middle + 20].min()))
        simulation.drive(Twist2D(speed, float(np.clip(0.4 * (left - right), -1.2, 1.2))))
        snapshot = simulation.step(PERIOD_S)
        for name in sorted(snapshot.models):
            pose = snapshot.models[name].pose
            digest.update(np.array([*pose.position, *pose.quaternion]).tobytes())
        digest.update(snapshot.scan.ranges_m.tobytes())
        digest.update(repr(snapshot.contacts).encode())
    return digest.hexdigest()[:16]


def measure_repeatability(arguments, robot, directory):
    worlds = make_worlds(directory, arguments.trials, arguments.dynamic)
    seen = {number: [] for number in range(arguments.trials)}
    generator = np.random.default_rng(1)
    for repeat in range(arguments.repeat):
        order = list(seen) if repeat == 0 else generator.permutation(list(seen)).tolist()
        with GazeboSimulator() as simulator:
            for number in order:
                digest = trial(simulator, worlds[number], robot, number, arguments.seconds)
                seen[number].append(digest)
                print(f"repeat {repeat} trial {number} {digest}", file=sys.stderr)
    return {
        "repeats": arguments.repeat,
        "trials": arguments.trials,
        "identical_trials": sum(len(set(digests)) == 1 for digests in seen.values()),
        "digests": {str(number): sorted(set(digests)) for number, digests in seen.items()},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5, help="turns of each kind (default 5)")
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="simulated s per turn or trial (default 30)"
    )
    parser.add_argument("--dynamic", action="store_true", help="obstacles that can be pushed")
    parser.add_argument("--repeat", type=int, default=0, help="check repeatability so often")
    parser.add_argument("--trials", type=int, default=10, help="trials per repeat (default 10)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    robot = read_robot(ROOT / "models" / "wheelchair")
    with tempfile.TemporaryDirectory() as directory:
        if arguments.repeat:
            figures = measure_repeatability(arguments, robot, directory)
            good = figures["identical_trials"] == figures["trials"]
        else:
            figures = measure_speed(arguments, robot, directory)
            good = True
    print_figures(figures, arguments.json)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
