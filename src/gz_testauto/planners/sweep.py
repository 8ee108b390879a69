"""Where a footprint can go: arcs driven forward against the points of a scan.

Owns the check of circular arcs for a convex footprint, for many commands at once. Refuses to
weigh them.
"""

from typing import NamedTuple, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.polygon import orient

_MOST_POINTS = 240
"""More scan points than this are thinned out; neighbours then lie within a few centimetres."""

SLACK_M = 0.01
"""How much nearer a footprint may come that is within the margin already."""


class Sweep(NamedTuple):
    """What became of each command, arrays of shape (c,).

    ``distance_m`` and ``angle_rad`` are how far the base drives and turns before the footprint
    comes within the margin of a point; ``blocked`` tells whether it does at all.
    """

    distance_m: np.ndarray
    angle_rad: np.ndarray
    blocked: np.ndarray


class ConvexFootprint:
    """The convex hull of an outline, as the half planes that bound it."""

    def __init__(self, outline_m: Sequence[Tuple[float, float]]) -> None:
        hull = shapely.convex_hull(shapely.MultiPoint(np.asarray(outline_m, dtype=float)))
        ring = np.asarray(orient(hull, 1.0).exterior.coords)
        edges = np.diff(ring, axis=0)
        normals = np.column_stack([edges[:, 1], -edges[:, 0]])
        self.normals = normals / np.hypot(edges[:, 0], edges[:, 1])[:, None]
        self.offsets_m = (self.normals * ring[:-1]).sum(axis=1)
        self.radius_m = float(np.hypot(ring[:, 0], ring[:, 1]).max())

    def clearance_m(self, poses: np.ndarray, points_m: np.ndarray) -> np.ndarray:
        """Distance from the footprint at each pose to the nearest point, shape (n,).

        ``poses`` (n, 3) are x, y (m) and yaw (rad), ``points_m`` (m, 2), both in one frame. The
        distance is the largest over the edges' lines: exact beside an edge, an underestimate
        beyond a corner, negative inside.
        """
        if len(points_m) == 0:
            return np.full(len(poses), np.inf)
        cos, sin = np.cos(poses[:, 2])[:, None], np.sin(poses[:, 2])[:, None]
        nx, ny = self.normals[:, 0], self.normals[:, 1]
        turned = np.stack([cos * nx - sin * ny, sin * nx + cos * ny], axis=-1)  # (n, e, 2)
        shift = (turned * poses[:, None, :2]).sum(axis=-1) + self.offsets_m
        distance = turned[:, 0] @ points_m.T - shift[:, 0, None]
        for edge in range(1, turned.shape[1]):
            np.maximum(distance, turned[:, edge] @ points_m.T - shift[:, edge, None], out=distance)
        return distance.min(axis=1)


def arc_poses(twists: np.ndarray, times_s: np.ndarray) -> np.ndarray:
    """Where constant commands lead: x, y, yaw from the origin.

    ``twists`` (c, 2) are m/s and rad/s, ``times_s`` (c, s); the result has shape (c, s, 3).
    """
    linear, angular = twists[:, :1], twists[:, 1:]
    turned = angular * times_s
    # sin(x)/x and (1-cos(x))/x are smooth at 0, where the arc becomes a line.
    ahead = np.sinc(turned / np.pi)
    aside = np.sin(turned / 2) * np.sinc(turned / 2 / np.pi)
    driven = linear * times_s
    return np.stack([driven * ahead, driven * aside, turned], axis=-1)


def sweep_arcs(
    footprint: ConvexFootprint,
    twists: np.ndarray,
    points_m: np.ndarray,
    reach_m: float,
    margin_m: float,
    steps: int,
) -> Sweep:
    """Drive every command of ``twists`` (c, 2) forward until it has gone ``reach_m`` or turned
    by 180°, in ``steps`` checks.

    A footprint that is already within the margin of a point may move as long as it does not
    come noticeably nearer, and not nearer than a third of the margin: otherwise nothing could
    ever get away from where it stands too close.
    """
    speed, rate = np.abs(twists[:, 0]), np.abs(twists[:, 1])
    end_s = np.minimum(reach_m / np.maximum(speed, 1e-6), np.pi / np.maximum(rate, 1e-6))
    times = end_s[:, None] * np.arange(1, steps + 1) / steps
    near = points_m[np.hypot(points_m[:, 0], points_m[:, 1]) < reach_m + footprint.radius_m + 0.5]
    near = near[:: 1 + len(near) // _MOST_POINTS]
    here = footprint.clearance_m(np.zeros((1, 3)), near)[0]
    allowed = margin_m if here >= margin_m else min(here, max(here - SLACK_M, margin_m / 3))
    poses = arc_poses(twists, times).reshape(-1, 3)
    hit = (footprint.clearance_m(poses, near) < allowed).reshape(times.shape)
    blocked = np.asarray(hit.any(axis=1))
    free_steps = np.where(blocked, hit.argmax(axis=1), steps)
    free_s = end_s * free_steps / steps
    return Sweep(free_s * speed, free_s * rate, blocked)
