"""A robot in a loaded world: its velocity command and its sensor readings.

Motors turn its wheels, which Bullet solves together with the contacts; friction moves the robot,
also one with a skid-steer drive.
"""

from typing import Any, List, Optional, Sequence, Set

import numpy as np

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import Contact, ImuSample, LaserScan, SensorReadings, Twist2D
from gz_testauto.extras.pybullet.contacts import contacts_of
from gz_testauto.extras.pybullet.imu import BulletImu
from gz_testauto.extras.pybullet.lidar import BulletLidar
from gz_testauto.extras.pybullet.motors import torque_limits_nm
from gz_testauto.extras.pybullet.world import BulletWorld
from gz_testauto.sdf.engine_model.robots import EngineRobot
from gz_testauto.simulators.due_ticks import due_ticks


class BulletRobot:
    """A robot in a world. ``noise`` draws the noise of its lidar."""

    def __init__(
        self, engine_robot: EngineRobot, world: BulletWorld, noise: np.random.Generator
    ) -> None:
        self.engine_robot = engine_robot
        self.name = engine_robot.robot.name
        self._world = world
        built = world.models[self.name]
        self._bodies = tuple(built.bodies)
        self._own = frozenset(
            key for name in engine_robot.body_shapes for key in built.shapes.get(name, ())
        )
        client: Any = world.client
        robot = engine_robot.robot
        self._lidar: Optional[BulletLidar] = None
        if engine_robot.lidar is not None and robot.lidar is not None:
            place = built.links[engine_robot.lidar.link]
            self._lidar = BulletLidar(
                client,
                robot.lidar,
                place,
                engine_robot.lidar.pose,
                engine_robot.lidar_noise_m,
                noise,
            )
        self._imu: Optional[BulletImu] = None
        if engine_robot.imu is not None:
            place = built.links[engine_robot.imu.link]
            self._imu = BulletImu(client, place, engine_robot.imu.pose, world.step_s)
        self._scan: Optional[LaserScan] = None
        self._samples: List[ImuSample] = []
        self._contacts: List[Contact] = []
        self._imu_ticks: Set[int] = set()
        self._scan_tick = -1
        self._torques_nm = torque_limits_nm(engine_robot)
        if engine_robot.wheels:
            self.drive(Twist2D())

    def drive(self, command: Twist2D) -> None:
        """Set the velocity command. Raises ``SimulatorError`` without a supported drive plugin."""
        if not self.engine_robot.wheels:
            raise SimulatorError(
                f"robot {self.name!r} has no supported drive plugin: add to its SDF "
                "libDiffDrivePlugin.so or libSkidSteerDrivePlugin.so"
            )
        client = self._world.client
        joints = self._world.models[self.name].joints
        for wheel, torque_nm in zip(self.engine_robot.wheels, self._torques_nm):
            (joint,) = joints[wheel.joint]
            speed_radps = (
                wheel.per_speed * command.linear_mps + wheel.per_turn * command.angular_radps
            )
            client.setJointMotorControl2(
                joint.body,
                joint.index,
                client.VELOCITY_CONTROL,
                targetVelocity=speed_radps,
                force=torque_nm,
            )

    def begin(self) -> None:
        """Measure the scan of time 0."""
        if self._lidar is not None:
            self._scan = self._lidar.scan(0.0)

    def begin_step(self, start: int, end: int) -> None:
        """Determine the ticks from ``start`` to ``end`` in which the sensors measure."""
        imu, lidar = self.engine_robot.robot.imu, self.engine_robot.robot.lidar
        step_s = self._world.step_s
        self._imu_ticks = due_ticks(start, end, imu.update_rate_hz * step_s) if imu else set()
        scans = due_ticks(start, end, lidar.update_rate_hz * step_s) if lidar else set()
        self._scan_tick = max(scans, default=-1)  # earlier scans would never be read
        if self._imu is not None and start + 1 in self._imu_ticks:
            self._imu.look()

    def measure(self, tick: int, time_s: float, gravity_mps2: Sequence[float]) -> None:
        """Store the contacts and measurements of the last tick."""
        world = self._world
        if self._own:
            self._contacts += contacts_of(
                world.client, self._bodies, self._own, world.names, time_s
            )
        if self._imu is not None:
            if tick in self._imu_ticks:
                self._samples.append(self._imu.sample(time_s, gravity_mps2))
            elif tick + 1 in self._imu_ticks:
                self._imu.look()
        if tick == self._scan_tick and self._lidar is not None:
            self._scan = self._lidar.scan(time_s)

    def sensed(self) -> SensorReadings:
        """Return the readings since the previous call, and the latest scan."""
        samples, contacts = tuple(self._samples), tuple(self._contacts)
        self._samples.clear()
        self._contacts.clear()
        return SensorReadings(self._scan, samples, contacts)
