"""Change the size of models: collisions, visuals and inertia are scaled together."""

import dataclasses
from typing import Dict, List, Optional, Tuple

import numpy as np
from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.geometry_reader import read_geometry
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Sphere
from gz_testauto.sdf.values import (
    leading_numbers,
    number,
    numbers,
    pose_value,
    required,
    set_numbers,
    set_pose,
)

_NO_FILES = ModelLibrary(())  # simple shapes do not reference files
# The SDF elements of each simple shape have the names of its fields.
_SIMPLE = {
    shape.__name__.lower(): tuple(field.name for field in dataclasses.fields(shape))
    for shape in (Box, Cylinder, Sphere, Capsule, Ellipsoid)
}
# SDF elements of each shape that are lengths or scale factors of lengths
_LENGTHS = {**_SIMPLE, "mesh": ("scale",), "polyline": ("point", "height"), "empty": ()}
_DIGITS = 9  # nanometers: further digits of a product with a random number are rounding errors
_PRODUCTS = ("ixy", "ixz", "iyz")


def simple_shape(document: SdfDocument, model: Element) -> Geometry:
    """Return the shape of a model whose collisions are all the same box, cylinder, sphere, capsule
    or ellipsoid. Raises ``SdfError`` for any other model."""
    shapes = {shape for _, shape in _simple_shapes(document, model, "collision")}
    if len(shapes) != 1:
        raise SdfError(
            f"{document.where(model)}: model {model.get('name')!r} has "
            f"{len(shapes) or 'no'} simple collision shapes; it must have exactly one size to be "
            "resized"
        )
    return shapes.pop()


def resize_model(
    document: SdfDocument, model: Element, geometry: Geometry, mass_kg: Optional[float] = None
) -> None:
    """Set the size of all collisions and visuals of a model with one simple shape.

    Unless ``mass_kg`` is specified, the mass changes in proportion to the volume. The inertia
    becomes that of the homogeneous solid. Offsets from the origin of the link are scaled, so that a
    box on the ground remains there. Raises ``SdfError`` for another type of shape, if a visual and
    its collision differ in shape, or if the inertia overflows.
    """
    current = simple_shape(document, model)
    if type(current) is not type(geometry):
        raise SdfError(
            f"{document.where(model)}: model {model.get('name')!r} is a "
            f"{type(current).__name__.lower()}, not a {type(geometry).__name__.lower()}"
        )
    ratio = np.asarray(_extent(geometry)) / np.asarray(_extent(current))
    visuals = _simple_shapes(document, model, "visual", strict=True)
    different_visuals = [element for element, shape in visuals if shape != current]
    if different_visuals:
        raise SdfError(
            f"{document.where(different_visuals[0])}: visual {different_visuals[0].get('name')!r} "
            "does not have the shape of the collision, so it cannot be resized with it"
        )
    for element, _ in (*_simple_shapes(document, model, "collision"), *visuals):
        _write_geometry(element, geometry)
        _scale_offset(document, element, ratio)
    for inertial in model.iter("inertial"):
        try:
            mass = mass_kg
            if mass is None:
                growth = geometry.volume_m3() / current.volume_m3()
                mass = growth * number(document, inertial, "mass", 1.0)
            _write_inertia(inertial, geometry, mass)
        except OverflowError as error:
            raise SdfError(
                f"{document.where(model)}: model {model.get('name')!r} is too large, its moments "
                f"of inertia overflow: {geometry}; reduce its size"
            ) from error
        _scale_offset(document, inertial, ratio)


def scale_model(model: Element, factor: float) -> None:
    """Multiply all lengths in a model, except its pose, by ``factor`` in place. Masses and moments
    of inertia are scaled for the same density. Raises ``SdfError`` for a shape that cannot be
    scaled, such as a plane or a terrain."""
    for geometry in model.iter("geometry"):
        for shape in geometry:
            if isinstance(shape.tag, str):
                _scale_shape(model, shape, factor)
    model_pose = model.find("pose")
    for pose in model.iter("pose"):
        values = _read_numbers(pose)
        if pose is not model_pose and values:
            _write_rounded(pose, [*(value * factor for value in values[:3]), *values[3:]])
    for inertial in model.iter("inertial"):
        for mass in inertial.findall("mass"):
            set_numbers(mass, *(value * factor**3 for value in _read_numbers(mass)))
        for moment in inertial.iterfind("inertia/*"):
            set_numbers(moment, *(value * factor**5 for value in _read_numbers(moment)))


def _write_geometry(element: Element, geometry: Geometry) -> None:
    shape = element.find(f"geometry/{type(geometry).__name__.lower()}")
    for tag, values in shape_numbers(geometry).items():
        set_numbers(_ensure_child(shape, tag), *values)


