"""Write a rosbag of ROS 1 of one simulated trial, with the topics of a real robot, without ROS."""

import functools
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, Optional, Tuple, Type

import numpy as np
from typing_extensions import override

from gz_testauto.actors.localization import compose, inverse
from gz_testauto.base.disk import PARTIAL_SUFFIX, disk_errors
from gz_testauto.base.errors import SpecError
from gz_testauto.base.installation import importing
from gz_testauto.base.observation import LaserScan, Snapshot, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.campaign.simulator import start_simulator
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.trial.executor import StopRequest, TrialResult
from gz_testauto.trial.lockstep import Listener, LockstepExecutor, TrialRobot
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.testbed import TestBed
from gz_testauto.trial.trial import Trial
from gz_testauto.workers.interface import ExecutorFactory

MAP, ODOM, BASE, LASER = "map", "odom", "base_link", "laser"
START_S = 1000.0  # time of the bag at the simulated time 0, since ROS rejects the time 0
AMCL_PERIOD_S = 1.0
# Statuses of actionlib. A person cancels the goal of a robot that collided.
SUCCEEDED, ABORTED, PREEMPTED = 3, 4, 2
STATUSES = {
    Outcome.REACHED: SUCCEEDED,
    Outcome.FALSE_ARRIVAL: SUCCEEDED,
    Outcome.STUCK: ABORTED,
    Outcome.PLANNER_ABORTED: ABORTED,
}
# Definitions that the library lacks
DEFINITIONS = {
    "tf2_msgs/msg/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    "move_base_msgs/msg/MoveBaseGoal": "geometry_msgs/PoseStamped target_pose",
    "move_base_msgs/msg/MoveBaseResult": "",
    "move_base_msgs/msg/MoveBaseActionGoal": (
        "std_msgs/Header header\nactionlib_msgs/GoalID goal_id\nmove_base_msgs/MoveBaseGoal goal"
    ),
    "move_base_msgs/msg/MoveBaseActionResult": (
        "std_msgs/Header header\nactionlib_msgs/GoalStatus status\n"
        "move_base_msgs/MoveBaseResult result"
    ),
}


def bag_executor(file: Path, gui: bool) -> ExecutorFactory:
    """Return a factory of executors that write each trial to the bag ``file``."""
    start = functools.partial(start_simulator, gui=True) if gui else start_simulator
    return functools.partial(BagExecutor, open_simulator=start, file=file)


class BagExecutor(LockstepExecutor):
    """An executor that also writes the data of the first robot to a bag."""

    def __init__(self, bed: TestBed, open_simulator: Any, file: Path) -> None:
        super().__init__(bed, open_simulator)
        self._file = file
        self._bag: Optional[BagFile] = None

    @override
    def execute(self, trial: Trial, should_stop: StopRequest) -> TrialResult:
        with disk_errors(self._file), BagFile(self._file) as self._bag:
            result = super().execute(trial, should_stop)
            self._bag.finish(result)
        return result

    @override
    def listener(self, trial: Trial, robot: TrialRobot) -> Listener:
        assert self._bag is not None, "a trial runs in execute()"
        maps, bag = self._bed.static_map, self._bag
        bag.write_map(maps.grid(maps.inputs(trial.world, trial.mission)))

        def listen(snapshot: Snapshot) -> None:
            observation = robot.observation(snapshot)
            odometry = observation.pose if robot.estimator is None else robot.estimator.odometry
            if bag.goal is None or robot.task_is_new:
                bag.write_goal(snapshot.time_s, robot.task.goal)
            bag.write_pose(snapshot.time_s, observation.pose, odometry, observation.twist)
            if observation.scan is not None:
                bag.write_scan(observation.scan)

        return listen


