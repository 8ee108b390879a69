"""SDF shapes and rays in MuJoCo, for colliders and for the embedded simulator."""

from typing import Any, Dict, Optional, Tuple

import numpy as np

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Sphere

# exact distances between convex bodies, effective since MuJoCo 3.3
EXACT = '<option ccd_tolerance="1e-9" ccd_iterations="200"/>'


def distances_are_exact() -> bool:
    import mujoco

    # the last version for Python 3.8, 3.2, has errors of decimeters
    return tuple(int(part) for part in mujoco.__version__.split(".")[:2]) >= (3, 3)


def text(*values: float) -> str:
    """Return numbers as MJCF text, with all digits."""
    return " ".join(repr(float(value)) for value in values)


def set_mjcf_pose(element: Element, pose: Pose) -> Element:
    x, y, z, w = pose.quaternion
    element.set("pos", text(*pose.position))
    element.set("quat", text(w, x, y, z))
    return element


def primitive(shape: Geometry) -> Optional[Dict[str, str]]:
    """Return the type and size of a primitive shape as attributes of a geom, or None."""
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
    """Return the ranges (n,) of a lidar (m), and the ids (n,) of the detected geoms.

    ``directions`` (n, 3) are unit vectors, and ``range_m`` is the minimum and the maximum range. As
    in Gazebo, a ray starts at the minimum range. The range is infinite and the id is -1 if a ray
    detects no geom. ``groups`` (6,) selects the groups of geoms, by default all.
    """
    least_m, most_m = range_m
    ranges, hit_geoms = cast_fan(model, data, origin, directions, most_m, groups)
    for ray in np.flatnonzero((ranges >= 0) & (ranges < least_m)):
        start, direction = origin + least_m * directions[ray], directions[ray : ray + 1]
        (beyond_m,), hit_geoms[ray : ray + 1] = cast_fan(
            model, data, start, direction, most_m, groups
        )
        ranges[ray] = least_m + beyond_m if beyond_m >= 0 else -1.0
    has_missed = (ranges < 0) | (ranges > most_m)
    ranges[has_missed], hit_geoms[has_missed] = np.inf, -1
    return ranges, hit_geoms


def cast_fan(
    model: Any,
    data: Any,
    origin: np.ndarray,
    directions: np.ndarray,
    range_max_m: float,
    groups: Optional[np.ndarray] = None,
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the distances (n,) to the first geoms (m), and their ids (n,); see :func:`cast_scan`.

    Both are -1 if a ray hits no geom. Geoms beyond ``range_max_m`` can be omitted.
    """
    import mujoco

    count = len(directions)
    distances_m, hit_geoms = np.empty(count), np.empty(count, np.int32)
    # newer versions of MuJoCo have another argument
    extra = (None,) if "normal:" in mujoco.mj_multiRay.__doc__.split("->")[0] else ()
    mujoco.mj_multiRay(
        model, data, origin, directions.ravel(), groups, 1, -1, hit_geoms, distances_m, *extra,
        count, range_max_m,
    )  # fmt: skip
    return distances_m, hit_geoms
