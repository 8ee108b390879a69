"""Solid colliders on the models and links of a world: intersections, distances, rays and events."""

import functools
from dataclasses import dataclass
from typing import Any, FrozenSet, Iterable, List, Optional, Sequence, Tuple

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from gz_testauto.base.errors import MissingDependencyError, SpecError, UnknownNameError
from gz_testauto.base.installation import importing
from gz_testauto.base.observation import Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.extras.colliders.flat import FARTHEST_M, rays
from gz_testauto.extras.colliders.solids import Convex, Shape, Triangles, inside, solid_of
from gz_testauto.extras.colliders.triangle_gaps import TriangleGap
from gz_testauto.sdf.scene import SceneModel
from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from gz_testauto.simulators.mujoco_geoms import (
    EXACT,
    cast_fan,
    distances_are_exact,
    primitive,
    text,
)

with importing("colliders need the library FCL", "colliders"):
    import fcl

Pair = Tuple[str, str]

_AT_ORIGIN = Pose()


@dataclass(frozen=True, eq=False)
class Collider:
    """A solid shape on a model, on a link, or in the world.

    ``shape`` is a shape of SDF or of :mod:`~gz_testauto.extras.colliders.solids`. ``on`` is the
    name of a model, ``model::link``, or empty for the world. ``offset`` is the pose of the shape in
    that frame.
    """

    name: str
    shape: Any
    on: str = ""
    offset: Pose = _AT_ORIGIN


