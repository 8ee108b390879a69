"""ROS time for a series of scenes: scene time restarts at 0, and ROS time never decreases.

Nodes with a transform buffer, or with a memory of their last goal, treat a clock that jumps back as
an error. All values are integer nanoseconds, so that the difference of two stamps is exact.
"""

from gz_testauto.base.ros_messages import nanoseconds_of

GAP_NS = 1_000_000_000
"""ROS time between the end of a scene and the start of the next."""


class SceneClock:
    """Maps the current scene's time to ROS time.

    ``origin_ns`` is the ROS time at the start of the current scene.
    """

    def __init__(self) -> None:
        self.origin_ns = 0
        self._latest_ns = 0

    def begin_scene(self) -> None:
        """Start the next scene :data:`GAP_NS` after the latest published time."""
        self.origin_ns = self._latest_ns + GAP_NS

    def restart(self, scene_time_s: float) -> None:
        """Set ROS time to 0 at ``scene_time_s``, as reset_simulation does."""
        self.origin_ns = -nanoseconds_of(scene_time_s)
        self._latest_ns = 0

    def nanoseconds(self, scene_time_s: float) -> int:
        """Return the ROS time of a time in the current scene."""
        instant = max(0, self.origin_ns + nanoseconds_of(scene_time_s))
        self._latest_ns = max(self._latest_ns, instant)
        return instant
