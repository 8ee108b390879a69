"""Find a mission in the free space of an occupancy map."""

import math
from typing import NamedTuple, Optional, Tuple

import numpy as np

from gz_testauto.grid.map_server import MapFile
from gz_testauto.grid.occupancy import cells_within
from gz_testauto.worlds.map_walls import center_of


class FreeMission(NamedTuple):
    """A start with heading and a goal in free space (m, rad, world frame), and the area that the
    center of the disc can reach from there."""

    start: Tuple[float, float, float]
    goal: Tuple[float, float]
    area_m2: float


def find_mission(map_file: MapFile, free: np.ndarray, radius_m: float) -> Optional[FreeMission]:
    """Return a distant start and goal, with a path for a disc of ``radius_m`` between them, or None
    if no two free cells are connected."""
    from gz_testauto.extras.map_world.areas import ends_of_largest_area  # loads numba

    padded_walls = np.pad(~free, 1, constant_values=True)  # no cell outside of the map is free
    near_walls = cells_within(padded_walls, map_file.resolution_m, radius_m, to_edges=True)
    near_walls = near_walls[1:-1, 1:-1]
    ends = ends_of_largest_area(np.ascontiguousarray(~near_walls))
    if ends is None:
        return None
    *cells, size = ends
    (x_m, y_m), (goal_x_m, goal_y_m) = (
        center_of(map_file, *divmod(cell, free.shape[1])) for cell in cells
    )
    heading_rad = math.atan2(goal_y_m - y_m, goal_x_m - x_m)
    area_m2 = size * map_file.resolution_m**2
    return FreeMission((x_m, y_m, heading_rad), (goal_x_m, goal_y_m), area_m2)
