"""Where an ideal robot was in the last steps, and what its IMU felt.

Owns the arcs that it drives, and differences: a velocity is that of a step, an acceleration the
change of that velocity over a step.
"""

from dataclasses import dataclass
from typing import List, Tuple

import numpy as np
from scipy.spatial.transform import Rotation

from gz_testauto.base.observation import ImuSample, ModelState, Twist2D
from gz_testauto.base.pose import Pose, Pose2D

BEFORE = 2
"""So many states before a step are needed for an acceleration at its end."""


def arc(pose: Pose2D, twist: Twist2D, times_s: np.ndarray) -> np.ndarray:
    """Poses (n, 3) in the plane, x, y and yaw, of a unicycle at times (n,) after ``pose``."""
    turned = twist.angular_radps * times_s
    chord = twist.linear_mps * times_s * np.sinc(turned / (2 * np.pi))
    direction = pose.yaw_rad + turned / 2
    return np.column_stack(
        [
            pose.x_m + chord * np.cos(direction),
            pose.y_m + chord * np.sin(direction),
            pose.yaw_rad + turned,
        ]
    )


@dataclass
class Track:
    """Positions (n, 3) in m and attitudes (n) of a base at successive steps of ``step_s``, oldest
    first; the first two are before those that are looked at."""

    positions_m: np.ndarray
    attitudes: Rotation
    step_s: float

    @classmethod
    def at_rest(cls, pose: Pose, step_s: float) -> "Track":
        """Of a robot that has stood there."""
        count = BEFORE + 1
        return cls(
            np.tile(pose.position, (count, 1)),
            Rotation.from_quat(np.tile(pose.quaternion, (count, 1))),
            step_s,
        )

    def followed_by(self, positions_m: np.ndarray, attitudes: Rotation) -> "Track":
        """The last two states of this one, and these."""
        return Track(
            np.vstack([self.positions_m[-BEFORE:], positions_m]),
            Rotation.from_quat(
                np.vstack([self.attitudes.as_quat()[-BEFORE:], attitudes.as_quat()])
            ),
            self.step_s,
        )

    @property
    def state(self) -> ModelState:
        """The last one, with its twist of the last step."""
        linear = (self.positions_m[-1] - self.positions_m[-2]) / self.step_s
        turn = (self.attitudes[-1] * self.attitudes[-2].inv()).as_rotvec() / self.step_s
        return ModelState(self.pose, triple(linear), triple(turn))

    @property
    def pose(self) -> Pose:
        """The last one."""
        x, y, z, w = self.attitudes[-1].as_quat().tolist()
        return Pose(triple(self.positions_m[-1]), (x, y, z, w))

    def felt(
        self, mount: Pose, gravity_mps2: np.ndarray, stamps_s: np.ndarray, due: np.ndarray
    ) -> List[ImuSample]:
        """What an IMU at ``mount`` in the base felt in those steps that are ``due``, booleans of
        all but the first two; ``stamps_s`` are their times."""
        sensor = self.attitudes * Rotation.from_quat(mount.quaternion)
        places = self.positions_m + self.attitudes.apply(mount.position)
        velocities = np.diff(places, axis=0) / self.step_s
        pushes = np.diff(velocities, axis=0) / self.step_s - gravity_mps2
        turns = (sensor[BEFORE - 1 : -1].inv() * sensor[BEFORE:]).as_rotvec() / self.step_s
        linear = sensor[BEFORE:].inv().apply(pushes)
        quaternions = sensor[BEFORE:].as_quat()
        return [
            ImuSample(float(stamps_s[index]), tuple(quaternions[index].tolist()), *rates)
            for index in np.flatnonzero(due)
            for rates in [(triple(turns[index]), triple(linear[index]))]
        ]


def triple(values: np.ndarray) -> Tuple[float, float, float]:
    """Three numbers of an array (3,)."""
    x, y, z = values.tolist()
    return (x, y, z)
