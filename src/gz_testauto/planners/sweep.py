"""Collision checks of a convex footprint on circular arcs with the points of a scan."""

from typing import NamedTuple, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.polygon import orient

from gz_testauto.base.compiled import compiled, compiled_for

_MAX_POINTS = 240  # number of points above which only a regular subset is used

ROUNDING_M = 1e-6  # upper bound of the rounding errors of computed distances
APPROACH_M = 0.01  # by which a footprint within the margin of a point can still approach it


class Sweep(NamedTuple):
    """The free part of the arc of each command, as arrays of shape (c,): distance and angle of the
    base before the footprint is within the margin of a point."""

    distance_m: np.ndarray
    angle_rad: np.ndarray
    blocked: np.ndarray


class ConvexFootprint:
    """The convex hull of a robot's outline, represented by half planes."""

    def __init__(self, outline_m: Sequence[Tuple[float, float]]) -> None:
        hull = shapely.convex_hull(shapely.MultiPoint(np.asarray(outline_m, dtype=float)))
        ring = np.asarray(orient(hull, 1.0).exterior.coords)
        edges = np.diff(ring, axis=0)
        normals = np.column_stack([edges[:, 1], -edges[:, 0]])
        self.normals = normals / np.hypot(edges[:, 0], edges[:, 1])[:, None]
        self.offsets_m = (self.normals * ring[:-1]).sum(axis=1)
        self.radius_m = float(np.hypot(ring[:, 0], ring[:, 1]).max())
        self.inscribed_radius_m = float(max(0.0, self.offsets_m.min()))
        # Lines of two edges, moved out by 1, intersect at this distance from their common corner.
        across = 1.0 + (self.normals * np.roll(self.normals, 1, axis=0)).sum(axis=1)
        self._miter = float(np.sqrt(2.0 / np.maximum(across, 1e-12)).max())

    def clearance_m(self, poses: np.ndarray, points_m: np.ndarray) -> np.ndarray:
        """Return the distance (m) from the footprint at each pose to the nearest point, shape (n,).

        ``poses`` (n, 3) are x, y (m) and yaw (rad); ``points_m`` (m, 2) are in the same frame. The
        distance is the largest signed distance to the line of an edge: exact next to an edge, too
        small beyond a corner, negative inside the footprint, and ``inf`` without points.
        """
        points_m = np.ascontiguousarray(points_m, dtype=float)
        turns = np.cos(poses[:, 2]), np.sin(poses[:, 2])
        return np.asarray(_clearances(self.normals, self.offsets_m, poses, *turns, points_m))

    def reach_m(self, margin_m: float) -> float:
        """Return the largest distance from the base to a point for which :meth:`clearance_m` can be
        less than ``margin_m``."""
        return self.radius_m + max(margin_m, 0.0) * self._miter + ROUNDING_M


def arc_poses(twists: np.ndarray, times_s: np.ndarray) -> np.ndarray:
    """Return the poses, shape (c, s, 3), that constant commands reach from the origin. ``twists``
    (c, 2) are in m/s and rad/s, ``times_s`` has shape (c, s)."""
    linear, angular = twists[:, :1], twists[:, 1:]
    turns_rad = angular * times_s
    # sin(x)/x and (1-cos(x))/x are smooth at 0, where the arc becomes a line.
    longitudinal = np.sinc(turns_rad / np.pi)
    lateral = np.sin(turns_rad / 2) * np.sinc(turns_rad / 2 / np.pi)
    length = linear * times_s
    return np.stack([length * longitudinal, length * lateral, turns_rad], axis=-1)


