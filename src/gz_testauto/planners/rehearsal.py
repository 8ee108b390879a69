"""One cycle of a planner on an empty plain, before any that counts.

What is compiled, loaded or imported when first used then is so when a robot drives, and neither a
cycle's time nor a simulation that goes on by itself pays for it.
"""

import contextlib
import math
from typing import Any, Mapping

import numpy as np

from gz_testauto.base.observation import LaserScan, Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.planners import make_planner
from gz_testauto.planners.interface import (
    Lane,
    LocalPlanner,
    Observation,
    PlannerGaveUp,
    RobotLimits,
    Task,
)

AWAY_M = 5.0
"""How far off the goal is."""
RAYS, RANGE_M = 360, 10.0
LANE_WIDTH_M = 4.0


def rehearse(
    plugin: str, parameters: Mapping[str, Any], limits: RobotLimits, on_road: bool = False
) -> None:
    """Have a planner of its own plan once, where its kind wants that. That it gives up there says
    nothing. Raises ``SpecError`` for a planner that cannot be made."""
    planner: LocalPlanner = make_planner(plugin, **parameters)
    if not planner.rehearses:
        return
    way_m = np.array([[0.0, 0.0], [AWAY_M, 0.0]])
    long_m = np.array([[-4 * AWAY_M, 0.0], [4 * AWAY_M, 0.0]])
    lanes = (Lane(long_m, np.full(2, LANE_WIDTH_M)),) if on_road else ()
    nothing = np.full(RAYS, math.inf)
    scan = LaserScan(0.0, -math.pi, math.pi, 0.1, RANGE_M, nothing)
    with contextlib.suppress(PlannerGaveUp):
        planner.begin(Task(Pose2D(AWAY_M, 0.0, 0.0), 0.5, way_m, limits, lanes=lanes))
        planner.plan(Observation(0.0, Pose2D(0.0, 0.0, 0.0), Twist2D(), scan))
