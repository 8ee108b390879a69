"""Stability of a ranking under changes of weights and measurements.

Rank acceptability is the share of weights and measurements under which an entry has a rank (SMAA-2:
R. Lahdelma, P. Salminen, Operations Research 49, 2001). There is no winner if the acceptability of
the first rank is below :data:`SURE`.
"""

import math
from dataclasses import dataclass
from typing import List, Mapping, Optional, Tuple

import numpy as np

from gz_testauto.analysis.intervals import LEVEL
from gz_testauto.extras.simulator_comparison.score import ScoreTable
from gz_testauto.sampling.seeds import child_generator

SURE = 0.95  # share of draws in which the winner must be first

SPREAD = 0.2  # relative half width of the uniform distribution of weights

DRAWS = 100_000
WEIGHTS = "weights"

NONE: Mapping[str, str] = {}
_AT_A_TIME = 10_000
_LIMITS = ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0)
_ROUNDING = 1e-9  # largest relative rounding error of totals


def can_rank(table: ScoreTable) -> bool:
    return len(table.entries) > 1 and bool(table.weights[table.counted].any())


def acceptability(
    table: ScoreTable,
    spread: Optional[float] = SPREAD,
    measured: Optional[np.ndarray] = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> np.ndarray:
    """Return the share of draws in which an entry has a rank, (entries, ranks). Ties share ranks.

    Each draw has random weights, and scores from the resampled ``measured`` (n, entries, criteria).
    Weights are within the relative ``spread`` of the specified ones, or uniform on the simplex if
    ``spread`` is None.
    """
    counted = table.counted
    random = child_generator(seed, WEIGHTS)
    count = len(table.entries)
    ranks = np.zeros((count, count))
    pool = (table.scores[None] if measured is None else measured)[:, :, counted]
    for begin in range(0, draws, _AT_A_TIME):
        size = min(_AT_A_TIME, draws - begin)
        weights = _draw_weights(table.weights[counted], spread, size, random)
        chosen = pool[random.integers(len(pool), size=size)]
        ranks += _rank_shares(np.einsum("nec,nc->ne", chosen, weights))
    return ranks / draws


def _draw_weights(
    weights: np.ndarray, spread: Optional[float], count: int, random: np.random.Generator
) -> np.ndarray:
    """Draw weights (n, criteria): within a relative ``spread``, or uniformly with the sum 1."""
    if spread is None:
        drawn = random.standard_exponential((count, len(weights)))
        return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))
    return np.asarray(weights * random.uniform(1.0 - spread, 1.0 + spread, (count, len(weights))))


def _rank_shares(totals: np.ndarray) -> np.ndarray:
    """Return how often each entry has each rank (entries, ranks) in ``totals`` (n, entries). Tied
    entries share their ranks equally."""
    total, opponents = totals[:, :, None], totals[:, None, :]
    close = np.abs(opponents - total) <= 1e-12 * np.maximum(1.0, np.abs(total))
    above = ((opponents > total) & ~close).sum(axis=2)
    tied = close.sum(axis=2)
    count = totals.shape[1]
    shares = np.zeros((count, count))
    for rank in range(count):
        holds = (above <= rank) & (rank < above + tied)
        shares[:, rank] = (holds / tied).sum(axis=0)
    return shares


def total_intervals(table: ScoreTable, measured: Optional[np.ndarray] = None) -> np.ndarray:
    """Return the intervals of the totals (entries, 2) with the specified weights. They are NaN
    without ``measured``, or if the total is equal in all draws."""
    if measured is None:
        return np.full((len(table.entries), 2), np.nan)
    totals = _totals_of_draws(table, measured)
    limits = np.quantile(totals, _LIMITS, axis=0).T
    unsure = np.ptp(totals, axis=0) > _ROUNDING * np.maximum(1.0, np.abs(table.totals))
    return np.where(unsure[:, None], limits, np.nan)


def _totals_of_draws(table: ScoreTable, measured: np.ndarray) -> np.ndarray:
    """Return totals (n, entries) of drawn scores (n, entries, criteria)."""
    counted = table.counted
    return np.asarray(measured[:, :, counted] @ table.weights[counted])


@dataclass(frozen=True)
class Lead:
    """Difference between the totals of the first two entries, with its interval or NaN. ``parts``
    has the contributions of the criteria, the greatest first."""

    first: str
    second: str
    value: float
    low: float
    high: float
    parts: Tuple[Tuple[str, float], ...]


def lead(table: ScoreTable, measured: Optional[np.ndarray] = None) -> Optional[Lead]:
    if not can_rank(table):
        return None
    first, second = table.order[:2]
    counted = table.counted
    shares = np.where(counted, table.weights * (table.scores[first] - table.scores[second]), 0.0)
    order = [int(column) for column in np.argsort(-np.abs(shares), kind="stable")]
    low, high = math.nan, math.nan
    if measured is not None:
        totals = _totals_of_draws(table, measured)
        difference = totals[:, first] - totals[:, second]
        if np.ptp(difference) > _ROUNDING:
            low, high = np.quantile(difference, _LIMITS).tolist()
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
    """Weight of one criterion at which ``winner`` becomes first."""

    criterion: str
    specified: float
    needed: float
    winner: str

    @property
    def relative(self) -> float:
        return abs(self.needed - self.specified) / self.specified