def sweep_arcs(
    footprint: ConvexFootprint,
    twists: np.ndarray,
    points_m: np.ndarray,
    reach_m: float,
    margin_m: float,
    steps: int,
) -> Sweep:
    """Return the free part of the arc of each of the commands ``twists``, shape (c, 2), in m/s and
    rad/s. An arc is ``reach_m`` long or turns by 180°, and is checked at ``steps`` positions.
    ``points_m`` (n, 2) are obstacle points in the base frame."""
    speed, rate = np.abs(twists[:, 0]), np.abs(twists[:, 1])
    end_s = np.minimum(reach_m / np.maximum(speed, 1e-6), np.pi / np.maximum(rate, 1e-6))
    times = end_s[:, None] * np.arange(1, steps + 1) / steps
    near_m = points_m[np.hypot(points_m[:, 0], points_m[:, 1]) < reach_m + footprint.radius_m + 0.5]
    near_m = np.ascontiguousarray(near_m[:: 1 + len(near_m) // _MAX_POINTS], dtype=float)
    clearance_here_m = footprint.clearance_m(np.zeros((1, 3)), near_m)[0]
    # A footprint within the margin of a point must be able to move away, so it can approach the
    # point a little, but not nearer than a third of the margin.
    allowed_m = (
        margin_m
        if clearance_here_m >= margin_m
        else min(clearance_here_m, max(clearance_here_m - APPROACH_M, margin_m / 3))
    )
    poses = arc_poses(twists, times)
    free_steps = _free_steps(
        footprint.normals,
        footprint.offsets_m,
        poses,
        np.cos(poses[..., 2]),
        np.sin(poses[..., 2]),
        near_m,
        allowed_m,
        footprint.reach_m(allowed_m),
    )
    is_blocked = free_steps < steps
    free_s = end_s * free_steps / steps
    return Sweep(free_s * speed, free_s * rate, is_blocked)


@compiled
def _transform_edges(normals, offsets_m, pose, cos, sin, lines):  # type: ignore[no-untyped-def]
    """Write the normal (x, y) and the offset (m) of each edge's line, for the footprint at ``pose``
    (3,), to ``lines``, shape (e, 3)."""
    for edge in range(len(offsets_m)):
        nx, ny = normals[edge, 0], normals[edge, 1]
        turned_x, turned_y = cos * nx - sin * ny, sin * nx + cos * ny
        lines[edge, 0], lines[edge, 1] = turned_x, turned_y
        lines[edge, 2] = turned_x * pose[0] + turned_y * pose[1] + offsets_m[edge]


@compiled_for("f8[::1](f8[:, ::1], f8[::1], f8[:, ::1], f8[::1], f8[::1], f8[:, ::1])")
def _clearances(normals, offsets_m, poses, cosines, sines, points_m):  # type: ignore[no-untyped-def]
    """Return the distances of :meth:`ConvexFootprint.clearance_m`, whose edges have ``normals``,
    shape (e, 2), and ``offsets_m``, shape (e,). ``cosines`` and ``sines`` are those of the yaws."""
    nearest_m = np.full(len(poses), np.inf)
    lines = np.empty((len(offsets_m), 3))
    for index in range(len(poses)):
        _transform_edges(normals, offsets_m, poses[index], cosines[index], sines[index], lines)
        for point in range(len(points_m)):
            away_m = -np.inf
            for edge in range(len(lines)):
                projection = (
                    lines[edge, 0] * points_m[point, 0] + lines[edge, 1] * points_m[point, 1]
                )
                away_m = max(away_m, projection - lines[edge, 2])
            nearest_m[index] = min(nearest_m[index], away_m)
    return nearest_m


@compiled
def _is_nearer(lines, x_m, y_m, points_m, allowed_m, reach_m):  # type: ignore[no-untyped-def]
    """Return whether any point is nearer than ``allowed_m`` to a footprint at (x, y), whose edges
    are ``lines`` (:func:`_transform_edges`). Points farther than ``reach_m`` are ignored."""
    for point in range(len(points_m)):
        px, py = points_m[point, 0], points_m[point, 1]
        if (px - x_m) * (px - x_m) + (py - y_m) * (py - y_m) > reach_m * reach_m:
            continue
        nearer = True
        for edge in range(len(lines)):
            if lines[edge, 0] * px + lines[edge, 1] * py - lines[edge, 2] >= allowed_m:
                nearer = False
                break
        if nearer:
            return True
    return False


@compiled_for(
    "i8[::1](f8[:, ::1], f8[::1], f8[:, :, ::1], f8[:, ::1], f8[:, ::1], f8[:, ::1], f8, f8)"
)
def _free_steps(  # type: ignore[no-untyped-def]
    normals, offsets_m, poses, cosines, sines, points_m, allowed_m, reach_m
):
    """Return the number of poses on each arc before the first one at which a point is nearer than
    ``allowed_m`` to the footprint, shape (c,). ``poses`` has shape (c, s, 3)."""
    arcs, steps = cosines.shape
    free_steps = np.full(arcs, steps)
    lines = np.empty((len(offsets_m), 3))
    for arc in range(arcs):
        for step in range(steps):
            pose = poses[arc, step]
            _transform_edges(normals, offsets_m, pose, cosines[arc, step], sines[arc, step], lines)
            if _is_nearer(lines, pose[0], pose[1], points_m, allowed_m, reach_m):
                free_steps[arc] = step
                break
    return free_steps
