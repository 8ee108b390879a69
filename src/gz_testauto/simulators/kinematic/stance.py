"""Height, roll and pitch of a robot on uneven ground.

Each wheel or ball of the robot is a vertical disc that rests on the highest point below it. Any
other shape that touches the ground is a point. The pose of the base is the best fit of a plane
to the heights of these supports.
"""

from typing import List, Tuple

import numpy as np

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.elementary import arcsin, arctan2
from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import placed_model
from gz_testauto.sdf.shapes import Cylinder, Sphere
from gz_testauto.simulators.kinematic.ground import GroundSurface

# largest distance between the points at which a wheel is tested against the ground
SAMPLE_M = 0.01

# the x, y and z (base frame) of a point that touches level ground, and the wheel's radius or 0
Support = Tuple[float, float, float, float]


class Stance:
    """The supports of a robot, which determine its height, roll and pitch on any ground."""

    def __init__(self, robot: RobotModel) -> None:
        supports = _support_points(robot)
        if np.linalg.matrix_rank(_plane_terms(supports), tol=0.05) < 3:  # almost collinear supports
            supports = _footprint_corners(robot)
        self._fit = np.linalg.pinv(_plane_terms(supports))
        rows = []
        for number, (x, y, z, radius) in enumerate(supports):
            for ahead in np.linspace(-radius, radius, 2 * int(np.ceil(radius / SAMPLE_M)) + 1):
                rise = radius - np.sqrt(max(radius**2 - ahead**2, 0.0))
                rows.append((number, x + ahead, y, z + rise))
        table = np.array(rows)
        self._starts = np.unique(table[:, 0], return_index=True)[1]
        self._ahead, self._offsets_left_m, self._rises_m = table[:, 1:].T

    def attitude(
        self, ground: GroundSurface, x_m: np.ndarray, y_m: np.ndarray, yaw_rad: np.ndarray
    ) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the height (m), roll and pitch (rad) of the base at poses in the plane, all (n,).

        The values are NaN at poses at which a wheel has no ground below it.
        """
        cos, sin = np.cos(yaw_rad)[:, None], np.sin(yaw_rad)[:, None]
        heights = ground.height_m(
            x_m[:, None] + cos * self._ahead - sin * self._offsets_left_m,
            y_m[:, None] + sin * self._ahead + cos * self._offsets_left_m,
        )
        support_heights = np.maximum.reduceat(heights - self._rises_m, self._starts, axis=1)
        known_heights = np.where(np.isinf(support_heights), np.nan, support_heights)
        z_m, slope_x, slope_y = matrix_product(self._fit, known_heights.T)
        pitch_rad = arctan2(-slope_x, np.ones_like(slope_x))
        return z_m, arcsin(slope_y / np.sqrt(1 + slope_x**2 + slope_y**2)), pitch_rad


class GroundedStance:
    def __init__(self, stance: Stance, ground: GroundSurface) -> None:
        self._stance, self._ground = stance, ground
        self.is_level = ground.is_level
        """True if height, roll and pitch are the same at all poses."""
        self._level = self._compute_attitudes(np.zeros((1, 3))) if self.is_level else None

    def attitude(self, poses: np.ndarray) -> np.ndarray:
        """Return the height (m), roll and pitch (rad), shape (n, 3), at poses (n, 3).

        Raises ``SimulatorError`` if a pose has no ground below the robot.
        """
        if self._level is not None:
            return np.tile(self._level, (len(poses), 1))
        attitudes = self._compute_attitudes(poses)
        missing_rows = np.flatnonzero(np.isnan(attitudes[:, 0]))
        if len(missing_rows):
            x, y, _ = poses[missing_rows[0]]
            raise SimulatorError(
                f"there is no ground under the robot at ({x:.2f}, {y:.2f}): 'kinematic' supports "
                "planes, height maps and wide flat slabs; keep the robot on them, or use another "
                "simulator"
            )
        return attitudes

    def _compute_attitudes(self, poses: np.ndarray) -> np.ndarray:
        return np.column_stack(self._stance.attitude(self._ground, *poses.T))


def _plane_terms(supports: List[Support]) -> np.ndarray:
    positions = np.array([support[:2] for support in supports]).reshape(-1, 2)
    return np.column_stack([np.ones(len(positions)), positions])


def _support_points(robot: RobotModel) -> List[Support]:
    model = placed_model(robot.sdf, robot.name, Pose())
    body = {shape.scoped_name for shape in model.body_shapes}
    supports = []
    for shape in model.collisions:
        if shape.scoped_name not in body:
            (west, east), (south, north), (low, high) = shape.bounds.tolist()
            rolls = isinstance(shape.geometry, (Cylinder, Sphere))
            radius = (high - low) / 2 if rolls else 0.0
            supports.append(((west + east) / 2, (south + north) / 2, low, radius))
    return supports


def _footprint_corners(robot: RobotModel) -> List[Support]:
    outline = np.array(robot.footprint_m)
    (west, south), (east, north) = outline.min(axis=0), outline.max(axis=0)
    low = robot.height_m[0]
    return [(x, y, low, 0.0) for x in (west, east) for y in (south, north)]