class Bodies:
    """The colliders of a scene, with all frames at the origin until :meth:`place`.

    Raises ``SpecError`` for equal names, or for a shape that cannot be a collider.
    """

    def __init__(self, colliders: Sequence[Collider]) -> None:
        self.colliders = tuple(colliders)
        self.names = tuple(collider.name for collider in self.colliders)
        duplicates = sorted({name for name in self.names if self.names.count(name) > 1})
        if duplicates:
            raise SpecError(
                f"the collider name {duplicates[0]!r} appears twice; rename one collider"
            )
        self._index = {name: number for number, name in enumerate(self.names)}
        self._shapes = [_solid_of(collider) for collider in self.colliders]
        self._offsets_m, self._offset_rotations = _positions_and_rotations(
            [collider.offset for collider in self.colliders]
        )
        self._is_mujoco_exact = distances_are_exact()
        # Distances to surfaces: FCL has errors of centimeters for these shapes.
        self._gaps = {
            number: TriangleGap(shape)
            for number, shape in enumerate(self._shapes)
            if self._is_mujoco_exact and isinstance(shape, (Cylinder, Capsule, Ellipsoid, Convex))
        }
        self._objects = [fcl.CollisionObject(_fcl_geometry(shape)) for shape in self._shapes]
        spheres = [_bounding_sphere(shape) for shape in self._shapes]
        self._sphere_centers_m = np.array([center_m for center_m, _ in spheres]).reshape(-1, 3)
        self._sphere_radii_m = np.array([radius_m for _, radius_m in spheres])
        self._set_frames([_AT_ORIGIN] * len(self.colliders))

    def place(self, snapshot: Snapshot) -> None:
        """Move the colliders to the poses of their models and links.

        Raises ``UnknownNameError`` if one of these does not exist; no collider then moves.
        """
        poses: List[Pose] = []
        for collider in self.colliders:
            if not collider.on:
                poses.append(_AT_ORIGIN)
                continue
            state = snapshot.models.get(collider.on) or snapshot.links.get(collider.on)
            if state is None:
                known = ", ".join(sorted({*snapshot.models, *snapshot.links})) or "none"
                raise UnknownNameError(
                    f"collider {collider.name!r} is on {collider.on!r}, but the snapshot has no "
                    f"model or link of this name; known: {known}"
                )
            poses.append(state.pose)
        self._set_frames(poses)

    def pose(self, name: str) -> Pose:
        """Return the pose of a collider in the world frame."""
        number = self._index_of(name)
        rotation = Rotation.from_matrix(self._rotations[number])
        return Pose(tuple(self._positions_m[number].tolist()), tuple(rotation.as_quat().tolist()))

    def intersects(self, name: str, other_name: str) -> bool:
        return self._intersect(self._index_of(name), self._index_of(other_name))

    def distance_m(self, name: str, other_name: str) -> float:
        """Return the distance (m) of two colliders, 0 if they touch.

        Raises ``MissingDependencyError`` if it requires a newer version of MuJoCo.
        """
        first, second = self._index_of(name), self._index_of(other_name)
        if self._intersect(first, second):
            return 0.0
        if not (self._is_mujoco_exact or self._is_fcl_exact(first, second)):
            raise MissingDependencyError(
                f"the distance between {name!r} and {other_name!r} needs MuJoCo 3.3 or later, "
                f"since MuJoCo {mujoco.__version__} computes it with errors of decimeters; install "
                "a newer version of MuJoCo, which needs Python 3.9 or later"
            )
        surface_pair = self._gap_to_surface(first, second)
        if surface_pair is not None:
            gap, triangles = surface_pair
            return gap.distance_m(triangles)
        if self._is_fcl_exact(first, second):
            request = fcl.DistanceRequest(gjk_solver_type=fcl.GJKSolverType.GST_INDEP)
            result = fcl.DistanceResult()
            return float(
                fcl.distance(self._fcl_object(first), self._fcl_object(second), request, result)
            )
        model, data = self._mujoco_scene
        gap_m = mujoco.mj_geomDistance(model, data, first, second, 2 * FARTHEST_M, None)
        return max(0.0, float(gap_m))

    def touching(self) -> FrozenSet[Pair]:
        """Return the pairs of names of the colliders that intersect."""
        centers_m = self._positions_m + np.einsum(
            "nij,nj->ni", self._rotations, self._sphere_centers_m
        )
        distances_m = np.linalg.norm(centers_m[:, None] - centers_m[None], axis=-1)
        near = np.triu(distances_m <= self._sphere_radii_m[:, None] + self._sphere_radii_m[None], 1)
        return frozenset(
            (self.names[first], self.names[second])
            for first, second in zip(*(indices.tolist() for indices in np.nonzero(near)))
            if self._intersect(first, second)
        )

    def contains(self, name: str, points: np.ndarray) -> np.ndarray:
        """Return whether ``points`` (n, 3) in the world frame are inside a collider, shape (n,).

        Surfaces with gaps contain no points.
        """
        return self._are_inside(
            self._index_of(name), np.asarray(points, dtype=float).reshape(-1, 3)
        )

    def raycast(
        self, origins: np.ndarray, directions: np.ndarray, range_max_m: float = FARTHEST_M
    ) -> Tuple[np.ndarray, np.ndarray]:
        """Return the distance (m) along each ray to the first surface (n,), and the index in
        ``names`` of its collider (n,), or inf and -1 without a surface in range.

        ``origins`` and ``directions`` have shape (n, 3) or (3,). A ray that starts inside a solid
        hits its surface from inside. Raises ``ValueError`` for a direction of length 0.
        """
        start, towards = rays(origins, directions, 3)
        if not self._shapes or not len(start):
            return np.full(len(start), np.inf), np.full(len(start), -1, dtype=np.int32)
        if (start == start[0]).all():
            away_m, hits = cast_fan(*self._mujoco_scene, np.array(start[0]), towards, range_max_m)
        else:
            model, data = self._mujoco_scene
            away_m, hits = np.empty(len(start)), np.empty(len(start), np.int32)
            geom = np.empty((1, 1), np.int32)
            for ray, (origin, direction) in enumerate(zip(start, towards)):
                away_m[ray] = mujoco.mj_ray(model, data, origin, direction, None, 1, -1, geom)
                hits[ray] = geom[0, 0]
        missed = (hits < 0) | (away_m > range_max_m)
        return np.where(missed, np.inf, away_m), np.where(missed, -1, hits)

    def _intersect(self, first: int, second: int) -> bool:
        if fcl.collide(self._fcl_object(first), self._fcl_object(second)):
            return True
        surface_pair = self._gap_to_surface(first, second)
        if surface_pair is not None and surface_pair[0].meets(surface_pair[1]):
            return True
        # In FCL a surface has no inside: a solid that is completely in it intersects no triangle.
        return self._surface_contains(first, second) or self._surface_contains(second, first)

    def _is_fcl_exact(self, first: int, second: int) -> bool:
        # FCL computes exact distances only from a surface to a box, a sphere or a surface.
        kinds = [type(self._shapes[number]) for number in (first, second)]
        return Triangles in kinds and all(kind in (Triangles, Box, Sphere) for kind in kinds)

    def _gap_to_surface(self, first: int, second: int) -> Optional[Tuple[TriangleGap, np.ndarray]]:
        """Return the gap of a body, and a surface as triangles (n, 3, 3) in its frame.

        Return None unless one collider is a surface and the other a body whose distance FCL does
        not compute exactly. ``first`` and ``second`` are indices of colliders.
        """
        for surface, other in ((first, second), (second, first)):
            shape = self._shapes[surface]
            if isinstance(shape, Triangles) and other in self._gaps:
                corners = shape.corners @ self._rotations[surface].T + self._positions_m[surface]
                local = (corners - self._positions_m[other]) @ self._rotations[other]
                return self._gaps[other], local[shape.faces]
        return None

    def _surface_contains(self, outer: int, inner: int) -> bool:
        shape = self._shapes[outer]
        if not isinstance(shape, Triangles) or not len(shape.solid):
            return False
        point = self._positions_m[inner] + self._rotations[inner] @ _point_in(self._shapes[inner])
        return bool(self._are_inside(outer, point[None])[0])

    def _are_inside(self, number: int, points: np.ndarray) -> np.ndarray:
        return inside(
            self._shapes[number], (points - self._positions_m[number]) @ self._rotations[number]
        )

    def _fcl_object(self, number: int) -> Any:
        if self._is_transform_stale[number]:
            transform = fcl.Transform(self._rotations[number], self._positions_m[number])
            self._objects[number].setTransform(transform)
            self._is_transform_stale[number] = False
        return self._objects[number]

    def _set_frames(self, frames: List[Pose]) -> None:
        """Set the world poses of the models or links on which the colliders are."""
        origins_m, rotations = _positions_and_rotations(frames)
        self._positions_m = origins_m + np.einsum("nij,nj->ni", rotations, self._offsets_m)
        self._rotations = rotations @ self._offset_rotations
        self._is_transform_stale = [True] * len(frames)
        self._is_mujoco_scene_stale = True

    @property
    def _mujoco_scene(self) -> Tuple[Any, Any]:
        model, data = self._mujoco_model
        if self._is_mujoco_scene_stale:
            data.mocap_pos[:] = self._positions_m
            data.mocap_quat[:] = np.roll(Rotation.from_matrix(self._rotations).as_quat(), 1, axis=1)
            mujoco.mj_kinematics(model, data)
            self._is_mujoco_scene_stale = False
        return model, data

    @functools.cached_property
    def _mujoco_model(self) -> Tuple[Any, Any]:
        geoms = [_mjcf_of(number, shape) for number, shape in enumerate(self._shapes)]
        assets = "".join(asset for asset, _ in geoms)
        bodies = "".join(f'<body mocap="true">{geom}</body>' for _, geom in geoms)
        model = mujoco.MjModel.from_xml_string(
            f'<mujoco><compiler balanceinertia="true"/>{EXACT}<asset>{assets}</asset>'
            f"<worldbody>{bodies}</worldbody></mujoco>"
        )
        return model, mujoco.MjData(model)

    def _index_of(self, name: str) -> int:
        if name not in self._index:
            known = ", ".join(self.names) or "none"
            raise UnknownNameError(f"unknown collider {name!r}; known: {known}")
        return self._index[name]


