"""What a report of a comparison of simulators says in words, on a terminal and on a page alike."""

import math
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

from gz_testauto.analysis.intervals import LEVEL, Estimate
from gz_testauto.extras.simulator_comparison.estimates import NOTHING, PUBLISHED, Measured
from gz_testauto.extras.simulator_comparison.features import quoted_features
from gz_testauto.extras.simulator_comparison.findings import Findings, Ranking
from gz_testauto.extras.simulator_comparison.measures.interface import (
    MEASURES,
    Measure,
    find_measure,
)
from gz_testauto.extras.simulator_comparison.run_conditions import InvalidRun
from gz_testauto.extras.simulator_comparison.sensitivity import DRAWS, SPREAD, SURE, WeightChange
from gz_testauto.extras.simulator_comparison.signals import RATE_HZ

MAX_REVERSALS_SHOWN = 5
NEAR = f"±{100 * SPREAD:.0f} %"
"""How far drawn weights are from the given ones."""


def reference_text(found: Findings) -> str:
    """What the others are measured against, and so what the numbers can say."""
    spec = found.spec
    if spec.reference is None:
        if _all_quoted(found):
            return (
                "Nothing was measured here: values are quoted, and how true a simulator is rests "
                "on who published them."
            )
        return "Without a reference: nothing here says how true a simulator is."
    if spec.reference_is_robot:
        return f"Measured against the real robot's recordings, {spec.reference}."
    return f"Measured against {spec.reference}: this is agreement with it, not accuracy."


def _all_quoted(found: Findings) -> bool:
    told = [one for own in found.measured.values() for one in own.values() if not one.missing]
    return bool(told) and all(one.estimate.method == PUBLISHED for one in told)


def change_text(found: Findings) -> str:
    """Whether the scores that were printed have another first one than the measurements."""
    assert found.printed is not None, "asked where there are printed scores"
    if not (found.printed.verdict.ranked and found.ranking.verdict.ranked):
        return "By one of the two there is nothing to rank."
    firsts = [
        ranking.table.entries[ranking.table.order[0]] for ranking in (found.printed, found.ranking)
    ]
    if firsts[0] == firsts[1]:
        return f"By either, {firsts[0]} has the greatest total."
    return (
        f"The winner changes: by the printed scores {firsts[0]} has the greatest total, by the "
        f"measurements and rules {firsts[1]}. The printed scores do not follow from the "
        "measurements."
    )


def rankings(found: Findings) -> List[Tuple[str, Ranking]]:
    """Each ranking with its heading."""
    if found.printed is None:
        return [("Ranking", found.ranking)]
    return [
        ("Ranking by the measurements and rules", found.ranking),
        ("Ranking by the scores that were printed", found.printed),
    ]


def without_interval_text(found: Findings, ranking: Ranking) -> str:
    """Which measurements the shares of draws take for sure."""
    if ranking is not found.ranking or not ranking.verdict.ranked or not found.without_interval:
        return ""
    return (
        f"Without an interval, and so the same in all draws: {', '.join(found.without_interval)}. "
        "How sure these are, no share says."
    )


def lead_text(ranking: Ranking) -> str:
    """By how much the first one leads, and what of it comes from where."""
    lead = ranking.lead
    if lead is None:
        return ""
    if not lead.parts:
        return f"{lead.first} and {lead.second} score alike in everything that counts."
    counted = float(ranking.table.weights[ranking.table.counted].sum())
    within = interval(Estimate(lead.value, lead.low, lead.high, ""))
    parts = ", ".join(f"{name} {part:+.3f}".replace("-", "−") for name, part in lead.parts)
    return (
        f"{lead.first} leads {lead.second} by {lead.value:.3f}{' ' if within else ''}{within} of "
        f"{counted:g}: {parts}."
    )


def reversal_text(ranking: Ranking) -> str:
    """The smallest change of one weight that changes who is first."""
    if not ranking.verdict.ranked:
        return ""
    if not ranking.reversals:
        return "No change of one weight alone makes another one first."
    least = ranking.reversals[0]
    return (
        f"The smallest change of one weight that changes who is first: {least.criterion} from "
        f"{least.given:g} to {least.needed:.3f} ({relative(least)}) makes {least.winner} first."
    )


