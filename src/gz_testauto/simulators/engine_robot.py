"""Robots in a simulation: velocity commands, sensor readings and the states of links.

A sensor with an update rate measures, for each integer *k*, in the first physics step that ends
at or after *k* periods of the sensor.
"""

import abc
import functools
import math
from typing import (
    Any,
    Callable,
    Collection,
    Dict,
    Generic,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypeVar,
    Union,
)

import numpy as np
from typing_extensions import Protocol

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import (
    Contact,
    ImuSample,
    LaserScan,
    ModelState,
    SensorReadings,
    Snapshot,
    Twist2D,
)
from gz_testauto.base.pose import Pose
from gz_testauto.base.sensors import Sensor
from gz_testauto.sdf.engine_model.robots import EngineRobot, Mount
from gz_testauto.sdf.robot_sensors import ImuDescription, LidarDescription
from gz_testauto.simulators.interface import Scene, Simulation
from gz_testauto.simulators.sensing import RobotSensors

# largest difference from an integer that counts as rounding, for update rate times time
ROUNDING = 1e-6


def due_steps(
    sensor: Union[LidarDescription, ImuDescription, None], step_s: float, start: int, end: int
) -> Set[int]:
    """Return the physics steps after ``start`` and up to ``end`` in which a sensor measures."""
    if sensor is None:
        return set()
    per_step = sensor.update_rate_hz * step_s
    if not 0.0 < per_step < 1.0:  # in SDF, an update rate of 0 is unlimited
        return set(range(start + 1, end + 1))
    first = math.floor(start * per_step + ROUNDING) + 1
    last = math.floor(end * per_step + ROUNDING)
    return {math.ceil(count / per_step - ROUNDING) for count in range(first, last + 1)}


def measured_scan(
    lidar: LidarDescription,
    stamp_s: float,
    ranges_m: np.ndarray,
    noise_m: Tuple[float, float],
    generator: np.random.Generator,
) -> LaserScan:
    """Return a scan with the distances ``ranges_m`` (samples,), which is modified in place.

    ``noise_m`` is the mean and the standard deviation of the noise. Distances at or beyond the
    range become infinite, and distances below the range minus infinite (REP-117).
    """
    if any(noise_m):
        ranges_m += generator.normal(*noise_m, size=len(ranges_m))
    ranges_m[ranges_m >= lidar.range_max_m] = np.inf
    ranges_m[ranges_m < lidar.range_min_m] = -np.inf
    return lidar.scan(stamp_s, ranges_m)


class LazyImuSamples(Sequence[ImuSample]):
    """A sequence of IMU samples in order of time, computed when the first one is read."""

    def __init__(self) -> None:
        self._count = 0
        self._computations: List[Callable[[], List[ImuSample]]] = []
        self._samples: List[ImuSample] = []

    def add(self, count: int, compute: Callable[[], List[ImuSample]]) -> None:
        self._count += count
        self._computations.append(compute)

    def __getitem__(self, index: Any) -> Any:
        for compute in self._computations:
            self._samples += compute()
        self._computations.clear()
        return self._samples[index]

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return repr(tuple(self))


class LazyLinkStates(Mapping[str, ModelState]):
    """A mapping of scoped names to states of links, each of which is computed when it is read."""

    def __init__(
        self, names: Callable[[], Collection[str]], state: Callable[[str], ModelState]
    ) -> None:
        self._names, self._state = names, state

    def __getitem__(self, link: str) -> ModelState:
        return self._state(link)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())


class ImuMotion(NamedTuple):
    """The motion of an IMU at the end of a physics step.

    ``quaternion`` (xyzw), velocity and gravity are in the world frame, and the angular velocity in
    the sensor frame.
    """

    quaternion: Tuple[float, float, float, float]
    angular_radps: Tuple[float, float, float]
    velocity_mps: Sequence[float]
    gravity_mps2: Sequence[float]

    def sample(
        self, stamp_s: float, velocity_before: Sequence[float], step_s: float
    ) -> List[ImuSample]:
        """Return a list of one sample with the mean specific force over a step (sensor frame), at
        whose start the velocity (m/s, world frame) was ``velocity_before``."""
        # as in a digital IMU: the change of velocity over the step, minus gravity
        change = np.subtract(self.velocity_mps, velocity_before) / step_s
        sensor_from_world = Pose(quaternion=self.quaternion).rotation.T
        linear = matrix_product(sensor_from_world, change - self.gravity_mps2)
        return [ImuSample(stamp_s, self.quaternion, self.angular_radps, tuple(linear.tolist()))]


