"""Height of the ground on which robots drive.

Ground consists of planes, height maps and flat slabs (:attr:`CollisionShape.is_ground`). Where
several shapes are above each other, the highest one is the ground.
"""

from typing import Callable, Iterable, List

import numpy as np
import shapely

from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.scene import CollisionShape
from gz_testauto.sdf.shapes import Plane

# a function of ``x`` and ``y`` (m) that returns heights (m), -inf outside of the surface
Surface = Callable[[np.ndarray, np.ndarray], np.ndarray]


class GroundSurface:
    def __init__(self, shapes: Iterable[CollisionShape]) -> None:
        ground_shapes = [shape for shape in shapes if shape.is_ground]
        self._surfaces: List[Surface] = [_make_surface(shape) for shape in ground_shapes]

        self.is_level = bool(ground_shapes) and all(map(_is_level, ground_shapes))
        """True if the ground has the same height everywhere."""

    def height_m(self, x_m: np.ndarray, y_m: np.ndarray) -> np.ndarray:
        """Return the heights (m, world frame) of the ground at points; -inf without ground."""
        height = np.full(np.shape(x_m), -np.inf)
        for surface in self._surfaces:
            height = np.maximum(height, surface(x_m, y_m))
        return height


def _is_level(shape: CollisionShape) -> bool:
    if not isinstance(shape.geometry, Plane):
        return False
    east, north, _ = shape.geometry.world_normal
    return bool(east == 0.0 and north == 0.0)


def _make_surface(shape: CollisionShape) -> Surface:
    if isinstance(shape.geometry, Plane):
        return _plane_surface(shape, shape.geometry)
    if isinstance(shape.geometry, Heightmap):
        return _terrain_surface(shape, shape.geometry)
    return _slab_surface(shape)


def _plane_surface(shape: CollisionShape, plane: Plane) -> Surface:
    x, y, z = plane.surface_point(shape.pose).tolist()
    east, north, up = plane.world_normal
    return lambda x_m, y_m: z - (east * (x_m - x) + north * (y_m - y)) / up


def _terrain_surface(shape: CollisionShape, terrain: Heightmap) -> Surface:
    """Return the surface of a height map, with bilinear interpolation between the pixels.

    As in Gazebo, it is centered on the world's origin, and rotated by the yaw of the shape only.
    """
    from scipy.ndimage import map_coordinates

    heights = terrain.heights + terrain.position[2]
    rows, columns = heights.shape
    cos, sin = np.cos(shape.pose.yaw_rad), np.sin(shape.pose.yaw_rad)

    def height_m(x_m: np.ndarray, y_m: np.ndarray) -> np.ndarray:
        along, across = cos * x_m + sin * y_m, cos * y_m - sin * x_m
        column = (along / terrain.size[0] + 0.5) * (columns - 1)
        row = (0.5 - across / terrain.size[1]) * (rows - 1)
        return np.asarray(map_coordinates(heights, [row, column], order=1, cval=-np.inf))

    return height_m


def _slab_surface(shape: CollisionShape) -> Surface:
    low, top = shape.bounds[2]
    outline = shape.footprint(low, top)
    shapely.prepare(outline)
    return lambda x_m, y_m: np.where(shapely.intersects_xy(outline, x_m, y_m), top, -np.inf)
