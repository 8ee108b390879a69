"""Sentences of a report on a comparison of simulators, for terminal and page."""

import math
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple, Union

import numpy as np

from gz_testauto.analysis.intervals import LEVEL, Estimate
from gz_testauto.extras.simulator_comparison.bench.simulated import InvalidRun
from gz_testauto.extras.simulator_comparison.estimates import NOTHING, PUBLISHED, Measured
from gz_testauto.extras.simulator_comparison.findings import Findings, Ranking
from gz_testauto.extras.simulator_comparison.measures.interface import (
    MEASURES,
    Measure,
    find_measure,
)
from gz_testauto.extras.simulator_comparison.score import RULES
from gz_testauto.extras.simulator_comparison.sensitivity import DRAWS, SPREAD, SURE, WeightChange
from gz_testauto.extras.simulator_comparison.signals import RATE_HZ

MAX_REVERSALS_SHOWN = 5
NEAR = f"±{100 * SPREAD:.0f} %"
"""Relative range of the drawn weights."""


def reference_text(found: Findings) -> str:
    """Return the sentence on the reference, and so on the meaning of the numbers."""
    spec = found.spec
    if spec.reference is None:
        if _all_quoted(found):
            return (
                "No measurements: all values are quoted, and their accuracy depends on their "
                "sources."
            )
        return "No reference: the accuracy of the simulators is unknown."
    if spec.reference_is_robot:
        return f"Measured against the real robot's recordings, {spec.reference}."
    return f"Measured against {spec.reference}: this is agreement with it, not accuracy."


def _all_quoted(found: Findings) -> bool:
    present = [one for own in found.measured.values() for one in own.values() if not one.missing]
    return bool(present) and all(one.estimate.method == PUBLISHED for one in present)


def change_text(found: Findings) -> str:
    """Return whether printed scores and measurements have different winners."""
    assert found.printed is not None, "a bench with printed scores"
    if not (found.printed.verdict.ranked and found.ranking.verdict.ranked):
        return "One of the two rankings is not possible."
    firsts = [
        ranking.table.entries[ranking.table.order[0]] for ranking in (found.printed, found.ranking)
    ]
    if firsts[0] == firsts[1]:
        return f"{firsts[0]} has the greatest total in both rankings."
    return (
        f"The winner changes: by the printed scores {firsts[0]} has the greatest total, by the "
        f"measurements and rules {firsts[1]}. The printed scores do not follow from the "
        "measurements."
    )


def rankings(found: Findings) -> List[Tuple[str, Ranking]]:
    """Return each ranking with its heading."""
    if found.printed is None:
        return [("Ranking", found.ranking)]
    return [
        ("Ranking by the measurements and rules", found.ranking),
        ("Ranking by the scores that were printed", found.printed),
    ]


def without_interval_text(found: Findings, ranking: Ranking) -> str:
    """Return the sentence on measures that are the same in all draws."""
    if ranking is not found.ranking or not ranking.verdict.ranked or not found.without_interval:
        return ""
    return (
        f"Without an interval, and so the same in all draws: {', '.join(found.without_interval)}. "
        "The shares do not include their uncertainty."
    )


def lead_text(ranking: Ranking) -> str:
    """Return the sentence on the lead of the first entry and its composition."""
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
        f"{counted:g}: {parts}."
    )


def reversal_text(ranking: Ranking) -> str:
    """Return the sentence on the smallest change of one weight that changes the first rank."""
    if not ranking.verdict.ranked:
        return ""
    if not ranking.reversals:
        return "No change of a single weight changes the first rank."
    least = ranking.reversals[0]
    return (
        f"The smallest change of one weight that changes the first rank: {least.criterion} from "
        f"{least.specified:g} to {least.needed:.3f} ({relative(least)}) makes {least.winner} first."
    )


def baseline_lines(found: Findings) -> List[str]:
    """Return the entries whose distance from the reference is not below the baseline's, with the
    measures."""
    name = found.spec.baseline
    if name is None or name not in found.measured:
        return []
    baseline, lines, beaten = found.measured[name], [], []
    for entry, own in found.measured.items():
        compared = [
            one
            for one, measured in own.items()
            if measured.measure.between is not None
            and not measured.missing
            and not baseline[one].missing
        ]
        behind = [
            one
            for one in compared
            if not own[one].ties and own[one].estimate.value >= baseline[one].estimate.value
        ]
        if entry != name and behind:
            lines.append(
                f"{entry} is not closer to the reference than {name} in: {', '.join(behind)}."
            )
        elif entry != name and compared:
            beaten.append(entry)
    if beaten:
        lines.append(f"{', '.join(beaten)}: closer to the reference than {name} in all measures.")
    return lines