class SimulatedRobot(abc.ABC):
    """A robot in the world of a physics engine. The noise of its lidar is drawn from ``noise``."""

    def __init__(
        self, engine_robot: EngineRobot, step_s: float, noise: np.random.Generator
    ) -> None:
        self.engine_robot = engine_robot
        self.name = engine_robot.robot.name
        self._step_s, self._noise = step_s, noise
        self._command = Twist2D()
        self._scan: Optional[LaserScan] = None
        self._imu = LazyImuSamples()
        self._contacts: List[Contact] = []
        self._imu_steps: Set[int] = set()
        self._scan_step = -1
        self._velocity_mps: Sequence[float] = ()
        self._rays: Dict[str, Tuple[Mount, np.ndarray]] = {}

    def drive(self, command: Twist2D) -> None:
        """Set the velocity command. Raises ``SimulatorError`` without a supported drive plugin."""
        if not self.engine_robot.wheels:
            raise SimulatorError(
                f"robot {self.name!r} has no supported drive plugin; add "
                "libDiffDrivePlugin.so or libSkidSteerDrivePlugin.so to its SDF"
            )
        self._command = command
        self._set_motors()

    def begin_step(self, start: int, end: int) -> None:
        """Select the physics steps after ``start`` and up to ``end`` in which sensors measure."""
        robot = self.engine_robot.robot
        self._imu_steps = due_steps(robot.imu, self._step_s, start, end)
        scan_steps = due_steps(robot.single_lidar, self._step_s, start, end)
        self._scan_step = max(scan_steps, default=-1)  # only the latest scan can be read
        if start + 1 in self._imu_steps:
            self._velocity_mps = self._imu_velocity_mps()

    def measure(self, step: int, time_s: float) -> None:
        """Store contacts, and the IMU sample and scan if due, at the end of a physics step."""
        self._contacts += self._present_contacts(time_s)
        if step in self._imu_steps:
            motion, before_mps = self._imu_motion(), self._velocity_mps
            self._imu.add(1, functools.partial(motion.sample, time_s, before_mps, self._step_s))
            self._velocity_mps = motion.velocity_mps
        elif step + 1 in self._imu_steps:
            self._velocity_mps = self._imu_velocity_mps()
        if step == self._scan_step:
            self.measure_scan(time_s)

    def measure_scan(self, time_s: float) -> None:
        lidar, noise_m = self.engine_robot.robot.single_lidar, self.engine_robot.lidar_noise_m
        if lidar is not None:
            self._scan = measured_scan(lidar, time_s, self._ranges_m(), noise_m, self._noise)

    def sensed(self) -> SensorReadings:
        """Return the latest scan, and the IMU samples and contacts since the previous call."""
        imu, contacts = self._imu, tuple(self._contacts)
        self._imu = LazyImuSamples()
        self._contacts.clear()
        return SensorReadings(self._scan, imu, contacts)

    def ranges_m(self, sensor: Sensor) -> np.ndarray:
        if sensor.name not in self._rays:
            mount = self.engine_robot.mount_of(sensor.link, sensor.mount)
            self._rays[sensor.name] = (mount, sensor.directions)
        mount, directions = self._rays[sensor.name]
        return self._cast_rays(mount, directions, (sensor.range_min_m, sensor.range_max_m))

    # implemented for each physics engine

    @abc.abstractmethod
    def _set_motors(self) -> None:
        """Send the current command to the motors of the physics engine."""

    @abc.abstractmethod
    def _present_contacts(self, stamp_s: float) -> Sequence[Contact]:
        """Return the contacts of the body in the last physics step."""

    @abc.abstractmethod
    def _imu_motion(self) -> ImuMotion:
        """Return the current motion of the IMU. Not called for a robot without an IMU."""

    def _imu_velocity_mps(self) -> Sequence[float]:
        return self._imu_motion().velocity_mps

    @abc.abstractmethod
    def _ranges_m(self) -> np.ndarray:
        """Return the distances (samples,) of the lidar without noise, infinite beyond its range.

        Not called for a robot without a lidar.
        """

    @abc.abstractmethod
    def _cast_rays(
        self, mount: Mount, directions: np.ndarray, range_m: Tuple[float, float]
    ) -> np.ndarray:
        """Return the distances (m) from a mount along unit vectors (n, 3) in its frame, shape (n,).

        ``range_m`` is the minimum and the maximum range. As in Gazebo, a ray starts at the minimum.
        """


class OnboardRobot(Protocol):
    def drive(self, command: Twist2D) -> None: ...

    def sensed(self) -> SensorReadings:
        """Return the sensor readings since the previous call."""

    def ranges_m(self, sensor: Sensor) -> np.ndarray:
        """Return the distances (m) along a sensor's rays without noise, shape (rows · columns,)."""


Robot = TypeVar("Robot", bound=OnboardRobot)


class SeveralRobotsSimulation(Simulation, Generic[Robot]):
    """A world with robots, each with its own drive controller and sensors.

    An adaptor sets ``_onboard``, which contains the robots of the scene by name.
    """

    _onboard: Dict[str, Robot]

    def __init__(self, step_size_s: float, scene: Scene) -> None:
        super().__init__(step_size_s, scene.robot, scene)
        self._sensors = {
            placed_robot.robot.name: RobotSensors(placed_robot, scene.seed, number)
            for number, placed_robot in enumerate(scene.robots)
            if placed_robot.simulated
        }

    def _begin_sensors(self) -> None:
        for name, sensors in self._sensors.items():
            sensors.update(0.0, self._onboard[name].ranges_m, SensorReadings())

    def _make_snapshot(
        self, time_s: float, models: Mapping[str, ModelState], links: Mapping[str, ModelState]
    ) -> Snapshot:
        readings = {name: robot.sensed() for name, robot in self._onboard.items()}
        for name, sensors in self._sensors.items():
            if name in readings:
                readings[name] = sensors.update(
                    time_s, self._onboard[name].ranges_m, readings[name]
                )
        first = SensorReadings() if self.robot is None else readings.pop(self.robot.name)
        return Snapshot(
            time_s, models, links, first.scan, first.imu, first.contacts, readings, first.sensors
        )

    def _drive(self, command: Twist2D) -> None:
        assert self.robot is not None, "checked by drive()"
        self._onboard[self.robot.name].drive(command)

    def _drive_other(self, command: Twist2D, robot: str) -> None:
        self._onboard[robot].drive(command)
