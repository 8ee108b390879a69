"""The obstacle kinds with one shape, and that of any model, with their keys in ``obstacles.yaml``.

Kinds of several boxes, such as tables and walls, are in the extra ``obstacle_kinds``.
"""

import math
import re
from html import escape
from typing import ClassVar, List, Optional, Tuple, Type

import shapely
from lxml import etree
from pydantic import Field, model_validator
from typing_extensions import Literal

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sampling.models import (
    Factors,
    ObstacleKind,
    ObstacleModel,
    Size,
    Writer,
    set_static,
)
from gz_testauto.sampling.outline import Outline
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.floor import Heights
from gz_testauto.sdf.scale import resize_model, scale_model, shape_numbers
from gz_testauto.sdf.scene import SceneModel
from gz_testauto.sdf.shapes import Box, Cylinder, Geometry, Sphere
from gz_testauto.sdf.values import format_number, pose_value, set_pose
from gz_testauto.spec.distributions import PositiveDistribution
from gz_testauto.spec.model import LARGEST
from gz_testauto.spec.obstacles import size_key


class ScaledObstacles(ObstacleKind):
    """The base class of obstacle kinds whose models are scaled as a whole, with mass and
    inertia."""

    scale: Optional[PositiveDistribution] = size_key(1.0)
    """Factor that multiplies all lengths of the model."""

    @classmethod
    def measure(cls, model: SceneModel, where: str) -> Tuple[Size, Outline]:
        parts = [c.geometry.footprint(c.local_pose, -math.inf, math.inf) for c in model.collisions]
        return (1.0,), Outline(shapely.unary_union(parts))

    @classmethod
    def factors(cls, model_size: Size, size: Size) -> Factors:
        ratio = size[0] / model_size[0]
        return (ratio, ratio, ratio)

    @classmethod
    def mass_kg(
        cls, model_size: Size, model_kg: float, size: Size, density_kgpm3: Optional[float]
    ) -> float:
        return float(model_kg * size[0] ** 3)

    @classmethod
    def resize(
        cls, document: SdfDocument, element: Element, model_size: Size, size: Size, mass_kg: float
    ) -> None:
        if size != model_size:
            scale_model(element, size[0])


class ModelObstacles(ScaledObstacles):
    """Obstacles with a model of the user. An entry without ``model`` and with a count of 0 only
    specifies the distributions for such models in a saved world."""

    type: Literal["model"]

    @model_validator(mode="after")
    def _require_model(self) -> "ModelObstacles":
        if self.model is None and self.count.max > 0:
            raise ValueError("no model is set; set model to an SDF file, or count to 0")
        return self


