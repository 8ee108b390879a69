"""Recording of a stack's topics during a trial: commands, odometry, plans, warnings, numbers.

These values do not affect the outcome of a trial, which depends only on ground truth.
"""

import math
import re
import threading
from typing import Dict, List, Optional, Tuple

import numpy as np
import roslib.message
import rospy
import shapely
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry, Path
from rosgraph_msgs.msg import Log
from sensor_msgs.msg import LaserScan

from gz_testauto.base import ros_messages
from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.metrics.recording import PLAN_SERIES
from gz_testauto.ros.stack.localization import Localization
from gz_testauto.spec.stack import NumberTopicSpec, StackSpec

MISSED = "Control loop missed its desired rate"
EXTRAPOLATION = "extrapolation"
NOTHING = (math.nan,) * 5
# simulated time after a stored plan within which no further plan of this kind is stored
STORED_AFTER_S = {"global": 2.0, "local": 0.5}
# largest distance of a received plan from the stored plan, which has fewer points
STORED_WITHIN_M = 0.02
REDUCTIONS = {"last": lambda v: v[-1], "mean": np.mean, "max": np.max, "min": np.min, "sum": np.sum}


class NumberTopic:
    """A subscriber that collects a number from each message of a topic since :meth:`begin`."""

    def __init__(self, spec: NumberTopicSpec) -> None:
        self._spec = spec
        self._values: List[float] = []
        self._lock = threading.Lock()
        self._fault = ""
        self._class: Optional[type] = None
        self._subscriber = rospy.Subscriber(
            spec.topic, rospy.AnyMsg, self._on_message, queue_size=1000
        )

    def begin(self) -> None:
        with self._lock:
            self._values = []

    @property
    def values(self) -> np.ndarray:
        """The collected values, shape (n,). Raises ``SpecError`` if the messages lack the field."""
        if self._fault:
            raise SpecError(self._fault)
        with self._lock:
            return np.array(self._values, dtype=float)

    def reduced(self, reduce: str) -> float:
        """Return all values as one number, or NaN; ``reduce`` is a key of :data:`REDUCTIONS`."""
        values = self.values
        return float(REDUCTIONS[reduce](values)) if len(values) else math.nan

    def _on_message(self, raw: rospy.AnyMsg) -> None:
        if self._fault:
            return
        try:
            value = field_value(self._decode(raw), self._spec.field)
        except SpecError as error:
            self._fault = f"topic {self._spec.topic}: {error}"
            return
        with self._lock:
            self._values.append(value)

    def _decode(self, raw: rospy.AnyMsg) -> object:
        if not isinstance(raw, rospy.AnyMsg):
            return raw  # rospy has one type per topic, and this process has subscribed with it
        if self._class is None:
            name = self._spec.type or raw._connection_header["type"]
            self._class = roslib.message.get_message_class(name)
            if self._class is None:
                raise SpecError(
                    f"the message type {name} is not installed on this machine; build its package"
                )
        return self._class().deserialize(raw._buff)


def field_value(message: object, field: str) -> float:
    """Return the number in a field such as ``pose.position.x`` or ``values[0]``.

    Raises ``SpecError`` with the existing fields if the message does not have the field.
    """
    value = message
    for part in field.split("."):
        name = part.partition("[")[0]
        slots = getattr(value, "__slots__", ())
        if name not in slots:
            kind = getattr(value, "_type", type(value).__name__)
            raise SpecError(
                f"{kind} has no field {name!r}; use one of: {', '.join(slots) or 'none'}"
            )
        value = getattr(value, name)
        position = re.search(r"\[(\d+)\]$", part)
        if position is not None:
            if int(position.group(1)) >= len(value):
                return math.nan
            value = value[int(position.group(1))]
    if hasattr(value, "to_sec"):
        return float(value.to_sec())
    if not isinstance(value, (bool, int, float)):
        raise SpecError(f"field {field!r} must be a number, not a {type(value).__name__}")
    return float(value)


