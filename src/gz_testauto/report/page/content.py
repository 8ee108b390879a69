"""Create the texts and tables of the page for the template, which escapes them."""

import shlex
from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from gz_testauto.analysis.comparison import ALPHA, holm
from gz_testauto.analysis.overview import Analysis
from gz_testauto.analysis.success_curve import SuccessCurve
from gz_testauto.analysis.summary import failures
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.names import directed_heading
from gz_testauto.report.notes import invalid_notes, success_note, worker_deaths_notes
from gz_testauto.report.page.difficulty import Figure, Values
from gz_testauto.report.plain import count_text, joined, methods_text, number_text, p_text
from gz_testauto.report.rows import (
    Notation,
    mean_of,
    measured_metrics,
    metric_differences,
    smallest_text,
    success_rows,
)
from gz_testauto.report.verdicts import advantage, metric_verdicts, success_verdict, undecided
from gz_testauto.results.inputs import SELECTED_LIDAR
from gz_testauto.results.judged_corpus import JudgedCorpusFile
from gz_testauto.results.manifest import BITS, Manifest
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.trial.outcome import Outcome

_NOTATION = Notation(no_interval="–", interval_form="{} to {}")

# the second planners of all pairs with the same verdict, by the first planner
Others = Dict[str, List[str]]

WORLDS_NAMED = 12


def heading(results: CampaignResults) -> str:
    done_count = sum(record.outcome.valid for record in results.trials)
    text = (
        f"{count_text(len(results.planners), 'planner')}, "
        f"{count_text(len(results.worlds), 'world')}, "
        f"{count_text(done_count, 'valid trial')} of {results.planned} planned"
    )
    return text + ("." if done_count >= results.planned else "; the campaign is not complete.")


def ranking(analysis: Analysis) -> str:
    """Return the sentences at the top of the page. They list the planners by success rate, and then
    the decided and undecided pairs. The text is empty for fewer than two planners, and for selected
    trials."""
    ranked_summaries = sorted(
        (summary for summary in analysis.summaries if summary.trials),
        key=lambda summary: -summary.success.value,
    )
    if len(ranked_summaries) < 2 or analysis.results.selection:
        return ""
    rates = [
        f"{100 * summary.success.value:.1f} % for {summary.planner}" for summary in ranked_summaries
    ]
    names = [summary.planner for summary in ranked_summaries]
    ahead_of: Others = {name: [] for name in names}
    equivalent: Others = {name: [] for name in names}
    undecided_of: Others = {name: [] for name in names}
    for pair in analysis.comparisons.pairs:
        if pair.first in names and pair.second in names:
            verdict = success_verdict(pair, analysis.early_stop)
            higher, lower = sorted((pair.first, pair.second), key=names.index)
            if verdict.better == lower:
                higher, lower = lower, higher
            target = ahead_of if verdict.better else equivalent if verdict.decided else undecided_of
            target[higher].append(lower)
    first = next((name for name in names if len(ahead_of[name]) == len(names) - 1), None)
    remaining = {name: behind for name, behind in ahead_of.items() if name != first}
    text = "No planner reached the goal significantly more often than all others."
    if first is not None:
        than = ahead_of[first][0] if len(ahead_of[first]) == 1 else "every other planner"
        text = f"{first} reached the goal significantly more often than {than}."
    sentences = [
        f"The success rates were {joined(rates)}.",
        text,
        _sentence("The success rate was significantly higher for", "than for", remaining),
        _sentence(
            "The success rates were equivalent within the margin of the campaign for",
            "and",
            equivalent,
        ),
        _sentence(
            "No significant difference in success rate was found between", "and", undecided_of, "or"
        ),
    ]
    return " ".join(filter(None, sentences))


def _sentence(start: str, word: str, partners: Others, last: str = "and") -> str:
    """Return text such as ``No difference was found between a and b, or between c and d.``

    The last word of ``start`` is repeated before each pair. ``word`` joins the planners of a pair,
    ``last`` precedes the last pair.
    """
    order = list(partners)
    start, _, preposition = start.rpartition(" ")
    pairs = [
        f"{preposition} {name} {word} {other}"
        for name, partner_names in partners.items()
        for other in sorted(partner_names, key=order.index)
    ]
    return f"{start} {joined(pairs, f', {last} ')}." if pairs else ""


