"""Creates the actors of one trial from those of a campaign.

Owns the draws for an actor, from a separate generator each, so that an additional actor changes
none of the others. Starts are drawn at places that are free, away from the robot and from the
starts of other actors.
"""

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence, Tuple, Union

import numpy as np

from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.behaviours import BEHAVIOURS
from gz_testauto.behaviours.actor import Actor
from gz_testauto.behaviours.bodies import body_sdf, read_body
from gz_testauto.behaviours.cross import Cross
from gz_testauto.behaviours.door import Door
from gz_testauto.behaviours.flow import Flow
from gz_testauto.behaviours.follow import Follow
from gz_testauto.behaviours.patrol import Patrol, length_m
from gz_testauto.behaviours.script import Script, Timetable, dynabarn_path, dynabarn_speeds
from gz_testauto.behaviours.social_force import Forces, SocialForce
from gz_testauto.behaviours.surroundings import TRIES, Surroundings, draw_point
from gz_testauto.behaviours.wander import Wander
from gz_testauto.behaviours.world_actors import WorldActorSpec
from gz_testauto.sampling.seeds import ACTOR, child_generator
from gz_testauto.sdf.scene import placed_model
from gz_testauto.sdf.shapes import Box, Cylinder
from gz_testauto.simulators.interface import NamedModel
from gz_testauto.spec.actors import (
    ActorSpec,
    CrossSpec,
    DoorSpec,
    FlowSpec,
    FollowSpec,
    PatrolSpec,
    PluginSpec,
    PolynomialSpec,
    ScriptSpec,
    SocialForceSpec,
    TreeSpec,
    WanderSpec,
)
from gz_testauto.spec.distributions import Distribution
from gz_testauto.spec.regions import union_of

START_GAP_M = 0.1
"""Between two actors at the beginning, from edge to edge, at least."""


@dataclass(frozen=True)
class Ground:
    """Where actors can begin: the obstacles, the start of the robot and the radius (m) of its
    circle."""

    surroundings: Surroundings
    start: Pose2D
    robot_radius_m: float


def create_actors(
    specs: Sequence[ActorSpec], seed: int, world: int, repetition: int, ground: Ground
) -> Tuple[Actor, ...]:
    """Return the actors of a world's trial, the same for all planners, with their models. Raises
    ``PlacementError`` where no start is free, and ``SpecError`` for an unknown behaviour."""
    actors: Dict[str, Actor] = {}
    begun: List[Tuple[float, float, float]] = []
    for spec in specs:
        for index, name in enumerate(spec.names):
            path = (ACTOR, spec.name, index, world, repetition)
            draw = _Draw(child_generator(seed, *path))
            actor, start = _BUILDERS[type(spec)](spec, index, name, draw, ground, begun)
            if name in actors:
                raise SpecError(f"actor {name!r}: two actors have this name; rename one")
            if spec.path is not None and not isinstance(spec, DoorSpec):
                stands = ground.surroundings.meets(spec.path.buffer(_reach_m(spec)))
                if stands:
                    raise PlacementError(
                        f"actor {name!r}: its way meets {stands}, which it would walk into; lead "
                        "it another way, or keep that away from it"
                    )
            actor.begin(child_generator(seed, *path, 1))
            actors[name] = actor
            model = NamedModel(name, _sdf(spec), start.to_pose(spec.height_above_floor_m))
            if actor.spawn_later:
                actor.spare_models = (*actor.spare_models, model)
            else:
                begun.append((start.x_m, start.y_m, _reach_m(spec)))
                actor.models = (model,)
    return tuple(actors.values())


