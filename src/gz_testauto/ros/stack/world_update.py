"""Update of a running world for the next trial: obstacles and actors are moved, deleted, spawned.

:class:`~gz_testauto.simulators.gazebo_ros.client.GazeboRosClient` applies and verifies each change.
"""

from pathlib import Path
from typing import Callable, Dict, Sequence

from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.ros.session import SessionRestartError
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.sdf.world_diff import WorldModels
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient
from gz_testauto.simulators.interface import NamedModel

# tolerances of the horizontal pose of a placed model, which can settle
WITHIN_M, WITHIN_RAD = 0.05, 0.05


class WorldUpdater:
    """A client that changes the models of a running world. ``report`` receives its activity."""

    def __init__(self, gazebo: GazeboRosClient, report: Callable[[str], None]) -> None:
        self._report = report
        self._gazebo = gazebo
        self._models: Dict[Path, WorldModels] = {}
        self._actors: Dict[str, str] = {}

    def set_started_world(self, world: Path, scene: WorldScene) -> None:
        self._models = {world: WorldModels(scene)}
        self._actors = {}

    def change_to(self, world: Path, scene: WorldScene) -> None:
        """Change the models of the running world to those of another world file.

        Raises ``SessionRestartError`` if the files differ in more than models, and
        ``SimulatorError`` if a change fails.
        """
        ((before_path, old_models),) = self._models.items()
        new_models = old_models if world == before_path else WorldModels(scene)
        changes = old_models.changes_to(new_models)
        if changes.other:
            raise SessionRestartError(
                f"{before_path.name} and {world.name} differ in {changes.other}"
            )
        self._models = {}  # unknown until all changes are done
        if changes.to_delete:
            self._report(f"deleting {len(changes.to_delete)} models")
            self._gazebo.delete(changes.to_delete)
        if changes.to_spawn:
            self._report(f"spawning {len(changes.to_spawn)} models")
            self._gazebo.spawn_models(
                [
                    NamedModel(name, sdf, new_models.poses[name])
                    for name, sdf in changes.to_spawn.items()
                ]
            )
        # A movable model may have been pushed since it was placed.
        placed_poses = {
            name: pose
            for name, pose in new_models.poses.items()
            if name in changes.moved or not (name in changes.to_spawn or scene.models[name].static)
        }
        if placed_poses:
            self._report(f"placing {len(placed_poses)} models")
        self.place(placed_poses)
        self._models = {world: new_models}

    def replace_actors(
        self, actors: Sequence[NamedModel], spare_models: Sequence[NamedModel]
    ) -> None:
        """Replace the actors of the previous trial by ``actors`` at their start poses.

        ``spare_models`` can be spawned during the trial. Raises ``SimulatorError`` if a change
        fails.
        """
        if not actors and not spare_models and not self._actors:
            return
        new_models = {model.name: model for model in actors}
        present_names = self._gazebo.model_names() & self._actors.keys()
        kept_names = [
            name
            for name in present_names & new_models.keys()
            if self._actors[name] == new_models[name].sdf
        ]
        deleted_names, spawned_names = (
            sorted(present_names.difference(kept_names)),
            sorted(new_models.keys() - set(kept_names)),
        )
        if deleted_names or spawned_names:
            self._report(f"deleting {len(deleted_names)} actors and spawning {len(spawned_names)}")
            self._gazebo.delete(deleted_names)
            self._gazebo.spawn_models([new_models[name] for name in spawned_names])
        self.place({name: new_models[name].pose for name in sorted(kept_names)})
        self._actors = {model.name: model.sdf for model in (*actors, *spare_models)}

    def place(self, poses: Dict[str, Pose]) -> None:
        if not poses:
            return
        states = {name: ModelState(pose) for name, pose in poses.items()}
        self._gazebo.set_states(states, WITHIN_M, WITHIN_RAD, from_above=True)