class ShapeObstacles(ObstacleKind):
    """The base class of obstacle kinds with a single shape, such as boxes, cylinders and spheres.

    ``model`` is an SDF file with one shape of this kind, which provides the visuals and all sizes
    that are not random; by default, a unit shape of Gazebo.
    """

    # The class in :mod:`gz_testauto.sdf.shapes`, whose fields are the size, in order.
    shape: ClassVar[Type[Geometry]]
    unit: ClassVar[Geometry]
    # The mass of the unit model. The built-in kinds have 100 kg/m³, so that a robot hardly pushes
    # them.
    unit_kg: ClassVar[float]
    color: ClassVar[str]  # red, green, blue and opacity of the unit model
    # Two flags: the shape can be tilted in its model, and it can be rotated about z.
    turns: ClassVar[Tuple[bool, bool]] = (False, True)

    density_kgpm3: Optional[float] = Field(None, gt=0, le=LARGEST)
    """Density (kg/m³). By default, the mass of the model is scaled with the volume."""

    @classmethod
    def geometry(cls, size: Size) -> Geometry:
        return cls.shape(*size)

    @classmethod
    def size_of(cls, geometry: Geometry) -> Size:
        return tuple(value for values in shape_numbers(geometry).values() for value in values)

    @classmethod
    def outline_of(cls, size: Size, x_m: float, y_m: float) -> Outline:
        """Return the circle that an upright shape at ``x_m``, ``y_m`` in the model frame covers."""
        return Outline.disc(x_m, y_m, size[0])

    @classmethod
    def unit_model(cls) -> str:
        kind = cls.shape.__name__.lower()
        numbers = "".join(
            f"<{tag}>{' '.join(map(format_number, values))}</{tag}>"
            for tag, values in shape_numbers(cls.unit).items()
        )
        return _UNIT_MODEL.format(
            kind=kind,
            shape=f"<{kind}>{numbers}</{kind}>",
            mass=cls.unit_kg,
            color=cls.color,
        )

    @classmethod
    def recognizes(cls, model: SceneModel) -> bool:
        try:
            cls.measure(model, "")
        except SdfError:
            return False
        return True

    @classmethod
    def measure(cls, model: SceneModel, where: str) -> Tuple[Size, Outline]:
        shapes, kind = model.collisions, cls.shape.__name__.lower()
        shape = shapes[0]
        if len(shapes) != 1 or not isinstance(shape.geometry, cls.shape):
            raise SdfError(
                f"{where}: model {model.name!r} does not consist of one {kind}; set its type "
                "to model"
            )
        roll, pitch, yaw = shape.local_pose.rpy
        tilted = abs(roll) >= 1e-6 or abs(pitch) >= 1e-6
        can_tilt, can_turn = cls.turns
        if (tilted and not can_tilt) or (abs(yaw) > 1e-6 and not can_turn):
            raise SdfError(
                f"{where}: the {kind} of model {model.name!r} is rotated relative to the model, so "
                "it cannot be scaled; rotate the model instead, or set its type to model"
            )
        x, y, _ = shape.local_pose.position
        size = cls.size_of(shape.geometry)
        return size, cls.outline_of(size, x, y)

    @classmethod
    def factors(cls, model_size: Size, size: Size) -> Factors:
        """Return size / model_size in x, y (that of the first value) and z (of the last)."""
        ratio = size[0] / model_size[0]
        return (ratio, ratio, size[-1] / model_size[-1])

    @classmethod
    def cut(cls, model: ObstacleModel, size: Size, heights: Heights) -> Optional[Outline]:
        if cls.shape in (Box, Cylinder):  # the outline is the same at each height
            return None
        shape, local_pose = cls.geometry(size), model.shapes[0].local_pose
        x, y, _ = (p * f for p, f in zip(local_pose.position, cls.factors(model.size, size)))
        lift_m = -float(shape.bounds(Pose((0.0, 0.0, 0.0), local_pose.quaternion))[2, 0])
        pose = Pose((x, y, lift_m), local_pose.quaternion)
        return Outline(shape.footprint(pose, heights.low_m, heights.high_m))

    @classmethod
    def mass_kg(
        cls, model_size: Size, model_kg: float, size: Size, density_kgpm3: Optional[float]
    ) -> float:
        volume = cls.geometry(size).volume_m3()
        if density_kgpm3 is not None:
            return density_kgpm3 * volume
        return model_kg * volume / cls.geometry(model_size).volume_m3()

    @classmethod
    def resize(
        cls, document: SdfDocument, element: Element, model_size: Size, size: Size, mass_kg: float
    ) -> None:
        _ensure_inertials(element)
        resize_model(document, element, cls.geometry(size), mass_kg)
        for link in element.findall("link"):
            pose = pose_value(document, link.find("pose"))
            if pose.position != (0.0, 0.0, 0.0):
                position = (p * f for p, f in zip(pose.position, cls.factors(model_size, size)))
                set_pose(link, Pose(tuple(position), pose.quaternion))  # type: ignore[arg-type]

    @classmethod
    def writer(cls, model: ObstacleModel) -> Optional[Writer]:
        element = model.copy_element()
        offsets = [pose for pose in element.iter("pose") if pose.getparent() is not element]
        if not all(set((pose.text or "0").split()) <= {"0", "0.0", "-0"} for pose in offsets):
            return None  # an offset depends on the size
        set_static(element, True)
        set_pose(element, Pose())
        _ensure_inertials(element)
        resize_model(model.document, element, cls.geometry(model.size), model.mass_kg)
        return _ModelText(element, cls).fill


class BoxObstacles(ShapeObstacles):
    """Upright boxes."""

    shape: ClassVar[Type[Geometry]] = Box
    unit: ClassVar[Geometry] = Box((1.0, 1.0, 1.0))
    unit_kg: ClassVar[float] = 100.0
    color: ClassVar[str] = "0.85 0.45 0.2 1"
    turns: ClassVar[Tuple[bool, bool]] = (False, False)

    type: Literal["box"]
    size_x_m: Optional[PositiveDistribution] = size_key()
    """Length (m) of the box along x. The default is the length of the model."""
    size_y_m: Optional[PositiveDistribution] = size_key()
    """Length (m) of the box along y. The default is the length of the model."""
    size_z_m: Optional[PositiveDistribution] = size_key()
    """Height (m) of the box. The default is the height of the model."""

    @classmethod
    def geometry(cls, size: Size) -> Geometry:
        return Box(size)  # type: ignore[arg-type]

    @classmethod
    def outline_of(cls, size: Size, x_m: float, y_m: float) -> Outline:
        return Outline.box(*size[:2]).moved(x_m, y_m, 0.0)

    @classmethod
    def factors(cls, model_size: Size, size: Size) -> Factors:
        return (size[0] / model_size[0], size[1] / model_size[1], size[2] / model_size[2])


