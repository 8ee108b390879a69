"""Effects on the visuals of models: blink, fade, invisible, flicker.

The original visual of a model is stored when its first effect starts. Before each step, all active
effects of the model are applied to the original visual in the order in which they started. Changes
by other hooks modify the original visual. It is restored when the last effect ends. Effects are
available only in Python, and not in the YAML file of a campaign.
"""

import math
from dataclasses import dataclass, replace
from typing import Callable, Dict, List, Optional

import numpy as np
from typing_extensions import override

from gz_testauto.actors.hook import LOW, Hook, StepContext
from gz_testauto.sdf.appearance import Appearance, Color
from gz_testauto.simulators.changes import SetVisual, set_fields

Observer = Callable[["RunningEffect"], None]


class Effect:
    """The base class of effects on a visual."""

    def apply(self, look: Appearance, time_s: float, share: float) -> Appearance:
        """Return the visual with the effect applied, ``time_s`` after the start of the effect.

        ``share`` is the elapsed share of the duration of the effect, from 0 to 1. It is 1 for an
        effect without a duration.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Invisible(Effect):
    """An effect that hides the model."""

    @override
    def apply(self, look: Appearance, time_s: float, share: float) -> Appearance:
        return replace(look, visible=False)


@dataclass(frozen=True)
class Blink(Effect):
    """An effect that shows the model in another color during every second interval."""

    color: Color = (1.0, 0.0, 0.0, 1.0)
    interval_s: float = 0.5

    @override
    def apply(self, look: Appearance, time_s: float, share: float) -> Appearance:
        if math.floor(time_s / self.interval_s + 1e-9) % 2:
            return look
        return replace(look, ambient=self.color, diffuse=self.color)


@dataclass(frozen=True)
class Fade(Effect):
    """An effect that changes the transparency to the value ``to`` gradually, over the duration of
    the effect. Without a duration, the transparency changes immediately."""

    to: float = 1.0

    @override
    def apply(self, look: Appearance, time_s: float, share: float) -> Appearance:
        now = look.transparency
        return replace(look, transparency=now + (self.to - now) * share)


class Flicker(Effect):
    """An effect that multiplies the brightness of the model by a random factor between ``least``
    and 1, which is drawn for each interval."""

    def __init__(self, random: np.random.Generator, least: float = 0.2, interval_s: float = 0.1):
        self._random, self._least, self._interval_s = random, least, interval_s
        self._drawn: List[float] = []

    @override
    def apply(self, look: Appearance, time_s: float, share: float) -> Appearance:
        number = math.floor(time_s / self._interval_s + 1e-9)
        while len(self._drawn) <= number:
            self._drawn.append(float(self._random.uniform(self._least, 1.0)))
        factor = self._drawn[number]

        def dimmed(color: Color) -> Color:
            red, green, blue, alpha = color
            return (red * factor, green * factor, blue * factor, alpha)

        return replace(
            look,
            ambient=dimmed(look.ambient),
            diffuse=dimmed(look.diffuse),
            emissive=dimmed(look.emissive),
        )


@dataclass(eq=False)
class RunningEffect:
    """An effect that was started on a model. If ``duration_s`` is None, it lasts until :meth:`stop`
    is called. ``on_end`` is called when the effect has ended."""

    effect: Effect
    model: str
    duration_s: Optional[float]
    on_end: Optional[Observer] = None
    started_s: Optional[float] = None
    stopped: bool = False

    def stop(self) -> None:
        """Stop the effect in the next step."""
        self.stopped = True


class Effects(Hook):
    """A hook that starts, applies and ends all effects of a simulation."""

    name = "effects"
    priority = LOW

    def __init__(self) -> None:
        self._running: List[RunningEffect] = []
        self._originals: Dict[str, Appearance] = {}
        self._shown: Dict[str, Appearance] = {}

    def start(
        self,
        effect: Effect,
        model: str,
        duration_s: Optional[float] = None,
        on_end: Optional[Observer] = None,
    ) -> RunningEffect:
        """Start an effect on all visuals of a model in the next step, and return the running
        effect."""
        running = RunningEffect(effect, model, duration_s, on_end)
        self._running.append(running)
        return running

    @override
    def before_step(self, context: StepContext) -> None:
        if not self._running and not self._originals:
            return
        ended = self._start_and_end(context.time_s)
        self._store_originals(context)
        for visual, look in list(self._originals.items()):
            model = visual.split("::")[0]
            layers = [one for one in self._running if one.model == model]
            for one in layers:
                assert one.started_s is not None, "_start_and_end has set it"
                passed_s = context.time_s - one.started_s
                share = 1.0 if one.duration_s is None else min(1.0, passed_s / one.duration_s)
                look = one.effect.apply(look, passed_s, share)
            if look != self._shown.get(visual):
                context.change(SetVisual(visual, **vars(look)))
                self._shown[visual] = look
            if not layers:
                del self._originals[visual], self._shown[visual]
        for one in ended:
            if one.on_end is not None:
                one.on_end(one)

    def _start_and_end(self, time_s: float) -> List[RunningEffect]:
        """Start new effects. Return the effects that have ended, and remove them."""
        ended = []
        for one in self._running:
            if one.started_s is None:
                one.started_s = time_s
            over = one.duration_s is not None and time_s >= one.started_s + one.duration_s - 1e-9
            if one.stopped or over:
                ended.append(one)
        self._running = [one for one in self._running if one not in ended]
        return ended

    def _store_originals(self, context: StepContext) -> None:
        """Store the original visuals of models with effects. If other hooks change these visuals,
        the changes are stored, too."""
        models = {one.model for one in self._running}
        if any(not self._has(model) for model in models):
            for visual, look in context.describe().visuals.items():
                if visual.split("::")[0] in models and visual not in self._originals:
                    self._originals[visual] = self._shown[visual] = look
        for change in context.changes:
            if isinstance(change, SetVisual) and change.name in self._originals:
                self._originals[change.name] = replace(
                    self._originals[change.name], **set_fields(change)
                )
                self._shown.pop(change.name, None)

    def _has(self, model: str) -> bool:
        return any(visual.startswith(f"{model}::") for visual in self._originals)
