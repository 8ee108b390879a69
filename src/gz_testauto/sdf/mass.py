"""Volumes and moments of inertia of solid shapes.

Owns the textbook formulas for homogeneous solids about their centre of mass; a shape
without a volume of its own (plane, mesh, terrain) has none here.
"""

import math
from typing import Tuple

from gz_testauto.sdf.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Sphere


def volume_m3(geometry: Geometry) -> float:
    """Volume in m³; raises ``ValueError`` for shapes that have no formula."""
    if isinstance(geometry, Box):
        return math.prod(geometry.size)
    if isinstance(geometry, Cylinder):
        return math.pi * geometry.radius**2 * geometry.length
    if isinstance(geometry, Sphere):
        return 4 / 3 * math.pi * geometry.radius**3
    if isinstance(geometry, Capsule):
        return math.pi * geometry.radius**2 * (geometry.length + 4 / 3 * geometry.radius)
    if isinstance(geometry, Ellipsoid):
        return 4 / 3 * math.pi * math.prod(geometry.radii)
    raise ValueError(f"no volume is known of a {type(geometry).__name__.lower()}")


def inertia_kgm2(geometry: Geometry, mass_kg: float) -> Tuple[float, float, float]:
    """Moments about x, y, z of a homogeneous solid (kg m²); products are zero.

    Raises ``ValueError`` for shapes that have no formula.
    """
    if isinstance(geometry, Box):
        x, y, z = (side**2 for side in geometry.size)
        return (mass_kg / 12 * (y + z), mass_kg / 12 * (x + z), mass_kg / 12 * (x + y))
    if isinstance(geometry, Cylinder):
        across = mass_kg / 12 * (3 * geometry.radius**2 + geometry.length**2)
        return (across, across, mass_kg / 2 * geometry.radius**2)
    if isinstance(geometry, Sphere):
        moment = 2 / 5 * mass_kg * geometry.radius**2
        return (moment, moment, moment)
    if isinstance(geometry, Ellipsoid):
        a, b, c = (radius**2 for radius in geometry.radii)
        return (mass_kg / 5 * (b + c), mass_kg / 5 * (a + c), mass_kg / 5 * (a + b))
    if isinstance(geometry, Capsule):
        return _capsule_inertia(geometry, mass_kg)
    raise ValueError(f"no inertia is known of a {type(geometry).__name__.lower()}")


def _capsule_inertia(capsule: Capsule, mass_kg: float) -> Tuple[float, float, float]:
    radius, length = capsule.radius, capsule.length
    density = mass_kg / volume_m3(capsule)
    barrel = density * math.pi * radius**2 * length
    caps = density * 4 / 3 * math.pi * radius**3  # both half spheres together
    along = barrel * radius**2 / 2 + caps * 2 / 5 * radius**2
    across = barrel * (3 * radius**2 + length**2) / 12 + caps * (
        2 / 5 * radius**2 + length**2 / 4 + 3 / 8 * length * radius
    )
    return (across, across, along)