class PublishedPlans:
    """The times and lengths of received global or local plans, and the points of some of them.

    The points of a plan are stored if the previous stored plan is older by at least
    ``stored_after_s``, so that recordings remain small. Not thread-safe.
    """

    def __init__(self, stored_after_s: float) -> None:
        self._stored_after_s = stored_after_s
        self._receptions: List[Tuple[float, float]] = []
        self._newest: Tuple[str, float] = ("", 0.0)
        self._stored_plans: List[np.ndarray] = []
        self._stored_s = -math.inf

    def add(
        self,
        topic: str,
        stamp_s: float,
        after_s: float,
        points_m: np.ndarray,
        pose: Optional[Pose2D] = Pose2D(0.0, 0.0, 0.0),
    ) -> None:
        """Add a plan that was received ``after_s`` after the goal. ``points_m`` has shape (n, 2).

        ``stamp_s`` is the time stamp of the message, or 0 if the publisher does not set it.
        ``pose`` is that of the plan's frame in the world. Points of a plan without a known pose are
        not stored.
        """
        points_m = np.reshape(points_m, (-1, 2))
        length_m = float(np.hypot(*np.diff(points_m, axis=0).T).sum())
        # navfn publishes each plan twice, first without its last point.
        is_repeated = bool(self._receptions) and stamp_s > 0.0 and self._newest == (topic, stamp_s)
        if is_repeated:
            after_s = self._receptions.pop()[0]
        self._receptions.append((after_s, length_m))
        self._newest = (topic, stamp_s)
        is_stored = is_repeated and self._stored_s == after_s
        if pose is None or not (is_stored or after_s >= self._stored_s + self._stored_after_s):
            return
        if is_stored:
            self._stored_plans.pop()
        self._stored_plans.append(_stored_points(after_s, points_m, pose))
        self._stored_s = after_s

    @property
    def lengths_m(self) -> List[float]:
        return [length_m for _, length_m in self._receptions]

    def array(self) -> np.ndarray:
        """Return the time since the goal (s) and the length (m) of each plan, shape (n, 2)."""
        return np.array(self._receptions, dtype=float).reshape(-1, 2)

    def points(self) -> np.ndarray:
        """Return time (s), x and y (m) of the stored plans' points in the world frame, (k, 3).

        Points with the same time are one plan. The precision is single.
        """
        return np.concatenate([np.zeros((0, 3), np.float32), *self._stored_plans])


def _stored_points(time_s: float, points_m: np.ndarray, pose: Pose2D) -> np.ndarray:
    """Return time and points of a plan in the world frame, simplified, shape (k, 3)."""
    if len(points_m) > 1:
        line = shapely.simplify(shapely.LineString(points_m), STORED_WITHIN_M)
        points_m = shapely.get_coordinates(line)
    cosine, sine = math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)
    placed_m = points_m @ np.array([(cosine, sine), (-sine, cosine)]) + (pose.x_m, pose.y_m)
    return np.column_stack([np.full(len(placed_m), time_s), placed_m]).astype(np.float32)