def rank_reversal_weights(table: ScoreTable) -> List[WeightChange]:
    """Return for each criterion the nearest positive weight beyond which another entry is first.
    Criteria without this weight are omitted. The smallest relative change is first."""
    counted, totals = table.counted, table.totals
    if not can_rank(table):
        return []
    first = table.order[0]
    changes = []
    for column in np.flatnonzero(counted & (table.weights > 0)):
        specified = float(table.weights[column])
        reached = [
            (specified - float(totals[first] - totals[other]) / lead, other)
            for other in range(len(table.entries))
            for lead in [float(table.scores[first, column] - table.scores[other, column])]
            if other != first and lead != 0.0
        ]
        possible = [(weight, other) for weight, other in reached if weight > _ROUNDING]
        if possible:
            weight, other = min(possible, key=lambda pair: abs(pair[0] - specified))
            changes.append(
                WeightChange(table.criteria[column], specified, weight, table.entries[other])
            )
    return sorted(changes, key=lambda change: change.relative)


@dataclass(frozen=True)
class RankingVerdict:
    """The winner of a ranking, or the reasons why there is no winner.

    ``share`` is the share of draws in which the entry with the greatest total is first.
    ``by_weights`` and ``by_measurement`` are the shares if only weights or only measurements are
    drawn. All are NaN if ``ranked`` is false. ``decides`` has sentences on what would decide the
    ranking.
    """

    winner: Optional[str]
    share: float
    by_weights: float
    by_measurement: float
    decides: Tuple[str, ...]
    ranked: bool = True

    @property
    def headline(self) -> str:
        if not self.ranked:
            return "No ranking is possible."
        if self.winner is None:
            return "There is no winner."
        return f"{self.winner} is the winner: it is first in {100 * self.share:.1f} % of all draws."

    @property
    def text(self) -> str:
        return " ".join((self.headline, *self.decides))


def ranking_verdict(
    table: ScoreTable,
    measured: Optional[np.ndarray] = None,
    seed: int = 0,
    not_ranked: Mapping[str, str] = NONE,
) -> RankingVerdict:
    """Return the verdict on a ranking. ``not_ranked`` has the reasons why other entries are not in
    the table."""
    if not can_rank(table):
        return RankingVerdict(
            None, math.nan, math.nan, math.nan, (_reason_of_no_ranking(table, not_ranked),), False
        )
    first = table.order[0]
    shares = acceptability(table, SPREAD, measured, seed)[:, 0]
    combined = float(shares[first])
    by_weights = float(acceptability(table, SPREAD, None, seed)[first, 0])
    by_measurement = float(acceptability(table, 0.0, measured, seed)[first, 0])
    decisive = _decisive_criteria(table)  # a winner must be first for any scores in these criteria
    winner = table.entries[first] if combined >= SURE and not decisive else None
    decides: Tuple[str, ...] = ()
    if combined < SURE:
        decides = _deciding_factors(table, shares, by_weights, by_measurement)
    if decisive:
        lacking = "; ".join(f"{name} of {', '.join(table.left_out[name])}" for name in decisive)
        decides += (
            f"{table.entries[first]} is first by the criteria that are known for all entries. "
            f"These unknown values could change the first rank: {lacking}.",
        )
    unknown = np.isnan(table.scores).all(axis=0) & (table.weights > 0)
    if unknown.any():
        names = ", ".join(table.criteria[column] for column in np.flatnonzero(unknown))
        decides += (f"Criteria that are unknown for all entries do not count: {names}.",)
    return RankingVerdict(winner, combined, by_weights, by_measurement, decides)


def _reason_of_no_ranking(table: ScoreTable, not_ranked: Mapping[str, str]) -> str:
    other_entries = "; ".join(f"{name}: {why}" for name, why in not_ranked.items())
    if not table.entries:
        return f"No entry can be compared ({other_entries})."
    if len(table.entries) == 1:
        return (
            f"Only {table.entries[0]} can be ranked, but a ranking needs at least two entries"
            f"{f' ({other_entries})' if other_entries else ''}."
        )
    return "No criterion with a weight above 0 is known for all entries."


def _decisive_criteria(table: ScoreTable) -> Tuple[str, ...]:
    """Return the criteria that are unknown for some entries, if their scores could change the first
    rank, else an empty tuple."""
    unknown = np.isnan(table.scores)
    partly = unknown.any(axis=0) & ~unknown.all(axis=0) & (table.weights > 0)
    weights = np.where(table.counted | partly, table.weights, 0.0)
    least = np.where(unknown, 0.0, table.scores) @ weights
    greatest = np.where(unknown, 1.0, table.scores) @ weights
    first = table.order[0]
    greatest_others = np.delete(greatest, first)
    if not partly.any() or greatest_others.max() <= least[first] + _ROUNDING:
        return ()
    return tuple(table.criteria[column] for column in np.flatnonzero(partly))


def _deciding_factors(
    table: ScoreTable, shares: np.ndarray, by_weights: float, by_measurement: float
) -> Tuple[str, ...]:
    leading = lead(table)
    assert leading is not None, "two or more entries"
    first, second = table.order[:2]
    sentences = [
        f"{leading.first} has the greatest total, but with weights within ±{100 * SPREAD:.0f} % it "
        f"is first in {100 * shares[first]:.1f} % of draws, and {leading.second} in "
        f"{100 * shares[second]:.1f} %. The winner must be first in {100 * SURE:.0f} %."
    ]
    if by_weights < SURE and leading.parts:
        sentences.append(
            f"The weights decide. Criteria in favor of {leading.first}: "
            f"{_criteria_for(leading, 1)}. Criteria in favor of {leading.second}: "
            f"{_criteria_for(leading, -1)}."
        )
    if by_measurement < SURE:
        sentences.append(
            f"More repetitions can decide: with the specified weights {leading.first} is first in "
            f"{100 * by_measurement:.1f} % of the resampled measurements."
        )
    if by_weights >= SURE and by_measurement >= SURE:
        sentences.append("More repetitions or more precise weights can decide the ranking.")
    return tuple(sentences)


def _criteria_for(leading: Lead, sign: int) -> str:
    return ", ".join(name for name, part in leading.parts if sign * part > 0) or "none"
