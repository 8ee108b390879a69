"""Selection of the policy among a search's last means.

The few episodes of a generation are a noisy estimate of its mean. The last means therefore run in
the same worlds, and repeatedly the better half of them runs more (successive halving: K. Jamieson,
A. Talwalkar, AISTATS 2016, arXiv:1502.07943). This module computes which means remain, and for how
long.
"""

import math
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from gz_testauto.extras.learning.rollouts import RolloutResult

FINALISTS = 8
"""Largest number of means to choose from."""

WORLDS = 4
"""Number of worlds that all remaining means run before they are compared, and before the remaining
steps are checked."""


@dataclass(frozen=True)
class SelectionBatch:
    """The rewards of some means, by the numbers of their generations, in the same worlds: the sum
    over the worlds that are valid for all, the number of these worlds, and the control periods
    driven up to then."""

    means: Tuple[int, ...]
    rewards: Tuple[float, ...]
    valid: Tuple[int, ...]
    steps: int


class Selection:
    """A successive halving of the finalists until one is left or the steps are used."""

    def __init__(self, generations: int, begun: int, limit: int, per_episode: float) -> None:
        """Choose among ``generations`` means after ``begun`` control periods, with a ``limit`` in
        total. ``per_episode`` is the recent mean number of control periods of an episode."""
        self._left = tuple(range(max(0, generations - FINALISTS), generations))
        self._steps, self._limit, self._per_episode = begun, limit, per_episode
        self._rewards: Dict[int, List[float]] = {number: [] for number in self._left}
        self._valid: Dict[int, int] = dict.fromkeys(self._left, 0)
        self._round_ends = self._next_end()

    @property
    def best(self) -> int:
        """Return the number of the best mean so far; the last of equal ones."""
        return max(self._left, key=lambda number: (self._mean(number), number))

    @property
    def steps(self) -> int:
        """Return the number of control periods driven in total."""
        return self._steps

    def next(self) -> Optional[Sequence[int]]:
        """Return the means that must run next; None if the selection has finished."""
        while len(self._left) > 1:
            if self._steps + self._expected() <= min(self._round_ends, self._limit):
                return self._left
            if not any(self._valid[one] for one in self._left):  # no episode was run, and none fits
                return None
            ranked = sorted(self._left, key=lambda one: (self._mean(one), one), reverse=True)
            self._left = tuple(sorted(ranked[: math.ceil(len(ranked) / 2)]))
            self._round_ends = self._next_end()
        return None

    def take(self, batch: SelectionBatch) -> None:
        """Add a batch; a batch that exceeded the limit does not count, and is the last. Raises
        ``ValueError`` if other means are due."""
        due = self.next()
        if batch.means != due:
            raise ValueError(f"it has means {batch.means}; due are {due}")
        if batch.steps > self._limit:
            self._left = (self.best,)
            return
        episodes = len(batch.means) * WORLDS
        self._per_episode = (batch.steps - self._steps) / episodes
        self._steps = batch.steps
        for number, reward, valid in zip(batch.means, batch.rewards, batch.valid):
            self._rewards[number].append(reward)
            self._valid[number] += valid

    def _expected(self) -> float:
        return len(self._left) * WORLDS * self._per_episode

    def _next_end(self) -> float:
        """Return the end of a round: all rounds get the same share of the remaining steps, at least
        one batch."""
        rounds = max(1, math.ceil(math.log2(max(1, len(self._left)))))
        share = (self._limit - self._steps) / rounds
        return self._steps + max(share, self._expected())

    def _mean(self, number: int) -> float:
        valid = self._valid[number]
        return math.fsum(self._rewards[number]) / valid if valid else -math.inf


def batch_of(
    means: Sequence[int], driven: Sequence[RolloutResult], steps_before: int
) -> SelectionBatch:
    """Return the batch of episodes that each mean ran in the same worlds, ordered by mean. A
    world in which the simulator failed for one mean counts for none."""
    each = len(driven) // len(means)
    own = [driven[i : i + each] for i in range(0, len(driven), each)]
    valid = [world for world in range(each) if all(these[world].valid for these in own)]
    return SelectionBatch(
        tuple(means),
        tuple(math.fsum(these[world].reward for world in valid) for these in own),
        (len(valid),) * len(means),
        steps_before + sum(one.steps for one in driven),
    )
