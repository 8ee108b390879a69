"""Physics of robots: motion on wheels, pitch on a step, and measurements of an IMU."""

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import List, Sequence, Tuple

import numpy as np
from physics_bodies import GRAVITY_MPS2, PhysicsResult, PhysicsSceneLoader, surface
from scipy.optimize import minimize

from gz_testauto.base import resources
from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ImuSample, ModelState, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.robot import RobotModel, read_robot
from gz_testauto.simulators.changes import SetModel
from gz_testauto.simulators.interface import Simulation

WHEELBASE_M, WHEEL_RADIUS_M = 0.512, 0.1651
"""Dimensions (m) of a Clearpath Husky."""
SPEED_MPS, TURN_RADPS = 0.5, 0.5
STARTING_S = 1.0
PERIOD_S = 0.1
BRAKED_FROM_MPS = 1.0
SLIPPERY = 0.5
LINE_POINTS = 16
"""Number of points of the Gauss-Legendre quadrature along the contact line of a wheel."""
STEP_M = 0.076
SPAWN_GAP_M = 0.002
"""Height (m) above the resting pose at which the robot on the step starts."""
IMU_PERIOD_S, IMU_TIME_S = 0.01, 1.0
ARM_M, ARM_RADPS = 0.5, 2.0
"""Distance of the IMU from the axis (m), and angular velocity of the body (rad/s)."""


@dataclass(frozen=True)
class WheelContacts:
    """Contacts of a robot on level ground. A wheel touches along a line across the robot, or in one
    point if its width is 0."""

    wheels_m: Tuple[Tuple[float, float], ...]
    center_m: Tuple[float, float]
    mass_kg: float
    width_m: float = 0.0

    def loads_n(self) -> List[float]:
        """Return the load (N) on each wheel at rest. Of all loads in equilibrium these are the most
        even ones, as on slightly compliant ground."""
        at = np.array(self.wheels_m)
        balance = np.vstack([np.ones(len(at)), at.T])
        weight = self.mass_kg * GRAVITY_MPS2
        wanted = weight * np.array([1.0, *self.center_m])
        return [float(load) for load in np.linalg.pinv(balance) @ wanted]


HUSKY = WheelContacts(
    wheels_m=((0.256, 0.2854), (0.256, -0.2854), (-0.256, 0.2854), (-0.256, -0.2854)),
    center_m=(-0.00065 * 46.034 / 56.582, -0.085 * 46.034 / 56.582),
    mass_kg=56.582,
    width_m=0.1143,
)
"""Clearpath's Husky A200 with the public figures of its model."""


def husky() -> RobotModel:
    """Return a robot on four driven wheels."""
    return read_robot(resources.share_directory() / "models" / "husky_a200")


def differential() -> RobotModel:
    """Return a robot on two driven wheels and two frictionless balls."""
    return read_robot(resources.share_directory() / "models" / "jackal_sized")


def spun(folder: Path, arm_m: float) -> RobotModel:
    """Return a box without a drive plug-in, with an IMU ``arm_m`` (m) in front of its center."""
    path = folder / "spun.sdf"
    path.write_text(f"""<sdf version="1.6"><model name="spun"><link name="base"><inertial>
    <mass>10</mass><inertia><ixx>0.2</ixx><iyy>0.2</iyy><izz>0.3</izz></inertia></inertial>
    <collision name="body"><geometry><box><size>0.4 0.4 0.2</size></box></geometry></collision>
    <sensor name="imu" type="imu"><pose>{arm_m} 0 0 0 0 0</pose><always_on>1</always_on>
    <update_rate>100</update_rate></sensor></link></model></sdf>""")
    return read_robot(path)


