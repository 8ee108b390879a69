"""ROS time over many scenes: scene time begins at 0 again and again, ROS time never goes back.

Whoever keeps a buffer of transforms, or remembers when its last goal was, takes a clock that
jumps back for a fault, and rightly so. Whole nanoseconds throughout, so that a difference of
two stamps is exact.
"""

from gz_testauto.base.ros_messages import nanoseconds_of

GAP_NS = 1_000_000_000
"""ROS time between the last instant of a scene and the first of the next."""


class SceneClock:
    """Maps the current scene's time to ROS time.

    ``origin_ns`` is the ROS time at which the current scene began.
    """

    def __init__(self) -> None:
        self.origin_ns = 0
        self._latest_ns = 0

    def begin_scene(self) -> None:
        """Let the next scene begin a little after everything that has been told so far."""
        self.origin_ns = self._latest_ns + GAP_NS

    def restart(self, scene_time_s: float) -> None:
        """Make ``scene_time_s`` ROS time 0: the one step back, which reset_simulation is."""
        self.origin_ns = -nanoseconds_of(scene_time_s)
        self._latest_ns = 0

    def nanoseconds(self, scene_time_s: float) -> int:
        """ROS time of an instant of the current scene."""
        instant = max(0, self.origin_ns + nanoseconds_of(scene_time_s))
        self._latest_ns = max(self._latest_ns, instant)
        return instant
