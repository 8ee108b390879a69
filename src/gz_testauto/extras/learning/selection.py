"""Selection of the policy among the means of the last generations of a search.

The mean of a generation is the center of the distribution from which the next generation is drawn.
Few episodes per generation give only a noisy estimate of its reward. Therefore the last means run
in the same worlds, and the better half of them runs again, repeatedly (successive halving: K.
Jamieson, A. Talwalkar, AISTATS 2016, arXiv:1502.07943).
"""

import math
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from gz_testauto.extras.learning.rollouts import RolloutResult

FINALISTS = 8
"""Largest number of means among which the policy is selected."""

WORLDS = 4
"""Number of worlds of a batch, in which all remaining means run before they are compared."""


@dataclass(frozen=True)
class SelectionBatch:
    """A batch of episodes in which several means ran in the same worlds.

    ``means`` are the numbers of their generations. For each mean, ``rewards`` is the sum of its
    rewards in the worlds that are valid for all means, and ``valid`` the number of these worlds.
    ``steps`` is the total number of control periods so far.
    """

    means: Tuple[int, ...]
    rewards: Tuple[float, ...]
    valid: Tuple[int, ...]
    steps: int


class Selection:
    """A successive halving of the candidates, which ends when one is left or the control periods
    are used up."""

    def __init__(self, generations: int, begun: int, limit: int, per_episode: float) -> None:
        """Start a selection among the last of ``generations`` means, after ``begun`` control
        periods of at most ``limit``. ``per_episode`` is the recent mean number of control periods
        of an episode."""
        self._left = tuple(range(max(0, generations - FINALISTS), generations))
        self._steps, self._limit, self._per_episode = begun, limit, per_episode
        self._rewards: Dict[int, List[float]] = {number: [] for number in self._left}
        self._valid: Dict[int, int] = dict.fromkeys(self._left, 0)
        self._round_ends = self._next_end()

    @property
    def best(self) -> int:
        """Return the generation of the best mean so far; of equally good means the last."""
        return max(self._left, key=lambda number: (self._mean(number), number))

    @property
    def steps(self) -> int:
        """Return the total number of control periods so far."""
        return self._steps

    def next(self) -> Optional[Sequence[int]]:
        """Return the means that must run next, or None if the selection has finished."""
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
        """Add the results of a batch. A batch that exceeds the limit of control periods does not
        count, and ends the selection. Raises ``ValueError`` if the batch does not contain the means
        that must run next."""
        due = self.next()
        if batch.means != due:
            raise ValueError(
                f"the entry contains the means of the generations {batch.means}; it must contain "
                f"the means of {due}"
            )
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
        """Return the number of control periods at which a round ends. All rounds get the same share
        of the remaining control periods, at least enough for one batch."""
        rounds = max(1, math.ceil(math.log2(max(1, len(self._left)))))
        share = (self._limit - self._steps) / rounds
        return self._steps + max(share, self._expected())

    def _mean(self, number: int) -> float:
        valid = self._valid[number]
        return math.fsum(self._rewards[number]) / valid if valid else -math.inf


def batch_of(
    means: Sequence[int], driven: Sequence[RolloutResult], steps_before: int
) -> SelectionBatch:
    """Return a batch from the results of its episodes, which are ordered by mean. A world in which
    the simulator failed for one mean counts for no mean."""
    each = len(driven) // len(means)
    own = [driven[i : i + each] for i in range(0, len(driven), each)]
    valid = [world for world in range(each) if all(these[world].valid for these in own)]
    return SelectionBatch(
        tuple(means),
        tuple(math.fsum(these[world].reward for world in valid) for these in own),
        (len(valid),) * len(means),
        steps_before + sum(one.steps for one in driven),
    )
