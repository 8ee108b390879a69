"""Models of obstacles with a variable size, pose and name, and the interface of obstacle kinds.

:mod:`gz_testauto.sampling.kinds` and :mod:`gz_testauto.sampling.groups` define the built-in kinds.
"""

import copy
import functools
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, ClassVar, Dict, Optional, Tuple, Type

import numpy as np
import shapely
from lxml import etree
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sampling.outline import Outline
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.dynamics import read_mass_kg
from gz_testauto.sdf.floor import Heights
from gz_testauto.sdf.includes import ModelLibrary, read_world
from gz_testauto.sdf.meshes.slices import EMPTY
from gz_testauto.sdf.scene import CollisionShape, SceneModel, read_scene
from gz_testauto.sdf.values import set_pose
from gz_testauto.spec.obstacles import OBSTACLE_KINDS, ObstacleGroup

Size = Tuple[float, ...]

Factors = Tuple[float, float, float]  # factors that stretch a model along x, y and z

# A function that returns SDF for a name, a pose, a size, a mass (kg), and whether the model is
# static.
Writer = Callable[[str, Pose, Size, float, bool], str]


class ObstacleKind(ObstacleGroup):
    """The base class of obstacle kinds. An instance is an entry of ``obstacles`` in YAML.

    A size is a tuple with the values of ``size_names``, in meters or as a scale factor. Lengths are
    in meters, in the model frame.
    """

    # True if an obstacle of another size is the model, stretched by ``factors``. If False, the
    # kind overrides ``outline_of_size``.
    is_stretched: ClassVar[bool] = True
    # Shape type in ``visualization_msgs/Marker`` that represents the obstacle.
    marker: ClassVar[str] = "CUBE"

    def create_model(self) -> "ObstacleModel":
        """Return the model of the file ``model``, or the unit model. Raises ``SdfError`` for an
        invalid file."""
        if self.model is None:
            return ObstacleModel.unit(self.type)
        return read_model(self.type, self.model)

    @classmethod
    def unit_model(cls) -> str:
        """Return the SDF of the model for an entry without ``model``."""
        raise NotImplementedError(f"{cls.__name__} has no unit model")

    @classmethod
    def recognizes(cls, model: SceneModel) -> bool:
        """Return whether a model in a world is of this kind, and of no more specific kind."""
        return False

    @classmethod
    def measure(cls, model: SceneModel, where: str) -> Tuple[Size, Outline]:
        """Return the size of a model of this kind, and its outline on the ground.

        Raises ``SdfError`` for a model of another kind. The message starts with ``where`` (file and
        line).
        """
        raise NotImplementedError

    @classmethod
    def factors(cls, model_size: Size, size: Size) -> Factors:
        """Return the factors that stretch a model from ``model_size`` to ``size``."""
        raise NotImplementedError

    @classmethod
    def outline_of_size(cls, model: "ObstacleModel", size: Size) -> Outline:
        """Return the outline, in the model frame, of an obstacle with the given size."""
        fx, fy, _ = cls.factors(model.size, size)
        return model.base_outline.scaled(fx, fy)

    def passages(self, size: Size) -> Optional[Outline]:
        """Return the area, in the model frame, that no other obstacle may overlap, such as the
        doors of a room, or None."""
        return None

    @classmethod
    def mass_kg(
        cls, model_size: Size, model_kg: float, size: Size, density_kgpm3: Optional[float]
    ) -> float:
        """Return the mass (kg) in ``size`` of a model with ``model_kg`` in ``model_size``."""
        raise NotImplementedError

    @classmethod
    def cut(cls, model: "ObstacleModel", size: Size, heights: Heights) -> Optional[Outline]:
        """Return the outline between two heights above the lowest point, or None if this is the
        whole outline. At least one height must be inside the obstacle."""
        scale = cls.factors(model.size, size)[2]
        low_m, high_m = heights.low_m / scale - model.lift_m, heights.high_m / scale - model.lift_m
        core = model.slice(Heights(low_m, high_m))
        return Outline(shapely.transform(core, lambda points: points * scale))

    @classmethod
    def resize(
        cls, document: SdfDocument, element: Element, model_size: Size, size: Size, mass_kg: float
    ) -> None:
        """Write a new size and mass into a ``<model>`` of this kind. Raises ``SdfError`` if the
        model cannot be resized."""
        raise NotImplementedError

    @classmethod
    def write_static(cls, element: Element, static: bool) -> None:
        """Write into a ``<model>`` or ``<include>`` of this kind whether it can be pushed."""
        set_static(element, static)

    @classmethod
    def triangles(cls, size: Size) -> Optional[np.ndarray]:
        """Return the corners (m, model frame) of the triangles of a ``TRIANGLE_LIST``, shape
        (n, 3, 3). None: RViz shows the shape :attr:`marker` with the size of the model's bounds."""
        return None

    @classmethod
    def writer(cls, model: "ObstacleModel") -> Optional[Writer]:
        """Return a function that writes the model faster than :meth:`resize`, or None."""
        return None