class StackMonitor:
    """A recorder of the topics of one stack since :meth:`begin`.

    Create it after all other subscribers of the process: rospy uses the message type of the first
    subscriber for all subscribers of a topic.
    """

    def __init__(self, stack: StackSpec, localization: Localization) -> None:
        names = stack.names
        self._localization, self._map_frame = localization, stack.frames.map.lstrip("/")
        self._lock = threading.Lock()
        self._begin_s = 0.0
        self._odom: Tuple[float, ...] = NOTHING
        self.odom_received = False
        self._scan: Optional[rospy.AnyMsg] = None
        self._reset()
        self._subscribers = [
            rospy.Subscriber(names.cmd_vel, Twist, self._on_command, queue_size=10),
            rospy.Subscriber(names.odom, Odometry, self._on_odom, queue_size=1),
            rospy.Subscriber(names.scan, rospy.AnyMsg, self._on_scan, queue_size=1),
            rospy.Subscriber("/rosout", Log, self._on_log, queue_size=1000),
            *self._plan_subscribers(names.local_plan, "local"),
        ]
        self._global_plans = self._plan_subscribers(names.global_plan, "global")
        self._metrics = [(metric, NumberTopic(metric)) for metric in stack.metrics]
        self._planner_time = NumberTopic(names.planner_time) if names.planner_time else None

    def begin(self, now_s: float) -> None:
        self._begin_s = now_s
        self._reset()
        for _, topic in self._metrics:
            topic.begin()
        if self._planner_time is not None:
            self._planner_time.begin()

    def sample(self) -> Optional[Twist2D]:
        """Record the odometry; return the current command, None before the first of this trial."""
        with self._lock:
            self._odometry.append(self._odom)
            return self._command

    @property
    def scan_received(self) -> bool:
        return self._scan is not None

    @property
    def scan(self) -> Optional[LaserScan]:
        """The last scan, or None if no message of the type ``LaserScan`` was received."""
        message = self._scan
        if isinstance(message, rospy.AnyMsg):
            if message._connection_header["type"] != LaserScan._type:
                return None
            message = LaserScan().deserialize(message._buff)
        return message if isinstance(message, LaserScan) else None

    @property
    def cycle_times_s(self) -> np.ndarray:
        """The cycle times (s) that the planner has published, shape (m,)."""
        return np.empty(0) if self._planner_time is None else self._planner_time.values

    def series(self) -> Dict[str, np.ndarray]:
        """Return the recorded arrays by name.

        ``odom``, shape (n, 5), contains x, y (m), yaw (rad), forward speed (m/s) and yaw rate
        (rad/s) per control period, NaN before the first message. ``global_plan_m`` and
        ``local_plan_m``, shape (k, 2), contain the time since the goal (s) and the length (m) of
        each plan. :data:`~gz_testauto.metrics.recording.PLAN_SERIES` are the points of plans.
        """
        with self._lock:
            return {
                **{PLAN_SERIES[kind]: plans.points() for kind, plans in self._plans.items()},
                "odom": np.array(self._odometry, dtype=float).reshape(-1, len(NOTHING)),
                **{f"{kind}_plan_m": plans.array() for kind, plans in self._plans.items()},
            }

    def numbers(self) -> Dict[str, float]:
        with self._lock:
            plans = {kind: published.lengths_m for kind, published in self._plans.items()}
            counts: Dict[str, float] = {
                "missed_control_cycles": float(self._missed_count),
                "tf_extrapolations": float(self._extrapolations),
            }
        counts["global_plan_m"] = plans["global"][0] if plans["global"] else math.nan
        is_published = any(topic.get_num_connections() for topic in self._global_plans)
        if plans["global"] or is_published:
            counts["global_plans"] = float(len(plans["global"]))
        else:
            counts["global_plans"] = math.nan
        counts["local_plan_m"] = float(np.mean(plans["local"])) if plans["local"] else math.nan
        for metric, topic in self._metrics:
            counts[metric.name] = topic.reduced(metric.reduce)
        return counts

    def _reset(self) -> None:
        with self._lock:
            self._command: Optional[Twist2D] = None
            self._odometry: List[Tuple[float, ...]] = []
            self._plans = {kind: PublishedPlans(STORED_AFTER_S[kind]) for kind in PLAN_SERIES}
            self._missed_count = self._extrapolations = 0

    def _plan_subscribers(self, topics: List[str], kind: str) -> List[rospy.Subscriber]:
        def on_plan(message: Path, topic: str) -> None:
            points_m = np.array([(p.pose.position.x, p.pose.position.y) for p in message.poses])
            elapsed_s = rospy.get_rostime().to_sec() - self._begin_s
            pose = self._frame_pose(message.header.frame_id)
            stamp_s = message.header.stamp.to_sec()
            with self._lock:
                self._plans[kind].add(topic, stamp_s, elapsed_s, points_m, pose)

        return [rospy.Subscriber(topic, Path, on_plan, topic, queue_size=10) for topic in topics]

    def _frame_pose(self, frame: str) -> Optional[Pose2D]:
        if frame.lstrip("/") in ("", self._map_frame):
            return Pose2D(0.0, 0.0, 0.0)
        # Local planners publish their plans in the frame of the odometry.
        pose = self._localization.pose_of(frame, self._map_frame)
        return None if pose is None else pose.planar

    def _on_command(self, message: Twist) -> None:
        with self._lock:
            self._command = ros_messages.command_of(message)

    def _on_odom(self, message: Odometry) -> None:
        pose = ros_messages.pose_of(message.pose.pose).planar
        twist = message.twist.twist
        self.odom_received = True
        with self._lock:
            self._odom = (*pose, twist.linear.x, twist.angular.z)

    def _on_scan(self, message: rospy.AnyMsg) -> None:
        self._scan = message

    def _on_log(self, message: Log) -> None:
        with self._lock:
            self._missed_count += MISSED in message.msg
            self._extrapolations += EXTRAPOLATION in message.msg.lower()
