"""Results of a comparison of simulators: measures, scores, ranking and their uncertainty.

:func:`evaluate_bench` evaluates a specification. Reports and ``findings.json`` show the result,
:class:`Findings`.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.extras.simulator_comparison.bench.simulated import NO_CONDITIONS, RunConditions
from gz_testauto.extras.simulator_comparison.estimates import (
    NOTHING,
    RESAMPLES,
    Measured,
    measure_entry,
    measure_planners,
)
from gz_testauto.extras.simulator_comparison.measures.inertial import (
    VERTICAL,
    axis_biases,
    axis_gains,
    inertial,
)
from gz_testauto.extras.simulator_comparison.measures.interface import (
    MEASURES,
    Measure,
    find_measure,
)
from gz_testauto.extras.simulator_comparison.recordings.read import read_recordings
from gz_testauto.extras.simulator_comparison.recordings.recording import (
    AlignedRecordings,
    RecordingsByCase,
    RunRecording,
    align_recordings,
)
from gz_testauto.extras.simulator_comparison.score import ScoreTable, compute_scores, feature_score
from gz_testauto.extras.simulator_comparison.sensitivity import (
    NONE,
    Lead,
    RankingVerdict,
    WeightChange,
    acceptability,
    lead,
    rank_reversal_weights,
    ranking_verdict,
    total_intervals,
)
from gz_testauto.extras.simulator_comparison.signals import RATE_HZ, spectrum
from gz_testauto.extras.simulator_comparison.spec import BenchSpec, EntrySpec
from gz_testauto.results.records import CampaignResults
from gz_testauto.results.store import load_campaign


@dataclass(frozen=True, eq=False)
class Ranking:
    """A ranking of the entries of a comparison. ``table`` has the scores and ``intervals`` the
    intervals of the totals (entries, 2). ``near_ranks`` and ``any_ranks`` are rank acceptabilities
    (entries, ranks), under weights within 20 % of the specified ones and under any weights. Both
    include resampled measurements."""

    table: ScoreTable
    intervals: np.ndarray
    lead: Optional[Lead]
    verdict: RankingVerdict
    near_ranks: np.ndarray
    any_ranks: np.ndarray
    reversals: Tuple[WeightChange, ...]

    @classmethod
    def of(
        cls,
        table: ScoreTable,
        measured: Optional[np.ndarray],
        seed: int,
        not_ranked: Mapping[str, str] = NONE,
    ) -> "Ranking":
        """Create a ranking from scores, and from the scores of resampled measurements (n, entries,
        criteria). ``not_ranked`` has the reasons why other entries are not in the table."""
        return cls(
            table,
            total_intervals(table, measured),
            lead(table, measured),
            ranking_verdict(table, measured, seed, not_ranked),
            acceptability(table, measured=measured, seed=seed),
            acceptability(table, None, measured, seed),
            tuple(rank_reversal_weights(table)),
        )


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Power spectral density (f,) of the vertical acceleration in (m/s²)²/Hz, at ``frequency_hz``
    (f,). It is the mean over the repetitions of one entry in one case. Frequencies are above 0 and
    within the compared band."""

    entry: str
    is_reference: bool
    frequency_hz: np.ndarray
    density: np.ndarray


@dataclass(frozen=True)
class AxisDifferences:
    """Bias and gain of an entry in one case, by axis of the IMU (6,): means over all pairs of a
    repetition of the entry and one of the reference. ``bias`` is the difference of the mean values
    (rad/s and m/s²). ``gain`` is the ratio of the standard deviations, NaN without a signal."""

    bias: Tuple[float, ...]
    gain: Tuple[float, ...]

    @classmethod
    def of(
        cls, own: Sequence[RunRecording], reference: Sequence[RunRecording]
    ) -> "AxisDifferences":
        """Return the differences between the repetitions of an entry and of the reference."""
        pairs = list(itertools.product(own, reference))
        biases = np.mean([axis_biases(*pair) for pair in pairs], axis=0)
        gains = np.mean([axis_gains(*pair) for pair in pairs], axis=0)
        return cls(tuple(biases.tolist()), tuple(np.exp(gains).tolist()))


BASELINE = "it is the baseline"
"""Reason why the baseline is not ranked, as part of a sentence."""