def shape_numbers(geometry: Geometry) -> Dict[str, Tuple[float, ...]]:
    """Return the sizes (m) of a simple shape by the tags of their SDF elements."""
    return {
        tag: value if isinstance(value, tuple) else (value,)
        for tag, value in vars(geometry).items()
    }


def _write_inertia(inertial: Element, geometry: Geometry, mass_kg: float) -> None:
    set_numbers(_ensure_child(inertial, "mass"), mass_kg)
    tensor = _ensure_child(inertial, "inertia")
    for tag, moment in zip(("ixx", "iyy", "izz"), geometry.inertia_kgm2(mass_kg)):
        set_numbers(_ensure_child(tensor, tag), moment)
    for tag in _PRODUCTS:
        product = tensor.find(tag)
        if product is not None:
            set_numbers(product, 0.0)


def scale_geometry(document: SdfDocument, link: Element, scale: Tuple[float, float, float]) -> None:
    """Multiply the sizes of the collisions and visuals of a link, as Gazebo does for ``<scale>`` in
    a ``<state>``.

    The radius of a cylinder or capsule is multiplied by the larger factor of x and y, and the
    radius of a sphere by the largest factor. Poses, mass, planes, polylines, terrain and the meshes
    of collisions do not change.
    """
    x, y, z = scale
    axial_factors: Dict[str, Tuple[float, ...]] = {"radius": (max(x, y),), "length": (z,)}
    factors: Dict[str, Dict[str, Tuple[float, ...]]] = {
        "box": {"size": scale},
        "ellipsoid": {"radii": scale},
        "sphere": {"radius": (max(scale),)},
        "cylinder": axial_factors,
        "capsule": axial_factors,
        "mesh": {"scale": scale},
    }
    for parent in (*link.findall("collision"), *link.findall("visual")):
        for shape in parent.iterfind("geometry/*"):
            if shape.tag == "mesh" and parent.tag == "collision":
                continue
            for tag, axis_factors in factors.get(shape.tag, {}).items():
                element = _ensure_child(shape, tag)
                if shape.tag == "mesh" and not (element.text or "").strip():
                    element.text = "1 1 1"
                values = numbers(document, element, len(axis_factors))
                set_numbers(
                    element, *(value * factor for value, factor in zip(values, axis_factors))
                )


def _ensure_child(parent: Element, tag: str) -> Element:
    child = parent.find(tag)
    return etree.SubElement(parent, tag) if child is None else child


def _simple_shapes(
    document: SdfDocument, model: Element, tag: str, strict: bool = False
) -> List[Tuple[Element, Geometry]]:
    """Return the collisions or visuals with simple shapes. Raises ``SdfError`` for a collision of
    another shape, and with ``strict`` also for a visual."""
    shapes = []
    for element in model.iter(tag):
        geometry = required(document, element, "geometry")
        kinds = [child.tag for child in geometry if isinstance(child.tag, str)]
        if kinds[:1] and kinds[0] in _SIMPLE:
            shape = read_geometry(document, geometry, _NO_FILES)
            if shape is not None:
                shapes.append((element, shape))
        elif strict or (tag == "collision" and kinds != ["empty"]):
            raise SdfError(
                f"{document.where(element)}: {tag} {element.get('name')!r} is a "
                f"{kinds[0] if kinds else 'shape without a kind'}, which has no size to change"
            )
    return shapes


def _extent(geometry: Geometry) -> Tuple[float, float, float]:
    bounds = geometry.bounds(Pose())
    return tuple(float(high - low) for low, high in bounds)  # type: ignore[return-value]


def _scale_offset(document: SdfDocument, element: Element, ratio: np.ndarray) -> None:
    """Multiply the position of an element in its link by the factors ``ratio`` (3,) along the axes
    of the element."""
    pose = pose_value(document, element.find("pose"))
    if pose.position == (0.0, 0.0, 0.0):
        return
    rotated_offset = pose.rotation.T @ np.asarray(pose.position)
    x, y, z = pose.rotation @ (rotated_offset * ratio)
    set_pose(element, Pose((float(x), float(y), float(z)), pose.quaternion))


def _scale_shape(model: Element, shape: Element, factor: float) -> None:
    if shape.tag not in _LENGTHS:
        raise SdfError(
            f"model {model.get('name')!r} has <{shape.tag}> geometry, which cannot be scaled"
        )
    if shape.tag == "mesh" and shape.find("scale") is None:
        etree.SubElement(shape, "scale").text = "1 1 1"
    for tag in _LENGTHS[shape.tag]:
        for length in shape.findall(tag):
            _write_rounded(length, [value * factor for value in _read_numbers(length)])


def _read_numbers(element: Element) -> List[float]:
    return leading_numbers(element.text or "")[0]


def _write_rounded(element: Element, values: List[float]) -> None:
    set_numbers(element, *(round(value, _DIGITS) for value in values))
