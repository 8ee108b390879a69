"""One scene in a running gazebo_ros, from the start to the end of the trial."""

import math
import time
from pathlib import Path
from typing import Dict, Iterable, Mapping, Optional, Sequence, Tuple

from gz_testauto.base.errors import SdfError, SimulatorError, simulator_stalled
from gz_testauto.base.observation import LaserScan, ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.base.ros_messages import NANOSECONDS, nanoseconds_of
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.edit import add_model, model_elements, remove_model
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.changes import Change
from gz_testauto.simulators.gazebo_ros.changes import EXACT, SUPPORTED_CHANGES, ChangeCalls, check
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient
from gz_testauto.simulators.gazebo_ros.topics import RobotTopics
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation

# wall time, for a scan that is due
SCAN_TIMEOUT_S = 0.25
STOP_TIMEOUT_S = 5.0
POLL_S = 0.002
PROBE_S = 1.0


class PausedTime:
    """The simulated time of one gazebo_ros, in whole nanoseconds, paused between steps.

    A step resumes time and pauses it at the first clock message at or after the due time; Gazebo
    pauses slightly later. gazebo_ros has no service for a step.
    """

    def __init__(
        self, client: GazeboRosClient, topics: RobotTopics, stall_timeout_s: float
    ) -> None:
        self._client = client
        self._topics = topics
        self._stall_timeout_s = stall_timeout_s
        self.now_ns = 0

    def stop(self) -> int:
        """Pause simulated time, wait until it no longer changes, and return it (ns)."""
        self._client.pause()
        # Gazebo can respond before it finishes the active physics step.
        deadline = time.monotonic() + STOP_TIMEOUT_S
        previous_s = self._client.world().time_s
        while True:
            time.sleep(POLL_S)
            current_s = self._client.world().time_s
            if current_s == previous_s:
                self.now_ns = nanoseconds_of(current_s)
                return self.now_ns
            if time.monotonic() > deadline:
                raise SimulatorError(
                    "simulated time continues although it was paused; stop the other "
                    "clients of gazebo_ros"
                )
            previous_s = current_s

    def run(self, duration_s: float) -> int:
        """Advance to at least ``duration_s`` after the last pause; return the time (ns)."""
        self._client.unpause()
        due_ns = self.now_ns + nanoseconds_of(duration_s)
        try:
            in_time = self._await_time(due_ns)
        finally:
            self._client.pause()
        if not in_time:
            details = f"/clock remains at {self.now_ns / NANOSECONDS:.3f} s: gzserver does not "
            details += "respond, or another process paused it"
            raise simulator_stalled(self._stall_timeout_s, details=details)
        return self.stop()

    def _await_time(self, due_ns: int) -> bool:
        probe_s = min(PROBE_S, self._stall_timeout_s)
        stalled_s, last_s = 0.0, math.nan
        while not self._topics.await_clock(due_ns, probe_s):
            # Without clock messages the simulator is polled, to detect its death immediately.
            current_s = self._client.world().time_s
            if nanoseconds_of(current_s) >= due_ns:
                return True
            stalled_s, last_s = (stalled_s + probe_s if current_s == last_s else probe_s), current_s
            if stalled_s >= self._stall_timeout_s:
                return False
        return True


class GazeboRosSimulation(Simulation):
    """A scene in gazebo_ros; see :class:`~gz_testauto.simulators.interface.Simulation`.

    ``texts`` contains the SDF text of every model of the scene, by name. It is updated when models
    are spawned or deleted. ``scan`` is the scan at time 0.
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
        """The simulated time (s) since the start of the scene."""
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
        self._topics.command(command)

    def _step(self, count: int) -> None:
        self._clock.run(count * self.step_size_s)
        if self._scan_period_s:
            self._topics.await_scan(self.time_s - self._scan_period_s, SCAN_TIMEOUT_S)

    def _spawn(self, models: Sequence[NamedModel]) -> None:
        self._client.spawn_models(models)
        self._texts.update((model.name, model.sdf) for model in models)

    def _delete(self, names: Sequence[str]) -> None:
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
        self._calls.restore()

    def _save_world(self, path: Path) -> None:
        poses = self._client.poses(self._client.world().names)
        unknown_names = sorted(set(poses) - set(self._texts))
        if unknown_names:
            raise SimulatorError(
                f"{', '.join(unknown_names)}: these models were spawned by another process, so "
                "their SDF is unknown and the world cannot be saved; delete them first"
            )
        texts = dict(self._texts)
        if self.robot is not None:
            texts[self.robot.name] = self.robot.sdf  # without the plugins of gazebo_ros
        try:
            document: SdfDocument = read_scene(self._file).document.copy()
            for name in list(model_elements(document)):
                remove_model(document, name)
            for name, pose in poses.items():
                add_model(document, texts[name], pose, name)
            document.write(path)
        except SdfError as error:
            raise SimulatorError(f"{path} cannot be written: {error}") from error

    def _model_names(self) -> Iterable[str]:
        return self._client.model_names()

    def _links_of(self, names: Iterable[str]) -> Tuple[str, ...]:
        self._links.update(self._client.links_of(n for n in names if n not in self._links))
        return tuple(link for name in names for link in self._links.get(name, ()))
