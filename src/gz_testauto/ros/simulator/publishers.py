"""Publication of the state of a simulation on the usual topics of a robot.

In each period, measurements are published first, then the odometry of the same time, and the clock
last, so that a node that waits for the clock has already received the other messages. All time
stamps are ROS time, which never decreases. The time of the scene is published on
``~scene_time``.
"""

import math
from typing import List, Optional, Tuple

import rospy
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry as OdometryMessage
from tf2_msgs.msg import TFMessage

from gz_testauto.base import ros_messages
from gz_testauto.base.observation import ModelState, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.msg import Snapshot
from gz_testauto.ros.graph import advertise
from gz_testauto.ros.simulator import interface
from gz_testauto.ros.simulator.clock import SceneClock
from gz_testauto.ros.simulator.loop import Period
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.interface import Scene

UNKNOWN = float("nan")
QUEUE_SIZE = 100


class Odometry:
    """The odometry of one robot in one scene, which consists of its true pose and its velocity in
    the base frame.

    ``origin`` selects the origin of the odometry frame. It is ``"world"``, as by default in the
    differential drive of gazebo_ros, or ``"start"`` for the robot's pose at the start of the scene,
    as on a real robot. The odometry has no drift, since localization is not under test.
    """

    def __init__(self, origin: str, start: ModelState) -> None:
        self.map_to_odom = start.pose if origin == "start" else Pose()
        self._previous: Optional[Tuple[float, ModelState]] = None

    def pose(self, state: ModelState) -> Pose:
        """Return the robot's pose in the odometry frame."""
        if self.map_to_odom == Pose():
            return state.pose
        return self.map_to_odom.inverse() * state.pose

    def advance(self, time_s: float, state: ModelState) -> Tuple[float, float, float]:
        """Add the next sample, and return v_x, v_y (m/s) and the yaw rate (rad/s) in the base
        frame.

        The values are those that the simulator reports. If it reports none, they are the means
        since the previous sample, or 0 for the first sample.
        """
        previous, self._previous = self._previous, (time_s, state)
        yaw = state.pose.yaw_rad
        cos, sin = math.cos(yaw), math.sin(yaw)
        if state.linear_mps is not None and state.angular_radps is not None:
            x_mps, y_mps, turn_radps = *state.linear_mps[:2], state.angular_radps[2]
        elif previous is None or time_s <= previous[0]:
            return (0.0, 0.0, 0.0)
        else:
            elapsed_s = time_s - previous[0]
            before = previous[1].pose
            x_mps = (state.pose.position[0] - before.position[0]) / elapsed_s
            y_mps = (state.pose.position[1] - before.position[1]) / elapsed_s
            turn_radps = math.remainder(yaw - before.yaw_rad, 2 * math.pi) / elapsed_s
        return (cos * x_mps + sin * y_mps, -sin * x_mps + cos * y_mps, turn_radps)


