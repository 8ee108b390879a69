"""A robot's IMU: samples of the physics steps in which they are due.

The acceleration is the change of the sensor's velocity over the step minus gravity, in the sensor
frame. The velocity includes the lever arm, ω × r.
"""

from typing import Any, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.observation import ImuSample
from gz_testauto.base.pose import Pose
from gz_testauto.extras.pybullet.motion import motion
from gz_testauto.extras.pybullet.multibody import LinkPlace


class BulletImu:
    """An IMU on a link. ``mount`` is its pose on the link, ``step_s`` the physics step."""

    def __init__(self, client: Any, place: LinkPlace, mount: Pose, step_s: float) -> None:
        self._client, self._place, self._step_s = client, place, step_s
        self._on_center = place.center.inverse() * mount
        self._before: Optional[np.ndarray] = None

    def look(self) -> None:
        """Store the velocity at the start of a step at whose end a sample is due."""
        self._before = self._velocity()[1]

    def sample(self, stamp_s: float, gravity_mps2: Sequence[float]) -> ImuSample:
        """Return the sample at the end of that step."""
        assert self._before is not None, "look() precedes it"
        pose, velocity, rate = self._velocity()
        felt = (velocity - self._before) / self._step_s - np.asarray(gravity_mps2)
        self._before = velocity
        own = pose.rotation.T
        return ImuSample(
            stamp_s,
            pose.quaternion,
            tuple((own @ rate).tolist()),
            tuple((own @ felt).tolist()),
        )

    def _velocity(self) -> Tuple[Pose, np.ndarray, np.ndarray]:
        """Return pose, velocity (m/s) and angular velocity (rad/s) of the sensor, world frame."""
        moves = motion(self._client, self._place)
        state = moves.state(moves.center * self._on_center)
        return state.pose, np.asarray(state.linear_mps), np.asarray(state.angular_radps)
