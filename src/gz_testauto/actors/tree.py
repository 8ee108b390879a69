"""``tree``: an actor that a behaviour tree moves; see :mod:`gz_testauto.actors.tree_leaves`."""

from typing import Tuple

import shapely
import shapely.affinity
from shapely.geometry.base import BaseGeometry
from typing_extensions import Literal

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import NewActor
from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.model import PoseSpec, SpecPath


class TreeSpec(ActorSpec):
    """Does what a behaviour tree in BehaviorTree.CPP's XML says."""

    behaviour: Literal["tree"]
    start: PoseSpec
    file: SpecPath

    @property
    def path(self) -> BaseGeometry:
        """Where it begins."""
        return shapely.Point(self.start.x_m, self.start.y_m)

    def create(self, new: NewActor) -> Tuple[Actor, Pose2D]:
        """See :class:`ActorSpec`."""
        from gz_testauto.actors.tree_leaves import Tree  # needs py_trees, others do not

        return Tree.of_file(new.name, self.tags, self.file), self.start.pose