def baseline_lines(found: Findings) -> List[str]:
    """Whose distance from the reference is not below the baseline's, and in what."""
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
            lines.append(f"{entry} is no nearer than {name} in: {', '.join(behind)}.")
        elif entry != name and compared:
            beaten.append(entry)
    if beaten:
        lines.append(f"{', '.join(beaten)}: nearer than {name} in all that was measured.")
    return lines


def relative(change: WeightChange) -> str:
    """The change of a weight in percent, with its sign."""
    sign, percent = "+" if change.needed > change.given else "−", 100 * change.relative
    return f"{sign}{percent:.0f} %" if percent >= 10 else f"{sign}{percent:.2g} %"


def example_lines(found: Findings) -> List[str]:
    """What follows from printed means and ranges, beside what was printed."""
    lines = []
    for one in found.spec.examples:
        unit = find_measure(one.measure).unit
        error = f"{one.error:.4g}"
        printed = ""
        if one.printed is not None:
            as_printed = f"{one.printed:.4g}"
            same = as_printed == error
            printed = ", as printed" if same else f"; {as_printed} {unit} is printed"
        lines.append(
            f"{one.description}: the printed means and ranges give {error} {unit} by equation (7)"
            f"{printed}."
        )
    return lines


def left_out_lines(found: Findings) -> List[str]:
    """What does not count, or could not be measured, and why."""
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
            f"Totals, whatever would be scored in what does not count: {', '.join(bounds)}."
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
    """Grounds that are not as they should be, and drives that say nothing."""
    told = found.conditions
    lines = [f"{one.entry} on {one.terrain}: {one.refusal}" for one in told.grounds if one.refusal]
    by_case: Dict[Tuple[str, str], List[InvalidRun]] = {}
    for drive in told.invalid:
        by_case.setdefault((drive.entry, drive.case), []).append(drive)
    for (entry, case), drives in by_case.items():
        first, numbers = drives[0], [str(drive.repetition + 1) for drive in drives]
        if len(drives) == 1:
            lines.append(f"{entry}, {case}, repetition {numbers[0]} is invalid: {first.why}.")
        else:
            lines.append(
                f"{entry}, {case}, repetitions {', '.join(numbers)} are invalid; the first: "
                f"{first.why}."
            )
    return lines


class FeatureText(NamedTuple):
    """The features of an entry as quoted, with what each scores."""

    entry: str
    where: str
    features: Mapping[str, str]


def feature_texts(found: Findings) -> List[FeatureText]:
    """Of each entry of which something is said."""
    entries = []
    for entry in found.spec.ranked:
        said = quoted_features(entry.features)
        if said:
            date = entry.features.date
            where = "; ".join(one for one in (entry.features.source, date) if one)
            texts = {
                name: value if isinstance(value, str) else ", ".join(value) or "none"
                for name, value in said.items()
            }
            by_plugin = entry.features.formats_by_plugin
            if by_plugin and "formats" in texts:
                texts["formats"] += f"; by plugin {', '.join(by_plugin)}"
            entries.append(FeatureText(entry.name, where or "no source given", texts))
    return entries


def feature_names(said: Sequence[FeatureText]) -> List[str]:
    """All that is said of any."""
    return list(dict.fromkeys(name for one in said for name in one.features))


def measure_title(found: Findings, measure: Measure) -> str:
    """Name, unit, direction, weight."""
    unit = f", {measure.unit}" if measure.unit else ""
    weight = found.spec.weights.get(measure.name)
    counts = f"weight {weight:g}" if weight else "not weighted"
    return f"{measure.name}{unit} ({measure.better} is better, {counts})"


def of_entries(found: Findings, measure: Measure) -> Mapping[str, Measured]:
    """What was measured of each entry; of a measure that does not count, without those of which
    nobody published anything."""
    counts = measure.name in found.spec.weights
    return {
        name: own[measure.name]
        for name, own in found.measured.items()
        if counts or own[measure.name].missing != NOTHING
    }


def floor_of(found: Findings, measure: Measure) -> float:
    """Of the reference's own repetitions, NaN where there is none."""
    floors = (own[measure.name].floor for own in found.measured.values())
    return next((floor for floor in floors if not math.isnan(floor)), math.nan)


