"""Measurement of how a robot follows velocity commands in a simulator, on a plane without
obstacles."""

import math
from dataclasses import dataclass
from typing import List, Tuple

from gz_testauto.base.observation import Snapshot, Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.sdf.drives import DriveDescription
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.interface import Scene, Simulation, Simulator
from gz_testauto.trial.checks import ACKERMANN_REMEDY

SPEED_MPS, YAW_RATE_RADPS = 0.3, 0.5  # commands, unless the limits of the robot are lower

SETTLING_S, MEASURED_S, PERIOD_S = 2.0, 4.0, 0.1
"""Simulated time (s) after a command before the measurement, of the measurement, and of a step."""

STEADY, MOST_S = 0.05, 30.0
"""A motion that differs from the command is measured again until two measurements differ by at most
this share of the command, or until this simulated time (s)."""

MOST_LAG_S = 0.4  # lag (s) of a robot that accelerates to SPEED_MPS with 0.375 m/s²

TOLERANCE = 0.1  # largest relative difference between a commanded and a measured speed

CORRECTABLE = (0.3, 3.0)  # other ratios have another cause than wrong sizes
"""Smallest and largest ratio of a measured to a commanded speed that other sizes of the drive can
correct."""


@dataclass(frozen=True)
class MeasuredMotion:
    """The mean speed along the heading (m/s) and the mean yaw rate (rad/s) after a command.

    ``settled_s`` is the simulated time (s) from the command to the start of the measurement.
    ``lag_s`` is the time (s) that the start costs, compared with a robot that moves at the measured
    speed from the beginning. It is 0 on the spot.
    """

    command: Twist2D
    linear_mps: float
    angular_radps: float
    settled_s: float = SETTLING_S
    lag_s: float = 0.0

    @property
    def follows(self) -> bool:
        """True if both speeds differ from the command by at most :data:`TOLERANCE`."""
        return self.changed_by(self.command) <= TOLERANCE

    def changed_by(self, other: Twist2D) -> float:
        """Return the largest difference between the measured speeds and ``other``, as a share of
        the command."""
        differences_and_commands = (
            (self.linear_mps - other.linear_mps, self.command.linear_mps),
            (self.angular_radps - other.angular_radps, self.command.angular_radps),
        )
        return max(
            abs(difference / command) for difference, command in differences_and_commands if command
        )


def measure_motions(
    simulator: Simulator,
    robot: RobotModel,
    limits: Tuple[float, float] = (math.inf, math.inf),
) -> List[MeasuredMotion]:
    """Return the motions after the commands to drive straight, to turn on the spot, and to drive a
    curve. ``limits`` are the largest speed (m/s) and yaw rate (rad/s). Raise ``SimulatorError`` if
    the simulator cannot simulate the robot."""
    speed, yaw_rate = min(SPEED_MPS, limits[0]), min(YAW_RATE_RADPS, limits[1])
    commands = (Twist2D(speed, 0.0), Twist2D(0.0, yaw_rate), Twist2D(speed, yaw_rate))
    return [_measure_motion(simulator, robot, command) for command in commands]


def _measure_motion(simulator: Simulator, robot: RobotModel, command: Twist2D) -> MeasuredMotion:
    world = share_directory() / "worlds" / "plain.world"
    simulation = simulator.load(Scene(world, robot, Pose2D(0.0, 0.0, 0.0), 1))
    simulation.drive(command)
    for _ in range(round(SETTLING_S / PERIOD_S)):
        snapshot = simulation.step(PERIOD_S)
    x_m, y_m, _ = snapshot.models[robot.name].pose.position
    speeds, snapshot = _next_speeds(simulation, robot, snapshot)
    is_straight = not command.angular_radps and speeds.linear_mps > 0.0
    lag_s = SETTLING_S - math.hypot(x_m, y_m) / speeds.linear_mps if is_straight else 0.0
    motion = MeasuredMotion(command, *speeds, lag_s=lag_s)
    time_s = SETTLING_S + MEASURED_S
    while not motion.follows and time_s + MEASURED_S <= MOST_S:  # casters can still swivel
        speeds, snapshot = _next_speeds(simulation, robot, snapshot)
        if motion.changed_by(speeds) <= STEADY:
            break
        motion = MeasuredMotion(command, *speeds, time_s, lag_s)
        time_s += MEASURED_S
    return motion


