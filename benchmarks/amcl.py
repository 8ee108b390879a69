"""Localize a simulated robot with the real amcl, and compare its poses with the ground truth.

MAP is a YAML file of map_server. `gz_testauto world-from-map` converts it to a world. The simulator
node runs the embedded simulator with wheel odometry with errors and a lidar with noise. map_server
and amcl of ros-planning/navigation run as on a robot, with coefficients that match both. The robot
drives between random points, controlled by the true pose. Simulated time waits until amcl has
processed each scan. Each drive has another start, other errors, and an initial pose that is drawn
from the covariance that amcl receives.

For each --scale of the errors, prints the root-mean-square error of amcl's poses, the error that
its covariances predict, and the mean of the normalized squared error, which is 3 if the covariances
are exact. The intervals (95 %) are from a bootstrap over drives. Warnings and errors in the log of
amcl are printed. With --kidnap, the robot is moved to another point after --kidnap seconds; prints
how many drives are localized again, and after which time. With --relocate, amcl then receives an
initial pose with the errors of the start.

--prefix starts map_server and amcl, for example `chroot ROOT` or `docker exec CONTAINER`. They must
find MAP at the same path. --out receives a line of JSON for each drive; --summary only prints the
results of these lines. The same command continues an interrupted run. Logs are next to it.

    python3 benchmarks/amcl.py MAP.yaml --out amcl.jsonl [--drives 20] [--scales 1 4 10]
    python3 benchmarks/amcl.py MAP.yaml --out kidnapped.jsonl --kidnap 15 --seconds 120
"""

import argparse
import contextlib
import json
import math
import os
import re
import shlex
import sys
import threading
import time
from pathlib import Path

import numpy as np
import yaml

from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main as gz_testauto
from gz_testauto.grid.map_server import read_map_file
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.grid.search import shortest_path, simplify
from gz_testauto.ros.launched_process import LaunchedProcess
from gz_testauto.ros.master import start_master

ALPHA = 0.002
"""All four coefficients of the odometry, for a scale of 1."""
PARAMETERS = Path(__file__).resolve().parents[1] / "config" / "localization" / "amcl.yaml"
LIDAR_M = 0.03
"""Standard deviation (m) of the ranges."""
START_M, START_RAD = 0.2, 0.1
"""Standard deviations of the initial pose."""
RADIUS_M, SPEED_MPS, TURN_RADPS, PERIOD_S = 0.45, 0.6, 1.0, 0.1
DRAWS, FAR_M = 100, 3.0
RECOVERED_M, RECOVERED_RAD, RECOVERED_UPDATES = 0.5, 0.3, 5
TOLERANCE_S = 0.1
"""The parameter ``transform_tolerance`` of amcl."""
CHI_SQUARE_95 = 7.815
"""The 95 % quantile of the chi-square distribution with 3 degrees of freedom."""


def amcl_parameters(scale, kidnapped, particles):
    """Return the parameters of amcl that match the odometry and the lidar."""
    found = yaml.safe_load(PARAMETERS.read_text(encoding="utf-8"))
    for number in (1, 2, 3, 4):
        found[f"odom_alpha{number}"] *= scale**2
    found["max_particles"] = particles
    if kidnapped:
        found.update(recovery_alpha_slow=0.001, recovery_alpha_fast=0.1)
    return found


