"""Read mesh files (STL, OBJ and COLLADA) as triangles, as Gazebo does.

Damaged files and undefined coordinates are rejected: programs interpret them differently.
"""

import functools
import io
import logging
import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import numpy as np
from lxml import etree

from gz_testauto.base.disk import read_file, read_start
from gz_testauto.base.errors import MissingDependencyError, SdfError
from gz_testauto.base.xml_file import parse_xml

MESH_SUFFIXES = (".stl", ".stlb", ".stla", ".obj", ".dae")  # of mesh files that Gazebo 11 loads

MOST_BYTES = 300_000_000

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"

# elements of a COLLADA file that affect only the appearance
_COLORS = tuple(f"{{*}}library_{kind}" for kind in ("images", "effects", "materials"))

# a comment at the end of a line
_OBJ_COMMENT = re.compile(rb"^([ \t]*(?:v|vn|vt|f|l|p)[ \t][^#\n]*)#[^\n]*", re.MULTILINE)

# Sizes (bytes) of the header and of one triangle in a binary STL file. The last four bytes of the
# header contain the number of triangles.
_STL_HEADER, _STL_TRIANGLE = 84, 50


@functools.lru_cache(maxsize=128)
def mesh_parts(path: Path, modified_ns: int) -> List[Tuple[str, np.ndarray]]:
    """Return the named parts of a mesh file, each as triangles (n, 3, 3) in meters. The result is
    cached until ``modified_ns``, the file's time of modification, changes. Raises ``SdfError`` for
    a damaged file, and ``MissingDependencyError`` if a library for the format is missing."""
    suffix = path.suffix.lower()
    if suffix not in MESH_SUFFIXES:
        raise SdfError(
            f"mesh {path}: Gazebo loads STL, OBJ and DAE, not {suffix or 'this'}; convert it"
        )
    try:
        content = read_file(path, MOST_BYTES)
        if content.startswith(_LFS_POINTER):
            raise SdfError(
                f"mesh {path} is only a pointer of Git LFS; fetch the file by `git lfs pull`"
            )
        parts = list(_PARTS[suffix](path, content))
    except (SdfError, MissingDependencyError):
        raise
    except Exception as error:  # mesh readers raise arbitrary exceptions for damaged files
        raise SdfError(
            f"mesh {path} cannot be read: {error or type(error).__name__}; export it again"
        ) from error
    for _, triangles in parts:
        if triangles.ndim != 3 or triangles.shape[1:] != (3, 3):
            raise SdfError(
                f"mesh {path} cannot be read: its vertices have no x, y and z; export it again"
            )
        invalid_count = int((~np.isfinite(triangles).all(axis=(1, 2))).sum())
        if invalid_count:
            raise SdfError(
                f"mesh {path}: {invalid_count} of {len(triangles)} triangles have a vertex with "
                "NaN or infinite coordinates; remove these triangles, or export the mesh again"
            )
    return parts


def is_lfs_pointer(path: Path) -> bool:
    return read_start(path, len(_LFS_POINTER)) == _LFS_POINTER


def _stl_parts(path: Path, content: bytes) -> Iterator[Tuple[str, np.ndarray]]:
    stated_count = int.from_bytes(content[_STL_HEADER - 4 : _STL_HEADER], "little")
    triangle_count = (len(content) - _STL_HEADER) // _STL_TRIANGLE
    is_binary = b"\0" in content[:_STL_HEADER] or not content.lstrip().startswith(b"solid")
    if len(content) == _STL_HEADER + _STL_TRIANGLE * stated_count:
        is_binary = True
    if not is_binary:
        return _trimesh_parts(_utf8(content), "stl_ascii")
    if stated_count > triangle_count:
        raise SdfError(
            f"mesh {path} cannot be read: its binary STL header states {stated_count} triangles, "
            f"but it contains {max(triangle_count, 0)}; export it again"
        )
    return _trimesh_parts(content[: _STL_HEADER + _STL_TRIANGLE * stated_count], "stl")


def _obj_parts(path: Path, content: bytes) -> Iterator[Tuple[str, np.ndarray]]:
    return _trimesh_parts(_OBJ_COMMENT.sub(rb"\1", _utf8(content)), "obj")


def _utf8(content: bytes) -> bytes:
    # Comments and names in mesh files can have any encoding.
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1").encode("utf-8")
    return content


