"""What becomes of the first place when weights and measurements are not quite so.

Owns rank acceptability, the share of weights and measurements under which an entry has a rank
(SMAA-2: R. Lahdelma, P. Salminen, Operations Research 49, 2001), the smallest change of one weight
that changes who is first, and the verdict: below :data:`SURE` there is no winner.
"""

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.fidelity.score import ScoreTable
from gz_testauto.sampling.seeds import child_generator

SURE = 0.95
"""Share of weights and measurements under which the winner must be first."""

SPREAD = 0.2
"""Weights are drawn uniformly from this share below to this share above what was given."""

DRAWS = 100_000
WEIGHTS = "weights"
"""Path of the generator."""

_AT_A_TIME = 10_000


@dataclass(frozen=True, eq=False)
class Acceptability:
    """Shares (entries, ranks): of the draws, those in which an entry has a rank. Entries that tie
    for a rank share it."""

    ranks: np.ndarray

    @property
    def first(self) -> np.ndarray:
        """Shares (entries,) in which each is first."""
        return np.asarray(self.ranks[:, 0])


def acceptability(
    table: ScoreTable,
    spread: Optional[float] = SPREAD,
    measured: Optional[np.ndarray] = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> Acceptability:
    """Rank acceptability under weights within ``spread`` of the given ones, any weights (uniform
    on the simplex) for None, the given ones for 0; with ``measured`` (n, entries, criteria), scores
    from measurements drawn anew, under these as well."""
    counted = table.counted
    random = child_generator(seed, WEIGHTS)
    count = len(table.entries)
    ranks = np.zeros((count, count))
    pool = (table.scores[None] if measured is None else measured)[:, :, counted]
    for begin in range(0, draws, _AT_A_TIME):
        size = min(_AT_A_TIME, draws - begin)
        weights = _drawn_weights(table.weights[counted], spread, size, random)
        chosen = pool[random.integers(len(pool), size=size)]
        ranks += _rank_shares(np.einsum("nec,nc->ne", chosen, weights))
    return Acceptability(ranks / draws)


def _drawn_weights(
    weights: np.ndarray, spread: Optional[float], size: int, random: np.random.Generator
) -> np.ndarray:
    if spread is None:
        drawn = random.standard_exponential((size, len(weights)))
        return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))
    return np.asarray(weights * random.uniform(1.0 - spread, 1.0 + spread, (size, len(weights))))


def _rank_shares(totals: np.ndarray) -> np.ndarray:
    """How often (entries, ranks) each has each rank, of totals (n, entries)."""
    own, others = totals[:, :, None], totals[:, None, :]
    close = np.abs(others - own) <= 1e-12 * np.maximum(1.0, np.abs(own))
    above = ((others > own) & ~close).sum(axis=2)
    tied = close.sum(axis=2)
    count = totals.shape[1]
    shares = np.zeros((count, count))
    for rank in range(count):
        holds = (above <= rank) & (rank < above + tied)
        shares[:, rank] = (holds / tied).sum(axis=0)
    return shares


@dataclass(frozen=True)
class WeightChange:
    """The weight of one criterion that makes ``winner`` first, all others as they are."""

    criterion: str
    given: float
    needed: float
    winner: str

    @property
    def relative(self) -> float:
        """The change over the given weight, without sign."""
        return abs(self.needed - self.given) / self.given


def turning_weights(table: ScoreTable) -> List[WeightChange]:
    """For each criterion that can do it, the weight, above 0, next to the given one beyond which
    another is first; the smallest relative change first."""
    counted, totals = table.counted, table.totals
    first = table.order[0]
    found = []
    for column in np.flatnonzero(counted & (table.weights > 0)):
        given = float(table.weights[column])
        reached = [
            (given - float(totals[first] - totals[other]) / lead, other)
            for other in range(len(table.entries))
            for lead in [float(table.scores[first, column] - table.scores[other, column])]
            if other != first and lead != 0.0
        ]
        possible = [(weight, other) for weight, other in reached if weight > 1e-9]
        if possible:
            weight, other = min(possible, key=lambda pair: abs(pair[0] - given))
            found.append(WeightChange(table.criteria[column], given, weight, table.entries[other]))
    return sorted(found, key=lambda change: change.relative)


@dataclass(frozen=True)
class Verdict:
    """Who won, None where nobody did; the share in which the first one of the total is first,
    under weights and measurement together and under each alone; and what would decide it."""

    winner: Optional[str]
    share: float
    by_weights: float
    by_measurement: float
    decides: str

    @property
    def text(self) -> str:
        """In a sentence."""
        if self.winner is not None:
            return f"{self.winner} is first, in {100 * self.share:.1f} % of all draws."
        return f"No winner. {self.decides}"


def judge(table: ScoreTable, measured: Optional[np.ndarray] = None, seed: int = 0) -> Verdict:
    """Whether the first one of the total is first in at least :data:`SURE` of weights and
    measurements; ``measured`` as for :func:`acceptability`."""
    if len(table.entries) == 1:
        return Verdict(table.entries[0], 1.0, 1.0, 1.0, "")
    first = table.order[0]
    together = float(acceptability(table, SPREAD, measured, seed).first[first])
    weights = float(acceptability(table, SPREAD, None, seed).first[first])
    measurement = float(acceptability(table, 0.0, measured, seed).first[first])
    winner = table.entries[first] if together >= SURE else None
    decides = "" if winner else _what_decides(table, together, weights, measurement)
    return Verdict(winner, together, weights, measurement, decides)


def _what_decides(table: ScoreTable, together: float, weights: float, measurement: float) -> str:
    first, second = table.order[:2]
    names = table.entries[first], table.entries[second]
    told = [
        f"{names[0]} is first in {100 * together:.1f} % of weights within {100 * SPREAD:.0f} % and "
        f"of measurements, {100 * SURE:.0f} % are needed."
    ]
    if weights < SURE:
        for_first, for_second = _differences(table, first, second)
        told.append(
            f"What you hold more important decides: {', '.join(for_first) or 'nothing'} "
            f"for {names[0]}, {', '.join(for_second) or 'nothing'} for {names[1]}."
        )
    if measurement < SURE:
        told.append("More repetitions decide: with the weights as given, measurements do not.")
    if weights >= SURE and measurement >= SURE:
        told.append("Either alone would do: more repetitions or surer weights.")
    return " ".join(told)


def _differences(table: ScoreTable, first: int, second: int) -> Tuple[Sequence[str], Sequence[str]]:
    """The criteria in which each of two is ahead, those that bring most first."""
    lead = np.where(table.counted, table.weights * (table.scores[first] - table.scores[second]), 0)
    order = np.argsort(-np.abs(lead), kind="stable")
    for_first = [table.criteria[column] for column in order if lead[column] > 1e-9]
    for_second = [table.criteria[column] for column in order if lead[column] < -1e-9]
    return for_first, for_second
