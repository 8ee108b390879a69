"""Correlation of planners in a simulator and in its reference.

The sim-against-real correlation coefficient, SRCC, is Pearson's r of a metric over the cells
(planner, world), each the mean over repetitions: A. Kadian et al., "Sim2Real predictivity: does
evaluation in simulation predict real-world performance?", IEEE Robotics and Automation Letters 5,
2020 (arXiv 1912.06321).
"""

import itertools
import math
from dataclasses import dataclass
from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np

from gz_testauto.analysis import rounding
from gz_testauto.analysis.intervals import LEVEL, ONE_WORLD, Estimate
from gz_testauto.base.errors import ResultsError
from gz_testauto.metrics.interface import SUCCESS
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.sampling.seeds import child_generator

DRAWS = 2000

BOOTSTRAP = "bootstrap over worlds"

UNDEFINED = "undefined in half of the draws of worlds or more"
WITHOUT_WIDTH = "the same in each draw of worlds"


class Resampled(NamedTuple):
    """A statistic, and its values (draws,) for resampled worlds, NaN where undefined."""

    estimate: Estimate
    draws: np.ndarray


@dataclass(frozen=True, eq=False)
class PlannerCorrelation:
    """The correlation of one metric in two campaigns. ``cells`` counts the pairs of planner and
    world with a value in both. Undefined statistics are NaN. ``missing`` is the reason if there are
    too few planners or no cells, else ""."""

    metric: str
    planners: Tuple[str, ...]
    worlds: int
    cells: int
    pearson: Resampled
    spearman: Resampled
    same_winner: Resampled
    missing: str = ""


def correlation(
    simulated: CampaignResults,
    reference: CampaignResults,
    metric: str,
    seed: int = 0,
    draws: int = DRAWS,
) -> PlannerCorrelation:
    """Return the correlation of a metric in two campaigns over planners and worlds.

    Raises ``ResultsError`` if their worlds differ. ``draws`` is the number of bootstrap samples.
    """
    require_same_worlds(simulated, reference)
    planners = tuple(name for name in simulated.planners if name in reference.planners)
    worlds = [world.name for world in simulated.worlds]
    cells = np.stack([_cells(c, metric, planners, worlds) for c in (simulated, reference)])
    cells[:, np.isnan(cells).any(axis=0)] = np.nan  # both campaigns must have the cell
    cells = cells[:, ~np.isnan(cells[0]).all(axis=1)]
    count, world_count = int((~np.isnan(cells[0])).sum()), cells.shape[1]
    missing = _reason_if_unknown(planners, cells)
    if missing:
        unknown = Resampled(Estimate.unknown(), np.full(draws, np.nan))
        return PlannerCorrelation(
            metric, planners, world_count, count, unknown, unknown, unknown, missing
        )
    random = child_generator(seed, BOOTSTRAP, metric)
    weights = random.multinomial(
        world_count, np.full(world_count, 1.0 / world_count), size=draws
    ).astype(float)
    statistics = (_pearson_r, _spearman_r, _same_winner)
    pearson, spearman, winner = (_bootstrap(s, cells, weights) for s in statistics)
    return PlannerCorrelation(metric, planners, world_count, count, pearson, spearman, winner)


def require_same_worlds(first: CampaignResults, second: CampaignResults) -> None:
    hashes = {world.name: world.sha256 for world in second.worlds}
    for world in first.worlds:
        if hashes.get(world.name) != world.sha256:
            reason = "differs in" if world.name in hashes else "is missing in the second of"
            raise ResultsError(
                f"{world.name} {reason} the two campaigns; only equal worlds can be compared"
            )


def _reason_if_unknown(planners: Sequence[str], cells: np.ndarray) -> str:
    if len(planners) < 2:
        common = ", ".join(planners) or "none"
        return f"two planners must be in both campaigns, but these are: {common}"
    if np.isnan(cells).all():
        return "no planner has a value in the same world of both"
    return ""


def _cells(
    results: CampaignResults, metric: str, planners: Sequence[str], worlds: Sequence[str]
) -> np.ndarray:
    """Return means of a metric over repetitions (worlds, planners), NaN without a value."""
    completed_only = {m.name for m in results.metrics if m.completed_only}
    values_by_cell: Dict[Tuple[str, str], List[float]] = {}
    for trial in results.trials:
        value = _trial_value(trial, metric, metric in completed_only)
        if not math.isnan(value):
            values_by_cell.setdefault((trial.world, trial.planner), []).append(value)
    means = [
        rounding.mean(values_by_cell.get((w, planner), ())) for w in worlds for planner in planners
    ]
    return rounding.without_noise(means).reshape(len(worlds), len(planners))


