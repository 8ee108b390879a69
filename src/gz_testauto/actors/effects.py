"""Temporary effects on the visuals of models, on lights and on gravity.

Before each step, all active effects of a part are applied to its original values, in the order in
which they started. Changes by other hooks modify the original values.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Callable, ClassVar, Dict, List, Optional, Tuple

import numpy as np
from typing_extensions import override

from gz_testauto.actors.hook import StepContext
from gz_testauto.sdf.appearance import Appearance, Color, Light
from gz_testauto.simulators.changes import (
    Change,
    SetGravity,
    SetLight,
    SetVisual,
    Vector,
    set_fields,
)
from gz_testauto.simulators.description import Description

Observer = Callable[["RunningEffect"], None]


Part = Tuple[str, str]  # the type and the scoped name of a part of the world


class Effect:
    """The base class of effects. ``part`` is the type of the changed part, as in
    :attr:`~gz_testauto.simulators.changes.Change.part`: ``visual``, ``light`` or ``world``."""

    part: ClassVar[str] = "visual"

    def apply(self, look: Any, time_s: float, share: float) -> Any:
        """Return the values with the effect applied: an
        :class:`~gz_testauto.sdf.appearance.Appearance`, a
        :class:`~gz_testauto.sdf.appearance.Light`, or the vector of gravity (m/s²).

        ``time_s`` is the time since the start of the effect, and ``share`` the elapsed share of its
        duration, or 1 without a duration.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Invisible(Effect):
    @override
    def apply(self, look: Appearance, time_s: float, share: float) -> Appearance:
        return replace(look, visible=False)


@dataclass(frozen=True)
class Paint(Effect):
    color: Color = (1.0, 0.0, 0.0, 1.0)

    @override
    def apply(self, look: Appearance, time_s: float, share: float) -> Appearance:
        return replace(look, ambient=self.color, diffuse=self.color)


@dataclass(frozen=True)
class Blink(Effect):
    """An effect that changes the color during every second interval."""

    color: Color = (1.0, 0.0, 0.0, 1.0)
    interval_s: float = 0.5

    @override
    def apply(self, look: Appearance, time_s: float, share: float) -> Appearance:
        if _is_off(time_s, self.interval_s):
            return look
        return replace(look, ambient=self.color, diffuse=self.color)


@dataclass(frozen=True)
class Fade(Effect):
    """An effect that changes the transparency to ``to`` over the duration, or immediately without a
    duration."""

    to: float = 1.0

    @override
    def apply(self, look: Appearance, time_s: float, share: float) -> Appearance:
        transparency = look.transparency
        return replace(look, transparency=transparency + (self.to - transparency) * share)


class Flicker(Effect):
    """An effect that multiplies the brightness by a random factor from ``least_factor`` to 1, drawn
    for each interval."""

    def __init__(
        self, random: np.random.Generator, least_factor: float = 0.2, interval_s: float = 0.1
    ):
        self._random, self._least_factor, self._interval_s = random, least_factor, interval_s
        self._drawn_factors: List[float] = []

    @override
    def apply(self, look: Appearance, time_s: float, share: float) -> Appearance:
        number = math.floor(time_s / self._interval_s + 1e-9)
        while len(self._drawn_factors) <= number:
            self._drawn_factors.append(float(self._random.uniform(self._least_factor, 1.0)))
        factor = self._drawn_factors[number]
        return replace(
            look,
            ambient=_dim(look.ambient, factor),
            diffuse=_dim(look.diffuse, factor),
            emissive=_dim(look.emissive, factor),
        )


@dataclass(frozen=True)
class Dim(Effect):
    """An effect that multiplies the colors of a light, always or during every second interval."""

    part = "light"
    factor: float = 0.0
    interval_s: Optional[float] = None

    @override
    def apply(self, look: Light, time_s: float, share: float) -> Light:
        if self.interval_s is not None and _is_off(time_s, self.interval_s):
            return look
        diffuse, specular = _dim(look.diffuse, self.factor), _dim(look.specular, self.factor)
        return replace(look, diffuse=diffuse, specular=specular)


@dataclass(frozen=True)
class Pull(Effect):
    part = "world"
    mps2: float

    @override
    def apply(self, look: Vector, time_s: float, share: float) -> Vector:
        return (look[0], look[1], -self.mps2)


def _is_off(time_s: float, interval_s: float) -> bool:
    return bool(math.floor(time_s / interval_s + 1e-9) % 2)


def _dim(color: Color, factor: float) -> Color:
    red, green, blue, alpha = color
    return (red * factor, green * factor, blue * factor, alpha)