@dataclass(frozen=True, eq=False)
class Findings:
    """Results of a comparison of simulators. ``measured`` has the values by entry and measure,
    ``not_ranked`` the reasons why entries are not ranked, and ``spectra`` the spectra by case.
    ``published_ranking`` is the ranking by published scores; it is None unless all entries have
    published scores."""

    spec: BenchSpec
    measured: Mapping[str, Mapping[str, Measured]]
    not_ranked: Mapping[str, str]
    ranking: Ranking
    published_ranking: Optional[Ranking]
    spectra: Mapping[str, Sequence[Spectrum]]
    axes: Mapping[str, Mapping[str, AxisDifferences]]
    """Bias and gain by entry and case, for cases in which entry and reference have an IMU."""
    aligned: AlignedRecordings
    """Aligned recordings: the common duration of each case, and the common frequency band."""
    conditions: RunConditions

    @property
    def measures(self) -> List[Measure]:
        """Measures with a value for at least one entry, those with a weight first."""
        names = [name for name in self.spec.weights if name in MEASURES.names()]
        names += [name for name in next(iter(self.measured.values())) if name not in names]
        return [
            find_measure(name)
            for name in names
            if any(not own[name].missing for own in self.measured.values())
        ]

    @property
    def without_interval(self) -> List[str]:
        """Weighted measures that have no interval for a ranked entry, so that they are equal in all
        draws."""
        table = self.ranking.table
        found = []
        for name, counts, weight in zip(table.criteria, table.counted, table.weights):
            if counts and weight > 0 and name not in self.spec.features:
                of_all = [self.measured[entry][name] for entry in table.entries]
                if any(not one.estimate.has_interval and not one.ties for one in of_all):
                    found.append(name)
        return found


def evaluate_bench(
    spec: BenchSpec,
    recordings: Optional[Mapping[str, RecordingsByCase]] = None,
    conditions: RunConditions = NO_CONDITIONS,
) -> Findings:
    """Return all results of a comparison: measures, scores and ranking. ``recordings`` has the
    recordings of simulated entries by name, ``conditions`` the conditions of these simulations.
    Raises ``ResultsError`` for recordings that cannot be read or are not plausible."""
    all_recordings: Dict[str, RecordingsByCase] = dict(recordings or {})
    for entry in spec.entries:
        if entry.recording is not None:
            all_recordings[entry.name] = read_recordings(entry.recording)
    aligned = align_recordings(all_recordings)
    all_recordings = dict(aligned.entries)
    campaigns = {
        entry.name: load_campaign(entry.campaign).results
        for entry in spec.entries
        if entry.campaign is not None
    }
    measures = [find_measure(name) for name in MEASURES.names()]
    measures.sort(key=lambda measure: measure.planners is not None)
    measured = {
        entry.name: {
            measure.name: _measured(spec, measure, entry, all_recordings, campaigns)
            for measure in measures
        }
        for entry in spec.ranked
    }
    not_ranked = _not_ranked(spec, all_recordings, conditions)
    kept = {name: own for name, own in measured.items() if name not in not_ranked}
    table, drawn = _score_entries(spec, kept)
    ranking = Ranking.of(table, drawn, spec.seed, not_ranked)
    spectra = _spectra(spec, all_recordings)
    published = _rank_published_scores(spec)
    axes = _axis_differences(spec, all_recordings)
    return Findings(
        spec, measured, not_ranked, ranking, published, spectra, axes, aligned, conditions
    )


def _not_ranked(
    spec: BenchSpec, recordings: Mapping[str, RecordingsByCase], conditions: RunConditions
) -> Dict[str, str]:
    """Return the entries that are not ranked, with the reason. A simulated entry is not ranked if
    it has no valid run of a case of the reference, or if its ground differs from the terrain.
    Otherwise its missing values would remove a criterion for all entries."""
    found: Dict[str, str] = {} if spec.baseline is None else {spec.baseline: BASELINE}
    for entry in spec.ranked:
        if entry.simulator is not None and not recordings.get(entry.name):
            found.setdefault(entry.name, "it has no valid run")
    for ground in conditions.grounds:
        if ground.refusal:
            found.setdefault(ground.entry, f"its ground differs from terrain {ground.terrain}")
    wanted = [case for case in recordings.get(spec.reference or "", {}) if case in spec.cases]
    for entry in spec.ranked:
        lacking = [case for case in wanted if not recordings.get(entry.name, {}).get(case)]
        if entry.simulator is not None and lacking:
            found.setdefault(entry.name, f"it has no valid run of {', '.join(lacking)}")
    ranked = {entry.name for entry in spec.ranked}
    return {name: why for name, why in found.items() if name in ranked}


