"""What an obstacle is made of: a model that can be given another size, place and name.

Owns the reading of a size from a model SDF and the text of the resized model. A box, cylinder
or sphere is a model with one upright collision shape of that kind and may be given other
proportions; any other model may be scaled as a whole. Refuses what it could only get wrong,
and says why.
"""

import copy
import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Optional, Tuple

import shapely
from lxml import etree
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sampling.model_form import ModelForm
from gz_testauto.sampling.outline import Outline
from gz_testauto.sampling.resize import scale_model
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.dynamics import read_mass_kg
from gz_testauto.sdf.floor import Heights
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.mass import volume_m3
from gz_testauto.sdf.meshes.slices import EMPTY
from gz_testauto.sdf.scale import resize_model
from gz_testauto.sdf.scene import CollisionShape, SceneModel, read_scene
from gz_testauto.sdf.shapes import Box, Cylinder, Geometry, Sphere
from gz_testauto.sdf.values import pose_value, set_pose

Size = Tuple[float, ...]

_UNIT_SHAPES = {
    "box": ("<box><size>1 1 1</size></box>", 100.0, "0.85 0.45 0.2 1"),
    "cylinder": (
        "<cylinder><radius>0.5</radius><length>1</length></cylinder>",
        78.53981633974483,
        "0.25 0.5 0.8 1",
    ),
    "sphere": ("<sphere><radius>0.5</radius></sphere>", 52.35987755982989, "0.35 0.65 0.35 1"),
}
"""Shape, mass in kg (100 kg/m³: what is dynamic is hard to push) and colour."""

_UNIT_MODEL = """<sdf version="1.6">
    <model name="{type}">
      <static>true</static>
      <pose>0 0 0 0 0 0</pose>
      <link name="link">
        <inertial>
          <mass>{mass}</mass>
        </inertial>
        <collision name="collision">
          <geometry>{shape}</geometry>
        </collision>
        <visual name="visual">
          <geometry>{shape}</geometry>
          <material><ambient>{color}</ambient><diffuse>{color}</diffuse></material>
        </visual>
      </link>
    </model>
</sdf>
"""


