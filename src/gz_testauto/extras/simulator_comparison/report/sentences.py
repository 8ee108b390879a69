"""Sentences of the report, for the terminal and the HTML page."""

import math
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple, Union

import numpy as np

from gz_testauto.analysis.intervals import LEVEL, Estimate
from gz_testauto.extras.simulator_comparison.bench.simulated import InvalidRun
from gz_testauto.extras.simulator_comparison.estimates import NOTHING, PUBLISHED, Measured
from gz_testauto.extras.simulator_comparison.findings import AxisDifferences, Findings, Ranking
from gz_testauto.extras.simulator_comparison.measures.interface import (
    MEASURES,
    Measure,
    find_measure,
)
from gz_testauto.extras.simulator_comparison.score import RULES
from gz_testauto.extras.simulator_comparison.sensitivity import DRAWS, SPREAD, SURE, WeightChange
from gz_testauto.extras.simulator_comparison.signals import RATE_HZ

AXES_TITLE = "Bias and gain by axis, mean over the cases"
MAX_REVERSALS_SHOWN = 5
NEAR = f"±{100 * SPREAD:.0f} %"


def reference_text(findings: Findings) -> str:
    spec = findings.spec
    if spec.reference is not None:
        if spec.reference_is_robot:
            return f"All measures compare an entry with recordings of the robot {spec.reference}."
        return (
            f"All measures compare an entry with the reference {spec.reference}. They state "
            "agreement with it, not accuracy."
        )
    if _present_values(findings) and all(
        m.estimate.method == PUBLISHED for m in _present_values(findings)
    ):
        return "All values are quoted from publications; nothing was measured."
    return "The comparison has no reference, so the accuracy of the simulators is unknown."


def _present_values(findings: Findings) -> List[Measured]:
    return [m for values in findings.measured.values() for m in values.values() if not m.missing]


def change_text(findings: Findings) -> str:
    published, measured = findings.published_ranking, findings.ranking
    assert published is not None, "a bench with published scores"
    if not (published.verdict.ranked and measured.verdict.ranked):
        return "The two rankings cannot be compared, because one of them is empty."
    first, second = (r.table.entries[r.table.order[0]] for r in (published, measured))
    if first == second:
        return f"{first} has the greatest total in both rankings."
    return (
        f"The winner changes: by the published scores {first} has the greatest total, by the "
        f"measurements and rules {second}. The published scores do not follow from the "
        "measurements."
    )


def rankings(findings: Findings) -> List[Tuple[str, Ranking]]:
    if findings.published_ranking is None:
        return [("Ranking", findings.ranking)]
    return [
        ("Ranking by the measurements and rules", findings.ranking),
        ("Ranking by the published scores", findings.published_ranking),
    ]


def without_interval_text(findings: Findings, ranking: Ranking) -> str:
    if (
        ranking is not findings.ranking
        or not ranking.verdict.ranked
        or not findings.without_interval
    ):
        return ""
    return (
        "Measures without an interval are equal in all draws: "
        f"{', '.join(findings.without_interval)}."
        " The shares of draws do not include the uncertainty of these measures."
    )


def delay_text(findings: Findings, ranking: Ranking) -> str:
    """Return a sentence with the significant delays to the reference, or "" without delays. It is
    also empty if delays have a weight, and for the ranking by published scores."""
    delays = {
        name: values["delay"] for name, values in findings.measured.items() if "delay" in values
    }
    texts = [
        f"{name} {number(delay.estimate.value)} s"
        for name, delay in delays.items()
        if not (delay.missing or delay.ties)
    ]
    if not texts or ranking is not findings.ranking or findings.spec.weights.get("delay"):
        return ""
    return (
        "Delays to the reference, late or early, have no weight of their own in this ranking, and "
        f"are removed before inertial measurements are compared: {', '.join(texts)}."
    )


