"""Active pushes and their remaining physics steps, for engines whose forces are set in each
step."""

from dataclasses import dataclass
from typing import Container, List, Tuple

from gz_testauto.simulators.changes import Push


@dataclass
class _ActivePush:
    push: Push
    ticks: int


class Pushes:
    """The pushes of one world, whose physics step is ``step_s``."""

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._pushing: List[_ActivePush] = []

    def __bool__(self) -> bool:
        return bool(self._pushing)

    def begin(self, push: Push) -> None:
        """Start a push with the next step; it lasts at least one step."""
        self._pushing.append(_ActivePush(push, max(1, round(push.duration_s / self._step_s))))

    def keep(self, models: Container[str]) -> None:
        """Remove the pushes of models that are not in ``models``."""
        self._pushing = [one for one in self._pushing if one.push.name.split("::", 1)[0] in models]

    def tick(self) -> Tuple[Push, ...]:
        """Return the pushes that act in the next step, and count this step."""
        acting = tuple(pushing.push for pushing in self._pushing)
        for pushing in self._pushing:
            pushing.ticks -= 1
        self._pushing = [pushing for pushing in self._pushing if pushing.ticks]
        return acting
