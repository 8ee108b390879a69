"""Publication of the state of a simulation on the usual topics of a robot."""

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

import rospy
from geometry_msgs.msg import TransformStamped, Twist
from nav_msgs.msg import Odometry as OdometryMessage
from tf2_msgs.msg import TFMessage

from gz_testauto.actors.localization import PoseEstimator
from gz_testauto.base import ros_messages
from gz_testauto.base.observation import SensorReading, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import Sensor
from gz_testauto.msg import Snapshot
from gz_testauto.ros.graph import advertise
from gz_testauto.ros.simulator import interface
from gz_testauto.ros.simulator.clock import SceneClock
from gz_testauto.ros.simulator.loop import Period
from gz_testauto.ros.simulator.odometry import Odometry
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.interface import Scene

UNKNOWN = float("nan")
QUEUE_SIZE, SENSOR_QUEUE_SIZE = 100, 10


class ScenePublisher:
    """The publisher of the state of one simulator, on the thread of the simulation loop."""

    def __init__(
        self,
        clock: SceneClock,
        parameters: interface.SimulatorParameters,
        period_s: float,
        is_corrected: bool = False,
    ) -> None:
        """Advertise the topics.

        If ``is_corrected``, the transform from map to odometry is published in each period.
        """
        self._clock = clock
        self._is_corrected = is_corrected
        self._period_s = period_s
        self._parameters = parameters
        self._robot: Optional[RobotModel] = None
        self.odometry: Optional[Odometry] = None
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
        self._sensors = SensorPublisher(period_s)
        self._transforms = advertise(interface.TF, QUEUE_SIZE)
        self._fixed_transforms = advertise(interface.TF_STATIC, QUEUE_SIZE)

    def start_scene(
        self, scene: Scene, period: Period, estimator: Optional[PoseEstimator] = None
    ) -> None:
        self._clock.begin_scene()
        self._robot, self.odometry, self._scan_stamp_s = scene.robot, None, -1.0
        sensors = scene.robots[0].simulated if scene.robot is not None else ()
        self._sensors.start_scene(sensors)
        if scene.robot is not None:
            start = period.snapshot.models[scene.robot.name]
            self.odometry = Odometry(self._parameters.odom_origin, start, estimator)
            mounts = self._fixed_sensor_transforms(
                period.snapshot.time_s, scene.robot, sensors, self.odometry
            )
            self._fixed_transforms.publish(TFMessage(mounts))
        self.advance(period)
        self.publish(period)

    def advance(self, period: Period) -> None:
        if self._robot is None or self.odometry is None:
            return
        name, snapshot = self._robot.name, period.snapshot
        if name in period.placed:
            self.odometry.place(period.placed[name])
        state = snapshot.models.get(name)
        if state is not None:
            self.odometry.advance(snapshot.time_s, state)

    def publish(self, period: Period) -> None:
        """Publish the snapshot of a period, after :meth:`advance`."""
        snapshot = period.snapshot
        stamp = ros_messages.time_message(self._clock.nanoseconds(snapshot.time_s))
        # Measurements first, then the odometry of the same time, and the clock last, so that a
        # node that waits for the clock has already received the other messages.
        self._publish_sensors(period)
        if self._models.get_num_connections():
            self._models.publish(ros_messages.model_states_message(snapshot.models))
        if self._links.get_num_connections():
            self._links.publish(ros_messages.link_states_message(snapshot.links))
        if self._robot is not None and self._robot.name in snapshot.models:
            assert self.odometry is not None, "a scene with a robot has odometry"
            self._publish_motion(stamp, self.odometry)
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
            stamp = self._stamp(scan.stamp_s)
            # a rate of 0 is one scan per physics step, of which one per period is used
            rate_hz = robot.lidar.update_rate_hz
            interval_s = 1.0 / rate_hz if rate_hz else self._period_s
            self._scan.publish(
                ros_messages.scan_message(scan, stamp, robot.lidar.sensor, interval_s)
            )
        if robot.imu is not None and self._imu.get_num_connections():
            for sample in snapshot.imu:
                self._imu.publish(
                    ros_messages.imu_message(sample, self._stamp(sample.stamp_s), robot.imu.sensor)
                )
        self._sensors.publish(snapshot.sensors, self._stamp)
        if self._contacts.get_num_connections():
            self._contacts.publish(
                ros_messages.contacts_message(snapshot.contacts, self._stamp(snapshot.time_s))
            )

    def _publish_motion(self, stamp: rospy.Time, odometry: Odometry) -> None:
        parameters, pose = self._parameters, odometry.pose
        transforms = [_transform_message(parameters.odom_frame, parameters.base_frame, pose, stamp)]
        if parameters.map_to_odom and self._is_corrected:
            transforms.append(self._map_to_odom(odometry, stamp))
        self._transforms.publish(TFMessage(transforms))
        message = _odometry_message(parameters.odom_frame, parameters.base_frame, stamp)
        message.pose.pose = ros_messages.pose_message(pose)
        message.pose.covariance = odometry.covariance
        message.twist.twist = _twist_message(*odometry.twist)
        message.twist.covariance = odometry.twist_covariance
        self._odom.publish(message)
        truth = _odometry_message(ros_messages.WORLD_FRAME, parameters.base_frame, stamp)
        truth.pose.pose = ros_messages.pose_message(odometry.true_pose)
        truth.twist.twist = _twist_message(*odometry.true_twist)
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
            scan=self._stamp(self._scan_stamp_s) if self._scan_stamp_s >= 0.0 else rospy.Time(),
            sensor_names=list(snapshot.sensors),
            sensor_stamps=[self._stamp(reading.stamp_s) for reading in snapshot.sensors.values()],
            late=period.late,
            held=period.held,
            number_names=list(period.numbers),
            numbers=list(period.numbers.values()),
        )
        message.header = ros_messages.header(stamp)
        self._snapshot.publish(message)

    def _fixed_sensor_transforms(
        self, time_s: float, robot: RobotModel, sensors: Sequence[Sensor], odometry: Odometry
    ) -> List[TransformStamped]:
        stamp, parameters = self._stamp(time_s), self._parameters
        fixed_transforms = [
            _transform_message(parameters.base_frame, sensor.sensor, sensor.mount, stamp)
            for sensor in (robot.lidar, robot.imu)
            if sensor is not None
        ]
        known_frames = {
            parameters.base_frame,
            *(transform.child_frame_id for transform in fixed_transforms),
        }
        fixed_transforms += [
            _transform_message(parameters.base_frame, frame, pose, stamp)
            for frame, pose in sensor_frames(sensors, known_frames)
        ]
        if parameters.map_to_odom and not self._is_corrected:
            fixed_transforms.append(self._map_to_odom(odometry, stamp))
        return fixed_transforms

    def _map_to_odom(self, odometry: Odometry, stamp: rospy.Time) -> TransformStamped:
        frame = self._parameters.odom_frame
        return _transform_message(ros_messages.WORLD_FRAME, frame, odometry.map_to_odom, stamp)

    def _stamp(self, scene_time_s: float) -> rospy.Time:
        return ros_messages.time_message(self._clock.nanoseconds(scene_time_s))


