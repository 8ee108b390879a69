"""Shapes with the surface in a separate file: meshes and height maps."""

import functools
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.disk import read_file
from gz_testauto.base.errors import (
    ALLOW_MISSING_HINT,
    MissingDependencyError,
    MissingFileError,
    SdfError,
)
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.meshes import slices
from gz_testauto.sdf.meshes.files import mesh_parts
from gz_testauto.sdf.meshes.slices import EMPTY
from gz_testauto.sdf.meshes.solids import find_solids
from gz_testauto.sdf.shapes import Geometry

MAX_PIXELS = 8193  # per side of a height map
FARTHEST_M = 1e6  # distance of a surface from its origin; follows from the grid size of outlines


@dataclass(frozen=True)
class TriangleMesh:
    """Triangles (n, 3, 3) in meters, and a mask (n,) of those that enclose a solid."""

    triangles: np.ndarray
    closed: np.ndarray


@dataclass(frozen=True)
class Mesh(Geometry):
    """A triangle mesh from a file.

    ``submesh`` selects the first part of the file with this name. If ``center`` is True, the center
    of the bounding box of this part is moved to the origin.
    """

    path: Path
    scale: Tuple[float, float, float] = (1.0, 1.0, 1.0)
    submesh: Optional[str] = None
    center: bool = False

    @property
    def surface(self) -> TriangleMesh:
        """Return the triangles in the frame of the shape, with the scale applied."""
        return _scaled_surface(self, _modified_ns(self.path))

    def bounds(self, pose: Pose) -> np.ndarray:
        return _cached_bounds(self, _modified_ns(self.path), pose).copy()

    def footprint(self, pose: Pose, z_min: float, z_max: float) -> BaseGeometry:
        """Return the outline between two heights, including the interior of closed parts."""
        x, y, z = pose.position
        yaw = pose.yaw_rad
        # in the rotated frame the outline does not depend on position and yaw
        tilt = Pose.from_rpy(0, 0, 0, 0, 0, -yaw) * Pose((0.0, 0.0, 0.0), pose.quaternion)
        key = tuple(round(value, 9) + 0.0 for value in tilt.quaternion)
        if key[3] < 0:
            key = tuple(-value for value in key)
        modified_ns = _modified_ns(self.path)
        flat = _cached_outline(self, modified_ns, key, round(z_min - z, 6), round(z_max - z, 6))
        turn = _row_rotation(yaw)
        return shapely.transform(flat, lambda points: points @ turn + (x, y))


def _modified_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError as error:
        raise SdfError(f"file {path} does not exist") from error


@functools.lru_cache(maxsize=16384)
def _cached_bounds(mesh: Mesh, modified_ns: int, pose: Pose) -> np.ndarray:
    points = pose.apply(_scaled_surface(mesh, modified_ns).triangles.reshape(-1, 3))
    return np.column_stack([points.min(axis=0), points.max(axis=0)])


@functools.lru_cache(maxsize=4096)
def _cached_outline(
    mesh: Mesh, modified_ns: int, quaternion: Tuple[float, ...], z_min: float, z_max: float
) -> BaseGeometry:
    surface = _scaled_surface(mesh, modified_ns)
    triangles = Pose((0.0, 0.0, 0.0), quaternion).apply(surface.triangles)  # type: ignore[arg-type]
    kinds = ((triangles[surface.closed], True), (triangles[~surface.closed], False))
    return slices.union(
        slices.surface_slab(part, is_closed, z_min, z_max) for part, is_closed in kinds
    )


@functools.lru_cache(maxsize=2048)
def _scaled_surface(mesh: Mesh, modified_ns: int) -> TriangleMesh:
    parts = mesh_parts(mesh.path, modified_ns)
    if mesh.submesh is not None:
        selected_parts = [triangles for name, triangles in parts if name == mesh.submesh]
        if not selected_parts:
            names = ", ".join(sorted({name for name, _ in parts if name})) or "none has a name"
            raise SdfError(
                f"{mesh.path} has no submesh {mesh.submesh!r}. Submeshes of the file: {names}"
            )
        del selected_parts[1:]  # Gazebo uses the first part with this name for collisions
    else:
        selected_parts = [triangles for _, triangles in parts]
    if not selected_parts or not sum(map(len, selected_parts)):
        raise MissingFileError(
            f"mesh {mesh.path} contains no triangles; export it again; {ALLOW_MISSING_HINT}"
        )
    triangles = np.concatenate(selected_parts)
    if mesh.submesh is not None and mesh.center:
        corners = triangles.reshape(-1, 3)
        triangles = triangles - (corners.min(axis=0) + corners.max(axis=0)) / 2
    triangles, is_closed = find_solids(triangles)
    scaled_triangles = triangles * np.asarray(mesh.scale, dtype=float)
    farthest_m = float(np.abs(scaled_triangles).max())
    if not farthest_m <= FARTHEST_M:
        scale = " ".join(f"{factor:g}" for factor in mesh.scale)
        raise SdfError(
            f"{mesh.path} with scale {scale} extends {farthest_m:.3g} m from its origin; the limit "
            f"is {FARTHEST_M:g} m; correct its scale or its unit, which must be meters"
        )
    if np.prod(mesh.scale) < 0:
        scaled_triangles = scaled_triangles[:, ::-1]
    return TriangleMesh(scaled_triangles, is_closed)


