"""The random values of a campaign's terms for one trial, and the hooks and filters that apply them.
Values for a whole trial are drawn before it starts, so that every process has the same values."""

import copy
import functools
import math
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple, Type

import numpy as np
from typing_extensions import override

from gz_testauto.actors.hook import HIGH, Hook, HookResults, StepContext
from gz_testauto.actors.simulation import Filter
from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.parameters import construct
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.registry import unknown_name
from gz_testauto.randomization import PREFIX, TERMS
from gz_testauto.randomization.faults import (
    ActuatorLag,
    ScanDelay,
    ScanDropout,
    ScanGenerator,
    ScanNoise,
    WheelSlip,
)
from gz_testauto.sampling.seeds import TERM, child_generator
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.changes import (
    Change,
    ChangeKind,
    Push,
    SetFriction,
    SetGravity,
    SetLight,
    SetMass,
    SetModel,
    SetVisual,
)
from gz_testauto.simulators.description import Description
from gz_testauto.spec.distributions import Distribution
from gz_testauto.spec.randomize import (
    ColorTerm,
    EverySpec,
    FaultTerm,
    FrictionTerm,
    GravityTerm,
    LightTerm,
    MassTerm,
    PluginTerm,
    PoseTerm,
    PushTerm,
    RandomizationTermSpec,
)
from gz_testauto.spec.worlds import RandomNumbers

LEAST_MASS_KG = 1e-3
PLACE_ATTEMPTS = 100  # draws of a free place for a robot
LOCALIZATION_ERROR = "localization_error"  # the term whose value scales all localization errors

# The property changes of a draw, and the drawn number for the results.
ChangesAndNumber = Tuple[Sequence[Change], float]


# Whether a robot can be moved to a place, with the present states of the models.
PlaceCheck = Callable[[Pose2D, Mapping[str, ModelState]], bool]


@dataclass(frozen=True, eq=False)
class RandomizedScene:
    """The input of randomization terms: a world, the poses of its models, and the robot.

    ``place_checks`` are those of the robots that terms move, by name.
    """

    description: Description
    models: Mapping[str, Pose]
    robot: Optional[RobotModel]
    place_checks: Mapping[str, PlaceCheck] = field(default_factory=dict)


@dataclass(eq=False)
class DrawnTerms:
    """The drawn values, hooks and filters for one trial. ``numbers`` maps result columns to drawn
    values."""

    numbers: Dict[str, float] = field(default_factory=dict)
    hooks: List[Hook] = field(default_factory=list)
    filters: List[Filter] = field(default_factory=list)


class Term:
    """The base class of randomization terms of other packages, which are registered as ``terms``.

    The campaign specifies the parameters of the constructor. ``kinds`` are the kinds of property
    change that the term requests.
    """

    kinds: FrozenSet[ChangeKind] = frozenset()

    def draw(
        self, spec: PluginTerm, scene: RandomizedScene, random: np.random.Generator
    ) -> ChangesAndNumber:
        """Draw a random value. Return the changes that apply it, and the value for the results."""
        raise NotImplementedError


def kinds_of(specs: Sequence[RandomizationTermSpec]) -> FrozenSet[ChangeKind]:
    """Return the kinds of property change of the terms. Raises ``UnknownNameError`` for an unknown
    plug-in."""
    kinds: List[ChangeKind] = []
    for spec in specs:
        if isinstance(spec, PluginTerm):
            kinds.extend(_construct_plugin(spec).kinds)
        elif not isinstance(spec, FaultTerm):
            kinds.append(_TERMS[type(spec)][0])
    return frozenset(kinds)


def draw_terms(
    specs: Sequence[RandomizationTermSpec],
    seed: int,
    world: int,
    repetition: int,
    scene: RandomizedScene,
) -> DrawnTerms:
    """Return the random values of all terms for one trial. Raises ``SpecError`` for an invalid
    value, or if a name pattern matches no element of the world."""
    terms = DrawnTerms()
    for spec in specs:
        random = _term_generator(spec, seed, world, repetition)
        if isinstance(spec, FaultTerm):
            path = (TERM, spec.name, world, repetition, 1)
            _add_fault(spec, random, functools.partial(_scan_generator, seed, path), scene, terms)
            continue
        drawing = _Drawing(spec, scene, random)
        if isinstance(spec.when, EverySpec):
            if not isinstance(spec, PluginTerm):
                # a draw from a copy reports an invalid term before the trial
                _Drawing(spec, scene, copy.deepcopy(random))()
            terms.hooks.append(Repeated(spec.name, drawing, spec.when.every_s))
            continue
        changes, number = drawing()
        terms.numbers[PREFIX + spec.name] = number
        terms.hooks.append(AtStart(spec.name, changes))
    return terms


