"""Results of a comparison of simulators: measures, scores, ranking and their uncertainty."""

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
    """A ranking of entries with the intervals of their totals (entries, 2).

    ``near_ranks`` (entries, ranks) are the shares of draws in which an entry has a rank, with
    weights within 20 % of the specified ones. ``any_ranks`` are those with any weights.
    """

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
        """Rank the scores in ``table``. ``measured`` (n, entries, criteria) are the scores of
        resampled measurements, or None without measurements."""
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
    """Mean power spectral density (f,) of the vertical acceleration of an entry in one case, in
    (m/s²)²/Hz, within the compared band."""

    entry: str
    is_reference: bool
    frequency_hz: np.ndarray
    density: np.ndarray


@dataclass(frozen=True)
class AxisDifferences:
    """Differences between an entry and the reference in one case, by axis of the IMU (6,).

    ``bias`` is the difference of the mean values (rad/s and m/s²), ``gain`` the ratio of the
    standard deviations, NaN without a signal. Both are means over all pairs of repetitions.
    """

    bias: Tuple[float, ...]
    gain: Tuple[float, ...]

    @classmethod
    def of(
        cls, recordings: Sequence[RunRecording], reference: Sequence[RunRecording]
    ) -> "AxisDifferences":
        pairs = list(itertools.product(recordings, reference))
        biases = np.mean([axis_biases(*pair) for pair in pairs], axis=0)
        gains = np.mean([axis_gains(*pair) for pair in pairs], axis=0)
        return cls(tuple(biases.tolist()), tuple(np.exp(gains).tolist()))


BASELINE = "it is the baseline"


@dataclass(frozen=True, eq=False)
class Findings:
    """Results of a comparison: values by entry and measure, spectra by case, and differences by
    entry and case.

    ``published_ranking`` is None unless all entries have published scores.
    """

    spec: BenchSpec
    measured: Mapping[str, Mapping[str, Measured]]
    not_ranked: Mapping[str, str]
    ranking: Ranking
    published_ranking: Optional[Ranking]
    spectra: Mapping[str, Sequence[Spectrum]]
    axes: Mapping[str, Mapping[str, AxisDifferences]]
    aligned: AlignedRecordings
    conditions: RunConditions

    @property
    def measures(self) -> List[Measure]:
        """Measures with a value for any entry, those with a weight first."""
        names = [name for name in self.spec.weights if name in MEASURES.names()]
        names += [name for name in next(iter(self.measured.values())) if name not in names]
        return [
            find_measure(name)
            for name in names
            if any(not values[name].missing for values in self.measured.values())
        ]

    @property
    def without_interval(self) -> List[str]:
        """Names of weighted measures for which the value of a ranked entry has no interval and is
        no tie."""
        table = self.ranking.table
        names = []
        for name, counts, weight in zip(table.criteria, table.counted, table.weights):
            if counts and weight > 0 and name not in self.spec.features:
                of_all = [self.measured[entry][name] for entry in table.entries]
                if any(not value.estimate.has_interval and not value.ties for value in of_all):
                    names.append(name)
        return names


def evaluate_bench(
    spec: BenchSpec,
    recordings: Optional[Mapping[str, RecordingsByCase]] = None,
    conditions: RunConditions = NO_CONDITIONS,
) -> Findings:
    """Return the measures, scores and ranking of a comparison. ``recordings`` are those of
    simulated entries. Other recordings and campaigns are read from files."""
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
            measure.name: _measured_or_published(spec, measure, entry, all_recordings, campaigns)
            for measure in measures
        }
        for entry in spec.ranked
    }
    not_ranked = _reasons_not_ranked(spec, all_recordings, conditions)
    ranked = {name: values for name, values in measured.items() if name not in not_ranked}
    table, resampled = _score_entries(spec, ranked)
    ranking = Ranking.of(table, resampled, spec.seed, not_ranked)
    spectra = _spectra_by_case(spec, all_recordings)
    published = _rank_published_scores(spec)
    axes = _axis_differences(spec, all_recordings)
    return Findings(
        spec, measured, not_ranked, ranking, published, spectra, axes, aligned, conditions
    )