def circle_radius(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the radius (m) of the circle through the positions of a differential drive, by least
    squares."""
    robot = differential()
    simulation = loader.load(robot=robot)
    simulation.drive(Twist2D(SPEED_MPS, TURN_RADPS))
    simulation.step(STARTING_S)
    positions = np.array(
        [simulation.step(PERIOD_S).models[robot.name].pose.position[:2] for _ in range(60)]
    )
    # x² + y² = 2 a x + 2 b y + c
    system = np.column_stack([2 * positions, np.ones(len(positions))])
    (a, b, c), *_ = np.linalg.lstsq(system, (positions**2).sum(axis=1), rcond=None)
    return PhysicsResult(math.sqrt(c + a * a + b * b), SPEED_MPS / TURN_RADPS)


def skid_turn(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the yaw rate (rad/s) of a skid-steer robot that is commanded to turn on the spot."""
    robot = husky()
    simulation = loader.load(robot=robot)
    simulation.step(STARTING_S / 2)
    simulation.drive(Twist2D(0.0, TURN_RADPS))
    simulation.step(STARTING_S)
    value = _turned_rad(simulation, robot.name, 2.0) / 2.0
    _, _, exact = sliding_twist(HUSKY, Twist2D(0.0, TURN_RADPS))
    return PhysicsResult(value, exact)


def locked_wheels(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the sliding distance (m) of a robot after its wheels are commanded to stop."""
    robot = husky()
    simulation = loader.load(robot=robot, mu=SLIPPERY)
    simulation.drive(Twist2D(BRAKED_FROM_MPS, 0.0))
    begin = simulation.step(2.0).models[robot.name].pose.position
    simulation.drive(Twist2D(0.0, 0.0))
    end = simulation.step(1.0).models[robot.name].pose.position
    exact = BRAKED_FROM_MPS**2 / (2 * SLIPPERY * GRAVITY_MPS2)
    return PhysicsResult(math.dist(begin[:2], end[:2]), exact)


def sliding_twist(weight: WheelContacts, command: Twist2D) -> Tuple[float, float, float]:
    """Return the steady forward and leftward speed (m/s) and yaw rate (rad/s) of a robot whose
    wheels keep the commanded rates and slide by Coulomb's law.

    The motion minimizes the power that is lost to friction (J. C. Alexander, J. H. Maddocks, "On
    the kinematics of wheeled mobile robots", Int. J. of Robotics Research 8(5), 1989). With equal
    loads in points at (±a, ±b) the yaw rate is b²/(a² + b²) of the commanded one. Wheels with a
    width touch along lines with an even load. With a command of 0.5 rad/s the Husky's yaw rate is
    0.2450, with contact on the rims only 0.2409, and with points in the middle 0.2472.
    """
    nodes, shares = np.polynomial.legendre.leggauss(LINE_POINTS if weight.width_m > 0 else 1)
    x, y = np.array(weight.wheels_m).T[:, :, None]  # of wheels (w, 1); below of points (w, n)
    y_of_points = y + nodes * weight.width_m / 2
    loads = np.outer(weight.loads_n(), shares / 2)
    rolled = command.linear_mps - command.angular_radps * y

    def power(twist: Sequence[float]) -> float:
        along = twist[0] - twist[2] * y_of_points - rolled
        across = twist[1] + twist[2] * x
        return float(np.sum(loads * np.hypot(along, across)))

    start = (command.linear_mps, 0.0, command.angular_radps / 2)
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 10_000}
    forward, leftward, turn = minimize(power, start, method="Nelder-Mead", options=options).x
    return (float(forward), float(leftward), float(turn))


def _turned_rad(simulation: Simulation, name: str, duration_s: float) -> float:
    yaws = [simulation.snapshot().models[name].pose.yaw_rad]
    yaws += [
        simulation.step(PERIOD_S).models[name].pose.yaw_rad
        for _ in range(round(duration_s / PERIOD_S))
    ]
    unwrapped = np.unwrap(yaws)
    return float(unwrapped[-1] - unwrapped[0])


def pitch_on_step(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the upward pitch (rad) of a robot at rest with its front axle on a step."""
    robot = husky()
    exact = math.asin(STEP_M / WHEELBASE_M)
    step = f"""<model name="step"><static>1</static><pose>1.0 0 {STEP_M / 2} 0 0 0</pose>
    <link name="link"><collision name="block"><geometry><box><size>1.8 4 {STEP_M}</size></box>
    </geometry>{surface(1.0)}</collision></link></model>"""
    simulation = loader.load(step, robot=robot)
    simulation.set_states({robot.name: ModelState(_pose_on_step(exact))})
    end = simulation.step(1.5).models[robot.name].pose
    return PhysicsResult(-end.rpy[1], exact)


def _pose_on_step(pitch_rad: float) -> Pose:
    """Return the pose with the rear axle over the floor and the front axle over the step, with a
    small gap below both. The model's origin is below the middle between the axles."""
    down = Pose.from_rpy(0.0, 0.0, 0.0, 0.0, -pitch_rad, 0.0).apply((0.0, 0.0, -WHEEL_RADIUS_M))
    x, _, z = (float(part) for part in down)
    height_m = WHEEL_RADIUS_M + STEP_M / 2 + SPAWN_GAP_M
    return Pose.from_rpy(x, 0.0, height_m + z, 0.0, -pitch_rad, 0.0)


def imu_at_rest(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the norm (m/s²) of the mean acceleration that the IMU of a robot at rest measures."""
    simulation = loader.load(robot=differential())
    simulation.step(STARTING_S)
    measured = np.mean([sample.linear_mps2 for sample in _samples(simulation)], axis=0)
    return PhysicsResult(float(np.linalg.norm(measured)), GRAVITY_MPS2)


def imu_on_arm(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the mean acceleration (m/s²) along the arm of an IMU on a body that rotates in free
    space."""
    with tempfile.TemporaryDirectory() as folder:
        robot = spun(Path(folder), ARM_M)
        simulation = loader.load(robot=robot, gravity=(0.0, 0.0, 0.0), mu=None)
    simulation.step(IMU_PERIOD_S)
    simulation.apply([SetModel(robot.name, angular_radps=(0.0, 0.0, ARM_RADPS))])
    simulation.step(10 * IMU_PERIOD_S)
    samples = _samples(simulation)
    if abs(samples[0].angular_radps[2] - ARM_RADPS) > 0.1 * ARM_RADPS:
        raise SimulatorError("the body does not have the angular velocity that was set")
    measured = [sample.linear_mps2[0] for sample in samples]
    return PhysicsResult(float(np.mean(measured)), -(ARM_RADPS**2) * ARM_M)


def _samples(simulation: Simulation) -> Sequence[ImuSample]:
    periods = round(IMU_TIME_S / IMU_PERIOD_S)
    return [sample for _ in range(periods) for sample in simulation.step(IMU_PERIOD_S).imu]
