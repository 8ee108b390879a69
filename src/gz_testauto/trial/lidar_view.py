"""The expected scan of a planar lidar in a world, from collision shapes.

It consists of the first obstacle on each ray at the height of the lidar. Noise, the measured scan
and maps are not used.
"""

from typing import Mapping, NamedTuple, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.scene import SceneModel, WorldScene


class Sighting(NamedTuple):
    """The first point of a ray on an obstacle: the model, the ray's index, the point (m, world
    frame) and its distance (m) from the lidar."""

    name: str
    ray: int
    x_m: float
    y_m: float
    distance_m: float


def seen_models(scene: WorldScene) -> Tuple[str, ...]:
    """Return the models that a lidar can see: all but the ground."""
    return tuple(name for name, model in scene.models.items() if not model.is_ground)


def lidar_view(
    scene: WorldScene,
    height_m: float,
    origin_m: Tuple[float, float],
    directions_rad: np.ndarray,
    reach_m: float,
    poses: Mapping[str, Pose],
) -> Tuple[Sighting, ...]:
    """Return the first hits of the rays of a lidar at ``origin_m`` within ``reach_m``, at most one
    per ray.

    ``directions_rad``, shape (n,), and heights are in the world frame. ``poses`` are the present
    poses of the models; one that is missing does not exist. The ground is not seen.
    """
    eye = shapely.Point(origin_m)
    towards = np.column_stack([np.cos(directions_rad), np.sin(directions_rad)])
    ends = np.asarray(origin_m) + reach_m * towards
    rays = shapely.linestrings(np.stack([np.broadcast_to(origin_m, ends.shape), ends], axis=1))
    nearest_m = np.full(len(directions_rad), np.inf)
    names = np.full(len(directions_rad), "", dtype=object)
    for name, pose in poses.items():
        outline = _outline(scene.models[name], pose, height_m)
        if outline.is_empty or outline.distance(eye) > reach_m:
            continue
        distances_m = shapely.distance(eye, shapely.intersection(rays, outline))
        nearer = distances_m < nearest_m  # NaN without a hit
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


def _outline(model: SceneModel, pose: Pose, height_m: float) -> BaseGeometry:
    if np.allclose(pose.matrix, model.pose.matrix, atol=1e-3):
        return model.obstacle_footprint(height_m, height_m)
    return model.footprint_at(pose, height_m, height_m)
