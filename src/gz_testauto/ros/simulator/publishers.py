"""Publishers of a simulation's state under the usual topic names of a robot's stack.

Defines the topics, their frames and their order: measurements, then the odometry of the same time,
and the clock last, so that a node that wakes by the clock has already received the rest. All stamps
are ROS time, which never decreases; ``~scene_time`` has the time of the scene.
"""

from dataclasses import dataclass
from typing import List, Optional

import rospy
import tf2_ros
from gazebo_msgs.msg import ContactsState, LinkStates, ModelStates
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry as OdometryMessage
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, LaserScan
from std_msgs.msg import Float64
from tf2_msgs.msg import TFMessage

from gz_testauto.base import ros_messages
from gz_testauto.base.observation import ModelState, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.msg import Snapshot
from gz_testauto.ros.simulator.clock import SceneClock
from gz_testauto.ros.simulator.loop import Period
from gz_testauto.ros.simulator.odometry import Odometry
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.interface import Scene

UNKNOWN = float("nan")


@dataclass(frozen=True)
class Frames:
    """Names of frames. ``odom_origin`` is that of :class:`.odometry.Odometry`; ``map_to_odom``:
    whether to publish this transform, otherwise the task of a localizer."""

    base: str = "base_link"
    odom: str = "odom"
    odom_origin: str = "world"
    map_to_odom: bool = True


