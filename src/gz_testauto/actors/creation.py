"""Creation of the actors of one trial.

Each actor has a separate random generator, so that an additional actor does not change the others.
"""

import math
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import shapely
from pydantic import Field
from shapely.geometry.base import BaseGeometry
from typing_extensions import override

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.bodies import (
    CONTACT_GROUPS,
    body_sdf,
    in_contact_group,
    read_body,
    without_contact_forces,
)
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
from gz_testauto.spec.road import RoadSpec

START_GAP_M = 0.1  # smallest gap between the outlines of two actors at the start of a trial
TRIES_TO_START = 2000

_EVERYWHERE = shapely.box(-1e9, -1e9, 1e9, 1e9)


class ObstacleOutlines:
    """The outlines (m, world frame) of the obstacles of a world, by name."""

    def __init__(self, outlines: Mapping[str, BaseGeometry]) -> None:
        self._names = list(outlines)
        self._tree = shapely.STRtree(list(outlines.values()))

    def touched_by(self, shape: BaseGeometry) -> Optional[str]:
        hits = self._tree.query(shape, predicate="intersects")
        return min((self._names[int(index)] for index in hits), default=None)

    def crossed(self, lines: np.ndarray) -> np.ndarray:
        """Return for each of n lines whether it crosses an obstacle, shape (n,)."""
        crosses = np.zeros(len(lines), dtype=bool)
        crosses[self._tree.query(lines, predicate="intersects")[0]] = True
        return crosses

    def distance_m(self, shape: BaseGeometry) -> float:
        """Return the distance (m) to the nearest obstacle, or ``inf`` without obstacles."""
        nearest_index, distance = self._tree.query_nearest(
            shape, return_distance=True, all_matches=False
        )
        return float(distance[0]) if len(nearest_index) else float("inf")

    def nearest_point(self, x_m: float, y_m: float) -> Optional[Tuple[float, float]]:
        """Return the nearest point (m) of an obstacle; None without obstacles, and inside them."""
        point = shapely.Point(x_m, y_m)
        nearest_index = self._tree.query_nearest(point, all_matches=False)
        if not len(nearest_index):
            return None
        line = shapely.shortest_line(self._tree.geometries[int(nearest_index[0])], point)
        (x, y), _ = shapely.get_coordinates(line).tolist()
        return None if (x, y) == (x_m, y_m) else (x, y)

    def parts_in(self, area: BaseGeometry) -> List[BaseGeometry]:
        hits = sorted(self._tree.query(area, predicate="intersects").tolist())
        return [self._tree.geometries[hit].intersection(area) for hit in hits]

    def is_free(self, x_m: float, y_m: float, radius_m: float) -> bool:
        return self.distance_m(shapely.Point(x_m, y_m)) > radius_m

    def is_free_path(
        self, start: Tuple[float, float], end: Tuple[float, float], radius_m: float
    ) -> bool:
        return self.distance_m(shapely.LineString([start, end])) > radius_m


def draw_point(region: BaseGeometry, random: np.random.Generator) -> Optional[Tuple[float, float]]:
    """Return a uniformly distributed random point of the region. Return None if it has no area, or
    if :data:`TRIES_TO_START` points in its bounding box are all outside of the region."""
    if region.is_empty or region.area <= 0.0:
        return None
    min_x, min_y, max_x, max_y = region.bounds
    shapely.prepare(region)
    for _ in range(TRIES_TO_START):
        x_m, y_m = random.uniform(min_x, max_x), random.uniform(min_y, max_y)
        if shapely.contains_xy(region, x_m, y_m):
            return (float(x_m), float(y_m))
    return None


@dataclass(frozen=True)
class ActorPlacementArea:
    """The surroundings that determine where actors can start.

    ``companions`` are the starts and circumscribed radii (m) of the other robots.
    ``has_bit_masks`` is True if the world or the robot uses bit masks, so that actors must not.
    ``robots`` maps the names of all robots to their outlines (n, 2) (m, in the frame of the robot).
    """

    surroundings: ObstacleOutlines
    start: Pose2D
    robot_radius_m: float
    has_bit_masks: bool = False
    companions: Tuple[Tuple[Pose2D, float], ...] = ()
    robots: Mapping[str, np.ndarray] = field(default_factory=dict)
    road: Optional[RoadSpec] = None