def _measured(
    spec: BenchSpec,
    measure: Measure,
    entry: EntrySpec,
    recordings: Mapping[str, RecordingsByCase],
    campaigns: Mapping[str, CampaignResults],
) -> Measured:
    name, reference = entry.name, spec.reference or ""
    if measure.name in entry.published:
        return Measured.quoted(measure, entry.published[measure.name])
    if measure.planners is not None:
        return measure_planners(measure, campaigns.get(name), campaigns.get(reference), spec.seed)
    if name not in recordings:
        return Measured.absent(measure, NOTHING)
    return measure_entry(measure, name, recordings[name], recordings.get(reference), spec.seed)


def _score_entries(
    spec: BenchSpec, measured: Mapping[str, Mapping[str, Measured]]
) -> Tuple[ScoreTable, np.ndarray]:
    """Return the scores of all ranked entries, and the scores (n, entries, criteria) of resampled
    measurements."""
    entries = [entry for entry in spec.ranked if entry.name in measured]
    names = [entry.name for entry in entries]
    points = np.full((len(names), len(spec.weights)), np.nan)
    drawn = np.full((RESAMPLES, len(names), len(spec.weights)), np.nan)
    for column, criterion in enumerate(spec.weights if names else ()):
        if criterion in spec.features:
            scores = [feature_score(entry.features, criterion) for entry in entries]
            points[:, column] = np.array(scores, dtype=float)  # None as NaN
            drawn[:, :, column] = points[:, column]
            continue
        of_all = [measured[name][criterion] for name in names]
        floor = next((one.floor for one in of_all if not math.isnan(one.floor)), 0.0)
        better = of_all[0].measure.better
        values = np.array([floor if one.ties else one.estimate.value for one in of_all])
        draws = np.stack(
            [
                np.full(RESAMPLES, value) if one.ties or one.missing else one.draws
                for one, value in zip(of_all, values)
            ],
            axis=1,
        )
        points[:, column] = compute_scores(values, better, floor)
        drawn[:, :, column] = compute_scores(draws, better, floor)
    weights = np.array(list(spec.weights.values()), dtype=float)
    return ScoreTable(tuple(names), tuple(spec.weights), weights, points), drawn


def _rank_published_scores(spec: BenchSpec) -> Optional[Ranking]:
    if not all(entry.published_scores for entry in spec.ranked):
        return None
    scores = {entry.name: dict(entry.published_scores) for entry in spec.ranked}
    return Ranking.of(ScoreTable.of(scores, spec.weights), None, spec.seed)


def _axis_differences(
    spec: BenchSpec, recordings: Mapping[str, RecordingsByCase]
) -> Dict[str, Dict[str, AxisDifferences]]:
    found: Dict[str, Dict[str, AxisDifferences]] = {}
    reference = recordings.get(spec.reference or "", {})
    for entry in spec.ranked:
        own = recordings.get(entry.name, {})
        for case in (case for case in reference if case in own):
            both = (*own[case], *reference[case])
            if own[case] and reference[case] and all(one.imu is not None for one in both):
                differences = AxisDifferences.of(own[case], reference[case])
                found.setdefault(entry.name, {})[case] = differences
    return found


def _spectra(
    spec: BenchSpec, by_entry: Mapping[str, RecordingsByCase]
) -> Dict[str, List[Spectrum]]:
    found: Dict[str, List[Spectrum]] = {}
    for name, own in by_entry.items():
        for case, recordings in own.items():
            with_imu = [one for one in recordings if one.imu is not None]
            if with_imu:
                found.setdefault(case, []).append(_spectrum(name, name == spec.reference, with_imu))
    return found


def _spectrum(name: str, is_reference: bool, recordings: Sequence[RunRecording]) -> Spectrum:
    """Return the mean spectrum of several repetitions, over their common duration."""
    samples = [inertial(one)[:, VERTICAL] for one in recordings]
    length = min(map(len, samples))
    found = [spectrum(one[:length], RATE_HZ) for one in samples]
    frequency, density = found[0][0], np.mean([one[1] for one in found], axis=0)
    in_band = (frequency > 0) & (frequency <= recordings[0].band_hz)
    return Spectrum(name, is_reference, frequency[in_band], density[in_band])