def _odometry_message(parent: str, child: str, stamp: rospy.Time) -> OdometryMessage:
    return OdometryMessage(header=ros_messages.header(stamp, parent), child_frame_id=child)


def _twist_message(forward_mps: float, sideways_mps: float, turn_radps: float) -> Twist:
    return ros_messages.twist_message((forward_mps, sideways_mps, 0.0), (0.0, 0.0, turn_radps))


def _transform_message(parent: str, child: str, pose: Pose, stamp: rospy.Time) -> TransformStamped:
    header, transform = ros_messages.header(stamp, parent), ros_messages.transform_message(pose)
    return TransformStamped(header, child, transform)


class SensorPublisher:
    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._publishers: Dict[Tuple[str, str], rospy.Publisher] = {}
        self._outputs: Dict[str, rospy.Publisher] = {}
        self._published_s: Dict[str, float] = {}

    def start_scene(self, sensors: Sequence[Sensor]) -> None:
        self._published_s.clear()
        self._outputs = {}
        for sensor in sensors:
            endpoint = interface.sensor_endpoint(sensor)
            if endpoint.name == sensor.scoped_topic:
                rospy.logwarn(
                    "sensor %s: its topic is used already, so it is published on %s",
                    sensor.name,
                    endpoint.name,
                )
            key = (endpoint.name, sensor.kind)
            if key not in self._publishers:
                self._publishers[key] = advertise(endpoint, SENSOR_QUEUE_SIZE)
            self._outputs[sensor.name] = self._publishers[key]

    def publish(
        self, readings: Mapping[str, SensorReading], time_of: Callable[[float], rospy.Time]
    ) -> None:
        """Publish the new readings; ``time_of`` converts scene time (s) to ROS time."""
        for name, reading in readings.items():
            if reading.stamp_s > self._published_s.get(name, -1.0):
                is_first = name not in self._published_s
                self._published_s[name] = reading.stamp_s
                output = self._outputs[name]
                if is_first or output.get_num_connections():
                    stamp = time_of(reading.stamp_s)
                    output.publish(sensor_message(reading, stamp, self._period_s))


def sensor_message(reading: SensorReading, stamp: rospy.Time, period_s: float) -> Any:
    """Return the ROS message of a reading. ``period_s`` is the scan interval of a lidar without a
    rate."""
    sensor = reading.sensor
    if sensor.kind == "scan":
        rate_hz = sensor.update_rate_hz
        interval_s = 1.0 / rate_hz if rate_hz else period_s
        return ros_messages.scan_message(reading.scan, stamp, sensor.frame, interval_s)
    if sensor.kind == "cloud":
        return ros_messages.cloud_message(reading, stamp)
    if sensor.kind == "range":
        return ros_messages.range_message(reading, stamp)
    return ros_messages.contacts_message(reading.contacts, stamp, sensor.frame)


def sensor_frames(sensors: Sequence[Sensor], known_frames: Set[str]) -> List[Tuple[str, Pose]]:
    """Return each frame of sensors with rays once, except ``known_frames``, with its pose in the
    base."""
    frames: Dict[str, Pose] = {}
    for sensor in sensors:
        if sensor.kind != "contact" and sensor.frame not in known_frames:
            frames.setdefault(sensor.frame, sensor.frame_mount)
    return list(frames.items())
