"""Open-loop drives: the same commands in every simulator, whatever comes of them.

Owns the command sequences and their recording. What two recordings have in common is
:mod:`gz_testauto.analysis.open_loop`'s.
"""

from dataclasses import dataclass
from typing import Callable, List, Tuple

import numpy as np

from gz_testauto.observation import Snapshot, Twist2D
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.pose import Pose, Pose2D
from gz_testauto.resources import share_directory
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.interface import NamedModel, Scene, Simulator

SETTLE_S = 1.0
"""Simulated time that the robot stands before each sequence; not recorded."""

BOX_MASS_KG = 5.0
BOX_SIDE_M = 0.4
BOX_AHEAD_M = 0.5
"""The box that is pushed: a cube, this far ahead of the robot's outline."""

START = Pose2D(-8.0, 0.0, 0.0)
"""In the arena of this package, with room ahead."""

_INERTIA_KGM2 = BOX_MASS_KG * BOX_SIDE_M**2 / 6
_BOX = f"""<sdf version="1.6"><model name="box"><link name="link">
<inertial><mass>{BOX_MASS_KG}</mass><inertia><ixx>{_INERTIA_KGM2}</ixx><iyy>{_INERTIA_KGM2}</iyy>
<izz>{_INERTIA_KGM2}</izz></inertia></inertial>
<collision name="collision"><geometry><box><size>{BOX_SIDE_M} {BOX_SIDE_M} {BOX_SIDE_M}</size></box>
</geometry><surface><friction><ode><mu>0.5</mu><mu2>0.5</mu2></ode></friction></surface></collision>
</link></model></sdf>"""


@dataclass(frozen=True)
class CommandSequence:
    """``command`` gives what is commanded at a time (s) since the beginning, to a robot with
    such limits, for ``duration_s``; with ``box`` there is one to push."""

    name: str
    duration_s: float
    command: Callable[[float, RobotLimits], Twist2D]
    box: bool = False


@dataclass(frozen=True, eq=False)
class OpenLoopRun:
    """What came of a sequence, seen at the end of every control period.

    ``pose`` (n, 3) is the robot's x, y (m), yaw (rad, unwrapped) and ``box`` (n, 2) that of the
    box (m), NaN without one. ``imu`` (n, 6) are angular velocity (rad/s) and linear acceleration
    (m/s²) in the sensor's frame, means over each period; NaN where nothing was measured.
    """

    sequence: str
    pose: np.ndarray
    box: np.ndarray
    imu: np.ndarray


def _ramp(time_s: float, limit: float, acceleration: float) -> float:
    return min(limit, acceleration * time_s)


def _straight(time_s: float, limits: RobotLimits) -> Twist2D:
    return Twist2D(_ramp(time_s, limits.max_linear_mps, limits.max_linear_accel_mps2), 0.0)


def _turn(time_s: float, limits: RobotLimits) -> Twist2D:
    fastest = limits.max_angular_radps / 2
    return Twist2D(0.0, _ramp(time_s, fastest, limits.max_angular_accel_radps2))


def _arc(time_s: float, limits: RobotLimits) -> Twist2D:
    share = _ramp(time_s, 0.5, 0.5)
    return Twist2D(share * limits.max_linear_mps, share * limits.max_angular_radps)


def _stop(time_s: float, limits: RobotLimits) -> Twist2D:
    return _straight(time_s, limits) if time_s < 3.0 - 1e-9 else Twist2D(0.0, 0.0)


def _push(time_s: float, limits: RobotLimits) -> Twist2D:
    command = _straight(time_s, limits)
    return Twist2D(command.linear_mps / 2, 0.0)


SEQUENCES: Tuple[CommandSequence, ...] = (
    CommandSequence("straight", 5.0, _straight),
    CommandSequence("turn", 5.0, _turn),
    CommandSequence("arc", 5.0, _arc),
    CommandSequence("stop", 5.0, _stop),
    CommandSequence("push", 6.0, _push, box=True),
)
"""Ahead, on the spot and along an arc, within the robot's accelerations; a stop at once from full
speed; and a box pushed at half of it."""


def perform(
    simulator: Simulator,
    robot: RobotModel,
    limits: RobotLimits,
    period_s: float,
    sequence: CommandSequence,
) -> OpenLoopRun:
    """Drive one sequence in the arena of this package. Raises ``SimulatorError``."""
    world = share_directory() / "worlds" / "arena.world"
    simulation = simulator.load(Scene(world, robot, START))
    if sequence.box:
        front_m = max(x for x, _ in limits.footprint_m)
        x_m = START.x_m + front_m + BOX_AHEAD_M + BOX_SIDE_M / 2
        simulation.spawn([NamedModel("box", _BOX, Pose((x_m, START.y_m, BOX_SIDE_M / 2)))])
    simulation.drive(Twist2D(0.0, 0.0))
    for _ in range(round(SETTLE_S / period_s)):
        simulation.step(period_s)
    snapshots: List[Snapshot] = []
    for cycle in range(round(sequence.duration_s / period_s)):
        simulation.drive(sequence.command(cycle * period_s, limits))
        snapshots.append(simulation.step(period_s))
    poses = np.array([s.models[robot.name].pose.planar for s in snapshots])
    poses[:, 2] = np.unwrap(poses[:, 2])
    return OpenLoopRun(
        sequence.name,
        poses,
        np.array([_box(snapshot) for snapshot in snapshots]),
        np.array([_mean_imu(snapshot) for snapshot in snapshots]),
    )


def _box(snapshot: Snapshot) -> Tuple[float, float]:
    state = snapshot.models.get("box")
    return (np.nan, np.nan) if state is None else state.pose.position[:2]


def _mean_imu(snapshot: Snapshot) -> np.ndarray:
    if not snapshot.imu:
        return np.full(6, np.nan)
    return np.mean([[*s.angular_radps, *s.linear_mps2] for s in snapshot.imu], axis=0)