class CylinderObstacles(ShapeObstacles):
    """Upright cylinders."""

    shape: ClassVar[Type[Geometry]] = Cylinder
    unit: ClassVar[Geometry] = Cylinder(0.5, 1.0)
    unit_kg: ClassVar[float] = 78.53981633974483
    color: ClassVar[str] = "0.25 0.5 0.8 1"
    marker: ClassVar[str] = "CYLINDER"

    type: Literal["cylinder"]
    radius_m: Optional[PositiveDistribution] = size_key()
    """Radius (m) of the cylinder. The default is the radius of the model."""
    length_m: Optional[PositiveDistribution] = size_key()
    """Height (m) of the cylinder. The default is the height of the model."""


class SphereObstacles(ShapeObstacles):
    """Spheres that touch the ground."""

    shape: ClassVar[Type[Geometry]] = Sphere
    unit: ClassVar[Geometry] = Sphere(0.5)
    unit_kg: ClassVar[float] = 52.35987755982989
    color: ClassVar[str] = "0.35 0.65 0.35 1"
    turns: ClassVar[Tuple[bool, bool]] = (True, True)
    marker: ClassVar[str] = "SPHERE"

    type: Literal["sphere"]
    radius_m: Optional[PositiveDistribution] = size_key()
    """Radius (m) of the sphere. The default is the radius of the model."""

    @classmethod
    def cut(cls, model: ObstacleModel, size: Size, heights: Heights) -> Optional[Outline]:
        radius_m = size[0]
        offset_m = max(heights.low_m - radius_m, radius_m - heights.high_m, 0.0)
        cut_m = math.sqrt(radius_m**2 - offset_m**2)
        return Outline(model.outline(size).core, cut_m) if offset_m else None


_MOMENTS = ("ixx", "iyy", "izz")
_GAP = re.compile(r"@gap_(\w+?)@")


class _ModelText:
    """The text of a model with one centered shape, with gaps for name, pose and size."""

    # Filling the gaps is fifty times as fast as editing the XML tree.

    def __init__(self, element: Element, kind: Type[ShapeObstacles]) -> None:
        self._kind = kind
        element.set("name", "@gap_name@")
        gaps: List[Tuple[str, str]] = [("static", "static"), ("pose", "pose")]
        gaps += [("link/inertial/mass", "mass")]
        gaps += [(f"link/inertial/inertia/{moment}", moment) for moment in _MOMENTS]
        for parent_tag in ("collision", "visual"):
            for tag in shape_numbers(kind.unit):
                path = f"link/{parent_tag}/geometry/{kind.shape.__name__.lower()}/{tag}"
                gaps.append((path, tag))
        for path, gap in gaps:
            for child in element.findall(path):
                child.text = f"@gap_{gap}@"
        self._pieces = _GAP.split(etree.tostring(element, encoding="unicode"))
        self._gaps = list(enumerate(self._pieces))[1::2]

    def fill(self, name: str, pose: Pose, size: Size, mass_kg: float, static: bool) -> str:
        shape = self._kind.geometry(size)
        values = {
            "name": escape(name, quote=False).replace('"', "&quot;"),
            "pose": pose.to_text(),
            "static": "true" if static else "false",
            "mass": format_number(mass_kg),
            **dict(zip(_MOMENTS, map(format_number, shape.inertia_kgm2(mass_kg)))),
        }
        for tag, numbers in shape_numbers(shape).items():
            values[tag] = " ".join(map(format_number, numbers))
        parts = self._pieces.copy()
        for index, gap in self._gaps:
            parts[index] = values[gap]
        return "".join(parts)


def _ensure_inertials(element: Element) -> None:
    # SDF's default mass of 1 kg is written, so that it can be scaled with the size.
    for link in element.iter("link"):
        if link.find("inertial") is None:
            inertial = etree.Element("inertial")
            etree.SubElement(inertial, "mass").text = "1"
            link.insert(0, inertial)


_UNIT_MODEL = """<sdf version="1.6">
    <model name="{kind}">
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