class Building:
    """The free space of a map, in which drives start and end at random points."""

    def __init__(self, path):
        found = read_map_file(path)
        x_m, y_m, _ = found.origin
        grid = OccupancyGrid(found.occupied | found.unknown, found.resolution_m, x_m, y_m)
        self.grid = grid.inflate(RADIUS_M)
        self.cells = self._largest_area()

    def _largest_area(self):
        from scipy import ndimage

        areas, _ = ndimage.label(~self.grid.occupied)
        largest = 1 + int(np.argmax(np.bincount(areas.ravel())[1:]))
        return np.argwhere(areas == largest)

    def draw(self, random):
        """Return a random free point (m)."""
        return self.grid.center_of(*self.cells[random.integers(len(self.cells))])

    def path(self, start, random):
        """Return a path (m), shape (n, 2), from a point to a random point."""
        free = self.grid if self.grid.is_free(*start) else self._around(start)
        for number in range(DRAWS):
            goal = self.draw(random)
            if math.dist(start, goal) < FAR_M and number < DRAWS // 2:
                continue  # a small building can have no goal so far away
            path = shortest_path(free, start, goal)
            if path is not None:
                return simplify(self.grid, path) if free is self.grid else path
        raise RuntimeError(f"no path from {start} to {DRAWS} random points")

    def _around(self, start):
        """Return the grid with the cells around a point free, for a robot that left its path."""
        row, column = self.grid.cell_of(*start)
        occupied = self.grid.occupied.copy()
        size = math.ceil(RADIUS_M / self.grid.resolution_m)
        occupied[max(0, row - size) : row + size + 1, max(0, column - size) : column + size + 1] = 0
        return OccupancyGrid(occupied, *list(vars(self.grid).values())[1:4])


class Driver:
    """A controller that follows random paths with the true pose."""

    def __init__(self, building, random):
        self._building, self._random = building, random
        self.restart()

    def restart(self):
        """Choose another path in the next period."""
        self._path = []

    def command(self, pose):
        """Return the linear (m/s) and angular velocity (rad/s) at a pose."""
        while self._path and pose.distance_to(*self._path[0]) < 0.3:
            self._path.pop(0)
        if not self._path:
            path = self._building.path((pose.x_m, pose.y_m), self._random)
            self._path = [tuple(point) for point in path[1:]]
        x_m, y_m = self._path[0]
        off_rad = wrap_angle(math.atan2(y_m - pose.y_m, x_m - pose.x_m) - pose.yaw_rad)
        turn_radps = max(-TURN_RADPS, min(TURN_RADPS, 1.5 * off_rad))
        return SPEED_MPS * max(0.0, 1.0 - abs(off_rad) / 0.7), turn_radps


class Listener:
    """The newest true pose, all true poses by their stamp, and all poses of amcl."""

    def __init__(self):
        import rospy
        from geometry_msgs.msg import PoseWithCovarianceStamped
        from nav_msgs.msg import Odometry
        from tf2_msgs.msg import TFMessage

        self.changed = threading.Condition()
        self.truth, self.odom, self.estimates, self.expires_ns = {}, {}, [], 0
        self.newest = None
        topics = (
            ("/simulator/ground_truth", Odometry, self._on_truth),
            ("/odom", Odometry, self._on_odom),
            ("/amcl_pose", PoseWithCovarianceStamped, self._on_estimate),
            ("/tf", TFMessage, self._on_transforms),
        )
        self._subscribers = [
            rospy.Subscriber(topic, kind, on, queue_size=1000) for topic, kind, on in topics
        ]

    def _on_truth(self, message):
        with self.changed:
            self.newest = message.header.stamp.to_nsec()
            self.truth[self.newest] = planar(message.pose.pose)
            self.changed.notify_all()

    def _on_odom(self, message):
        with self.changed:
            self.odom[message.header.stamp.to_nsec()] = planar(message.pose.pose)
            self.changed.notify_all()

    def _on_estimate(self, message):
        with self.changed:
            covariance = np.array(message.pose.covariance).reshape(6, 6)
            stamp = message.header.stamp.to_nsec()
            self.estimates.append((stamp, planar(message.pose.pose), covariance))

    def _on_transforms(self, message):
        with self.changed:
            for one in message.transforms:
                if one.child_frame_id == "odom":
                    self.expires_ns = max(self.expires_ns, one.header.stamp.to_nsec())
                    self.changed.notify_all()

    def wait(self, condition, what, timeout_s=20.0):
        """Wait until a condition holds. Raise ``TimeoutError`` after the timeout."""
        with self.changed:
            if not self.changed.wait_for(condition, timeout_s):
                raise TimeoutError(f"{what}: not after {timeout_s:g} s")


