"""SDF's shapes and rays as MuJoCo has them, for colliders and for the embedded simulator.

Owns what every model of MuJoCo's that this package writes has in common: how numbers are written,
what the primitive shapes are called and how large they are there, and the call that casts many
rays, which changed between MuJoCo's versions.
"""

from typing import Any, Dict, Optional, Tuple

import numpy as np

from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Sphere

EXACT = '<option ccd_tolerance="1e-9" ccd_iterations="200"/>'
"""MJCF with which distances between convex bodies are exact, where they can be."""


def distances_are_exact() -> bool:
    """Whether MuJoCo's distances can be believed: those of 3.2, the last for Python 3.8, are
    decimeters off."""
    import mujoco

    return tuple(int(part) for part in mujoco.__version__.split(".")[:2]) >= (3, 3)


def text(*values: float) -> str:
    """Numbers as MJCF has them, in digits that read back."""
    return " ".join(repr(float(value)) for value in values)


def primitive(shape: Geometry) -> Optional[Dict[str, str]]:
    """Type and size of a box, sphere, cylinder, capsule or ellipsoid as MJCF attributes of a geom;
    None of anything else."""
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


def cast_fan(
    model: Any,
    data: Any,
    origin: np.ndarray,
    directions: np.ndarray,
    range_max_m: float,
    groups: Optional[np.ndarray] = None,
) -> Tuple[np.ndarray, np.ndarray]:
    """Meters (n,) from ``origin`` (3,) along unit ``directions`` (n, 3) to the first geom, and its
    id (n,), both -1 for none; what is beyond ``range_max_m`` may be found or not. ``groups`` (6,)
    says which groups of geoms are looked at; all unless given."""
    import mujoco

    count = len(directions)
    found, met = np.empty(count), np.empty(count, np.int32)
    extra = (None,) if "normal:" in mujoco.mj_multiRay.__doc__.split("->")[0] else ()
    mujoco.mj_multiRay(
        model, data, origin, directions.ravel(), groups, 1, -1, met, found, *extra, count,
        range_max_m,
    )  # fmt: skip
    return found, met