def _trimesh_parts(content: bytes, kind: str) -> Iterator[Tuple[str, np.ndarray]]:
    import trimesh

    # Errors are visible in the result; trimesh would also log tracebacks.
    logging.getLogger("trimesh").addHandler(logging.NullHandler())
    scene: Any = trimesh.load(
        io.BytesIO(content), file_type=kind, process=False, skip_materials=True
    )
    parts = scene.geometry if isinstance(scene, trimesh.Scene) else {"": scene}
    for name, part in parts.items():
        yield name, np.asarray(part.triangles, dtype=float)


def _collada_parts(path: Path, content: bytes) -> Iterator[Tuple[str, np.ndarray]]:
    try:
        import collada
    except ImportError as error:
        raise MissingDependencyError(
            f"reading {path} needs pycollada: python3 -m pip install pycollada"
        ) from error
    ignored_errors = [collada.common.DaeUnsupportedError, collada.common.DaeBrokenRefError]
    root = parse_xml(content, recover=True)
    if root is None:
        raise SdfError(f"mesh {path} cannot be read: it is not XML; export it again")
    if root.getroottree().docinfo.internalDTD is not None:
        raise SdfError(f"mesh {path} cannot be read: it declares entities; remove its DOCTYPE")
    document = collada.Collada(io.BytesIO(_without_appearance(content)), ignore=ignored_errors)
    if document.scene is None:
        return
    unit = document.assetInfo.unitmeter or 1.0
    scale = np.diag([unit, unit, unit, 1.0])
    first_matrices: Dict[str, np.ndarray] = {}
    names = [""]
    for node in document.scene.nodes:
        for name, geometry, matrix in _collada_shapes(node, scale, names):
            # Gazebo places each further instance of a geometry where it has placed the first one.
            matrix = first_matrices.setdefault(geometry.id, matrix)
            for primitive in geometry.primitives:
                if hasattr(primitive, "triangleset"):
                    primitive = primitive.triangleset()
                if primitive.vertex is None or getattr(primitive, "vertex_index", None) is None:
                    continue
                index = np.asarray(primitive.vertex_index)
                if index.ndim == 2 and index.shape[1] == 3:
                    corners = np.asarray(primitive.vertex, dtype=float)[index]
                    yield name, corners @ matrix[:3, :3].T + matrix[:3, 3]


def _without_appearance(content: bytes) -> bytes:
    # Unlike Gazebo, pycollada omits a shape with a comment, or without its material or texture.
    root = parse_xml(content)
    etree.strip_elements(root, etree.Comment, with_tail=False)
    for element in list(root.iter("{*}bind_material", *_COLORS)):
        element.getparent().remove(element)
    return bytes(etree.tostring(root))


def _collada_shapes(
    node: Any, parent: np.ndarray, names: List[str]
) -> Iterator[Tuple[str, Any, np.ndarray]]:
    """Return the name, geometry and transform of each shape below a node, in Gazebo's order.

    Gazebo reads nodes before the shapes of their parent. The name of each node is appended to
    ``names``, and a shape has the last name at that time. ``parent`` is the transform (4, 4) of the
    parent node.
    """
    from collada.scene import MatrixTransform, Node, NodeNode

    matrix, transforms = parent, getattr(node, "transforms", ())
    # Gazebo uses the first <matrix> of a node, and then none of its other transforms.
    matrices = [part for part in transforms if isinstance(part, MatrixTransform)]
    for transform in matrices[:1] or transforms:
        axis = [getattr(transform, value, None) for value in ("x", "y", "z", "angle")]
        has_zero_axis = axis[3] is not None and not any(axis[:3])  # occurs in exported files
        if np.isfinite(transform.matrix).all() and not has_zero_axis:
            matrix = matrix @ np.asarray(transform.matrix, dtype=float)
    if getattr(node, "xmlnode", None) is not None and node.xmlnode.get("name"):
        names.append(node.xmlnode.get("name"))
    children = getattr(node, "children", ())
    references = [child.node for child in children if isinstance(child, NodeNode)]
    nodes = [child for child in children if type(child) is Node]
    for child in [*nodes, *references[:1]]:
        yield from _collada_shapes(child, matrix, names)
    if references:  # Gazebo reads the first <instance_node>, and no shape of the node itself
        return
    for child in children:
        geometry = getattr(child, "geometry", None)
        if geometry is None and hasattr(child, "controller"):
            geometry = child.controller.geometry
        if geometry is not None:
            yield names[-1], geometry, matrix


_PARTS = {
    suffix: _stl_parts if suffix.startswith(".stl") else _obj_parts for suffix in MESH_SUFFIXES
}
_PARTS[".dae"] = _collada_parts
