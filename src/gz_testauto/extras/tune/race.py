"""Paired racing of candidates by successive halving: K. Jamieson and A. Talwalkar, AISTATS 2016.

All candidates run in the same few worlds, the better half continues in more worlds, and so on. The
defaults, which are the candidate 0, are never dropped.
"""

import math
from dataclasses import dataclass
from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np

FIRST_WORLDS = 4  # least number of worlds before candidates are dropped


class Loss(NamedTuple):
    """The loss of a candidate in one world or the mean over several, compared in this order.

    ``time_s`` is the timeout for a failed trial.
    """

    failed: float
    collided: float
    time_s: float


Losses = Dict[str, Loss]  # losses by world, without worlds that have no valid trial

Runner = Callable[[Sequence[int], int], Sequence[Losses]]
"""A function of the numbers of candidates and the number of first worlds."""


@dataclass(frozen=True)
class RacePlan:
    """The numbers of candidates, without the defaults, and of worlds in each stage."""

    candidates: Tuple[int, ...]
    worlds: Tuple[int, ...]

    @property
    def trials(self) -> int:
        """The number of trials with one repetition, including those of the defaults."""
        steps = np.diff(self.worlds, prepend=0)
        return int(self.worlds[-1] + (np.array(self.candidates) * steps).sum())


def plan_race(candidates: int, worlds: int) -> RacePlan:
    """Return the plan of a race that starts with ``candidates`` and ends in ``worlds`` worlds.

    From stage to stage, the number of worlds doubles, and that of candidates halves.
    """
    stages = [worlds]
    while math.ceil(stages[0] / 2) >= FIRST_WORLDS:
        stages.insert(0, math.ceil(stages[0] / 2))
    counts = [candidates]
    while len(counts) < len(stages):
        counts.append(max(counts[-1] // 2, 1))
    return RacePlan(tuple(counts), tuple(stages))


def least_plan(worlds: int) -> RacePlan:
    """Return the plan with the fewest candidates in which each stage but the last drops half."""
    return plan_race(2 ** (len(plan_race(1, worlds).worlds) - 1), worlds)


def largest_plan(budget: int, worlds: int) -> RacePlan:
    """Return the plan with the most candidates that needs at most ``budget`` trials.

    The budget must be sufficient for :func:`least_plan`.
    """
    count = len(least_plan(worlds).worlds)
    while plan_race(count + 1, worlds).trials <= budget:
        count += 1
    return plan_race(count, worlds)


def mean_loss(losses: Sequence[Loss]) -> Loss:
    return Loss(*(float(np.mean(part)) for part in zip(*losses)))


def mean_losses(losses: Sequence[Losses]) -> List[Loss]:
    """Return the mean loss of each candidate over the worlds in which all candidates have a loss.

    Raises ``ValueError`` if there is no such world.
    """
    common = set.intersection(*(set(candidate_losses) for candidate_losses in losses))
    if not common:
        raise ValueError("no world in which all candidates have a valid trial")
    worlds = sorted(common)
    return [mean_loss([candidate_losses[world] for world in worlds]) for candidate_losses in losses]


def race(plan: RacePlan, run: Runner) -> List[int]:
    """Run the race, and return the numbers of the candidates that ran in all worlds, best first.
    They include the defaults (0). Raises ``ValueError`` if :func:`mean_losses` does."""
    remaining = list(range(plan.candidates[0] + 1))
    for stage, worlds in enumerate(plan.worlds):
        means = mean_losses(run(remaining, worlds))
        ranked = [number for _, number in sorted(zip(means, remaining))]
        if stage + 1 < len(plan.worlds):
            promoted = [number for number in ranked if number][: plan.candidates[stage + 1]]
            remaining = sorted([0, *promoted])
    return ranked
