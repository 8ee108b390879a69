"""Positions of a robot's wheels, and their depth in the ground.

Points on the surfaces of round collision shapes, wheels and casters, are compared with the terrain.
The depth of a point is the radius of the largest ball around it that is entirely inside the ground,
so that a wheel that touches a vertical side is not deeper for that.
"""

import math
from functools import lru_cache
from types import MappingProxyType
from typing import Dict, Mapping, Union

import numpy as np

from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.extras.simulator_comparison.terrain import Terrain
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import placed_model
from gz_testauto.sdf.shapes import Cylinder, Sphere

ANGLES = 48
"""Points around a wheel, 7.5° from each other."""
SLICES = 5
"""Slices across the width of a cylinder, or between the poles of a sphere."""
DIRECTIONS = 8
RISES_RAD = (0.0, math.pi / 4)
"""Elevations of the tested points on a ball's upper half: directions around it, and its top."""


@lru_cache(maxsize=8)
def wheel_surfaces(robot: RobotModel) -> Mapping[str, np.ndarray]:
    """Return points (p, 3) on the cylinders and spheres of each link that has any, in the link's
    frame (m). Links have scoped names, as in a snapshot. Results are cached, since a robot runs
    many times."""
    scene = placed_model(robot.sdf, robot.name, Pose())
    points: Dict[str, np.ndarray] = {}
    for shape in scene.collisions:
        if isinstance(shape.geometry, (Cylinder, Sphere)):
            own = (scene.links[shape.link].inverse() * shape.local_pose).apply(
                _surface(shape.geometry)
            )
            link = f"{robot.name}::{shape.link}"
            points[link] = np.concatenate([points[link], own]) if link in points else own
    for own in points.values():
        own.setflags(write=False)
    return MappingProxyType(points)


def transform_surfaces(
    surfaces: Mapping[str, np.ndarray], links: Mapping[str, ModelState]
) -> Dict[str, np.ndarray]:
    """Return the points in the world's frame, for links whose poses the simulator reports."""
    return {name: links[name].pose.apply(own) for name, own in surfaces.items() if name in links}


def is_inside(terrain: Terrain, points_m: np.ndarray, depth_m: float) -> np.ndarray:
    """Return whether points (..., 3) are inside the ground, ``depth_m`` or more from the surface;
    False beyond the terrain's edge."""
    flat = points_m.reshape(-1, 3)
    found = np.asarray(terrain.height_m(flat[:, 0], flat[:, 1])) - flat[:, 2] >= depth_m
    candidates = np.flatnonzero(found)
    for rise in RISES_RAD:
        for turn in np.arange(DIRECTIONS) * (2 * math.pi / DIRECTIONS):
            if not len(candidates):
                break
            x_m, y_m, z_m = flat[candidates].T
            aside_m = depth_m * math.cos(rise)
            ground = terrain.height_m(
                x_m + aside_m * math.cos(turn), y_m + aside_m * math.sin(turn)
            )
            held = np.asarray(ground) - z_m >= depth_m * math.sin(rise)
            found[candidates[~held]] = False
            candidates = candidates[held]
    return found.reshape(points_m.shape[:-1])


def _surface(geometry: Union[Cylinder, Sphere]) -> np.ndarray:
    around = np.arange(ANGLES) * (2 * math.pi / ANGLES)
    if isinstance(geometry, Cylinder):
        levels = np.linspace(-geometry.length / 2, geometry.length / 2, SLICES)
        radii = np.full(SLICES, geometry.radius)
    else:
        rises = (np.arange(SLICES) - SLICES // 2) * (math.pi / (SLICES + 1))
        levels, radii = geometry.radius * np.sin(rises), geometry.radius * np.cos(rises)
    turn, level = np.meshgrid(around, levels)
    radius = np.repeat(radii[:, None], ANGLES, axis=1)
    points = np.stack([radius * np.cos(turn), radius * np.sin(turn), level], axis=-1)
    return np.asarray(points.reshape(-1, 3))
