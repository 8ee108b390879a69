"""The running world of a stack, as a simulation whose time advances continuously.

Actors and property changes work as in lock-step, except that time passes during their requests. A
twist therefore applies until the next snapshot.
"""

from pathlib import Path
from typing import Callable, Iterable, Mapping, Optional, Sequence

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot, Twist2D
from gz_testauto.ros.stack.ground_truth import GroundTruth
from gz_testauto.simulators.changes import Change
from gz_testauto.simulators.description import DescribedWorld
from gz_testauto.simulators.gazebo_ros.changes import SUPPORTED_CHANGES, ChangeCalls, check
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation
from gz_testauto.trial.actors import links_sdf


class RunningWorld(Simulation):
    """A simulation of a running stack, with steps of at least ``period_s``.

    The robot of ``scene`` is None if it has no model file; ``robot_links`` are then scoped names of
    links that changes can name. Snapshots contain ``robot`` and ``observed_models``. ``meanwhile``
    is called during waits. ``stall_timeout_s`` limits the wall time without simulated time.
    """

    changes = SUPPORTED_CHANGES

    def __init__(
        self,
        gazebo: GazeboRosClient,
        truth: GroundTruth,
        scene: Scene,
        robot: str,
        observed_models: Iterable[str],
        period_s: float,
        stall_timeout_s: float,
        meanwhile: Callable[[], None],
        robot_links: Sequence[str] = (),
    ) -> None:
        super().__init__(period_s, scene.robot, scene)
        self._robot_links = tuple(robot_links)
        self._gazebo, self._truth = gazebo, truth
        self._observed_names = (robot, tuple(observed_models))
        self._stall_timeout_s, self._meanwhile = stall_timeout_s, meanwhile
        self._latest_snapshot: Optional[Snapshot] = None
        self._calls: Optional[ChangeCalls] = None

    def rest(self, names: Sequence[str]) -> None:
        """Stop the named models, if they exist, and undo all property changes."""
        present_poses = self._gazebo.poses(names)
        self._gazebo.send_states({name: ModelState(pose) for name, pose in present_poses.items()})
        if self._calls is not None:
            self._calls.restore()

    @property
    def _described_world(self) -> DescribedWorld:
        if self._described is None and self._robot_links:
            robot_name = self._observed_names[0]
            super()._described_world.add(robot_name, links_sdf(robot_name, self._robot_links))
        return super()._described_world

    def _snapshot(self) -> Snapshot:
        if self._latest_snapshot is None:
            self._latest_snapshot = self._truth.request_snapshot(*self._observed_names)
        return self._latest_snapshot

    def _step(self, step_count: int) -> None:
        self._latest_snapshot = self._truth.next(
            *self._observed_names,
            self._snapshot().time_s,
            step_count * self.step_size_s,
            self._stall_timeout_s,
            self._meanwhile,
        )

    def _spawn(self, models: Sequence[NamedModel]) -> None:
        self._gazebo.spawn_models(models)

    def _delete(self, names: Sequence[str]) -> None:
        self._gazebo.delete(names)

    def _apply(self, changes: Sequence[Change]) -> None:
        if self._calls is None:
            step_s = self._gazebo.physics().step_size_s
            self._calls = ChangeCalls(
                self._gazebo, lambda: self._described_world, step_s, paused=False
            )
        self._calls.apply(changes)

    def _check_change(self, change: Change) -> None:
        check(change, lambda: self._described_world.now)

    def _set_states(self, states: Mapping[str, ModelState]) -> None:
        self._gazebo.send_states(states)

    def _model_names(self) -> Iterable[str]:
        return self._gazebo.model_names()

    def _drive(self, command: Twist2D) -> None:
        raise SimulatorError("the robot of a stack cannot be driven, since the stack drives it")

    def _save_world(self, path: Path) -> None:
        raise SimulatorError(f"{path}: saving the world of a stack is not supported")
