"""Read ``<geometry>`` elements as shapes.

Invalid values and shapes for which Gazebo 11 computes no collisions are rejected.
"""

from pathlib import Path
from typing import Callable, Dict, Optional, Tuple, Type

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.meshes.surfaces import Heightmap, Mesh
from gz_testauto.sdf.shapes import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Geometry,
    Plane,
    Polyline,
    Sphere,
)
from gz_testauto.sdf.values import flag, non_negative, numbers, required, text_of, vector


def read_geometry(
    document: SdfDocument, geometry: Element, library: ModelLibrary
) -> Optional[Geometry]:
    """Return the shape in a ``<geometry>`` element, or None for ``<empty/>``."""
    children = [child for child in geometry if isinstance(child.tag, str)]
    if not children:
        raise SdfError(f"{document.where(geometry)}: <geometry> is empty; add a shape or <empty/>")
    first = children[0]
    if first.tag == "empty":
        return None
    if first.tag == "polyline":
        return _read_polyline(document, geometry)
    if first.tag in _ROUND:
        shape, tags = _ROUND[first.tag]
        return shape(*(_read_size(document, first, tag) for tag in tags))
    reader = _READERS.get(first.tag)
    if reader is None:
        known_tags = ", ".join(sorted([*_READERS, *_ROUND, "polyline", "empty"]))
        raise SdfError(
            f"{document.where(first)}: geometry <{first.tag}> is not supported, as in Gazebo 11. "
            f"Supported: {known_tags}; replace it by one of these, or by a <mesh> of the same shape"
        )
    return reader(document, first, library)


def _read_box(document: SdfDocument, element: Element, library: ModelLibrary) -> Geometry:
    return Box(non_negative(document, required(document, element, "size"), 3))  # type: ignore[arg-type]


def _read_size(document: SdfDocument, element: Element, tag: str) -> float:
    return non_negative(document, required(document, element, tag), 1)[0]


def _read_ellipsoid(document: SdfDocument, element: Element, library: ModelLibrary) -> Geometry:
    radii = non_negative(document, required(document, element, "radii"), 3)
    if min(radii) == 0:
        raise SdfError(f"{document.where(element)}: an ellipsoid's radii must be above 0")
    return Ellipsoid(radii)  # type: ignore[arg-type]


def _read_plane(document: SdfDocument, element: Element, library: ModelLibrary) -> Geometry:
    size = element.find("size")
    direction = vector(document, element, "normal", (0.0, 0.0, 1.0))
    if not any(direction):
        raise SdfError(f"{document.where(element)}: a plane's normal must not be 0 0 0")
    extent = (1.0, 1.0) if size is None else non_negative(document, size, 2)
    return Plane(direction, extent)  # type: ignore[arg-type]


def _read_polyline(document: SdfDocument, geometry: Element) -> Geometry:
    polylines = geometry.findall("polyline")
    paths = []
    for polyline in polylines:
        points = [numbers(document, point, 2) for point in polyline.findall("point")]
        if len(points) < 3:
            raise SdfError(
                f"{document.where(polyline)}: <polyline> has {len(points)} points; the minimum is 3"
            )
        paths.append(tuple(points))
    return Polyline(tuple(paths), _read_size(document, polylines[0], "height"))  # type: ignore[arg-type]


def _resolve_file(document: SdfDocument, element: Element, library: ModelLibrary) -> Path:
    uri = element.find("uri")
    if uri is None:
        hint = " (<filename> is not read)" if element.find("filename") is not None else ""
        raise SdfError(
            f"{document.where(element)}: <{element.tag}> has no <uri>{hint}; add one with its file"
        )
    return library.resolve(document, uri)


def _read_mesh(document: SdfDocument, element: Element, library: ModelLibrary) -> Geometry:
    submesh = element.find("submesh")
    return Mesh(
        path=_resolve_file(document, element, library),
        scale=vector(document, element, "scale", (1.0, 1.0, 1.0)),
        submesh=None if submesh is None else text_of(submesh, "name"),
        center=submesh is not None and flag(document, submesh, "center"),
    )


def _read_heightmap(document: SdfDocument, element: Element, library: ModelLibrary) -> Geometry:
    return Heightmap(
        path=_resolve_file(document, element, library),
        size=vector(document, element, "size", (1.0, 1.0, 1.0)),
        position=vector(document, element, "pos", (0.0, 0.0, 0.0)),
    )


# shapes with a radius: the class, and the SDF elements in the order of its fields
_ROUND: Dict[str, Tuple[Type[Geometry], Tuple[str, ...]]] = {
    "cylinder": (Cylinder, ("radius", "length")),
    "capsule": (Capsule, ("radius", "length")),
    "sphere": (Sphere, ("radius",)),
}

_READERS: Dict[str, Callable[[SdfDocument, Element, ModelLibrary], Geometry]] = {
    "box": _read_box,
    "ellipsoid": _read_ellipsoid,
    "plane": _read_plane,
    "mesh": _read_mesh,
    "heightmap": _read_heightmap,
}