def planar(pose):
    q = pose.orientation
    yaw_rad = math.atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y**2 + q.z**2))
    return Pose2D(pose.position.x, pose.position.y, yaw_rad)


class Stack:
    """A ROS graph with the simulator node, map_server and amcl."""

    def __init__(self, files, scale, arguments, opened):
        prefix, map_file = arguments.prefix, arguments.map.absolute()
        self._files, self._map_file = files, map_file
        logs = files / f"logs_{scale:g}"
        logs.mkdir(exist_ok=True)
        opened.enter_context(contextlib.closing(start_master(files / "home", logs, 60.0)))
        import rospy
        from geometry_msgs.msg import PoseWithCovarianceStamped
        from gz_testauto.srv import LoadScene

        # Nodes under the prefix need the master's address, too.
        rospy.set_param("/use_sim_time", True)
        localization = {"estimate": "drift", "scale": float(scale)}
        localization["odometry"] = {"alpha": [ALPHA] * 4}
        parameters = {
            "simulator": "embedded",
            "period": PERIOD_S,
            "real_time_factor": "lockstep",
            "command_timeout": 60.0,
            "start_timeout": 60.0,
            "map_to_odom": False,
            "localization": localization,
        }
        rospy.set_param("/simulator", parameters)
        rospy.set_param(
            "/amcl", amcl_parameters(scale, bool(arguments.kidnap), arguments.particles)
        )
        self.logs = logs
        node = [sys.executable, "-m", "gz_testauto.ros.simulator.node"]
        self._start(opened, "simulator", node)
        server = [*prefix, "rosrun", "map_server", "map_server", map_file]
        self._start(opened, "map_server", server)
        rospy.init_node("drives", disable_signals=True)
        self.heard = Listener()
        self.load = rospy.ServiceProxy("/simulator/load_scene", LoadScene)
        self.load.wait_for_service(60.0)
        rospy.wait_for_service("/static_map", 60.0)
        self._initial = rospy.Publisher("/initialpose", PoseWithCovarianceStamped, queue_size=1)
        self._amcl = [*prefix, "rosrun", "amcl", "amcl"]

    def _start(self, opened, name, command):
        command = [*map(str, command), f"__name:={name}"]
        process = LaunchedProcess(name, command, self.logs / f"{name}.log", may_exit=True)
        return opened.enter_context(contextlib.closing(process))

    def drive(self, number, building, seconds, kidnap_s, relocate):
        """Run one drive, and return its record."""
        import rospy
        from gazebo_msgs.msg import ModelState
        from gazebo_msgs.srv import SetModelState
        from geometry_msgs.msg import Pose2D as Pose2DMessage
        from geometry_msgs.msg import Twist
        from gz_testauto.srv import LoadSceneRequest

        from gz_testauto.base import ros_messages

        heard, random = self.heard, np.random.default_rng([39, number])
        start = Pose2D(*building.draw(random), float(random.uniform(-math.pi, math.pi)))
        request = LoadSceneRequest(
            world=str(self._files / f"{self._map_file.stem}.world"),
            robot_model=str(self._files / "robot" / "model.sdf"),
            robot_name="robot",
            start=Pose2DMessage(*start),
            seed=39,
            world_index=number,
        )
        begin = self.load(request).stamp.to_nsec()
        heard.wait(lambda: (heard.newest or 0) >= begin, "the first true pose")
        drawn = random.normal(size=3) * (START_M, START_M, START_RAD)
        first = [value + error for value, error in zip(start, drawn)]
        for axis, value in zip("xya", first):
            rospy.set_param(f"/amcl/initial_pose_{axis}", float(value))
            spread = START_RAD if axis == "a" else START_M
            rospy.set_param(f"/amcl/initial_cov_{axis * 2}", spread**2)
        commands = rospy.Publisher("/cmd_vel", Twist, queue_size=10)
        place = rospy.ServiceProxy("/gazebo/set_model_state", SetModelState)
        driver = Driver(building, random)
        kidnapped_ns = None
        with contextlib.ExitStack() as opened:
            process = self._start(opened, "amcl", self._amcl)
            heard.expires_ns, count = 0, len(heard.estimates)
            # Without scans, amcl publishes nothing. So the first periods do not wait for it.
            now, begun = begin, time.monotonic()
            heard.wait(lambda: commands.get_num_connections() > 0, "the simulator")
            while now < begin + seconds * 1e9:
                failure = process.failure()
                if failure:
                    raise RuntimeError(failure)
                pose = heard.truth[now]
                turn = Twist()
                if heard.expires_ns:
                    turn.linear.x, turn.angular.z = driver.command(pose)
                elif time.monotonic() > begun + 60.0:
                    raise TimeoutError("amcl: no transform after 60 s")
                else:
                    begin = now
                    time.sleep(0.1)
                if kidnap_s and kidnapped_ns is None and now >= begin + kidnap_s * 1e9:
                    moved = Pose2D(*building.draw(random), float(random.uniform(-3.0, 3.0)))
                    state = ModelState(model_name="robot", reference_frame="world")
                    state.pose = ros_messages.pose_message(moved.to_pose(0.0))
                    place(state)
                    driver.restart()
                    kidnapped_ns = now
                    if relocate:
                        self._relocate(moved, random)
                commands.publish(turn)
                before = now
                heard.wait(lambda: heard.newest > before, "a control period")  # noqa: B023
                now = heard.newest
                if heard.expires_ns:
                    due = before + (TOLERANCE_S - 0.01) * 1e9
                    heard.wait(lambda: heard.expires_ns >= due, "amcl")  # noqa: B023
        return self._record(number, begin, now, heard.estimates[count:], kidnapped_ns)

    def _relocate(self, pose, random):
        """Publish an initial pose with errors near ``pose``, like the user of RViz."""
        from geometry_msgs.msg import PoseWithCovarianceStamped

        from gz_testauto.base import ros_messages

        spread = np.array([START_M, START_M, START_RAD])
        drawn = np.array(pose) + random.normal(size=3) * spread
        message = PoseWithCovarianceStamped()
        message.header.frame_id = "map"
        message.pose.pose = ros_messages.pose_message(Pose2D(*drawn.tolist()).to_pose(0.0))
        message.pose.covariance = np.diag([*(spread[:2] ** 2), 0, 0, 0, spread[2] ** 2]).ravel()
        self._initial.publish(message)

    def _record(self, number, begin, end, estimates, kidnapped_ns):
        rows = []
        for stamp, pose, covariance in estimates:
            true = self.heard.truth.get(stamp)
            if true is None or stamp <= begin:
                continue
            x_m, y_m = pose.x_m - true.x_m, pose.y_m - true.y_m
            own = covariance[np.ix_((0, 1, 5), (0, 1, 5))]
            errors = [x_m, y_m, wrap_angle(pose.yaw_rad - true.yaw_rad)]
            rows.append([(stamp - begin) / 1e9, *errors, *own[np.triu_indices(3)].tolist()])
        self.heard.wait(lambda: end in self.heard.odom, "the last odometry")
        odom, true = self.heard.odom[end], self.heard.truth[end]
        return {
            "drive": number,
            "seconds": (end - begin) / 1e9,
            "drift_m": math.dist(odom[:2], true[:2]),
            "kidnapped_s": kidnapped_ns and (kidnapped_ns - begin) / 1e9,
            "rows": rows,
            "warnings": warnings_in(self.logs / "amcl.log"),
        }


