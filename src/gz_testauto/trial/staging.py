"""What moves and is drawn in one trial beside its obstacles: actors, a scenario's agents, and terms
of randomisation.

Owns the joining of these to a simulation. It depends on the campaign, the world, its number and the
repetition alone, so whoever runs the trial, in this process or behind a node, makes the same of it,
for every planner.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.errors import MissingDependencyError, SpecError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.behaviours import HOOKS
from gz_testauto.behaviours.casting import Casting, Ground, cast
from gz_testauto.behaviours.stage import Stage
from gz_testauto.behaviours.surroundings import Surroundings
from gz_testauto.behaviours.world_actors import world_actors
from gz_testauto.randomisation.terms import Drawn, Subject, draw_terms, kinds_of
from gz_testauto.sdf.floor import obstructing_heights
from gz_testauto.sdf.robot import RobotBody, RobotModel
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.changes import Kind, SetModel
from gz_testauto.simulators.description import DescribedWorld
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.spec.randomise import FaultTerm
from gz_testauto.tracking.tracker import ObjectTracker, TrackedScene
from gz_testauto.trial.clearance import ObstacleField
from gz_testauto.trial.executor import TrialResult

SCENARIO = "scenario"
"""The name in :data:`~gz_testauto.behaviours.HOOKS` of the hook that runs a scenario's agents."""

STACK = "gazebo_ros"
"""What a stack of the user's own simulates with."""


@dataclass(frozen=True, eq=False)
class Staging:
    """Who and what comes into a scene. ``numbers`` are what was drawn, by column of the results;
    ``director`` is that of a scenario that acts
    (:class:`gz_testauto.extras.scenic.dynamic.scenario.Director`), None where there is none."""

    casting: Casting = field(default_factory=Casting)
    drawn: Drawn = field(default_factory=Drawn)
    director: Optional[Any] = None

    @property
    def models(self) -> Tuple[NamedModel, ...]:
        """The actors, where they begin, and the scenario's agents."""
        agents = () if self.director is None else self.director.models
        return (*self.casting.models, *agents)

    @property
    def everyone(self) -> Tuple[NamedModel, ...]:
        """These and those that may come later."""
        return (*self.models, *self.casting.reserve)

    @property
    def doing(self) -> Dict[str, str]:
        """What who moves does now, in a few words, by name."""
        acting = {found.name: found.doing for found in self.casting.behaviours}
        return acting if self.director is None else {**acting, **self.director.doing}

    @property
    def numbers(self) -> Dict[str, float]:
        """What was drawn for the trial."""
        return dict(self.drawn.numbers)

    def complete(self, result: TrialResult) -> TrialResult:
        """Return the result with what was drawn, and with what the scenario recorded; call it at
        the end of the trial, before :meth:`close`. Raises ``SceneError`` where the scenario
        fails."""
        if self.director is not None:
            recorded = self.director.recorded()
            result = result.with_numbers(recorded.numbers).with_series(recorded.series)
        return result.with_numbers(self.numbers)

    def scene(self, scene: Scene) -> Scene:
        """The scene with the actors in it."""
        return replace(scene, models=(*scene.models, *self.models))

    def stage(self, simulation: Simulation) -> Simulation:
        """The loaded scene with what moves and changes in it; itself where nothing does."""
        trackers = [*self.casting.behaviours, *self.drawn.trackers]
        if self.director is not None:
            trackers.append(self.director)
        if not trackers and not self.drawn.filters:
            return simulation
        return Stage(simulation, trackers, self.drawn.filters, self.casting.reserve)

    def close(self) -> None:
        """End what acts; the trial is over. Idempotent."""
        if self.director is not None:
            self.director.close()


class Site(NamedTuple):
    """Where a trial is: the robot and its start, and the world's file, read."""

    robot: RobotBody
    start: Pose2D
    file: Path
    scene: WorldScene


def stage_trial(spec: CampaignSpec, site: Site, world: int, repetition: int) -> Staging:
    """What comes into the scene of a trial of world number ``world``. Raises ``SpecError``,
    ``PlacementError`` where actors have no place to begin, and ``SdfError`` for their models."""
    own = world_actors(site.scene)
    if not (spec.is_staged or own):
        return Staging()
    director = None
    if spec.worlds.dynamic:
        try:
            perform = HOOKS.get(SCENARIO)
        except MissingDependencyError as error:
            raise MissingDependencyError(
                f"worlds.dynamic needs Scenic 3 ({error}): "
                "python3 -m pip install 'gz_testauto[scenic]'"
            ) from error
        director = perform(spec.worlds, spec.seed, site.file, world, repetition, site.robot.name)
    casting = Casting()
    if spec.actors or own:
        robot = spec.robot
        heights = obstructing_heights(robot.height_m or site.robot.height_m)
        outline = np.asarray(robot.footprint_m or site.robot.footprint_m)
        ground = Ground(
            Surroundings(ObstacleField(site.scene, heights).outlines()),
            site.robot.name,
            site.start,
            float(np.hypot(*outline.T).max()),
        )
        casting = cast((*spec.actors, *own), spec.seed, world, repetition, ground)
    drawn = Drawn()
    if spec.randomise:
        subject = _subject(site, Staging(casting, drawn, director).models)
        drawn = draw_terms(spec.randomise, spec.seed, world, repetition, subject)
    return Staging(casting, drawn, director)


