"""The warm-up of a planner: one cycle on an empty plane before the first trial.

Compilation, loading and imports at the first use then do not count as cycle time, and do not delay
a simulation that runs freely.
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

GOAL_DISTANCE_M = 5.0
"""Distance of the goal."""
RAYS, RANGE_M = 360, 10.0
LANE_WIDTH_M = 4.0


def warm_up(
    plugin: str, parameters: Mapping[str, Any], limits: RobotLimits, on_road: bool = False
) -> None:
    """Run one cycle of a new planner, if its class needs a warm-up. ``PlannerGaveUp`` is ignored.

    Raises ``SpecError`` for a planner that cannot be constructed.
    """
    planner: LocalPlanner = make_planner(plugin, **parameters)
    if not planner.needs_warm_up:
        return
    path_m = np.array([[0.0, 0.0], [GOAL_DISTANCE_M, 0.0]])
    long_m = np.array([[-4 * GOAL_DISTANCE_M, 0.0], [4 * GOAL_DISTANCE_M, 0.0]])
    lanes = (Lane(long_m, np.full(2, LANE_WIDTH_M)),) if on_road else ()
    empty = np.full(RAYS, math.inf)
    scan = LaserScan(0.0, -math.pi, math.pi, 0.1, RANGE_M, empty)
    with contextlib.suppress(PlannerGaveUp):
        planner.begin(Task(Pose2D(GOAL_DISTANCE_M, 0.0, 0.0), 0.5, path_m, limits, lanes=lanes))
        planner.plan(Observation(0.0, Pose2D(0.0, 0.0, 0.0), Twist2D(), scan))