def lead_text(ranking: Ranking) -> str:
    lead = ranking.lead
    if lead is None:
        return ""
    if not lead.parts:
        return f"{lead.first} and {lead.second} have equal scores in all criteria that count."
    counted = float(ranking.table.weights[ranking.table.counted].sum())
    within = interval(Estimate(lead.value, lead.low, lead.high, ""))
    parts = ", ".join(f"{name} {part:+.3f}".replace("-", "−") for name, part in lead.parts)
    return (
        f"{lead.first} leads {lead.second} by {lead.value:.3f}{' ' if within else ''}{within} of "
        f"{counted:g} points: {parts}."
    )


def reversal_text(ranking: Ranking) -> str:
    """Return a sentence on the smallest change of a weight that changes the first rank, or ""
    without a ranking."""
    if not ranking.verdict.ranked:
        return ""
    if not ranking.reversals:
        return "No change of a single weight changes the first rank."
    least = ranking.reversals[0]
    return (
        f"If the weight of {least.criterion} changes from {least.specified:g} to "
        f"{least.needed:.3f} ({relative(least)}), {least.winner} is first. No smaller change of a "
        "single weight changes the first rank."
    )


def baseline_lines(findings: Findings) -> List[str]:
    name = findings.spec.baseline
    if name is None or name not in findings.measured:
        return []
    baseline, lines, closer = findings.measured[name], [], []
    for entry, values in findings.measured.items():
        compared = [
            m
            for m, measured in values.items()
            if measured.measure.between is not None
            and not measured.missing
            and not baseline[m].missing
        ]
        behind = [
            m
            for m in compared
            if not values[m].ties and values[m].estimate.value >= baseline[m].estimate.value
        ]
        if entry != name and behind:
            lines.append(
                f"{entry} is not closer to the reference than the baseline {name} in these "
                f"measures: {', '.join(behind)}."
            )
        elif entry != name and compared:
            closer.append(entry)
    if closer:
        lines.append(
            f"Closer to the reference than the baseline {name} in all measures: "
            f"{', '.join(closer)}."
        )
    return lines


def relative(change: WeightChange) -> str:
    sign, percent = "+" if change.needed > change.specified else "−", 100 * change.relative
    return f"{sign}{percent:.0f} %" if percent >= 10 else f"{sign}{percent:.2g} %"


def example_lines(findings: Findings) -> List[str]:
    lines = []
    for example in findings.spec.examples:
        unit = find_measure(example.measure).unit
        error, published = f"{example.error:.4g}", ""
        if example.published_error is not None:
            value = f"{example.published_error:.4g}"
            published = (
                f"; the published value is {'equal' if value == error else f'{value} {unit}'}"
            )
        lines.append(
            f"{example.description}: by equation (7) the published means and ranges give "
            f"{error} {unit}{published}."
        )
    return lines


def left_out_lines(findings: Findings) -> List[str]:
    """Return sentences on entries, criteria, runs and measures that do not count, with reasons."""
    lines = [f"{name} is not ranked: {reason}." for name, reason in findings.not_ranked.items()]
    table = findings.ranking.table
    for name, lacking in table.left_out.items():
        lines.append(f"{name} does not count, because it is unknown for {', '.join(lacking)}.")
    if table.left_out and findings.ranking.verdict.ranked:
        bounds = (
            f"{name} {low:.2f} to {high:.2f}"
            for name, (low, high) in zip(table.entries, table.bounds)
        )
        lines.append(
            "Possible totals with any scores in the criteria that do not count: "
            f"{', '.join(bounds)}."
        )
    lines += condition_lines(findings)
    by_reason: Dict[str, List[str]] = {}
    for name in MEASURES.names():
        reasons = {values[name].missing for values in findings.measured.values() if name in values}
        if reasons and "" not in reasons:
            by_reason.setdefault("; ".join(sorted(reasons)), []).append(name)
    lines += [f"Not measured: {', '.join(names)} ({why})." for why, names in by_reason.items()]
    return lines


