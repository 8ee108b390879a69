"""Measure the time to spawn and to clear random obstacles over ROS, per obstacle.

For each simulator, starts the simulator node and the obstacle spawner in an empty world, at a
real-time factor of 1. Calls the services ``~spawn`` and ``~clear`` of the spawner with 16, 100, 300
and 1,000 obstacles, half boxes and half cylinders, at the same density. Prints the wall time of
each call, also per obstacle, and the time per obstacle relative to that of the smallest number
above 16. The exit status is 1 if a value exceeds the limit.

    python3 benchmarks/spawner.py [--simulators embedded gazebo] [--counts 16 100 300 1000]
"""

import argparse
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import rosgraph
import rospy
from gazebo_msgs.srv import GetWorldProperties
from gz_testauto.srv import ClearObstacles, SpawnObstacles

from gz_testauto.processes import free_port

START_TIMEOUT_S = 90.0
M2_PER_OBSTACLE = 16.0
LIMIT_S = 0.02
"""Largest allowed time (s) to spawn or to clear an obstacle in a simulator of this package."""

WORLD = """<sdf version="1.6"><world name="default">
<include><uri>model://ground_plane</uri></include></world></sdf>
"""

SPEC = """
obstacles:
  - {{type: box, count: {half}, size_x_m: [0.3, 1.2], size_y_m: [0.3, 1.2]}}
  - {{type: cylinder, count: {half}, radius_m: [0.2, 0.5]}}
region: {{rectangle: {{x_m: [-{edge:.1f}, {edge:.1f}], y_m: [-{edge:.1f}, {edge:.1f}]}}}}
min_gap_m: 0.3
"""

LAUNCH = """<launch>
  <param name="use_sim_time" value="true"/>
  <node pkg="gz_testauto" type="simulator" name="simulator" required="true">
    <param name="simulator" value="{simulator}"/>
    <param name="world" value="{world}"/>
    <param name="real_time_factor" value="1.0"/>
  </node>
  <node pkg="gz_testauto" type="obstacle_spawner" name="obstacle_spawner" required="true"/>
</launch>
"""


def specification(count):
    edge = 0.5 * (count * M2_PER_OBSTACLE) ** 0.5
    return SPEC.format(half=count // 2, edge=edge)


@contextlib.contextmanager
def launched(simulator, port):
    """Run the nodes and a roscore at a port until the end of the block."""
    with tempfile.TemporaryDirectory() as directory:
        world, launch_file = Path(directory) / "plain.world", Path(directory) / "nodes.launch"
        world.write_text(WORLD)
        launch_file.write_text(LAUNCH.format(simulator=simulator, world=world))
        launch = subprocess.Popen(
            ["roslaunch", "-p", str(port), str(launch_file)],
            stdout=2,
            stderr=2,
            env={**os.environ, "ROS_LOG_DIR": directory},
            start_new_session=True,
        )
        try:
            yield launch
        finally:
            launch.send_signal(signal.SIGINT)
            launch.wait(60)


def connect(name, kind, launch):
    """Return a client of a service after the service is registered."""
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            rospy.wait_for_service(name, timeout=1.0)
            return rospy.ServiceProxy(name, kind)
        except rospy.ROSException as error:
            if launch.poll() is not None or time.monotonic() > deadline_s:
                raise SystemExit(f"spawner: {name} does not exist: {error}") from error


def timed(call, *arguments):
    """Return the wall time (s) of a service call. Exits if the call fails."""
    began_s = time.perf_counter()
    response = call(*arguments)
    if not response.success:
        raise SystemExit(f"spawner: {response.message}")
    return time.perf_counter() - began_s


def measure(launch, counts):
    """Return one row for each number of obstacles."""
    connect("/gazebo/get_world_properties", GetWorldProperties, launch)
    spawn = connect("/obstacle_spawner/spawn", SpawnObstacles, launch)
    clear = connect("/obstacle_spawner/clear", ClearObstacles, launch)
    timed(spawn, specification(2), 1, True)  # opens the connections and loads the modules
    rows = []
    for number in counts:
        timed(clear)
        row = {"obstacles": number, "spawn_s": timed(spawn, specification(number), 1, True)}
        row["clear_s"] = timed(clear)
        for name in ("spawn", "clear"):
            row[f"{name}_ms_each"] = 1e3 * row[f"{name}_s"] / number
        rows.append(row)
        print(f"{number} obstacles: {row['spawn_s']:.2f} s", file=sys.stderr)
    reference = next((row for row in rows if row["obstacles"] > 16), rows[0])
    for row in rows:
        row["growth"] = row["spawn_ms_each"] / reference["spawn_ms_each"]
    return rows


def run(simulator, counts):
    """Measure one simulator in a new process, since rospy supports one master per process."""
    port = free_port()
    os.environ.update(ROS_MASTER_URI=f"http://127.0.0.1:{port}", ROS_IP="127.0.0.1")
    with launched(simulator, port) as launch:
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while not rosgraph.is_master_online():
            if time.monotonic() > deadline_s:
                raise SystemExit("spawner: no ROS master was started")
            time.sleep(0.2)
        rospy.init_node("spawner_benchmark", anonymous=True, disable_signals=True)
        return measure(launch, counts)


def table(figures):
    """Return the results as a Markdown table."""
    lines = [
        "| simulator | obstacles | spawn, s | ms each | growth | clear, s | ms each |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, rows in figures.items():
        for row in rows:
            lines.append(
                f"| {name} | {row['obstacles']:,} | {row['spawn_s']:.2f} | "
                f"{row['spawn_ms_each']:.1f} | {row['growth']:.2f} | {row['clear_s']:.2f} | "
                f"{row['clear_ms_each']:.1f} |"
            )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulators", nargs="+", default=["embedded", "gazebo"], metavar="NAME")
    parser.add_argument("--counts", nargs="+", type=int, default=[16, 100, 300, 1000], metavar="N")
    arguments = parser.parse_args()
    if min(arguments.counts) < 2:
        parser.error("--counts must be at least 2")
    figures = {}
    for name in arguments.simulators:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            figures[name] = pool.submit(run, name, arguments.counts).result()
    print(table(figures))
    each = [row[key] for rows in figures.values() for row in rows for key in row if "each" in key]
    slow = [value for value in each if value > 1e3 * LIMIT_S]
    if slow:
        print(f"{len(slow)} of {len(each)} values exceed {1e3 * LIMIT_S:g} ms", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