def warnings_in(log):
    """Return the warnings and errors in a log of amcl, without stamps and colors."""
    text = re.sub(r"\x1b\[[\d;]*m", "", log.read_text(errors="replace"))
    lines = [line for line in text.splitlines() if re.search(r"WARN|ERROR|FATAL|TF_", line)]
    return [re.sub(r"\[\s*\d+\.\d+(, \d+\.\d+)?\]:?", "", line).strip() for line in lines]


def prepare(files, map_file):
    """Write the world and a robot with a noisy lidar."""
    status = gz_testauto(["world-from-map", str(map_file), "--out", str(files)])
    if status != 0:
        sys.exit(status)
    model = (share_directory() / "models" / "jackal_sized" / "model.sdf").read_text("utf-8")
    noise = f"<noise><type>gaussian</type><mean>0</mean><stddev>{LIDAR_M}</stddev></noise>"
    # the noise of the lidar, not of the IMU
    model, count = re.subn(r"(\s*</ray>)", rf"{noise}\1", model)
    assert count == 1, count
    (files / "robot").mkdir(exist_ok=True)
    (files / "robot" / "model.sdf").write_text(model, encoding="utf-8")


# ---- results


def drives_in(out):
    """Return the records of a file of results, by scale."""
    found = {}
    if out.exists():
        for line in out.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            found.setdefault(record["scale"], []).append(record)
    return found


