"""Random properties of a campaign's worlds, sensors and drive controllers.

Each term has a separate generator, so a further term changes none of the others. Draws per world
or trial are the same for all planners. :mod:`gz_testauto.randomization` implements the terms.
"""

import re
from typing import Any, Dict, Optional, Tuple, Union

from pydantic import Discriminator, Field, Tag, model_validator
from typing_extensions import Annotated, Literal, get_args

from gz_testauto.spec.distributions import Distribution, Fixed, PositiveDistribution
from gz_testauto.spec.model import LARGEST, Expression, LocatedSpec, Spec
from gz_testauto.spec.stack import NAME


class EverySpec(Spec):
    """The times of a repeated draw: simulated time is divided into random intervals."""

    every_s: PositiveDistribution
    """Length (s of simulated time) of an interval between two draws."""


class SelectSpec(Spec):
    """The elements of the world, such as links or collisions, that a term changes."""

    names: Expression
    """A regular expression that matches the elements' full scoped names
    (``model::link::collision``)."""
    number: Optional[int] = Field(None, ge=1)
    """Number of matching elements that are selected at random; default: all."""


class RandomizationTermSpec(Spec):
    """The keys that each term of the randomization has. A term must set exactly one of ``set``,
    ``add`` and ``scale``."""

    name: str = Field(pattern=NAME)
    """Name of the term. Results contain the drawn value as ``drawn_<name>``."""
    term: str
    """The property or fault that the term changes, or the registered name of a plug-in."""
    when: Union[Literal["world", "trial"], EverySpec] = "trial"
    """The times of the draws: once per world, once per trial, or at intervals."""
    set: Optional[Distribution] = None
    """Distribution of a new value, in the unit of the term."""
    add: Optional[Distribution] = None
    """Distribution of a number that is added to the value in the world."""
    scale: Optional[Distribution] = None
    """Distribution of a factor that multiplies the value in the world."""
    shared: bool = False
    """True if all selected elements get the same value, False for a separate value for each."""

    @model_validator(mode="after")
    def _require_one_operation(self) -> "RandomizationTermSpec":
        operations = [kind for kind in (self.set, self.add, self.scale) if kind is not None]
        if len(operations) != 1:
            raise ValueError(f"{self.name} needs exactly one of the keys 'set', 'add' and 'scale'")
        return self


class _Selecting(RandomizationTermSpec):
    select: SelectSpec
    """The elements that the term changes."""


class FrictionTerm(_Selecting):
    """The Coulomb friction coefficient of collisions, equal in both directions."""

    term: Literal["friction"]


class MassTerm(_Selecting):
    """The mass (kg) of links. The inertia changes proportionally."""

    term: Literal["mass"]


class GravityTerm(RandomizationTermSpec):
    """The magnitude of gravity (m/s²), which acts downwards."""

    term: Literal["gravity"]


class ColorTerm(_Selecting):
    """Red, green and blue (0 to 1) of visuals. The three components are drawn independently."""

    term: Literal["color"]


class LightTerm(_Selecting):
    """Red, green and blue (0 to 1) of lights. All three components get the same value."""

    term: Literal["light"]


class PushTerm(_Selecting):
    """A horizontal force (N) that acts on links in a random direction."""

    term: Literal["push"]
    duration_s: PositiveDistribution = Fixed(value=0.1)
    """Duration (s) for which the force acts."""


class PoseTerm(_Selecting):
    """A displacement (m) of models in the plane, drawn independently for x and y.

    Repeated draws (``when: {every_s: ...}``) of the first robot's pose are a kidnapping, see
    ``docs/localization.md``.
    """

    term: Literal["pose"]
    yaw_rad: Distribution = Fixed(value=0.0)
    """A rotation (rad) that is added to the heading of the models."""

    @model_validator(mode="after")
    def _require_add(self) -> "PoseTerm":
        if self.add is None:
            raise ValueError(f"{self.name}: a term of kind 'pose' needs the key 'add'")
        return self


def moves(term: RandomizationTermSpec, robot: str) -> bool:
    """Return whether a term changes the pose of the robot with the name ``robot``."""
    return isinstance(term, PoseTerm) and re.fullmatch(term.select.names, robot) is not None


Fault = Literal[
    "scan_noise",
    "scan_bias",
    "scan_dropout",
    "scan_delay",
    "actuator_lag",
    "wheel_slip",
    "localization_error",
]
FAULTS: Tuple[str, ...] = get_args(Fault)
PROPERTIES = ("friction", "mass", "gravity", "color", "light", "push", "pose")


class FaultTerm(RandomizationTermSpec):
    """A fault of a sensor, of the drive controller or of the localization.

    - ``scan_noise``: standard deviation (m) of every range.
    - ``scan_bias``: offset (m) of all ranges.
    - ``scan_dropout``: share of rays without a return.
    - ``scan_delay``: age (s) of a scan when the planner receives it.
    - ``actuator_lag``: time constant (s) with which the base follows commands.
    - ``wheel_slip``: lost share of a wheel's commanded speed, drawn separately for the left and the
      right wheels.
    - ``localization_error``: factor of all errors of ``localization``.
    """

    term: Fault

    @model_validator(mode="after")
    def _check_fault(self) -> "FaultTerm":
        if self.set is None:
            raise ValueError(f"{self.name}: a term of kind {self.term!r} needs the key 'set'")
        low, high = self.set.support
        max_value = {"scan_dropout": 1.0, "wheel_slip": 0.9}.get(self.term, LARGEST)
        if self.term != "scan_bias" and (low < 0 or high > max_value):
            raise ValueError(
                f"{self.name}: the value of {self.term!r} must be from 0 to {max_value:g}"
            )
        if isinstance(self.when, EverySpec):
            raise ValueError(
                f"{self.name}: the value of {self.term!r} can be drawn only once per trial or "
                "world; use 'when: trial' or 'when: world'"
            )
        return self


class PluginTerm(RandomizationTermSpec, LocatedSpec):
    """A term that a plug-in of another package implements."""

    select: Optional[SelectSpec] = None
    """The elements that the term changes, required by terms that change elements of the world."""
    parameters: Dict[str, Any] = Field(default_factory=dict)
    """Parameters of the plug-in's constructor."""


def _term_tag(value: Any) -> Optional[str]:
    name = value.get("term") if isinstance(value, dict) else getattr(value, "term", None)
    if name is None:
        return None
    if name in FAULTS:
        return "fault"
    return name if name in PROPERTIES else "plugin"


Term = Annotated[
    Union[
        Annotated[FrictionTerm, Tag("friction")],
        Annotated[MassTerm, Tag("mass")],
        Annotated[GravityTerm, Tag("gravity")],
        Annotated[ColorTerm, Tag("color")],
        Annotated[LightTerm, Tag("light")],
        Annotated[PushTerm, Tag("push")],
        Annotated[PoseTerm, Tag("pose")],
        Annotated[FaultTerm, Tag("fault")],
        Annotated[PluginTerm, Tag("plugin")],
    ],
    Discriminator(
        _term_tag,
        custom_error_type="predicate",
        custom_error_message=(
            f"has no term; add {', '.join((*PROPERTIES, *FAULTS))} or the name of a plug-in"
        ),
    ),
]
