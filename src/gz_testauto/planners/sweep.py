"""Collision checks of a convex footprint on circular arcs with the points of a scan."""

import math
from typing import NamedTuple, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.polygon import orient

from gz_testauto.base.compiled import compiled, compiled_for

_MAX_POINTS = 240  # number of points above which only a regular subset is used

ROUNDING_M = 1e-6  # upper bound of the rounding errors of computed distances
_EPSILON = float(np.finfo(float).eps)

APPROACH_M = 0.01  # by which a footprint within the margin of a point can still approach it


class Sweep(NamedTuple):
    """The free part of the arc of each command, as arrays of shape (c,): distance and angle of the
    base before the footprint is within the margin of a point. ``blocked`` is True if a point is
    within the margin on the arc."""

    distance_m: np.ndarray
    angle_rad: np.ndarray
    blocked: np.ndarray


class ConvexFootprint:
    """The convex hull of a robot's outline. Its edges have the outward ``normals``, shape (e, 2),
    at the distances ``offsets_m``, shape (e,), from the origin of the base frame."""

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
        self.miter = float(np.sqrt(2.0 / np.maximum(across, 1e-12)).max())

    def clearance_m(self, poses: np.ndarray, points_m: np.ndarray) -> np.ndarray:
        """Return the distance (m) from the footprint at each pose to the nearest point, shape (n,).

        ``poses`` (n, 3) are x, y (m) and yaw (rad); ``points_m`` (m, 2) are in the same frame. The
        distance is the largest signed distance to the line of an edge: exact next to an edge, too
        small beyond a corner, negative inside the footprint, and ``inf`` without points.
        """
        points_m = np.ascontiguousarray(points_m, dtype=float)
        turns = np.cos(poses[:, 2]), np.sin(poses[:, 2])
        return np.asarray(_clearances(self.normals, self.offsets_m, poses, *turns, points_m))


def arc_poses(twists: np.ndarray, times_s: np.ndarray) -> np.ndarray:
    """Return the poses, shape (c, s, 3), that constant commands reach from the origin. ``twists``
    (c, 2) are in m/s and rad/s, ``times_s`` has shape (c, s)."""
    angles = _arc_angles(twists, times_s)
    return np.asarray(_arc_poses(twists, times_s, angles, np.sin(angles)))


def sweep_arcs(
    footprint: ConvexFootprint,
    twists: np.ndarray,
    points_m: np.ndarray,
    reach_m: float,
    margin_m: float,
    steps: int,
) -> Sweep:
    """Return the free part of the arc of each of the commands ``twists``, shape (c, 2), in m/s and
    rad/s. An arc ends after ``reach_m`` or a turn by 180°, and is checked at ``steps`` positions.
    ``points_m`` (n, 2) are obstacle points in the base frame. They block an arc within
    ``margin_m`` of the footprint."""
    twists = np.asarray(twists, dtype=float)
    end_s, times_s = _sweep_times(twists, reach_m, steps)
    poses = arc_poses(twists, times_s)
    return Sweep(
        *_free_parts(
            footprint.normals,
            footprint.offsets_m,
            footprint.radius_m,
            footprint.miter,
            twists,
            end_s,
            poses,
            np.cos(poses[..., 2]),
            np.sin(poses[..., 2]),
            points_m,
            reach_m,
            margin_m,
        )
    )


@compiled
def near_points(points_m, within_m):  # type: ignore[no-untyped-def]
    """Return the points, shape (k, 2), that are nearer than ``within_m`` to the origin."""
    near_points_m = np.empty((len(points_m), 2))
    count = 0
    for x_m, y_m in points_m:
        if math.hypot(x_m, y_m) < within_m:
            near_points_m[count] = (x_m, y_m)
            count += 1
    return near_points_m[:count]


@compiled_for("Tuple((f8[::1], f8[:, ::1]))(Array(f8, 2, 'A', True), f8, i8)")
def _sweep_times(twists, reach_m, steps):  # type: ignore[no-untyped-def]
    """Return the time (s) at the end of the arc of each command, shape (c,), and the times of its
    positions, shape (c, ``steps``)."""
    end_s, times_s = np.empty(len(twists)), np.empty((len(twists), steps))
    for command in range(len(twists)):
        speed, rate = abs(twists[command, 0]), abs(twists[command, 1])
        end_s[command] = min(reach_m / max(speed, 1e-6), math.pi / max(rate, 1e-6))
        for step in range(steps):
            times_s[command, step] = end_s[command] * (step + 1) / steps
    return end_s, times_s


@compiled_for("f8[:, :, ::1](Array(f8, 2, 'A', True), Array(f8, 2, 'A', True))")
def _arc_angles(twists, times_s):  # type: ignore[no-untyped-def]
    """Return the angles whose sines :func:`_arc_poses` needs, shape (3, c, s): half the angle of
    each turn, and the whole and the half angle as divisors, which are not 0."""
    angles = np.empty((3, *times_s.shape))
    for command in range(times_s.shape[0]):
        for step in range(times_s.shape[1]):
            turn = twists[command, 1] * times_s[command, step]
            angles[0, command, step] = turn / 2
            for index in range(1, 3):
                divisor = math.pi * (turn / index / math.pi)  # rounded as in numpy.sinc
                angles[index, command, step] = divisor if divisor != 0.0 else _EPSILON
    return angles