@dataclass(eq=False)
class RunningEffect:
    """An effect that was started on the model or light ``target``. If ``duration_s`` is None, it
    lasts until :meth:`stop` is called."""

    effect: Effect
    target: str
    duration_s: Optional[float]
    on_end: Optional[Observer] = None
    started_s: Optional[float] = None
    stopped: bool = False

    def stop(self) -> None:
        """Stop the effect in the next step."""
        self.stopped = True

    def acts_on(self, part: str, name: str) -> bool:
        if part != self.effect.part:
            return False
        if part == "visual":
            return name.split("::")[0] == self.target
        return part == "world" or name == self.target


class Effects:
    """The effects of a simulation, which calls :meth:`before_step` after all hooks."""

    name = "effects"

    def __init__(self) -> None:
        self._running_effects: List[RunningEffect] = []
        self._originals: Dict[Part, Any] = {}
        self._shown: Dict[Part, Any] = {}

    def start(
        self,
        effect: Effect,
        target: str,
        duration_s: Optional[float] = None,
        on_end: Optional[Observer] = None,
    ) -> RunningEffect:
        """Start an effect in the next step."""
        running_effect = RunningEffect(effect, target, duration_s, on_end)
        self._running_effects.append(running_effect)
        return running_effect

    def before_step(self, context: StepContext) -> None:
        if not self._running_effects and not self._originals:
            return
        ended_effects = self._start_and_end(context.time_s)
        self._forget_deleted(context)
        self._store_originals(context)
        for part, look in list(self._originals.items()):
            acting = [running for running in self._running_effects if running.acts_on(*part)]
            for running_effect in acting:
                assert running_effect.started_s is not None, "_start_and_end has set it"
                passed_s = context.time_s - running_effect.started_s
                share = (
                    1.0
                    if running_effect.duration_s is None
                    else min(1.0, passed_s / running_effect.duration_s)
                )
                look = running_effect.effect.apply(look, passed_s, share)
            if look != self._shown.get(part):
                context.change(_create_change(*part, look))
                self._shown[part] = look
            if not acting:
                del self._originals[part], self._shown[part]
        for running_effect in ended_effects:
            if running_effect.on_end is not None:
                running_effect.on_end(running_effect)

    def _start_and_end(self, time_s: float) -> List[RunningEffect]:
        ended_effects = []
        for running_effect in self._running_effects:
            if running_effect.started_s is None:
                running_effect.started_s = time_s
            has_ended = (
                running_effect.duration_s is not None
                and time_s >= running_effect.started_s + running_effect.duration_s - 1e-9
            )
            if running_effect.stopped or has_ended:
                ended_effects.append(running_effect)
        self._running_effects = [
            running for running in self._running_effects if running not in ended_effects
        ]
        return ended_effects

    def _forget_deleted(self, context: StepContext) -> None:
        for part in list(self._originals):
            kind, name = part
            if kind == "visual" and context.state(name.split("::")[0]) is None:
                del self._originals[part]
                self._shown.pop(part, None)

    def _store_originals(self, context: StepContext) -> None:
        """Store the original values of parts with effects, and their changes by other hooks."""
        new_effects = [
            running
            for running in self._running_effects
            if not self._has_originals(running, context)
        ]
        if new_effects:
            for part, look in _original_values(context.describe()).items():
                if part not in self._originals and any(
                    running.acts_on(*part) for running in new_effects
                ):
                    self._originals[part] = self._shown[part] = look
        for change in context.changes:
            part = (change.part, change.name)
            if isinstance(change, (SetVisual, SetLight, SetGravity)) and part in self._originals:
                if isinstance(change, SetGravity):
                    self._originals[part] = change.mps2
                else:
                    self._originals[part] = replace(self._originals[part], **set_fields(change))
                self._shown.pop(part, None)

    def _has_originals(self, running_effect: RunningEffect, context: StepContext) -> bool:
        if running_effect.effect.part == "visual" and context.state(running_effect.target) is None:
            return True
        return any(running_effect.acts_on(*part) for part in self._originals)


def _original_values(description: Description) -> Dict[Part, Any]:
    return {
        **{("visual", name): look for name, look in description.visuals.items()},
        **{("light", name): look for name, look in description.lights.items()},
        ("world", SetGravity.name): description.gravity_mps2,
    }


def _create_change(part: str, name: str, look: Any) -> Change:
    if part == "visual":
        return SetVisual(name, **vars(look))
    if part == "light":
        return SetLight(name, diffuse=look.diffuse, specular=look.specular)
    return SetGravity(mps2=look)
