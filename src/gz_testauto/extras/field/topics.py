"""Read the topics of a robot's navigation from a rosbag of ROS 1 or ROS 2, without ROS.

Topics are found by their types. Messages are read one after another; of scans, only those of a
window are kept. Times are in seconds since the start of the bag.
"""

import contextlib
import sys
import time
from array import array
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from gz_testauto.base.disk import require_regular
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.installation import importing
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.registry import unknown_name
from gz_testauto.extras.field.frames import Transforms
from gz_testauto.grid.map_server import MapFile

NANO = 1e-9
SCAN, GRID = "sensor_msgs/msg/LaserScan", "nav_msgs/msg/OccupancyGrid"
ODOMETRY, TF = "nav_msgs/msg/Odometry", "tf2_msgs/msg/TFMessage"
COMMAND = "geometry_msgs/msg/Twist"
ESTIMATE = "geometry_msgs/msg/PoseWithCovarianceStamped"
GOAL, STATUSES = "geometry_msgs/msg/PoseStamped", "action_msgs/msg/GoalStatusArray"
ACTION_GOAL, ACTION_RESULT = "MoveBaseActionGoal", "MoveBaseActionResult"
GOAL_NAMES = ("/goal", "goal_pose")  # ends of topics whose poses are goals
OCCUPIED_FROM = 65  # smallest occupancy (%) of an occupied cell, as in map_server
# the statuses of finished goals, of actionlib and of ROS 2
ENDS_1 = {2: "cancelled", 3: "succeeded", 4: "aborted", 5: "rejected", 8: "cancelled"}
ENDS_2 = {4: "succeeded", 5: "cancelled", 6: "aborted"}
CLOCK_JUMP_S = 1.0
# difference of stamp and recording, as in a bag that was recorded while another one was played
OTHER_EPOCH_S = 60.0
PROGRESS_S = 3.0  # wall time between two lines


class BagGoal(NamedTuple):
    time_s: float
    pose: Pose2D
    frame: str
    identity: str = ""


class GoalEnd(NamedTuple):
    time_s: float
    status: str
    identity: str = ""


class BagContent(NamedTuple):
    """All topics except scans. ``odometry`` and ``commands`` have the columns linear (m/s) and
    angular (rad/s) velocity. ``map_frame`` is the frame of map, estimates or goals."""

    duration_s: float
    transforms: Transforms
    goals: List[BagGoal]
    ends: List[GoalEnd]
    odometry: np.ndarray
    commands: np.ndarray
    map_file: Optional[MapFile]
    map_frame: str
    scan_topic: str


class Scans(NamedTuple):
    """The n scans of a window, of k rays. ``ranges_m`` (n, k) is inf for a ray without a return,
    and NaN for an invalid one."""

    times_s: np.ndarray
    ranges_m: np.ndarray
    angles_rad: np.ndarray
    range_min_m: float
    range_max_m: float
    frame: str


