"""A robot on a gzserver: its velocity command, its topics and its sensor readings.

:mod:`~gz_testauto.simulators.gazebo.lockstep` advances time.
"""

from typing import Any, List, Optional, Sequence, Tuple

from gz_testauto.base.observation import (
    Contact,
    ImuSample,
    LaserScan,
    ModelState,
    SensorReadings,
    Twist2D,
)
from gz_testauto.base.pose import Pose
from gz_testauto.simulators.gazebo.drive_command import DriveCommand
from gz_testauto.simulators.gazebo.instruments import InstrumentedRobot
from gz_testauto.simulators.gazebo.lockstep import LockStep
from gz_testauto.simulators.gazebo.messages import MESSAGES
from gz_testauto.simulators.gazebo.readings import (
    ImuReader,
    contact_from,
    mean_twist,
    nanoseconds,
    scan_from,
)
from gz_testauto.simulators.gazebo.transport import Publisher, RawCallback
from gz_testauto.simulators.gazebo.world import WorldLink


class GazeboRobot:
    """A robot in a world; ``velocity`` publishes its velocity commands."""

    def __init__(
        self,
        link: WorldLink,
        clock: LockStep,
        fitted: InstrumentedRobot,
        velocity: Publisher,
        gravity_mps2: Sequence[float],
    ) -> None:
        self.fitted = fitted
        self.name = fitted.robot.name
        self._link, self._clock, self._velocity = link, clock, velocity
        self._drive_command = DriveCommand(fitted.robot)
        self._commanded: Optional[Twist2D] = None
        self._to_send: Optional[Any] = None
        self._scan: Optional[LaserScan] = None
        self._scans_taken = 0
        self._twist: Optional[Tuple[Any, Any]] = None
        self._imu: List[ImuSample] = []
        self._contacts: List[Contact] = []
        self._imu_reader: Optional[ImuReader] = None
        if fitted.robot.imu is not None:
            self._imu_reader = ImuReader(gravity_mps2, fitted.robot.imu.mount)
        self._gone = False

    def listen(self) -> None:
        """Subscribe to the sensors, and wait until the drive plugin is connected."""
        fitted, clock, link = self.fitted, self._clock, self._link
        for topic in fitted.contact_topics:
            clock.motion_sensors.add(topic)
            link.listen(topic, "Contacts", self._contact_reader(topic))
        if fitted.scan_topic is not None:
            clock.sensors.add(fitted.scan_topic)
            link.listen(fitted.scan_topic, "LaserScanStamped", self._on_scan)
        if fitted.imu_topic is not None:
            clock.motion_sensors.add(fitted.imu_topic)
            link.listen(fitted.imu_topic, "IMU", self._on_imu)
        if self._drive_command.available:
            velocity = self._velocity
            link.wait_for(lambda: velocity.connected, "connecting to the robot's drive")

    def begin(self) -> None:
        """Start at time zero."""
        if self._imu_reader is not None:
            self._imu_reader.begin(self._clock.gazebo_ns)

    def forget(self) -> None:
        """Stop waiting for the sensors of the deleted robot, and send no commands."""
        self._clock.sensors.discard(str(self.fitted.scan_topic))
        self._clock.motion_sensors -= {*self.fitted.contact_topics, str(self.fitted.imu_topic)}
        self._gone = True

    def drive(self, command: Twist2D) -> None:
        """Store a command that is sent before the next interval."""
        message = self._drive_command.message(command)
        if command != self._commanded:
            self._commanded, self._to_send = command, message

    def deliver_command(self) -> None:
        """Send the stored command. It arrives before the round trip that enables physics ends."""
        if self._to_send is None:
            return
        with self._link.watched("sending a command"):
            self._velocity.send(self._to_send)
        if not self._drive_command.repeat:
            self._to_send = None

    def moved(self, before: Pose, after: Pose, passed_s: float) -> None:
        """Compute twist and IMU sample of an interval from the poses at its ends."""
        self._twist = mean_twist(before, after, passed_s)
        if self._imu_reader is not None:
            sample = self._imu_reader.sample(self._clock.time_ns, after)
            self._imu.extend([sample] if sample is not None else [])

    def state(self, pose: Pose) -> ModelState:
        """Return the robot's state at ``pose``; its twist is the mean of the last interval."""
        return ModelState(pose, *(self._twist or (None, None)))

    def sensed(self) -> SensorReadings:
        """Return the readings since the previous call, and the latest scan."""
        contacts = tuple(sorted(self._contacts, key=lambda contact: contact.stamp_s))
        sensed = SensorReadings(self._scan, tuple(self._imu), contacts)
        self._imu.clear()
        self._contacts.clear()
        return sensed

    def _contact_reader(self, topic: str) -> RawCallback:
        def read(payload: bytes) -> None:
            clock = self._clock
            earliest_ns = clock.interval_start_ns + clock.step_ns
            for contact in MESSAGES["Contacts"].FromString(payload).contact:
                # It can be of the rest, or of the first step, which Gazebo can have dropped.
                stamp_ns = clock.simulated_ns(nanoseconds(contact.time))
                if earliest_ns < stamp_ns <= clock.time_ns:
                    self._contacts.append(contact_from(contact, stamp_ns))
            clock.answered(topic)

        return read

    def _on_scan(self, payload: bytes) -> None:
        lidar = self.fitted.robot.lidar
        if self._gone or lidar is None:
            return
        message = MESSAGES["LaserScanStamped"].FromString(payload)
        self._clock.answered(str(self.fitted.scan_topic))
        time_ns = self._clock.time_ns
        if (
            lidar.update_rate_hz > 0
            and time_ns < self._scans_taken * 1e9 / lidar.update_rate_hz - 1
        ):
            return  # not due yet at the lidar's rate
        self._scans_taken = int(time_ns * lidar.update_rate_hz / 1e9 + 1e-6) + 1
        self._scan = scan_from(message, time_ns, lidar)

    def _on_imu(self, payload: bytes) -> None:
        if self._gone or self._imu_reader is None:
            return
        self._imu_reader.receive(MESSAGES["IMU"].FromString(payload))
        self._clock.answered(str(self.fitted.imu_topic))
