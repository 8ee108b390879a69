"""The actors, other hooks and filters of one trial.

Owns their creation and their connection to a simulation. They depend only on the campaign, the
world, its number and the repetition, so they are the same for all planners, and in this process and
behind a node.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import ActorPlacementArea, create_actors
from gz_testauto.actors.hook import Hook
from gz_testauto.actors.obstacle_outlines import ObstacleOutlines
from gz_testauto.actors.simulation import ActorSimulation, Filter
from gz_testauto.actors.tracker import ObjectTracker, TrackedScene
from gz_testauto.actors.world_actors import world_actors
from gz_testauto.base.errors import MissingDependencyError, SpecError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.randomization.terms import RandomizedScene, draw_terms, kinds_of
from gz_testauto.sdf.floor import obstructing_heights
from gz_testauto.sdf.robot import RobotBody, RobotModel
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.changes import ChangeKind, SetModel
from gz_testauto.simulators.description import DescribedWorld
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.spec.randomize import FaultTerm
from gz_testauto.trial.clearance import ObstacleField
from gz_testauto.trial.executor import TrialResult
from gz_testauto.worlds.source import world_source

STACK = "gazebo_ros"
"""The simulator of a user's stack."""


@dataclass(frozen=True, eq=False)
class TrialActors:
    """The hooks of a trial, actors among them, and the filters between the first robot and its
    planner. ``numbers`` are the drawn values, by column of the results."""

    hooks: Tuple[Hook, ...] = ()
    filters: Tuple[Filter, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def actors(self) -> Tuple[Actor, ...]:
        """Return the hooks that are actors."""
        return tuple(hook for hook in self.hooks if isinstance(hook, Actor))

    @property
    def models(self) -> Tuple[NamedModel, ...]:
        """Return the models at the start, at their start poses."""
        return tuple(model for hook in self.hooks for model in hook.models)

    @property
    def spare_models(self) -> Tuple[NamedModel, ...]:
        """Return the models that can be spawned during the trial."""
        return tuple(model for hook in self.hooks for model in hook.spare_models)

    @property
    def all_models(self) -> Tuple[NamedModel, ...]:
        """Return :attr:`models` and :attr:`spare_models`."""
        return (*self.models, *self.spare_models)

    @property
    def activities(self) -> Dict[str, str]:
        """Return the current activity of each moving model, in a few words."""
        return {name: text for hook in self.hooks for name, text in hook.activities.items()}

    def complete(self, result: TrialResult) -> TrialResult:
        """Return the result with the drawn values and the results of the hooks. Call it at the end
        of the trial, before :meth:`close`. Raises ``SceneError`` if a hook fails."""
        for hook in self.hooks:
            found = hook.results()
            result = result.with_numbers(found.numbers).with_series(found.series)
        return result.with_numbers(self.numbers)

    def scene(self, scene: Scene) -> Scene:
        """Return the scene with :attr:`models` in it."""
        return replace(scene, models=(*scene.models, *self.models))

    def simulation(self, simulation: Simulation, robot: Optional[str] = None) -> Simulation:
        """Return the loaded scene with hooks and filters; the same object if there are none.
        ``robot`` is the name of the first robot if ``simulation`` does not have its model."""
        if not self.hooks and not self.filters:
            return simulation
        return ActorSimulation(simulation, self.hooks, self.filters, robot)

    def close(self) -> None:
        """Close the hooks at the end of the trial. Idempotent."""
        for hook in self.hooks:
            hook.close()


class ActorContext(NamedTuple):
    """The robot and its start, and the parsed world file of a trial."""

    robot: RobotBody
    start: Pose2D
    file: Path
    scene: WorldScene


def prepare_actors(
    spec: CampaignSpec, site: ActorContext, world: int, repetition: int
) -> TrialActors:
    """Return the actors, hooks and filters of a trial in world number ``world``.

    Raises ``SpecError``, ``PlacementError`` if no start of an actor is free, and ``SdfError`` for
    the model of an actor.
    """
    own = world_actors(site.scene)
    if not (spec.changes_worlds or own):
        return TrialActors()
    hooks: List[Hook] = []
    agents = _agents(spec, site, world, repetition)
    if spec.actors or own:
        robot = spec.robot
        heights = obstructing_heights(robot.height_m or site.robot.height_m)
        outline = np.asarray(robot.footprint_m or site.robot.footprint_m)
        ground = ActorPlacementArea(
            ObstacleOutlines(ObstacleField(site.scene, heights).outlines()),
            site.start,
            float(np.hypot(*outline.T).max()),
        )
        hooks.extend(create_actors((*spec.actors, *own), spec.seed, world, repetition, ground))
    if agents is not None:
        hooks.append(agents)
    if not spec.randomize:
        return TrialActors(tuple(hooks))
    scene = _randomized_scene(site, TrialActors(tuple(hooks)).models)
    drawn = draw_terms(spec.randomize, spec.seed, world, repetition, scene)
    return TrialActors((*hooks, *drawn.hooks), tuple(drawn.filters), drawn.numbers)


def _agents(spec: CampaignSpec, site: ActorContext, world: int, repetition: int) -> Optional[Hook]:
    """Return the hook of the world source that moves its agents; None without agents."""
    source = world_source(spec)
    if source is None or not spec.worlds.has_agents:
        return None
    hook: Hook = source.hook(site.file, world, repetition, site.robot.name)
    return hook


def tracker_of(
    spec: CampaignSpec,
    site: ActorContext,
    actors: TrialActors,
    world: int,
    repetition: int,
    others: Sequence[NamedModel] = (),
) -> Optional[ObjectTracker]:
    """Return the tracker of moving objects, including ``others``, for the robot; None if the
    campaign has no tracking."""
    if spec.tracking is None:
        return None
    heights = obstructing_heights(spec.robot.height_m or site.robot.height_m)
    scene = TrackedScene(
        models=(*actors.all_models, *others),
        actors=actors.actors,
        obstacles=ObstacleOutlines(ObstacleField(site.scene, heights).outlines()),
        seed=spec.seed,
        world=world,
        repetition=repetition,
    )
    return ObjectTracker(spec.tracking, site.robot.name, scene)


def _randomized_scene(site: ActorContext, models: Sequence[NamedModel]) -> RandomizedScene:
    described = DescribedWorld(site.scene)
    poses: Dict[str, Pose] = {name: model.pose for name, model in site.scene.models.items()}
    poses[site.robot.name] = site.start.to_pose()
    robot = site.robot if isinstance(site.robot, RobotModel) else None
    if robot is not None:
        described.add(robot.name, robot.sdf)
    for model in models:
        described.add(model.name, model.sdf)
        poses[model.name] = model.pose
    return RandomizedScene(described.now, poses, robot)


def check_actors(spec: CampaignSpec) -> None:
    """Raise ``SpecError`` for an actor or term that the campaign's simulator does not support."""
    on_stack = not isinstance(spec, BuiltinCampaignSpec)
    if isinstance(spec, BuiltinCampaignSpec):
        _check_robots(spec)
        simulator, named = spec.simulator, f"the simulator {spec.simulator!r}"
    else:
        _check_on_stack(spec)
        simulator, named = STACK, f"{STACK}, with which a stack simulates,"
    needed: List[Tuple[str, ChangeKind]] = [(f"actor {a.name!r}", SetModel) for a in spec.actors]
    if spec.worlds.has_agents:
        needed.append((f"worlds.{spec.worlds.source_name}", SetModel))
    for actor in spec.actors:
        actor.check()
    for term in spec.randomize:
        needed.extend((f"randomize {term.name!r}", kind) for kind in kinds_of([term]))
    taken = SIMULATORS.get(simulator).changes if needed else frozenset()
    for who, kind in needed:
        if kind not in taken:
            able = [name for name in SIMULATORS.names() if kind in _changes(name)]
            raise SpecError(
                f"{who}: {named} does not support {kind.__name__}; "
                + (
                    f"use {' or '.join(map(repr, able))}, or remove it"
                    if able and not on_stack
                    else "remove it"
                )
            )


def _check_on_stack(spec: CampaignSpec) -> None:
    """Raise ``SpecError`` for features that need scans and commands to pass through this
    package."""
    if spec.robots:
        raise SpecError(
            f"campaign {spec.name}: robots: a campaign on a stack has one robot; run it "
            "with this package's planners and simulators, or remove robots"
        )
    for term in spec.randomize:
        if isinstance(term, FaultTerm):
            raise SpecError(
                f"randomize {term.name!r}: {term.term} is not supported on a stack, "
                "whose scans and commands do not pass through this package; remove it"
            )


def _check_robots(spec: BuiltinCampaignSpec) -> None:
    if spec.robots and not _allows_several(spec.simulator):
        able = [name for name in SIMULATORS.names() if _allows_several(name)]
        raise SpecError(
            f"campaign {spec.name}: robots: the simulator {spec.simulator!r} has one robot in a "
            f"scene; use {' or '.join(map(repr, able))}, or remove robots"
        )


def _allows_several(simulator: str) -> bool:
    """Return whether a simulator supports several robots; False if it is not installed."""
    try:
        return bool(SIMULATORS.get(simulator).several_robots)
    except MissingDependencyError:
        return False


def _changes(simulator: str) -> FrozenSet[ChangeKind]:
    """Return the changes that a simulator supports; none if it is not installed."""
    try:
        taken: FrozenSet[ChangeKind] = SIMULATORS.get(simulator).changes
    except MissingDependencyError:
        return frozenset()
    return taken
