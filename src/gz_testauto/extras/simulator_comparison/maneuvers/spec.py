"""What is to be driven, and by what robot.

Owns the shape of ``drives:`` and ``robot:`` of a bench::

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
"""The kind of drive that goes onto a terrain of the same kind, and nowhere else."""
PUSH = "push"
"""The kind of drive with a box in the way, on flat terrain."""
FLAT = "flat"
"""The kind of terrain without relief."""


class ManeuverKind(NamedTuple):
    """A kind of drive as it is unless told: for how long (s), how fast (m/s, rad/s)."""

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
"""``straight`` and ``circle`` are those of Farley et al. 2022, who do not say how fast the circle
is driven forward: here at the same speed, on a radius of 1 m. ``stop`` brakes at half of its time.
``rest`` lasts until the density of white noise is found within 10 % in 99.7 % of drives.
``s_curve`` turns to the left and then to the right, as a sine. ``step`` is driven slowly, ``turn``
on the spot, and ``push`` against a box that stands ahead."""

ORDINARY = tuple(kind for kind in KINDS if kind not in ("turn", PUSH))
"""What is driven where a bench does not say."""

RECORDED = "recorded"


class RecordedCommandSpec(Spec):
    """Commands as they were recorded in a repetition, counted from 0, of an entry's case."""

    entry: str
    case: str
    repetition: int = Field(0, ge=0)


class ManeuverSpec(Spec):
    """One drive. ``kind`` is its name unless given; what else is not given is the kind's. With
    ``command`` it is what was commanded in a recording instead."""

    name: str = Field(pattern=NAME)
    kind: str = ""
    duration_s: float = Field(0.0, ge=0, le=600)
    linear_mps: float = Field(0.0, ge=-10, le=10)
    angular_radps: float = Field(0.0, ge=-10, le=10)
    command: Optional[RecordedCommandSpec] = None

    @model_validator(mode="before")
    @classmethod
    def _by_kind(cls, data: Any) -> Any:
        """A drive that is only named, and what is not given of one."""
        if isinstance(data, str):
            data = {"name": data}
        if not isinstance(data, dict) or not isinstance(data.get("name"), str):
            return data
        if data.get("command") is not None:
            return {"kind": RECORDED, **data}
        kind = data.get("kind", data["name"])
        return {**KINDS[kind]._asdict(), "kind": kind, **data} if kind in KINDS else data

    def is_for(self, terrain: str) -> bool:
        """Whether it can be driven on a terrain of such a kind."""
        return {STEP: terrain == STEP, PUSH: terrain == FLAT}.get(self.kind, True)

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        if (self.kind == RECORDED) != (self.command is not None):
            raise ValueError(f"drive {self.name}: kind recorded and command belong together")
        if self.kind != RECORDED and self.kind not in KINDS:
            said = unknown_name("kind of drive", self.kind or self.name, KINDS)
            raise ValueError(f"{said}; give kind: with a name of your own")
        return self


class BenchRobotSpec(Spec):
    """The robot that all simulators drive, and what its base can do."""

    model: SpecPath
    name: str = Field("robot", pattern=NAME)
    max_linear_mps: float = Field(1.0, gt=0)
    max_angular_radps: float = Field(1.5, gt=0)
    max_linear_accel_mps2: float = Field(1.0, gt=0)
    max_angular_accel_radps2: float = Field(3.0, gt=0)