def _reasons_not_ranked(
    spec: BenchSpec, recordings: Mapping[str, RecordingsByCase], conditions: RunConditions
) -> Dict[str, str]:
    # missing values of these entries would remove a criterion for all entries
    reasons: Dict[str, str] = {} if spec.baseline is None else {spec.baseline: BASELINE}
    for entry in spec.ranked:
        if entry.simulator is not None and not recordings.get(entry.name):
            reasons.setdefault(entry.name, "it has no valid run")
    for ground in conditions.grounds:
        if ground.refusal:
            reasons.setdefault(ground.entry, f"its ground differs from terrain {ground.terrain}")
    required_cases = [
        case for case in recordings.get(spec.reference or "", {}) if case in spec.cases
    ]
    for entry in spec.ranked:
        missing_cases = [
            case for case in required_cases if not recordings.get(entry.name, {}).get(case)
        ]
        if entry.simulator is not None and missing_cases:
            reasons.setdefault(entry.name, f"it has no valid run of {', '.join(missing_cases)}")
    ranked = {entry.name for entry in spec.ranked}
    return {name: reason for name, reason in reasons.items() if name in ranked}


def _measured_or_published(
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
    """Return the scores, and those of resampled measurements (n, entries, criteria)."""
    entries = [entry for entry in spec.ranked if entry.name in measured]
    names = [entry.name for entry in entries]
    points = np.full((len(names), len(spec.weights)), np.nan)
    resampled = np.full((RESAMPLES, len(names), len(spec.weights)), np.nan)
    for column, criterion in enumerate(spec.weights if names else ()):
        if criterion in spec.features:
            scores = [feature_score(entry.features, criterion) for entry in entries]
            points[:, column] = np.array(scores, dtype=float)  # None as NaN
            resampled[:, :, column] = points[:, column]
            continue
        measurements = [measured[name][criterion] for name in names]
        floor = next((m.floor for m in measurements if not math.isnan(m.floor)), 0.0)
        better = measurements[0].measure.better
        values = np.array([floor if m.ties else m.estimate.value for m in measurements])
        draws = np.stack(
            [
                np.full(RESAMPLES, value) if m.ties or m.missing else m.draws
                for m, value in zip(measurements, values)
            ],
            axis=1,
        )
        points[:, column] = compute_scores(values, better, floor)
        resampled[:, :, column] = compute_scores(draws, better, floor)
    weights = np.array(list(spec.weights.values()), dtype=float)
    return ScoreTable(tuple(names), tuple(spec.weights), weights, points), resampled


def _rank_published_scores(spec: BenchSpec) -> Optional[Ranking]:
    if not all(entry.published_scores for entry in spec.ranked):
        return None
    scores = {entry.name: dict(entry.published_scores) for entry in spec.ranked}
    return Ranking.of(ScoreTable.of(scores, spec.weights), None, spec.seed)


def _axis_differences(
    spec: BenchSpec, recordings: Mapping[str, RecordingsByCase]
) -> Dict[str, Dict[str, AxisDifferences]]:
    by_entry: Dict[str, Dict[str, AxisDifferences]] = {}
    reference = recordings.get(spec.reference or "", {})
    for entry in spec.ranked:
        runs = recordings.get(entry.name, {})
        for case in (case for case in reference if case in runs):
            compared = (*runs[case], *reference[case])
            if runs[case] and reference[case] and all(run.imu is not None for run in compared):
                differences = AxisDifferences.of(runs[case], reference[case])
                by_entry.setdefault(entry.name, {})[case] = differences
    return by_entry


def _spectra_by_case(
    spec: BenchSpec, by_entry: Mapping[str, RecordingsByCase]
) -> Dict[str, List[Spectrum]]:
    by_case: Dict[str, List[Spectrum]] = {}
    for name, cases in by_entry.items():
        for case, recordings in cases.items():
            with_imu = [run for run in recordings if run.imu is not None]
            if with_imu:
                by_case.setdefault(case, []).append(
                    _mean_spectrum(name, name == spec.reference, with_imu)
                )
    return by_case


def _mean_spectrum(name: str, is_reference: bool, recordings: Sequence[RunRecording]) -> Spectrum:
    samples = [inertial(run)[:, VERTICAL] for run in recordings]
    length = min(map(len, samples))
    spectra = [spectrum(values[:length], RATE_HZ) for values in samples]
    frequency, density = spectra[0][0], np.mean([s[1] for s in spectra], axis=0)
    in_band = (frequency > 0) & (frequency <= recordings[0].band_hz)
    return Spectrum(name, is_reference, frequency[in_band], density[in_band])
