"""Create the actors, other hooks and filters of one trial, and add them to a simulation.

They depend only on campaign, world and repetition, and are the same for all planners.
"""

import contextlib
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type

import numpy as np
import shapely

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.bodies import CONTACT_GROUPS, in_contact_group
from gz_testauto.actors.conditional_effects import (
    EffectTargets,
    change_kind_of,
    check_hook,
    create_effects,
    create_hooks,
)
from gz_testauto.actors.creation import ActorPlacementArea, ObstacleOutlines, create_actors
from gz_testauto.actors.hook import Hook, HookResults
from gz_testauto.actors.localization import compose
from gz_testauto.actors.simulation import ActorSimulation, Filter
from gz_testauto.actors.tracker import ObjectTracker, TrackedScene
from gz_testauto.actors.world_actors import world_actors
from gz_testauto.base.errors import (
    MissingDependencyError,
    PlacementError,
    SceneError,
    SimulatorError,
    SpecError,
)
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.randomization.terms import (
    PlaceCheck,
    RandomizedScene,
    draw_terms,
    kinds_of,
)
from gz_testauto.sampling.site import RequiredMission, Site, walls_of
from gz_testauto.sdf.floor import obstructing_heights
from gz_testauto.sdf.robot import RobotBody, RobotModel
from gz_testauto.sdf.scene import WorldScene, placed_model
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.changes import ChangeKind, SetModel
from gz_testauto.simulators.description import DescribedWorld
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation, Simulator
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.spec.effects import PushEffect
from gz_testauto.spec.randomize import (
    EverySpec,
    FaultTerm,
    PoseTerm,
    PushTerm,
    moves,
)
from gz_testauto.spec.road import RoadSpec
from gz_testauto.spec.worlds import RandomNumbers
from gz_testauto.trial.clearance import ObstacleField, footprints_at
from gz_testauto.trial.executor import TrialResult
from gz_testauto.worlds.source import world_source

STACK = "gazebo_ros"

# a scoped name without characters that have a meaning in a regular expression
_LINK_NAME = re.compile(r"[\w/:-]+")


