"""Making a running world the one of the next trial: obstacles moved, deleted and spawned.

Owns what the simulator's world was last made to be, and the proof that it is what the next
trial's file says. What counts is what the simulator shows, as
:class:`~gz_testauto.ros.gazebo_client.GazeboClient` has it.
"""

import math
import time
from pathlib import Path
from typing import Callable, Dict, List

import rospy
from gazebo_msgs.msg import ModelState
from gazebo_msgs.srv import SetModelState, SetModelStateRequest

from gz_testauto.errors import SimulatorError
from gz_testauto.geometry import Pose
from gz_testauto.ros import messages
from gz_testauto.ros.gazebo_client import GazeboClient
from gz_testauto.ros.stack.session import CannotSwap
from gz_testauto.sdf.changes import WorldModels
from gz_testauto.sdf.scene import WorldScene

WITHIN_M, WITHIN_RAD = 0.02, 0.02
"""How far from its place a model may be shown; one that can move settles on the floor."""
PATIENCE_S = 5.0
LOOK_S = 0.05


class WorldSwap:
    """The world of a simulator that stays."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._gazebo = GazeboClient()
        self._set = rospy.ServiceProxy("/gazebo/set_model_state", SetModelState)
        self._models: Dict[Path, WorldModels] = {}

    def began(self, world: Path, scene: WorldScene) -> None:
        """The simulator has just been started with ``world``."""
        self._models = {world: WorldModels(scene)}

    def to(self, world: Path, scene: WorldScene) -> None:
        """Make the running world this one. Raises ``CannotSwap`` where the files differ in more
        than models, and ``SimulatorError`` when the simulator does not follow."""
        ((before_path, before),) = self._models.items()
        after = before if world == before_path else WorldModels(scene)
        changes = before.changes_to(after)
        if changes.rest:
            raise CannotSwap(f"{before_path.name} and {world.name} differ in {changes.rest}")
        self._models = {}  # until it is done, nobody knows which world this is
        self._tell(f"deleting {len(changes.gone)} models")
        self._gazebo.delete(changes.gone)
        for name, sdf in changes.new.items():
            self._tell(f"spawning {name}")
            self._gazebo.spawn(name, sdf)
        # What can move may have been pushed, and Gazebo may put a new model whose name it knows
        # where its first world had it: they are placed as well, and seen there.
        placed = {
            name: pose
            for name, pose in after.poses.items()
            if name in changes.new or name in changes.moved or not scene.models[name].static
        }
        self._tell(f"placing {len(placed)} models")
        for name, pose in placed.items():
            self.place(name, pose)
        self._require_placed(placed)
        self._models = {world: after}

    def place(self, name: str, pose: Pose) -> None:
        """Set a model down, at rest."""
        state = ModelState(model_name=name, reference_frame="world")
        state.pose = messages.pose_message(pose)
        try:
            answer = self._set(SetModelStateRequest(state))
        except rospy.ServiceException as error:
            raise SimulatorError(f"/gazebo/set_model_state cannot be called: {error}") from error
        if not answer.success:
            raise SimulatorError(f"{name} was not placed: {answer.status_message}")

    def _require_placed(self, wanted: Dict[str, Pose]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            shown = self._gazebo.poses(wanted)
            astray: List[str] = [
                name
                for name, pose in wanted.items()
                if name not in shown or not _near(shown[name], pose)
            ]
            if not astray:
                return
            if time.monotonic() > deadline:
                raise SimulatorError(f"not where they were placed: {', '.join(sorted(astray))}")
            time.sleep(LOOK_S)


def _near(one: Pose, other: Pose) -> bool:
    here, there = one.planar, other.planar
    turned = abs(math.remainder(here.yaw_rad - there.yaw_rad, 2 * math.pi))
    return here.distance_to(there.x_m, there.y_m) <= WITHIN_M and turned <= WITHIN_RAD
