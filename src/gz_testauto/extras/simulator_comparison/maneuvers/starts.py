"""Where robots stand when a drive begins.

A robot begins at the terrain's center and heads along x. Repetitions begin a little apart, drawn
from the seed, in all simulators alike.
"""

from typing import List

import numpy as np

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.simulator_comparison.maneuvers.commands import ideal_path
from gz_testauto.extras.simulator_comparison.terrain import Terrain
from gz_testauto.sampling.seeds import child_generator
from gz_testauto.sdf.robot import RobotBody

START = "start"
"""Path of the generators."""

JITTER_M, JITTER_RAD = 0.1, 0.05
"""Half widths of what a start is moved and turned by, uniformly."""

GAP_M = 0.5
"""Between the ways of robots that drive side by side."""

CLEARANCE_M = 0.002
"""How far above the highest point of the ground below it a robot is let go."""

BELOW = 25
"""Points along each side of the outline's box at which the ground is looked at."""


def draw_start(case: str, repetition: int, seed: int) -> Pose2D:
    """Where a repetition of a case begins."""
    random = child_generator(seed, START, case, repetition)
    x_m, y_m = random.uniform(-JITTER_M, JITTER_M, 2).tolist()
    return Pose2D(x_m, y_m, float(random.uniform(-JITTER_RAD, JITTER_RAD)))


def require_space(case: str, commands: np.ndarray, robot: RobotBody, terrain: Terrain) -> None:
    """Raise ``SpecError`` where a robot that does as it is told leaves the terrain."""
    way = ideal_path(commands)[:, :2]
    farthest = float(np.abs(way).max()) + _radius_m(robot) + JITTER_M
    farthest += JITTER_RAD * float(np.hypot(*way.T).max())
    _require(case, terrain, 2 * farthest)


def parallel_starts(
    count: int, case: str, commands: np.ndarray, robot: RobotBody, terrain: Terrain
) -> List[Pose2D]:
    """Where so many robots begin, on lanes beside each other. Raises ``SpecError`` where there is
    no room for them."""
    way = ideal_path(commands)
    lane_m = float(np.ptp(way[:, 1])) + 2 * _radius_m(robot) + GAP_M
    ahead_m = float(np.abs(way[:, 0]).max()) + _radius_m(robot)
    _require(case, terrain, max(count * lane_m, 2 * ahead_m))
    middle_m = float(way[:, 1].min() + way[:, 1].max()) / 2
    return [Pose2D(0.0, (lane - (count - 1) / 2) * lane_m - middle_m, 0.0) for lane in range(count)]


def spawn_height_m(terrain: Terrain, robot: RobotBody, start: Pose2D) -> float:
    """Highest point (m) of the ground below the robot's outline, with what it is let go above."""
    outline = np.asarray(robot.footprint_m)
    sides = [np.linspace(*ends, BELOW) for ends in zip(outline.min(axis=0), outline.max(axis=0))]
    points = start.apply(np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2))
    return float(np.max(terrain.height_m(points[:, 0], points[:, 1]))) + CLEARANCE_M


def _radius_m(robot: RobotBody) -> float:
    """Of the circle about its base that holds its outline."""
    return float(np.hypot(*np.asarray(robot.footprint_m).T).max())


def _require(case: str, terrain: Terrain, needed_m: float) -> None:
    if needed_m > terrain.size_m:
        raise SpecError(
            f"{case}: needs {needed_m:.1f} m of ground, and terrain {terrain.name} is "
            f"{terrain.size_m:g} m wide; raise its size_m, or drive for a shorter time"
        )
