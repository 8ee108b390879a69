"""One run of a maneuver in one simulator, from a world file to a validated recording.

IMU samples are means over :data:`SAMPLE_S`, as from a digital IMU. There is one true pose per
command, and wheel speeds are means between poses.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import List, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.errors import ResultsError, SceneError, SimulatorError
from gz_testauto.base.observation import ImuSample, ModelState, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.extras.simulator_comparison.bench.wheels import (
    driven_wheels,
    is_inside,
    transform_surfaces,
    wheel_surfaces,
)
from gz_testauto.extras.simulator_comparison.maneuvers import PERIOD_S
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording, Series
from gz_testauto.extras.simulator_comparison.steps import SAMPLE_S, step_fault
from gz_testauto.extras.simulator_comparison.terrain import Terrain
from gz_testauto.simulators.interface import NamedModel, PlacedRobot, Scene, Simulation, Simulator

SETTLE_S = 1.0  # simulated time at rest before a maneuver, which is not recorded

PERIOD_MEANS = "period"  # ``Simulator.inertial`` for samples that are means over a period

MAX_BELOW_M, MAX_ABOVE_M = 0.15, 0.5  # largest distances of the base from its height at rest

MAX_VERTICAL_MPS = 3.0  # speed after a fall from half a meter

MAX_TILT_RAD = math.radians(75.0)

# This acceleration in one IMU sample changes the speed by 5 m/s. Hard wheels on sharp stones cause
# an eighth of this value.
MAX_ACCELERATION_MPS2 = 500.0

# The depth is 0 to 5 mm if the physics engine stops wheels at edges, otherwise 30 to 70 mm at edges
# of 38 and 76 mm.
MAX_WHEEL_DEPTH_M = 0.02

MIN_DEEP_POSES = 2  # consecutive poses with a deep wheel that make a run invalid


@dataclass(frozen=True, eq=False)
class ManeuverRequest:
    """A request for one run of a maneuver.

    Robots start at their poses, each raised by the corresponding ``ground_m``. The first robot
    follows ``commands`` (n, 2), speeds (m/s) and yaw rates (rad/s), behind the ``box`` if
    specified. ``step_s`` is the required physics step.
    """

    source: str
    world: Path
    robots: Tuple[PlacedRobot, ...]
    ground_m: Tuple[float, ...]
    commands: np.ndarray
    seed: int = 0
    step_s: Optional[float] = None
    box: Optional[NamedModel] = None


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """A recorded run with the data that validate it.

    ``height_m`` (n,) is the height of the base in the world frame. ``rest_height_m`` is its height
    at rest on ground at z = 0. ``wheels_m`` has points (n, p, 3) on the surface of each wheel in
    the world frame, by link. It is empty if the simulator reports no poses of links.
    """

    recording: RunRecording
    height_m: np.ndarray
    tilt_rad: np.ndarray
    rest_height_m: float
    step_s: float
    wheels_m: Mapping[str, np.ndarray] = field(default_factory=dict)


def run_maneuver(simulator: Simulator, request: ManeuverRequest) -> SimulatedRun:
    simulation = load_scene(simulator, request)
    # Readings of single steps are averaged here. A simulator that averages itself needs one step
    # per sample.
    step_s = SAMPLE_S if simulator.inertial == PERIOD_MEANS else PERIOD_S
    _require_step(simulation, request.step_s)
    robot = request.robots[0].robot.name
    rest_height_m = simulation.snapshot().models[robot].pose.position[2] - request.ground_m[0]
    settle(simulation, step_s)
    snapshots = [simulation.snapshot()]
    samples: List[ImuSample] = []
    for linear_mps, angular_radps in request.commands.tolist():
        simulation.drive(Twist2D(linear_mps, angular_radps))
        for _ in range(round(PERIOD_S / step_s)):
            snapshot = simulation.step(step_s)
            samples.extend(snapshot.imu)
        snapshots.append(snapshot)
    poses = [s.models[robot].pose for s in snapshots]
    count = len(request.commands)
    channels = {
        "imu": _means(
            samples, snapshots[0].time_s, round(count * PERIOD_S / SAMPLE_S), request.source
        ),
        "odometry": _odometry_series(poses),
        "command": Series(np.arange(count) * PERIOD_S, request.commands),
    }
    links = [s.links for s in snapshots]
    speeds = driven_wheels(request.robots[0].robot).speeds(links, request.commands)
    if speeds is not None:
        channels["wheels"] = speeds
    if request.box is not None:
        box_positions = [s.models[request.box.name].pose.position[:2] for s in snapshots]
        channels["box"] = Series(np.arange(count + 1) * PERIOD_S, np.array(box_positions))
    try:
        recording = RunRecording.of(request.source, channels)
    except ResultsError as error:  # SceneError is not retried: a repetition would fail again
        raise SceneError(str(error)) from error
    surfaces = wheel_surfaces(request.robots[0].robot)
    world_surfaces = [transform_surfaces(surfaces, states) for states in links]
    return SimulatedRun(
        recording,
        np.array([pose.position[2] for pose in poses]),
        np.array([pose.tilt_rad for pose in poses]),
        rest_height_m,
        simulation.step_size_s,
        {link: np.array([points[link] for points in world_surfaces]) for link in world_surfaces[0]},
    )


def load_scene(simulator: Simulator, request: ManeuverRequest) -> Simulation:
    """Load the world of a request, and raise each robot by its ``ground_m``."""
    if request.robots:
        first, *followers = request.robots
        models = () if request.box is None else (request.box,)
        scene = Scene(
            request.world, first.robot, first.start, request.seed, models, others=tuple(followers)
        )
    else:
        scene = Scene(request.world, None, Pose2D(0.0, 0.0), request.seed)
    simulation = simulator.load(scene)
    models_now = simulation.snapshot().models if request.robots else {}
    states = {}
    for robot, ground_m in zip(request.robots, request.ground_m):
        pose = models_now[robot.robot.name].pose
        x_m, y_m, z_m = pose.position
        states[robot.robot.name] = ModelState(Pose((x_m, y_m, z_m + ground_m), pose.quaternion))
    if states:
        simulation.set_states(states)
    return simulation


def settle(simulation: Simulation, piece_s: float) -> None:
    """Advance the simulation by :data:`SETTLE_S` in steps of ``piece_s``."""
    for _ in range(round(SETTLE_S / piece_s)):
        simulation.step(piece_s)


def _require_step(simulation: Simulation, step_s: Optional[float]) -> None:
    actual_s = simulation.step_size_s
    if step_s is not None and not math.isclose(actual_s, step_s, rel_tol=1e-9):
        raise SimulatorError(
            f"the physics step of the simulation is {actual_s:g} s instead of {step_s:g} s"
        )
    fault = step_fault(actual_s)
    if fault is not None:
        raise SimulatorError(f"the physics step of the simulation {fault}")


def _means(samples: Sequence[ImuSample], start_s: float, count: int, source: str) -> Series:
    """Return means (count, 6) over periods of :data:`SAMPLE_S`, stamped with the ends of the
    periods. Raises ``SimulatorError`` if a period has no sample."""
    stamps = np.array([sample.stamp_s for sample in samples]) - start_s
    values = np.array([[*s.angular_radps, *s.linear_mps2] for s in samples])
    period = np.ceil(stamps / SAMPLE_S - 1e-6).astype(int) - 1
    is_inside = (period >= 0) & (period < count)
    sample_counts = np.bincount(period[is_inside], minlength=count)
    if len(samples) == 0 or sample_counts.min() == 0:
        raise SimulatorError(
            f"{source}: the IMU has no sample in the period of {SAMPLE_S:g} s that starts at "
            f"{0.0 if len(samples) == 0 else float(np.argmin(sample_counts)) * SAMPLE_S:.2f} s"
        )
    sums = np.zeros((count, 6))
    np.add.at(sums, period[is_inside], values[is_inside])
    return Series((np.arange(count) + 1) * SAMPLE_S, sums / sample_counts[:, None])


def _odometry_series(poses: Sequence[Pose]) -> Series:
    values = np.array([pose.planar for pose in poses])
    values[:, 2] = np.unwrap(values[:, 2])
    return Series(np.arange(len(poses)) * PERIOD_S, values)


def implausibility(run: SimulatedRun, terrain: Terrain) -> Optional[str]:
    """Return why the motion in a run is physically implausible, or None if it is plausible."""
    odometry, imu = run.recording.odometry, run.recording.imu
    assert odometry is not None and imu is not None, "simulated runs have both"
    ground = np.asarray(terrain.height_m(odometry.values[:, 0], odometry.values[:, 1]))
    above = run.height_m - run.rest_height_m - ground
    climbing = np.abs(np.diff(run.height_m, prepend=run.height_m[0])) / PERIOD_S
    faults = (
        (~np.isfinite(ground), "the robot has left the terrain"),
        (above < -MAX_BELOW_M, f"the robot is more than {MAX_BELOW_M:g} m below the ground"),
        (above > MAX_ABOVE_M, f"the robot is more than {MAX_ABOVE_M:g} m above the ground"),
        (
            climbing > MAX_VERTICAL_MPS,
            f"the robot moves up or down at more than {MAX_VERTICAL_MPS:g} m/s",
        ),
        (run.tilt_rad > MAX_TILT_RAD, "the robot has tipped over"),
    )
    for wrong, reason in faults:
        if wrong.any():
            return f"{reason} after {odometry.time_s[int(np.argmax(wrong))]:.2f} s"
    sunk = _first_inside(run, terrain)
    if sunk is not None:
        index, link = sunk
        return (
            f"{link} is more than {1000 * MAX_WHEEL_DEPTH_M:g} mm inside the ground after "
            f"{odometry.time_s[index]:.2f} s"
        )
    strong = np.linalg.norm(imu.values[:, 3:], axis=1) > MAX_ACCELERATION_MPS2
    if strong.any():
        at_s = imu.time_s[int(np.argmax(strong))]
        return (
            f"the accelerometer reads more than {MAX_ACCELERATION_MPS2:g} m/s² after {at_s:.2f} s"
        )
    return None


def _first_inside(run: SimulatedRun, terrain: Terrain) -> Optional[Tuple[int, str]]:
    """Return the index of the first pose from which a wheel is too deep in the ground for
    :data:`MIN_DEEP_POSES` poses, and the link of the wheel. The result is None if no wheel is."""
    first_poses = []
    for link, points_m in run.wheels_m.items():
        deep = is_inside(terrain, points_m, MAX_WHEEL_DEPTH_M).any(axis=1)
        for index in range(len(deep) - MIN_DEEP_POSES + 1):
            if deep[index : index + MIN_DEEP_POSES].all():
                first_poses.append((index, link))
                break
    return min(first_poses, default=None)
