"""Odometry with errors from the true odometry of a running simulator, without ROS."""

from typing import Optional, Tuple

from gz_testauto.actors.localization import EstimatorInputs
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.localization.odometry import OdometryModel
from gz_testauto.extras.localization.spec import OdometryErrorSpec
from gz_testauto.spec.worlds import RandomNumbers

JUMP_M, JUMP_MPS = 0.5, 10.0
"""Motion (m) and speed (m/s) between two messages above which the robot was moved, not driven."""


class OdometryRelay:
    """A relay that adds errors to odometry.

    After each restart, the errors are those of the next repetition with the same seed.
    """

    def __init__(
        self, spec: OdometryErrorSpec, wheel_separation_m: float, seed: int, scale: float = 1.0
    ) -> None:
        self._spec, self._wheel_separation_m, self._seed = spec, wheel_separation_m, seed
        self._scale = scale
        self._restarts = -1
        self._previous: Optional[Tuple[float, Pose2D]] = None
        self._model: Optional[OdometryModel] = None

    def add(self, time_s: float, pose: Pose2D, twist: Twist2D) -> OdometryModel:
        """Add the true odometry at ``time_s``, and return the odometry with errors.

        It restarts at ``pose`` if the robot was moved or time decreased. Otherwise, the result is
        the same object as before, with new values.
        """
        model = self._model
        if model is None or self._is_restart(time_s, pose):
            self._restarts += 1
            numbers = RandomNumbers(seed=self._seed, world=0, repetition=self._restarts)
            inputs = EstimatorInputs(numbers, "robot", self._scale, self._wheel_separation_m, True)
            model = self._model = OdometryModel(self._spec.draw(inputs))
        self._previous = (time_s, pose)
        model.advance(time_s, pose, twist)
        return model

    def _is_restart(self, time_s: float, pose: Pose2D) -> bool:
        assert self._previous is not None, "set by the first call"
        previous_s, previous = self._previous
        moved_m = previous.distance_to(pose.x_m, pose.y_m)
        return time_s < previous_s or moved_m > max(JUMP_M, JUMP_MPS * (time_s - previous_s))
