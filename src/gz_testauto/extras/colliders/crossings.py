"""Who came to touch whom, and who no longer does, from one period to the next."""

from dataclasses import dataclass
from typing import FrozenSet, Iterable, Tuple

from gz_testauto.extras.colliders.bodies import Pair


@dataclass(frozen=True)
class Crossing:
    """Two colliders that began to touch (``entered``) or ceased to, at a simulated time (s)."""

    time_s: float
    pair: Pair
    entered: bool


class Crossings:
    """Turns what touches in each period into events. What touches at the first look has entered."""

    def __init__(self) -> None:
        self._before: FrozenSet[Pair] = frozenset()

    def update(self, time_s: float, touching: Iterable[Pair]) -> Tuple[Crossing, ...]:
        """What has changed since the last look: first who left, then who entered, by name."""
        now = frozenset(touching)
        left = [Crossing(time_s, pair, False) for pair in sorted(self._before - now)]
        entered = [Crossing(time_s, pair, True) for pair in sorted(now - self._before)]
        self._before = now
        return (*left, *entered)
