"""Property changes of a simulated world, as values.

:meth:`~gz_testauto.simulators.interface.Simulation.apply` applies a sequence of them. Each has the
scoped name of its part, as in Gazebo (``model::link::collision``), and the new values; a value that
is None does not change. The constructor raises ``ValueError`` for an invalid value; the simulation
checks that the named part exists. Positions are in m, angles in rad. Poses, twists and forces are
in the world frame unless documented otherwise.
"""

import math
from dataclasses import dataclass, fields
from typing import Any, Dict, FrozenSet, Iterable, Optional, Tuple, Type

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.appearance import COLORS, Color

Vector = Tuple[float, float, float]


@dataclass(frozen=True)
class Change:
    """One property change. ``part`` is the type of the part that ``name`` is the name of, and
    ``properties`` describes in words what changes."""

    part = "world"
    properties = ""
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
    """Pose of a model, and its twist: linear (m/s) of its origin and angular (rad/s).

    With a pose and no twist the model is at rest if ``Simulator.sets_twist``. With a twist and no
    pose it keeps its pose. The twist is an initial value: gravity, friction and contacts act on it.
    """

    part = "model"
    properties = "pose and twist of a model"
    pose: Optional[Pose] = None
    linear_mps: Optional[Vector] = None
    angular_radps: Optional[Vector] = None


@dataclass(frozen=True)
class SetLink(SetModel):
    """Pose and twist as in :class:`SetModel`, of one link of a model that is not attached to a
    joint."""

    part = "link"
    properties = "pose and twist of a link"


@dataclass(frozen=True)
class SetJoint(Change):
    """Position (m or rad) and speed (m/s or rad/s) of a joint with one axis."""

    part = "joint"
    properties = "position and speed of a joint"
    position: Optional[float] = None
    velocity: Optional[float] = None


@dataclass(frozen=True)
class SetMass(Change):
    """The mass of a link. Its inertia is scaled by the same factor, as for a body of equal
    shape."""

    part = "link"
    properties = "mass of a link"
    mass_kg: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("mass_kg", 0.0, above=True)


@dataclass(frozen=True)
class SetFriction(Change):
    """Coulomb friction coefficients of a collision in both directions; ``mu2`` defaults to ``mu``.
    Between two collisions the smaller coefficients apply."""

    part = "collision"
    properties = "friction of a collision"
    mu: float
    mu2: Optional[float] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("mu", 0.0)
        self._require("mu2", 0.0)


@dataclass(frozen=True)
class SetGravity(Change):
    """The world's gravity (m/s²)."""

    properties = "gravity of the world"
    name: str = "gravity"
    mps2: Vector = (0.0, 0.0, -9.8)


@dataclass(frozen=True)
class Push(Change):
    """A force (N) through a link's center of mass and a torque (N m) on it, from now on for
    ``duration_s``, at least one physics step."""

    part = "link"
    properties = "force and torque on a link"
    force_n: Vector = (0.0, 0.0, 0.0)
    torque_nm: Vector = (0.0, 0.0, 0.0)
    duration_s: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("duration_s", 0.0, above=True)


@dataclass(frozen=True)
class SetVisual(Change):
    """Colors of a visual (each component from 0 to 1), its transparency (0 to 1) and visibility."""

    part = "visual"
    properties = "color and visibility of a visual"
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
    """Properties of a light of the world; see :class:`~gz_testauto.sdf.appearance.Light`."""

    part = "light"
    properties = "properties of a light"
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


ChangeKind = Type[Change]

ALL: FrozenSet[ChangeKind] = frozenset(
    (SetModel, SetLink, SetJoint, SetMass, SetFriction, SetGravity, Push, SetVisual, SetLight)
)
"""Every kind of property change."""


def set_fields(change: Change) -> Dict[str, Any]:
    """Return the fields that a change sets, without its name."""
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
