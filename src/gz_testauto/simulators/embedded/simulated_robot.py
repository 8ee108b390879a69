"""A robot in a loaded world: its motors and its sensors in MuJoCo.

The world can be recompiled during a trial; :meth:`MujocoRobot.attach` finds motors and sensors
again.
"""

from typing import FrozenSet, List, Optional, Sequence

import numpy as np

from gz_testauto.base.observation import Contact
from gz_testauto.simulators.embedded.driven_robot import DrivenRobot
from gz_testauto.simulators.embedded.engine import Engine
from gz_testauto.simulators.embedded.lidar import MujocoLidar
from gz_testauto.simulators.embedded.mjcf import RobotEquipment, motor_name
from gz_testauto.simulators.engine_robot import ImuMotion, SimulatedRobot

IMU_NUMBERS = 10
"""Number of values of MuJoCo's sensors of one IMU: quaternion wxyz, angular velocity (rad/s) in the
sensor frame, and velocity (m/s) in the world frame."""


class MujocoRobot(SimulatedRobot):
    """A robot in a world; if ``fast_lidar`` is False, MuJoCo casts the rays of its lidar."""

    def __init__(
        self, robot: DrivenRobot, step_s: float, noise: np.random.Generator, fast_lidar: bool
    ) -> None:
        super().__init__(robot.engine_robot, step_s, noise)
        self.equipment = RobotEquipment(robot.drive, robot.engine_robot.imu)
        self._fast_lidar = fast_lidar

    def attach(self, engine: Engine, imus_before: int) -> None:
        """Find motors and sensors in a compiled world with ``imus_before`` IMUs before this one."""
        engine_robot, drive = self.engine_robot, self.equipment.drive
        self._engine = engine
        self._body: FrozenSet[int] = engine.geoms_of(engine_robot.body_shapes)
        motors = () if drive.held else drive.motors
        self._motors = [engine.actuator(motor_name(self.name, motor)) for motor in motors]
        first = imus_before * IMU_NUMBERS
        self._imu_numbers = engine.data.sensordata[first : first + IMU_NUMBERS]
        self._gravity_mps2 = engine.model.opt.gravity
        self._set_motors()
        self._lidar: Optional[MujocoLidar] = None
        if engine_robot.lidar is not None and engine_robot.robot.lidar is not None:
            self._lidar = MujocoLidar(
                engine.model,
                engine.data,
                engine_robot.robot.lidar,
                engine.body(engine_robot.lidar.link),
                engine_robot.lidar.pose,
                self._fast_lidar,
            )

    def _set_motors(self) -> None:
        drive, speeds = self.equipment.drive, self.equipment.drive.speeds(self._command)
        if self._motors:
            self._engine.data.ctrl[self._motors] = speeds
        if drive.held and self._engine.grip is not None:
            self._engine.grip.turn([wheel.joint for wheel in drive.wheels], speeds)

    def _present_contacts(self, stamp_s: float) -> Sequence[Contact]:
        if self._body and self._engine.touches(self._body):
            return self._engine.contacts(self._body, stamp_s)
        return ()

    def _imu_motion(self) -> ImuMotion:
        w, x, y, z, turn_x, turn_y, turn_z, *velocity = self._imu_numbers.tolist()
        gravity = self._gravity_mps2.tolist()
        return ImuMotion((x, y, z, w), (turn_x, turn_y, turn_z), velocity, gravity)

    def _imu_velocity_mps(self) -> List[float]:
        return self._imu_numbers[7:].tolist()  # type: ignore[no-any-return]

    def _ranges_m(self) -> np.ndarray:
        assert self._lidar is not None, "see measure_scan()"
        return self._lidar.ranges_m()