def relative(change: WeightChange) -> str:
    """Return the change of a weight in percent, with its sign."""
    sign, percent = "+" if change.needed > change.specified else "−", 100 * change.relative
    return f"{sign}{percent:.0f} %" if percent >= 10 else f"{sign}{percent:.2g} %"


def example_lines(found: Findings) -> List[str]:
    """Return the errors that follow from printed means and ranges, with the printed errors."""
    lines = []
    for one in found.spec.examples:
        unit = find_measure(one.measure).unit
        error = f"{one.error:.4g}"
        printed = ""
        if one.published_error is not None:
            as_printed = f"{one.published_error:.4g}"
            same = as_printed == error
            printed = ", as printed" if same else f"; {as_printed} {unit} is printed"
        lines.append(
            f"{one.description}: the printed means and ranges give {error} {unit} by equation (7)"
            f"{printed}."
        )
    return lines


def left_out_lines(found: Findings) -> List[str]:
    """Return the criteria and measures that do not count or are missing, with the reason."""
    lines = [f"{name} is not ranked: {why}." for name, why in found.not_ranked.items()]
    for name, lacking in found.ranking.table.left_out.items():
        lines.append(f"{name} does not count: not known of {', '.join(lacking)}.")
    table = found.ranking.table
    if table.left_out and found.ranking.verdict.ranked:
        bounds = (
            f"{name} {low:.2f} to {high:.2f}"
            for name, (low, high) in zip(table.entries, table.bounds)
        )
        lines.append(
            "Possible totals for any scores in the criteria that do not count: "
            f"{', '.join(bounds)}."
        )
    lines += condition_lines(found)
    why: Dict[str, List[str]] = {}
    for name in MEASURES.names():
        reasons = {own[name].missing for own in found.measured.values() if name in own}
        if reasons and "" not in reasons:
            why.setdefault("; ".join(sorted(reasons)), []).append(name)
    lines += [f"Not measured: {', '.join(names)} ({reason})." for reason, names in why.items()]
    return lines


def condition_lines(found: Findings) -> List[str]:
    """Return refused grounds and invalid runs."""
    conditions = found.conditions
    lines = [
        f"{one.entry} on {one.terrain}: {one.refusal}" for one in conditions.grounds if one.refusal
    ]
    by_case: Dict[Tuple[str, str], List[InvalidRun]] = {}
    for run in conditions.invalid:
        by_case.setdefault((run.entry, run.case), []).append(run)
    for (entry, case), runs in by_case.items():
        first, numbers = runs[0], [str(run.repetition + 1) for run in runs]
        if len(runs) == 1:
            lines.append(f"{entry}, {case}, repetition {numbers[0]} is invalid: {first.why}.")
        else:
            lines.append(
                f"{entry}, {case}, repetitions {', '.join(numbers)} are invalid; reason of the "
                "first: "
                f"{first.why}."
            )
    return lines


class FeatureText(NamedTuple):
    """The features of an entry as quoted."""

    entry: str
    where: str
    features: Mapping[str, str]


def feature_texts(found: Findings) -> List[FeatureText]:
    """Return the quoted features of each entry that has some."""
    entries = []
    for entry in found.spec.ranked:
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
            where = "; ".join(one for one in (features.source, features.date) if one)
            entries.append(FeatureText(entry.name, where or "no source specified", texts))
    return entries


def _feature_text(value: Union[bool, str, Sequence[str]]) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else ", ".join(value) or "none"


def feature_names(entries: Sequence[FeatureText]) -> List[str]:
    """Return the names of all quoted features."""
    return list(dict.fromkeys(name for one in entries for name in one.features))


def measure_title(found: Findings, measure: Measure) -> str:
    """Return name, unit, direction and weight."""
    unit = f", {measure.unit}" if measure.unit else ""
    weight = found.spec.weights.get(measure.name)
    counts = f"weight {weight:g}" if weight else "not weighted"
    return f"{measure.name}{unit} ({measure.better} is better, {counts})"


def entry_values(found: Findings, measure: Measure) -> Mapping[str, Measured]:
    """Return the values of all entries; for a measure that does not count, only of entries with a
    published or measured value."""
    counts = measure.name in found.spec.weights
    return {
        name: own[measure.name]
        for name, own in found.measured.items()
        if counts or own[measure.name].missing != NOTHING
    }


