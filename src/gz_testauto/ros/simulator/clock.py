"""ROS time, in integer nanoseconds, for a series of scenes that start at time 0."""

from gz_testauto.base.ros_messages import nanoseconds_of

GAP_NS = 1_000_000_000  # ROS time between the end of a scene and the start of the next


class SceneClock:
    """A converter to ROS time; ``origin_ns`` is the ROS time at the start of the current scene.

    ROS time does not decrease: nodes with a transform buffer treat a jump back as an error.
    """

    def __init__(self) -> None:
        self.origin_ns = 0
        self._latest_ns = 0

    def begin_scene(self) -> None:
        """Start the next scene :data:`GAP_NS` after the latest published time."""
        self.origin_ns = self._latest_ns + GAP_NS

    def restart(self, scene_time_s: float) -> None:
        """Set ROS time at ``scene_time_s`` to 0, as gazebo_ros does at a reset."""
        self.origin_ns = -nanoseconds_of(scene_time_s)
        self._latest_ns = 0

    def nanoseconds(self, scene_time_s: float) -> int:
        instant = max(0, self.origin_ns + nanoseconds_of(scene_time_s))
        self._latest_ns = max(self._latest_ns, instant)
        return instant