@dataclass(frozen=True, eq=False)
class ObstacleModel:
    """A model from which obstacles are created, with its original size.

    ``lift_m`` is the height of the model frame above the lowest point of the model, and
    ``base_outline`` is the outline in the model frame, both for the original size. ``element`` is
    the ``<model>`` or ``<include>`` in ``document``.
    """

    type: str
    size: Size
    static: bool
    mass_kg: float
    lift_m: float
    base_outline: Outline
    shapes: Tuple[CollisionShape, ...]
    element: Element
    document: SdfDocument
    _bounds: Dict[Size, np.ndarray] = field(default_factory=dict, init=False, repr=False)
    _slices: Dict[Heights, BaseGeometry] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def unit(cls, type_: str) -> "ObstacleModel":
        text = OBSTACLE_KINDS.get(type_).unit_model()
        document = SdfDocument.parse(text, f"unit {type_}")
        return cls.of(type_, next(iter(read_scene(document).models.values())), document)

    @classmethod
    def of(cls, type_: str, model: SceneModel, document: SdfDocument) -> "ObstacleModel":
        """Return the obstacle model of a model in ``document``. Raises ``SdfError`` for a model of
        another type, or without a collision shape."""
        location = document.where(model.element)
        if not model.collisions:
            raise SdfError(f"{location}: model {model.name!r} has no collision shape")
        bottom = min(c.geometry.bounds(c.local_pose)[2, 0] for c in model.collisions)
        element = copy.deepcopy(model.element)
        kind = OBSTACLE_KINDS.get(type_)
        size, outline = kind.measure(model, location)
        if kind.is_stretched and min(size) <= 0:
            raise SdfError(f"{location}: model {model.name!r} has a size of 0; enlarge it")
        mass = sum(
            read_mass_kg(nested_model.document, link.element)
            for _, nested_model, _ in model.node.walk()
            for link in nested_model.links
        )
        lift_m, shapes = -float(bottom), model.collisions
        return cls(type_, size, model.static, mass, lift_m, outline, shapes, element, document)

    @functools.cached_property
    def kind(self) -> Type[ObstacleKind]:
        return OBSTACLE_KINDS.get(self.type)  # type: ignore[no-any-return]

    def outline(self, size: Size) -> Outline:
        return self.kind.outline_of_size(self, size)

    def inner_m(self, size: Size) -> float:
        """Return the radius (m) of the largest circle around the origin inside the outline."""
        if not self.kind.is_stretched:
            return self.outline(size).inner_m
        fx, fy, _ = self._factors(size)
        return self._base_inner_m * min(fx, fy)

    def outer_m(self, size: Size) -> float:
        """Return the radius (m) of a circle around the origin that contains the outline."""
        if not self.kind.is_stretched:
            return self.outline(size).reach_m
        fx, fy, _ = self._factors(size)
        x_m, y_m = self.base_outline.extent_m
        return math.hypot(x_m * fx, y_m * fy) + self.base_outline.radius_m * fx

    @functools.cached_property
    def _base_inner_m(self) -> float:
        return self.base_outline.inner_m

    def height_of_frame_m(self, size: Size) -> float:
        """Return the height (m) of the model frame above the lowest point of the obstacle."""
        return self.lift_m * self._factors(size)[2]

    def height_m(self, size: Size) -> float:
        return self._original_height_m * self._factors(size)[2]

    @functools.cached_property
    def _original_height_m(self) -> float:
        top_m = max(shape.geometry.bounds(shape.local_pose)[2, 1] for shape in self.shapes)
        return float(top_m + self.lift_m)

    def cut(self, size: Size, heights: Heights) -> Optional[Outline]:
        """Return the outline as :meth:`ObstacleKind.cut`, with an empty core if no part of the
        obstacle is between the heights."""
        if not heights.overlap(0.0, self.height_m(size)):
            return Outline(EMPTY)
        return self.kind.cut(self, size, heights)

    def bounds(self, size: Size) -> np.ndarray:
        """Return the bounds (m) of the collision shapes in the model frame, shape (3, 2)."""
        if size not in self._bounds:
            document = SdfDocument.parse(
                self.sdf_file("obstacle", Pose(), size, self.mass_kg, True), "obstacle"
            )
            (model,) = read_scene(document).models.values()
            assert model.bounds is not None, "an obstacle has a collision shape"
            self._bounds[size] = model.bounds
        return self._bounds[size]

    def slice(self, heights: Heights) -> BaseGeometry:
        """Return the outline between two heights (m) for the original size, in the model frame."""
        if heights not in self._slices:
            parts = [shape.geometry.footprint(shape.local_pose, *heights) for shape in self.shapes]
            self._slices[heights] = shapely.union_all(parts)
        return self._slices[heights]

    def mass_of(self, size: Size, density_kgpm3: Optional[float]) -> float:
        return self.kind.mass_kg(self.size, self.mass_kg, size, density_kgpm3)

    def sdf(self, name: str, pose: Pose, size: Size, mass_kg: float, static: bool) -> str:
        """Return the SDF element, without an enclosing ``<sdf>``."""
        if self._writer is not None:
            return self._writer(name, pose, size, mass_kg, static)
        element = self.copy_element()
        _set_name(element, name)
        set_pose(element, pose)
        self.kind.write_static(element, static)
        self.kind.resize(self.document, element, self.size, size, mass_kg)
        return etree.tostring(element, encoding="unicode")

    def sdf_file(self, name: str, pose: Pose, size: Size, mass_kg: float, static: bool) -> str:
        version = self.document.root.get("version", "1.6")
        return f'<sdf version="{version}">\n{self.sdf(name, pose, size, mass_kg, static)}\n</sdf>\n'

    @functools.cached_property
    def _writer(self) -> Optional[Writer]:
        return self.kind.writer(self)

    def copy_element(self) -> Element:
        element = copy.deepcopy(self.element)
        element.tail = None
        return element

    def _factors(self, size: Size) -> Tuple[float, float, float]:
        return self.kind.factors(self.size, size)


