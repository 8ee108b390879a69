"""Which of a search's last means becomes the policy.

What a generation's few drives say of its mean is mostly luck, so the last means drive the same
worlds, and again and again the better half of them more (successive halving: K. Jamieson,
A. Talwalkar, AISTATS 2016, arXiv:1502.07943). Owns who is still in, and for how long.
"""

import math
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from gz_testauto.extras.learning.rollouts import RolloutResult

FINALISTS = 8
"""So many of the last means at most."""

WORLDS = 4
"""That all who are in drive before it is looked at who is better, or whether steps are left."""


@dataclass(frozen=True)
class Portion:
    """What some means, by the numbers of their generations, were worth in the same worlds: the sum
    over the worlds that are valid for all, and how many these were; the control periods driven up
    to then."""

    means: Tuple[int, ...]
    worth: Tuple[float, ...]
    valid: Tuple[int, ...]
    steps: int


class Selection:
    """Halves the finalists until one is left or the steps are driven."""

    def __init__(self, generations: int, begun: int, limit: int, per_episode: float) -> None:
        """``generations`` there are to choose from, ``begun`` control periods were driven by then,
        and ``limit`` may be in all; ``per_episode`` is how many an episode took lately."""
        self._left = tuple(range(max(0, generations - FINALISTS), generations))
        self._steps, self._limit, self._per_episode = begun, limit, per_episode
        self._worth: Dict[int, List[float]] = {number: [] for number in self._left}
        self._valid: Dict[int, int] = dict.fromkeys(self._left, 0)
        self._round_ends = self._next_end()

    @property
    def best(self) -> int:
        """The number of the mean that is best by what was driven; of several the last."""
        return max(self._left, key=lambda number: (self._mean(number), number))

    @property
    def steps(self) -> int:
        """Control periods driven in all."""
        return self._steps

    def next(self) -> Optional[Sequence[int]]:
        """The means that are to drive next, None where it is over."""
        while len(self._left) > 1:
            if self._steps + self._expected() <= min(self._round_ends, self._limit):
                return self._left
            if not any(self._valid[one] for one in self._left):  # nothing driven, nothing fits
                return None
            ranked = sorted(self._left, key=lambda one: (self._mean(one), one), reverse=True)
            self._left = tuple(sorted(ranked[: math.ceil(len(ranked) / 2)]))
            self._round_ends = self._next_end()
        return None

    def take(self, portion: Portion) -> None:
        """Take what was driven; a portion that passed the limit does not count, and is the last.
        Raises ``ValueError`` where others than these means are next."""
        due = self.next()
        if portion.means != due:
            raise ValueError(f"it has means {portion.means}; due are {due}")
        if portion.steps > self._limit:
            self._left = (self.best,)
            return
        episodes = len(portion.means) * WORLDS
        self._per_episode = (portion.steps - self._steps) / episodes
        self._steps = portion.steps
        for number, worth, valid in zip(portion.means, portion.worth, portion.valid):
            self._worth[number].append(worth)
            self._valid[number] += valid

    def _expected(self) -> float:
        return len(self._left) * WORLDS * self._per_episode

    def _next_end(self) -> float:
        """All rounds get the same share of what is left, and a portion at least."""
        rounds = max(1, math.ceil(math.log2(max(1, len(self._left)))))
        share = (self._limit - self._steps) / rounds
        return self._steps + max(share, self._expected())

    def _mean(self, number: int) -> float:
        valid = self._valid[number]
        return math.fsum(self._worth[number]) / valid if valid else -math.inf


def portion_of(means: Sequence[int], driven: Sequence[RolloutResult], steps_before: int) -> Portion:
    """Of what each of the means drove, one mean after the other, the same worlds each. A world in
    which the simulator failed for one of them counts for none."""
    each = len(driven) // len(means)
    own = [driven[i : i + each] for i in range(0, len(driven), each)]
    valid = [world for world in range(each) if all(these[world].valid for these in own)]
    return Portion(
        tuple(means),
        tuple(math.fsum(these[world].reward for world in valid) for these in own),
        (len(valid),) * len(means),
        steps_before + sum(one.steps for one in driven),
    )
