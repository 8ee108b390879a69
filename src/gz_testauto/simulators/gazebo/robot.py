"""A robot on a gzserver: its velocity command, its topics and its sensor readings.

Gazebo's drive plugins subscribe to ``Pose`` messages on ``~/<model>/vel_cmd``: ``x`` is the
speed, and the yaw angle is the yaw rate. SkidSteerDrivePlugin sets the wheel speed only once per
message, and controls joints with fixed names instead of those in its SDF element.
"""

import functools
import logging
import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import (
    Contact,
    ImuSample,
    LaserScan,
    ModelState,
    SensorReadings,
    Twist2D,
)
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import Sensor
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.gazebo.adapted_robot import adapt_robot
from gz_testauto.simulators.gazebo.instruments import InstrumentedRobot
from gz_testauto.simulators.gazebo.lockstep import LockStep
from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.readings import (
    ImuReader,
    contact_from,
    mean_twist,
    nanoseconds,
    ranges_from,
    scan_from,
)
from gz_testauto.simulators.gazebo.transport import Publisher, RawCallback
from gz_testauto.simulators.gazebo.world import WorldLink, pose_message

LOGGER = logging.getLogger(__name__)

# Factor of the yaw rate in the message: DiffDrivePlugin turns clockwise for a positive rate,
# SkidSteerDrivePlugin turns at twice the commanded rate.
_YAW_GAIN: Dict[str, float] = {"DiffDrivePlugin": -1.0, "SkidSteerDrivePlugin": 0.5}

_SKID_STEER = "SkidSteerDrivePlugin"
_SKID_STEER_JOINTS = (("left_front", "left_rear"), ("right_front", "right_rear"))


def require_drive(robot: RobotModel) -> None:
    """Raise ``SimulatorError`` for joints of the drive that Gazebo's plugin does not support."""
    drive = robot.drive
    if drive is None or _SKID_STEER not in drive.plugin:
        return
    if (drive.left_joints, drive.right_joints) != _SKID_STEER_JOINTS:
        joints = ", ".join((*drive.left_joints, *drive.right_joints))
        raise SimulatorError(
            f"{robot.path}: the drive's joints are {joints}, and Gazebo's {_SKID_STEER} supports "
            "only left_front, left_rear, right_front and right_rear; rename them in the joints and "
            "in the plugin, or use one libDiffDrivePlugin.so for each axle"
        )
    _warn_about_free_wheels(str(robot.path))


@functools.lru_cache(maxsize=None)
def _warn_about_free_wheels(robot: str) -> None:
    LOGGER.warning(
        "%s: Gazebo's %s does not hold the wheel speed between commands, so the robot is slower "
        "than commanded; use one libDiffDrivePlugin.so for each axle instead",
        robot,
        _SKID_STEER,
    )


class DriveCommand:
    def __init__(self, robot: RobotModel) -> None:
        adapted_robot = adapt_robot(robot)
        plugin = adapted_robot.plugin
        self._linear = adapted_robot.linear
        self._gain: Optional[float] = next(
            (gain * adapted_robot.angular for name, gain in _YAW_GAIN.items() if name in plugin),
            None,
        )
        self._robot = robot.name
        self.repeat = _SKID_STEER in plugin

    @property
    def available(self) -> bool:
        return self._gain is not None

    @property
    def limit_radps(self) -> float:
        """Upper limit of the absolute yaw rate, which the drive plugins wrap at pi."""
        return math.inf if self._gain is None else math.pi / abs(self._gain)

    def message(self, twist: Twist2D) -> Any:
        """Return the message for a velocity command.

        Raises ``SimulatorError`` without a supported drive plugin, and ``ValueError`` beyond
        :attr:`limit_radps`.
        """
        if self._gain is None:
            raise SimulatorError(
                f"robot {self._robot!r} has no supported drive plugin; add one of "
                f"{', '.join(f'lib{name}.so' for name in _YAW_GAIN)} to its SDF"
            )
        if not (math.isfinite(twist.linear_mps) and math.isfinite(twist.angular_radps)):
            raise ValueError(f"a velocity command must be finite, not {twist}")
        if abs(twist.angular_radps) >= self.limit_radps:
            raise ValueError(
                f"a yaw rate of {twist.angular_radps} rad/s cannot be commanded, because "
                "Gazebo's drive plugins use it as an angle and wrap it at pi; it must be between "
                f"-{self.limit_radps:.4g} and {self.limit_radps:.4g} rad/s"
            )
        yaw = twist.angular_radps * self._gain
        return pose_message(Pose.from_rpy(twist.linear_mps * self._linear, 0.0, 0.0, 0.0, 0.0, yaw))