def verdicts(analysis: Analysis) -> List[Dict[str, Any]]:
    metrics = {metric.name: metric for metric in analysis.metrics}
    world_indexes = {world.name: index for index, world in enumerate(analysis.results.worlds)}
    pair_verdicts = []
    for pair_index, pair in enumerate(analysis.comparisons.pairs):
        success = success_verdict(pair, analysis.early_stop)
        won_worlds = [
            {
                "heading": f"Only {planner}" if pair.counts else f"{planner} more often",
                "choice": f"{planner}, not {other_planner}"
                if pair.counts
                else f"{planner} more often than {other_planner}",
                "filter": f"won {pair_index} {side}",
                "worlds": [(world_indexes[name], name) for name in names[:WORLDS_NAMED]],
                "more": max(len(names) - WORLDS_NAMED, 0),
                "count": len(names),
            }
            for side, ((planner, names), (other_planner, _)) in enumerate(
                zip(success.won, reversed(success.won))
            )
            if names
        ]
        pair_verdicts.append(
            {
                "success": success,
                "metrics": metric_verdicts(pair, metrics) if pair.worlds else [],
                "undecided": undecided(pair, metrics) if pair.worlds else "",
                "won": won_worlds,
            }
        )
    return pair_verdicts


def rates(analysis: Analysis) -> List[Dict[str, Any]]:
    rows, shown_failures = [], failures(analysis.summaries)
    for summary, rate, interval, counts, off_road in success_rows(
        analysis.summaries, shown_failures, _NOTATION
    ):
        success = summary.success
        rows.append(
            {
                "planner": summary.planner,
                "reached": f"{summary.reached} of {summary.trials}",
                "rate": f"{rate} %" if summary.trials else "–",
                "interval": f"{interval} %" if success.has_interval else interval,
                "method": success.method if success.has_interval else methods_text([success]),
                "bar": [round(100 * number, 2) for number in success[:3]]
                if success.has_interval
                else None,
                "outcomes": counts,
                "off_road": off_road,
                "invalid": summary.invalid,
            }
        )
    return rows


def means(analysis: Analysis) -> Dict[str, Any]:
    shown_metrics = measured_metrics(analysis)
    return {
        "metrics": [
            (
                directed_heading(metric),
                metric.label_unit,
                _metric_meaning(metric),
                metric.completed_only,
            )
            for metric in shown_metrics
        ],
        "rows": [
            (summary.planner, [mean_of(metric, summary, _NOTATION) for metric in shown_metrics])
            for summary in analysis.summaries
        ],
    }


def differences(analysis: Analysis) -> List[Dict[str, Any]]:
    metrics = {metric.name: metric for metric in analysis.metrics}
    return [
        {
            "first": pair.first,
            "second": pair.second,
            "worlds": pair.worlds,
            "rows": [
                {
                    "label": directed_heading(metric),
                    "unit": metric.label_unit,
                    "difference": row,
                    "advantage": advantage(pair, metric, comparison) or "–",
                }
                for comparison, (metric, row) in zip(
                    pair.metrics, metric_differences(pair, metrics, _NOTATION)
                )
                if comparison.worlds
            ],
        }
        for pair in analysis.comparisons.pairs
    ]


def matrix(
    analysis: Analysis, figures: Mapping[Figure, Values], marks: Mapping[int, str]
) -> List[Dict[str, Any]]:
    """Return the rows of the table of outcomes, one per world, with a cell for each planner.
    ``marks`` maps the indices of trials to words in the cells."""
    results = analysis.results
    records: Dict[Tuple[str, str], List[TrialRecord]] = {}
    for record in results.trials:
        records.setdefault((record.world, record.planner), []).append(record)
    return [
        {
            "name": world.name,
            "figures": [
                _figure_text(figure, values[world_index]) for figure, values in figures.items()
            ],
            "cells": [
                _trials_cell(records.get((world.name, planner), ()), marks)
                for planner in results.planners
            ],
        }
        for world_index, world in enumerate(results.worlds)
    ]


