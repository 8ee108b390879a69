"""What can be changed of a world while it is simulated, as values.

A batch of them is handed to :meth:`~gz_testauto.simulators.interface.Simulation.apply`. Each says
what it is a change of, by Gazebo's scoped names (``model::link::collision``), and what is to hold
from now on; what is left out (None) stays as it is. A value that makes no sense is refused when
the change is made, with ``ValueError``; whether what it names is there is the simulation's to say.
Positions are in m, angles in rad, and poses, twists and forces in the world frame unless said.
"""

import math
from dataclasses import dataclass, fields
from typing import Any, Dict, FrozenSet, Iterable, Optional, Tuple, Type

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.appearance import COLORS, Color

Vector = Tuple[float, float, float]


@dataclass(frozen=True)
class Change:
    """One change. ``part`` is the kind of thing that ``name`` is the name of."""

    part = "world"
    name: str

    def __post_init__(self) -> None:
        for field, value in vars(self).items():
            if value is None or isinstance(value, str):
                continue
            if not all(map(math.isfinite, _numbers(value))):
                self._refuse(field, "must be finite")
            if isinstance(value, (tuple, list)) and len(value) != (4 if field in COLORS else 3):
                what = "red, green, blue and alpha" if field in COLORS else "x, y and z"
                self._refuse(field, f"must be {what}")

    def _refuse(self, field: str, must: str) -> None:
        value = getattr(self, field)
        raise ValueError(f"{type(self).__name__} of {self.name!r}: {field} is {value}; it {must}")

    def _require(self, field: str, least: float, above: bool = False, most: float = 1e9) -> None:
        values = list(_numbers(getattr(self, field)))
        if any(value < least or (above and value == least) for value in values):
            self._refuse(field, f"must be {'above' if above else 'at least'} {least:g}")
        if any(value > most for value in values):
            self._refuse(field, f"must be at most {most:g}")


@dataclass(frozen=True)
class SetModel(Change):
    """Where a model is, and its twist: linear (m/s) of its origin and angular (rad/s).

    With a pose and no twist it is at rest, where the simulator can say so
    (``Simulator.sets_twist``); with a twist and no pose it moves on from where it is. A twist is
    what it has now: gravity, friction and contacts go on to act on it.
    """

    part = "model"
    pose: Optional[Pose] = None
    linear_mps: Optional[Vector] = None
    angular_radps: Optional[Vector] = None


@dataclass(frozen=True)
class SetLink(SetModel):
    """As :class:`SetModel`, of one link of a model that no joint holds."""

    part = "link"


@dataclass(frozen=True)
class SetJoint(Change):
    """Position (m or rad) and speed (m/s or rad/s) of a joint with one axis."""

    part = "joint"
    position: Optional[float] = None
    velocity: Optional[float] = None


@dataclass(frozen=True)
class SetMass(Change):
    """The mass of a link. Its inertia grows with it, as of a body of the same shape."""

    part = "link"
    mass_kg: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("mass_kg", 0.0, above=True)


@dataclass(frozen=True)
class SetFriction(Change):
    """Coulomb's coefficients of a collision, along both directions; ``mu2`` is ``mu`` unless
    given. Between two collisions the smaller ones count."""

    part = "collision"
    mu: float
    mu2: Optional[float] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("mu", 0.0)
        self._require("mu2", 0.0)


@dataclass(frozen=True)
class SetGravity(Change):
    """The world's gravity (m/s²)."""

    name: str = "gravity"
    mps2: Vector = (0.0, 0.0, -9.8)


@dataclass(frozen=True)
class Push(Change):
    """A force (N) through a link's center of mass and a torque (N m) on it, from now on for a
    while (s), a physics step at least."""

    part = "link"
    force_n: Vector = (0.0, 0.0, 0.0)
    torque_nm: Vector = (0.0, 0.0, 0.0)
    duration_s: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("duration_s", 0.0, above=True)


@dataclass(frozen=True)
class SetVisual(Change):
    """Colors of a visual (each from 0 to 1), how transparent it is (0 to 1), whether it is
    shown."""

    part = "visual"
    ambient: Optional[Color] = None
    diffuse: Optional[Color] = None
    specular: Optional[Color] = None
    emissive: Optional[Color] = None
    transparency: Optional[float] = None
    visible: Optional[bool] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("ambient", "diffuse", "specular", "emissive", "transparency"):
            self._require(field, 0.0, most=1.0)


@dataclass(frozen=True)
class SetLight(Change):
    """A light of the world; see :class:`~gz_testauto.sdf.appearance.Light` for its fields."""

    part = "light"
    pose: Optional[Pose] = None
    diffuse: Optional[Color] = None
    specular: Optional[Color] = None
    direction: Optional[Vector] = None
    range_m: Optional[float] = None
    constant: Optional[float] = None
    linear: Optional[float] = None
    quadratic: Optional[float] = None
    cast_shadows: Optional[bool] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("diffuse", "specular"):
            self._require(field, 0.0, most=1.0)
        for field in ("range_m", "constant", "linear", "quadratic"):
            self._require(field, 0.0)


Kind = Type[Change]

ALL: FrozenSet[Kind] = frozenset(
    (SetModel, SetLink, SetJoint, SetMass, SetFriction, SetGravity, Push, SetVisual, SetLight)
)
"""Every kind of change there is."""


def given(change: Change) -> Dict[str, Any]:
    """What a change says, by field, without the name and what it leaves out."""
    return {
        field.name: getattr(change, field.name)
        for field in fields(change)
        if field.name != "name" and getattr(change, field.name) is not None
    }


def _numbers(value: Any) -> Iterable[float]:
    if isinstance(value, Pose):
        return (*value.position, *value.quaternion)
    if isinstance(value, (tuple, list)):
        return tuple(value)
    return (value,) if isinstance(value, (int, float)) and not isinstance(value, bool) else ()