@dataclass(frozen=True)
class Heightmap(Geometry):
    """A terrain that is read from a square gray image.

    As in Gazebo, the brightest pixel has the height ``size[2]`` (m), and black has the height 0.
    For collisions, Gazebo 11 centers the map at the origin of the world, at the height
    ``position[2]``, and rotates it only by the yaw of the collision.
    """

    path: Path
    size: Tuple[float, float, float]
    position: Tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def heights(self) -> np.ndarray:
        """Return the heights (m) above ``position``, shape (rows, columns). Row 0 has the highest y
        coordinate."""
        brightness = _brightness(self.path, _modified_ns(self.path))
        highest = brightness.max()
        if (brightness == 1 / 255).any():
            highest = 1.0  # Gazebo reads a pixel with the value 1 as white
        return brightness * (abs(self.size[2]) / highest if highest > 0 else 0.0)

    def bounds(self, pose: Pose) -> np.ndarray:
        heights = self.heights + self.position[2]
        cos, sin = abs(math.cos(pose.yaw_rad)), abs(math.sin(pose.yaw_rad))
        half_x = (self.size[0] * cos + self.size[1] * sin) / 2
        half_y = (self.size[0] * sin + self.size[1] * cos) / 2
        levels = (float(heights.min()), float(heights.max()))
        return np.array([(-half_x, half_x), (-half_y, half_y), levels])

    def footprint(self, pose: Pose, z_min: float, z_max: float) -> BaseGeometry:
        """Return the outline of the cells whose highest corner is at ``z_min`` or above. A cell is
        the square between four neighboring pixels."""
        # The ground is solid down to any depth, so z_max has no effect.
        if not max(self.size[:2]) <= FARTHEST_M:
            raise SdfError(
                f"height map {self.path} is {max(self.size[:2]):.3g} m wide; at most "
                f"{FARTHEST_M:g} m are supported; correct its <size>"
            )
        heights = self.heights + self.position[2]
        corners = (heights[:-1, :-1], heights[1:, :-1], heights[:-1, 1:], heights[1:, 1:])
        high = np.maximum.reduce(corners) >= z_min
        rows, columns = high.shape
        width, depth = self.size[0] / columns, self.size[1] / rows
        left, top = -self.size[0] / 2, self.size[1] / 2
        strips = []
        for row in range(rows):
            edges = np.flatnonzero(np.diff(np.concatenate([[False], high[row], [False]])))
            for start, stop in zip(edges[::2], edges[1::2]):
                upper = top - row * depth
                strips.append(
                    shapely.box(left + start * width, upper - depth, left + stop * width, upper)
                )
        if not strips:
            return EMPTY
        turn = _row_rotation(pose.yaw_rad)
        return shapely.transform(slices.union(strips), lambda points: points @ turn)


def _row_rotation(yaw_rad: float) -> np.ndarray:
    """Return the matrix that rotates row vectors by multiplication from the right."""
    cos, sin = math.cos(yaw_rad), math.sin(yaw_rad)
    return np.array([[cos, sin], [-sin, cos]])


def _is_gray(image: Any, gray: np.ndarray) -> bool:
    """Return whether the bytes of an image, which Gazebo reads, equal its brightness ``gray``. It
    must have 8 bits per channel and equal color channels. In an image with a palette, the indices
    must equal the brightness."""
    if image.mode not in ("L", "LA", "P", "RGB", "RGBA"):
        return False
    pixels = np.asarray(image)
    if image.mode == "P":
        return bool(np.array_equal(pixels, gray))
    return len(image.mode) < 3 or bool((pixels[..., :3] == gray[..., None]).all())


@functools.lru_cache(maxsize=8)
def _brightness(path: Path, modified_ns: int) -> np.ndarray:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependencyError(
            f"reading {path} needs Pillow: python3 -m pip install pillow"
        ) from error
    try:
        with Image.open(io.BytesIO(read_file(path))) as image:
            columns, rows = image.size
            if rows != columns or not 2 <= rows <= MAX_PIXELS:
                raise SdfError(
                    f"height map {path} is {columns} × {rows} pixels; it must be a square of 2 to "
                    f"{MAX_PIXELS} pixels per side, since Gazebo aborts otherwise"
                )
            gray = np.asarray(image.convert("L"))
            if not _is_gray(image, gray):
                raise SdfError(
                    f"height map {path} has the mode {image.mode}, and Gazebo 11 reads other "
                    "heights than its brightness; save it as a gray image with 8 bits per pixel"
                )
            if image.format != "PNG" and gray.max() < 255:
                raise SdfError(
                    f"height map {path} is a {image.format} without a white pixel, and Gazebo 11 "
                    "scales its heights in another way than those of a PNG; save it as a PNG"
                )
            return gray.astype(float) / 255.0
    except SdfError:
        raise
    except Exception as error:  # image readers raise arbitrary exceptions for damaged files
        raise SdfError(
            f"height map {path} cannot be read as an image: {error}; save it as PNG"
        ) from error
