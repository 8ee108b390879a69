"""The shapes of SDF's ``<geometry>``, with their bounds, outlines, volume and inertia.

Outlines of shapes with straight sides are exact. Curves are represented by polygons within
``slices.TOLERANCE_M`` (0.2 mm) of the curve. The vertices of a circle are as far outside as the
midpoints of its edges are inside, so that distances to it have no bias. Volume and inertia are
those of homogeneous solids.
"""

import functools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.meshes import slices
from gz_testauto.sdf.meshes.slices import EMPTY, TOLERANCE_M

UNBOUNDED_M = 1e4  # half the side length of the square for the footprint of an infinite plane

_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_BOX_EDGES = np.array(
    [[a, b] for a in range(8) for b in range(a + 1, 8) if bin(a ^ b).count("1") == 1]
)


Moments = Tuple[float, float, float]


class Geometry(ABC):
    """A shape in its own frame."""

    @abstractmethod
    def bounds(self, pose: Pose) -> np.ndarray:
        """Return the exact axis-aligned bounds (m) of the shape at ``pose``, shape (3, 2): lowest
        and highest x, y and z."""

    @abstractmethod
    def footprint(self, pose: Pose, z_min: float, z_max: float) -> BaseGeometry:
        """Return the horizontal outline (m) of the part at ``z_min <= z <= z_max``, for a shape at
        ``pose``. The outline is empty if no part is between these heights."""

    def volume_m3(self) -> float:
        """Return the volume. Raises ``ValueError`` for a shape without a formula."""
        raise ValueError(f"the volume of a {type(self).__name__.lower()} is unknown")

    def inertia_kgm2(self, mass_kg: float) -> Moments:
        """Return the moments of inertia of the homogeneous solid about x, y and z. Raises
        ``ValueError`` for a shape without a formula."""
        raise ValueError(f"the inertia of a {type(self).__name__.lower()} is unknown")


def _bounds_around(center: np.ndarray, half: np.ndarray) -> np.ndarray:
    return np.column_stack([center - half, center + half])


def is_upright(rotation: np.ndarray, extent_m: float) -> bool:
    """Return whether the tilt of a shape of the size ``extent_m`` moves no point by over 10 µm."""
    return math.hypot(rotation[2, 0], rotation[2, 1]) * extent_m <= TOLERANCE_M / 20


def ranges_overlap(low: float, high: float, z_min: float, z_max: float) -> bool:
    return high >= z_min and low <= z_max


@dataclass(frozen=True)
class Box(Geometry):
    """A cuboid around its origin, with ``size`` (m) along x, y and z."""

    size: Tuple[float, float, float]

    def volume_m3(self) -> float:
        return math.prod(self.size)

    def inertia_kgm2(self, mass_kg: float) -> Moments:
        x, y, z = (side**2 for side in self.size)
        return (mass_kg / 12 * (y + z), mass_kg / 12 * (x + z), mass_kg / 12 * (x + y))

    def bounds(self, pose: Pose) -> np.ndarray:
        half = matrix_product(np.abs(pose.rotation), np.asarray(self.size) / 2)
        return _bounds_around(np.asarray(pose.position), half)

    def footprint(self, pose: Pose, z_min: float, z_max: float) -> BaseGeometry:
        rotation = pose.rotation
        if is_upright(rotation, max(self.size)):
            z, half = pose.position[2], self.size[2] / 2
            if not ranges_overlap(z - half, z + half, z_min, z_max):
                return EMPTY
            x, y = self.size[0] / 2, self.size[1] / 2
            corners = np.array([[x, y], [-x, y], [-x, -y], [x, -y]])
            turned_corners = matrix_product(corners, rotation[:2, :2].T)
            return shapely.Polygon(turned_corners + np.asarray(pose.position[:2]))
        vertices = pose.apply(_CORNERS * self.size)
        return slices.convex_slab(vertices, _BOX_EDGES, z_min, z_max)


def box_corners(sizes: Sequence[Tuple[float, float, float]], poses: Sequence[Pose]) -> np.ndarray:
    """Return x and y (m, world frame) of the corners of n upright boxes, shape (n, 4, 2)."""
    x, y, z, w = np.array([pose.quaternion for pose in poses]).T
    turns = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z)],
    ]
    half = np.array(sizes)[:, None, :2] / 2
    corners = half * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    positions = np.array([pose.position[:2] for pose in poses])[:, None]
    return np.asarray(matrix_product(corners, np.array(turns).T) + positions)


@functools.lru_cache(maxsize=32)
def _prism_edges(segments: int) -> np.ndarray:
    index = np.arange(segments)
    next_index = (index + 1) % segments
    return np.vstack(
        [
            np.column_stack([index, next_index]),
            np.column_stack([index + segments, next_index + segments]),
            np.column_stack([index, index + segments]),
        ]
    )