class _Draw:
    """Draws numbers from distributions."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random

    def __call__(self, distribution: Distribution) -> float:
        return float(distribution.quantile(float(self.random.random())))


Built = Tuple[Actor, Pose2D]
Begun = Sequence[Tuple[float, float, float]]


def _patrol(
    spec: PatrolSpec, index: int, name: str, draw: _Draw, ground: Ground, begun: Begun
) -> Built:
    speed = draw(spec.speed_mps)
    ahead_m = length_m(spec.waypoints_m, spec.closed) * index / spec.count
    patrol = Patrol(name, spec.tags, spec.waypoints_m, speed, spec.pause_s, spec.closed, ahead_m)
    return patrol, Pose2D(*patrol.start_m)


def _wander(
    spec: WanderSpec, index: int, name: str, draw: _Draw, ground: Ground, begun: Begun
) -> Built:
    region, reach_m = union_of(spec.region), _reach_m(spec)
    own = (name, spec.tags, region, ground.surroundings, reach_m, draw(spec.speed_mps))
    wander = Wander(*own, spec.pause_s, spec.give_way_m)
    if isinstance(spec, SocialForceSpec):
        forces = Forces(spec.relax_s, spec.push_mps2, spec.reach_m, spec.behind)
        wander = SocialForce(*own, spec.pause_s, spec.give_way_m, ground.robot_radius_m, forces)
    for _ in range(TRIES):
        point = draw_point(region, draw.random)
        if point is None:
            break
        if _may_begin(spec, point, ground, begun):
            return wander, Pose2D(*point, float(draw.random.uniform(-math.pi, math.pi)))
    raise PlacementError(
        f"actor {name!r} finds no place to begin after {TRIES} tries ({reach_m:g} m around it, "
        f"{spec.keep_from_robot_m:g} m from the robot): enlarge the region, lower count or "
        "keep_from_robot_m"
    )


def _flow(
    spec: FlowSpec, index: int, name: str, draw: _Draw, ground: Ground, begun: Begun
) -> Built:
    flow = Flow(
        name,
        spec.tags,
        spec.waypoints_m,
        spec.speed_mps.quantile,
        spec.away_s.quantile,
        spec.room_m,
        spec.height_above_floor_m,
    )
    return flow, Pose2D(*spec.waypoints_m[0])


def _script(
    spec: ScriptSpec, index: int, name: str, draw: _Draw, ground: Ground, begun: Begun
) -> Built:
    speed, start_s = draw(spec.speed_mps), max(0.0, draw(spec.start_s))
    shift_m = np.array([draw(spec.shift_x_m), draw(spec.shift_y_m)])
    points = np.array(spec.waypoints_m) + shift_m
    legs = len(points) if spec.repeat == "around" else len(points) - 1
    speeds = np.full(legs, speed) if spec.speeds_mps is None else np.array(spec.speeds_mps)
    if spec.times_s is None:
        timetable = Timetable(points, speeds, spec.wait_s, spec.repeat)
    else:
        timetable = Timetable.of_times(points, np.array(spec.times_s), spec.repeat)
    script = Script(name, spec.tags, timetable, start_s, spec.within_m, spec.yaw_rad)
    return script, Pose2D(*script.start)


def _polynomial(
    spec: PolynomialSpec, index: int, name: str, draw: _Draw, ground: Ground, begun: Begun
) -> Built:
    mean, order = draw(spec.mean_mps), int(draw.random.integers(spec.order[0], spec.order[1] + 1))
    for _ in range(TRIES):
        points = dynabarn_path(draw.random, order, spec.half_m) + np.array(spec.center_m)
        if _may_begin(spec, tuple(points[0].tolist()), ground, begun):
            break
    else:
        raise PlacementError(
            f"actor {name!r} finds no way whose beginning is free after {TRIES} tries; lower count "
            "or keep_from_robot_m"
        )
    speeds = dynabarn_speeds(
        draw.random, len(points) - 1, mean, spec.sigma_mps, spec.speed_bounds_mps
    )
    script = Script(name, spec.tags, Timetable(points, speeds, repeat="back"))
    return script, Pose2D(*script.start)


def _may_begin(
    spec: Union[WanderSpec, PolynomialSpec],
    point: Tuple[float, float],
    ground: Ground,
    begun: Begun,
) -> bool:
    """Whether one may begin there: nothing stands, the robot is not near, nobody else begins."""
    reach_m = _reach_m(spec)
    keep_m = ground.robot_radius_m + reach_m + spec.keep_from_robot_m
    return (
        ground.start.distance_to(*point) >= keep_m
        and ground.surroundings.is_free(*point, reach_m)
        and all(
            math.hypot(point[0] - x_m, point[1] - y_m) >= reach_m + other_m + START_GAP_M
            for x_m, y_m, other_m in begun
        )
    )


def _follow(
    spec: FollowSpec, index: int, name: str, draw: _Draw, ground: Ground, begun: Begun
) -> Built:
    speed = draw(spec.speed_mps)
    follow = Follow(name, spec.tags, spec.target, speed, spec.distance_m, spec.offset_m)
    return follow, spec.start.pose


def _cross(
    spec: CrossSpec, index: int, name: str, draw: _Draw, ground: Ground, begun: Begun
) -> Built:
    speed, delay_s = draw(spec.speed_mps), max(0.0, draw(spec.delay_s))
    cross = Cross(name, spec.tags, spec.to, speed, spec.within_m, delay_s)
    return cross, spec.start.pose


def _door(
    spec: DoorSpec, index: int, name: str, draw: _Draw, ground: Ground, begun: Begun
) -> Built:
    slides = spec.kind == "sliding"
    door = Door(
        name,
        spec.tags,
        spec.at.pose,
        spec.opens_for,
        spec.within_m,
        draw(spec.opening_s),
        spec.stays_open_s,
        travel_m=spec.size_m[0] if slides else 0.0,
        swing_rad=0.0 if slides else spec.swing_rad,
        middle_m=0.0 if slides else spec.size_m[0] / 2,
    )
    return door, spec.at.pose


def _tree(
    spec: TreeSpec, index: int, name: str, draw: _Draw, ground: Ground, begun: Begun
) -> Built:
    from gz_testauto.behaviours.tree import Tree  # needs py_trees, which others do without

    return Tree.of_file(name, spec.tags, spec.file), spec.start.pose


def _plugin(
    spec: PluginSpec, index: int, name: str, draw: _Draw, ground: Ground, begun: Begun
) -> Built:
    make = BEHAVIOURS.get(spec.behaviour)
    try:
        behaviour = make(name, spec.tags, **spec.parameters)
    except (TypeError, ValueError) as error:
        raise SpecError(f"actor {name!r}: behaviour {spec.behaviour!r}: {error}") from error
    if not isinstance(behaviour, Actor):
        raise SpecError(
            f"actor {name!r}: {spec.behaviour!r} is no behaviour; it must be a subclass of "
            "gz_testauto.behaviours.actor.Behaviour"
        )
    return behaviour, spec.start.pose


_BUILDERS: Dict[Any, Callable[..., Built]] = {
    PatrolSpec: _patrol,
    WanderSpec: _wander,
    SocialForceSpec: _wander,
    FlowSpec: _flow,
    ScriptSpec: _script,
    WorldActorSpec: _script,
    PolynomialSpec: _polynomial,
    FollowSpec: _follow,
    CrossSpec: _cross,
    DoorSpec: _door,
    TreeSpec: _tree,
    PluginSpec: _plugin,
}


def _sdf(spec: ActorSpec) -> str:
    if spec.model is not None:
        return read_body(spec.model)
    if isinstance(spec, DoorSpec):
        length, _, height = spec.size_m
        shift = length / 2 if spec.kind == "swinging" else 0.0
        return body_sdf(Box(spec.size_m), spec.mass_kg, (shift, 0.0, height / 2))
    body = spec.body
    if body.size_m is not None:
        return body_sdf(Box(body.size_m), body.mass_kg, (0.0, 0.0, body.size_m[2] / 2))
    shape = Cylinder(body.radius_m, body.height_m)
    return body_sdf(shape, body.mass_kg, (0.0, 0.0, body.height_m / 2))


def _reach_m(spec: ActorSpec) -> float:
    if isinstance(spec, DoorSpec):
        return 0.0  # it fills its doorway, where nobody else begins by chance
    if spec.model is None:
        return spec.body.reach_m
    bounds = placed_model(_sdf(spec), spec.name, Pose()).bounds
    return 0.0 if bounds is None else float(np.hypot(*np.abs(bounds[:2]).max(axis=1)))