@dataclass(frozen=True, eq=False)
class ObstacleModel:
    """One kind of obstacle, in the size ``size`` that it has before anybody changes it.

    ``type`` is box, cylinder, sphere or model; ``size`` is as
    ``gz_testauto.spec.obstacles.SIZE_NAMES`` orders it (of a model: its scale, 1).
    ``lift_m`` is the height of the model's frame above its lowest point and ``base_outline``
    what it covers, both in that size and in the model's frame; ``shapes`` are its
    collisions. ``element`` is the ``<model>`` or ``<include>`` of ``document`` that stands for it.
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

    @classmethod
    def unit(cls, type_: str) -> "ObstacleModel":
        """Gazebo's unit shape of that type: 1 m across, 1 m high, static unless said."""
        shape, mass, color = _UNIT_SHAPES[type_]
        text = _UNIT_MODEL.format(type=type_, shape=shape, mass=mass, color=color)
        document = SdfDocument.parse(text, f"unit {type_}")
        return cls.of(type_, next(iter(read_scene(document).models.values())), document)

    @classmethod
    def of(cls, type_: str, model: SceneModel, document: SdfDocument) -> "ObstacleModel":
        """A model of a scene, to be used as obstacles of ``type_``.

        Raises ``SdfError`` when it is nothing of that type, or has no collision shape.
        """
        where = document.where(model.element)
        if not model.collisions:
            raise SdfError(f"{where}: model {model.name!r} has no collision shape")
        bottom = min(c.geometry.bounds(c.local_pose)[2, 0] for c in model.collisions)
        element = copy.deepcopy(model.element)
        if type_ == "model":
            size, outline = _whole(model)
        else:
            size, outline = _primitive(type_, model, where)
            _ensure_inertials(element)
        if min(size) <= 0:
            raise SdfError(f"{where}: model {model.name!r} has a size of 0; give it a larger one")
        mass = sum(
            read_mass_kg(nested.document, link.element)
            for _, nested, _ in model.node.walk()
            for link in nested.links
        )
        return cls(
            type_,
            size,
            model.static,
            mass,
            -float(bottom),
            outline,
            model.collisions,
            element,
            document,
        )

    @property
    def resizable(self) -> bool:
        """False for an include: it can be moved, but has to be expanded to be resized."""
        return bool(self.element.tag == "model") and self.element.find(".//include") is None

    def outline(self, size: Size) -> Outline:
        """What the obstacle covers in that size, in the model's frame."""
        fx, fy, _ = self._factors(size)
        return self.base_outline.scaled(fx, fy)

    def inner_m(self, size: Size) -> float:
        """Radius (m) of a circle around the model's frame that the outline in that size holds."""
        fx, fy, _ = self._factors(size)
        return self._base_inner_m * min(fx, fy)

    def outer_m(self, size: Size) -> float:
        """Radius (m) of a circle around the model's frame that holds the outline in that size."""
        fx, fy, _ = self._factors(size)
        x_m, y_m = self.base_outline.extent_m
        return math.hypot(x_m * fx, y_m * fy) + self.base_outline.radius_m * fx

    @functools.cached_property
    def _base_inner_m(self) -> float:
        return self.base_outline.inner_m

    def height_of_frame_m(self, size: Size) -> float:
        """Height of the model's frame above its lowest point in that size."""
        return self.lift_m * self._factors(size)[2]

    def height_m(self, size: Size) -> float:
        """Height of the highest point above the lowest in that size."""
        return self._own_height_m * self._factors(size)[2]

    @functools.cached_property
    def _own_height_m(self) -> float:
        top_m = max(shape.geometry.bounds(shape.local_pose)[2, 1] for shape in self.shapes)
        return float(top_m + self.lift_m)

    def cut(self, size: Size, heights: Heights) -> Optional[Outline]:
        """What of the obstacle, in that size, lies between two heights above its lowest point, in
        the model's frame; its core is empty where nothing does. None where that covers as much
        as the whole obstacle."""
        height_m = self.height_m(size)
        if not heights.meet(0.0, height_m):
            return Outline(EMPTY)
        if self.type in ("box", "cylinder"):
            return None
        if self.type == "sphere":
            radius_m = size[0]
            away_m = max(heights.low_m - radius_m, radius_m - heights.high_m, 0.0)
            cut_m = math.sqrt(radius_m**2 - away_m**2)
            return Outline(self.outline(size).core, cut_m) if away_m else None
        scale = self._factors(size)[2]
        low_m, high_m = heights.low_m / scale - self.lift_m, heights.high_m / scale - self.lift_m
        core = self._slice(low_m, high_m)
        return Outline(shapely.transform(core, lambda points: points * scale))

    @functools.cached_property
    def _slices(self) -> Dict[Tuple[float, float], BaseGeometry]:
        return {}

    def _slice(self, low_m: float, high_m: float) -> BaseGeometry:
        """What lies between two heights in the model's frame, in its own size."""
        key = (low_m, high_m)
        if key not in self._slices:
            parts = [shape.geometry.footprint(shape.local_pose, *key) for shape in self.shapes]
            self._slices[key] = shapely.union_all(parts)
        return self._slices[key]

    def mass_of(self, size: Size, density_kgpm3: Optional[float]) -> float:
        """Mass (kg) in that size: by density, or the model's own scaled with the volume."""
        if self.type == "model":
            return float(self.mass_kg * size[0] ** 3)
        volume = volume_m3(_geometry(self.type, size))
        if density_kgpm3 is not None:
            return density_kgpm3 * volume
        return self.mass_kg * volume / self._own_volume_m3

    @functools.cached_property
    def _own_volume_m3(self) -> float:
        return volume_m3(_geometry(self.type, self.size))

    def sdf(self, name: str, pose: Pose, size: Size, mass_kg: float, static: bool) -> str:
        """The element that places such an obstacle, as text, without the ``<sdf>`` around it."""
        if self._form is not None:
            return self._form.fill(name, pose, _geometry(self.type, size), mass_kg, static)
        element = copy.deepcopy(self.element)
        element.tail = None
        _set_name(element, name)
        set_pose(element, pose)
        _set_static(element, static)
        if self.type != "model":
            resize_model(self.document, element, _geometry(self.type, size), mass_kg)
            self._move_links(element, size)
        elif size != self.size:
            scale_model(element, size[0])
        return etree.tostring(element, encoding="unicode")

    @functools.cached_property
    def _form(self) -> Optional[ModelForm]:
        """The text with gaps, of a model in which no offset changes with the size."""
        offsets = [
            pose for pose in self.element.iter("pose") if pose.getparent() is not self.element
        ]
        centered = all(set((pose.text or "0").split()) <= {"0", "0.0", "-0"} for pose in offsets)
        if self.type == "model" or not centered:
            return None
        element = copy.deepcopy(self.element)
        element.tail = None
        _set_static(element, True)
        set_pose(element, Pose())
        resize_model(self.document, element, _geometry(self.type, self.size), self.mass_kg)
        return ModelForm(element, self.type)

    def _move_links(self, element: Element, size: Size) -> None:
        """Stretch what is between the model's frame and its link's."""
        for link in element.findall("link"):
            pose = pose_value(self.document, link.find("pose"))
            if pose.position != (0.0, 0.0, 0.0):
                stretched = (p * factor for p, factor in zip(pose.position, self._factors(size)))
                set_pose(link, Pose(tuple(stretched), pose.quaternion))  # type: ignore[arg-type]

    def _factors(self, size: Size) -> Tuple[float, float, float]:
        """By how much x, y and z are stretched to come to ``size``."""
        ratio = [new / old for new, old in zip(size, self.size)]
        if self.type == "box":
            return (ratio[0], ratio[1], ratio[2])
        return (ratio[0], ratio[0], ratio[-1])


