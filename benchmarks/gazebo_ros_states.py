"""Measure reading and setting the states of many models, as in figure 6 of the DeepSim paper.

Uses the services of gazebo_ros at ROS_MASTER_URI for 10, 20 ... 100 models, by three methods: one
call per model over a new connection each, as users of gazebo_ros usually write it; one call per
model over a persistent connection; and all requests sent on a persistent connection before the
first reply is read (pipelined). If the simulator node of this package provides the services, there
is a fourth method: all models in one request over a persistent connection. The methods alternate in
every round, so that other load of the machine affects all. Prints the median time of a round in ms,
the minimum in brackets, and the medians of the ratios to the pipelined method, and of the first to
the last.

The models are static boxes, which are spawned and deleted by this program. It does not change
whether the simulation is paused. With --node, it starts and stops a roscore and the simulator node.

    python3 benchmarks/gazebo_ros_states.py [--rounds 50] [--json]
    python3 benchmarks/gazebo_ros_states.py --node embedded
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time

import rosgraph
import rospy
from gazebo_msgs import srv
from gazebo_msgs.msg import ModelState as ModelStateMessage
from geometry_msgs.msg import Twist
from gz_testauto.srv import GetModelStates, SetModelStates

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import GzTestautoError, SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.ros.graph import is_served
from gz_testauto.simulators.gazebo_ros import GazeboRosClient
from gz_testauto.simulators.gazebo_ros.connection import MasterLink, ServiceConnection
from gz_testauto.simulators.interface import NamedModel

GET, SET = "/gazebo/get_model_state", "/gazebo/set_model_state"
KINDS = {GET: srv.GetModelState, SET: srv.SetModelState}
WAYS = ("new connection", "kept connection", "pipelined")
ONE = "one request"
MANY = {GET: "/simulator/get_model_states", SET: "/simulator/set_model_states"}
LIMIT_S = 30.0
START_S = 60.0
HEIGHT_M = 40.0
BOX = """<sdf version="1.6"><model name="box"><static>true</static><link name="link">
<collision name="box"><geometry><box><size>0.5 0.5 0.5</size></box></geometry></collision>
</link></model></sdf>"""


@contextlib.contextmanager
def simulator_node(simulator):
    """Start a roscore on a free port and the simulator node of this package until the end of the
    block. The environment variables of ROS refer to it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    os.environ.update(ROS_MASTER_URI=f"http://127.0.0.1:{port}", ROS_IP="127.0.0.1")
    command = ["roslaunch", "-p", str(port), "gz_testauto", "simulator.launch"]
    launch = subprocess.Popen(
        [*command, f"simulator:={simulator}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield launch
    finally:
        launch.send_signal(signal.SIGINT)
        launch.wait()


def await_world(launch):
    """Return a client of gazebo_ros as soon as the simulator has loaded a world."""
    client, deadline = GazeboRosClient(), time.monotonic() + START_S
    while True:
        try:
            client.world()
            return client
        except SimulatorError:
            if launch is None or launch.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def served_by():
    """Return the node, simulator and version that provide the services."""
    _, _, services = rosgraph.Master(rospy.get_name()).getSystemState()
    node = next(nodes[0] for name, nodes in services if name == GET)
    identity = rospy.get_param(f"{node}/identity", {"name": "gazebo_ros", "version": ""})
    return f"{node}: {identity['name']} {identity['version']}".strip()


def requests_for(service, names, shift_m):
    if service == GET:
        return [srv.GetModelStateRequest(name, "world") for name in names]
    return [
        srv.SetModelStateRequest(
            ModelStateMessage(name, ros_messages.pose_message(place(i, shift_m)), Twist(), "world")
        )
        for i, name in enumerate(names)
    ]


def place(number, shift_m=0.0):
    return Pose((number % 10 + shift_m, number // 10 + 0.0, HEIGHT_M))


class Methods:
    """The methods of calling ``service`` for many models."""

    def __init__(self, service):
        kept = rospy.ServiceProxy(service, KINDS[service], persistent=True)
        pipelined = ServiceConnection(MasterLink(), service, KINDS[service])
        self.calls = {
            WAYS[0]: lambda requests: [
                rospy.ServiceProxy(service, KINDS[service])(request) for request in requests
            ],
            WAYS[1]: lambda requests: [kept(request) for request in requests],
            WAYS[2]: lambda requests: pipelined.call(requests, LIMIT_S),
        }
        if is_served(MANY[service], 0.5):
            kind = GetModelStates if service == GET else SetModelStates
            many = rospy.ServiceProxy(MANY[service], kind, persistent=True)
            self.calls[ONE] = lambda requests: all_in_one(many, service, requests)

    def timed(self, method, requests):
        """Return the wall time (ms) of a round. Exits if a reply reports a failure."""
        began = time.perf_counter()
        answers = self.calls[method](requests)
        passed_ms = 1e3 * (time.perf_counter() - began)
        failed = [
            getattr(answer, "status_message", "") or answer.message
            for answer in answers
            if not answer.success
        ]
        if failed or len(answers) != (1 if method == ONE else len(requests)):
            raise SimulatorError(f"{method}: {failed or 'answers are missing'}")
        return passed_ms


def all_in_one(many, service, requests):
    """Return the reply to one request for all models."""
    if service == GET:
        return [many([request.model_name for request in requests])]
    return [many([request.model_state for request in requests])]


def measure(service, names, rounds):
    """Return one row: medians (ms) by method, and median ratios to the pipelined method."""
    methods = Methods(service)
    asked = list(methods.calls)
    times = {method: [] for method in asked}
    for number in range(rounds + 1):
        for turn in range(len(asked)):
            method = asked[(number + turn) % len(asked)]
            passed_ms = methods.timed(method, requests_for(service, names, 0.01 * number))
            if number:  # the first round opens the connections
                times[method].append(passed_ms)
    ratios = {
        method: statistics.median(a / b for a, b in zip(times[method], times[WAYS[2]]))
        for method in WAYS[:2]
    }
    if ONE in times:
        ratios[ONE] = statistics.median(a / b for a, b in zip(times[WAYS[0]], times[ONE]))
    return {
        "ms": {method: round(statistics.median(values), 2) for method, values in times.items()},
        "least_ms": {method: round(min(values), 2) for method, values in times.items()},
        "ratio": {method: round(value, 1) for method, value in ratios.items()},
    }


def check_places(client, names, shift_m):
    """Check that the simulation has the states that were set."""
    for number, (name, pose) in enumerate(client.poses(names).items()):
        if (
            max(map(abs, (a - b for a, b in zip(pose.position, place(number, shift_m).position))))
            > 1e-3
        ):
            raise SimulatorError(f"{name} is not where it was set")


def run(arguments, launch):
    client = await_world(launch)
    rospy.init_node("gazebo_ros_states", anonymous=True, disable_signals=True)
    counts = list(range(10, arguments.models + 1, 10))
    names = [f"states_benchmark_{number}" for number in range(counts[-1])]
    figures = {
        "served_by": served_by(),
        "ros": client.ros_version(),
        "paused": client.paused(),
        "models_besides": len(client.model_names()),
        "processors": os.cpu_count(),
        "rounds": arguments.rounds,
        "rows": [],
    }
    print(f"spawning {len(names)} models", file=sys.stderr)
    try:
        client.spawn_models([NamedModel(name, BOX, place(i)) for i, name in enumerate(names)])
        for count in counts:
            row = {"models": count}
            for label, service in (("get", GET), ("set", SET)):
                row[label] = measure(service, names[:count], arguments.rounds)
            check_places(client, names[:count], 0.01 * arguments.rounds)
            figures["rows"].append(row)
            print(f"{count} models done", file=sys.stderr)
    finally:
        client.delete(set(names) & client.model_names())
    return figures


def table(figures):
    """Print the results as two Markdown tables."""
    lines = [f"{key}: {value}" for key, value in figures.items() if key != "rows"]
    for label in ("get", "set"):
        ratios = [f"{method} ÷ {WAYS[2]}" for method in WAYS[:2]]
        methods = list(figures["rows"][0][label]["ms"])
        ratios += [f"{WAYS[0]} ÷ {ONE}"] if ONE in methods else []
        columns = [label, *methods, *ratios]
        lines += ["", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
        for row in figures["rows"]:
            found = row[label]
            cells = [
                f"{found['ms'][method]:.1f} ({found['least_ms'][method]:.1f})" for method in methods
            ]
            cells += [f"{ratio:.1f}" for ratio in found["ratio"].values()]
            lines.append(f"| {row['models']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50, help="rounds per row (default 50)")
    parser.add_argument("--models", type=int, default=100, help="most models (default 100)")
    parser.add_argument("--node", metavar="SIMULATOR", help="start our simulator node on this")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.models < 10:
        parser.error("--rounds must be at least 1 and --models at least 10")
    node = simulator_node(arguments.node) if arguments.node else contextlib.nullcontext()
    try:
        with node as launch:
            figures = run(arguments, launch)
    except GzTestautoError as error:
        print(f"gazebo_ros_states: {error}", file=sys.stderr)
        return 2
    print(json.dumps(figures, indent=2) if arguments.json else table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