def reference_floor(found: Findings, measure: Measure) -> float:
    """Return the floor of the reference's own repetitions, NaN if there is none."""
    floors = (own[measure.name].floor for own in found.measured.values())
    return next((floor for floor in floors if not math.isnan(floor)), math.nan)


def score_text(found: Findings, entry: str, measure: Measure) -> str:
    """Return the score of the measure; empty without a weight."""
    table = found.ranking.table
    if measure.name not in table.criteria:
        return ""
    score = table.score(entry, measure.name)
    return "-" if math.isnan(score) else f"{score:.3f}"


def measured_texts(one: Measured) -> Tuple[str, str, str]:
    """Return value, interval and remark."""
    if one.missing:
        return "-", "", f"not measured: {one.missing}"
    remark = "as published" if one.estimate.method == PUBLISHED else ""
    if one.ties:
        remark = "ties with the reference"
    if one.measure.is_beyond(one.estimate.value):
        remark = one.measure.beyond
    return number(one.estimate.value), interval(one.estimate), remark


def number(value: float) -> str:
    """Return the number with four digits."""
    return "-" if math.isnan(value) else f"{value:.4g}"


def interval(estimate: Estimate) -> str:
    """Return the interval in brackets; empty if there is none."""
    if math.isnan(estimate.low):
        return ""
    return f"[{estimate.low:.4g}, {estimate.high:.4g}]"


def simulator_lines(found: Findings) -> List[Tuple[str, str]]:
    """Return each entry with its description, the reference first."""
    spec, simulators = found.spec, found.conditions.simulators
    lines = []
    for entry in sorted(spec.entries, key=lambda one: one.name != spec.reference):
        what = [simulators[entry.name]] if entry.name in simulators else []
        if entry.simulator is not None and not what:
            what.append(f"{entry.simulator}, not simulated")
        if entry.recording is not None:
            counts = [len(files) for files in entry.recording.cases.values()]
            what.append(f"recordings, {len(counts)} cases, {sum(counts)} recordings")
        if entry.published:
            what.append(f"published values: {entry.source or 'no source specified'}")
        if entry.campaign is not None:
            what.append(f"campaign {entry.campaign.name}")
        role = "reference: " if entry.name == spec.reference else ""
        lines.append((entry.name, role + ("; ".join(what) or "features only")))
    return lines


def notes(found: Findings) -> Sequence[str]:
    """Return the notes on methods and conditions."""
    methods = {
        one.estimate.method
        for own in found.measured.values()
        for one in own.values()
        if not one.missing and one.estimate.method
    }
    sentences = [_first_text(), _total_text(found)] if found.ranking.verdict.ranked else []
    for method in sorted(methods - {PUBLISHED}):
        intervals = f"Intervals, {100 * LEVEL:.0f} %: {method}."
        sentences.append(intervals if "bootstrap" in method else f"{method.capitalize()}.")
    if any(_measured_from_imu(found)):
        aligned = found.aligned
        sentences.append(
            f"Inertial samples are compared at {RATE_HZ:g} Hz, below {aligned.band_hz:g} Hz, "
            "without the delay, and with the duration of the shortest recording of each case."
        )
    sentences += found.aligned.notes
    if any(not math.isnan(one.floor) for own in found.measured.values() for one in own.values()):
        sentences.append(
            "The floor is the distance between the reference's own repetitions; values below it "
            "have "
            "the same score. An entry ties with the reference if a permutation test finds no "
            "significant difference at 5 %."
        )
    if PUBLISHED in methods:
        sentences.append("Published values have no interval and are not resampled.")
    return [one for one in (*sentences, *found.conditions.notes) if one]


def _measured_from_imu(found: Findings) -> List[bool]:
    return [
        "imu" in one.measure.needs and one.estimate.method != PUBLISHED and not one.missing
        for own in found.measured.values()
        for one in own.values()
    ]


def _first_text() -> str:
    return (
        f"First: share of {DRAWS:,} draws in which an entry has the greatest total (SMAA-2); "
        f"weights are drawn within {NEAR} of the specified ones, or any, and measurements from "
        "their "
        f"intervals. Below {100 * SURE:.0f} % there is no winner."
    )


def _total_text(found: Findings) -> str:
    if np.isnan(found.ranking.intervals).all():
        return "Totals have no interval: the uncertainty of the measurements is unknown."
    return "Intervals of totals and of the lead are at the specified weights."