def score_text(found: Findings, entry: str, measure: Measure) -> str:
    """What the measure scores; nothing where it has no weight."""
    table = found.ranking.table
    if measure.name not in table.criteria:
        return ""
    if entry not in table.entries:
        return "-"
    score = table.scores[table.entries.index(entry), table.criteria.index(measure.name)]
    return "-" if math.isnan(score) else f"{score:.3f}"


def measured_texts(one: Measured) -> Tuple[str, str, str]:
    """Value, interval, and what is to be said of it."""
    if one.missing:
        return "-", "", f"not measured: {one.missing}"
    said = "as published" if one.estimate.method == PUBLISHED else ""
    if one.ties:
        said = "ties with the reference"
    if one.measure.is_beyond(one.estimate.value):
        said = one.measure.beyond
    return number(one.estimate.value), interval(one.estimate), said


def number(value: float) -> str:
    """Four digits."""
    return "-" if math.isnan(value) else f"{value:.4g}"


def interval(estimate: Estimate) -> str:
    """In brackets; nothing where there is none."""
    if math.isnan(estimate.low):
        return ""
    return f"[{estimate.low:.4g}, {estimate.high:.4g}]"


def simulator_lines(found: Findings) -> List[Tuple[str, str]]:
    """Each entry, the reference first, with what it is."""
    spec, told = found.spec, found.conditions.simulators
    lines = []
    for entry in sorted(spec.entries, key=lambda one: one.name != spec.reference):
        what = [told[entry.name]] if entry.name in told else []
        if entry.simulator is not None and not what:
            what.append(f"{entry.simulator}, not driven")
        if entry.recording is not None:
            counts = [len(files) for files in entry.recording.drives.values()]
            what.append(f"recordings, {len(counts)} cases, {sum(counts)} drives")
        if entry.published:
            what.append(f"published values: {entry.source or 'no source given'}")
        if entry.campaign is not None:
            what.append(f"campaign {entry.campaign.name}")
        role = "reference: " if entry.name == spec.reference else ""
        lines.append((entry.name, role + ("; ".join(what) or "features only")))
    return lines


def notes(found: Findings) -> Sequence[str]:
    """What a reader must know beside."""
    methods = {
        one.estimate.method
        for own in found.measured.values()
        for one in own.values()
        if not one.missing and one.estimate.method
    }
    told = [_first_text(), _total_text(found)] if found.ranking.verdict.ranked else []
    for method in sorted(methods - {PUBLISHED}):
        said = f"Intervals, {100 * LEVEL:.0f} %: {method}."
        told.append(said if "bootstrap" in method else f"{method.capitalize()}.")
    if any(_measured_from_imu(found)):
        aligned = found.aligned
        told.append(
            f"Inertial samples are compared at {RATE_HZ:g} Hz, below {aligned.band_hz:g} Hz, after "
            "the delay is taken out, each case as long as its shortest recording."
        )
    told += found.aligned.notes
    if any(not math.isnan(one.floor) for own in found.measured.values() for one in own.values()):
        told.append(
            "The floor is how far the reference's own repetitions are apart: what is below scores "
            "as it does. An entry ties with the reference where a permutation test at 5 % does not "
            "tell their repetitions apart."
        )
    if PUBLISHED in methods:
        told.append("Published values have no interval and are taken as they are.")
    return [one for one in (*told, *found.conditions.notes) if one]


def _measured_from_imu(found: Findings) -> List[bool]:
    return [
        "imu" in one.measure.needs and one.estimate.method != PUBLISHED and not one.missing
        for own in found.measured.values()
        for one in own.values()
    ]


def _first_text() -> str:
    return (
        f"First: share of {DRAWS:,} draws in which an entry has the greatest total (SMAA-2); "
        f"weights are drawn within {NEAR} of the given ones, or any, and measurements as their "
        f"intervals have them. Below {100 * SURE:.0f} % there is no winner."
    )


def _total_text(found: Findings) -> str:
    if np.isnan(found.ranking.intervals).all():
        return "Totals have no interval: nothing says how sure the measurements are."
    return "Intervals of totals and of the lead are at the given weights."
