"""The robot of a campaign: its model, where it starts, and what its base can do.

Owns the shape of ``robot:``, of which there are two kinds, as of campaigns.
"""

import re
from typing import List, Optional

import shapely
from pydantic import (
    Field,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import Self

from gz_testauto.spec.model import Interval, Point, PoseSpec, Spec, SpecPath
from gz_testauto.spec.stack import NAME

NO_BODY = "has no model; give footprint_m and height_m"


class SteeringSpec(Spec):
    """Of a base that steers like a car, with its rear axle at the base frame's origin."""

    wheelbase_m: float = Field(gt=0, le=100)
    """Between the axles."""
    max_rad: float = Field(gt=0, lt=1.5)
    """How far the front wheels turn."""


class RobotSpec(Spec):
    """The robot: its model SDF, where it starts, and what its base can do.

    The footprint is taken from the model's collision shapes when ``footprint_m`` is not
    given: the convex outline, seen from above, of everything that is not a drive wheel's
    contact patch.
    """

    model: Optional[SpecPath] = None
    name: str = "robot"
    """The model's name in the simulator."""
    start: Optional[PoseSpec] = None
    """Needed but where a scenario's worlds have starts of their own (``worlds.mission.start``)."""
    footprint_m: Optional[List[Point]] = Field(None, min_length=3)
    height_m: Optional[Interval] = None
    """Lowest and highest point of the body above the model's origin, which is where the simulator
    says that the model is: of a URDF its root link. The model's unless given."""
    scan_height_m: Optional[float] = Field(None, gt=0)
    """Height of the lidar, at which the known map is cut; the model's unless given."""
    max_linear_mps: float = Field(1.0, gt=0)
    max_angular_radps: float = Field(1.5, gt=0)
    max_linear_accel_mps2: float = Field(1.0, gt=0)
    max_angular_accel_radps2: float = Field(3.0, gt=0)
    can_reverse: bool = False
    steering: Optional[SteeringSpec] = None
    """None: it turns on the spot."""

    @field_validator("name")
    @classmethod
    def _is_a_model_name(cls, name: str) -> str:
        if not name.strip() or "::" in name or not name.isprintable() or name != name.strip():
            raise ValueError(
                "Gazebo takes no empty name, no control character, no blank at the ends and no '::'"
            )
        return name

    @field_validator("footprint_m")
    @classmethod
    def _has_an_outline(cls, corners: Optional[List[Point]]) -> Optional[List[Point]]:
        if corners is not None and not shapely.Polygon(corners).is_valid:
            raise ValueError(
                "the outline crosses itself or has no area; give the corners in their order around "
                "the robot"
            )
        return corners


class BuiltinRobotSpec(RobotSpec):
    """A robot that this package spawns, from its ``model``, and speaks of as ROS does."""

    model: SpecPath

    @field_validator("name")
    @classmethod
    def _is_a_word(cls, name: str) -> str:
        if not re.match(NAME, name):
            raise PydanticCustomError(
                "predicate", "begins with a letter and has letters, digits and _ only"
            )
        return name


class StackRobotSpec(RobotSpec):
    """A robot that the user's own launch files spawn, under whatever name Gazebo takes
    (``limo/``). It needs no ``model``; then ``footprint_m`` and ``height_m`` say where its body is.
    """

    @model_validator(mode="after")
    def _has_a_body(self) -> Self:
        if self.model is None and (self.footprint_m is None or self.height_m is None):
            raise PydanticCustomError("predicate", NO_BODY)
        return self
