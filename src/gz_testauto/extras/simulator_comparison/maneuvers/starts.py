"""Starting poses of the robots.

A robot starts at the terrain's center, heading along x. Repetitions start at slightly different
poses, drawn from the seed, the same in all simulators.
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
"""Half widths of the uniform distributions of position and heading."""

GAP_M = 0.5
"""Gap between the paths of robots in parallel lanes."""

CLEARANCE_M = 0.002
"""Height above the highest point of the ground below it at which a robot is spawned."""

BELOW = 25
"""Points along each side of the footprint's bounding box at which the ground is sampled."""


def draw_start(case: str, repetition: int, seed: int) -> Pose2D:
    """Return the starting pose of a repetition of a case."""
    random = child_generator(seed, START, case, repetition)
    x_m, y_m = random.uniform(-JITTER_M, JITTER_M, 2).tolist()
    return Pose2D(x_m, y_m, float(random.uniform(-JITTER_RAD, JITTER_RAD)))


def require_space(case: str, commands: np.ndarray, robot: RobotBody, terrain: Terrain) -> None:
    """Raise ``SpecError`` if an ideal robot leaves the terrain."""
    path = ideal_path(commands)[:, :2]
    farthest = float(np.abs(path).max()) + _radius_m(robot) + JITTER_M
    farthest += JITTER_RAD * float(np.hypot(*path.T).max())
    _require(case, terrain, 2 * farthest)


def parallel_starts(
    count: int, case: str, commands: np.ndarray, robot: RobotBody, terrain: Terrain
) -> List[Pose2D]:
    """Return the starting poses of ``count`` robots in parallel lanes. Raises ``SpecError`` if the
    terrain is too small."""
    path = ideal_path(commands)
    lane_m = float(np.ptp(path[:, 1])) + 2 * _radius_m(robot) + GAP_M
    ahead_m = float(np.abs(path[:, 0]).max()) + _radius_m(robot)
    _require(case, terrain, max(count * lane_m, 2 * ahead_m))
    middle_m = float(path[:, 1].min() + path[:, 1].max()) / 2
    return [Pose2D(0.0, (lane - (count - 1) / 2) * lane_m - middle_m, 0.0) for lane in range(count)]


def spawn_height_m(terrain: Terrain, robot: RobotBody, start: Pose2D) -> float:
    """Return the height (m) at which a robot is spawned: the highest point of the ground below its
    footprint plus a clearance."""
    outline = np.asarray(robot.footprint_m)
    sides = [np.linspace(*ends, BELOW) for ends in zip(outline.min(axis=0), outline.max(axis=0))]
    points = start.apply(np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2))
    return float(np.max(terrain.height_m(points[:, 0], points[:, 1]))) + CLEARANCE_M


def _radius_m(robot: RobotBody) -> float:
    """Return the radius of the circle around its origin that encloses the footprint."""
    return float(np.hypot(*np.asarray(robot.footprint_m).T).max())


def _require(case: str, terrain: Terrain, needed_m: float) -> None:
    if needed_m > terrain.size_m:
        raise SpecError(
            f"{case}: needs {needed_m:.1f} m of ground, but terrain {terrain.name} is "
            f"{terrain.size_m:g} m wide; increase its size_m, or reduce the duration"
        )
