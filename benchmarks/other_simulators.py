"""Compare the CPU time of the embedded simulator with that of IR-SIM for the same work.

A differential-drive robot drives a circle among boxes and cylinders in 28 m x 28 m, with a lidar of
270 degrees at 10 Hz and steps of 0.1 s. Both start with one step that is not measured. IR-SIM moves
the robot kinematically; the embedded simulator computes physics in steps of 5 ms. IR-SIM is
installed from the package index into a temporary virtual environment. Prints the medians of
alternating rounds in CPU milliseconds per simulated second, and the share of rays with a return in
the last scan, which shows that both measure the same obstacles.

    python3 benchmarks/other_simulators.py [--rounds 3]
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile
import time
import venv
from pathlib import Path

import numpy as np
from embedded import set_rays
from example import ROOT

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.interface import Scene

DRIVE_S = 10.0
PERIOD_S = 0.1
PACKAGE = "ir-sim==2.12.0"
CASES = ((16, 360), (256, 360), (16, 1440), (256, 1440))
"""Numbers of obstacles and of rays."""
BOX, CYLINDER = "name: rectangle, length: 0.4, width: 0.5", "name: circle, radius: 0.25"

IR_SIM = """
import json, sys, time
import numpy, irsim
world, steps = sys.argv[1], int(sys.argv[2])
environment = irsim.make(world, headless=True, log_level="ERROR")
environment.step([0.5, 0.5])
began_s = time.process_time()
for _ in range(steps):
    environment.step([0.5, 0.5])
cpu_s = time.process_time() - began_s
ranges_m = environment.robot.lidar.range_data
print(json.dumps([cpu_s, float(numpy.mean(ranges_m < 9.999)), bool(environment.robot.collision)]))
"""
"""Program that drives in IR-SIM, and prints CPU time, share of returns and collision."""

IR_SIM_ROBOT = """
robot:
  - kinematics: {{name: diff}}
    shape: {{name: rectangle, length: 1.1, width: 0.66}}
    state: [0, 0, 0]
    goal: [100, 100, 0]
    vel_max: [1, 2]
    sensors:
      - {{name: lidar2d, range_min: 0.1, range_max: 10, angle_range: 4.71238898, number: {rays},
         offset: [0.5, 0, 0]}}
"""


def obstacle_positions(obstacles):
    """Return the positions (m) of obstacles that leave the circle of the robot free."""
    axis = [28.0 / 17 * (i - 8) for i in range(17)]
    positions = [(x, y) for x in axis for y in axis if x * x + y * y > 2.5**2]
    return [positions[int(index * (len(positions) / obstacles))] for index in range(obstacles)]


def write_world(directory, obstacles):
    """Write the arena with boxes and cylinders in turn. The yaw (rad) of each is its index."""
    models = []
    for index, (x, y) in enumerate(obstacle_positions(obstacles)):
        shape = (
            "<box><size>0.4 0.5 1</size></box>"
            if index % 2
            else "<cylinder><radius>0.25</radius><length>1</length></cylinder>"
        )
        models.append(
            f'<model name="obstacle_{index}"><static>1</static><pose>{x:.3f} {y:.3f} 0.5 0 0 '
            f'{index}</pose><link name="link"><collision name="c"><geometry>{shape}</geometry>'
            "</collision></link></model>"
        )
    path = directory / f"{obstacles}.world"
    text = (ROOT / "worlds" / "arena.world").read_text()
    path.write_text(text.replace("</world>", "".join(models) + "</world>"))
    return path


def write_robot(directory, rays):
    robot = read_robot(ROOT / "models" / "wheelchair")
    path = directory / f"{rays}.sdf"
    path.write_text(set_rays(robot.sdf, rays))
    return read_robot(path, robot.name)


def write_ir_sim_world(obstacles, rays, path):
    """Write the walls of the arena and the obstacles of ``write_world`` for IR-SIM."""
    lines = [f"world: {{height: 32, width: 32, offset: [-16, -16], step_time: {PERIOD_S}}}"]
    lines += [IR_SIM_ROBOT.format(rays=rays), "obstacle:"]
    shapes = [
        (f"{x:.3f}, {y:.3f}, {index % math.tau:.6f}", BOX if index % 2 else CYLINDER)
        for index, (x, y) in enumerate(obstacle_positions(obstacles))
    ]
    wall = "name: rectangle, length: 30.4, width: 0.2"
    for position in ("0, 15.1, 0", "0, -15.1, 0", "15.1, 0, 1.570796", "-15.1, 0, 1.570796"):
        shapes.append((position, wall))
    lines += [f"  - {{shape: {{{shape}}}, state: [{state}]}}" for state, shape in shapes]
    path.write_text("\n".join(lines) + "\n")
    return path


def install(place):
    """Install IR-SIM into a virtual environment, and return its Python."""
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True)
    return python


def drive_ir_sim(python, world):
    """Return the CPU time (ms per simulated second) and the share of rays with a return."""
    command = [python, "-c", IR_SIM, world, str(round(DRIVE_S / PERIOD_S))]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # waiting threads use CPU time
    output = subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL, env=environment)
    cpu_s, returns, collided = json.loads(output.splitlines()[-1])
    assert not collided, "the robot must not collide in IR-SIM"
    return 1000 * cpu_s / DRIVE_S, returns


def drive_embedded(simulator, world, robot):
    """Return the CPU time (ms per simulated second) and the share of rays with a return."""
    simulation = simulator.load(Scene(world, robot, Pose2D(0.0, 0.0, 0.0)))
    simulation.drive(Twist2D(0.5, 0.5))
    simulation.step(PERIOD_S)
    began_s = time.process_time()
    for _ in range(round(DRIVE_S / PERIOD_S)):
        snapshot = simulation.step(PERIOD_S)
    cpu_s = time.process_time() - began_s
    return 1000 * cpu_s / DRIVE_S, float(np.mean(np.isfinite(snapshot.scan.ranges_m)))


def measure(obstacles, rays, rounds, python, place):
    """Return the medians of both simulators, embedded first, as (ms, share of returns)."""
    ir_sim_world = write_ir_sim_world(obstacles, rays, place / f"{obstacles}_{rays}.yaml")
    world, robot = write_world(place, obstacles), write_robot(place, rays)
    embedded, ir_sim = [], []
    with EmbeddedSimulator() as simulator:
        drive_embedded(simulator, world, robot)  # compiles
        for _ in range(rounds):
            embedded.append(drive_embedded(simulator, world, robot))
            ir_sim.append(drive_ir_sim(python, ir_sim_world))
    return [[statistics.median(values) for values in zip(*pairs)] for pairs in (embedded, ir_sim)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds (default 3)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="other_simulators_") as directory:
        place = Path(directory)
        python = install(place / "ir_sim")
        print(f"| obstacles | rays | embedded, ms | {PACKAGE}, ms | ratio | returns, % |")
        print("|---|---|---|---|---|---|")
        for obstacles, rays in CASES:
            (ours_ms, ours), (theirs_ms, theirs) = measure(
                obstacles, rays, arguments.rounds, python, place
            )
            print(
                f"| {obstacles} | {rays:,} | {ours_ms:.1f} | {theirs_ms:.1f} | "
                f"{theirs_ms / ours_ms:.1f} | {100 * ours:.1f}, {100 * theirs:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