@dataclass(frozen=True)
class NewActor:
    """The input for the creation of one actor.

    ``index`` counts the actors of one entry in ``actors:``. ``others`` are all previous actors by
    name. ``started`` contains x, y and radius (m) of those that are in the world at the start.
    ``outlines`` maps robots and actors to their outlines (n, 2) (m, in the frame of the model).
    Later actors are added to it before the trial starts.
    """

    name: str
    index: int
    random: np.random.Generator
    ground: ActorPlacementArea
    started: Sequence[Tuple[float, float, float]]
    others: Mapping[str, Actor] = field(default_factory=dict)
    outlines: Mapping[str, np.ndarray] = field(default_factory=dict)

    def draw(self, distribution: Distribution) -> float:
        return float(distribution.quantile(float(self.random.random())))

    def is_free(self, point: Tuple[float, float], reach_m: float, min_robot_gap_m: float) -> bool:
        """Return whether the circle of radius ``reach_m`` around a point is free of obstacles and
        other actors, and at least ``min_robot_gap_m`` from each robot."""
        area = self.ground
        robots = ((area.start, area.robot_radius_m), *area.companions)
        return (
            all(
                start.distance_to(*point) >= radius_m + reach_m + min_robot_gap_m
                for start, radius_m in robots
            )
            and self.ground.surroundings.is_free(*point, reach_m)
            and all(
                math.hypot(point[0] - x_m, point[1] - y_m) >= reach_m + other_m + START_GAP_M
                for x_m, y_m, other_m in self.started
            )
        )


class PluginActorSpec(PlacedActorSpec, LocatedSpec):
    """The specification of an actor whose behavior is a registered class of another package."""

    parameters: Dict[str, Any] = Field(default_factory=dict)
    """Parameters of the constructor of the class that implements the behavior."""

    @override
    def create(self, new: NewActor) -> Tuple[Actor, Pose2D]:
        with self.locating("behavior", "parameters"):
            actor = construct(BEHAVIORS, self.behavior, self.parameters, new.name, self.tags)
            if not isinstance(actor, Actor):
                raise SpecError(
                    f"actor {new.name!r}: the behavior {self.behavior!r} must be a subclass of "
                    "gz_testauto.actors.actor.Actor; correct the class or behavior"
                )
        return actor, self.start.pose

    @override
    def check(self) -> None:
        with self.locating("behavior", "parameters"):
            check_parameters(BEHAVIORS, self.behavior, self.parameters, arguments=2)


def create_actors(
    specs: Sequence[ActorSpec], seed: int, world: int, repetition: int, area: ActorPlacementArea
) -> Tuple[Actor, ...]:
    """Return the actors of a trial in the order of ``specs``.

    Raises ``PlacementError`` if no free start or path is found for an actor, and ``SpecError`` for
    an unknown behavior or for two actors with the same name.
    """
    actors: Dict[str, Actor] = {}
    started_circles: List[Tuple[float, float, float]] = []
    start_outlines: Dict[str, BaseGeometry] = {}
    groups = _ContactGroups(1 if area.has_bit_masks else CONTACT_GROUPS)
    local_outlines = dict(area.robots)
    for spec in specs:
        sdf = sdf_of(spec)
        outline = placed_model(sdf, spec.name, Pose()).footprint(-math.inf, math.inf)
        for index, name in enumerate(spec.names):
            random_path = (ACTOR, spec.name, index, world, repetition)
            random = child_generator(seed, *random_path)
            new_actor = NewActor(name, index, random, area, started_circles, actors, local_outlines)
            actor, start = spec.create(new_actor)
            if spec.count > 1:  # effects and other actors can select all actors of the entry
                actor.tags |= {spec.name}
            if name in actors:
                raise SpecError(
                    f"actors: the name {name!r} appears twice; rename one of the actors"
                )
            if spec.path is not None and spec.needs_free_path:
                obstacle = area.surroundings.touched_by(spec.path.buffer(reach_of(spec)))
                if obstacle:
                    raise PlacementError(
                        f"actor {name!r}: the path crosses the obstacle {obstacle}; change the "
                        "path, or add a keep-out around it"
                    )
            actor.start(child_generator(seed, *random_path, 1))
            actors[name] = actor
            local_outlines[name] = shapely.get_coordinates(outline)
            grouped_sdf = sdf if spec.has_contact_forces else without_contact_forces(sdf)
            if spec.needs_free_path:
                group = groups.add(actor, len(actors) - 1, _reachable_area(spec), reach_of(spec))
                grouped_sdf = sdf if area.has_bit_masks else in_contact_group(sdf, group)
            model = NamedModel(name, grouped_sdf, start.to_pose(spec.height_above_ground_m))
            _set_presence(actor, spec, model.pose, area)
            if actor.spawn_later:
                actor.spare_models = (*actor.spare_models, model)
            else:
                started_circles.append((start.x_m, start.y_m, reach_of(spec)))
                if spec.needs_free_path:
                    start_outlines[name] = shapely.transform(outline, start.apply)
                    _require_apart(start_outlines, name)
                actor.models = (model,)
    return tuple(actors.values())


