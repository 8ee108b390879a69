"""Property changes of a simulated world: new poses, masses, colors and other properties.

:meth:`~gz_testauto.simulators.interface.Simulation.apply` applies a sequence of changes. A
change contains the scoped name of the changed part, as in Gazebo (``model::link::collision``). A
property whose value is None does not change. The constructor raises ``ValueError`` for an
invalid value, which includes a value beyond :data:`LIMITS`. Positions are in m, angles in rad.
Poses, twists and forces are in the world frame unless documented otherwise.
"""

import math
from dataclasses import dataclass, fields
from typing import Any, Dict, FrozenSet, Iterable, Optional, Tuple, Type

from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.appearance import COLORS, Color
from gz_testauto.sdf.dynamics import MAX_MASS_KG, MIN_CHANGED_MASS_KG

Vector = Tuple[float, float, float]

# Largest absolute value of each number of a field. Beyond it, physics engines become unstable.
LIMITS: Dict[str, float] = {
    "pose": 1e6,
    "linear_mps": 1e3,
    "angular_radps": 1e3,
    "position": 1e6,
    "velocity": 1e3,
    "mps2": 1e3,
    "force_n": 1e6,
    "torque_nm": 1e6,
}


@dataclass(frozen=True)
class Change:
    """A change of one part of a simulated world.

    ``part`` is the type of the changed part, such as ``link``, and ``name`` is its scoped name.
    ``properties`` lists the changed properties in error messages.
    """

    part = "world"
    properties = ""
    name: str

    def __post_init__(self) -> None:
        for field, value in vars(self).items():
            if value is None or isinstance(value, str):
                continue
            if not all(map(math.isfinite, _numbers_in(value))):
                self._raise_value_error(field, "must be finite")
            if isinstance(value, (tuple, list)) and len(value) != (4 if field in COLORS else 3):
                components = "red, green, blue and alpha" if field in COLORS else "x, y and z"
                self._raise_value_error(field, f"must be {components}")
            limit = LIMITS.get(field, math.inf)
            if any(abs(number) > limit for number in _numbers_in(value)):
                self._raise_value_error(field, f"must be from {-limit:g} to {limit:g}")

    def _raise_value_error(self, field: str, requirement: str) -> None:
        value = getattr(self, field)
        raise ValueError(
            f"{type(self).__name__} of {self.name!r}: {field} is {value}; it {requirement}"
        )

    def _require_range(
        self, field: str, low: float, is_exclusive: bool = False, high: float = 1e9
    ) -> None:
        values = list(_numbers_in(getattr(self, field)))
        if any(value < low or (is_exclusive and value == low) for value in values):
            self._raise_value_error(
                field, f"must be {'above' if is_exclusive else 'at least'} {low:g}"
            )
        if any(value > high for value in values):
            self._raise_value_error(field, f"must be at most {high:g}")


@dataclass(frozen=True)
class SetModel(Change):
    """A change of the pose of a model, and of the twist of its origin (m/s and rad/s).

    A pose without a twist stops the model if ``Simulator.sets_twist``. A twist without a pose does
    not move the model. The twist is an initial value: gravity and contacts act afterwards.
    """

    part = "model"
    properties = "pose and twist of a model"
    pose: Optional[Pose] = None
    linear_mps: Optional[Vector] = None
    angular_radps: Optional[Vector] = None

    def with_twist(self, state: ModelState) -> ModelState:
        """Return ``state`` with the velocities of this change that are not None."""
        linear, angular = self.linear_mps, self.angular_radps
        return ModelState(
            state.pose,
            state.linear_mps if linear is None else linear,
            state.angular_radps if angular is None else angular,
        )


@dataclass(frozen=True)
class SetLink(SetModel):
    """A :class:`SetModel` of a link without a joint."""

    part = "link"
    properties = "pose and twist of a link"


@dataclass(frozen=True)
class SetJoint(Change):
    """A change of the position (m or rad) and the speed (m/s or rad/s) of a joint with one axis."""

    part = "joint"
    properties = "position and speed of a joint"
    position: Optional[float] = None
    velocity: Optional[float] = None


@dataclass(frozen=True)
class SetMass(Change):
    """A change of the mass of a link. The inertia is scaled by the same factor."""

    part = "link"
    properties = "mass of a link"
    mass_kg: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_range("mass_kg", MIN_CHANGED_MASS_KG, high=MAX_MASS_KG)


@dataclass(frozen=True)
class SetFriction(Change):
    """A change of the Coulomb friction coefficients of a collision in both directions.

    ``mu2`` defaults to ``mu``. Between two collisions, the smaller coefficients apply.
    """

    part = "collision"
    properties = "friction of a collision"
    mu: float
    mu2: Optional[float] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_range("mu", 0.0)
        self._require_range("mu2", 0.0)


@dataclass(frozen=True)
class SetGravity(Change):
    """A change of the world's gravity (m/s²)."""

    properties = "gravity of the world"
    name: str = "gravity"
    mps2: Vector = (0.0, 0.0, -9.8)


@dataclass(frozen=True)
class Push(Change):
    """A force (N) through a link's center of mass and a torque (N m) on the link.

    They act for ``duration_s``, but at least for one physics step.
    """

    part = "link"
    properties = "force and torque on a link"
    force_n: Vector = (0.0, 0.0, 0.0)
    torque_nm: Vector = (0.0, 0.0, 0.0)
    duration_s: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_range("duration_s", 0.0, is_exclusive=True)


@dataclass(frozen=True)
class SetVisual(Change):
    """A change of the colors of a visual (0 to 1), its transparency (0 to 1) and its visibility."""

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
            self._require_range(field, 0.0, high=1.0)


@dataclass(frozen=True)
class SetLight(Change):
    """A change of a light of the world; see :class:`~gz_testauto.sdf.appearance.Light`."""

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
            self._require_range(field, 0.0, high=1.0)
        for field in ("range_m", "constant", "linear", "quadratic"):
            self._require_range(field, 0.0)


ChangeKind = Type[Change]

ALL: FrozenSet[ChangeKind] = frozenset(
    (SetModel, SetLink, SetJoint, SetMass, SetFriction, SetGravity, Push, SetVisual, SetLight)
)


def set_fields(change: Change) -> Dict[str, Any]:
    """Return the values that are not None, by field, without ``name``."""
    return {
        field.name: getattr(change, field.name)
        for field in fields(change)
        if field.name != "name" and getattr(change, field.name) is not None
    }


def _numbers_in(value: Any) -> Iterable[float]:
    if isinstance(value, Pose):
        return (*value.position, *value.quaternion)
    if isinstance(value, (tuple, list)):
        return tuple(value)
    return (value,) if isinstance(value, (int, float)) and not isinstance(value, bool) else ()