def condition_lines(findings: Findings) -> List[str]:
    conditions = findings.conditions
    lines = [
        f"{ground.entry} on {ground.terrain}: {ground.refusal}"
        for ground in conditions.grounds
        if ground.refusal
    ]
    by_case: Dict[Tuple[str, str], List[InvalidRun]] = {}
    for run in conditions.invalid:
        by_case.setdefault((run.entry, run.case), []).append(run)
    for (entry, case), runs in by_case.items():
        numbers, reason = ", ".join(str(run.repetition + 1) for run in runs), runs[0].reason
        if len(runs) == 1:
            lines.append(f"{entry}, {case}, repetition {numbers} is invalid: {reason}.")
        else:
            lines.append(
                f"{entry}, {case}, repetitions {numbers} are invalid; reason of the first: "
                f"{reason}."
            )
    return lines


class FeatureText(NamedTuple):
    entry: str
    source: str
    features: Mapping[str, str]


def feature_texts(findings: Findings) -> List[FeatureText]:
    entries = []
    for entry in findings.spec.ranked:
        features = entry.features
        texts = {
            name: _feature_text(getattr(features, name))
            for name in RULES
            if getattr(features, name) is not None
        }
        if features.formats_by_plugin and "formats" in texts:
            texts["formats"] += f"; by plugin {', '.join(features.formats_by_plugin)}"
        texts.update({name: f"{score:g}" for name, score in features.additional.items()})
        if texts:
            source = "; ".join(text for text in (features.source, features.date) if text)
            entries.append(FeatureText(entry.name, source or "no source specified", texts))
    return entries


def _feature_text(value: Union[bool, str, Sequence[str]]) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else ", ".join(value) or "none"


def feature_names(entries: Sequence[FeatureText]) -> List[str]:
    return list(dict.fromkeys(name for quoted in entries for name in quoted.features))


def measure_title(findings: Findings, measure: Measure) -> str:
    unit = f", {measure.unit}" if measure.unit else ""
    weight = findings.spec.weights.get(measure.name)
    counts = f"weight {weight:g}" if weight else "not weighted"
    return f"{measure.name}{unit} ({measure.better} is better, {counts})"


def entry_values(findings: Findings, measure: Measure) -> Mapping[str, Measured]:
    """Return the values of a measure by entry. If the measure has no weight, entries without a
    published or measured value are omitted."""
    counts = measure.name in findings.spec.weights
    return {
        name: values[measure.name]
        for name, values in findings.measured.items()
        if counts or values[measure.name].missing != NOTHING
    }


def reference_floor(findings: Findings, measure: Measure) -> float:
    floors = (values[measure.name].floor for values in findings.measured.values())
    return next((floor for floor in floors if not math.isnan(floor)), math.nan)


def score_text(findings: Findings, entry: str, measure: Measure) -> str:
    table = findings.ranking.table
    if measure.name not in table.criteria:
        return ""
    score = table.score(entry, measure.name)
    return "-" if math.isnan(score) else f"{score:.3f}"


def measured_texts(measured: Measured) -> Tuple[str, str, str]:
    """Return a value, its interval and a remark, such as a tie with the reference."""
    if measured.missing:
        return "-", "", f"not measured: {measured.missing}"
    remark = "as published" if measured.estimate.method == PUBLISHED else ""
    if measured.ties:
        remark = "ties with the reference"
    if measured.measure.is_beyond(measured.estimate.value):
        remark = measured.measure.beyond
    remarks = [remark] if remark else []
    remarks += [f"{case}: {text}" for case, text in measured.incomplete.items()]
    remarks += [f"{case} does not count: {why}" for case, why in measured.undetermined.items()]
    return number(measured.estimate.value), interval(measured.estimate), "; ".join(remarks)


def number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"


