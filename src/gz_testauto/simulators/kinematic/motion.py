"""Motion of an ideal robot in the plane, and the samples of its IMU.

The velocity is the mean over one step, and the acceleration is the change of this velocity from
one step to the next.
"""

import math
from typing import List, Sequence, Tuple

import numpy as np

from gz_testauto.base.observation import ImuSample, ModelState, Twist2D
from gz_testauto.base.pose import Pose, Pose2D, quaternion_product, wrap_angle
from gz_testauto.simulators.kinematic.stance import GroundedStance

# poses before a step that determine the acceleration at its end
EARLIER_POSES = 2


def drive_arc(pose: Pose2D, twist: Twist2D, duration_s: float) -> Pose2D:
    """Return the pose of a unicycle after ``duration_s`` of a constant twist."""
    x, y, yaw = arc(pose, twist, np.array([duration_s]))[0].tolist()
    return Pose2D(x, y, wrap_angle(yaw))


def arc(pose: Pose2D, twist: Twist2D, times_s: np.ndarray) -> np.ndarray:
    """Return the poses (n, 3), x, y and yaw, of a unicycle at times (n,) after ``pose``."""
    turn = twist.angular_radps * times_s
    chord = twist.linear_mps * times_s
    if twist.angular_radps:
        chord *= np.sinc(turn / (2 * np.pi))
    direction = pose.yaw_rad + turn / 2
    poses = np.empty((len(times_s), 3))
    poses[:, 0] = pose.x_m + chord * np.cos(direction)
    poses[:, 1] = pose.y_m + chord * np.sin(direction)
    poses[:, 2] = pose.yaw_rad + turn
    return poses


class PoseHistory:
    """Poses in the plane at successive steps, shape (n, 3), oldest first.

    The first two poses precede the steps for which samples can be computed.
    """

    def __init__(self, poses: np.ndarray, stance: GroundedStance, step_s: float) -> None:
        """Raise ``SimulatorError`` if a pose has no ground below the robot."""
        self._poses, self._stance, self._step_s = poses, stance, step_s
        self._attitudes = None if stance.is_level else stance.attitude(poses)

    @classmethod
    def at_rest(cls, pose: Pose2D, stance: GroundedStance, step_s: float) -> "PoseHistory":
        return cls(np.tile(pose, (EARLIER_POSES + 1, 1)), stance, step_s)

    def followed_by(self, poses: np.ndarray, stance: GroundedStance) -> "PoseHistory":
        return PoseHistory(np.vstack([self._poses[-EARLIER_POSES:], poses]), stance, self._step_s)

    @property
    def state(self) -> ModelState:
        """The pose at the last step, and the twist during that step."""
        previous_pose, pose = self._last_poses(2)
        velocity_mps = np.subtract(pose.position, previous_pose.position) / self._step_s
        x, y, z, w = previous_pose.quaternion
        *axis, cosine = quaternion_product(pose.quaternion, (-x, -y, -z, w))
        sine = math.hypot(*axis)
        turn_rad = 2 * math.atan2(math.copysign(sine, cosine), abs(cosine))
        rate = (turn_rad / sine if sine else 0.0) / self._step_s
        return ModelState(pose, _to_tuple(velocity_mps), _to_tuple(rate * np.array(axis)))

    @property
    def pose(self) -> Pose:
        return self._last_poses(1)[0]

    def samples(
        self, mount: Pose, gravity_mps2: np.ndarray, rows: Sequence[int], stamps_s: Sequence[float]
    ) -> List[ImuSample]:
        """Return the IMU samples at the poses with the indices ``rows`` and times ``stamps_s``.
        ``mount`` is in the base frame."""
        from scipy.spatial.transform import Rotation

        first = min(rows) - EARLIER_POSES
        poses, due_indices = self._poses[first : max(rows) + 1], np.array(rows) - first
        z_m, roll, pitch = self._attitude(slice(first, max(rows) + 1)).T
        attitudes = Rotation.from_euler("ZYX", np.column_stack([poses[:, 2], pitch, roll]))
        sensor = attitudes * Rotation.from_quat(mount.quaternion)
        positions = np.column_stack([poses[:, :2], z_m]) + attitudes.apply(mount.position)
        velocities = np.diff(positions, axis=0) / self._step_s
        accelerations_mps2 = (
            np.diff(velocities, axis=0)[due_indices - EARLIER_POSES] / self._step_s - gravity_mps2
        )
        due_poses = sensor[due_indices]
        turns = (sensor[due_indices - 1].inv() * due_poses).as_rotvec() / self._step_s
        return [
            ImuSample(stamp_s, tuple(quaternion), _to_tuple(turn), _to_tuple(linear))
            for stamp_s, quaternion, turn, linear in zip(
                stamps_s,
                due_poses.as_quat().tolist(),
                turns,
                due_poses.inv().apply(accelerations_mps2),
            )
        ]

    def _last_poses(self, count: int) -> List[Pose]:
        rows = np.hstack([self._poses[-count:], self._attitude(slice(-count, None))]).tolist()
        return [Pose.from_rpy(x, y, z, roll, pitch, yaw) for x, y, yaw, z, roll, pitch in rows]

    def _attitude(self, rows: slice) -> np.ndarray:
        if self._attitudes is None:
            return self._stance.attitude(self._poses[rows])
        return self._attitudes[rows]


def _to_tuple(values: np.ndarray) -> Tuple[float, float, float]:
    x, y, z = values.tolist()
    return (x, y, z)
