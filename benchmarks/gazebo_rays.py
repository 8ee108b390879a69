#!/usr/bin/env python3
"""Measure the processor time that a 3-D lidar with many rays takes in Gazebo.

    ./bootstrap exec python3 benchmarks/gazebo_rays.py [--rays 0,14400,28800] [--periods 10]

A gzserver loads ``worlds/arena.world`` with ``models/service_robot``, whose 3-D lidar has the given
number of rays in 16 rows, and simulates control periods of 0.1 s, in each of which the lidar
measures. Prints the processor time of gzserver for loading a scene and for a period, and the wall
times. Processor time depends little on other load of the machine.
"""

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path

from example import ROOT

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators.gazebo import GazeboSimulator
from gz_testauto.simulators.interface import Scene

ROWS, PERIOD_S, TIMEOUT_S = 16, 0.1, 600.0


def times_s(pid: int) -> "tuple[float, float]":
    """Return the processor time of a process and its threads, and the wall time (s)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK"), time.monotonic()


def main() -> None:
    """Print one line for each number of rays."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rays", default="0,3600,14400,28800")
    parser.add_argument("--periods", type=int, default=10)
    options = parser.parse_args()
    robot = read_robot(ROOT / "models" / "service_robot", lidar="front_lidar")
    lidar = next(one for one in robot.sensors if one.name == "lidar_3d")
    first = Scene(ROOT / "worlds" / "arena.world", robot, Pose2D(-3.0, 0.0, 0.0), 1)
    with GazeboSimulator(stall_timeout_s=TIMEOUT_S) as simulator:
        simulator.load(first)  # starts the server
        pid = simulator._server.pid
        for rays in map(int, options.rays.split(",")):
            columns = lidar.columns._replace(samples=rays // ROWS)
            sensors = (replace(lidar, columns=columns, update_rate_hz=0.0),) if rays else ()
            times = [times_s(pid)]
            simulation = simulator.load(replace(first, sensors=sensors))
            times.append(times_s(pid))
            for _ in range(options.periods):
                simulation.drive(Twist2D(0.3, 0.0))
                simulation.step(PERIOD_S)
            times.append(times_s(pid))
            (load_s, load_wall_s), (run_s, run_wall_s) = (
                tuple(end - start for start, end in zip(*pair)) for pair in zip(times, times[1:])
            )
            print(
                f"{rays:6} rays: scene {load_s:.2f} s of processor time, {load_wall_s:.2f} s of "
                f"wall time; period {run_s / options.periods:.3f} s and "
                f"{run_wall_s / options.periods:.3f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