def read_model(type_: str, path: Path) -> ObstacleModel:
    """Return the first model of an SDF file. Raises ``SdfError`` for a file without a model, or for
    a model of another type."""
    document = read_world(path)
    if document.model is None:
        raise SdfError(f"{path}: has no <model>")
    library = ModelLibrary()  # expanded and with absolute paths, the model is valid in any file
    for include in list(document.model.iter("include")):
        library.expand(document, include)
    library.absolutize(document, document.model)
    return ObstacleModel.of(type_, next(iter(read_scene(document).models.values())), document)


def type_of(model: SceneModel) -> str:
    for type_ in OBSTACLE_KINDS.names():
        if OBSTACLE_KINDS.get(type_).recognizes(model):
            return type_
    return "model"


def _set_name(element: Element, name: str) -> None:
    # The name is an attribute of a <model>, but a child of an <include>.
    if element.tag != "include":
        element.set("name", name)
        return
    child = element.find("name")
    if child is None:
        child = etree.SubElement(element, "name")
    child.text = name


def set_static(element: Element, static: bool) -> None:
    """Set ``<static>``. A missing ``<static>`` is not added for False, the default."""
    child = element.find("static")
    if child is None:
        if not static:
            return
        child = etree.Element("static")
        child.tail = element.text
        element.insert(0, child)
    child.text = "true" if static else "false"