def axis_rows(findings: Findings) -> List[Tuple[str, str, List[str]]]:
    """Return two rows for each entry: its name, ``bias`` or ``gain``, and a text for each axis."""
    return [
        (name, quantity, texts)
        for name, of_cases in findings.axes.items()
        for quantity, texts in axis_texts(list(of_cases.values()))
    ]


def axis_texts(differences: Sequence[AxisDifferences]) -> List[Tuple[str, List[str]]]:
    """Return ``bias`` and ``gain``, each with a text for each axis of the IMU. The bias is the mean
    over all cases, the gain the geometric mean over the cases with a signal."""
    biases = np.mean([d.bias for d in differences], axis=0).tolist()
    gains = np.array([d.gain for d in differences])
    known = [column[~np.isnan(column)] for column in gains.T]
    means = [float(np.exp(np.log(values).mean())) if len(values) else math.nan for values in known]
    return [
        ("bias", [f"{bias:+.3g}" for bias in biases]),
        ("gain", ["-" if math.isnan(mean) else f"{mean:.3g}" for mean in means]),
    ]


def interval(estimate: Estimate) -> str:
    if math.isnan(estimate.low):
        return ""
    return f"[{estimate.low:.4g}, {estimate.high:.4g}]"


def simulator_lines(findings: Findings) -> List[Tuple[str, str]]:
    spec, simulators = findings.spec, findings.conditions.simulators
    lines = []
    for entry in sorted(spec.entries, key=lambda entry: entry.name != spec.reference):
        parts = [simulators[entry.name]] if entry.name in simulators else []
        if entry.simulator is not None and not parts:
            parts.append(f"{entry.simulator}, not simulated")
        if entry.recording is not None:
            counts = [len(files) for files in entry.recording.cases.values()]
            parts.append(f"{sum(counts)} recordings of {len(counts)} cases")
        if entry.published:
            parts.append(f"published values: {entry.source or 'no source specified'}")
        if entry.campaign is not None:
            parts.append(f"campaign {entry.campaign.name}")
        role = "reference: " if entry.name == spec.reference else ""
        lines.append((entry.name, role + ("; ".join(parts) or "features only")))
    return lines


def notes(findings: Findings) -> Sequence[str]:
    present = _present_values(findings)
    methods = {m.estimate.method for m in present if m.estimate.method}
    sentences = []
    if findings.ranking.verdict.ranked:
        sentences.append(
            f"The columns 'first' have the share of {DRAWS:,} draws in which an entry has the "
            f"greatest total (SMAA-2). Weights are drawn within {NEAR} of the specified ones, or "
            "without limits, and measurements from their intervals. The winner must be first in at "
            f"least {100 * SURE:.0f} % of the draws."
        )
        sentences.append(
            "Totals have no interval, because the uncertainty of the measurements is unknown."
            if np.isnan(findings.ranking.intervals).all()
            else "Intervals of totals and of the lead are computed with the specified weights."
        )
    for method in sorted(methods - {PUBLISHED}):
        intervals = f"Method of the {100 * LEVEL:.0f} % intervals: {method}."
        sentences.append(intervals if "over repetitions" in method else f"{method.capitalize()}.")
    if any("imu" in m.measure.needs and m.estimate.method != PUBLISHED for m in present):
        sentences.append(
            f"Inertial samples are resampled at {RATE_HZ:g} Hz and low-pass filtered at "
            f"{findings.aligned.band_hz:g} Hz. Delays are removed, and each case has the duration "
            "of its shortest recording."
        )
    sentences += findings.aligned.notes
    if any(
        not math.isnan(m.floor) for values in findings.measured.values() for m in values.values()
    ):
        sentences.append(
            "The floor of a measure is the mean distance between the repetitions of the reference. "
            "Values below the floor have the same score. An entry ties with the reference if a "
            "permutation test finds no significant difference at 5 %."
        )
    if PUBLISHED in methods:
        sentences.append("Published values have no interval and are not resampled.")
    return [*sentences, *findings.conditions.notes]