def localization_scale(specs: Sequence[RandomizationTermSpec], numbers: RandomNumbers) -> float:
    """Return the factor of all localization errors in a trial: the product of the drawn factors of
    the terms ``localization_error``.
    """
    scale = 1.0
    for spec in specs:
        if isinstance(spec, FaultTerm) and spec.term == LOCALIZATION_ERROR:
            random = _term_generator(spec, numbers.seed, numbers.world, numbers.repetition)
            scale *= _draw_fault(spec, random)
    return scale


def _term_generator(
    spec: RandomizationTermSpec, seed: int, world: int, repetition: int
) -> np.random.Generator:
    draw_path = (world,) if spec.when == "world" else (world, repetition)
    return child_generator(seed, TERM, spec.name, *draw_path)


def _draw_fault(spec: FaultTerm, random: np.random.Generator) -> float:
    assert spec.set is not None, "the specification requires it"
    return float(spec.set.quantile(float(random.random())))


class AtStart(Hook):
    priority = HIGH

    def __init__(self, name: str, changes: Sequence[Change]) -> None:
        self.name = f"randomize.{name}"
        self._changes: Sequence[Change] = tuple(changes)

    @override
    def before_step(self, context: StepContext) -> None:
        context.change(*self._changes)
        self._changes = ()


class Repeated(Hook):
    priority = HIGH

    def __init__(self, name: str, drawing: "_Drawing", every_s: Distribution) -> None:
        self.name = f"randomize.{name}"
        self._column = PREFIX + name
        self._drawing, self._every_s = drawing, every_s
        self._drawn: List[Tuple[float, float]] = []  # time (s) and value
        self._due_s = self._interval_s()

    @override
    def before_step(self, context: StepContext) -> None:
        while context.time_s >= self._due_s - 1e-9:
            self._drawing.step_context = context
            changes, value = self._drawing()
            context.change(*changes)
            if changes:  # there can be no place for the robot
                self._drawn.append((context.time_s, value))
            self._due_s += self._interval_s()

    @override
    def results(self) -> HookResults:
        if not self._drawn:
            return HookResults()
        drawn = np.array(self._drawn)
        return HookResults({self._column: float(drawn[:, 1].mean())}, {self._column: drawn})

    def _interval_s(self) -> float:
        return max(1e-3, float(self._every_s.quantile(float(self._drawing.random.random()))))


class _Drawing:
    """A function that draws the changes of one term, relative to the initial world, so that a
    repeated scale does not accumulate."""

    def __init__(
        self, spec: RandomizationTermSpec, scene: RandomizedScene, random: np.random.Generator
    ) -> None:
        self.spec, self.scene, self.random = spec, scene, random
        self.step_context: Optional[StepContext] = None

    def __call__(self) -> ChangesAndNumber:
        spec = self.spec
        if isinstance(spec, PluginTerm):
            return _construct_plugin(spec).draw(spec, self.scene, self.random)
        try:
            return _TERMS[type(spec)][1](self)
        except ValueError as error:
            raise SpecError(f"randomize {spec.name!r}: {error}") from error

    def value(self, previous_value: float) -> float:
        """Return a drawn value (``set``), or ``previous_value`` plus (``add``) or times (``scale``)
        a drawn value."""
        spec = self.spec
        distribution = next(d for d in (spec.set, spec.add, spec.scale) if d is not None)
        drawn_value = float(distribution.quantile(float(self.random.random())))
        if spec.add is not None:
            return previous_value + drawn_value
        return previous_value * drawn_value if spec.scale is not None else drawn_value

    def values(self, previous_values: Sequence[float], is_shared: bool) -> List[float]:
        """Return the changed values of ``previous_values``. If ``is_shared``, one drawn value
        changes them all; otherwise, a value is drawn for each.
        """
        if not is_shared:
            return [self.value(previous_value) for previous_value in previous_values]
        state = self.random.bit_generator.state
        new_values = []
        for previous_value in previous_values:
            self.random.bit_generator.state = state
            new_values.append(self.value(previous_value))
        return new_values

    def selected(self, names: Sequence[str], kind: str) -> List[str]:
        """Return those of ``names`` that match the pattern of the term, or ``select.number`` random
        names of them. Raises ``SpecError``, with ``kind`` as their description, without a match.
        """
        select = self.spec.select  # type: ignore[attr-defined]
        matches = [name for name in names if re.fullmatch(select.names, name)]
        if not matches:
            raise SpecError(
                f"randomize {self.spec.name!r}: "
                + unknown_name(f"{kind} that matches", select.names, names)
            )
        if select.number is None:
            return matches
        if select.number > len(matches):
            raise SpecError(
                f"randomize {self.spec.name!r}: select.number is {select.number}, but only "
                f"{len(matches)} names match {select.names!r}; reduce 'select.number'"
            )
        indices = self.random.choice(len(matches), select.number, replace=False)
        return [matches[index] for index in sorted(indices.tolist())]


