"""Specification of maneuvers and of the robot of a bench.

Example of ``drives:`` and ``robot:``::

    robot: {model: package://gz_testauto/models/husky_a200, max_linear_mps: 1.0}
    drives:
      - rest
      - straight
      - {name: slow, kind: straight, linear_mps: 0.2, duration_s: 12}
      - {name: real_run, command: {entry: real, case: gravel/straight}}
"""

from typing import Any, Dict, NamedTuple, Optional

from pydantic import Field, model_validator
from typing_extensions import Self

from gz_testauto.base.registry import unknown_name
from gz_testauto.spec.model import Spec, SpecPath
from gz_testauto.spec.stack import NAME

STEP = "step"
"""Kind of maneuver for terrains of the same kind only."""
PUSH = "push"
"""Kind of maneuver that pushes a box, on flat terrain."""
FLAT = "flat"
"""Kind of terrain without relief."""


class ManeuverKind(NamedTuple):
    """Defaults of a kind of maneuver: duration (s) and speeds (m/s, rad/s)."""

    duration_s: float
    linear_mps: float
    angular_radps: float


KINDS: Dict[str, ManeuverKind] = {
    "rest": ManeuverKind(30.0, 0.0, 0.0),
    "straight": ManeuverKind(8.0, 0.5, 0.0),
    "circle": ManeuverKind(8.0, 0.5, 0.5),
    "stop": ManeuverKind(6.0, 0.5, 0.0),
    "s_curve": ManeuverKind(8.0, 0.5, 0.5),
    STEP: ManeuverKind(8.0, 0.25, 0.0),
    "turn": ManeuverKind(6.0, 0.0, 0.5),
    PUSH: ManeuverKind(8.0, 0.4, 0.0),
}
"""Kinds of maneuver. ``straight`` and ``circle`` are those of Farley et al. 2022, who do not
specify the forward speed of the circle: here it is the same, on a radius of 1 m. ``stop`` brakes at
half of its duration. ``rest`` is long enough that the density of white noise is accurate within 10
% in 99.7 % of recordings. ``s_curve`` turns left and then right, as a sine. ``step`` is slow,
``turn`` is on the spot, and ``push`` pushes a box in front of the robot."""

ORDINARY = tuple(kind for kind in KINDS if kind not in ("turn", PUSH))
"""Default maneuvers of a bench."""

RECORDED = "recorded"


class RecordedCommandSpec(Spec):
    """Commands from a recording: entry, case and repetition, counted from 0."""

    entry: str
    case: str
    repetition: int = Field(0, ge=0)


class ManeuverSpec(Spec):
    """One maneuver. ``kind`` defaults to its name, other values to those of the kind. ``command``
    uses the commands of a recording instead."""

    name: str = Field(pattern=NAME)
    kind: str = ""
    duration_s: float = Field(0.0, ge=0, le=600)
    linear_mps: float = Field(0.0, ge=-10, le=10)
    angular_radps: float = Field(0.0, ge=-10, le=10)
    command: Optional[RecordedCommandSpec] = None

    @model_validator(mode="before")
    @classmethod
    def _by_kind(cls, data: Any) -> Any:
        """Expand a maneuver that is only a name, and add the defaults of its kind."""
        if isinstance(data, str):
            data = {"name": data}
        if not isinstance(data, dict) or not isinstance(data.get("name"), str):
            return data
        if data.get("command") is not None:
            return {"kind": RECORDED, **data}
        kind = data.get("kind", data["name"])
        return {**KINDS[kind]._asdict(), "kind": kind, **data} if kind in KINDS else data

    def is_for(self, terrain: str) -> bool:
        """Return whether the maneuver runs on a terrain of this kind."""
        return {STEP: terrain == STEP, PUSH: terrain == FLAT}.get(self.kind, True)

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        if (self.kind == RECORDED) != (self.command is not None):
            raise ValueError(
                f"drive {self.name}: kind: recorded needs command, and command needs kind: recorded"
            )
        if self.kind != RECORDED and self.kind not in KINDS:
            reason = unknown_name("kind of drive", self.kind or self.name, KINDS)
            raise ValueError(f"{reason}; for another name, specify kind:")
        return self


class BenchRobotSpec(Spec):
    """The robot of all simulators, with the limits of its base."""

    model: SpecPath
    name: str = Field("robot", pattern=NAME)
    max_linear_mps: float = Field(1.0, gt=0)
    max_angular_radps: float = Field(1.5, gt=0)
    max_linear_accel_mps2: float = Field(1.0, gt=0)
    max_angular_accel_radps2: float = Field(3.0, gt=0)