def _next_speeds(
    simulation: Simulation, robot: RobotModel, snapshot: Snapshot
) -> Tuple[Twist2D, Snapshot]:
    """Return the mean speeds of the next :data:`MEASURED_S`, and the snapshot at their end."""
    count = round(MEASURED_S / PERIOD_S)
    traveled_m = turned_rad = 0.0
    for _ in range(count):
        previous_pose = snapshot.models[robot.name].pose
        snapshot = simulation.step(PERIOD_S)
        next_pose = snapshot.models[robot.name].pose
        change_rad = math.remainder(next_pose.yaw_rad - previous_pose.yaw_rad, 2 * math.pi)
        heading_rad = previous_pose.yaw_rad + change_rad / 2  # the mean heading of the step
        x_m, y_m = (next_pose.position[axis] - previous_pose.position[axis] for axis in (0, 1))
        traveled_m += x_m * math.cos(heading_rad) + y_m * math.sin(heading_rad)
        turned_rad += change_rad
    time_s = count * PERIOD_S
    return Twist2D(traveled_m / time_s, turned_rad / time_s), snapshot


def motion_problems(
    motions: List[MeasuredMotion], drive: DriveDescription, simulator: str, steering: str = ""
) -> List[str]:
    """Return a sentence for each problem of the motions that :func:`measure_motions` returned.

    A problem is a speed or yaw rate that differs from the command by more than :data:`TOLERANCE`,
    or a slow start. If other wheel sizes can correct it, the sentence contains the key
    ``robot.drive``. ``steering`` describes the parts of the robot for Ackermann steering.
    """
    straight, on_the_spot = motions[0], motions[1]
    speed = straight.linear_mps / straight.command.linear_mps
    yaw_rate = on_the_spot.angular_radps / on_the_spot.command.angular_radps
    problems = []
    for name, ratio, motion in (("speed", speed, straight), ("yaw rate", yaw_rate, on_the_spot)):
        if abs(ratio - 1.0) <= TOLERANCE:
            continue
        finding = f"the {name} in {simulator} is {ratio:.2f} of the commanded {name}"
        if motion.settled_s > SETTLING_S:
            finding += (
                f", and only {motion.settled_s:g} s after the command, as if casters had to swivel "
                "first"
            )
        if CORRECTABLE[0] <= ratio <= CORRECTABLE[1]:
            straight_ratio = speed if CORRECTABLE[0] <= speed <= CORRECTABLE[1] else 1.0
            problems.append(f"{finding}; set {_corrected(drive, straight_ratio, yaw_rate)}")
        elif steering and name == "yaw rate":
            problems.append(
                f"{finding}, since the robot has Ackermann steering ({steering}), which its drive "
                f"does not turn; {ACKERMANN_REMEDY}"
            )
        else:
            problems.append(
                f"{finding}; check the friction of the wheels and of the casters, the mass on the "
                "wheels, joints that steer wheels, and the torque limit of the drive"
            )
    if straight.lag_s > MOST_LAG_S:
        problems.append(
            f"the robot reaches its speed in {simulator} as if it started {straight.lag_s:.1f} s "
            "late; check whether casters at the height of the wheels carry the robot, so that its "
            "wheels slip, and the acceleration and torque limits of the drive"
        )
    return problems


def _corrected(drive: DriveDescription, speed: float, yaw_rate: float) -> str:
    """Return the text of the key ``robot.drive`` with the wheel sizes that correct the motion.

    ``speed`` and ``yaw_rate`` are the ratios of the measured to the commanded values.
    """
    values = {
        "left_joints": f"[{', '.join(drive.left_joints)}]",
        "right_joints": f"[{', '.join(drive.right_joints)}]",
        "wheel_separation_m": f"{drive.wheel_separation_m * speed / yaw_rate:.3g}",
        "wheel_diameter_m": f"{drive.wheel_diameter_m * speed:.3g}",
    }
    if drive.torque_nm is not None:
        values["torque_nm"] = f"{drive.torque_nm:g}"
    return "robot.drive: {" + ", ".join(f"{key}: {value}" for key, value in values.items()) + "}"