class BagFile:
    """A new bag, which replaces the file ``path`` when the context ends without an error."""

    def __init__(self, path: Path) -> None:
        with importing("writing rosbags needs the package rosbags", "field"):
            from rosbags.rosbag1 import Writer
            from rosbags.typesys import Stores, get_types_from_msg, get_typestore
        self.goal: Optional[Pose2D] = None
        self._path, self._partial = path, path.with_name(path.name + PARTIAL_SUFFIX)
        if path.exists() and not path.is_file():
            raise SpecError(f"{path}: the path of the bag exists and is not a file")
        self._store = get_typestore(Stores.ROS1_NOETIC)
        for name, text in DEFINITIONS.items():
            self._store.register(get_types_from_msg(text, name))
        if self._partial.exists():
            self._partial.unlink()  # of a killed process
        self._writer = Writer(self._partial)
        self._connections: Dict[str, Any] = {}
        self._time_s = self._amcl_s = self._scan_s = -np.inf
        self._correction = Pose2D(np.nan, np.nan)

    def __enter__(self) -> "BagFile":
        self._writer.open()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._writer.close()
        if error is None:
            os.replace(self._partial, self._path)
        else:
            self._partial.unlink()

    def write_map(self, grid: OccupancyGrid) -> None:
        origin = self._pose(Pose2D(grid.origin_x_m, grid.origin_y_m).to_pose())
        rows, columns = grid.occupied.shape
        info = self._new(
            "nav_msgs/MapMetaData", self._stamp(0.0), grid.resolution_m, columns, rows, origin
        )
        cells = np.where(grid.occupied, 100, 0).astype(np.int8).ravel()
        self._write("/map", 0.0, "nav_msgs/OccupancyGrid", self._header(0.0, MAP), info, cells)

    def write_goal(self, time_s: float, goal: Pose2D) -> None:
        self.goal = goal
        self._goal_id = self._new("actionlib_msgs/GoalID", self._stamp(time_s), f"goal-{time_s:g}")
        header = self._header(time_s, MAP)
        stamped = self._new("geometry_msgs/PoseStamped", header, self._pose(goal.to_pose()))
        goal_message = self._new("move_base_msgs/MoveBaseGoal", stamped)
        kind = "move_base_msgs/MoveBaseActionGoal"
        self._write("/move_base/goal", time_s, kind, header, self._goal_id, goal_message)

    def write_pose(self, time_s: float, pose: Pose2D, odometry: Pose2D, twist: Twist2D) -> None:
        """Write the estimated pose in the map, and the pose and the twist of the odometry."""
        self._time_s = time_s
        correction = compose(pose, inverse(odometry))
        transforms = (MAP, ODOM, correction.to_pose()), (ODOM, BASE, odometry.to_pose())
        self._write_tf("/tf", time_s, *transforms)
        twist_message = self._new(
            "geometry_msgs/TwistWithCovariance", self._twist(twist), np.zeros(36)
        )
        self._write(
            "/odom",
            time_s,
            "nav_msgs/Odometry",
            self._header(time_s, ODOM),
            BASE,
            self._uncertain_pose(odometry),
            twist_message,
        )
        is_corrected = not np.allclose(correction, self._correction, rtol=0.0, atol=1e-9)
        if is_corrected or time_s >= self._amcl_s + AMCL_PERIOD_S:
            self._correction, self._amcl_s = correction, time_s
            kind = "geometry_msgs/PoseWithCovarianceStamped"
            header = self._header(time_s, MAP)
            self._write("/amcl_pose", time_s, kind, header, self._uncertain_pose(pose))

    def write_scan(self, scan: LaserScan) -> None:
        """Write a scan, unless it was written before."""
        if scan.stamp_s <= self._scan_s:
            return
        if self._scan_s < 0:
            self._write_tf("/tf_static", self._time_s, (BASE, LASER, scan.mount))
        period_s = max(scan.stamp_s - self._scan_s, 0.0) if self._scan_s >= 0 else 0.0
        self._scan_s = scan.stamp_s
        intervals = max(len(scan.ranges_m) - 1, 1)
        self._write(
            "/scan",
            self._time_s,
            "sensor_msgs/LaserScan",
            self._header(scan.stamp_s, LASER),
            scan.angle_min_rad,
            scan.angle_max_rad,
            (scan.angle_max_rad - scan.angle_min_rad) / intervals,
            0.0,
            period_s,
            scan.range_min_m,
            scan.range_max_m,
            np.asarray(scan.ranges_m, dtype=np.float32),
            np.zeros(0, dtype=np.float32),
        )

    def finish(self, result: TrialResult) -> None:
        """Write the commands and the result of the last goal."""
        recording = result.recording
        start_s = self._time_s - float(recording.time_s[-1])
        for since_s, (linear_mps, angular_radps) in zip(recording.time_s, recording.command):
            if np.isfinite(linear_mps):
                twist = self._twist(Twist2D(float(linear_mps), float(angular_radps)))
                values = (twist.linear, twist.angular)
                self._write("/cmd_vel", start_s + float(since_s), "geometry_msgs/Twist", *values)
        status = STATUSES.get(result.outcome, PREEMPTED)
        text = f"{result.outcome.value}: {result.detail}"
        kind = "move_base_msgs/MoveBaseActionResult"
        self._write(
            "/move_base/result",
            self._time_s,
            kind,
            self._header(self._time_s, MAP),
            self._new("actionlib_msgs/GoalStatus", self._goal_id, status, text),
            self._new("move_base_msgs/MoveBaseResult"),
        )

    def _write_tf(self, topic: str, time_s: float, *transforms: Tuple[str, str, Pose]) -> None:
        messages = []
        for parent, child, pose in transforms:
            message = self._pose(pose)
            position = message.position
            vector = self._new("geometry_msgs/Vector3", position.x, position.y, position.z)
            transform = self._new("geometry_msgs/Transform", vector, message.orientation)
            header = self._header(time_s, parent)
            messages.append(self._new("geometry_msgs/TransformStamped", header, child, transform))
        self._write(topic, time_s, "tf2_msgs/TFMessage", messages)

    def _write(self, topic: str, time_s: float, kind: str, *fields: Any) -> None:
        name = kind.replace("/", "/msg/")
        if topic not in self._connections:
            is_latched = 1 if topic in ("/map", "/tf_static") else None
            self._connections[topic] = self._writer.add_connection(
                topic, name, typestore=self._store, latching=is_latched
            )
        data = self._store.serialize_ros1(self._new(kind, *fields), name)
        self._writer.write(self._connections[topic], _nanoseconds(time_s), data)

    def _new(self, kind: str, *fields: Any) -> Any:
        return self._store.types[kind.replace("/", "/msg/")](*fields)

    def _stamp(self, time_s: float) -> Any:
        return self._new("builtin_interfaces/Time", *divmod(_nanoseconds(time_s), 10**9))

    def _header(self, time_s: float, frame: str) -> Any:
        return self._new("std_msgs/Header", 0, self._stamp(time_s), frame)

    def _pose(self, pose: Pose) -> Any:
        position = self._new("geometry_msgs/Point", *pose.position)
        return self._new(
            "geometry_msgs/Pose", position, self._new("geometry_msgs/Quaternion", *pose.quaternion)
        )

    def _uncertain_pose(self, pose: Pose2D) -> Any:
        message = self._pose(pose.to_pose())
        return self._new("geometry_msgs/PoseWithCovariance", message, np.zeros(36))

    def _twist(self, twist: Twist2D) -> Any:
        linear = self._new("geometry_msgs/Vector3", twist.linear_mps, 0.0, 0.0)
        angular = self._new("geometry_msgs/Vector3", 0.0, 0.0, twist.angular_radps)
        return self._new("geometry_msgs/Twist", linear, angular)


def _nanoseconds(time_s: float) -> int:
    return round((START_S + time_s) * 10**9)