class ScenePublisher:
    """Publishes the scenes of one simulator. It is called from the loop's thread."""

    def __init__(self, clock: SceneClock, frames: Frames, period_s: float) -> None:
        self._clock = clock
        self._period_s = period_s
        self._frames = frames
        self._robot: Optional[RobotModel] = None
        self._odometry: Optional[Odometry] = None
        self._scan_stamp_s = -1.0

        def publisher(name: str, kind: type, latch: bool = False) -> rospy.Publisher:
            return rospy.Publisher(name, kind, queue_size=100, latch=latch)

        # Latched, so that a node that subscribes while time is held receives time and robot pose.
        self._clock_out = publisher("/clock", Clock, latch=True)
        self._scene_time = publisher("~scene_time", Float64, latch=True)
        self._odom = publisher("odom", OdometryMessage, latch=True)
        self._truth = publisher("~ground_truth", OdometryMessage, latch=True)
        self._scan = publisher("scan", LaserScan)
        self._imu = publisher("imu", Imu)
        self._contacts = publisher("contacts", ContactsState)
        self._models = publisher("/gazebo/model_states", ModelStates)
        self._links = publisher("/gazebo/link_states", LinkStates)
        self._snapshot = publisher("~snapshot", Snapshot)
        self._transforms = publisher("/tf", TFMessage, latch=True)
        self._fixed_transforms = tf2_ros.StaticTransformBroadcaster()

    def scene_began(self, scene: Scene, period: Period) -> None:
        """Publish a new scene at its time 0."""
        self._clock.begin_scene()
        self._robot, self._odometry, self._scan_stamp_s = scene.robot, None, -1.0
        if scene.robot is not None:
            start = period.snapshot.models[scene.robot.name]
            self._odometry = Odometry(self._frames.odom_origin, start)
            mounts = self._mounts(period.snapshot.time_s, scene.robot, self._odometry)
            self._fixed_transforms.sendTransform(mounts)
        self.show(period)

    def show(self, period: Period) -> None:
        """Publish the end of a control period."""
        snapshot = period.snapshot
        stamp = ros_messages.time_message(self._clock.nanoseconds(snapshot.time_s))
        self._show_sensors(period)
        if self._models.get_num_connections():
            self._models.publish(ros_messages.model_states_message(snapshot.models))
        if self._links.get_num_connections():
            self._links.publish(ros_messages.link_states_message(snapshot.links))
        if self._robot is not None and self._odometry is not None:
            state = snapshot.models.get(self._robot.name)
            if state is not None:
                self._show_motion(period, stamp, state, self._odometry)
        self._show_snapshot(period, stamp)
        self._scene_time.publish(snapshot.time_s)
        self._clock_out.publish(stamp)

    def _show_sensors(self, period: Period) -> None:
        snapshot, robot = period.snapshot, self._robot
        if robot is None:
            return
        scan = snapshot.scan
        if scan is not None and robot.lidar is not None and scan.stamp_s > self._scan_stamp_s:
            self._scan_stamp_s = scan.stamp_s
            stamp = self._time(scan.stamp_s)
            rate_hz = robot.lidar.update_rate_hz  # 0: a scan per physics step, of which one is used
            interval_s = 1.0 / rate_hz if rate_hz else self._period_s
            self._scan.publish(
                ros_messages.scan_message(scan, stamp, robot.lidar.sensor, interval_s)
            )
        if robot.imu is not None and self._imu.get_num_connections():
            for sample in snapshot.imu:
                self._imu.publish(
                    ros_messages.imu_message(sample, self._time(sample.stamp_s), robot.imu.sensor)
                )
        if self._contacts.get_num_connections():
            self._contacts.publish(
                ros_messages.contacts_message(snapshot.contacts, self._time(snapshot.time_s))
            )

    def _show_motion(
        self, period: Period, stamp: rospy.Time, state: ModelState, odometry: Odometry
    ) -> None:
        forward, sideways, turn = odometry.advance(period.snapshot.time_s, state)
        pose = odometry.pose(state)
        self._transforms.publish(
            TFMessage([_transform(self._frames.odom, self._frames.base, pose, stamp)])
        )
        message = OdometryMessage()
        message.header.stamp, message.header.frame_id = stamp, self._frames.odom
        message.child_frame_id = self._frames.base
        message.pose.pose = ros_messages.pose_message(pose)
        message.twist.twist = ros_messages.twist_message((forward, sideways, 0.0), (0.0, 0.0, turn))
        self._odom.publish(message)
        truth = OdometryMessage(message.header, message.child_frame_id, message.pose, message.twist)
        truth.header = type(message.header)(0, stamp, ros_messages.WORLD_FRAME)
        truth.pose = type(message.pose)(
            ros_messages.pose_message(state.pose), message.pose.covariance
        )
        self._truth.publish(truth)

    def _show_snapshot(self, period: Period, stamp: rospy.Time) -> None:
        if not self._snapshot.get_num_connections():
            return
        snapshot = period.snapshot
        message = Snapshot(
            scene=period.scene,
            scene_time=snapshot.time_s,
            models=ros_messages.model_states_message(snapshot.models, unknown=UNKNOWN),
            contacts=ros_messages.contacts_message(snapshot.contacts, stamp),
            contact_times=[contact.stamp_s for contact in snapshot.contacts],
            command=ros_messages.command_message(period.command or Twist2D()),
            commanded=period.command is not None,
            scan=self._time(self._scan_stamp_s) if self._scan_stamp_s >= 0.0 else rospy.Time(),
            late=period.late,
            held=period.held,
        )
        message.header.stamp, message.header.frame_id = stamp, ros_messages.WORLD_FRAME
        self._snapshot.publish(message)

    def _mounts(
        self, time_s: float, robot: RobotModel, odometry: Odometry
    ) -> List[TransformStamped]:
        """Return the constant transforms of a scene: odom in the map, sensors on the robot."""
        stamp, frames = self._time(time_s), self._frames
        fixed = [
            _transform(frames.base, sensor.sensor, sensor.mount, stamp)
            for sensor in (robot.lidar, robot.imu)
            if sensor is not None
        ]
        if frames.map_to_odom:
            fixed.append(
                _transform(ros_messages.WORLD_FRAME, frames.odom, odometry.map_to_odom, stamp)
            )
        return fixed

    def _time(self, scene_time_s: float) -> rospy.Time:
        return ros_messages.time_message(self._clock.nanoseconds(scene_time_s))


def _transform(parent: str, child: str, pose: Pose, stamp: rospy.Time) -> TransformStamped:
    message = TransformStamped()
    message.header.stamp, message.header.frame_id = stamp, parent
    message.child_frame_id = child
    message.transform = ros_messages.transform_message(pose)
    return message