def _draw_frictions(drawing: _Drawing) -> ChangesAndNumber:
    shapes = drawing.scene.description.collisions
    names = drawing.selected(list(shapes), "collision")
    values = [
        max(0.0, v)
        for v in drawing.values([shapes[name].mu for name in names], drawing.spec.shared)
    ]
    return [SetFriction(name, mu) for name, mu in zip(names, values)], _mean_or_nan(values)


def _draw_masses(drawing: _Drawing) -> ChangesAndNumber:
    links = drawing.scene.description.links
    inertials = {name: link.inertial for name, link in links.items() if link.inertial is not None}
    names = drawing.selected(list(inertials), "link that can move")
    values = drawing.values([inertials[name].mass_kg for name in names], drawing.spec.shared)
    values = [max(LEAST_MASS_KG, value) for value in values]
    return [SetMass(name, mass) for name, mass in zip(names, values)], _mean_or_nan(values)


def _draw_gravity(drawing: _Drawing) -> ChangesAndNumber:
    x, y, z = drawing.scene.description.gravity_mps2
    value = drawing.value(-z)
    return [SetGravity(mps2=(x, y, -value))], value


def _draw_colors(drawing: _Drawing) -> ChangesAndNumber:
    visuals = drawing.scene.description.visuals
    changes: List[Change] = []
    values: List[float] = []
    for name in drawing.selected(list(visuals), "visual"):
        red, green, blue = (_clip_to_unit(drawing.value(v)) for v in visuals[name].diffuse[:3])
        color = (red, green, blue, visuals[name].diffuse[3])
        changes.append(SetVisual(name, ambient=color, diffuse=color))
        values.extend(color[:3])
    return changes, _mean_or_nan(values)


def _draw_lights(drawing: _Drawing) -> ChangesAndNumber:
    lights = drawing.scene.description.lights
    names = drawing.selected(list(lights), "light")
    changes, values = [], []
    for name in names:
        drawn_values = drawing.values(lights[name].diffuse[:3], is_shared=True)
        channels = [_clip_to_unit(value) for value in drawn_values]
        red, green, blue = channels
        changes.append(SetLight(name, diffuse=(red, green, blue, lights[name].diffuse[3])))
        values.extend(channels)
    return changes, _mean_or_nan(values)


def _draw_pushes(drawing: _Drawing) -> ChangesAndNumber:
    links = drawing.scene.description.links
    movable = [name for name, link in links.items() if not link.static]
    assert isinstance(drawing.spec, PushTerm)
    changes, values = [], []
    for name in drawing.selected(movable, "link that can move"):
        force = drawing.value(0.0)
        angle = float(drawing.random.uniform(-math.pi, math.pi))
        duration_s = drawing.spec.duration_s.quantile(float(drawing.random.random()))
        direction = (force * math.cos(angle), force * math.sin(angle), 0.0)
        changes.append(Push(name, direction, duration_s=float(duration_s)))
        values.append(force)
    return changes, _mean_or_nan(values)


def _draw_poses(drawing: _Drawing) -> ChangesAndNumber:
    assert isinstance(drawing.spec, PoseTerm)
    models = drawing.scene.models
    changes, values = [], []
    for name in drawing.selected(list(models), "model"):
        pose = models[name]
        if drawing.step_context is not None:
            state = drawing.step_context.state(name)
            pose = pose if state is None else state.pose
        is_free = drawing.scene.place_checks.get(name)
        move = _draw_move(drawing, pose) if is_free is None else _draw_place(drawing, pose, is_free)
        if move is not None:
            changes.append(SetModel(name, move[0]))
            values.append(move[1])
    return changes, _mean_or_nan(values)


