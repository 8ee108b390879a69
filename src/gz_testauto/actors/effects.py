"""Effects on how models look: blinking, fading, vanishing, flickering.

Owns their layering. What a model looked like is taken down when its first effect begins; each
period all effects that act on it are laid over that, in the order in which they began; what others
change of it meanwhile is laid under them. Whichever ends last leaves what is underneath.
"""

import math
from dataclasses import dataclass, replace
from typing import Callable, Dict, List, Optional

import numpy as np

from gz_testauto.actors.hook import LOW, Hook, StepContext
from gz_testauto.sdf.appearance import Appearance, Color
from gz_testauto.simulators.changes import SetVisual, given

Observer = Callable[["Running"], None]


class Effect:
    """What an effect makes of a look, ``time_s`` after it began. ``share`` is how much of its time
    has passed, from 0 to 1, and 0 where it has no end."""

    def over(self, look: Appearance, time_s: float, share: float) -> Appearance:
        """The look with the effect on it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Invisible(Effect):
    """Not to be seen."""

    def over(self, look: Appearance, time_s: float, share: float) -> Appearance:
        """See :class:`Effect`."""
        return replace(look, visible=False)


@dataclass(frozen=True)
class Blink(Effect):
    """Another color in every second interval."""

    color: Color = (1.0, 0.0, 0.0, 1.0)
    interval_s: float = 0.5

    def over(self, look: Appearance, time_s: float, share: float) -> Appearance:
        """See :class:`Effect`."""
        if math.floor(time_s / self.interval_s + 1e-9) % 2:
            return look
        return replace(look, ambient=self.color, diffuse=self.color)


@dataclass(frozen=True)
class Fade(Effect):
    """Goes over to a transparency with its time; one without an end is there at once."""

    to: float = 1.0

    def over(self, look: Appearance, time_s: float, share: float) -> Appearance:
        """See :class:`Effect`."""
        now = look.transparency
        return replace(look, transparency=now + (self.to - now) * share)


class Flicker(Effect):
    """Brightness drawn anew in each interval, between a share and all of it."""

    def __init__(self, random: np.random.Generator, least: float = 0.2, interval_s: float = 0.1):
        self._random, self._least, self._interval_s = random, least, interval_s
        self._drawn: List[float] = []

    def over(self, look: Appearance, time_s: float, share: float) -> Appearance:
        """See :class:`Effect`."""
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
class Running:
    """An effect on a model, from when it was started; ``duration_s`` None is until it is
    stopped."""

    effect: Effect
    model: str
    duration_s: Optional[float]
    on_end: Optional[Observer] = None
    began_s: Optional[float] = None
    stopped: bool = False

    def stop(self) -> None:
        """End it with the next period."""
        self.stopped = True


class Effects(Hook):
    """All effects of a stage: add it as a tracker, and start effects on it."""

    name = "effects"
    priority = LOW

    def __init__(self) -> None:
        self._running: List[Running] = []
        self._underneath: Dict[str, Appearance] = {}
        self._shown: Dict[str, Appearance] = {}

    def start(
        self,
        effect: Effect,
        model: str,
        duration_s: Optional[float] = None,
        on_end: Optional[Observer] = None,
    ) -> Running:
        """Lay an effect over all visuals of a model, from the next period on."""
        running = Running(effect, model, duration_s, on_end)
        self._running.append(running)
        return running

    def before_step(self, context: StepContext) -> None:
        """See :class:`Hook`."""
        if not self._running and not self._underneath:
            return
        ended = self._end(context.time_s)
        self._take_down(context)
        for visual, look in list(self._underneath.items()):
            model = visual.split("::")[0]
            layers = [one for one in self._running if one.model == model]
            for one in layers:
                assert one.began_s is not None, "_end has set it"
                passed_s = context.time_s - one.began_s
                share = 1.0 if one.duration_s is None else min(1.0, passed_s / one.duration_s)
                look = one.effect.over(look, passed_s, share)
            if look != self._shown.get(visual):
                context.change(SetVisual(visual, **vars(look)))
                self._shown[visual] = look
            if not layers:
                del self._underneath[visual], self._shown[visual]
        for one in ended:
            if one.on_end is not None:
                one.on_end(one)

    def _end(self, time_s: float) -> List[Running]:
        """Begin what is new, and take out what is over."""
        ended = []
        for one in self._running:
            if one.began_s is None:
                one.began_s = time_s
            over = one.duration_s is not None and time_s >= one.began_s + one.duration_s - 1e-9
            if one.stopped or over:
                ended.append(one)
        self._running = [one for one in self._running if one not in ended]
        return ended

    def _take_down(self, context: StepContext) -> None:
        """Note what is under the effects: looks as they are, and what others change of them."""
        models = {one.model for one in self._running}
        if any(not self._has(model) for model in models):
            for visual, look in context.describe().visuals.items():
                if visual.split("::")[0] in models and visual not in self._underneath:
                    self._underneath[visual] = self._shown[visual] = look
        for change in context.changes:
            if isinstance(change, SetVisual) and change.name in self._underneath:
                self._underneath[change.name] = replace(
                    self._underneath[change.name], **given(change)
                )
                self._shown.pop(change.name, None)

    def _has(self, model: str) -> bool:
        return any(visual.startswith(f"{model}::") for visual in self._underneath)
