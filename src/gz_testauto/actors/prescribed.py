"""Actors whose motion is the same in each trial, unless another actor pushes them."""

import math
from typing import Optional, Tuple

from typing_extensions import override

from gz_testauto.actors.actor import Actor, Vector
from gz_testauto.actors.bodies import CONTACT_GROUPS
from gz_testauto.actors.hook import StepContext
from gz_testauto.base.errors import SceneError

# Distance from the requested position above which a contact has pushed an actor.
OFF_COURSE_M = 0.01


class PrescribedActor(Actor):
    """An actor that notices if it is not where its last velocity should have moved it."""

    @override
    def reset(self) -> None:
        self._due: Optional[Tuple[float, float, float]] = None  # time (s), x and y (m)

    @override
    def set_twist(self, linear_mps: Vector, angular_radps: Vector = (0.0, 0.0, 0.0)) -> None:
        duration_s, (x_m, y_m, _) = self.context.duration_s, self.pose.position
        self._due = (
            self.context.time_s + duration_s,
            x_m + duration_s * linear_mps[0],
            y_m + duration_s * linear_mps[1],
        )
        super().set_twist(linear_mps, angular_radps)

    def require_on_course(self, context: StepContext, course: str) -> None:
        """Raise ``SceneError`` if a contact with another actor prevented the requested motion.
        ``course`` names in the message what the actor follows."""
        if self._due is None:
            return
        due_s, due_x_m, due_y_m = self._due
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
