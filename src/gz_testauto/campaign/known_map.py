"""The ways through the known map, as the paper's global planner lays them.

The known map shows the base world without the random obstacles. Worlds multiplied from one base
share it; ready worlds from a directory each have their own.
"""

from pathlib import Path
from typing import Dict

import numpy as np

from gz_testauto.campaign.results import WorldRecord
from gz_testauto.errors import SpecError
from gz_testauto.grid.occupancy import OccupancyGrid
from gz_testauto.planners.global_plan import lay_waypoints
from gz_testauto.planners.interface import RobotLimits
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.worlds.known_map import DEFAULT_HEIGHT_M, base_map


class KnownMap:
    """Way-points from the campaign's start to its goal, world by world."""

    def __init__(self, spec: CampaignSpec, robot: RobotModel, limits: RobotLimits) -> None:
        self._spec = spec
        self._limits = limits
        self._height_m = _scan_height_m(spec, robot)
        self._ways: Dict[Path, np.ndarray] = {}

    def waypoints(self, world: WorldRecord) -> np.ndarray:
        """Way-points in the world frame, shape (n, 2). Raises ``SpecError`` where there is no
        way on the known map, whatever the random obstacles are."""
        base = self.base(world)
        if base not in self._ways:
            self._ways[base] = self._lay(base)
        return self._ways[base]

    def base(self, world: WorldRecord) -> Path:
        """The file whose map, without random obstacles, is known in ``world``."""
        return self._spec.worlds.base or Path(world.path)

    def grid(self, base: Path) -> OccupancyGrid:
        """The map of a base world at the height of the lidar."""
        return base_map(base, self._spec.global_plan.resolution_m, self._height_m)

    def _lay(self, base: Path) -> np.ndarray:
        spec = self._spec
        start, goal = spec.robot.start.pose, spec.goal.pose
        grid = self.grid(base)
        way = lay_waypoints(grid, start, goal, self._limits, spec.global_plan.margin_m)
        if way is None:
            raise SpecError(
                f"{base}: the known map has no way from ({start.x_m:g}, {start.y_m:g}) to "
                f"({goal.x_m:g}, {goal.y_m:g}) for a robot of radius "
                f"{self._limits.circumscribed_radius_m:.2f} m; move robot.start or goal, or "
                "make the robot's footprint smaller"
            )
        way.setflags(write=False)
        return way


def _scan_height_m(spec: CampaignSpec, robot: RobotModel) -> float:
    """Height (m) at which the map is cut: where the lidar sees."""
    if spec.robot.scan_height_m is not None:
        return spec.robot.scan_height_m
    return DEFAULT_HEIGHT_M if robot.lidar is None else robot.lidar.mount.position[2]
