"""Creates the actors of one trial from those of a campaign.

Draws the values of each actor from a separate generator, so that an additional actor changes none
of the others. Starts are drawn at places that are free, away from the robot and from the starts of
other actors.
"""

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
from pydantic import Field

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.bodies import body_sdf, read_body
from gz_testauto.actors.obstacle_outlines import ObstacleOutlines
from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.base.parameters import check_parameters, construct
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.sampling.seeds import ACTOR, child_generator
from gz_testauto.sdf.scene import placed_model
from gz_testauto.sdf.shapes import Box, Cylinder
from gz_testauto.simulators.interface import NamedModel
from gz_testauto.spec.actors import BEHAVIORS, ActorSpec, PlacedActorSpec
from gz_testauto.spec.distributions import Distribution
from gz_testauto.spec.model import LocatedSpec

START_GAP_M = 0.1
"""Least gap between the outlines of two actors at their start."""


@dataclass(frozen=True)
class ActorPlacementArea:
    """The obstacles, the start of the robot and the radius (m) of its circle, for the starts of
    actors."""

    surroundings: ObstacleOutlines
    start: Pose2D
    robot_radius_m: float


@dataclass(frozen=True)
class NewActor:
    """One actor to create: its name, its index in the entry, the generator for its draws, and the
    starts of the actors before it: x, y and radius (m)."""

    name: str
    index: int
    random: np.random.Generator
    ground: ActorPlacementArea
    started: Sequence[Tuple[float, float, float]]

    def draw(self, distribution: Distribution) -> float:
        """Return a number drawn from a distribution."""
        return float(distribution.quantile(float(self.random.random())))

    def is_free(self, point: Tuple[float, float], reach_m: float, min_robot_gap_m: float) -> bool:
        """Return whether a circle at a point is free of obstacles and of the starts of other
        actors, and as far from the robot's start."""
        keep_m = self.ground.robot_radius_m + reach_m + min_robot_gap_m
        return (
            self.ground.start.distance_to(*point) >= keep_m
            and self.ground.surroundings.is_free(*point, reach_m)
            and all(
                math.hypot(point[0] - x_m, point[1] - y_m) >= reach_m + other_m + START_GAP_M
                for x_m, y_m, other_m in self.started
            )
        )


class PluginActorSpec(PlacedActorSpec, LocatedSpec):
    """An actor whose behavior is a class of another package, by its registered name."""

    parameters: Dict[str, Any] = Field(default_factory=dict)
    """Parameters of the constructor of the class."""

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


def create_actors(
    specs: Sequence[ActorSpec], seed: int, world: int, repetition: int, ground: ActorPlacementArea
) -> Tuple[Actor, ...]:
    """Return the actors of a trial, the same for all planners, with their models.

    Raises ``PlacementError`` if no start is free, and ``SpecError`` for an unknown behavior.
    """
    actors: Dict[str, Actor] = {}
    started: List[Tuple[float, float, float]] = []
    for spec in specs:
        for index, name in enumerate(spec.names):
            path = (ACTOR, spec.name, index, world, repetition)
            new = NewActor(name, index, child_generator(seed, *path), ground, started)
            actor, start = spec.create(new)
            if name in actors:
                raise SpecError(f"actor {name!r}: two actors have this name; rename one")
            if spec.path is not None and spec.needs_free_path:
                obstacle = ground.surroundings.touched_by(spec.path.buffer(reach_of(spec)))
                if obstacle:
                    raise PlacementError(
                        f"actor {name!r}: its path crosses {obstacle}; change the path or "
                        "keep obstacles out of it"
                    )
            actor.start(child_generator(seed, *path, 1))
            actors[name] = actor
            model = NamedModel(name, sdf_of(spec), start.to_pose(spec.height_above_ground_m))
            if actor.spawn_later:
                actor.spare_models = (*actor.spare_models, model)
            else:
                started.append((start.x_m, start.y_m, reach_of(spec)))
                actor.models = (model,)
    return tuple(actors.values())


def sdf_of(spec: ActorSpec) -> str:
    """Return the model of an entry's actors. Raises as :func:`read_body` does."""
    if spec.model is not None:
        return read_body(spec.model)
    size, mass_kg, center_m = spec.solid
    geometry = Box(size) if len(size) == 3 else Cylinder(*size)
    return body_sdf(geometry, mass_kg, center_m)


def reach_of(spec: ActorSpec) -> float:
    """Return the radius (m) of the circle that an entry's actor needs at its start."""
    if not spec.needs_free_path:
        return 0.0
    if spec.model is None:
        return spec.body.reach_m
    bounds = placed_model(sdf_of(spec), spec.name, Pose()).bounds
    return 0.0 if bounds is None else float(np.hypot(*np.abs(bounds[:2]).max(axis=1)))