class Bag:
    """An open bag, in which all times are in s since its start. ``chosen`` selects topics if
    several have the type."""

    def __init__(self, path: Path, reader: Any, chosen: Dict[str, Optional[str]]) -> None:
        self._path, self._reader = path, reader
        self._topics: Dict[str, str] = {c.topic: c.msgtype for c in reader.connections}
        self.duration_s = (reader.end_time - reader.start_time) * NANO
        self._scan = self._select("scan", SCAN, chosen["scan"])
        if self._scan is None:
            raise ResultsError(
                f"{path}: the bag has no topic of type {SCAN}; its topics are "
                f"{', '.join(sorted(self._topics)) or 'none'}"
            )
        self._odometry = self._select("odom", ODOMETRY, chosen["odom"], "/odom")
        self._grid = self._select("map-topic", GRID, chosen["map-topic"], "/map")
        self._epoch_s = 0.0  # is added to stamps

    def _select(
        self, option: str, kind: str, chosen: Optional[str], default: str = ""
    ) -> Optional[str]:
        known = sorted(topic for topic, topic_kind in self._topics.items() if topic_kind == kind)
        if chosen is not None:
            if chosen not in known:
                raise ResultsError(f"{self._path}: {unknown_name('topic', chosen, known)}")
            return chosen
        if kind == GRID:  # costmaps have the same type
            known = [topic for topic in known if "costmap" not in topic]
        if default in known or len(known) < 2:
            return default if default in known else next(iter(known), None)
        raise ResultsError(
            f"{self._path}: {len(known)} topics have the type {kind}: {', '.join(known)}; select "
            f"one with --{option}"
        )

    def find_epoch(self) -> None:
        """Align the stamps with the times of recording, if the first scan has a stamp of another
        time."""
        for _, _, time_s, message in self._messages(lambda topic, _: topic == self._scan):
            delay_s = time_s - self._stamp_s(message, time_s)
            self._epoch_s = delay_s if abs(delay_s) > OTHER_EPOCH_S else 0.0
            break

    def read_content(self) -> BagContent:
        transforms = Transforms(self._path)
        goals: List[BagGoal] = []
        odometry, commands, poses, estimates = array("d"), array("d"), array("d"), array("d")
        ends: List[GoalEnd] = []
        finished = set()
        map_file, frames = None, {"map": "", "estimate": "", "goal": ""}
        odometry_frames = ("odom", "base_link")
        for topic, kind, time_s, message in self._messages(self._is_small):
            stamp_s = self._stamp_s(message, time_s)
            if kind == TF:
                for transform in message.transforms:
                    values = _values(transform.transform.translation, transform.transform.rotation)
                    child, parent = transform.child_frame_id, transform.header.frame_id
                    stamp_s = self._stamp_s(transform, time_s)
                    transforms.add(parent, child, (time_s, stamp_s, *values), "static" in topic)
            elif kind == ODOMETRY:
                twist = message.twist.twist
                odometry.extend((twist.linear.x, twist.angular.z))
                poses.extend((time_s, stamp_s, *_pose_values(message.pose.pose)))
                odometry_frames = message.header.frame_id, message.child_frame_id or "base_link"
            elif kind == COMMAND:
                commands.extend((message.linear.x, message.angular.z))
            elif kind == ESTIMATE:
                estimates.extend((time_s, stamp_s, *_pose_values(message.pose.pose)))
                frames["estimate"] = message.header.frame_id
            elif kind == GRID:
                map_file, frames["map"] = self._map_file(topic, message), message.header.frame_id
            elif kind == STATUSES:
                for entry in message.status_list:
                    key = bytes(entry.goal_info.goal_id.uuid)
                    if entry.status in ENDS_2 and key not in finished:
                        finished.add(key)
                        ends.append(GoalEnd(time_s, ENDS_2[entry.status]))
            elif kind.endswith(ACTION_RESULT):
                end = ENDS_1.get(message.status.status, "lost")
                ends.append(GoalEnd(time_s, end, message.status.goal_id.id))
            else:
                pose = message.goal.target_pose if kind.endswith(ACTION_GOAL) else message
                frames["goal"] = pose.header.frame_id
                planar = _planar(pose.pose)
                if not goals or goals[-1].pose != planar or time_s > goals[-1].time_s + 1.0:
                    identity = message.goal_id.id if pose is not message else ""
                    goals.append(BagGoal(time_s, planar, pose.header.frame_id.strip("/"), identity))
        transforms.complete(odometry_frames, poses, frames["estimate"].strip("/"), estimates)
        map_frame = next(filter(None, (frames[key].strip("/") for key in frames)), "map")
        assert self._scan is not None
        return BagContent(
            self.duration_s,
            transforms,
            goals,
            ends,
            np.array(odometry).reshape(-1, 2),
            np.array(commands).reshape(-1, 2),
            map_file,
            map_frame,
            self._scan,
        )

    def read_scans(self, from_s: float, to_s: float) -> Scans:
        """Return the scans that were recorded in a window. Raises ``ResultsError`` if there is
        none, or if the clock of the lidar jumps."""
        times: List[float] = []
        rows: List[np.ndarray] = []
        first, delay_s = None, 0.0
        for topic, _, time_s, message in self._messages(
            lambda topic, _: topic == self._scan, from_s, to_s
        ):
            stamp_s = self._stamp_s(message, time_s)
            if first is not None and abs(time_s - stamp_s - delay_s) > CLOCK_JUMP_S:
                raise ResultsError(
                    f"{self._path}: the clock of {topic} jumps by "
                    f"{delay_s - (time_s - stamp_s):.1f} s at {time_s:.1f} s; select a window "
                    "before or after that with --from and --to"
                )
            delay_s = time_s - stamp_s
            ranges = np.array(message.ranges, dtype=np.float32)
            first = message if first is None else first
            if (times and stamp_s <= times[-1]) or len(ranges) != len(first.ranges):
                continue
            with np.errstate(invalid="ignore"):
                ranges[(ranges >= message.range_max) & (ranges > 0)] = np.inf
                ranges[~(ranges >= max(message.range_min, 1e-3))] = np.nan
            times.append(stamp_s)
            rows.append(ranges)
        if first is None or len(times) < 2 or not len(rows[0]):
            raise ResultsError(
                f"{self._path}: {self._scan} has {len(times)} scans from {from_s:.1f} to "
                f"{to_s:.1f} s, of {self.duration_s:.1f} s; select another window with --from and "
                "--to"
            )
        count = len(first.ranges)
        angles = first.angle_min + np.arange(count) * float(first.angle_increment)
        return Scans(
            np.array(times),
            np.array(rows),
            angles,
            float(first.range_min),
            float(first.range_max),
            first.header.frame_id.strip("/"),
        )

    def _is_small(self, topic: str, kind: str) -> bool:
        if kind in (ODOMETRY, GRID):
            return topic in (self._odometry, self._grid)
        is_goal = kind == GOAL and topic.endswith(GOAL_NAMES)
        is_status = kind == STATUSES and "navigate_to_pose" in topic
        is_estimate = kind == ESTIMATE and not topic.endswith("initialpose")
        is_action = kind.endswith((ACTION_GOAL, ACTION_RESULT))
        if kind == COMMAND:
            return topic.endswith("/cmd_vel")
        return kind == TF or is_estimate or is_goal or is_action or is_status

    def _messages(
        self, is_selected: Any, from_s: float = 0.0, to_s: float = np.inf
    ) -> Iterator[Tuple[str, str, float, Any]]:
        """Yield topic, type, time of recording (s) and message, and print the progress."""
        reader, start_ns = self._reader, self._reader.start_time
        selected = [c for c in reader.connections if is_selected(c.topic, c.msgtype)]
        if not selected:
            return
        end_ns = min(reader.end_time, start_ns + round(min(to_s, 1e9) / NANO) + 1)
        shown_s = time.monotonic()
        messages = reader.messages(
            connections=selected, start=start_ns + round(from_s / NANO), stop=end_ns
        )
        with _bag_errors(self._path):
            for connection, recorded_ns, raw in messages:
                time_s = (recorded_ns - start_ns) * NANO
                message = reader.deserialize(raw, connection.msgtype)
                if time.monotonic() > shown_s + PROGRESS_S:
                    shown_s = time.monotonic()
                    print(f"read {time_s:.0f} of {self.duration_s:.0f} s", file=sys.stderr)
                yield connection.topic, connection.msgtype, time_s, message

    def _stamp_s(self, message: Any, time_s: float) -> float:
        """Return the stamp of the header, or the time of recording without a stamp."""
        header = getattr(message, "header", None)
        if header is None or (header.stamp.sec == 0 and header.stamp.nanosec == 0):
            return time_s
        stamp_ns = int(header.stamp.sec) * 10**9 + int(header.stamp.nanosec)
        return float((stamp_ns - self._reader.start_time) * NANO) + self._epoch_s

    def _map_file(self, topic: str, message: Any) -> MapFile:
        info = message.info
        cells = np.array(message.data, dtype=np.int16)
        if not cells.size or cells.size != info.height * info.width:
            raise ResultsError(f"{self._path}: the map of {topic} has no cells")
        cells = cells.reshape(info.height, info.width)
        resolution_m = float(str(np.float32(info.resolution)))  # 0.1, not 0.10000000149
        pose = _planar(info.origin)
        origin = (pose.x_m, pose.y_m, pose.yaw_rad)
        return MapFile(cells >= OCCUPIED_FROM, cells < 0, resolution_m, origin)


