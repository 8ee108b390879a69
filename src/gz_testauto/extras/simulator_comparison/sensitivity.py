"""What becomes of the first place when weights and measurements are not quite so.

Owns rank acceptability, the share of weights and measurements under which an entry has a rank
(SMAA-2: R. Lahdelma, P. Salminen, Operations Research 49, 2001), intervals of the totals, what the
first place is made of, the smallest change of one weight that changes who is first, and the
verdict: below :data:`SURE` there is no winner.
"""

import math
from dataclasses import dataclass
from typing import List, Mapping, Optional, Tuple

import numpy as np

from gz_testauto.analysis.intervals import LEVEL
from gz_testauto.extras.simulator_comparison.score import ScoreTable
from gz_testauto.sampling.seeds import child_generator

SURE = 0.95
"""Share of weights and measurements under which the winner must be first."""

SPREAD = 0.2
"""Weights are drawn uniformly from this share below to this share above what was given."""

DRAWS = 100_000
WEIGHTS = "weights"
"""Path of the generator."""

NONE: Mapping[str, str] = {}
_AT_A_TIME = 10_000
_LIMITS = ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0)
_ROUNDING = 1e-9
"""Of totals; what is less is none."""


def can_rank(table: ScoreTable) -> bool:
    """Whether there are two entries or more, and something that counts is known of all of them."""
    return len(table.entries) > 1 and bool(table.weights[table.counted].any())


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


def total_intervals(table: ScoreTable, measured: Optional[np.ndarray] = None) -> np.ndarray:
    """Low and high of each total (entries, 2) at the given weights, as measurements drawn anew
    (n, entries, criteria) have it; NaN where nothing says how sure a measurement is."""
    if measured is None:
        return np.full((len(table.entries), 2), np.nan)
    totals = _totals(table, measured)
    limits = np.quantile(totals, _LIMITS, axis=0).T
    unsure = np.ptp(totals, axis=0) > _ROUNDING * np.maximum(1.0, np.abs(table.totals))
    return np.where(unsure[:, None], limits, np.nan)


def _totals(table: ScoreTable, measured: np.ndarray) -> np.ndarray:
    """(n, entries), by what counts."""
    counted = table.counted
    return np.asarray(measured[:, :, counted] @ table.weights[counted])


@dataclass(frozen=True)
class Lead:
    """By how much the first one's total exceeds the second one's, with its interval (NaN as in
    :func:`total_intervals`), and what of it each criterion brings, the greatest share first; those
    in which both are equal are left out."""

    first: str
    second: str
    value: float
    low: float
    high: float
    parts: Tuple[Tuple[str, float], ...]


def lead(table: ScoreTable, measured: Optional[np.ndarray] = None) -> Optional[Lead]:
    """Of the first over the second; None where nothing can be ranked."""
    if not can_rank(table):
        return None
    first, second = table.order[:2]
    counted = table.counted
    shares = np.where(counted, table.weights * (table.scores[first] - table.scores[second]), 0.0)
    order = [int(column) for column in np.argsort(-np.abs(shares), kind="stable")]
    low, high = float("nan"), float("nan")
    if measured is not None:
        totals = _totals(table, measured)
        apart = totals[:, first] - totals[:, second]
        if np.ptp(apart) > _ROUNDING:
            low, high = (float(limit) for limit in np.quantile(apart, _LIMITS))
    return Lead(
        table.entries[first],
        table.entries[second],
        float(table.totals[first] - table.totals[second]),
        low,
        high,
        tuple((table.criteria[c], float(shares[c])) for c in order if abs(shares[c]) > _ROUNDING),
    )


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


def rank_reversal_weights(table: ScoreTable) -> List[WeightChange]:
    """For each criterion that can do it, the weight, above 0, next to the given one beyond which
    another is first; the smallest relative change first."""
    counted, totals = table.counted, table.totals
    if not can_rank(table):
        return []
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
        possible = [(weight, other) for weight, other in reached if weight > _ROUNDING]
        if possible:
            weight, other = min(possible, key=lambda pair: abs(pair[0] - given))
            found.append(WeightChange(table.criteria[column], given, weight, table.entries[other]))
    return sorted(found, key=lambda change: change.relative)


