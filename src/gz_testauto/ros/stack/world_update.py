"""Making a running world the one of the next trial: obstacles and actors moved, deleted and
spawned.

Owns what the simulator's world was last made to be, and in which order it is changed. That it
then is what the next trial's file says is seen to by
:class:`~gz_testauto.simulators.gazebo_ros.client.GazeboRosClient`, which looks.
"""

from pathlib import Path
from typing import Callable, Dict, Sequence

from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.ros.stack.protocol import CannotSwap
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.sdf.world_diff import WorldModels
from gz_testauto.simulators.gazebo_ros.client import GazeboRosClient
from gz_testauto.simulators.interface import NamedModel

WITHIN_M, WITHIN_RAD = 0.05, 0.05
"""How far from its place, seen from above, a model may be shown: one that can move settles."""


class WorldSwap:
    """The world of a simulator that stays. ``tell`` is told what is being done."""

    def __init__(self, gazebo: GazeboRosClient, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._gazebo = gazebo
        self._models: Dict[Path, WorldModels] = {}
        self._actors: Dict[str, str] = {}

    def began(self, world: Path, scene: WorldScene) -> None:
        """The simulator has just been started with ``world``."""
        self._models = {world: WorldModels(scene)}
        self._actors = {}

    def to(self, world: Path, scene: WorldScene) -> None:
        """Make the running world this one. Raises ``CannotSwap`` where the files differ in more
        than models, and ``SimulatorError`` when the simulator does not follow."""
        ((before_path, before),) = self._models.items()
        after = before if world == before_path else WorldModels(scene)
        changes = before.changes_to(after)
        if changes.other:
            raise CannotSwap(f"{before_path.name} and {world.name} differ in {changes.other}")
        self._models = {}  # until it is done, nobody knows which world this is
        if changes.to_delete:
            self._tell(f"deleting {len(changes.to_delete)} models")
            self._gazebo.delete(changes.to_delete)
        if changes.to_spawn:
            self._tell(f"spawning {len(changes.to_spawn)} models")
            self._gazebo.spawn_models(
                [NamedModel(name, sdf, after.poses[name]) for name, sdf in changes.to_spawn.items()]
            )
        # What can move may have been pushed since it was placed.
        placed = {
            name: pose
            for name, pose in after.poses.items()
            if name in changes.moved or not (name in changes.to_spawn or scene.models[name].static)
        }
        if placed:
            self._tell(f"placing {len(placed)} models")
        self._place(placed)
        self._models = {world: after}

    def replace_actors(
        self, actors: Sequence[NamedModel], spare_models: Sequence[NamedModel]
    ) -> None:
        """Replace the actors of the previous trial by these, at their start poses;
        ``spare_models`` can be spawned during this trial. Raises ``SimulatorError`` as :meth:`to`
        does."""
        if not actors and not spare_models and not self._actors:
            return
        wanted = {model.name: model for model in actors}
        standing = self._gazebo.model_names() & self._actors.keys()
        kept = [name for name in standing & wanted.keys() if self._actors[name] == wanted[name].sdf]
        gone, new = sorted(standing.difference(kept)), sorted(wanted.keys() - set(kept))
        if gone or new:
            self._tell(f"deleting {len(gone)} actors and spawning {len(new)}")
            self._gazebo.delete(gone)
            self._gazebo.spawn_models([wanted[name] for name in new])
        self._place({name: wanted[name].pose for name in sorted(kept)})
        self._actors = {model.name: model.sdf for model in (*actors, *spare_models)}

    def put_robot(self, name: str, pose: Pose) -> None:
        """Set the robot down, at rest, and see it there."""
        self._place({name: pose})

    def _place(self, poses: Dict[str, Pose]) -> None:
        if not poses:
            return
        states = {name: ModelState(pose) for name, pose in poses.items()}
        self._gazebo.set_states(states, WITHIN_M, WITHIN_RAD, from_above=True)
