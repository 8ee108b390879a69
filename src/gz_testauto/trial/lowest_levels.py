"""The lowest surfaces of a world that can carry a robot.

Owns the two levels below which no moving model can be. Both are valid in worlds with hills, ramps
and storeys, since they use the lowest surface of the world.
"""

import math
from typing import List, Tuple

from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.sdf.shapes import Plane

UPWARD = 1e-6
"""A plane whose normal rises by less than this carries nothing."""


class LowestLevels:
    """The levels of one world; heights (m) are in the world frame."""

    def __init__(self, scene: WorldScene) -> None:
        self._planes: List[Tuple[List[float], List[float]]] = []
        self._bottom_m, self._floor_m = math.inf, math.inf
        for model in scene.models.values():
            for shape in model.collisions:
                if isinstance(shape.geometry, Plane):
                    normal = shape.geometry.world_normal
                    if normal[2] > UPWARD:
                        self._planes.append((normal.tolist(), [*shape.pose.position]))
                    continue
                low_m, high_m = map(float, shape.bounds[2])
                self._bottom_m = min(self._bottom_m, low_m)
                if shape.is_ground:
                    surface_m = low_m if isinstance(shape.geometry, Heightmap) else high_m
                    self._floor_m = min(self._floor_m, surface_m)

    def bottom_m(self, x_m: float, y_m: float) -> float:
        """Return the lowest point of the world, that of a plane at this position; ``-inf`` for an
        empty world."""
        return _lowest([self._bottom_m, *self._levels(x_m, y_m)])

    def floor_m(self, x_m: float, y_m: float) -> float:
        """Return the lowest surface that is a floor, that of a plane at this position; ``-inf`` for
        none."""
        return _lowest([self._floor_m, *self._levels(x_m, y_m)])

    def _levels(self, x_m: float, y_m: float) -> List[float]:
        return [
            point[2] - (normal[0] * (x_m - point[0]) + normal[1] * (y_m - point[1])) / normal[2]
            for normal, point in self._planes
        ]


def _lowest(levels_m: List[float]) -> float:
    lowest_m = min(levels_m)
    return -math.inf if lowest_m == math.inf else lowest_m
