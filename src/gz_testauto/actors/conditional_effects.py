"""The effects of a campaign: hooks that start and stop effects depending on conditions.

A condition depends only on simulated time and on the poses of models.
"""

import math
from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, List, Mapping, Sequence, Tuple

import shapely
from typing_extensions import override

from gz_testauto.actors.effects import (
    Blink,
    Dim,
    Effect,
    Fade,
    Flicker,
    Invisible,
    Paint,
    Pull,
    RunningEffect,
)
from gz_testauto.actors.hook import Hook, HookResults, StepContext
from gz_testauto.base.errors import GzTestautoError, SpecError
from gz_testauto.base.parameters import check_parameters, construct
from gz_testauto.base.registry import unknown_name
from gz_testauto.sampling.seeds import EFFECT, HOOK, child_generator
from gz_testauto.sdf.appearance import Color
from gz_testauto.simulators.changes import ChangeKind, Push, SetGravity, SetLight, SetVisual
from gz_testauto.simulators.description import Description
from gz_testauto.spec import effects as spec_of
from gz_testauto.spec.regions import union_of

ROUNDING_S = 1e-9

PREFIX, SUFFIX = "effect_", "_s"  # of the result columns of effects

WORLD = "world"  # the target of an effect that does not change a model


@dataclass(frozen=True)
class EffectTargets:
    """The models and lights of a trial that effects can change."""

    description: Description
    models: FrozenSet[str]
    actors: FrozenSet[str]
    tags: Mapping[str, Sequence[str]]
    robot: str

    def models_of(self, selector: str) -> Sequence[str]:
        """Return the names of the models that ``selector`` selects: ``robot``, a tag of actors, or
        the name of a model. Raises ``SpecError`` for an unknown selector."""
        if selector == "robot":
            return (self.robot,)
        if selector in self.tags:
            return self.tags[selector]
        if selector not in self.models:
            known_names = sorted({"robot", *self.tags, *self.models})
            raise SpecError(unknown_name("model or tag", selector, known_names))
        return (selector,)


def change_kind_of(spec: spec_of.EffectSpec) -> ChangeKind:
    if isinstance(spec, spec_of.PushEffect):
        return Push
    if isinstance(spec, spec_of.LightEffect):
        return SetLight
    return SetGravity if isinstance(spec, spec_of.GravityEffect) else SetVisual


def create_effects(
    specs: Sequence[spec_of.EffectSpec],
    seed: int,
    world: int,
    repetition: int,
    targets: EffectTargets,
) -> List[Hook]:
    """Return the effects of a trial. Raises ``SpecError`` for an effect on a model, link or light
    that does not exist."""
    hooks: List[Hook] = []
    for spec in specs:
        with spec.locating("target", "target"):
            links = _check_target(spec, targets)
        with spec.locating("when.trigger", "when"):
            if spec.when.region is not None or spec.when.trigger_distance_m is not None:
                _models_of(spec, spec.when.trigger, targets)
        if isinstance(spec, spec_of.PushEffect):
            hooks.append(ConditionalPush(spec, links))
        else:
            hooks.append(ConditionalEffect(spec, seed, world, repetition))
    return hooks


def create_hooks(
    specs: Sequence[spec_of.HookSpec], seed: int, world: int, repetition: int
) -> List[Hook]:
    hooks = []
    for spec in specs:
        with spec.locating("hook", "parameters"):
            hook = construct(spec_of.HOOKS, spec.hook, spec.parameters, spec.name)
            if not isinstance(hook, Hook):
                raise SpecError(
                    f"hook {spec.name!r}: {spec.hook!r} must be a subclass of "
                    "gz_testauto.actors.hook.Hook; correct the class or the name"
                )
        hook.name = spec.name
        hook.start(child_generator(seed, HOOK, spec.name, world, repetition))
        hooks.append(hook)
    return hooks


def column_of(spec: spec_of.EffectSpec) -> str:
    return f"{PREFIX}{spec.name}{SUFFIX}"


def numbers_of(spec: spec_of.HookSpec) -> Sequence[str]:
    try:
        return tuple(getattr(spec_of.HOOKS.get(spec.hook), "numbers", ()))
    except GzTestautoError:
        return ()


def check_hook(spec: spec_of.HookSpec) -> FrozenSet[ChangeKind]:
    """Validate the parameters of a hook, and return the kinds of change that it requests."""
    with spec.locating("hook", "parameters"):
        check_parameters(spec_of.HOOKS, spec.hook, spec.parameters, arguments=1)
        return frozenset(getattr(spec_of.HOOKS.get(spec.hook), "kinds", ()))


