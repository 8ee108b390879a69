"""Tracked objects as input of the search, and the scan without them.

This module converts outlines and paths to rectangles at the time steps of the search.
"""

from dataclasses import replace
from typing import Sequence

import numpy as np
import shapely

from gz_testauto.base.observation import LaserScan, TrackedObject
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.sst.model import Objects

GROWN_M = 0.3
"""A ray that ends within this distance (m) of a tracked object counts as a hit of that object."""


def predict_objects(
    objects: Sequence[TrackedObject], unit_m: float, ahead_s: float, step_s: float
) -> Objects:
    """Return tracked objects in ``unit_m``, predicted from ``ahead_s`` after their observation
    on."""
    if not objects:
        return Objects.none()
    lasts = [(len(one.path) - 1) * one.path_step_s for one in objects]
    times = ahead_s + step_s * np.arange(max(0, round((max(lasts) - ahead_s) / step_s)) + 1)
    sizes, paths = [], []
    for one in objects:
        low, high = one.outline_m.min(axis=0), one.outline_m.max(axis=0)
        told = one.path_step_s * np.arange(len(one.path))
        yaws = np.interp(times, told, np.unwrap(one.path[:, 2]))
        middle = 0.5 * (low + high)
        cos, sin = np.cos(yaws), np.sin(yaws)
        x = np.interp(times, told, one.path[:, 0]) + cos * middle[0] - sin * middle[1]
        y = np.interp(times, told, one.path[:, 1]) + sin * middle[0] + cos * middle[1]
        sizes.append(high - low)
        paths.append(np.column_stack([x / unit_m, y / unit_m, yaws]))
    return Objects(np.array(sizes) / unit_m, np.array(paths))


def remove_tracked_objects(
    scan: LaserScan, base: Pose2D, objects: Sequence[TrackedObject]
) -> LaserScan:
    """Return a scan in which rays that end at a tracked object have infinite range; ``base`` is the
    robot's pose."""
    if not objects:
        return scan
    met = np.flatnonzero(np.isfinite(scan.ranges_m))
    angles, ranges = scan.angles_rad[met], scan.ranges_m[met]
    local = np.column_stack([ranges * np.cos(angles), ranges * np.sin(angles), np.zeros(len(met))])
    places = base.apply(scan.mount.apply(local)[:, :2])
    theirs = np.zeros(len(met), dtype=bool)
    for one in objects:
        now = Pose2D(*one.path[0].tolist()) if len(one.path) else one.pose
        around = shapely.Polygon(now.apply(one.outline_m)).buffer(GROWN_M)
        theirs |= shapely.contains_xy(around, *places.T)
    ranges_m = scan.ranges_m.copy()
    ranges_m[met[theirs]] = np.inf
    return replace(scan, ranges_m=ranges_m)
