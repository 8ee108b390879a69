"""A robot in a loaded world: its velocity command and its sensor readings.

The world can be recompiled during a trial; :meth:`MujocoRobot.attach` finds motors and sensors
again.
"""

from typing import Any, FrozenSet, List, Optional, Set

import numpy as np

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import Contact, LaserScan, SensorReadings, Twist2D
from gz_testauto.simulators.due_ticks import due_ticks
from gz_testauto.simulators.embedded.engine import Engine, actuators
from gz_testauto.simulators.embedded.imu import MujocoImuSamples
from gz_testauto.simulators.embedded.lidar import MujocoLidar
from gz_testauto.simulators.embedded.mjcf import RobotEquipment, motor_name
from gz_testauto.simulators.embedded.robot import DrivenRobot

IMU_NUMBERS = 10
"""Number of values of MuJoCo's sensors of one IMU."""


class MujocoRobot:
    """A robot in a world. ``noise`` draws the noise of its lidar; if ``fast_lidar`` is False,
    MuJoCo casts its rays."""

    def __init__(
        self, robot: DrivenRobot, step_s: float, noise: np.random.Generator, fast_lidar: bool
    ) -> None:
        self.engine_robot = robot.engine_robot
        self.name = robot.engine_robot.robot.name
        self.equipment = RobotEquipment(robot.drive, robot.engine_robot.imu)
        self._step_s, self._noise, self._fast_lidar = step_s, noise, fast_lidar
        self._command = Twist2D()
        self._scan: Optional[LaserScan] = None
        self._imu = MujocoImuSamples()
        self._contacts: List[Contact] = []
        self._imu_ticks: Set[int] = set()
        self._scan_tick = -1
        self._velocity: List[float] = []

    def attach(self, engine: Engine, imus_before: int) -> None:
        """Find motors and sensors in a compiled world with ``imus_before`` IMUs before this one."""
        engine_robot, drive = self.engine_robot, self.equipment.drive
        self._engine = engine
        self._body: FrozenSet[int] = engine.geoms_of(engine_robot.body_shapes)
        motors = () if drive.held else drive.motors
        names = [motor_name(self.name, motor) for motor in motors]
        self._motors: Optional[np.ndarray] = actuators(engine, names)
        self._reading = slice(imus_before * IMU_NUMBERS, (imus_before + 1) * IMU_NUMBERS)
        self._set_motors()
        self._lidar: Optional[MujocoLidar] = None
        if engine_robot.lidar is not None and engine_robot.robot.lidar is not None:
            self._lidar = MujocoLidar(
                engine.model,
                engine.data,
                engine_robot.robot.lidar,
                engine.body(engine_robot.lidar.link),
                engine_robot.lidar.pose,
                engine_robot.lidar_noise_m,
                self._noise,
                None if self._fast_lidar else False,
            )

    def drive(self, command: Twist2D) -> None:
        """Set the velocity command. Raises ``SimulatorError`` without a supported drive plugin."""
        if not self.equipment.drive.motors:
            raise SimulatorError(
                f"robot {self.name!r} has no supported drive plugin: add to its SDF "
                "libDiffDrivePlugin.so or libSkidSteerDrivePlugin.so"
            )
        self._command = command
        self._set_motors()

    def begin(self) -> None:
        """Measure the scan of time 0."""
        if self._lidar is not None:
            self._scan = self._lidar.scan(0.0)

    def begin_step(self, start: int, end: int) -> None:
        """Determine the ticks from ``start`` to ``end`` in which the sensors measure."""
        imu, lidar = self.engine_robot.robot.imu, self.engine_robot.robot.lidar
        step_s = self._step_s
        self._imu_ticks = due_ticks(start, end, imu.update_rate_hz * step_s) if imu else set()
        scans = due_ticks(start, end, lidar.update_rate_hz * step_s) if lidar else set()
        self._scan_tick = max(scans, default=-1)  # earlier scans would never be read
        self._velocity = self._engine.data.sensordata[self._reading].tolist()[-3:]

    def measure(self, tick: int, time_s: float, sensordata: Any) -> None:
        """Store the contacts and measurements of the last tick."""
        engine = self._engine
        if self._body and engine.touches(self._body):
            self._contacts += engine.contacts(self._body, time_s)
        if tick in self._imu_ticks:
            gravity = engine.model.opt.gravity.tolist()
            numbers = sensordata[self._reading].tolist()
            self._imu.add(time_s, numbers, self._velocity, self._step_s, gravity)
        if tick + 1 in self._imu_ticks:
            self._velocity = sensordata[self._reading].tolist()[-3:]
        if tick == self._scan_tick and self._lidar is not None:
            self._scan = self._lidar.scan(time_s)

    def sensed(self) -> SensorReadings:
        """Return the readings since the previous call, and the latest scan."""
        imu, contacts = self._imu, tuple(self._contacts)
        self._imu = MujocoImuSamples()
        self._contacts.clear()
        return SensorReadings(self._scan, imu, contacts)

    def _set_motors(self) -> None:
        drive = self.equipment.drive
        if self._motors is not None:
            self._engine.data.ctrl[self._motors] = drive.speeds(self._command)
        if drive.held and self._engine.grip is not None:
            joints = [wheel.joint for wheel in drive.wheels]
            self._engine.grip.turn(joints, drive.speeds(self._command))
