"""Actors whose behavior is a class of another package without its own specification."""

from typing import Any, Dict, Tuple

import shapely
import shapely.affinity
from pydantic import Field
from shapely.geometry.base import BaseGeometry

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import NewActor
from gz_testauto.base.errors import SpecError
from gz_testauto.base.parameters import check_parameters, construct
from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.actors import BEHAVIORS, ActorSpec
from gz_testauto.spec.model import LocatedSpec, PoseSpec


class PluginSpec(ActorSpec, LocatedSpec):
    """A behavior of another package, by its registered name."""

    behavior: str
    start: PoseSpec
    parameters: Dict[str, Any] = Field(default_factory=dict)

    @property
    def path(self) -> BaseGeometry:
        """Return the start point."""
        return shapely.Point(self.start.x_m, self.start.y_m)

    def create(self, new: NewActor) -> Tuple[Actor, Pose2D]:
        """See :class:`ActorSpec`."""
        with self.locating("behavior", "parameters"):
            actor = construct(BEHAVIORS, self.behavior, self.parameters, new.name, self.tags)
            if not isinstance(actor, Actor):
                raise SpecError(
                    f"actor {new.name!r}: {self.behavior!r} is not a behavior; it must be a "
                    "subclass of gz_testauto.actors.actor.Actor"
                )
        return actor, self.start.pose

    def check(self) -> None:
        """See :class:`ActorSpec`."""
        with self.locating("behavior", "parameters"):
            check_parameters(BEHAVIORS, self.behavior, self.parameters, arguments=2)
