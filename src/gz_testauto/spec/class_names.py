"""The rule by which a model of any spelling has a class of its own in scenarios.

Owns that rule, which is GzScenic's where GzScenic gave a name that a program can use.
"""

import keyword
import re
import unicodedata

WALL = "GreyWall"
"""The class of the walls of ``create_room``, which a model of the descriptor may replace."""

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
    """The name of a model's class: ``cafe_table`` is ``CafeTable``.

    1. Accents are taken off, and everything but letters, digits and ``_`` separates words, as
       ``_`` does.
    2. Each word is written as GzScenic does: a letter that follows none is a capital, the others
       are small; so ``LampAndStand`` is ``Lampandstand`` and ``turtlebot3`` is ``Turtlebot3``.
    3. A name that would begin with a digit or be empty gets ``Model`` in front (``Model1stFloor``);
       one that Python or Scenic has already gets ``Model`` at its end (``ObjectModel``).
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