def _trials_cell(records: Sequence[TrialRecord], marks: Mapping[int, str]) -> Dict[str, str]:
    cell = _outcomes_cell(records)
    words = Counter(marks[record.trial] for record in records if record.trial in marks)
    marked = [f"{n} {word}" if len(records) > 1 else word for word, n in words.items()]
    return {**cell, "text": ", ".join([cell["text"], *marked])}


def _outcomes_cell(records: Sequence[TrialRecord]) -> Dict[str, str]:
    if not records:
        return {"symbol": "", "text": "not run", "kind": "none"}
    if len(records) == 1:
        return _outcome_cell(records[0].outcome)
    valid = [record for record in records if record.outcome.valid]
    if not valid:
        return _outcome_cell(records[0].outcome)
    reached_count = sum(record.completed for record in valid)
    text = f"{reached_count} of {len(valid)}"
    if 0 < reached_count < len(valid):
        return {"symbol": "◐", "text": text, "kind": "mixed"}
    most_common = Counter(record.outcome for record in valid).most_common(1)[0][0]
    return {**_outcome_cell(most_common), "text": text}


def _outcome_cell(outcome: Outcome) -> Dict[str, str]:
    return {"symbol": outcome.declaration.symbol, "text": outcome.label, "kind": outcome.value}


def legend() -> List[Dict[str, str]]:
    return [_outcome_cell(outcome) for outcome in Outcome]


def crash_labels() -> str:
    return " or ".join(outcome.label for outcome in Outcome if outcome.declaration.crash)


def outcome_style() -> str:
    return "\n".join(
        f".cell.{outcome.value} {{ background: var(--{outcome.declaration.color.value}); }}\n"
        f".failure.{outcome.value} {{ fill: var(--{outcome.declaration.color.value}); }}"
        for outcome in Outcome
    )


def _figure_text(figure: Figure, value: Optional[float]) -> str:
    return "–" if value is None else number_text(value * figure.factor, figure.decimals)


def slopes(
    results: CampaignResults,
    curves_of_figures: Mapping[Figure, Sequence[Optional[SuccessCurve]]],
) -> List[Dict[str, Any]]:
    curves = [
        (figure, planner, curve)
        for figure, of_planners in curves_of_figures.items()
        for planner, curve in zip(results.planners, of_planners)
        if curve is not None
    ]
    rows = []
    # adjusted over all rows, since one of many unrelated figures is often significant by chance
    for (figure, planner, curve), p in zip(curves, holm([curve.p for _, _, curve in curves])):
        value, low, high = (slope / figure.factor for slope in curve.slope[:3])
        change = "falls" if value < 0 else "rises"
        rows.append(
            {
                "figure": figure.heading + (f" ({figure.unit})" if figure.unit else ""),
                "planner": planner,
                "worlds": str(curve.worlds),
                "slope": f"{value:+.3g}",
                "interval": f"{low:+.3g} to {high:+.3g}",
                "p": p_text(p, ""),
                "trend": change if p < ALPHA else "no significant trend",
            }
        )
    return rows


def invalid(results: CampaignResults) -> Dict[str, Any]:
    world_indexes = {world.name: index for index, world in enumerate(results.worlds)}
    by_cause: Dict[str, List[int]] = {}
    for attempt in results.invalid_attempts:
        by_cause.setdefault(attempt.cause, []).append(attempt.trial)
    return {
        "notes": [note.text for note in (*invalid_notes(results), *worker_deaths_notes(results))],
        "causes": [
            (cause, len(trials), len(set(trials)))
            for cause, trials in sorted(by_cause.items(), key=lambda item: -len(item[1]))
        ],
        "trials": [
            {
                "at": world_indexes[record.world],
                "world": record.world,
                "planner": record.planner,
                "repetition": record.repetition,
                "attempts": record.attempts,
                "detail": record.detail,
            }
            for record in results.invalid
            if record.world in world_indexes
        ],
    }


