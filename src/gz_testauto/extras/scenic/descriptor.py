"""The model descriptor, a YAML file with the models that a Scenic program can place.

The format and the names of classes are those of GzScenic (Afzal, Le Goues and Timperley: GzScenic:
Automatic Scene Generation for Gazebo Simulator, 2021), with additional keys.
"""

import keyword
import re
import unicodedata
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

from pydantic import Field, field_validator, model_validator
from typing_extensions import Annotated, Literal

from gz_testauto.spec.loader import load
from gz_testauto.spec.model import LARGEST, Bounded, Spec, SpecPath, fault

WALL = "GreyWall"
"""Class of the walls that ``create_room`` creates. A model of the descriptor can replace it."""

_SCENIC_NAMES = frozenset(
    [
        "Object",
        "OrientedPoint",
        "Point",
        "Vector",
        "Orientation",
        "VectorField",
        "PolygonalVectorField",
        "Region",
        "Workspace",
        "Mutator",
        "Shape",
        "MeshShape",
        "BoxShape",
        "CylinderShape",
        "ConeShape",
        "SpheroidShape",
        "MeshRegion",
        "BoxRegion",
        "SpheroidRegion",
        "MeshVolumeRegion",
        "MeshSurfaceRegion",
        "PathRegion",
        "CircularRegion",
        "SectorRegion",
        "RectangularRegion",
        "PolygonalRegion",
        "PolylineRegion",
        "PointSetRegion",
        "GridRegion",
        "VoxelRegion",
        "IntersectionRegion",
        "UnionRegion",
        "DifferenceRegion",
        "ViewRegion",
        "Behavior",
        "Monitor",
        "DynamicScenario",
        "Range",
        "Options",
        "Uniform",
        "Discrete",
        "Normal",
        "TruncatedNormal",
        "DiscreteRange",
        "VerifaiParameter",
        "VerifaiRange",
        "VerifaiDiscreteRange",
        "VerifaiOptions",
        "VerifaiDistribution",
        "Stand",
        "WalkTo",
        "WalkAlong",
        "SlideBy",
        "Placed",
        "MissionItem",
        "SceneObject",
    ]
)


def class_name(model: str, keeps_case: bool = False) -> str:
    """Return the name of a model's class, such as ``CafeTable`` for the model ``cafe_table``.

    1. Accents are removed. All characters except letters and digits separate words.
    2. Words are spelled as in GzScenic: a letter that does not follow a letter is upper case, the
       others are lower case. ``LampAndStand`` is ``Lampandstand``, ``turtlebot3`` is
       ``Turtlebot3``. With ``keeps_case``, only the first letter of a word changes to upper case,
       so that ``LampAndStand`` remains.
    3. A name that is empty or starts with a digit gets the prefix ``Model`` (``Model1stFloor``).
       A name of Python or Scenic gets the suffix ``Model`` (``ObjectModel``).
    """
    plain = unicodedata.normalize("NFKD", model)
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = [word for word in re.split(r"[\W_]+", plain) if word]
    name = "".join(word[0].upper() + word[1:] if keeps_case else word.title() for word in words)
    if not name or name[0].isdigit():
        name = f"Model{name}"
    if name in _SCENIC_NAMES or keyword.iskeyword(name):
        name += "Model"
    return name


MISSION_SIDE_M = 1e-5  # side of a mission item without a size: nearly a point, as in GzScenic
MISSION_HEIGHT_M = 0.5  # height of a mission item without a size; the space above it is free

Size = Annotated[float, Field(gt=0, le=LARGEST)]
Share = Annotated[float, Field(ge=0, le=1)]

_FILE_NAME = re.compile(r"[^/\0]{1,200}")


