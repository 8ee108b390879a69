"""Worlds that differ from a world file in their random obstacles."""

from pathlib import Path
from typing import Dict, Mapping, Optional, Pattern, Sequence

from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sampling.naming import is_obstacle
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.edit import remove_model, set_model_pose
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import WorldScene, read_scene


class EditedWorld:
    """A world file, and the worlds that result from fewer or moved random obstacles.

    ``obstacles`` maps their names to their poses, in the order of the file. ``pattern`` matches
    their full names, by default those that the spawner assigns.
    """

    def __init__(self, path: Path, pattern: Optional[Pattern[str]] = None) -> None:
        document = SdfDocument.read(path)
        self.scene: WorldScene = read_scene(document)
        self.scene.document.require_world()
        self._document = self.scene.document.copy()
        ModelLibrary().make_paths_absolute(self._document)
        self.obstacles: Dict[str, Pose] = {
            name: model.pose
            for name, model in self.scene.models.items()
            if is_obstacle(name, pattern)
        }

    def content(self, kept: Sequence[str], moved: Mapping[str, Pose2D]) -> bytes:
        """Return the world file with only the obstacles ``kept``; ``moved`` are new poses of some.

        Height, roll and pitch of moved obstacles stay. Equal arguments give equal bytes.
        """
        document = self._document.copy()
        for name, pose in self.obstacles.items():
            if name not in kept:
                remove_model(document, name)
            elif name in moved:
                to, (roll, pitch, _) = moved[name], pose.rpy
                new = Pose.from_rpy(to.x_m, to.y_m, pose.position[2], roll, pitch, to.yaw_rad)
                set_model_pose(document, name, new)
        return document.to_bytes()