class _Conditional(Hook):
    def __init__(self, spec: spec_of.EffectSpec) -> None:
        self.name = f"effects.{spec.name}"
        self.numbers = (column_of(spec),)
        self._spec, self._condition = spec, spec.when
        self._area = None if spec.when.region is None else union_of(spec.when.region)
        self._met_by_target: Dict[str, bool] = {}
        self._ends_s: Dict[str, float] = {}
        self._active_s = 0.0

    @override
    def before_step(self, context: StepContext) -> None:
        active = [name for name in self._targets(context) if self._is_active(name, context)]
        if active:
            self._active_s += context.duration_s
        self.act(active, context)

    def act(self, active: Sequence[str], context: StepContext) -> None:
        raise NotImplementedError

    @override
    def results(self) -> HookResults:
        return HookResults({column_of(self._spec): round(self._active_s, 9)})

    def _targets(self, context: StepContext) -> List[str]:
        if not isinstance(self._spec, spec_of.ModelEffectSpec):
            return [WORLD]
        names = [name for name in context.names_of(self._spec.target) if context.state(name)]
        # if a deleted model is spawned again, its effect starts anew
        for name in [name for name in self._met_by_target if name not in names]:
            del self._met_by_target[name]
            self._ends_s.pop(name, None)
        return names

    def _is_active(self, target: str, context: StepContext) -> bool:
        was_met, is_met = (
            self._met_by_target.get(target, False),
            self._is_condition_met(target, context),
        )
        self._met_by_target[target] = is_met
        if self._spec.duration_s is None:
            return is_met
        ends_s = self._ends_s.get(target, -math.inf)
        if is_met and not was_met and context.time_s > ends_s - ROUNDING_S:
            ends_s = self._ends_s[target] = context.time_s + self._spec.duration_s
        return context.time_s < ends_s - ROUNDING_S

    def _is_condition_met(self, target: str, context: StepContext) -> bool:
        condition, time_s = self._condition, context.time_s + ROUNDING_S
        if time_s < condition.after_s or (
            condition.until_s is not None and time_s >= condition.until_s
        ):
            return False
        if condition.trigger_distance_m is None and self._area is None:
            return True
        state_of_target = context.state(target)
        for name in context.names_of(condition.trigger):
            state = context.state(name)
            if state is None or (name == target and condition.trigger_distance_m is not None):
                continue
            x_m, y_m = state.pose.position[:2]
            if self._area is not None and not shapely.intersects_xy(self._area, x_m, y_m):
                continue
            if condition.trigger_distance_m is not None:
                assert state_of_target is not None, "targets exist"
                away_m = math.hypot(
                    x_m - state_of_target.pose.position[0], y_m - state_of_target.pose.position[1]
                )
                if away_m > condition.trigger_distance_m:
                    continue
            return True
        return False


class ConditionalEffect(_Conditional):
    def __init__(self, spec: spec_of.EffectSpec, seed: int, world: int, repetition: int) -> None:
        super().__init__(spec)
        self._random_path = (seed, EFFECT, spec.name, world, repetition)
        self._running_effects: Dict[str, RunningEffect] = {}

    @override
    def act(self, active: Sequence[str], context: StepContext) -> None:
        for target in [target for target in self._running_effects if target not in active]:
            self._running_effects.pop(target).stop()
        for target in active:
            if target not in self._running_effects:
                effect = _create_effect(self._spec, (*self._random_path, target))
                name = getattr(self._spec, "target", "") if target == WORLD else target
                running_effect = context.effects.start(effect, name, self._spec.duration_s)
                self._running_effects[target] = running_effect


class ConditionalPush(_Conditional):
    def __init__(self, spec: spec_of.PushEffect, links: Mapping[str, str]) -> None:
        super().__init__(spec)
        self._force_n, self._links = spec.force_n, links

    @override
    def act(self, active: Sequence[str], context: StepContext) -> None:
        for target in active:
            push = Push(self._links[target], self._force_n, duration_s=context.duration_s)
            context.change(push)


def _create_effect(spec: spec_of.EffectSpec, path: Tuple[Any, ...]) -> Effect:
    if isinstance(spec, spec_of.InvisibleEffect):
        return Invisible()
    if isinstance(spec, spec_of.PaintEffect):
        return Paint(_opaque(spec.color))
    if isinstance(spec, spec_of.BlinkEffect):
        return Blink(_opaque(spec.color), spec.interval_s)
    if isinstance(spec, spec_of.FadeEffect):
        return Fade(spec.to)
    if isinstance(spec, spec_of.FlickerEffect):
        return Flicker(child_generator(*path), spec.least, spec.interval_s)
    if isinstance(spec, spec_of.LightEffect):
        return Dim(spec.factor, spec.interval_s)
    assert isinstance(spec, spec_of.GravityEffect)
    return Pull(spec.mps2)


def _opaque(color: Sequence[float]) -> Color:
    red, green, blue = color
    return (red, green, blue, 1.0)


def _models_of(spec: spec_of.EffectSpec, selector: str, targets: EffectTargets) -> Sequence[str]:
    try:
        return targets.models_of(selector)
    except SpecError as error:
        raise SpecError(f"effect {spec.name!r}: {error}") from error


def _check_target(spec: spec_of.EffectSpec, targets: EffectTargets) -> Dict[str, str]:
    """Validate the target of an effect. Return the scoped name of the link to push by model, empty
    if the effect does not push."""
    description = targets.description
    if isinstance(spec, spec_of.LightEffect):
        if spec.target not in description.lights:
            raise SpecError(
                f"effect {spec.name!r}: {unknown_name('light', spec.target, description.lights)}"
            )
        return {}
    if not isinstance(spec, spec_of.ModelEffectSpec):
        return {}
    models = _models_of(spec, spec.target, targets)
    if isinstance(spec, spec_of.PushEffect):
        return {model: _link_to_push(spec, model, targets) for model in models}
    for model in models:
        if not any(name.startswith(f"{model}::") for name in description.visuals):
            raise SpecError(
                f"effect {spec.name!r}: the model {model!r} has no visual that the effect "
                f"{spec.effect!r} could change; add a <visual>, or use another target"
            )
    return {}


def _link_to_push(spec: spec_of.PushEffect, model: str, targets: EffectTargets) -> str:
    if model in targets.actors:
        raise SpecError(
            f"effect {spec.name!r}: {model!r} is an actor, whose velocity is set by its behavior, "
            "so a push has no lasting effect; use a robot or another model as target"
        )
    links = targets.description.links_of(model)
    name = f"{model}::{spec.link}" if spec.link is not None else next(iter(links), "")
    if name not in links:
        raise SpecError(f"effect {spec.name!r}: {unknown_name('link', name, links)}")
    if targets.description.links[name].static:
        raise SpecError(
            f"effect {spec.name!r}: the link {name!r} is static, so it cannot be pushed; use "
            "another target"
        )
    return name
