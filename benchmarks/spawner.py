"""Measure the time to spawn and to clear random obstacles over ROS, per obstacle.

For each simulator, starts a roscore with the simulator node and the obstacle spawner of this
package in an empty world, and calls the services ``~spawn`` and ``~clear`` of the spawner with 16,
100, 300 and 1,000 obstacles, half boxes and half cylinders, at the same density. Meanwhile, the
simulation runs at a real-time factor of 1. Prints the wall time of each call, also per obstacle,
and the time per obstacle relative to that of the smallest number above 16. The exit status is 1 if
a value exceeds the limit.

With --running, measures the simulator that runs at ROS_MASTER_URI instead, such as a Gazebo with
gazebo_ros, in which all random obstacles are deleted.

    python3 benchmarks/spawner.py [--simulators embedded gazebo] [--counts 16 100 300 1000] [--json]
    python3 benchmarks/spawner.py --running --counts 16 100
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rosgraph
import rospy
from gazebo_msgs.srv import GetWorldProperties
from gz_testauto.srv import ClearObstacles, SpawnObstacles

START_S = 90.0
CALL_S = 1800.0
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
  {simulator}
  <node pkg="gz_testauto" type="obstacle_spawner" name="obstacle_spawner" required="true"/>
</launch>
"""
SIMULATOR = """<node pkg="gz_testauto" type="simulator" name="simulator" required="true">
    <param name="simulator" value="{name}"/>
    <param name="world" value="{world}"/>
    <param name="real_time_factor" value="1.0"/>
  </node>"""


def specification(count):
    edge = 0.5 * (count * M2_PER_OBSTACLE) ** 0.5
    return SPEC.format(half=count // 2, edge=edge)


@contextlib.contextmanager
def launched(content, port):
    """Launch nodes at a port, where a roscore is started if none runs, until the end of the
    block. The nodes write to standard error."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "plain.world").write_text(WORLD)
        (folder / "nodes.launch").write_text(content(folder / "plain.world"))
        command = ["roslaunch", "-p", str(port), str(folder / "nodes.launch")]
        launch = subprocess.Popen(
            command,
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


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def connected(name, kind, launch):
    """Return a proxy of a service, as soon as the service exists."""
    deadline = time.monotonic() + START_S
    while True:
        try:
            rospy.wait_for_service(name, timeout=1.0)
            return rospy.ServiceProxy(name, kind)
        except rospy.ROSException as error:
            if launch.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"spawner: {name} does not exist: {error}") from error


def timed(call, *arguments):
    """Return the wall time (s) of a service call. Exits if the call fails."""
    began = time.perf_counter()
    answer = call(*arguments)
    if not answer.success:
        raise SystemExit(f"spawner: {answer.message}")
    return time.perf_counter() - began


def measure(launch, counts):
    """Return one row for each number of obstacles."""
    connected("/gazebo/get_world_properties", GetWorldProperties, launch)
    spawn = connected("/obstacle_spawner/spawn", SpawnObstacles, launch)
    clear = connected("/obstacle_spawner/clear", ClearObstacles, launch)
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
    """Measure one simulator in a process, since rospy supports one master per process."""
    if simulator is None:
        port, node = int(rosgraph.rosenv.get_master_uri().rstrip("/").rpartition(":")[2]), ""
    else:
        port, node = free_port(), SIMULATOR
        os.environ.update(ROS_MASTER_URI=f"http://127.0.0.1:{port}", ROS_IP="127.0.0.1")

    def content(world):
        return LAUNCH.format(simulator=node.format(name=simulator, world=world))

    with launched(content, port) as launch:
        deadline = time.monotonic() + START_S
        while not rosgraph.is_master_online():
            if time.monotonic() > deadline:
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
    parser.add_argument("--running", action="store_true", help="measure the running simulator")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    if min(arguments.counts) < 2:
        parser.error("--counts must be at least 2")
    if arguments.running:
        figures = {"running": run(None, arguments.counts)}
    elif len(arguments.simulators) == 1:
        figures = {arguments.simulators[0]: run(arguments.simulators[0], arguments.counts)}
    else:
        figures = {}
        for name in arguments.simulators:
            command = [sys.executable, __file__, "--simulators", name, "--json", "--counts"]
            command += map(str, arguments.counts)
            done = subprocess.run(command, stdout=subprocess.PIPE, timeout=CALL_S)
            if not done.stdout:
                return 1
            figures.update(json.loads(done.stdout))
    print(json.dumps(figures, indent=2) if arguments.json else table(figures))
    if arguments.running:
        return 0
    each = [row[key] for rows in figures.values() for row in rows for key in row if "each" in key]
    slow = [value for value in each if value > 1e3 * LIMIT_S]
    if slow:
        print(f"{len(slow)} of {len(each)} values exceed {1e3 * LIMIT_S:g} ms", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