@dataclass(frozen=True)
class Cylinder(Geometry):
    """A cylinder along z around its origin, with radius and length in meters."""

    radius: float
    length: float

    def volume_m3(self) -> float:
        return math.pi * self.radius**2 * self.length

    def inertia_kgm2(self, mass_kg: float) -> Moments:
        across = mass_kg / 12 * (3 * self.radius**2 + self.length**2)
        return (across, across, mass_kg / 2 * self.radius**2)

    def bounds(self, pose: Pose) -> np.ndarray:
        axis = pose.rotation[:, 2]
        # A circle with a unit normal extends by radius · sqrt(1 - n²) along an axis.
        sine = np.sqrt(np.clip(1 - axis**2, 0, None))
        half = np.abs(axis) * self.length / 2 + self.radius * sine
        return _bounds_around(np.asarray(pose.position), half)

    def footprint(self, pose: Pose, z_min: float, z_max: float) -> BaseGeometry:
        x, y, z = pose.position
        if is_upright(pose.rotation, max(self.length, self.radius)):
            overlaps = ranges_overlap(z - self.length / 2, z + self.length / 2, z_min, z_max)
            return slices.disc(x, y, self.radius) if overlaps else EMPTY
        low, high = self.bounds(pose)[2]
        if not ranges_overlap(low, high, z_min, z_max):
            return EMPTY  # the prism below, which is larger than the cylinder, could overlap
        circle = self.radius * slices.unit_circle(slices.circle_segments(self.radius))
        rim = np.full((len(circle), 1), self.length / 2)
        vertices = np.vstack([np.hstack([circle, rim]), np.hstack([circle, -rim])])
        edges = _prism_edges(len(circle))
        return slices.convex_slab(pose.apply(vertices), edges, z_min, z_max)


@dataclass(frozen=True)
class Sphere(Geometry):
    """A sphere around its origin, with the radius in meters."""

    radius: float

    def volume_m3(self) -> float:
        return 4 / 3 * math.pi * self.radius**3

    def inertia_kgm2(self, mass_kg: float) -> Moments:
        moment = 2 / 5 * mass_kg * self.radius**2
        return (moment, moment, moment)

    def bounds(self, pose: Pose) -> np.ndarray:
        return _bounds_around(np.asarray(pose.position), np.full(3, self.radius))

    def footprint(self, pose: Pose, z_min: float, z_max: float) -> BaseGeometry:
        x, y, z = pose.position
        distance = max(z_min - z, z - z_max, 0.0)
        if distance >= self.radius:
            return EMPTY
        return slices.disc(x, y, math.sqrt(self.radius**2 - distance**2))


def _directions(curvature_radius_m: float) -> np.ndarray:
    """Return unit vectors (n, 2) for which the support points of a curve form a polygon within the
    tolerance. ``curvature_radius_m`` is the largest radius of curvature."""
    direction_count = math.pi * math.sqrt(2 * curvature_radius_m / TOLERANCE_M)
    count = int(min(4096, max(64, math.ceil(direction_count))))
    angles = np.arange(count) * (2 * math.pi / count)
    return np.column_stack([np.cos(angles), np.sin(angles)])


@dataclass(frozen=True)
class Ellipsoid(Geometry):
    """An ellipsoid around its origin, with ``radii`` (m) along x, y and z. Ellipsoids require SDF
    1.8, which Gazebo 11 does not load."""

    radii: Tuple[float, float, float]

    def volume_m3(self) -> float:
        return 4 / 3 * math.pi * math.prod(self.radii)

    def inertia_kgm2(self, mass_kg: float) -> Moments:
        a, b, c = (radius**2 for radius in self.radii)
        return (mass_kg / 5 * (b + c), mass_kg / 5 * (a + c), mass_kg / 5 * (a + b))

    def _spread(self, pose: Pose) -> np.ndarray:
        """Return the matrix M for which the support point along d is M d / sqrt(d' M d)."""
        axes = pose.rotation * np.asarray(self.radii)
        return matrix_product(axes, axes.T)

    def bounds(self, pose: Pose) -> np.ndarray:
        return _bounds_around(np.asarray(pose.position), np.sqrt(np.diag(self._spread(pose))))

    def footprint(self, pose: Pose, z_min: float, z_max: float) -> BaseGeometry:
        # The points of the outline are the contact points of vertical tangent planes. If a contact
        # point is not between the heights, a point of the ellipse in which the plane at the nearer
        # height intersects the ellipsoid replaces it.
        spread = self._spread(pose)
        center = np.asarray(pose.position)
        height = math.sqrt(spread[2, 2])
        low, high = z_min - center[2], z_max - center[2]
        if not ranges_overlap(-height, height, low, high):
            return EMPTY
        directions = _directions(max(self.radii) ** 2 / min(self.radii))
        stretched_directions = matrix_product(directions, spread[:2])
        touching_points = (
            stretched_directions
            / np.sqrt(np.sum(directions * stretched_directions[:, :2], axis=1))[:, None]
        )
        points = touching_points[:, :2].copy()
        ellipse = spread[:2, :2] - np.outer(spread[:2, 2], spread[2, :2]) / spread[2, 2]
        for level, is_outside in (
            (low, touching_points[:, 2] < low),
            (high, touching_points[:, 2] > high),
        ):
            if is_outside.any():
                shrink = math.sqrt(max(0.0, 1 - level**2 / spread[2, 2]))
                along = matrix_product(directions[is_outside], ellipse)
                size = np.sqrt(np.sum(directions[is_outside] * along, axis=1))[:, None]
                points[is_outside] = spread[:2, 2] / spread[2, 2] * level + shrink * along / size
        return slices.convex_outline(points + center[:2])