def _draw_move(drawing: _Drawing, pose: Pose) -> Tuple[Pose, float]:
    """Return a random pose near ``pose``, and the distance (m) between both."""
    assert isinstance(drawing.spec, PoseTerm)
    shift = (drawing.value(0.0), drawing.value(0.0))
    turn = drawing.spec.yaw_rad.quantile(float(drawing.random.random()))
    yaw_pose = Pose.from_rpy(0.0, 0.0, 0.0, 0.0, 0.0, float(turn))
    x, y, z = pose.position
    quaternion = (yaw_pose * Pose((0.0, 0.0, 0.0), pose.quaternion)).quaternion
    return Pose((x + shift[0], y + shift[1], z), quaternion), math.hypot(*shift)


def _draw_place(drawing: _Drawing, pose: Pose, is_free: PlaceCheck) -> Optional[Tuple[Pose, float]]:
    """Return a free pose for a robot at ``pose``, with its distance (m), or None if all of
    :data:`PLACE_ATTEMPTS` draws are blocked."""
    context, term_random = drawing.step_context, drawing.random
    states = {} if context is None else context.snapshot.models
    # The attempts depend on the planner, but later draws of the term do not.
    drawing.random = child_generator(int(term_random.integers(2**63)), TERM, drawing.spec.name)
    try:
        moves = (_draw_move(drawing, pose) for _ in range(PLACE_ATTEMPTS))
        return next((move for move in moves if is_free(move[0].planar, states)), None)
    finally:
        drawing.random = term_random


_TERMS: Dict[
    Type[RandomizationTermSpec], Tuple[ChangeKind, Callable[[_Drawing], ChangesAndNumber]]
] = {
    FrictionTerm: (SetFriction, _draw_frictions),
    MassTerm: (SetMass, _draw_masses),
    GravityTerm: (SetGravity, _draw_gravity),
    ColorTerm: (SetVisual, _draw_colors),
    LightTerm: (SetLight, _draw_lights),
    PushTerm: (Push, _draw_pushes),
    PoseTerm: (SetModel, _draw_poses),
}


def _add_fault(
    spec: FaultTerm,
    random: np.random.Generator,
    scan_generator: ScanGenerator,
    scene: RandomizedScene,
    terms: DrawnTerms,
) -> None:
    value = _draw_fault(spec, random)
    if spec.term == LOCALIZATION_ERROR:  # the simulated localization applies it
        terms.numbers[PREFIX + spec.name] = value
        return
    fault: Filter
    if spec.term == "wheel_slip":
        drive = scene.robot.drive if scene.robot is not None else None
        if drive is None:
            raise SpecError(
                f"randomize {spec.name!r}: 'wheel_slip' needs a robot with a drive controller; "
                "remove the term, or use another robot"
            )
        right_value = value
        if not spec.shared:
            right_value = _draw_fault(spec, random)
        fault = WheelSlip(value, right_value, drive.wheel_separation_m)
        value = (value + right_value) / 2
    else:
        fault = _FAULTS[spec.term](value, scan_generator)
    terms.numbers[PREFIX + spec.name] = value
    terms.filters.append(fault)


_FAULTS: Dict[str, Callable[[float, ScanGenerator], Filter]] = {
    "scan_noise": lambda value, scan_generator: ScanNoise(value, 0.0, scan_generator),
    "scan_bias": lambda value, scan_generator: ScanNoise(0.0, value, scan_generator),
    "scan_dropout": ScanDropout,
    "scan_delay": lambda value, scan_generator: ScanDelay(value),
    "actuator_lag": lambda value, scan_generator: ActuatorLag(value),
}


def _scan_generator(seed: int, path: Tuple[Any, ...], stamp_s: float) -> np.random.Generator:
    return child_generator(seed, *path, round(stamp_s * 1e6))


def _construct_plugin(spec: PluginTerm) -> Term:
    with spec.locating("term", "parameters"):
        term = construct(TERMS, spec.term, spec.parameters)
        if not isinstance(term, Term):
            raise SpecError(
                f"randomize {spec.name!r}: the term {spec.term!r} must be a subclass of "
                "gz_testauto.randomization.terms.Term; correct the class or the name"
            )
        return term


def _clip_to_unit(value: float) -> float:
    return min(1.0, max(0.0, value))


def _mean_or_nan(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else math.nan
