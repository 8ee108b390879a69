"""Value and confidence interval of a measure for an entry of a comparison.

A measure against the reference is the mean distance over all pairs of a repetition of the entry and
a repetition of the reference in the same case. These means are averaged or added over the cases.
The *floor* is the mean distance over pairs of the reference's own repetitions. An entry *ties* with
the reference if its value is not above the floor, or if a permutation test finds no significant
difference at 5 %.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from scipy.stats import norm, t

from gz_testauto.analysis.intervals import LEVEL, Estimate
from gz_testauto.extras.simulator_comparison.correlation import correlation
from gz_testauto.extras.simulator_comparison.measures.interface import Measure
from gz_testauto.extras.simulator_comparison.recordings.recording import (
    RecordingsByCase,
    RunRecording,
)
from gz_testauto.results.records import CampaignResults
from gz_testauto.sampling.seeds import child_generator

RESAMPLES = 2000
PERMUTATIONS = 999
BOOTSTRAP, PERMUTATION = "bootstrap", "permutation"

REFERENCE = "reference of all entries"
PUBLISHED = "published"
NOTHING = "no value is published"
NO_CAMPAIGN = "the entry has no campaign"
NO_OTHER_CAMPAIGN = "the reference has no campaign"

METHOD = "bootstrap over repetitions, expanded percentile"
LEAST_DETERMINED = 0.5
"""Least share of pairs of recordings with a finite distance. A case with less does not count."""

METHOD_OWN = "Student's t over repetitions"


@dataclass(frozen=True, eq=False)
class Measured:
    """Value of one measure for one entry of a comparison.

    ``draws`` (:data:`RESAMPLES`,) are resampled values. ``floor`` and the p-value ``p_tie`` are NaN
    without a reference or with too few repetitions. ``incomplete`` has a remark on each case in
    which some pairs of recordings do not determine the value. ``undetermined`` has the reason for
    each case that does not count, and ``missing`` the reason if there is no value.
    """

    measure: Measure
    estimate: Estimate
    draws: np.ndarray = field(default_factory=lambda: np.array([]))
    by_case: Mapping[str, float] = field(default_factory=dict)
    floor: float = math.nan
    p_tie: float = math.nan
    incomplete: Mapping[str, str] = field(default_factory=dict)
    undetermined: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""

    @property
    def ties(self) -> bool:
        """True if the difference is not significant or not above the floor."""
        return self.p_tie > 1.0 - LEVEL or self.estimate.value <= self.floor

    @classmethod
    def absent(cls, measure: Measure, why: str) -> "Measured":
        return cls(measure, Estimate.unknown(), missing=why)

    @classmethod
    def quoted(cls, measure: Measure, value: float) -> "Measured":
        estimate = Estimate.without_interval(value, PUBLISHED)
        return cls(measure, estimate, np.full(RESAMPLES, value))


def measure_entry(
    measure: Measure,
    name: str,
    recordings: RecordingsByCase,
    reference: Optional[RecordingsByCase],
    seed: int = 0,
) -> Measured:
    if measure.own is not None:
        return _measure_separately(measure, name, recordings, seed)
    if reference is None:
        return Measured.absent(measure, "the comparison has no reference")
    cases = [case for case in reference if _applies_to(measure, case)]
    cases = [case for case in cases if _reason_of_absence(measure, reference[case]) is None]
    if not cases:
        return Measured.absent(
            measure, "the reference has no recording of the required terrain and maneuver"
        )
    for case in cases:
        reason = (
            "is missing"
            if case not in recordings
            else _reason_of_absence(measure, recordings[case])
        )
        if reason:
            return Measured.absent(measure, f"{case} {reason}")
    return _compare_with_reference(
        measure, name, {case: (recordings[case], reference[case]) for case in cases}, seed
    )


def measure_planners(
    measure: Measure,
    campaign: Optional[CampaignResults],
    reference: Optional[CampaignResults],
    seed: int = 0,
) -> Measured:
    assert measure.planners is not None, "a measure of two campaigns"
    if campaign is None or reference is None:
        return Measured.absent(measure, NO_CAMPAIGN if campaign is None else NO_OTHER_CAMPAIGN)
    correlations = correlation(campaign, reference, measure.planners.metric, seed, RESAMPLES)
    estimate, draws = measure.planners.select(correlations)
    if math.isnan(estimate.value):
        return Measured.absent(measure, correlations.missing or "all trials have the same outcome")
    return Measured(measure, estimate, np.where(np.isfinite(draws), draws, estimate.value))


EXTRAS = ("load", "half_step")
"""Fields that only the recordings of some cases and repetitions have."""


def _with_needed_channels(measure: Measure, recordings: RecordingsByCase) -> RecordingsByCase:
    """Return the recordings without those that lack a field of :data:`EXTRAS` that the measure
    needs. Cases without recordings are omitted."""
    needed = [name for name in EXTRAS if name in measure.needs]
    complete = {
        case: [run for run in runs if all(getattr(run, name) is not None for name in needed)]
        for case, runs in recordings.items()
    }
    return {case: runs for case, runs in complete.items() if runs}


def _applies_to(measure: Measure, case: str) -> bool:
    terrain, _, maneuver = case.rpartition("/")
    return measure.maneuver in ("", maneuver) and measure.terrain in ("", terrain)


def _reason_of_absence(measure: Measure, recordings: Sequence[RunRecording]) -> Optional[str]:
    for recording in recordings:
        for channel in measure.needs:
            if getattr(recording, channel) is None:
                return f"has no {channel} ({recording.source})"
    return None if recordings else "is missing"


def _measure_separately(
    measure: Measure, name: str, recordings: RecordingsByCase, seed: int
) -> Measured:
    assert measure.own is not None, "a measure of one recording"
    recordings = _with_needed_channels(measure, recordings)
    cases = [case for case in recordings if _applies_to(measure, case)]
    if not cases:
        return Measured.absent(
            measure, "the entry has no recording of the required terrain and maneuver"
        )
    for case in cases:
        reason = _reason_of_absence(measure, recordings[case])
        if reason:
            return Measured.absent(measure, f"{case} {reason}")
    parts = {
        case: np.array([measure.own(recording) for recording in recordings[case]]) for case in cases
    }
    value = _ratio_of_sums(np.sum([part.sum(axis=0) for part in parts.values()], axis=0))
    draws = np.zeros((RESAMPLES, 2))
    for case, part in parts.items():
        draws += _counts(len(part), seed, name, case) @ part
    with np.errstate(invalid="ignore", divide="ignore"):
        resampled = draws[:, 0] / draws[:, 1]
    by_case = {case: _ratio_of_sums(part.sum(axis=0)) for case, part in parts.items()}
    measured = _with_interval(measure, value, resampled, _residuals(parts, value), by_case)
    if math.isnan(measured.estimate.low):
        return measured
    return replace(measured, estimate=_student(parts, value))


def _residuals(parts: Mapping[str, np.ndarray], value: float) -> List[np.ndarray]:
    """Return ``n (numerator - value denominator)`` (n,) of the n repetitions of each case, where
    ``value`` is the ratio of the sums. ``parts`` has numerators and denominators (n, 2) by case."""
    return [len(part) * (part[:, 0] - value * part[:, 1]) for part in parts.values()]


def _student(parts: Mapping[str, np.ndarray], value: float) -> Estimate:
    """Return Student's t interval of a linearized ratio of sums, with the degrees of freedom of
    Welch and Satterthwaite. It is computed for the logarithm if no value is negative. ``parts`` are
    those of :func:`_residuals`."""
    # a bootstrap of five values would cover 91 % instead of 95 %, since it cannot exceed them
    residuals = _residuals(parts, value)
    _, freedom = _small_sample_correction(residuals)
    denominator = sum(part[:, 1].sum() for part in parts.values())
    variance = sum(r.var(ddof=1) / len(r) for r in residuals) / denominator**2
    half_width = float(t.ppf((1.0 + LEVEL) / 2.0, freedom) * math.sqrt(variance))
    if value > 0.0 and all((part >= 0.0).all() for part in parts.values()):
        factor = math.exp(min(half_width / value, 700.0))
        return Estimate(value, value / factor, value * factor, METHOD_OWN)
    return Estimate(value, value - half_width, value + half_width, METHOD_OWN)


def _ratio_of_sums(sums: np.ndarray) -> float:
    return float(sums[0] / sums[1]) if sums[1] else math.nan


def _compare_with_reference(
    measure: Measure,
    name: str,
    pairs: Mapping[str, Tuple[Sequence[RunRecording], Sequence[RunRecording]]],
    seed: int,
) -> Measured:
    distances = {case: _pooled(measure, *runs) for case, runs in pairs.items()}
    # A mean over a few pairs of a case would prefer the pairs that resemble each other.
    undetermined = {
        case: f"{int(np.isnan(pooled).sum()) // 2} of {math.comb(len(pooled), 2)} pairs of "
        "recordings do not determine it"
        for case, pooled in distances.items()
        if _least_determined(pooled, len(pairs[case][0])) < LEAST_DETERMINED
    }
    distances = {case: distances[case] for case in distances if case not in undetermined}
    if not distances:
        reasons = ", ".join(f"{case}: {reason}" for case, reason in undetermined.items())
        return Measured.absent(measure, f"{measure.undefined}; {reasons}")
    sizes = {case: (len(pairs[case][0]), len(pairs[case][1])) for case in distances}
    by_case: Dict[str, float] = {}
    incomplete: Dict[str, str] = {}
    floors, drawn, scatter = [], [], []
    for case, pooled in distances.items():
        count, reference_count = sizes[case]
        across, among = pooled[:count, count:], pooled[count:, count:]
        known_count = int(np.isfinite(across).sum())
        if known_count < across.size:
            incomplete[case] = (
                f"the mean over {known_count} of {across.size} pairs with the reference"
            )
        across, among = _completed(across, one_set=False), _completed(among, one_set=True)
        by_case[case] = float(across.mean())
        floors.append(_mean_of_distinct_pairs(among))
        entry_counts = _counts(count, seed, name, case) / count
        reference_counts = _counts(reference_count, seed, REFERENCE, case) / reference_count
        drawn.append(np.einsum("be,er,br->b", entry_counts, across, reference_counts))
        scatter += [across.mean(axis=1), across.mean(axis=0)]
    combine = np.sum if measure.summed else np.mean
    value = float(combine(list(by_case.values())))
    measured = _with_interval(measure, value, combine(drawn, axis=0), scatter, by_case)
    # The same value for all missing pairs, so that exchanged repetitions remain equally likely
    completed = [_completed(pooled, one_set=True) for pooled in distances.values()]
    return replace(
        measured,
        floor=float(combine(floors)),
        p_tie=_p_tie(completed, list(sizes.values()), seed),
        incomplete=incomplete,
        undetermined=undetermined,
    )


def _least_determined(pooled: np.ndarray, count: int) -> float:
    """Return the smaller share of finite distances: between entry and reference, or within the
    reference. The first ``count`` rows of ``pooled`` are those of the entry."""
    blocks = [pooled[:count, count:]]
    if len(pooled) - count > 1:
        blocks.append(pooled[count:, count:][~np.eye(len(pooled) - count, dtype=bool)])
    return min(float(np.isfinite(block).mean()) for block in blocks)


def _completed(distances: np.ndarray, one_set: bool) -> np.ndarray:
    """Return distances in which the mean of the known distances replaces NaN. With ``one_set``, the
    distances are within one set of recordings, and the mean excludes the diagonal."""
    missing = np.isnan(distances)
    known = ~missing & ~np.eye(*distances.shape, dtype=bool) if one_set else ~missing
    return np.where(missing, distances[known].mean(), distances) if missing.any() else distances


def _pooled(
    measure: Measure, recordings: Sequence[RunRecording], reference: Sequence[RunRecording]
) -> np.ndarray:
    """Return the distances (n, n) of all repetitions, those of the reference last."""
    assert measure.between is not None, "a measure of two recordings"
    pool = [*recordings, *reference]
    distances = np.zeros((len(pool), len(pool)))
    for row, first in enumerate(pool):
        for column in range(row + 1, len(pool)):
            distances[row, column] = distances[column, row] = measure.between(first, pool[column])
    return distances


def _mean_of_distinct_pairs(distances: np.ndarray) -> float:
    count = len(distances)
    return float(distances.sum() / (count * (count - 1))) if count > 1 else math.nan


def _counts(count: int, seed: int, name: str, case: str) -> np.ndarray:
    """Return how often each bootstrap sample contains each of ``count`` repetitions, with the shape
    (:data:`RESAMPLES`, count)."""
    # the draws of the reference are equal for all entries
    random = child_generator(seed, BOOTSTRAP, name, case)
    return random.multinomial(count, np.full(count, 1.0 / count), size=RESAMPLES)


def _with_interval(
    measure: Measure,
    value: float,
    draws: np.ndarray,
    scatter: Sequence[np.ndarray],
    by_case: Mapping[str, float],
) -> Measured:
    """Return ``value`` with its bootstrap interval, or without an interval if a set has one value.
    ``scatter`` has the values (n,) of each independently resampled set. Their means are the
    contributions of the sets to ``value``, up to a common factor."""
    if min(map(len, scatter)) < 2 or not np.isfinite(draws).all():
        reason = "no interval, because a case has only one repetition"
        estimate = Estimate.without_interval(value, reason)
        return Measured(measure, estimate, np.full(RESAMPLES, value), by_case)
    # expanded percentiles (T. C. Hesterberg, The American Statistician 69, 2015); without them
    # intervals of five repetitions would cover 84 % instead of 95 %
    wider, freedom = _small_sample_correction(scatter)
    tail = float(norm.cdf(wider * t.ppf((1.0 - LEVEL) / 2.0, freedom)))
    low, high = np.quantile(draws, [tail, 1.0 - tail])
    spread = value + wider * (draws - value)
    if (draws >= 0.0).all():
        spread = np.maximum(spread, 0.0)
    return Measured(measure, Estimate(value, float(low), float(high), METHOD), spread, by_case)


def _small_sample_correction(scatter: Sequence[np.ndarray]) -> Tuple[float, float]:
    """Return the factor by which a bootstrap of few repetitions is too narrow, and the degrees of
    freedom of its quantiles (Welch and Satterthwaite)."""
    counts = np.array([len(values) for values in scatter], dtype=float)
    shares = np.array([values.var() for values in scatter]) / counts  # as in the bootstrap
    if not shares.sum() > 0.0:
        return 1.0, math.inf
    true = shares * counts / (counts - 1.0)
    freedom = true.sum() ** 2 / (true**2 / (counts - 1.0)).sum()
    return math.sqrt(true.sum() / shares.sum()), float(freedom)


def _p_tie(distances: Sequence[np.ndarray], sizes: Sequence[Tuple[int, int]], seed: int) -> float:
    """Return the p-value of a permutation test of equal distributions by the energy statistic.
    Repetitions are exchanged within each case. It is NaN for a single repetition of the reference,
    or if there are too few permutations for a p-value of 5 %. ``distances`` are those of
    :func:`_pooled`, ``sizes`` the numbers of repetitions of entry and reference."""
    exchanges = math.prod(_exchange_count(count, reference) for count, reference in sizes)
    if min(reference for _, reference in sizes) < 2 or exchanges * (1.0 - LEVEL) < 1.0:
        return math.nan
    random = child_generator(seed, PERMUTATION)
    statistics = np.zeros(1 + PERMUTATIONS)
    for pooled, (count, _) in zip(distances, sizes):
        members = np.zeros((1 + PERMUTATIONS, len(pooled)))
        members[:, :count] = 1.0
        members[1:] = random.permuted(members[1:], axis=1)
        statistics += _energy(pooled, members, count)
    observed = statistics[0]
    return float((statistics >= observed - 1e-12 * abs(observed)).mean())


def _exchange_count(count: int, reference: int) -> int:
    """Return the number of permutations that the energy statistic distinguishes."""
    # with sets of equal size, exchanging both sets does not change the statistic
    return math.comb(count + reference, count) // (2 if count == reference else 1)


def _energy(pooled: np.ndarray, members: np.ndarray, count: int) -> np.ndarray:
    """Return the energy statistic 2 E d(X, Y) - E d(X, X') - E d(Y, Y') for each row of ``members``
    (m, n). A row is 1 for the ``count`` samples of X and 0 for those of Y. ``pooled`` (n, n) are
    the distances d (G. J. Székely, M. L. Rizzo, J. Stat. Plan. Inference 143, 2013)."""
    other = len(pooled) - count
    towards = members @ pooled
    within = (towards * members).sum(axis=1)
    across = towards.sum(axis=1) - within
    within_other = pooled.sum() - 2.0 * across - within
    return np.asarray(2.0 * across / (count * other) - within / count**2 - within_other / other**2)