class ModelSpec(Spec):
    """An entry of the model descriptor: a model or a mission item."""

    name: str
    """Name of the model's folder, or of the mission item."""
    type: Literal["MISSION_ONLY", "GAZEBO_MODEL", "CUSTOM_MODEL"]
    """``MISSION_ONLY`` for a mission item, otherwise ``GAZEBO_MODEL`` or ``CUSTOM_MODEL``; only a
    ``CUSTOM_MODEL`` can have a ``url``."""
    width: Optional[Size] = None
    """Size (m) of a mission item across the direction in which it faces."""
    length: Optional[Size] = None
    """Size (m) of a mission item along the direction in which it faces."""
    height: Optional[Size] = None
    """Height (m) of a mission item."""
    z: Optional[Bounded] = None
    """Height (m) of the model's origin if the program specifies none. Without this key, the model
    is placed on the ground."""
    heading: Optional[Bounded] = None
    """Heading (rad, counter-clockwise from +y as in Scenic) if the program specifies none."""
    dynamic_size: Union[bool, Literal["drawn"], None] = None
    """True if programs can specify another size. With ``drawn``, each axis without a specified size
    is drawn from half to double the model's size."""
    allow_collisions: bool = False
    """True if other objects can intersect the model."""
    hollow: bool = False
    """True if a mesh with gaps, such as a house with a door, is represented by thin plates along
    its surface instead of its convex hull, so that objects can be placed inside."""
    url: Optional[str] = None
    """Address of an archive from which a ``CUSTOM_MODEL`` is downloaded."""
    front: Optional[Literal["x", "y"]] = None
    """Axis of the model that points in the direction in which the object faces. Default: ``x`` for
    a mission item and ``y`` for a model."""
    color: Optional[List[Share]] = None
    """Color in the plan view: red, green, blue and optionally opacity, each from 0 to 1."""

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not _FILE_NAME.fullmatch(name) or name in (".", ".."):
            raise fault(f"is {name!r}; it must be a folder name that contains no '/'")
        return name

    @field_validator("color")
    @classmethod
    def _check_color(cls, color: Any) -> Any:
        if color is not None and len(color) not in (3, 4):
            raise fault(
                f"has {len(color)} numbers; write [red, green, blue] or [red, green, blue, opacity]"
            )
        return color

    @model_validator(mode="after")
    def _check_keys(self) -> "ModelSpec":
        measured = [key for key in ("width", "length", "height") if getattr(self, key) is not None]
        if not self.mission_only and measured:
            raise fault(
                f".{measured[0]} is allowed only for the type MISSION_ONLY, because the size of a "
                "model is read from its SDF; remove the key"
            )
        if self.url is not None and self.type != "CUSTOM_MODEL":
            raise fault(".url is allowed only for the type CUSTOM_MODEL; remove the key")
        if self.mission_only and self.dynamic_size is not None:
            raise fault(
                ".dynamic_size is not allowed for the type MISSION_ONLY, because programs can "
                "always set the size of a mission item; remove the key"
            )
        if self.mission_only and class_name(self.name) == WALL:
            raise fault(
                ".name results in the class name of the walls that create_room creates; rename the "
                "item"
            )
        return self

    @property
    def mission_only(self) -> bool:
        return self.type == "MISSION_ONLY"

    @property
    def faces(self) -> str:
        """Axis of the model that points in the direction in which the object faces."""
        return self.front or ("x" if self.mission_only else "y")


class DescriptorSpec(Spec):
    """A model descriptor. Paths are relative to the directory of its file."""

    models: List[ModelSpec]
    """The models and mission items that a Scenic program can place."""
    models_dir: Optional[SpecPath] = None
    """First directory in which models are searched. Default: the directory of the descriptor."""
    world: Optional[SpecPath] = None
    """World file to which objects are added. Default: a world with a ground plane and a sun."""

    @field_validator("models")
    @classmethod
    def _check_names(cls, models: List[ModelSpec]) -> List[ModelSpec]:
        first: Dict[str, str] = {}
        for model in models:
            name = class_name(model.name)
            if name in first:
                raise fault(
                    f"contains {first[name]!r} and {model.name!r}, which result in the same class "
                    f"name {name}; rename one model"
                )
            first[name] = model.name
        return models


def load_descriptor(path: Path) -> DescriptorSpec:
    descriptor = load(path, DescriptorSpec)
    if descriptor.models_dir is None:
        return descriptor.model_copy(update={"models_dir": Path(path).absolute().parent})
    return descriptor
