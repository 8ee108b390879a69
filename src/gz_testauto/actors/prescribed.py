"""Actors whose motion is the same in each trial, unless another actor pushes them."""

import math
from typing import Optional, Tuple

from typing_extensions import override

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.bodies import CONTACT_GROUPS
from gz_testauto.actors.hook import StepContext
from gz_testauto.base.errors import SceneError

# Distance from its requested position at which an actor in contact with another one was pushed.
OFF_COURSE_M = 0.01


class PrescribedActor(Actor):
    """An actor that sets in ``requested`` the time (s) and the position (x, y, in m) at which it is
    due after each step."""

    @override
    def reset(self) -> None:
        self.requested: Optional[Tuple[float, float, float]] = None

    def require_on_course(self, context: StepContext, course: str) -> None:
        """Raise ``SceneError`` if a contact with another actor prevented the requested motion.
        ``course`` names in the message what the actor follows."""
        if self.requested is None:
            return
        due_s, due_x_m, due_y_m = self.requested
        if abs(due_s - context.time_s) > context.duration_s / 2:
            return  # the actor was stopped or deleted in the last step
        x_m, y_m, _ = self.pose.position
        pushed_m = math.hypot(due_x_m - x_m, due_y_m - y_m)
        if pushed_m <= OFF_COURSE_M:
            return
        for name, reach_m in self.touchable.items():
            other = context.state(name)
            if other is None:
                continue
            other_x_m, other_y_m, _ = other.pose.position
            if math.hypot(other_x_m - x_m, other_y_m - y_m) <= reach_m + pushed_m:
                raise SceneError(
                    f"actor {self.name!r} was pushed {pushed_m:.2f} m off its {course} at "
                    f"{context.time_s:.2f} s, by a contact with the actor {name!r}; use at most "
                    f"{CONTACT_GROUPS} actors whose paths cross, or no <collide_bitmask>"
                )
