"""The reactions of a person to the robot, and their keys in YAML.

Reactions and default values are those of HuNavSim (Pérez-Higueras, Otero, Caballero, Merino 2023:
HuNavSim: A ROS 2 Human Navigation Simulator for Benchmarking Human-Aware Robot Navigation; behavior
trees and ``agent_manager.cpp`` of its source code), with the differences in ``docs/people.md``.
"""

import math
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

import numpy as np
from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Annotated, Literal, Self, get_args

from gz_testauto.base.pose import wrap_angle
from gz_testauto.spec.model import Positive, Spec, fault

Kind = Literal["regular", "impassive", "surprised", "curious", "scared", "threatening"]
KINDS = get_args(Kind)

HALF_VIEW_RAD = math.pi / 2 + 0.17  # as in HuNavSim: about 100° to each side

DEFAULTS: Mapping[str, Mapping[str, float]] = {
    "regular": {},
    "impassive": {},
    "surprised": {"distance_m": 4.0, "duration_s": 30.0},
    "curious": {
        "distance_m": 10.0,
        "duration_s": 30.0,
        "speed_mps": 1.8,
        "stop_distance_m": 1.5,
    },
    "scared": {"distance_m": 3.0, "speed_mps": 0.6, "repulsion_m2ps2": 4.0},
    "threatening": {
        "distance_m": 4.0,
        "duration_s": 40.0,
        "speed_mps": 2.0,
        "stop_distance_m": 1.1,
    },
}
"""The keys of each reaction and their default values."""


class ReactionSpec(Spec):
    """The reaction of a person to the robot: a name, a mapping with ``kind`` and its parameters, or
    a mapping with ``shares``, from which the reaction of each person or group is drawn."""

    kind: Optional[Kind] = None
    """The reaction. ``regular``: treats the robot as a person. ``impassive``: ignores it.
    ``surprised``: stops and looks at it. ``curious``: approaches it. ``scared``: keeps a larger
    distance. ``threatening``: blocks the path in front of it."""
    shares: Optional[Dict[Kind, Annotated[float, Field(ge=0, le=1)]]] = None
    """Probability of each reaction, which has its default parameters. The sum must be 1."""
    distance_m: Optional[Positive] = None
    """Distance (m) of the centers within which a person reacts if it sees the robot. Default: 4 for
    ``surprised`` and ``threatening``, 10 for ``curious``, 3 for ``scared``."""
    duration_s: Optional[Positive] = None
    """Longest time (s) of the reaction in a trial, of ``surprised``, ``curious`` and
    ``threatening``. Then the person is ``regular``. Default: 30; 40 for ``threatening``."""
    speed_mps: Optional[Positive] = None
    """Desired speed (m/s) during the reaction. For ``curious``, it is the speed at ``distance_m``,
    and decreases in proportion to the distance. Default: 1.8 for ``curious``, 0.6 for ``scared``,
    2.0 for ``threatening``."""
    stop_distance_m: Optional[Positive] = None
    """Distance (m) of the centers at which a ``curious`` person stops, or which a ``threatening``
    person keeps ahead of the robot. It is increased if the robot is so large that the gap would be
    less than 0.3 m. Default: 1.5 and 1.1."""
    repulsion_m2ps2: Optional[Positive] = None
    """The robot repels a ``scared`` person with this value divided by the distance (m) from the
    robot's center to the person's outline, in m/s². Default: 4."""

    @model_validator(mode="after")
    def _require_consistent_keys(self) -> Self:
        if (self.kind is None) == (self.shares is None):
            raise ValueError(
                "it must have either 'kind' or 'shares'; write, for example, 'curious' or "
                "{shares: {regular: 0.7, scared: 0.3}}"
            )
        known = DEFAULTS[self.kind] if self.kind else {}
        for key in sorted(self.model_fields_set - {"kind", "shares"}):
            if key not in known and getattr(self, key) is not None:
                owner = f"the reaction {self.kind!r}" if self.kind else "'shares'"
                allowed = f"its keys are {', '.join(known)}" if known else "it has no parameters"
                raise ValueError(f"'{key}' does not apply to {owner}, {allowed}; remove '{key}'")
        if self.shares is not None and abs(sum(self.shares.values()) - 1.0) > 1e-6:
            raise ValueError(
                f"the sum of 'shares' is {sum(self.shares.values()):g}; it must be 1; change the "
                "shares"
            )
        return self

    def draw(self, random: np.random.Generator) -> "Reaction":
        """Return the reaction of a person, drawn from ``shares`` if they are set.

        One number is always drawn from ``random``, also if the reaction is fixed.
        """
        number = float(random.random())
        kind: str = self.kind or next(reversed(self.shares or {}), "regular")
        for name, share in (self.shares or {}).items():
            if number < share:
                kind = name
                break
            number -= share
        stated = self.model_dump(include=set(DEFAULTS[kind]), exclude_none=True)
        return Reaction(kind, **{**DEFAULTS[kind], **stated})


def _expand_name(value: Any) -> Any:
    if isinstance(value, str):
        if value not in KINDS:
            raise fault(f'is "{value}"; it must be one of {", ".join(KINDS)}')
        return {"kind": value}
    return value


ReactionField = Annotated[ReactionSpec, BeforeValidator(_expand_name)]


class Reaction(NamedTuple):
    """The reaction of one person, in which unused parameters are infinite or 0."""

    kind: str = "regular"
    distance_m: float = 0.0
    duration_s: float = math.inf
    speed_mps: float = 0.0
    stop_distance_m: float = 0.0
    repulsion_m2ps2: float = 0.0


REGULAR = Reaction()


def sees(pose: Tuple[float, float, float], point: Tuple[float, float]) -> bool:
    """Return whether a point is in the field of view of a person at ``pose`` (x, y, yaw).

    Obstacles do not hide the point.
    """
    x_m, y_m, yaw_rad = pose
    bearing_rad = math.atan2(point[1] - y_m, point[0] - x_m)
    return abs(wrap_angle(bearing_rad - yaw_rad)) <= HALF_VIEW_RAD
