"""Scales a whole model's SDF by one factor.

Owns which numbers of a model are lengths: sizes of geometry, offsets of whatever is in it;
mass grows with the volume, inertia with mass times length squared. Giving a simple shape other
proportions is :mod:`gz_testauto.sdf.scale`'s.
"""

from typing import Dict, List, Tuple

from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.values import leading_numbers, set_numbers

_LENGTHS: Dict[str, Tuple[str, ...]] = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "ellipsoid": ("radii",),
    "mesh": ("scale",),
    "polyline": ("point", "height"),
    "empty": (),
}

_DIGITS = 9  # nanometres: what a product with a drawn number has beyond that is rounding


def scale_model(model: Element, factor: float) -> None:
    """Multiply every length below ``model`` by ``factor``, in place; its own pose stays.

    Raises ``SdfError`` when it has a shape that cannot be scaled (planes, terrain).
    """
    for geometry in model.iter("geometry"):
        for shape in geometry:
            if isinstance(shape.tag, str):
                _scale_shape(model, shape, factor)
    own = model.find("pose")
    for pose in model.iter("pose"):
        numbers = _numbers(pose)
        if pose is not own and numbers:
            _write(pose, [*(value * factor for value in numbers[:3]), *numbers[3:]])
    for inertial in model.iter("inertial"):
        for mass in inertial.findall("mass"):
            set_numbers(mass, *(value * factor**3 for value in _numbers(mass)))
        for moment in inertial.iterfind("inertia/*"):
            set_numbers(moment, *(value * factor**5 for value in _numbers(moment)))


def _scale_shape(model: Element, shape: Element, factor: float) -> None:
    if shape.tag not in _LENGTHS:
        raise SdfError(
            f"model {model.get('name')!r} has <{shape.tag}> geometry, which cannot be scaled"
        )
    if shape.tag == "mesh" and shape.find("scale") is None:
        etree.SubElement(shape, "scale").text = "1 1 1"
    for tag in _LENGTHS[shape.tag]:
        for length in shape.findall(tag):
            _write(length, [value * factor for value in _numbers(length)])


def _numbers(element: Element) -> List[float]:
    return leading_numbers(element.text or "")[0]


def _write(element: Element, values: List[float]) -> None:
    set_numbers(element, *(round(value, _DIGITS) for value in values))