@dataclass(frozen=True)
class Capsule(Geometry):
    """A cylinder along z with ``length`` (m) between two half spheres. Capsules require SDF 1.8,
    which Gazebo 11 does not load."""

    radius: float
    length: float

    def volume_m3(self) -> float:
        return math.pi * self.radius**2 * (self.length + 4 / 3 * self.radius)

    def inertia_kgm2(self, mass_kg: float) -> Moments:
        radius, length = self.radius, self.length
        density = mass_kg / self.volume_m3()
        barrel = density * math.pi * radius**2 * length
        caps = density * 4 / 3 * math.pi * radius**3  # mass of the two half spheres together
        along = barrel * radius**2 / 2 + caps * 2 / 5 * radius**2
        across = barrel * (3 * radius**2 + length**2) / 12 + caps * (
            2 / 5 * radius**2 + length**2 / 4 + 3 / 8 * length * radius
        )
        return (across, across, along)

    def bounds(self, pose: Pose) -> np.ndarray:
        half = np.abs(pose.rotation[:, 2]) * self.length / 2 + self.radius
        return _bounds_around(np.asarray(pose.position), half)

    def footprint(self, pose: Pose, z_min: float, z_max: float) -> BaseGeometry:
        # The capsule is a sphere swept along its axis, so the outline is the convex hull of the
        # outlines of these spheres.
        axis, center = pose.rotation[:, 2], np.asarray(pose.position)
        first, last = -self.length / 2, self.length / 2
        if abs(axis[2]) > 1e-12:
            # restrict the axis to spheres that reach the slab
            ends = (np.array([z_min - self.radius, z_max + self.radius]) - center[2]) / axis[2]
            first, last = max(first, ends.min()), min(last, ends.max())
        elif not ranges_overlap(center[2] - self.radius, center[2] + self.radius, z_min, z_max):
            return EMPTY
        if first > last:
            return EMPTY
        # An oblique section is an ellipse with a radius of curvature of up to radius / sin².
        directions = _directions(self.radius * max(4.0, 1 / max(axis[2] ** 2, 1e-6)))
        slope = matrix_product(directions, axis[:2])

        def disc_radius(along: np.ndarray) -> np.ndarray:
            z = center[2] + along * axis[2]
            distance = np.maximum(np.maximum(z_min - z, z - z_max), 0.0)
            return np.sqrt(np.clip(self.radius**2 - distance**2, 0.0, None))

        along = _concave_maximum(lambda t: slope * t + disc_radius(t), first, last, len(directions))
        points = np.outer(along, axis[:2]) + disc_radius(along)[:, None] * directions
        return slices.convex_outline(points + center[:2])


