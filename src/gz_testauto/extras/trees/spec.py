"""The specification of the actor type ``tree``, which executes a behavior tree."""

import inspect
from typing import Tuple

from typing_extensions import Literal

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import NewActor
from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.base.installation import importing, install_command
from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.actors import PlacedActorSpec
from gz_testauto.spec.model import SpecPath


class TreeSpec(PlacedActorSpec):
    """An actor that executes a behavior tree in the XML format of BehaviorTree.CPP."""

    behavior: Literal["tree"]
    file: SpecPath
    """The XML file of the behavior tree."""

    def create(self, new: NewActor) -> Tuple[Actor, Pose2D]:
        """Return the actor and its start. Raise ``MissingDependencyError`` if py_trees 2.2 or later
        is not installed."""
        _require_py_trees()
        from gz_testauto.extras.trees.actor import TreeActor  # requires py_trees

        return TreeActor.of_file(new.name, self.tags, self.file), self.start.pose


def _require_py_trees() -> None:
    with importing("behavior trees need py_trees", "trees"):
        import py_trees
    if "memory" not in inspect.signature(py_trees.composites.Sequence.__init__).parameters:
        raise MissingDependencyError(
            f"the py_trees in {py_trees.__file__} is too old (ROS Noetic has 0.7); behavior trees "
            f"need 2.2 or later; run {install_command('trees')} in an environment whose packages "
            "precede those of ROS on PYTHONPATH"
        )
