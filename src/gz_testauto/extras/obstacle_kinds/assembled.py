"""The base class of obstacle kinds of several boxes, which are computed for each size."""

import functools
from typing import Any, ClassVar, List, NamedTuple, Optional, Sequence, Tuple, Type

import numpy as np
import shapely
from pydantic import model_validator

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sampling.models import Factors, ObstacleKind, ObstacleModel, Size
from gz_testauto.sampling.outline import Outline
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.floor import Heights
from gz_testauto.sdf.scene import SceneModel
from gz_testauto.sdf.shapes import Box
from gz_testauto.sdf.values import format_number

NEGLIGIBLE_M = 1e-6
_UNIT_NAME = "assembled"
_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_TRIANGLES = np.array(
    [
        [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
        [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ]
)  # fmt: skip
"""Corners of the triangles of a box, counter-clockwise as seen from outside."""


class BoxPart(NamedTuple):
    """A box in the model frame, with its center and its sizes along x, y and z."""

    x_m: float
    y_m: float
    z_m: float
    size_x_m: float
    size_y_m: float
    size_z_m: float

    @classmethod
    def between(
        cls, low: Tuple[float, float, float], high: Tuple[float, float, float]
    ) -> "BoxPart":
        """Return the box between two opposite corners."""
        (x0, y0, z0), (x1, y1, z1) = low, high
        return cls((x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2, x1 - x0, y1 - y0, z1 - z0)

    @property
    def box(self) -> Box:
        return Box(self[3:])


class AssembledKind(ObstacleKind):
    """The base class of obstacle kinds of boxes in one link."""

    is_stretched: ClassVar[bool] = False
    color: ClassVar[str]
    """Red, green, blue and opacity."""
    part_name: ClassVar[str] = "part"
    """Prefix of the names of the collisions and visuals."""
    can_be_pushed: ClassVar[bool] = True
    """False if the models have no mass and must be static."""
    density_default_kgpm3: ClassVar[float] = 600.0
    """Density of an entry without ``density_kgpm3``: that of wood."""
    fits: ClassVar[Tuple[Tuple[float, str, str], ...]] = ()
    """Conditions: a factor, a size, and the size that must be greater than their product."""
    marker: ClassVar[str] = "TRIANGLE_LIST"

    @model_validator(mode="after")
    def _require_fit(self) -> "AssembledKind":
        if self.model is not None:
            raise ValueError(f"a {self.type} has no model; remove model, or set type to model")
        if self.static is False and not self.can_be_pushed:
            raise ValueError(f"a {self.type} cannot be pushed; remove static")
        for factor, name, other in self.fits:
            largest, smallest = factor * self.bound(name, 1), self.bound(other, 0)
            if largest >= smallest:
                product = name if factor == 1 else f"{factor:g} × {name}"
                raise ValueError(
                    f"{product} can be {largest:g}, and {other} can be {smallest:g}; reduce "
                    f"{name}, or enlarge {other}"
                )
        return self

    def bound(self, name: str, which: int) -> float:
        """Return the smallest (``which`` is 0) or largest (1) value of a size."""
        drawn: Any = getattr(self, name)
        if drawn is None:
            return self.default_size[self.size_names.index(name)]
        return float(drawn.support[which])

    @classmethod
    def parts_of(cls, size: Size) -> List[BoxPart]:
        """Return the boxes of an obstacle, with the lowest box on z = 0."""
        raise NotImplementedError

    @classmethod
    def unit_model(cls) -> str:
        return (
            f'<sdf version="1.6"><model name="{_UNIT_NAME}"><static>true</static>'
            '<pose>0 0 0 0 0 0</pose><link name="link">'
            f"{cls._link_xml(cls.default_size, None)}</link></model></sdf>"
        )

    @classmethod
    def measure(cls, model: SceneModel, where: str) -> Tuple[Size, Outline]:
        """Return the size and outline of :meth:`unit_model`; raise ``SdfError`` for models in a
        world, whose size cannot be determined."""
        if model.name != _UNIT_NAME:
            raise SdfError(
                f"{where}: the size of {model.name!r} cannot be changed after it was written; set "
                "the type of its entry to model"
            )
        return cls.default_size, _outline_of(cls, cls.default_size)

    @classmethod
    def outline_of_size(cls, model: ObstacleModel, size: Size) -> Outline:
        return _outline_of(cls, size)

    @classmethod
    def factors(cls, model_size: Size, size: Size) -> Factors:
        return 1.0, 1.0, _height_m(cls, size) / _height_m(cls, model_size)

    @classmethod
    def cut(cls, model: ObstacleModel, size: Size, heights: Heights) -> Optional[Outline]:
        outlines = [
            part.box.footprint(Pose(part[:3]), heights.low_m, heights.high_m)
            for part in _parts_of(cls, size)
        ]
        return Outline(shapely.union_all(outlines))

    @classmethod
    def mass_kg(
        cls, model_size: Size, model_kg: float, size: Size, density_kgpm3: Optional[float]
    ) -> float:
        density = cls.density_default_kgpm3 if density_kgpm3 is None else density_kgpm3
        return density * sum(part.box.volume_m3() for part in _parts_of(cls, size))

    @classmethod
    def resize(
        cls, document: SdfDocument, element: Element, model_size: Size, size: Size, mass_kg: float
    ) -> None:
        link = element.find("link")
        for child in list(link):
            link.remove(child)
        link.extend(parse_xml(f"<link>{cls._link_xml(size, mass_kg)}</link>".encode()))

    @classmethod
    def triangles(cls, size: Size) -> np.ndarray:
        parts = np.array(_parts_of(cls, size))
        corners = parts[:, None, :3] + _CORNERS * parts[:, None, 3:]
        return corners[:, _TRIANGLES].reshape(-1, 3, 3)

    @classmethod
    def _link_xml(cls, size: Size, mass_kg: Optional[float]) -> str:
        texts = []
        if cls.can_be_pushed:
            mass_kg = cls.mass_kg(size, 0.0, size, None) if mass_kg is None else mass_kg
            texts.append(_inertial_xml(_parts_of(cls, size), mass_kg))
        for number, part in enumerate(_parts_of(cls, size)):
            pose = " ".join(map(format_number, (*part[:3], 0.0, 0.0, 0.0)))
            sides = " ".join(map(format_number, part[3:]))
            shape = f"<pose>{pose}</pose><geometry><box><size>{sides}</size></box></geometry>"
            name = f"{cls.part_name}_{number}"
            texts.append(
                f'<collision name="{name}">{shape}</collision>'
                f'<visual name="{name}">{shape}<material><ambient>{cls.color}</ambient>'
                f"<diffuse>{cls.color}</diffuse></material></visual>"
            )
        return "".join(texts)


@functools.lru_cache(maxsize=4096)
def _parts_of(kind: Type[AssembledKind], size: Size) -> Tuple[BoxPart, ...]:
    return tuple(kind.parts_of(size))


@functools.lru_cache(maxsize=4096)
def _outline_of(kind: Type[AssembledKind], size: Size) -> Outline:
    return outline_of_boxes(_parts_of(kind, size))


def _height_m(kind: Type[AssembledKind], size: Size) -> float:
    return max(part.z_m + part.size_z_m / 2 for part in _parts_of(kind, size))


def outline_of_boxes(parts: Sequence[BoxPart]) -> Outline:
    x, y, _, dx, dy, _ = np.array(parts).T
    return Outline(shapely.union_all(shapely.box(x - dx / 2, y - dy / 2, x + dx / 2, y + dy / 2)))


def _inertial_xml(parts: Tuple[BoxPart, ...], mass_kg: float) -> str:
    volumes = np.array([part.box.volume_m3() for part in parts])
    masses = mass_kg * volumes / volumes.sum()
    centers = np.array([part[:3] for part in parts])
    center = (masses[:, None] * centers).sum(axis=0) / mass_kg
    tensor = np.zeros((3, 3))
    for part, mass, offset in zip(parts, masses, centers - center):
        tensor += np.diag(part.box.inertia_kgm2(float(mass)))
        tensor += mass * ((offset * offset).sum() * np.eye(3) - np.outer(offset, offset))
    moments = "".join(
        f"<i{a}{b}>{format_number(float(tensor[row, column]))}</i{a}{b}>"
        for row, a in enumerate("xyz")
        for column, b in enumerate("xyz")
        if row <= column
    )
    pose = " ".join(map(format_number, (*map(float, center), 0.0, 0.0, 0.0)))
    mass = format_number(mass_kg)
    return (
        f"<inertial><pose>{pose}</pose><mass>{mass}</mass><inertia>{moments}</inertia></inertial>"
    )