class GazeboRobot:
    def __init__(
        self,
        link: WorldLink,
        clock: LockStep,
        instrumented: InstrumentedRobot,
        velocity: Publisher,
        gravity_mps2: Sequence[float],
    ) -> None:
        self.instrumented = instrumented
        self.name = instrumented.robot.name
        self._link, self._clock, self._velocity = link, clock, velocity
        self._drive_command = DriveCommand(instrumented.robot)
        self._last_command: Optional[Twist2D] = None
        self._to_send: Optional[Any] = None
        self._scan: Optional[LaserScan] = None
        self._scans_taken = 0
        self._twist: Optional[Tuple[Any, Any]] = None
        self._imu: List[ImuSample] = []
        self._contacts: List[Contact] = []
        self._ranges: Dict[str, bytes] = {}
        self._imu_reader: Optional[ImuReader] = None
        if instrumented.robot.imu is not None:
            self._imu_reader = ImuReader(gravity_mps2, instrumented.robot.imu.mount)
        self._gone = False

    def listen(self) -> None:
        instrumented, clock, link = self.instrumented, self._clock, self._link
        for topic in instrumented.contact_topics:
            clock.motion_sensors.add(topic)
            link.listen(topic, "Contacts", self._contact_reader(topic))
        if instrumented.scan_topic is not None:
            clock.sensors.add(instrumented.scan_topic)
            link.listen(instrumented.scan_topic, "LaserScanStamped", self._on_scan)
        for sensor, topic in instrumented.ray_topics.items():
            clock.sensors.add(topic)
            link.listen(topic, "LaserScanStamped", self._ray_reader(sensor, topic))
        if instrumented.imu_topic is not None:
            clock.motion_sensors.add(instrumented.imu_topic)
            link.listen(instrumented.imu_topic, "IMU", self._on_imu)
        if self._drive_command.available:
            velocity = self._velocity
            link.wait_for(lambda: velocity.connected, "connecting to the robot's drive")

    def begin(self) -> None:
        if self._imu_reader is not None:
            self._imu_reader.begin(self._clock.gazebo_ns)

    def forget(self) -> None:
        """Stop waiting for messages of a deleted robot."""
        self._clock.sensors -= {
            str(self.instrumented.scan_topic),
            *self.instrumented.ray_topics.values(),
        }
        topics = {*self.instrumented.contact_topics, str(self.instrumented.imu_topic)}
        self._clock.motion_sensors -= topics
        self._gone = True

    def drive(self, command: Twist2D) -> None:
        message = self._drive_command.message(command)
        if command != self._last_command:
            self._last_command, self._to_send = command, message

    def deliver_command(self) -> None:
        """Send the stored velocity command. It arrives before physics is enabled."""
        if self._to_send is None:
            return
        with self._link.watched("sending a command"):
            self._velocity.send(self._to_send)
        if not self._drive_command.repeat:
            self._to_send = None

    def moved(self, previous_pose: Pose, pose: Pose, passed_s: float) -> None:
        """Compute the twist and the IMU sample of an interval from the poses at its ends."""
        self._twist = mean_twist(previous_pose, pose, passed_s)
        if self._imu_reader is not None:
            sample = self._imu_reader.sample(self._clock.time_ns, pose)
            self._imu.extend([sample] if sample is not None else [])

    def state(self, pose: Pose) -> ModelState:
        """Return the state with the mean twist in the last interval of physics."""
        return ModelState(pose, *(self._twist or (None, None)))

    def sensed(self) -> SensorReadings:
        contacts = tuple(sorted(self._contacts, key=lambda contact: contact.stamp_s))
        readings = SensorReadings(self._scan, tuple(self._imu), contacts)
        self._imu.clear()
        self._contacts.clear()
        return readings

    def ranges_m(self, sensor: Sensor) -> np.ndarray:
        """Return the distances (m) along the rays of a selected sensor, at the last rest."""
        message = MESSAGES["LaserScanStamped"].FromString(self._ranges[sensor.name])
        return ranges_from(message)

    def _ray_reader(self, sensor: str, topic: str) -> RawCallback:
        def read(payload: bytes) -> None:
            if not self._gone:
                self._ranges[sensor] = payload
                self._clock.answered(topic)

        return read

    def _contact_reader(self, topic: str) -> RawCallback:
        def read(payload: bytes) -> None:
            clock = self._clock
            earliest_ns = clock.interval_start_ns + clock.step_ns
            for contact in MESSAGES["Contacts"].FromString(payload).contact:
                # The time can be that of the rest, or of the first step, whose contacts Gazebo can
                # drop.
                stamp_ns = clock.simulated_ns(nanoseconds(contact.time))
                if earliest_ns < stamp_ns <= clock.time_ns:
                    self._contacts.append(contact_from(contact, stamp_ns))
            clock.answered(topic)

        return read

    def _on_scan(self, payload: bytes) -> None:
        lidar = self.instrumented.robot.single_lidar
        if self._gone or lidar is None:
            return
        message = MESSAGES["LaserScanStamped"].FromString(payload)
        self._clock.answered(str(self.instrumented.scan_topic))
        time_ns = self._clock.time_ns
        if (
            lidar.update_rate_hz > 0
            and time_ns < self._scans_taken * 1e9 / lidar.update_rate_hz - 1
        ):
            return  # the scan is not due yet at the lidar's rate
        self._scans_taken = int(time_ns * lidar.update_rate_hz / 1e9 + 1e-6) + 1
        self._scan = scan_from(message, time_ns, lidar)

    def _on_imu(self, payload: bytes) -> None:
        if self._gone or self._imu_reader is None:
            return
        self._imu_reader.receive(MESSAGES["IMU"].FromString(payload))
        self._clock.answered(str(self.instrumented.imu_topic))
