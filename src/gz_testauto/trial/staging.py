"""What moves and is drawn in one trial beside its obstacles: actors, and terms of randomisation.

Owns the joining of both to a simulation. It depends on the campaign, the world, its number and the
repetition alone, so whoever runs the trial, in this process or behind a node, makes the same of it,
for every planner.
"""

from dataclasses import dataclass, field, replace
from typing import Dict, FrozenSet, List, Sequence, Tuple

import numpy as np

from gz_testauto.behaviours.casting import Casting, Ground, cast, names_of
from gz_testauto.behaviours.stage import Stage
from gz_testauto.behaviours.surroundings import Surroundings
from gz_testauto.errors import MissingDependencyError, SpecError
from gz_testauto.pose import Pose
from gz_testauto.randomisation.terms import Drawn, Subject, draw_terms, kinds_of
from gz_testauto.sdf.floor import obstructing_heights
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.changes import Kind, SetModel
from gz_testauto.simulators.description import DescribedWorld
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.trial.clearance import ObstacleField


@dataclass(frozen=True, eq=False)
class Staging:
    """Who and what comes into a scene. ``numbers`` are what was drawn, by column of the results."""

    casting: Casting = field(default_factory=Casting)
    drawn: Drawn = field(default_factory=Drawn)

    @property
    def models(self) -> Tuple[NamedModel, ...]:
        """The actors, where they begin."""
        return self.casting.models

    @property
    def numbers(self) -> Dict[str, float]:
        """What stands in the trial's results."""
        return dict(self.drawn.numbers)

    def scene(self, scene: Scene) -> Scene:
        """The scene with the actors in it."""
        return replace(scene, models=(*scene.models, *self.models))

    def stage(self, simulation: Simulation) -> Simulation:
        """The loaded scene with what moves and changes in it; itself where nothing does."""
        trackers = [*self.casting.behaviours, *self.drawn.trackers]
        if not trackers and not self.drawn.filters:
            return simulation
        return Stage(simulation, trackers, self.drawn.filters)


def stage_trial(
    spec: BuiltinCampaignSpec, scene: Scene, read: WorldScene, world: int, repetition: int
) -> Staging:
    """What comes into the scene of a trial of world number ``world``; ``read`` is the scene's world
    file, read. Raises ``SpecError``,
    ``PlacementError`` where actors have no place to begin, and ``SdfError`` for their models."""
    if not spec.actors and not spec.randomise:
        return Staging()
    assert scene.robot is not None, "a campaign's scene has one"
    casting = Casting()
    if spec.actors:
        robot = spec.robot
        heights = obstructing_heights(robot.height_m or scene.robot.height_m)
        outline = np.asarray(robot.footprint_m or scene.robot.footprint_m)
        ground = Ground(
            Surroundings(ObstacleField(read, heights).outlines()),
            scene.robot.name,
            scene.start,
            float(np.hypot(*outline.T).max()),
        )
        casting = cast(spec.actors, spec.seed, world, repetition, ground)
    drawn = Drawn()
    if spec.randomise:
        subject = _subject(scene, read, casting.models)
        drawn = draw_terms(spec.randomise, spec.seed, world, repetition, subject)
    return Staging(casting, drawn)


def _subject(scene: Scene, read: WorldScene, models: Sequence[NamedModel]) -> Subject:
    described = DescribedWorld(read)
    poses: Dict[str, Pose] = {name: model.pose for name, model in read.models.items()}
    if scene.robot is not None:
        described.add(scene.robot.name, scene.robot.sdf)
        poses[scene.robot.name] = scene.start.to_pose()
    for model in models:
        described.add(model.name, model.sdf)
        poses[model.name] = model.pose
    return Subject(described.now, poses, scene.robot)


def actor_names(spec: CampaignSpec) -> Tuple[str, ...]:
    """What the actors of a campaign are called in every world."""
    return tuple(name for entry in spec.actors for name in names_of(entry))


def check_staging(spec: CampaignSpec) -> None:
    """Refuse, before anything starts, what the campaign's simulator cannot do. Raises ``SpecError``
    naming it."""
    if not isinstance(spec, BuiltinCampaignSpec):
        for key in ("actors", "randomise"):
            if getattr(spec, key):
                raise SpecError(
                    f"campaign {spec.name}: {key}: not on a stack of the user's own; run the "
                    "campaign with this package's planners and simulators, or leave it out"
                )
        return
    needed: List[Tuple[str, Kind]] = [(f"actor {a.name!r}", SetModel) for a in spec.actors]
    for term in spec.randomise:
        needed.extend((f"randomise {term.name!r}", kind) for kind in kinds_of([term]))
    taken = SIMULATORS.get(spec.simulator).changes if needed else frozenset()
    for who, kind in needed:
        if kind not in taken:
            able = [name for name in SIMULATORS.names() if kind in _changes(name)]
            raise SpecError(
                f"{who}: the simulator {spec.simulator!r} takes no {kind.__name__}; "
                + (
                    f"take {' or '.join(map(repr, able))}, or leave it out"
                    if able
                    else "leave it out"
                )
            )


def _changes(simulator: str) -> FrozenSet[Kind]:
    """What a simulator takes; nothing, where what it needs is not installed."""
    try:
        taken: FrozenSet[Kind] = SIMULATORS.get(simulator).changes
    except MissingDependencyError:
        return frozenset()
    return taken
