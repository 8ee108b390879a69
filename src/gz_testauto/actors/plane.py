"""The horizontal plane in which an actor or agent moves, although contacts can lift it."""

from typing import Optional

from gz_testauto.base.errors import SceneError
from gz_testauto.base.pose import Pose

HEIGHT_TOLERANCE_M = 1e-4  # change of height above which a model returns to its plane

# Largest change of height and of tilt of a model that moves horizontally.
OFF_PLANE_M, OFF_PLANE_RAD = 0.05, 0.05


class MotionPlane:
    """The height and tilt of a model, which are constant while it moves horizontally."""

    def __init__(self) -> None:
        self._level: Optional[Pose] = None

    def leave(self) -> None:
        """Start a motion that is not horizontal. The next pose defines a new plane."""
        self._level = None

    def require(self, pose: Pose, time_s: float, model: str, remedy: str) -> None:
        """Raise ``SceneError`` if contacts have lifted or tilted the model, which is at ``pose``.
        The first call, also after :meth:`leave`, defines the plane. ``model`` and ``remedy`` are
        parts of the message."""
        if self._level is None:
            self._level = pose
            return
        lifted_m = pose.position[2] - self._level.position[2]
        tilted_rad = abs(pose.tilt_rad - self._level.tilt_rad)
        if abs(lifted_m) > OFF_PLANE_M or tilted_rad > OFF_PLANE_RAD:
            raise SceneError(
                f"{model} was lifted by {lifted_m:.2f} m and tilted by {tilted_rad:.2f} rad at "
                f"{time_s:.2f} s, by a contact with another model; {remedy}"
            )

    def return_mps(self, pose: Pose, duration_s: float) -> float:
        """Return the vertical velocity (m/s) that returns the model to its plane in one step."""
        if self._level is None:
            return 0.0
        lifted_m = pose.position[2] - self._level.position[2]
        return -lifted_m / duration_s if abs(lifted_m) > HEIGHT_TOLERANCE_M else 0.0