@dataclass(frozen=True, eq=False)
class TrialActors:
    """The hooks of a trial, including actors, and the filters of the first robot's scans and
    commands. ``numbers`` are the drawn values by the names of their columns in the results."""

    hooks: Tuple[Hook, ...] = ()
    filters: Tuple[Filter, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def actors(self) -> Tuple[Actor, ...]:
        return tuple(hook for hook in self.hooks if isinstance(hook, Actor))

    @property
    def models(self) -> Tuple[NamedModel, ...]:
        return tuple(model for hook in self.hooks for model in hook.models)

    @property
    def spare_models(self) -> Tuple[NamedModel, ...]:
        return tuple(model for hook in self.hooks for model in hook.spare_models)

    @property
    def all_models(self) -> Tuple[NamedModel, ...]:
        return (*self.models, *self.spare_models)

    @property
    def activities(self) -> Dict[str, str]:
        return {name: text for hook in self.hooks for name, text in hook.activities.items()}

    def complete(self, result: TrialResult) -> TrialResult:
        """Return ``result`` with the drawn values and the values that hooks recorded.

        Call this method before :meth:`close`. Raises ``SceneError`` if a hook fails.
        """
        for hook in self.hooks:
            hook_results = _results_of(hook)
            result = result.with_values(hook_results.numbers, hook_results.series)
        return result.with_values(self.numbers)

    def numbers_so_far(self) -> Dict[str, float]:
        """Return the numbers that hooks have recorded until now, by name. Raises ``SceneError`` if
        a hook fails."""
        hook_results = [_results_of(hook).numbers for hook in self.hooks if hook.numbers]
        return {name: float(value) for numbers in hook_results for name, value in numbers.items()}

    def scene(self, scene: Scene) -> Scene:
        """Return ``scene`` with the models of the hooks, but without their spare models."""
        return replace(scene, models=(*scene.models, *self.models))

    def simulation(self, simulation: Simulation, robot: Optional[str] = None) -> Simulation:
        """Return the simulation with the hooks and filters.

        ``robot`` is the name of the first robot (default: the robot of ``simulation``).
        """
        if not self.hooks and not self.filters:
            return simulation
        return ActorSimulation(simulation, self.hooks, self.filters, robot)

    def close(self) -> None:
        for hook in self.hooks:
            hook.close()


def _results_of(hook: Hook) -> HookResults:
    try:
        return hook.results()
    except SimulatorError:
        raise
    except Exception as error:  # a hook of another package raises any exception
        raise SceneError(
            f"hook {hook.name!r} ({type(hook).__name__}) failed in results(): "
            f"{type(error).__name__}: {error}"
        ) from error


class ActorContext(NamedTuple):
    """The inputs from which the actors of a trial are created.

    ``file`` and ``scene`` are the world. ``companions`` are the other robots with their start
    poses. Poses are in the world frame.
    """

    spec: CampaignSpec
    robot: RobotBody
    start: Pose2D
    road: Optional[RoadSpec]
    numbers: RandomNumbers
    file: Path
    scene: WorldScene
    goals: Tuple[Pose2D, ...] = ()
    companions: Tuple[Tuple[RobotBody, Pose2D], ...] = ()

    def obstacle_outlines(self) -> ObstacleOutlines:
        heights = obstructing_heights(self.spec.robot.height_m or self.robot.height_m)
        return ObstacleOutlines(ObstacleField(self.scene, heights).outlines())


def prepare_actors(context: ActorContext) -> TrialActors:
    """Create the hooks and filters of a trial: actors, effects, hooks and drawn random values.

    Raises ``SpecError`` for an invalid actor or term, ``PlacementError`` if no start of an actor is
    free, and ``SdfError`` if the model of an actor cannot be read.
    """
    spec, numbers = context.spec, context.numbers
    seed, world, repetition = numbers.seed, numbers.world, numbers.repetition
    placed_actors = world_actors(context.scene)
    if not (spec.changes_worlds or placed_actors):
        return TrialActors()
    hooks: List[Hook] = []
    agents = _make_agents_hook(context)
    if spec.actors or placed_actors:
        radius_m = _circumscribed_radius_m(context.robot, spec.robot.footprint_m)
        area = ActorPlacementArea(
            context.obstacle_outlines(),
            context.start,
            radius_m,
            _has_bit_masks(context),
            tuple(
                (start, _circumscribed_radius_m(companion))
                for companion, start in context.companions
            ),
            _outlines(context),
            context.road,
        )
        hooks.extend(create_actors((*spec.actors, *placed_actors), seed, world, repetition, area))
    if agents is not None:
        if not _has_bit_masks(context):
            _set_contact_groups(agents, len(hooks))
        hooks.append(agents)
    hooks.extend(create_hooks(spec.hooks, seed, world, repetition))
    if spec.effects:
        targets = _effect_targets(context, TrialActors(tuple(hooks)))
        hooks.extend(create_effects(spec.effects, seed, world, repetition, targets))
    if not spec.randomize:
        return TrialActors(tuple(hooks))
    scene = _randomized_scene(context, TrialActors(tuple(hooks)).models)
    drawn_terms = draw_terms(spec.randomize, seed, world, repetition, scene)
    return TrialActors(
        (*hooks, *drawn_terms.hooks), tuple(drawn_terms.filters), drawn_terms.numbers
    )


def _outlines(context: ActorContext) -> Dict[str, np.ndarray]:
    """Return the outlines of all robots, shape (n, 2) (m, in the base frame), by name."""
    bodies = [context.robot, *(companion for companion, _ in context.companions)]
    outlines = {body.name: np.asarray(body.footprint_m, dtype=float) for body in bodies}
    if context.spec.robot.footprint_m:
        outlines[context.robot.name] = np.asarray(context.spec.robot.footprint_m, dtype=float)
    return outlines


def _effect_targets(context: ActorContext, actors: TrialActors) -> EffectTargets:
    described_world = DescribedWorld(context.scene)
    models = {*context.scene.models, context.robot.name}
    robots = [context.robot, *(body for body, _ in context.companions)]
    for robot in robots:
        models.add(robot.name)
        if isinstance(robot, RobotModel):
            described_world.add(robot.name, robot.sdf)
        elif pushed_links(context.spec, robot.name):
            sdf = links_sdf(robot.name, pushed_links(context.spec, robot.name))
            described_world.add(robot.name, sdf)
    for model in actors.all_models:
        models.add(model.name)
        described_world.add(model.name, model.sdf)
    tags: Dict[str, List[str]] = {}
    for actor in sorted(actors.actors, key=lambda actor: actor.name):
        for tag in sorted(actor.tags):
            tags.setdefault(tag, []).append(actor.name)
    names = frozenset(actor.name for actor in actors.actors)
    return EffectTargets(described_world.now, frozenset(models), names, tags, context.robot.name)


def _circumscribed_radius_m(
    body: RobotBody, footprint_m: Optional[Sequence[Tuple[float, float]]] = None
) -> float:
    return float(np.hypot(*np.asarray(footprint_m or body.footprint_m).T).max())


def _has_bit_masks(context: ActorContext) -> bool:
    """Return whether the world or the robot can contain ``<collide_bitmask>``."""
    if not isinstance(context.robot, RobotModel):
        return True
    elements = [
        node.element for model in context.scene.models.values() for _, node, _ in model.node.walk()
    ]
    elements.append(parse_xml(context.robot.sdf.encode()))
    return any(element.find(".//collide_bitmask") is not None for element in elements)


def _set_contact_groups(hook: Hook, first: int) -> None:
    """Give each model of a hook its own contact group, so that the models do not touch each other.

    ``first`` is the number of contact groups that are already in use by other models.
    """
    # The number of groups is limited; further models share a group.
    models = [*hook.models, *hook.spare_models]
    grouped_shapes = tuple(
        replace(model, sdf=in_contact_group(model.sdf, (first + number) % CONTACT_GROUPS))
        for number, model in enumerate(models)
    )
    hook.models, hook.spare_models = (
        grouped_shapes[: len(hook.models)],
        grouped_shapes[len(hook.models) :],
    )


def _make_agents_hook(context: ActorContext) -> Optional[Hook]:
    source = world_source(context.spec)
    if source is None or not context.spec.worlds.has_agents:
        return None
    numbers = context.numbers
    hook: Hook = source.hook(context.file, numbers.world, numbers.repetition, context.robot.name)
    return hook


def tracker_of(
    context: ActorContext, actors: TrialActors, moving_models: Sequence[NamedModel] = ()
) -> Optional[ObjectTracker]:
    """Return the tracker of the actors and ``moving_models``, or None without ``tracking``."""
    spec = context.spec
    if spec.tracking is None:
        return None
    numbers = context.numbers
    scene = TrackedScene(
        models=(*actors.all_models, *moving_models),
        actors=actors.actors,
        obstacles=context.obstacle_outlines(),
        seed=numbers.seed,
        world=numbers.world,
        repetition=numbers.repetition,
    )
    return ObjectTracker(spec.tracking, context.robot.name, scene)


def _randomized_scene(context: ActorContext, models: Sequence[NamedModel]) -> RandomizedScene:
    described_world = DescribedWorld(context.scene)
    poses: Dict[str, Pose] = {name: model.pose for name, model in context.scene.models.items()}
    poses[context.robot.name] = context.start.to_pose()
    robot = context.robot if isinstance(context.robot, RobotModel) else None
    if robot is not None:
        described_world.add(robot.name, robot.sdf)
    elif pushed_links(context.spec, context.robot.name):
        sdf = links_sdf(context.robot.name, pushed_links(context.spec, context.robot.name))
        described_world.add(context.robot.name, sdf)
    for model in models:
        described_world.add(model.name, model.sdf)
        poses[model.name] = model.pose
    place_checks: Dict[str, PlaceCheck] = {}
    if any(moves(term, context.robot.name) for term in context.spec.randomize):
        place_checks[context.robot.name] = FreePlaces(context, models).contains
    return RandomizedScene(described_world.now, poses, robot, place_checks)


class FreePlaces:
    """The places in a world to which the first robot can be moved.

    From such a place, a path leads to all goals. The robot keeps its speed, so it must be able to
    stop before it touches anything.
    """

    def __init__(self, context: ActorContext, models: Sequence[NamedModel]) -> None:
        """``models`` are those of the actors. Raises ``PlacementError`` if the robot's circle has
        no path from the start to the goals."""
        spec = context.spec
        self._outline = _outlines(context)[context.robot.name]
        speed_mps, accel_mps2 = spec.robot.max_linear_mps, spec.robot.max_linear_accel_mps2
        self._stop_m = speed_mps * spec.control_period_s + speed_mps**2 / (2.0 * accel_mps2)
        self._can_reverse = spec.robot.can_reverse
        heights = obstructing_heights(spec.robot.height_m or context.robot.height_m)
        companions = [
            NamedModel(body.name, body.sdf, start.to_pose())
            for body, start in context.companions
            if isinstance(body, RobotModel)
        ]
        moving_models = [
            placed_model(model.sdf, model.name, model.pose) for model in (*models, *companions)
        ]
        self._obstacles = ObstacleField(context.scene, heights, moving_models)
        start, *via, goal = ((pose.x_m, pose.y_m) for pose in (context.start, *context.goals))
        radius_m = _circumscribed_radius_m(context.robot, spec.robot.footprint_m)
        mission = RequiredMission(start, goal, radius_m, heights, tuple(via))
        site = Site(walls_of(context.scene, heights), mission)
        self._region = site.free_region(site.blocked(margin_m=0.0))
        if self._region is None:
            raise PlacementError(
                f"no path {2 * radius_m:.2f} m wide leads from the start to the goal, so no "
                "place is free to which a term can move the robot; remove the term, or move the "
                "start or the goal"
            )

    def contains(self, place: Pose2D, states: Mapping[str, ModelState]) -> bool:
        """Return whether the robot can be moved to ``place`` while the models have ``states``."""
        if not shapely.intersects_xy(self._region, place.x_m, place.y_m):
            return False
        reach_m = (-self._stop_m if self._can_reverse else 0.0, self._stop_m)
        ends = [compose(place, Pose2D(x_m, 0.0)) for x_m in reach_m]
        corridor = shapely.union_all(footprints_at(self._outline, ends)).convex_hull
        return self._obstacles.nearest(corridor, states).distance_m > 0.0


def pushed_links(spec: CampaignSpec, robot: str) -> Tuple[str, ...]:
    """Return the scoped names of the robot's links to which terms and effects apply forces.

    Raises ``SpecError`` for an incomplete name and for an effect without a link.
    """
    # The stack spawns the robot: its links are unknown, so that names must be complete.
    links = []
    for term in spec.randomize:
        if not isinstance(term, PushTerm) or robot + "::" not in term.select.names:
            continue
        names = term.select.names
        if not (names.startswith(f"{robot}::") and _LINK_NAME.fullmatch(names)):
            raise SpecError(
                f"randomize {term.name!r}: select.names is {names!r}; the links of a robot that "
                "the stack spawns are unknown before the trial, so write the complete name of one "
                f"link, such as '{robot}::base_link'"
            )
        links.append(names)
    for effect in spec.effects:
        if isinstance(effect, PushEffect) and effect.target in ("robot", robot):
            if effect.link is None:
                with effect.locating("target", "target"):
                    raise SpecError(
                        f"effect {effect.name!r}: the links of a robot that the stack spawns are "
                        "unknown before the trial, so set 'link', for example to 'base_link'"
                    )
            links.append(f"{robot}::{effect.link}")
    return tuple(dict.fromkeys(links))


def links_sdf(robot: str, links: Sequence[str]) -> str:
    """Return an SDF model with only these links, whose scoped names are ``robot::link``."""
    elements = "".join(f'<link name="{name[len(robot) + 2 :]}"/>' for name in links)
    return f'<sdf version="1.6"><model name="{robot}">{elements}</model></sdf>'


def check_actors(spec: CampaignSpec) -> None:
    """Raise ``SpecError`` if an actor or hook is invalid, or if actors, terms, effects or hooks
    require a change of the world that the simulator does not support."""
    if isinstance(spec, BuiltinCampaignSpec):
        _require_several_robots_support(spec)
        simulator, subject = spec.simulator, f"the simulator {spec.simulator!r}"
    else:
        _require_stack_support(spec)
        simulator, subject = STACK, f"{STACK}, the simulator of a stack,"
    needed_changes: List[Tuple[str, ChangeKind]] = [
        (f"actor {a.name!r}", SetModel) for a in spec.actors
    ]
    if spec.worlds.has_agents:
        needed_changes.append((f"worlds.{spec.worlds.source_name}", SetModel))
    roads = [spec.road_of(world) for world in range(len(spec.worlds.files or ()) or 1)]
    distinct_roads = {id(road): road for road in roads}.values()
    for actor in spec.actors:
        actor.check()
        for road in distinct_roads:
            actor.check_road(road)
    for term in spec.randomize:
        needed_changes.extend((f"randomize {term.name!r}", kind) for kind in kinds_of([term]))
        if isinstance(term, PoseTerm):
            _require_possible_moves(spec, term)
    needed_changes.extend(
        (f"effect {effect.name!r}", change_kind_of(effect)) for effect in spec.effects
    )
    for hook in spec.hooks:
        kinds = sorted(check_hook(hook), key=lambda kind: kind.__name__)
        needed_changes.extend((f"hook {hook.name!r}", kind) for kind in kinds)
    supported_changes = SIMULATORS.get(simulator).changes if needed_changes else frozenset()
    for key, kind in needed_changes:
        if kind not in supported_changes:
            able_names = [
                name for name, candidate in _installed_simulators() if kind in candidate.changes
            ]
            remedy = "remove it"
            if able_names and isinstance(spec, BuiltinCampaignSpec):
                remedy = f"use {' or '.join(map(repr, able_names))}, or remove it"
            raise SpecError(f"{key}: {subject} cannot change the {kind.properties}; {remedy}")
    for actor in spec.actors:
        if not (actor.has_contact_forces or SIMULATORS.get(simulator).contacts_without_forces):
            raise SpecError(
                f"actor {actor.name!r}: {subject} exerts forces in contacts, which would push the "
                "actor off its track; use 'embedded' or 'gazebo', or remove the actor"
            )


def _require_possible_moves(spec: CampaignSpec, term: PoseTerm) -> None:
    for companion in spec.robots:
        if re.fullmatch(term.select.names, companion.name):
            raise SpecError(
                f"randomize {term.name!r}: select.names matches {companion.name!r}, and only the "
                "first robot can be moved to another place; use a pattern that does not match "
                f"{companion.name!r}"
            )
    if moves(term, spec.robot.name) and not isinstance(term.when, EverySpec):
        raise SpecError(
            f"randomize {term.name!r}: select.names matches {spec.robot.name!r}, which can be "
            "moved only during a trial; use 'when: {every_s: [5, 10]}', or specify starts with "
            "worlds.files"
        )


def require_unmoved_robot(spec: CampaignSpec) -> None:
    """Raise ``SpecError`` if a term moves the robot, which is not supported over ROS."""
    for term in spec.randomize:
        if moves(term, spec.robot.name):
            raise SpecError(
                f"randomize {term.name!r}: select.names matches {spec.robot.name!r}, and over ROS "
                "no term can move the robot to another place; run the campaign in-process "
                "(gz_testauto run), or use a pattern that matches obstacles only"
            )


def _require_stack_support(spec: CampaignSpec) -> None:
    if spec.robots:
        raise SpecError(
            f"campaign {spec.name}: robots: a campaign with the key 'stack' can have only one "
            "robot; remove 'robots', or use planners and a simulator of this package instead of "
            "'stack'"
        )
    if spec.localization is not None and not spec.localization.is_true:
        raise SpecError(
            f"campaign {spec.name}: localization: a campaign with the key 'stack' uses the "
            "odometry and the localizer of its launch files; remove 'localization', and start the "
            "node 'localization_relay' in these launch files (docs/your_robot.md)"
        )
    if spec.robot.model is None:
        pushed_links(spec, spec.robot.name)
    for term in spec.randomize:
        if isinstance(term, FaultTerm):
            raise SpecError(
                f"randomize {term.name!r}: {term.term} is not supported in a campaign with the key "
                "'stack', whose scans and commands do not pass through this package; remove the "
                "term"
            )


def _require_several_robots_support(spec: BuiltinCampaignSpec) -> None:
    if not spec.robots:
        return
    able_names = [name for name, simulator in _installed_simulators() if simulator.several_robots]
    if spec.simulator not in able_names:
        raise SpecError(
            f"campaign {spec.name}: robots: the simulator {spec.simulator!r} supports only one "
            f"robot; use {' or '.join(map(repr, able_names))}, or remove robots"
        )


def _installed_simulators() -> Iterator[Tuple[str, Type[Simulator]]]:
    for name in SIMULATORS.names():
        with contextlib.suppress(MissingDependencyError):
            yield name, SIMULATORS.get(name)
