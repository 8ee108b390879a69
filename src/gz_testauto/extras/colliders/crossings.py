"""Events of pairs of colliders that start or stop touching, from one period to the next."""

from dataclasses import dataclass
from typing import FrozenSet, Iterable, Tuple

from gz_testauto.extras.colliders.bodies import Pair


@dataclass(frozen=True)
class Crossing:
    """Two colliders that started to touch (``entered``) or stopped, at a simulated time (s)."""

    time_s: float
    pair: Pair
    entered: bool


class Crossings:
    """A converter from the touching pairs of each period to events. Pairs that touch in the first
    update have entered."""

    def __init__(self) -> None:
        self._before: FrozenSet[Pair] = frozenset()

    def update(self, time_s: float, touching: Iterable[Pair]) -> Tuple[Crossing, ...]:
        """Return the changes since the last update: first pairs that left, then pairs that entered,
        by name."""
        now = frozenset(touching)
        left = [Crossing(time_s, pair, False) for pair in sorted(self._before - now)]
        entered = [Crossing(time_s, pair, True) for pair in sorted(now - self._before)]
        self._before = now
        return (*left, *entered)
