"""Names of Scenic classes for models with any name.

Owns the rule, which agrees with GzScenic's where that yields a valid name.
"""

import keyword
import re
import unicodedata

WALL = "GreyWall"
"""The class of the walls of ``create_room``; a model of the descriptor can replace it."""

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


def class_name(model: str) -> str:
    """Return the name of a model's class: ``cafe_table`` is ``CafeTable``.


    1. Accents are removed. All characters except letters and digits separate words.
    2. Words are spelled as in GzScenic: a letter that does not follow a letter is upper case, the
       others are lower case. ``LampAndStand`` is ``Lampandstand``, ``turtlebot3`` is
       ``Turtlebot3``.
    3. A name that is empty or starts with a digit gets the prefix ``Model`` (``Model1stFloor``).
       A name of Python or Scenic gets the suffix ``Model`` (``ObjectModel``).
    """
    plain = unicodedata.normalize("NFKD", model)
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = [word for word in re.split(r"[\W_]+", plain) if word]
    name = "".join(word.title() for word in words)
    if not name or name[0].isdigit():
        name = f"Model{name}"
    if name in _SCENIC_NAMES or keyword.iskeyword(name):
        name += "Model"
    return name