def tracker_of(
    spec: CampaignSpec,
    site: Site,
    staging: Staging,
    world: int,
    repetition: int,
    others: Sequence[NamedModel] = (),
) -> Optional[ObjectTracker]:
    """Who tells the robot what moves around it in a trial, ``others`` too; nobody where the
    campaign has no tracking."""
    if spec.tracking is None:
        return None
    heights = obstructing_heights(spec.robot.height_m or site.robot.height_m)
    subject = TrackedScene(
        models=(*staging.everyone, *others),
        behaviours=staging.casting.behaviours,
        standing=Surroundings(ObstacleField(site.scene, heights).outlines()),
        seed=spec.seed,
        world=world,
        repetition=repetition,
    )
    return ObjectTracker(spec.tracking, site.robot.name, subject)


def _subject(site: Site, models: Sequence[NamedModel]) -> Subject:
    described = DescribedWorld(site.scene)
    poses: Dict[str, Pose] = {name: model.pose for name, model in site.scene.models.items()}
    poses[site.robot.name] = site.start.to_pose()
    robot = site.robot if isinstance(site.robot, RobotModel) else None
    if robot is not None:
        described.add(robot.name, robot.sdf)
    for model in models:
        described.add(model.name, model.sdf)
        poses[model.name] = model.pose
    return Subject(described.now, poses, robot)


def check_staging(spec: CampaignSpec) -> None:
    """Refuse, before anything starts, what the campaign's simulator cannot do. Raises ``SpecError``
    naming it."""
    on_stack = not isinstance(spec, BuiltinCampaignSpec)
    if isinstance(spec, BuiltinCampaignSpec):
        _check_robots(spec)
        simulator, named = spec.simulator, f"the simulator {spec.simulator!r}"
    else:
        _check_on_stack(spec)
        simulator, named = STACK, f"{STACK}, with which a stack simulates,"
    needed: List[Tuple[str, Kind]] = [(f"actor {a.name!r}", SetModel) for a in spec.actors]
    if spec.worlds.dynamic:
        needed.append(("worlds.dynamic", SetModel))
    for term in spec.randomise:
        needed.extend((f"randomise {term.name!r}", kind) for kind in kinds_of([term]))
    taken = SIMULATORS.get(simulator).changes if needed else frozenset()
    for who, kind in needed:
        if kind not in taken:
            able = [name for name in SIMULATORS.names() if kind in _changes(name)]
            raise SpecError(
                f"{who}: {named} takes no {kind.__name__}; "
                + (
                    f"take {' or '.join(map(repr, able))}, or leave it out"
                    if able and not on_stack
                    else "leave it out"
                )
            )


def _check_on_stack(spec: CampaignSpec) -> None:
    """Refuse what a stack's scans and commands would have to pass through here for."""
    if spec.robots:
        raise SpecError(
            f"campaign {spec.name}: robots: a stack of the user's own has one robot that is "
            "followed; run the campaign with this package's planners and simulators, or leave it "
            "out"
        )
    for term in spec.randomise:
        if isinstance(term, FaultTerm):
            raise SpecError(
                f"randomise {term.name!r}: {term.term} is not done on a stack of the user's own, "
                "whose scans and commands do not pass through here; leave it out"
            )


def _check_robots(spec: BuiltinCampaignSpec) -> None:
    if spec.robots and not _allows_several(spec.simulator):
        able = [name for name in SIMULATORS.names() if _allows_several(name)]
        raise SpecError(
            f"campaign {spec.name}: robots: the simulator {spec.simulator!r} has one robot in a "
            f"scene; take {' or '.join(map(repr, able))}, or leave it out"
        )


def _allows_several(simulator: str) -> bool:
    """Whether a simulator has several robots; not, where what it needs is not installed."""
    try:
        return bool(SIMULATORS.get(simulator).several_robots)
    except MissingDependencyError:
        return False


def _changes(simulator: str) -> FrozenSet[Kind]:
    """What a simulator takes; nothing, where what it needs is not installed."""
    try:
        taken: FrozenSet[Kind] = SIMULATORS.get(simulator).changes
    except MissingDependencyError:
        return frozenset()
    return taken
