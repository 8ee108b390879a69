"""One scene in a running gazebo_ros, from the start to the end of the trial.

A snapshot reads all states in one call while time is paused.
"""

from pathlib import Path
from typing import Dict, Iterable, Mapping, Optional, Sequence, Tuple

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import LaserScan, ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.base.ros_messages import NANOSECONDS
from gz_testauto.simulators.changes import Change
from gz_testauto.simulators.gazebo_ros.changes import EXACT, SUPPORTED_CHANGES, ChangeCalls, check
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient
from gz_testauto.simulators.gazebo_ros.model_diff import write_world
from gz_testauto.simulators.gazebo_ros.pausing import PausedTime
from gz_testauto.simulators.gazebo_ros.topics import RobotTopics
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation

SCAN_TIMEOUT_S = 0.25
"""Timeout (wall time) for a scan that is due."""


class GazeboRosSimulation(Simulation):
    """A scene in gazebo_ros; see :class:`~gz_testauto.simulators.interface.Simulation`.

    ``texts`` has the SDF of every model of the scene by name and is updated. ``scan`` is the scan
    of time 0.
    """

    changes = SUPPORTED_CHANGES

    def __init__(
        self,
        client: GazeboRosClient,
        topics: RobotTopics,
        clock: PausedTime,
        scene: Scene,
        texts: Dict[str, str],
        scan: Optional[LaserScan] = None,
    ) -> None:
        super().__init__(client.physics().step_size_s, scene.robot, scene)
        self._file = scene.world
        self._client = client
        self._topics = topics
        self._clock = clock
        self._texts = texts
        self._calls = ChangeCalls(client, lambda: self._described_world, self.step_size_s)
        self._links: Dict[str, Tuple[str, ...]] = {}
        self._first_scan = scan
        self._origin_ns = clock.stop()
        lidar = scene.robot.lidar if scene.robot else None
        self._scan_period_s = 0.0
        if lidar is not None and lidar.update_rate_hz > 0:
            self._scan_period_s = 1.0 / lidar.update_rate_hz
        topics.begin(self._origin_ns, lidar.mount if lidar else Pose())

    @property
    def time_s(self) -> float:
        """Scene time of the paused world."""
        return (self._clock.now_ns - self._origin_ns) / NANOSECONDS

    def _snapshot(self) -> Snapshot:
        names = self._client.world().names
        imu, contacts = self._topics.take()
        return Snapshot(
            time_s=self.time_s,
            models=self._client.states(names),
            links=self._client.link_states(self._links_of(names)),
            scan=self._topics.scan or self._first_scan,
            imu=imu,
            contacts=contacts,
        )

    def _drive(self, command: Twist2D) -> None:
        """Publish the command; the drive controller holds it until the next one."""
        self._topics.command(command)

    def _step(self, count: int) -> None:
        self._clock.run(count * self.step_size_s)
        if self._scan_period_s:
            self._topics.await_scan(self.time_s - self._scan_period_s, SCAN_TIMEOUT_S)

    def _spawn(self, models: Sequence[NamedModel]) -> None:
        """Spawn models; gazebo_ros needs about 0.2 s of wall time for each."""
        self._client.spawn_models(models)
        self._texts.update((model.name, model.sdf) for model in models)

    def _delete(self, names: Sequence[str]) -> None:
        """Delete models; gazebo_ros needs about 0.4 s of wall time for each."""
        self._client.delete(names)
        if self.robot is not None and self.robot.name in names:
            self._scan_period_s = 0.0
        for name in names:
            self._texts.pop(name, None)
            self._links.pop(name, None)

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        self._client.set_states(states, within_m=EXACT, within_rad=EXACT)

    def _apply(self, changes: Sequence[Change]) -> None:
        self._calls.apply(changes)

    def _check_change(self, change: Change) -> None:
        check(change, lambda: self._described_world.now)

    def restore(self) -> None:
        """Restore the changes that would remain for the next scene."""
        self._calls.restore()

    def _save_world(self, path: Path) -> None:
        """Write the scene's world file with the present models at their poses. Raises
        ``SimulatorError`` for a model of another process, whose SDF is unknown."""
        poses = self._client.poses(self._client.world().names)
        unknown = sorted(set(poses) - set(self._texts))
        if unknown:
            raise SimulatorError(
                f"{', '.join(unknown)}: spawned by another process, so the SDF is unknown and "
                "the world cannot be saved; delete these models before"
            )
        texts = dict(self._texts)
        if self.robot is not None:
            texts[self.robot.name] = self.robot.sdf  # without gazebo_ros's plugins
        models = {name: NamedModel(name, texts[name], pose) for name, pose in poses.items()}
        write_world(self._file, models, path)

    def _model_names(self) -> Iterable[str]:
        return self._client.model_names()

    def _links_of(self, names: Iterable[str]) -> Tuple[str, ...]:
        self._links.update(self._client.links_of(n for n in names if n not in self._links))
        return tuple(link for name in names for link in self._links.get(name, ()))