class ScenePublisher:
    """The publisher of the state of one simulator, for all of its scenes. It must be called on the
    thread of the simulation loop."""

    def __init__(
        self, clock: SceneClock, parameters: interface.SimulatorParameters, period_s: float
    ) -> None:
        self._clock = clock
        self._period_s = period_s
        self._parameters = parameters
        self._robot: Optional[RobotModel] = None
        self._odometry: Optional[Odometry] = None
        self._scan_stamp_s = -1.0

        # Latched topics are received by a node that subscribes while time is held.
        self._clock_out = advertise(interface.CLOCK, QUEUE_SIZE)
        self._scene_time = advertise(interface.SCENE_TIME, QUEUE_SIZE)
        self._odom = advertise(interface.ODOM, QUEUE_SIZE)
        self._truth = advertise(interface.GROUND_TRUTH, QUEUE_SIZE)
        self._scan = advertise(interface.SCAN, QUEUE_SIZE)
        self._imu = advertise(interface.IMU, QUEUE_SIZE)
        self._contacts = advertise(interface.CONTACTS, QUEUE_SIZE)
        self._models = advertise(interface.MODEL_STATES, QUEUE_SIZE)
        self._links = advertise(interface.LINK_STATES, QUEUE_SIZE)
        self._snapshot = advertise(interface.SNAPSHOT, QUEUE_SIZE)
        self._transforms = advertise(interface.TF, QUEUE_SIZE)
        self._fixed_transforms = advertise(interface.TF_STATIC, QUEUE_SIZE)

    def start_scene(self, scene: Scene, period: Period) -> None:
        """Publish the first snapshot of a new scene, at time 0 of the scene."""
        self._clock.begin_scene()
        self._robot, self._odometry, self._scan_stamp_s = scene.robot, None, -1.0
        if scene.robot is not None:
            start = period.snapshot.models[scene.robot.name]
            self._odometry = Odometry(self._parameters.odom_origin, start)
            mounts = self._mounts(period.snapshot.time_s, scene.robot, self._odometry)
            self._fixed_transforms.publish(TFMessage(mounts))
        self.publish(period)

    def publish(self, period: Period) -> None:
        """Publish the snapshot at the end of a control period."""
        snapshot = period.snapshot
        stamp = ros_messages.time_message(self._clock.nanoseconds(snapshot.time_s))
        self._publish_sensors(period)
        if self._models.get_num_connections():
            self._models.publish(ros_messages.model_states_message(snapshot.models))
        if self._links.get_num_connections():
            self._links.publish(ros_messages.link_states_message(snapshot.links))
        if self._robot is not None and self._odometry is not None:
            state = snapshot.models.get(self._robot.name)
            if state is not None:
                self._publish_motion(period, stamp, state, self._odometry)
        self._publish_snapshot(period, stamp)
        self._scene_time.publish(snapshot.time_s)
        self._clock_out.publish(stamp)

    def _publish_sensors(self, period: Period) -> None:
        snapshot, robot = period.snapshot, self._robot
        if robot is None:
            return
        scan = snapshot.scan
        if scan is not None and robot.lidar is not None and scan.stamp_s > self._scan_stamp_s:
            self._scan_stamp_s = scan.stamp_s
            stamp = self._time(scan.stamp_s)
            # a rate of 0 is one scan per physics step, of which one per period is used
            rate_hz = robot.lidar.update_rate_hz
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

    def _publish_motion(
        self, period: Period, stamp: rospy.Time, state: ModelState, odometry: Odometry
    ) -> None:
        forward, sideways, turn = odometry.advance(period.snapshot.time_s, state)
        pose = odometry.pose(state)
        self._transforms.publish(
            TFMessage(
                [_transform(self._parameters.odom_frame, self._parameters.base_frame, pose, stamp)]
            )
        )
        message = OdometryMessage()
        message.header.stamp, message.header.frame_id = stamp, self._parameters.odom_frame
        message.child_frame_id = self._parameters.base_frame
        message.pose.pose = ros_messages.pose_message(pose)
        message.twist.twist = ros_messages.twist_message((forward, sideways, 0.0), (0.0, 0.0, turn))
        self._odom.publish(message)
        truth = OdometryMessage(message.header, message.child_frame_id, message.pose, message.twist)
        truth.header = type(message.header)(0, stamp, ros_messages.WORLD_FRAME)
        truth.pose = type(message.pose)(
            ros_messages.pose_message(state.pose), message.pose.covariance
        )
        self._truth.publish(truth)

    def _publish_snapshot(self, period: Period, stamp: rospy.Time) -> None:
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
            number_names=list(period.numbers),
            numbers=list(period.numbers.values()),
        )
        message.header.stamp, message.header.frame_id = stamp, ros_messages.WORLD_FRAME
        self._snapshot.publish(message)

    def _mounts(
        self, time_s: float, robot: RobotModel, odometry: Odometry
    ) -> List[TransformStamped]:
        """Return the constant transforms of a scene. They are the transforms between the odometry
        frame and the map, and those of the sensors on the robot."""
        stamp, parameters = self._time(time_s), self._parameters
        fixed = [
            _transform(parameters.base_frame, sensor.sensor, sensor.mount, stamp)
            for sensor in (robot.lidar, robot.imu)
            if sensor is not None
        ]
        if parameters.map_to_odom:
            fixed.append(
                _transform(
                    ros_messages.WORLD_FRAME, parameters.odom_frame, odometry.map_to_odom, stamp
                )
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
