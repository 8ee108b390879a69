"""To the other side, when the robot comes near."""

from typing import Optional, Sequence, Tuple

from gz_testauto.behaviours.actor import Actor
from gz_testauto.behaviours.hook import StepContext


class Cross(Actor):
    """Stands until the robot's origin is ``within_m``, waits ``delay_s``, goes straight ``to`` a
    point and stays there."""

    def __init__(
        self,
        name: str,
        tags: Sequence[str],
        to: Tuple[float, float],
        speed_mps: float,
        within_m: float,
        delay_s: float = 0.0,
    ) -> None:
        super().__init__(name, tags)
        self.to, self.speed_mps = to, speed_mps
        self.within_m, self.delay_s = within_m, delay_s
        self.reset()

    def reset(self) -> None:
        """Nobody has come yet."""
        self._goes_s: Optional[float] = None

    def act(self, context: StepContext) -> None:
        """Stand, or go."""
        if self._goes_s is None and self.nearest("robot") <= self.within_m:
            self._goes_s = context.time_s + self.delay_s
        if self._goes_s is None or context.time_s < self._goes_s - 1e-9:
            self.stand()
        else:
            self.go_to(*self.to, self.speed_mps)