@compiled_for(
    "f8[:, :, ::1](Array(f8, 2, 'A', True), Array(f8, 2, 'A', True), f8[:, :, ::1], f8[:, :, ::1])"
)
def _arc_poses(twists, times_s, angles, sines):  # type: ignore[no-untyped-def]
    """Return the poses of :func:`arc_poses`. ``sines`` are those of ``angles``, which are defined
    by :func:`_arc_angles`."""
    poses = np.empty((*times_s.shape, 3))
    for command in range(times_s.shape[0]):
        for step in range(times_s.shape[1]):
            _, divisor, half_divisor = angles[:, command, step]
            half_sine, sine, half_divisor_sine = sines[:, command, step]
            # sin(x)/x and (1-cos(x))/x are smooth at 0, where the arc becomes a line.
            longitudinal = sine / divisor
            lateral = half_sine * (half_divisor_sine / half_divisor)
            length = twists[command, 0] * times_s[command, step]
            turn = twists[command, 1] * times_s[command, step]
            poses[command, step] = (length * longitudinal, length * lateral, turn)
    return poses


@compiled
def _transform_edges(normals, offsets_m, pose, cos, sin, lines):  # type: ignore[no-untyped-def]
    """Write the normal (x, y) and the offset (m) of each edge's line, for the footprint at ``pose``
    (3,), to ``lines``, shape (e, 3)."""
    for edge in range(len(offsets_m)):
        nx, ny = normals[edge, 0], normals[edge, 1]
        turned_x, turned_y = cos * nx - sin * ny, sin * nx + cos * ny
        lines[edge, 0], lines[edge, 1] = turned_x, turned_y
        lines[edge, 2] = turned_x * pose[0] + turned_y * pose[1] + offsets_m[edge]


@compiled
def _clearance(lines, points_m):  # type: ignore[no-untyped-def]
    nearest_m = np.inf
    for x_m, y_m in points_m:
        away_m = -np.inf
        for edge in range(len(lines)):
            projection = lines[edge, 0] * x_m + lines[edge, 1] * y_m
            away_m = max(away_m, projection - lines[edge, 2])
        nearest_m = min(nearest_m, away_m)
    return nearest_m


@compiled_for("f8[::1](f8[:, ::1], f8[::1], f8[:, ::1], f8[::1], f8[::1], f8[:, ::1])")
def _clearances(normals, offsets_m, poses, cosines, sines, points_m):  # type: ignore[no-untyped-def]
    """Return the distances of :meth:`ConvexFootprint.clearance_m`, whose edges have ``normals``,
    shape (e, 2), and ``offsets_m``, shape (e,). ``cosines`` and ``sines`` are those of the yaws."""
    nearest_m = np.empty(len(poses))
    lines = np.empty((len(offsets_m), 3))
    for index in range(len(poses)):
        _transform_edges(normals, offsets_m, poses[index], cosines[index], sines[index], lines)
        nearest_m[index] = _clearance(lines, points_m)
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
    "Tuple((f8[::1], f8[::1], b1[::1]))(f8[:, ::1], f8[::1], f8, f8, Array(f8, 2, 'A', True),"
    " f8[::1], f8[:, :, ::1], f8[:, ::1], f8[:, ::1], Array(f8, 2, 'A', True), f8, f8)"
)
def _free_parts(  # type: ignore[no-untyped-def]
    normals, offsets_m, radius_m, miter, twists, end_s, poses, cosines, sines,
    points_m, reach_m, margin_m,
):  # fmt: skip
    """Return the fields of a :class:`Sweep`, whose arcs have the ``poses`` (c, s, 3). The first
    arguments are attributes of :class:`ConvexFootprint`."""
    arcs, steps = cosines.shape
    distance_m, angle_rad, blocked = np.empty(arcs), np.empty(arcs), np.empty(arcs, np.bool_)
    lines = np.empty((len(offsets_m), 3))
    near_m = near_points(points_m, reach_m + radius_m + 0.5)
    near_m = near_m[:: 1 + len(near_m) // _MAX_POINTS]
    _transform_edges(normals, offsets_m, np.zeros(3), 1.0, 0.0, lines)
    here_m = _clearance(lines, near_m)
    allowed_m = margin_m
    if here_m < margin_m:
        # A footprint within the margin of a point must be able to move away, so it can approach
        # the point a little, but not nearer than a third of the margin.
        allowed_m = min(here_m, max(here_m - APPROACH_M, margin_m / 3))
    least_m = radius_m + max(allowed_m, 0.0) * miter + ROUNDING_M
    for arc in range(arcs):
        free_steps = steps
        for step in range(steps):
            pose = poses[arc, step]
            _transform_edges(normals, offsets_m, pose, cosines[arc, step], sines[arc, step], lines)
            if _is_nearer(lines, pose[0], pose[1], near_m, allowed_m, least_m):
                free_steps = step
                break
        free_s = end_s[arc] * free_steps / steps
        distance_m[arc] = free_s * abs(twists[arc, 0])
        angle_rad[arc] = free_s * abs(twists[arc, 1])
        blocked[arc] = free_steps < steps
    return distance_m, angle_rad, blocked
