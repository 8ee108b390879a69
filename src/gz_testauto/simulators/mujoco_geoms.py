"""SDF shapes and rays in MuJoCo, for colliders and for the embedded simulator.

All modules that create MuJoCo models use this module. It formats numbers, and returns the type and
size of primitive shapes. It also casts many rays in one call, for which MuJoCo's functions differ
between versions.
"""

from typing import Any, Dict, Optional, Tuple

import numpy as np

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Sphere

EXACT = '<option ccd_tolerance="1e-9" ccd_iterations="200"/>'
"""MJCF option for exact distances between convex bodies, which has an effect since MuJoCo 3.3."""


def distances_are_exact() -> bool:
    """Return whether MuJoCo's distances between bodies are reliable. The distances of version 3.2,
    the last version for Python 3.8, have errors of decimeters."""
    import mujoco

    return tuple(int(part) for part in mujoco.__version__.split(".")[:2]) >= (3, 3)


def text(*values: float) -> str:
    """Return numbers as MJCF text, with all digits."""
    return " ".join(repr(float(value)) for value in values)


def place(element: Element, pose: Pose) -> Element:
    """Set the position and the orientation of an MJCF element, and return it."""
    x, y, z, w = pose.quaternion
    element.set("pos", text(*pose.position))
    element.set("quat", text(w, x, y, z))
    return element


def primitive(shape: Geometry) -> Optional[Dict[str, str]]:
    """Return the type and size of a box, sphere, cylinder, capsule or ellipsoid as MJCF attributes
    of a geom, or None for other shapes."""
    if isinstance(shape, Box):
        size = text(*(side / 2 for side in shape.size))
    elif isinstance(shape, Sphere):
        size = text(shape.radius)
    elif isinstance(shape, (Cylinder, Capsule)):
        size = text(shape.radius, shape.length / 2)
    elif isinstance(shape, Ellipsoid):
        size = text(*shape.radii)
    else:
        return None
    return {"type": type(shape).__name__.lower(), "size": size}


def cast_scan(
    model: Any,
    data: Any,
    origin: np.ndarray,
    directions: np.ndarray,
    range_m: Tuple[float, float],
    groups: Optional[np.ndarray] = None,
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the ranges (m) of a lidar at ``origin`` (3,) along unit ``directions`` (n, 3), shape
    (n,), and the ids of the detected geoms, shape (n,).

    As in Gazebo, a ray starts at the minimum range, and passes through nearer surfaces. ``range_m``
    is the minimum and the maximum range. The range is infinite and the id is -1 if a ray detects no
    geom. ``groups`` (6,) selects the groups of geoms, and None selects all groups.
    """
    least_m, most_m = range_m
    ranges, met = cast_fan(model, data, origin, directions, most_m, groups)
    for ray in np.flatnonzero((ranges >= 0) & (ranges < least_m)):
        start, direction = origin + least_m * directions[ray], directions[ray : ray + 1]
        (rest,), met[ray : ray + 1] = cast_fan(model, data, start, direction, most_m, groups)
        ranges[ray] = least_m + rest if rest >= 0 else -1.0
    missed = (ranges < 0) | (ranges > most_m)
    ranges[missed], met[missed] = np.inf, -1
    return ranges, met


def cast_fan(
    model: Any,
    data: Any,
    origin: np.ndarray,
    directions: np.ndarray,
    range_max_m: float,
    groups: Optional[np.ndarray] = None,
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the distance (m) from ``origin`` (3,) along unit ``directions`` (n, 3) to the first
    geom, shape (n,), and the id of that geom, shape (n,). Both are -1 if a ray hits no geom. Geoms
    beyond ``range_max_m`` can be omitted. ``groups`` (6,) selects the groups of geoms, and None
    selects all groups."""
    import mujoco

    count = len(directions)
    found, met = np.empty(count), np.empty(count, np.int32)
    extra = (None,) if "normal:" in mujoco.mj_multiRay.__doc__.split("->")[0] else ()
    mujoco.mj_multiRay(
        model, data, origin, directions.ravel(), groups, 1, -1, met, found, *extra, count,
        range_max_m,
    )  # fmt: skip
    return found, met