def _trial_value(trial: TrialRecord, metric: str, completed_only: bool) -> float:
    if not trial.outcome.valid or (completed_only and not trial.completed):
        return math.nan
    return float(trial.completed) if metric == SUCCESS else trial.metrics.get(metric, math.nan)


def _bootstrap(
    statistic: Callable[[np.ndarray, np.ndarray], np.ndarray],
    cells: np.ndarray,
    weights: np.ndarray,
) -> Resampled:
    """Return a statistic of ``cells`` (2, worlds, planners) with its bootstrap interval.
    ``weights`` (n, worlds) has the number of each world in each of n bootstrap samples."""
    value = float(statistic(cells, np.ones((1, cells.shape[1])))[0])
    draws = statistic(cells, weights)
    defined = draws[np.isfinite(draws)]
    if math.isnan(value):
        return Resampled(Estimate.unknown(), draws)
    if cells.shape[1] < 2:
        return Resampled(Estimate.without_interval(value, ONE_WORLD), draws)
    if len(defined) <= len(draws) / 2:
        return Resampled(Estimate.without_interval(value, UNDEFINED), draws)
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    if high - low <= rounding.TOLERANCE:
        return Resampled(Estimate.without_interval(value, WITHOUT_WIDTH), draws)
    return Resampled(Estimate(value, float(low), float(high), BOOTSTRAP), draws)


def _pearson_r(cells: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return _weighted_r(*_flatten(cells, weights))


def _spearman_r(cells: np.ndarray, weights: np.ndarray) -> np.ndarray:
    first, second, counts = _flatten(cells, weights)
    return _weighted_r(_midranks(first[0], counts), _midranks(second[0], counts), counts)


def _flatten(cells: np.ndarray, weights: np.ndarray) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the known values (1, k) of both campaigns, and their ``weights`` (n, k)."""
    is_known = ~np.isnan(cells[0])
    world = np.broadcast_to(np.arange(len(is_known))[:, None], is_known.shape)[is_known]
    return cells[0][is_known][None], cells[1][is_known][None], weights[:, world]


def _weighted_r(first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return Pearson's r (n,) for each row of ``weights`` (n, k); NaN if a variable is constant."""
    total = weights.sum(axis=1, keepdims=True)
    centered_first = first - (weights * first).sum(axis=1, keepdims=True) / total
    centered_second = second - (weights * second).sum(axis=1, keepdims=True) / total
    norms = _norm_product(centered_first, centered_second, weights)
    varies = norms > rounding.TOLERANCE * _norm_product(first, second, weights)
    product = (weights * centered_first * centered_second).sum(axis=1)
    r = np.divide(product, norms, out=np.full(len(norms), np.nan), where=varies)
    return np.asarray(np.clip(r, -1.0, 1.0))


def _norm_product(first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> np.ndarray:
    squares = (weights * first**2).sum(axis=1), (weights * second**2).sum(axis=1)
    return np.asarray(np.sqrt(squares[0] * squares[1]))


def _midranks(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the midranks (n, k) of ``values`` (k,), each of which occurs ``weights`` (n, k)
    times."""
    _, value_index = np.unique(values, return_inverse=True)
    order = np.argsort(value_index, kind="stable")
    begins = np.flatnonzero(np.diff(value_index[order], prepend=-1))
    counts = np.add.reduceat(weights[:, order], begins, axis=1)
    return np.asarray((np.cumsum(counts, axis=1) - counts / 2.0 + 0.5)[:, value_index])


def _same_winner(cells: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the share (n,) of pairs of planners in which the same planner has the greater mean in
    both campaigns. ``cells`` have the shape (2, worlds, planners), ``weights`` (n, worlds)."""
    agreeing = []
    for first, second in itertools.combinations(range(cells.shape[2]), 2):
        differences = cells[:, :, first] - cells[:, :, second]  # (campaigns, worlds)
        is_known = ~np.isnan(differences[0])
        counts = weights[:, is_known]
        total = np.maximum(counts.sum(axis=1), 1.0)
        means = np.stack([(counts * d[is_known]).sum(axis=1) / total for d in differences])
        signs = np.where(np.abs(means) > rounding.TOLERANCE, np.sign(means), 0.0)
        agreeing.append(np.where(counts.any(axis=1), signs[0] == signs[1], np.nan))
    same = np.array(agreeing)
    is_known = ~np.isnan(same)
    return np.divide(
        np.where(is_known, same, 0.0).sum(axis=0),
        is_known.sum(axis=0),
        out=np.full(same.shape[1], np.nan),
        where=is_known.any(axis=0),
    )
