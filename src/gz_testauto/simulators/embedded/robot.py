"""A robot in MuJoCo: its drivetrain, motors and sensors.

The torque that a wheel can transmit depends on its load, which is determined by simulating the
robot on a plane until it is at rest.
"""

from dataclasses import replace
from typing import FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.observation import Contact
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.dynamics import GRAVITY_MPS2, ContactParameters
from gz_testauto.sdf.engine_model.bodies import Body, BodyShape, EngineModel
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.engine_model.robots import EngineRobot, Mount, read_engine_robot
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.shapes import Plane
from gz_testauto.simulators.embedded.engine import Engine
from gz_testauto.simulators.embedded.lidar import LIDAR_GROUPS, MujocoLidar
from gz_testauto.simulators.embedded.mjcf import RobotEquipment, motor_name, write_mjcf
from gz_testauto.simulators.embedded.wheel_drive import (
    Drivetrain,
    Skid,
    Wheel,
    motorized_wheels,
    read_servos,
)
from gz_testauto.simulators.engine_robot import ImuMotion, SimulatedRobot
from gz_testauto.simulators.mujoco_geoms import cast_scan

STEP_S = 0.002
# One second until a robot is at rest: it starts at most a few millimeters above the ground.
SETTLING_STEPS = 500

# Smallest share of a robot's weight on driven wheels that move it. In Gazebo, bodies sink into the
# ground by up to a millimeter, so wheels and casters share the load although their heights differ
# slightly. In MuJoCo, the casters carry the robot and the wheels do not grip.
MIN_LOAD = 0.02
# Driven wheels that are higher above the ground do not move a robot in Gazebo.
MOST_GAP_M = 0.001

# Values of MuJoCo's sensors for one IMU: quaternion wxyz, angular velocity (rad/s) in the sensor
# frame, and velocity (m/s) in the world frame.
IMU_NUMBERS = 10


class DrivenRobot(NamedTuple):
    engine_robot: EngineRobot
    drive: Drivetrain


def drive_robot(robot: RobotModel, coverage: SdfCoverage, skid: Skid) -> DrivenRobot:
    """Read a robot and select its drivetrain. Raises ``SdfError`` for unsupported elements."""
    engine_robot = read_engine_robot(robot, coverage)
    model = engine_robot.model
    wheels = motorized_wheels(model, engine_robot.wheels)
    if len(wheels) > 2:
        servos = read_servos(model, wheels) if skid == "servo" else ()
        return DrivenRobot(engine_robot, Drivetrain(wheels, servos, held=skid == "wheels"))
    if not wheels:
        return DrivenRobot(engine_robot, Drivetrain())
    shapes = {body.name: body.shapes for body in model.bodies}
    settled = _settle_on_plane(model, wheels, coverage)
    loads_n = settled.loads_n()
    on_robot_n = sum(load for load in loads_n.values() if load > 0.0)
    on_wheels_n = sum(loads_n.get(shape.name, 0.0) for w in wheels for shape in shapes[w.link])
    gap_m = min(
        (
            shape.geometry.bounds(settled.body_pose(settled.body(wheel.link)) * shape.pose)[2, 0]
            for wheel in wheels
            for shape in shapes[wheel.link]
        ),
        default=0.0,
    )
    without_load = 0.0 < on_robot_n * MIN_LOAD > on_wheels_n
    if skid == "servo" and without_load and gap_m < MOST_GAP_M:
        coverage.warn_once(
            f"wheels without load of {robot.path}",
            f"{robot.path}: the casters carry the robot, and its driven wheels carry "
            f"{max(on_wheels_n, 0.0):.2g} of {on_robot_n:.3g} N, so 'embedded' moves the base as "
            "commanded instead; lower the driven wheels or raise the casters",
        )
        return DrivenRobot(engine_robot, Drivetrain(wheels, read_servos(model, wheels)))
    return DrivenRobot(engine_robot, Drivetrain(_loaded_wheels(shapes, wheels, loads_n)))


def _loaded_wheels(
    shapes: Mapping[str, Sequence[BodyShape]], wheels: Sequence[Wheel], loads_n: Mapping[str, float]
) -> Tuple[Wheel, ...]:
    """Return the wheels with a torque limit: the torque that they can transmit to the ground.

    ``shapes`` are the collisions of each link, and ``loads_n`` the vertical forces on them.
    """
    loaded_wheels = []
    for wheel in wheels:
        tires = shapes[wheel.link]
        load = sum(loads_n.get(tire.name, 0.0) for tire in tires)
        mu = min((min(tire.surface.mu, tire.surface.mu2) for tire in tires), default=0.0)
        loaded_wheels.append(wheel.with_load(load, mu))
    return tuple(loaded_wheels)


def _settle_on_plane(model: EngineModel, wheels: Sequence[Wheel], coverage: SdfCoverage) -> Engine:
    friction = ContactParameters(mu=100.0, mu2=100.0)
    plane = BodyShape("ground::link::plane", Pose(), Plane(), friction)
    link = Body("ground::link", Pose(), (plane,), None, True, None)
    ground_model = EngineModel("ground", True, Pose(), False, (link,), {"ground::link": Pose()})
    models = (ground_model, replace(model, pose=Pose((0.0, 0.0, model.pose.position[2]))))
    equipment = {model.name: RobotEquipment(Drivetrain(tuple(wheels)))}
    engine = Engine(write_mjcf(models, coverage, STEP_S, GRAVITY_MPS2, equipment), models)
    for _ in range(SETTLING_STEPS):
        engine.step(())
    return engine


class MujocoRobot(SimulatedRobot):
    """A robot in a MuJoCo world. Without ``fast_lidar``, MuJoCo casts the rays of its lidar."""

    def __init__(
        self, robot: DrivenRobot, step_s: float, noise: np.random.Generator, fast_lidar: bool
    ) -> None:
        super().__init__(robot.engine_robot, step_s, noise)
        self.equipment = RobotEquipment(robot.drive, robot.engine_robot.imu)
        self._fast_lidar = fast_lidar

    def attach(self, engine: Engine, imus_before: int) -> None:
        """Connect the motors and sensors to an engine, which has ``imus_before`` earlier IMUs."""
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
        controls = self._engine.data.ctrl
        for motor, speed in zip(self._motors, speeds):
            controls[motor] = speed
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

    def _cast_rays(
        self, mount: Mount, directions: np.ndarray, range_m: Tuple[float, float]
    ) -> np.ndarray:
        model, data = self._engine.model, self._engine.data
        body = self._engine.body(mount.link)
        turn = data.xmat[body].reshape(3, 3)
        origin = data.xpos[body] + matrix_product(turn, np.asarray(mount.pose.position))
        rays = matrix_product(directions, matrix_product(turn, mount.pose.rotation).T)
        return cast_scan(model, data, origin, rays, range_m, LIDAR_GROUPS)[0]