@dataclass(frozen=True)
class Crossing:
    """The time (s) at which two colliders start to touch (``entered``) or stop touching."""

    time_s: float
    pair: Pair
    entered: bool


class Crossings:
    """A detector of the pairs that start or stop touching.

    The first update reports all touching pairs as started.
    """

    def __init__(self) -> None:
        self._touching: FrozenSet[Pair] = frozenset()

    def update(self, time_s: float, touching: Iterable[Pair]) -> Tuple[Crossing, ...]:
        """Return the events since the last update: first the pairs that stopped touching, then the
        pairs that started, both sorted by name."""
        now = frozenset(touching)
        stopped = [Crossing(time_s, pair, False) for pair in sorted(self._touching - now)]
        started = [Crossing(time_s, pair, True) for pair in sorted(now - self._touching)]
        self._touching = now
        return (*stopped, *started)


def colliders_of(model: SceneModel) -> List[Collider]:
    """Return the collision shapes of a model, except ground, with their names in contacts.

    The links of the model must not move relative to the model.
    """
    return [
        Collider(shape.scoped_name, shape.geometry, model.name, shape.local_pose)
        for shape in model.collisions
        if not shape.is_ground
    ]


def _solid_of(collider: Collider) -> Shape:
    try:
        return solid_of(collider.shape)
    except SpecError as error:
        raise SpecError(f"collider {collider.name!r}: {error}") from error


