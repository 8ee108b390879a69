"""How a robot stands on uneven ground: its height, roll and pitch from that under its wheels.

Owns what of a robot stands on the ground. A wheel or a ball is a disc in its plane, which lies on
the highest point below it; anything else is a point. The robot is the plane that fits their heights
best: exactly for three of them; four wheels over one bump come to stand between the two ways in
which a stiff robot would rock.
"""

from typing import List, Tuple

import numpy as np

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.sdf.scene import placed_model
from gz_testauto.sdf.shapes import Cylinder, Sphere
from gz_testauto.simulators.kinematic.ground import Ground

SAMPLE_M = 0.01
"""A wheel is laid on the ground at points at most so far apart."""

Foot = Tuple[float, float, float, float]
"""Where a robot touches level ground, in its base frame, and the radius of what does (m)."""


class Stance:
    """What a robot stands on, and how."""

    def __init__(self, robot: RobotModel) -> None:
        feet = _standing(robot)
        if np.linalg.matrix_rank(_terms(feet), tol=0.05) < 3:  # nearly in one line
            feet = _corners(robot)
        self._fit = np.linalg.pinv(_terms(feet))
        rows = []
        for number, (x, y, z, radius) in enumerate(feet):
            for ahead in np.linspace(-radius, radius, 2 * int(np.ceil(radius / SAMPLE_M)) + 1):
                above = radius - np.sqrt(max(radius**2 - ahead**2, 0.0))
                rows.append((number, x + ahead, y, z + above))
        table = np.array(rows)
        self._starts = np.unique(table[:, 0], return_index=True)[1]
        self._ahead, self._aside, self._above = table[:, 1:].T

    def on(
        self, ground: Ground, x_m: np.ndarray, y_m: np.ndarray, yaw_rad: np.ndarray
    ) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Height (m), roll and pitch (rad), each (n,), of the base at poses in the plane, each
        (n,). NaN where a wheel has no ground below it."""
        cos, sin = np.cos(yaw_rad)[:, None], np.sin(yaw_rad)[:, None]
        heights = ground.height_m(
            x_m[:, None] + cos * self._ahead - sin * self._aside,
            y_m[:, None] + sin * self._ahead + cos * self._aside,
        )
        lifted = np.maximum.reduceat(heights - self._above, self._starts, axis=1)
        z_m, forward, left = self._fit @ np.where(np.isinf(lifted), np.nan, lifted).T
        return z_m, np.arcsin(left / np.sqrt(1 + forward**2 + left**2)), -np.arctan(forward)


class Footing:
    """A robot's stance on one ground."""

    def __init__(self, stance: Stance, ground: Ground) -> None:
        self._stance, self._ground = stance, ground
        self.is_level = ground.is_level
        """Whether it is the same at all poses."""
        self._level = self._on(np.zeros((1, 3))) if self.is_level else None

    def stand(self, poses: np.ndarray) -> np.ndarray:
        """Return height (m), roll and pitch (rad), shape (n, 3), at poses (n, 3) in the plane.
        Raises ``SimulatorError`` where there is no ground."""
        if self._level is not None:
            return np.tile(self._level, (len(poses), 1))
        standing = self._on(poses)
        gone = np.flatnonzero(np.isnan(standing[:, 0]))
        if len(gone):
            x, y, _ = poses[gone[0]]
            raise SimulatorError(
                f"there is no ground under the robot at ({x:.2f}, {y:.2f}): 'kinematic' knows "
                "planes, height maps and wide flat slabs; keep the robot on them, or use another "
                "simulator"
            )
        return standing

    def _on(self, poses: np.ndarray) -> np.ndarray:
        return np.column_stack(self._stance.on(self._ground, *poses.T))


def _terms(feet: List[Foot]) -> np.ndarray:
    places = np.array([foot[:2] for foot in feet]).reshape(-1, 2)
    return np.column_stack([np.ones(len(places)), places])


def _standing(robot: RobotModel) -> List[Foot]:
    model = placed_model(robot.sdf, robot.name, Pose())
    body = {shape.scoped_name for shape in model.body_shapes}
    feet = []
    for shape in model.collisions:
        if shape.scoped_name not in body:
            (west, east), (south, north), (low, high) = shape.bounds.tolist()
            rolls = isinstance(shape.geometry, (Cylinder, Sphere))
            radius = (high - low) / 2 if rolls else 0.0
            feet.append(((west + east) / 2, (south + north) / 2, low, radius))
    return feet


def _corners(robot: RobotModel) -> List[Foot]:
    outline = np.array(robot.footprint_m)
    (west, south), (east, north) = outline.min(axis=0), outline.max(axis=0)
    low = robot.height_m[0]
    return [(x, y, low, 0.0) for x in (west, east) for y in (south, north)]
