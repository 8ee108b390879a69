"""After a model, or beside it at an offset."""

import math
from typing import Optional, Sequence, Tuple

from gz_testauto.behaviours.behaviour import Behaviour, Handle
from gz_testauto.behaviours.tracker import Period


class Follow(Behaviour):
    """Comes after ``target`` until it is ``distance_m`` away, or stays at ``offset_m`` (x forward,
    y left, z up of the target's origin and heading), facing as the target does."""

    def __init__(
        self,
        name: str,
        tags: Sequence[str],
        target: str,
        speed_mps: float,
        distance_m: float = 1.5,
        offset_m: Optional[Tuple[float, float, float]] = None,
    ) -> None:
        super().__init__(name, tags)
        self.target, self.speed_mps = target, speed_mps
        self.distance_m, self.offset_m = distance_m, offset_m

    def act(self, me: Handle, period: Period) -> None:
        """Go where the target is now."""
        names = self.cast.names_of(self.target)
        state = period.state(names[0]) if names else None
        if state is None:
            me.stand()
            return
        pose = state.pose
        if self.offset_m is not None:
            ahead_m, left_m, up_m = self.offset_m
            cos, sin = math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)
            x_m = pose.position[0] + cos * ahead_m - sin * left_m
            y_m = pose.position[1] + sin * ahead_m + cos * left_m
            me.go_to(x_m, y_m, self.speed_mps, pose.position[2] + up_m, pose.yaw_rad)
            return
        dx, dy = pose.position[0] - me.pose.position[0], pose.position[1] - me.pose.position[1]
        away_m = math.hypot(dx, dy)
        if away_m <= self.distance_m:
            me.stand()
            return
        part = (away_m - self.distance_m) / away_m
        me.go_to(me.pose.position[0] + part * dx, me.pose.position[1] + part * dy, self.speed_mps)