def _set_presence(actor: Actor, spec: ActorSpec, start: Pose, area: ActorPlacementArea) -> None:
    actor.appear_s = max(actor.appear_s, spec.appear_s)
    actor.leave_s = min(actor.leave_s, math.inf if spec.leave_s is None else spec.leave_s)
    if actor.appear_s > 0.0 and not actor.spawn_later:
        actor.spawn_later, actor.entrance = True, start
        for name, outline in area.robots.items():
            actor.robot_gaps_m[name] = float(np.hypot(*outline.T).max()) + reach_of(spec)


class _ContactGroups:
    """The contact groups of the actors of a trial. Only actors of one group touch each other."""

    def __init__(self, count: int) -> None:
        self._groups: List[List[Tuple[Actor, BaseGeometry, float]]] = [[] for _ in range(count)]

    def add(self, actor: Actor, number: int, area: Optional[BaseGeometry], reach_m: float) -> int:
        """Add the actor to a contact group, and return the index of the group.

        It is the first group in which the actor meets no other actor. The search starts at the
        index ``number``. If there is no such group, the actor joins the group at which the search
        starts. ``area`` is None if the actor can be anywhere.
        """
        body_area = _EVERYWHERE if area is None else area.buffer(reach_m)
        count = len(self._groups)
        candidates = [(number + offset) % count for offset in range(count)]
        free_groups = (group for group in candidates if not any(self._met(group, body_area)))
        group = next(free_groups, candidates[0])
        for other, other_reach_m in self._met(group, body_area):
            other.touchable[actor.name] = actor.touchable[other.name] = reach_m + other_reach_m
        self._groups[group].append((actor, body_area, reach_m))
        return group

    def _met(self, group: int, body_area: BaseGeometry) -> Iterator[Tuple[Actor, float]]:
        for actor, area, reach_m in self._groups[group]:
            if area.intersects(body_area):
                yield actor, reach_m


def _reachable_area(spec: ActorSpec) -> Optional[BaseGeometry]:
    """Return the area in which the actor's origin remains, or None if it is unknown."""
    # A type that does not override the path has only the start of the actor as its path.
    is_unknown = getattr(type(spec), "path", None) is PlacedActorSpec.path
    return None if is_unknown else spec.ground


def _require_apart(outlines: Mapping[str, BaseGeometry], name: str) -> None:
    outline_of_actor = outlines[name]
    for other_name, outline in outlines.items():
        if other_name != name and outline_of_actor.intersects(outline):
            raise PlacementError(
                f"actors {other_name!r} and {name!r} overlap at the start of the trial; start one "
                "of them elsewhere, set 'appear_s' for an actor that appears later, or use "
                "'behavior: recorded' for recorded people"
            )


def sdf_of(spec: ActorSpec) -> str:
    if spec.model is not None:
        return read_body(spec.model)
    size, mass_kg, center_m = spec.solid
    geometry = Box(size) if len(size) == 3 else Cylinder(*size)
    return body_sdf(geometry, mass_kg, center_m)


def reach_of(spec: ActorSpec) -> float:
    """Return the radius (m) of the free circle that an actor needs at its start, or 0 if the actor
    can overlap obstacles."""
    if not spec.needs_free_path:
        return 0.0
    if spec.model is None:
        return spec.body.reach_m
    bounds = placed_model(sdf_of(spec), spec.name, Pose()).bounds
    return 0.0 if bounds is None else float(np.hypot(*np.abs(bounds[:2]).max(axis=1)))