def read_model(type_: str, path: Path) -> ObstacleModel:
    """The first model of an SDF file as obstacles of ``type_``; raises ``SdfError``.

    Includes in it are expanded and relative paths made absolute, so that it stands in any
    other file.
    """
    document = SdfDocument.read(path)
    if document.model is None:
        raise SdfError(f"{path}: holds no <model>")
    library = ModelLibrary()
    for include in list(document.model.iter("include")):
        library.expand(document, include)
    library.absolutize(document, document.model)
    return ObstacleModel.of(type_, next(iter(read_scene(document).models.values())), document)


def type_of(model: SceneModel) -> str:
    """What a model found in a world is: box, cylinder or sphere when it is just one upright
    shape of that kind, else model."""
    for type_ in _SHAPES:
        try:
            _primitive(type_, model, "")
        except SdfError:
            continue
        return type_
    return "model"


_SHAPES = {"box": Box, "cylinder": Cylinder, "sphere": Sphere}


def _geometry(type_: str, size: Size) -> Geometry:
    return Box(size) if type_ == "box" else _SHAPES[type_](*size)  # type: ignore[arg-type]


def _primitive(type_: str, model: SceneModel, where: str) -> Tuple[Size, Outline]:
    """Size and outline of a model that is one upright shape, else ``SdfError``."""
    shapes = model.collisions
    shape = shapes[0]
    if len(shapes) != 1 or not isinstance(shape.geometry, _SHAPES[type_]):
        raise SdfError(
            f"{where}: model {model.name!r} is not just one {type_}; use it as type: model"
        )
    roll, pitch, yaw = shape.local_pose.rpy
    upright = abs(roll) < 1e-6 and abs(pitch) < 1e-6
    if (type_ != "sphere" and not upright) or (type_ == "box" and abs(yaw) > 1e-6):
        raise SdfError(
            f"{where}: the {type_} of model {model.name!r} is turned in its model, so it cannot "
            "be stretched; turn the model instead, or use it as type: model"
        )
    x, y, _ = shape.local_pose.position
    geometry = shape.geometry
    if isinstance(geometry, Box):
        return geometry.size, Outline.box(*geometry.size[:2]).moved(x, y, 0.0)
    disc = Outline.disc(x, y, geometry.radius)
    if isinstance(geometry, Cylinder):
        return (geometry.radius, geometry.length), disc
    return (geometry.radius,), disc


def _whole(model: SceneModel) -> Tuple[Size, Outline]:
    """Scale 1, and all of a model's collision shapes from above, in its own frame."""
    parts = [c.geometry.footprint(c.local_pose, -math.inf, math.inf) for c in model.collisions]
    return (1.0,), Outline(shapely.unary_union(parts))


def _ensure_inertials(element: Element) -> None:
    """Say what SDF leaves unsaid, so that mass and inertia can follow the size."""
    for link in element.iter("link"):
        if link.find("inertial") is None:
            inertial = etree.Element("inertial")
            etree.SubElement(inertial, "mass").text = "1"
            link.insert(0, inertial)


def _set_name(element: Element, name: str) -> None:
    """A model bears its name as an attribute, an include as a child."""
    if element.tag != "include":
        element.set("name", name)
        return
    child = element.find("name")
    if child is None:
        child = etree.SubElement(element, "name")
    child.text = name


def _set_static(element: Element, static: bool) -> None:
    child = element.find("static")
    if child is None:
        if not static:
            return
        child = etree.Element("static")
        child.tail = element.text
        element.insert(0, child)
    child.text = "true" if static else "false"