def corpus(judged_corpus: JudgedCorpusFile) -> Dict[str, Any]:
    order = ["failed", "undecided", "passed"]
    rows = [
        {
            "world": judged_world.world,
            "planner": judged_world.planner,
            "verdict": judged_world.verdict,
            "trial": ", ".join(filter(None, (judged_world.outcome, judged_world.detail))),
        }
        for judged_world in sorted(
            judged_corpus.worlds, key=lambda judged_world: order.index(judged_world.verdict)
        )
    ]
    return {"directory": judged_corpus.directory, "rows": rows}


def _known_text(value: Any) -> str:
    return "not known" if value in (None, "") else str(value)


def reproduction(
    manifest: Optional[Manifest], place: str, is_packed: bool = False
) -> Dict[str, Any]:
    """Return the versions, seed, inputs and commands for ``place``, a directory or a pack."""
    directory = shlex.quote(place)
    folder, unpack = directory, ""
    if is_packed:
        folder = shlex.quote(str(Path(place).with_suffix("")))
        unpack = f"gz_testauto pack --extract {directory} --out {folder} && "
    facts: List[Tuple[str, str]] = []
    commands = [("the tables of this page in the terminal", f"gz_testauto report {directory}")]
    inputs: List[Tuple[str, str]] = []
    if manifest is not None:
        content, lidar = manifest.content, manifest.inputs.get(SELECTED_LIDAR)
        facts += [
            ("campaign", _known_text(content.get("campaign"))),
            ("seed", _known_text(content.get("seed"))),
            ("simulator", manifest.simulator or "not known"),
            *([("lidar", lidar)] if lidar else []),
            ("gz_testauto", manifest.gz_testauto),
            *([(BITS, str(manifest.bits_version))] if manifest.bits_version else []),
            ("Python", _known_text(content.get("python"))),
            ("platform", manifest.platform or "not known"),
            ("identity of the inputs", str(content.get("identity", ""))),
        ]
        libraries = content.get("libraries")
        if isinstance(libraries, Mapping) and libraries:
            versions = ", ".join(f"{name} {version}" for name, version in libraries.items())
            facts.append(("libraries", versions))
        inputs = sorted((str(name), str(value)) for name, value in manifest.inputs.items())
        if not manifest.is_imported:
            commands += [
                (
                    "the whole campaign again, in a new directory",
                    f"{unpack}gz_testauto run {folder}/campaign.json --out {folder}_again",
                ),
                (
                    "one trial again, to check that it is identical",
                    f"gz_testauto replay {directory} WORLD PLANNER",
                ),
            ]
    return {"facts": facts, "commands": commands, "inputs": inputs}


def hashes(results: CampaignResults) -> List[Tuple[str, str]]:
    return [(world.name, world.sha256) for world in results.worlds if world.sha256]


def methods(analysis: Analysis) -> List[str]:
    rate = methods_text(summary.success for summary in analysis.summaries)
    by_its_test = (
        ""
        if analysis.early_stop is None
        else "; success by the test that ends the campaign, at its own alpha"
    )
    return [
        f"{success_note(analysis.summaries)} Intervals: {rate or '–'}.",
        "The world is the unit: planners are compared in the worlds in which both have a valid "
        "trial. Success is the primary endpoint, with p-values Holm-adjusted over the pairs; the "
        "metrics are secondary endpoints, Holm-adjusted together.",
        f"Significant: the (adjusted) p-value is below {ALPHA:g}{by_its_test}. Relevant: the "
        f"estimate is at least the smallest relevant difference: success "
        f"{100 * analysis.results.relevant_success:g} points"
        f"{''.join(f', {smallest_text(m)}' for m in analysis.metrics if m.in_comparison)}. "
        "A planner is called better if a difference is both, and better in the typical world if "
        "the difference is a median.",
        "Differences of metrics: the mean over worlds with Gaffke's interval if the bounds of the "
        "metric are known, and otherwise the median over worlds, the typical world, with the sign "
        "test and its interval. Metrics of completed trials are compared in worlds in which both "
        "reached the goal. Intervals are not adjusted for several comparisons; p-values are.",
        "Curves: logistic regression with Firth's penalty and a pointwise band.",
        "Invalid trials are excluded from rates and means.",
    ]


def _metric_meaning(metric: Metric) -> str:
    direction = "" if metric.better == "neither" else f"; {metric.better} is better"
    return f"{metric.description}{direction}"