def _point_in(shape: Shape) -> np.ndarray:
    if isinstance(shape, (Convex, Triangles)):
        return np.asarray(shape.corners[0])
    return np.zeros(3)


def _positions_and_rotations(poses: Sequence[Pose]) -> Tuple[np.ndarray, np.ndarray]:
    if not poses:
        return np.empty((0, 3)), np.empty((0, 3, 3))
    rotations = Rotation.from_quat([pose.quaternion for pose in poses]).as_matrix()
    return np.array([pose.position for pose in poses]), rotations


def _bounding_sphere(shape: Shape) -> Tuple[np.ndarray, float]:
    """Return the center (3,) and the radius of a sphere around a shape, in its frame."""
    if isinstance(shape, (Convex, Triangles)):
        middle = (shape.corners.min(axis=0) + shape.corners.max(axis=0)) / 2
        radius_m = float(np.linalg.norm(shape.corners - middle, axis=1).max())
    else:
        middle = np.zeros(3)
        radius_m = float(np.linalg.norm(shape.bounds(_AT_ORIGIN)[:, 1]))
    return middle, radius_m * (1 + 1e-9)


def _fcl_geometry(shape: Shape) -> Any:
    if isinstance(shape, Box):
        return fcl.Box(*shape.size)
    if isinstance(shape, Sphere):
        return fcl.Sphere(shape.radius)
    if isinstance(shape, Cylinder):
        return fcl.Cylinder(shape.radius, shape.length)
    if isinstance(shape, Capsule):
        return fcl.Capsule(shape.radius, shape.length)
    if isinstance(shape, Ellipsoid):
        return fcl.Ellipsoid(*shape.radii)
    corners, faces = shape.corners, shape.faces
    if isinstance(shape, Convex):
        counts_and_corners = np.column_stack([np.full(len(faces), 3), faces]).ravel()
        return fcl.Convex(corners, len(faces), counts_and_corners)
    surface = fcl.BVHModel()
    surface.beginModel(len(corners), len(faces))
    surface.addSubModel(corners, faces)
    surface.endModel()
    return surface


def _mjcf_of(number: int, shape: Shape) -> Tuple[str, str]:
    """Return the elements mesh (empty for a primitive shape) and geom of MuJoCo XML."""
    if isinstance(shape, (Convex, Triangles)):
        asset = (
            f'<mesh name="m{number}" vertex="{text(*shape.corners.ravel())}" '
            f'face="{" ".join(map(str, shape.faces.ravel().tolist()))}"/>'
        )
        return asset, f'<geom type="mesh" mesh="m{number}"/>'
    attributes = " ".join(f'{name}="{value}"' for name, value in (primitive(shape) or {}).items())
    return "", f"<geom {attributes}/>"