def _concave_maximum(function, first: float, last: float, count: int) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Return the arguments (count,) between ``first`` and ``last`` that maximize ``count`` concave
    functions, by ternary search. ``function`` evaluates all of them in one call: its argument and
    its result are arrays (count,) with a value for each."""
    low, high = np.full(count, first), np.full(count, last)
    for _ in range(80):  # reduces the interval to the rounding error
        third = (high - low) / 3
        left, right = low + third, high - third
        rising = function(left) < function(right)
        low, high = np.where(rising, left, low), np.where(rising, high, right)
    candidates = np.stack([np.full(count, first), (low + high) / 2, np.full(count, last)])
    values = np.stack([function(candidate) for candidate in candidates])
    return np.take_along_axis(candidates, values.argmax(axis=0)[None], axis=0)[0]


@dataclass(frozen=True)
class Plane(Geometry):
    """The half space below an infinite plane, as Gazebo's default engine ODE places it.

    ``normal`` points out of the solid, in the world frame, and can have any length. Of the pose in
    the world, ODE uses only z: the plane contains the points p with ``normal`` · p = z. ``size``
    (m) is used for the visual only.
    """

    normal: Tuple[float, float, float] = (0.0, 0.0, 1.0)
    size: Tuple[float, float] = (1.0, 1.0)

    @property
    def world_normal(self) -> np.ndarray:
        """Return the unit normal (3,) in the world frame, which does not depend on the pose."""
        normal = np.asarray(self.normal, dtype=float)
        return normal / np.sqrt(np.square(normal).sum())

    def surface_point(self, pose: Pose) -> np.ndarray:
        """Return the point (3,) of the surface that is nearest to the position of ``pose``, both
        (m) in the world frame."""
        position, normal = np.asarray(pose.position), np.asarray(self.normal)
        height = pose.position[2] - (normal * position).sum()
        return np.asarray(position + height / np.square(normal).sum() * normal)

    def bounds(self, pose: Pose) -> np.ndarray:
        """Return infinite bounds. If the plane is perpendicular to an axis, its surface is a finite
        bound along this axis."""
        bounds = np.array([[-math.inf, math.inf]] * 3)
        normal = self.world_normal
        for axis in range(3):
            if abs(normal[axis]) > 1 - 1e-12:
                bounds[axis, 1 if normal[axis] > 0 else 0] = self.surface_point(pose)[axis]
        return bounds

    def footprint(self, pose: Pose, z_min: float, z_max: float) -> BaseGeometry:
        """Return the outline of the part between two heights, clipped to ± ``UNBOUNDED_M``."""
        normal = self.world_normal
        x, y, z = self.surface_point(pose).tolist()
        # the half plane in which the slab's deepest point is below the surface
        deepest = z_min if normal[2] > 0 else z_max
        offset = normal[2] * (deepest - z) - normal[0] * x - normal[1] * y
        horizontal = math.hypot(normal[0], normal[1])
        square = shapely.box(-UNBOUNDED_M, -UNBOUNDED_M, UNBOUNDED_M, UNBOUNDED_M)
        if horizontal < 1e-12:
            return square if offset <= 0 else EMPTY
        direction = normal[:2] / horizontal
        edge, side = -offset / horizontal * direction, np.array([-direction[1], direction[0]])
        reach = 4 * UNBOUNDED_M + abs(offset / horizontal)
        corners = [edge + reach * side, edge - reach * side]
        half = shapely.Polygon(
            [*corners, *(corner - reach * direction for corner in corners[::-1])]
        )
        return shapely.intersection(square, half)


@dataclass(frozen=True)
class Polyline(Geometry):
    """Closed paths in x and y (m), extruded along z from the origin to ``height``. As in Gazebo, a
    region that is enclosed by an even number of paths is a hole."""

    paths: Tuple[Tuple[Tuple[float, float], ...], ...]
    height: float

    @functools.cached_property
    def outline(self) -> BaseGeometry:
        outline: BaseGeometry = EMPTY
        for path in self.paths:
            region = shapely.make_valid(shapely.Polygon(path))
            outline = shapely.symmetric_difference(outline, region)
        return outline

    def bounds(self, pose: Pose) -> np.ndarray:
        flat = np.vstack([np.asarray(path) for path in self.paths])
        levels = [np.column_stack([flat, np.full(len(flat), z)]) for z in (0.0, self.height)]
        points = pose.apply(np.vstack(levels))
        return np.column_stack([points.min(axis=0), points.max(axis=0)])

    def footprint(self, pose: Pose, z_min: float, z_max: float) -> BaseGeometry:
        rotation = pose.rotation
        extent = float(np.abs(self.outline.bounds).max()) + self.height
        if is_upright(rotation, extent):
            ends = (pose.position[2], pose.position[2] + rotation[2, 2] * self.height)
            if not ranges_overlap(min(ends), max(ends), z_min, z_max):
                return EMPTY
            turn, (x_m, y_m, _) = rotation[:2, :2].T, pose.position
            return shapely.transform(
                self.outline, lambda flat: matrix_product(flat, turn) + np.array([x_m, y_m])
            )
        return slices.surface_slab(pose.apply(self.triangles), True, z_min, z_max)

    @functools.cached_property
    def triangles(self) -> np.ndarray:
        """Return the triangles of the surface in the shape's frame (m), shape (n, 3, 3)."""
        from trimesh.creation import extrude_polygon

        polygons = [part for part in shapely.get_parts(self.outline) if part.area > 0]
        solids = [extrude_polygon(polygon, self.height).triangles for polygon in polygons]
        return np.concatenate(solids)