@contextlib.contextmanager
def open_bag(path: Path, chosen: Dict[str, Optional[str]]) -> Iterator[Bag]:
    """Open a bag. Raises ``ResultsError`` for a damaged file, a missing scan or an unclear choice
    of topics, and ``MissingDependencyError`` without the package ``rosbags``."""
    with importing(f"{path}: reading rosbags needs the package rosbags", "field"):
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    if not path.is_dir():
        require_regular(path, ResultsError)
    store = get_typestore(Stores.ROS2_HUMBLE)  # for bags without type definitions
    with contextlib.ExitStack() as stack:
        with _bag_errors(path):
            reader = stack.enter_context(AnyReader([path], default_typestore=store))
        bag = Bag(path, reader, chosen)
        bag.find_epoch()
        yield bag


@contextlib.contextmanager
def _bag_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (ResultsError, GeneratorExit):
        raise
    except Exception as error:  # the reader raises errors of many types
        raise ResultsError(
            f"{path}: the file cannot be read as a rosbag: {error!r}; if the recording was "
            "interrupted, repair a copy with `rosbag reindex`"
        ) from error


def _values(position: Any, rotation: Any) -> Tuple[float, ...]:
    return (position.x, position.y, position.z, rotation.x, rotation.y, rotation.z, rotation.w)


def _pose_values(pose: Any) -> Tuple[Any, ...]:
    return _values(pose.position, pose.orientation)


def _planar(pose: Any) -> Pose2D:
    x, y, z, qx, qy, qz, qw = _pose_values(pose)
    return Pose2D(x, y, Pose((x, y, z), (qx, qy, qz, qw)).yaw_rad)
