"""Effects of a campaign on models, lights and gravity, and hooks of other packages.

Each effect changes a property while a condition holds.
:mod:`gz_testauto.actors.conditional_effects` implements the effects.
"""

from typing import Any, Dict, Optional, Tuple, Union

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Annotated, Literal

from gz_testauto.base.registry import Registry
from gz_testauto.spec.model import (
    Bounded,
    LocatedSpec,
    NotNegative,
    Positive,
    Spec,
    as_tuple,
)
from gz_testauto.spec.regions import Regions
from gz_testauto.spec.stack import NAME

HOOKS = Registry("hook", {})
"""Subclasses of :class:`~gz_testauto.actors.hook.Hook`. The first argument of their constructor is
the name of the hook."""

Share = Annotated[float, Field(ge=0, le=1)]
RedGreenBlue = Annotated[Tuple[Share, Share, Share], BeforeValidator(as_tuple)]
"""Red, green and blue, each from 0 to 1."""
Force = Annotated[Tuple[Bounded, Bounded, Bounded], BeforeValidator(as_tuple)]


class WhenSpec(Spec):
    """The condition of an effect. All of its parts must hold."""

    after_s: NotNegative = 0.0
    """Simulated time (s) from which the condition can hold."""
    until_s: Optional[Positive] = None
    """Simulated time (s) from which the condition does not hold; default: the end of the trial."""
    trigger: str = "robot"
    """The model that ``trigger_distance_m`` and ``region`` refer to: ``robot``, the name of a
    model, or a tag of actors, of which one suffices."""
    trigger_distance_m: Optional[Positive] = None
    """Largest horizontal distance (m) between the origins of ``target`` and of a model of
    ``trigger``; default: any."""
    region: Optional[Regions] = None
    """Area (m, world frame) that must contain the origin of a model of ``trigger``."""

    @model_validator(mode="after")
    def _require_interval(self) -> "WhenSpec":
        if self.until_s is not None and self.until_s <= self.after_s:
            raise ValueError(
                f"until_s is {self.until_s:g}; it must be greater than after_s, {self.after_s:g}"
            )
        return self


class EffectSpec(LocatedSpec):
    """The keys of all effects. An effect starts and stops with a control period."""

    name: str = Field(pattern=NAME)
    """Name of the effect. Results contain its active time as ``effect_<name>_s``."""
    effect: str
    """The kind of the effect."""
    when: WhenSpec = WhenSpec()
    """The condition of the effect, evaluated for each model of ``target``."""
    duration_s: Optional[Positive] = None
    """Time (s) for which the effect is active after its condition starts to hold; default: while
    the condition holds."""

    @model_validator(mode="after")
    def _require_position(self) -> "EffectSpec":
        if not isinstance(self, ModelEffectSpec) and self.when.trigger_distance_m is not None:
            raise ValueError(
                f"when.trigger_distance_m is not supported by the effect {self.effect!r}, which "
                "has no position; use 'when.region'"
            )
        return self


class ModelEffectSpec(EffectSpec):
    """The keys of effects that change models."""

    target: str
    """The models that the effect changes: ``robot``, a tag of actors, the name of an entry with
    ``count`` in ``actors``, or the name of a model."""


class InvisibleEffect(ModelEffectSpec):
    """The visuals of the models are hidden. Lidars and contacts do not change."""

    effect: Literal["invisible"]


class PaintEffect(ModelEffectSpec):
    """The visuals of the models have another color."""

    effect: Literal["color"]
    color: RedGreenBlue
    """Red, green and blue (0 to 1)."""


class BlinkEffect(ModelEffectSpec):
    """The visuals of the models have another color in every second interval."""

    effect: Literal["blink"]
    color: RedGreenBlue = (1.0, 0.0, 0.0)
    """Red, green and blue (0 to 1)."""
    interval_s: Positive = 0.5
    """Length (s) of an interval."""


class FadeEffect(ModelEffectSpec):
    """The transparency of the models changes gradually during ``duration_s``."""

    effect: Literal["fade"]
    to: Share = 1.0
    """Transparency at the end of the effect, from 0 (opaque) to 1 (invisible)."""

    @model_validator(mode="after")
    def _require_duration(self) -> "FadeEffect":
        if self.duration_s is None:
            raise ValueError("an effect of kind 'fade' needs the key 'duration_s'")
        return self


class FlickerEffect(ModelEffectSpec):
    """The visuals of the models have a random brightness in each interval, which depends on seed,
    world and repetition."""

    effect: Literal["flicker"]
    least: Share = 0.2
    """Smallest factor of the brightness. The largest is 1."""
    interval_s: Positive = 0.1
    """Length (s) of an interval."""


class PushEffect(ModelEffectSpec):
    """A force acts on a link of each model. The target must not be an actor, whose behavior sets
    its velocity."""

    effect: Literal["push"]
    force_n: Force
    """Force (N) as ``[x, y, z]`` in the world frame, through the center of mass of the link."""
    link: Optional[str] = None
    """Name of the link; default: the first link of the model."""


class LightEffect(EffectSpec):
    """The color of a light is multiplied by ``factor``."""

    effect: Literal["light"]
    target: str
    """Name of the light."""
    factor: Share = 0.0
    """Factor of red, green and blue; 0 switches the light off."""
    interval_s: Optional[Positive] = None
    """Length (s) of an interval. If set, the effect acts in every second interval."""


class GravityEffect(EffectSpec):
    """The world has another gravity, which acts downwards."""

    effect: Literal["gravity"]
    mps2: NotNegative
    """Magnitude (m/s²) of gravity."""


Effect = Annotated[
    Union[
        InvisibleEffect,
        PaintEffect,
        BlinkEffect,
        FadeEffect,
        FlickerEffect,
        PushEffect,
        LightEffect,
        GravityEffect,
    ],
    Field(discriminator="effect"),
]
"""An entry of ``effects:``, of any kind."""


class HookSpec(LocatedSpec):
    """A hook of another package, which is called before each control period."""

    name: str = Field(pattern=NAME)
    """Name of the hook in messages."""
    hook: str
    """The registered name of the hook."""
    parameters: Dict[str, Any] = Field(default_factory=dict)
    """Parameters of the hook's constructor."""