@dataclass(frozen=True)
class RankingVerdict:
    """Who won, None where nobody did; the share in which the first one of the total is first,
    under weights and measurement together and under each alone, NaN where nothing is ranked; what
    would decide it; and whether there was anything to be ranked.

    Nobody has won either where a criterion that is known of some entries only could make another
    one first.
    """

    winner: Optional[str]
    share: float
    by_weights: float
    by_measurement: float
    decides: Tuple[str, ...]
    ranked: bool = True

    @property
    def headline(self) -> str:
        """Who won, in a sentence."""
        if not self.ranked:
            return "There is nothing to rank."
        if self.winner is None:
            return "No winner."
        return f"{self.winner} is first, in {100 * self.share:.1f} % of all draws."

    @property
    def text(self) -> str:
        """In sentences."""
        return " ".join((self.headline, *self.decides))


def ranking_verdict(
    table: ScoreTable,
    measured: Optional[np.ndarray] = None,
    seed: int = 0,
    not_ranked: Mapping[str, str] = NONE,
) -> RankingVerdict:
    """Whether the first one of the total is first in at least :data:`SURE` of weights and
    measurements; ``measured`` as for :func:`acceptability`. ``not_ranked`` says by name why others
    are not in the table."""
    if not can_rank(table):
        return RankingVerdict(
            None, math.nan, math.nan, math.nan, (_why_unranked(table, not_ranked),), False
        )
    first = table.order[0]
    shares = acceptability(table, SPREAD, measured, seed).first
    together = float(shares[first])
    weights = float(acceptability(table, SPREAD, None, seed).first[first])
    measurement = float(acceptability(table, 0.0, measured, seed).first[first])
    open_ = _open(table)
    winner = table.entries[first] if together >= SURE and not open_ else None
    decides = () if together >= SURE else _deciding_factors(table, shares, weights, measurement)
    if open_:
        lacking = "; ".join(f"{name} of {', '.join(table.left_out[name])}" for name in open_)
        decides += (
            f"{table.entries[first]} is first by what is known of all, but what is not known could "
            f"change that: {lacking}.",
        )
    unknown = np.isnan(table.scores).all(axis=0) & (table.weights > 0)
    if unknown.any():
        names = ", ".join(table.criteria[column] for column in np.flatnonzero(unknown))
        decides += (f"Of no entry is known, and so it does not count: {names}.",)
    return RankingVerdict(winner, together, weights, measurement, decides)


def _why_unranked(table: ScoreTable, not_ranked: Mapping[str, str]) -> str:
    others = "; ".join(f"{name}: {why}" for name, why in not_ranked.items())
    if not table.entries:
        return f"No entry can be compared ({others})."
    if len(table.entries) == 1:
        return (
            f"{table.entries[0]} alone is compared{f' ({others})' if others else ''}, and measures "
            "score against the best of all."
        )
    return "Nothing that has a weight is known of all entries."


def _open(table: ScoreTable) -> Tuple[str, ...]:
    """The criteria that are known of some entries only, where what the others would score in them
    could make another one first."""
    unknown = np.isnan(table.scores)
    partly = unknown.any(axis=0) & ~unknown.all(axis=0) & (table.weights > 0)
    weights = np.where(table.counted | partly, table.weights, 0.0)
    least = np.where(unknown, 0.0, table.scores) @ weights
    greatest = np.where(unknown, 1.0, table.scores) @ weights
    first = table.order[0]
    others = np.delete(greatest, first)
    if not partly.any() or others.max() <= least[first] + _ROUNDING:
        return ()
    return tuple(table.criteria[column] for column in np.flatnonzero(partly))


def _deciding_factors(
    table: ScoreTable, shares: np.ndarray, weights: float, measurement: float
) -> Tuple[str, ...]:
    leading = lead(table)
    assert leading is not None, "asked of two entries or more"
    first, second = table.order[:2]
    told = [
        f"{leading.first} has the greatest total, but with weights within ±{100 * SPREAD:.0f} % it "
        f"is first in {100 * shares[first]:.1f} % of draws, {leading.second} in "
        f"{100 * shares[second]:.1f} %; {100 * SURE:.0f} % are needed."
    ]
    if weights < SURE and leading.parts:
        told.append(
            f"Weights decide: {_criteria_for(leading, 1)} speak for {leading.first}, "
            f"{_criteria_for(leading, -1)} for {leading.second}."
        )
    if measurement < SURE:
        told.append(
            "More repetitions decide: with the weights as given it is first in "
            f"{100 * measurement:.1f} % of draws of the measurements."
        )
    if weights >= SURE and measurement >= SURE:
        told.append("Either alone would do: more repetitions or surer weights.")
    return tuple(told)


def _criteria_for(leading: Lead, sign: int) -> str:
    """The criteria that bring one of the two a lead, those that bring most first."""
    return ", ".join(name for name, part in leading.parts if sign * part > 0) or "none"