def interval(values_of, drives, level=0.95):
    """Return the value for all drives, and its bootstrap interval over drives."""
    random = np.random.default_rng(1)
    picks = random.integers(len(drives), size=(2000, len(drives)))
    drawn = [values_of([drives[one] for one in pick]) for pick in picks]
    low, high = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return f"{values_of(drives):.3g} [{low:.3g}, {high:.3g}]"


def covariances(rows):
    """Return the covariances of some rows, shape (n, 3, 3)."""
    found = np.zeros((len(rows), 3, 3))
    first, second = np.triu_indices(3)
    found[:, first, second] = found[:, second, first] = rows[:, 4:10]
    return found


def squared(rows):
    """Return the normalized squared errors of some rows, shape (n,)."""
    return np.einsum("ni,nij,nj->n", rows[:, 1:4], np.linalg.inv(covariances(rows)), rows[:, 1:4])


def summarize(out, skip_s):
    """Print the table of all scales. The first ``skip_s`` of each drive are not part of it."""
    heads = ["scale", "drives", "updates", "drift (m)", "RMS error (m)", "predicted (m)"]
    heads += ["RMS error (rad)", "predicted (rad)", "normalized squared error", "% within 95 %"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for scale, records in sorted(drives_in(out).items()):
        drives = []
        for one in records:
            rows = np.array([row for row in one["rows"] if row[0] >= skip_s])
            spread = covariances(rows)
            drives.append(
                {
                    "error": (rows[:, 1] ** 2 + rows[:, 2] ** 2, rows[:, 3] ** 2),
                    "spread": (spread[:, 0, 0] + spread[:, 1, 1], spread[:, 2, 2]),
                    "nees": squared(rows),
                    "drift": one["drift_m"],
                }
            )

        def rms(name, part):
            return lambda some: math.sqrt(np.concatenate([one[name][part] for one in some]).mean())

        def of_nees(function):
            return lambda some: float(function(np.concatenate([one["nees"] for one in some])))

        functions = (
            lambda some: float(np.mean([one["drift"] for one in some])),
            rms("error", 0),
            rms("spread", 0),
            rms("error", 1),
            rms("spread", 1),
            of_nees(np.mean),
            of_nees(lambda values: 100 * np.mean(values <= CHI_SQUARE_95)),
        )
        cells = " | ".join(interval(function, drives) for function in functions)
        updates = sum(len(one["nees"]) for one in drives)
        print(f"| {scale:g} | {len(drives)} | {updates} | {cells} |")
        print_warnings(records)


def print_warnings(records):
    """Print how many drives have each warning of amcl."""
    count = {}
    for one in records:
        for text in set(one["warnings"]):
            count[text] = count.get(text, 0) + 1
    for text, number in sorted(count.items()):
        print(f"  warning in {number} drives: {text}")


def summarize_kidnapped(out):
    """Print how many drives recovered, and after which simulated time."""
    for scale, records in sorted(drives_in(out).items()):
        times_s = []
        for one in records:
            rows = np.array([row for row in one["rows"] if row[0] > one["kidnapped_s"]])
            near = (np.hypot(rows[:, 1], rows[:, 2]) < RECOVERED_M) & (
                np.abs(rows[:, 3]) < RECOVERED_RAD
            )
            ends = [
                place
                for place in range(RECOVERED_UPDATES, len(near) + 1)
                if near[place - RECOVERED_UPDATES : place].all()
            ]
            times_s.append(rows[ends[0] - 1, 0] - one["kidnapped_s"] if ends else math.inf)
        recovered = sorted(one for one in times_s if math.isfinite(one))
        from gz_testauto.analysis.intervals import success_rate

        rate = success_rate(len(recovered), len(times_s))
        print(
            f"scale {scale:g}: {len(recovered)} of {len(times_s)} drives recovered, "
            f"{100 * rate.value:.0f} % [{100 * rate.low:.0f}, {100 * rate.high:.0f}]; "
            f"median {np.median(times_s):.1f} s; times {np.round(sorted(times_s), 1).tolist()}"
        )
        print_warnings(records)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("map", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="file of results, lines of JSON")
    parser.add_argument("--drives", type=int, default=20)
    parser.add_argument("--scales", type=float, nargs="+", default=[1.0, 4.0, 10.0])
    parser.add_argument("--seconds", type=float, default=60.0, help="simulated time of a drive")
    parser.add_argument("--kidnap", type=float, default=0.0, help="simulated time in s; 0: never")
    parser.add_argument("--relocate", action="store_true", help="publish the new pose with errors")
    parser.add_argument("--particles", type=int, default=2000, help="largest number of particles")
    parser.add_argument("--prefix", type=shlex.split, default=[], help="before amcl, map_server")
    parser.add_argument("--skip", type=float, default=5.0, help="simulated seconds not evaluated")
    parser.add_argument("--summary", action="store_true", help="run no drives")
    arguments = parser.parse_args()
    done = drives_in(arguments.out)
    for scale in [] if arguments.summary else arguments.scales:
        finished = {record["drive"] for record in done.get(scale, [])}
        missing = [one for one in range(arguments.drives) if one not in finished]
        if missing:
            # rospy supports one master per process
            child = os.fork()
            if child == 0:
                run(arguments, scale, missing)
                os._exit(0)
            if os.waitpid(child, 0)[1] != 0:
                sys.exit(f"scale {scale:g} was not completed")
    if arguments.kidnap:
        summarize_kidnapped(arguments.out)
    else:
        summarize(arguments.out, arguments.skip)


def run(arguments, scale, missing):
    """Run the missing drives of one scale."""
    with contextlib.ExitStack() as opened:
        files, map_file = arguments.out.absolute().with_suffix(".files"), arguments.map.absolute()
        files.mkdir(exist_ok=True)
        prepare(files, map_file)
        building = Building(map_file)
        stack = Stack(files, scale, arguments, opened)
        times = (arguments.seconds, arguments.kidnap, arguments.relocate)
        for number in missing:
            began = time.monotonic()
            record = stack.drive(number, building, *times)
            record.update(scale=scale, wall_s=round(time.monotonic() - began, 1))
            with arguments.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            rows = np.array(record["rows"])
            error_m = np.hypot(rows[:, 1], rows[:, 2]) if len(rows) else np.array([math.nan])
            print(
                f"scale {scale:g} drive {number}: {len(rows)} updates, mean error "
                f"{error_m.mean():.3f} m, drift {record['drift_m']:.2f} m, {record['wall_s']} s, "
                f"{len(record['warnings'])} warnings",
                flush=True,
            )


if __name__ == "__main__":
    main()
