"""What a planar lidar should see of a world, by the collision geometry alone.

Owns which obstacle each ray meets first at the height at which the lidar sees, and where.
Knows nothing of noise, of what the sensor said, or of maps.
"""

from typing import NamedTuple, Tuple

import numpy as np
import shapely

from gz_testauto.sdf.scene import WorldScene


class Sighting(NamedTuple):
    """Where a ray meets an obstacle first: the model, the ray's number, the point (m, world
    frame) and its distance (m) from the lidar."""

    name: str
    ray: int
    x_m: float
    y_m: float
    distance_m: float


def lidar_view(
    scene: WorldScene,
    height_m: float,
    origin_m: Tuple[float, float],
    directions_rad: np.ndarray,
    reach_m: float,
) -> Tuple[Sighting, ...]:
    """What the rays of a lidar at ``origin_m`` meet within ``reach_m``, at most one sighting per
    ray. ``directions_rad``, shape (n,), and heights are in the world frame. Models are where the
    world file puts them; the ground is not seen."""
    eye = shapely.Point(origin_m)
    towards = np.column_stack([np.cos(directions_rad), np.sin(directions_rad)])
    ends = np.asarray(origin_m) + reach_m * towards
    rays = shapely.linestrings(np.stack([np.broadcast_to(origin_m, ends.shape), ends], axis=1))
    nearest_m = np.full(len(directions_rad), np.inf)
    names = np.full(len(directions_rad), "", dtype=object)
    for name, model in scene.models.items():
        outline = model.obstacle_footprint(height_m, height_m)
        if outline.is_empty or outline.distance(eye) > reach_m:
            continue
        distances_m = shapely.distance(eye, shapely.intersection(rays, outline))
        nearer = distances_m < nearest_m  # false where there is no hit, which is NaN
        nearest_m[nearer], names[nearer] = distances_m[nearer], name
    return tuple(
        Sighting(
            str(names[ray]),
            int(ray),
            float(origin_m[0] + nearest_m[ray] * towards[ray, 0]),
            float(origin_m[1] + nearest_m[ray] * towards[ray, 1]),
            float(nearest_m[ray]),
        )
        for ray in np.flatnonzero(np.isfinite(nearest_m))
    )
