"""Score cards as a table for the terminal, as Markdown, as LaTeX and as JSON."""

import json
import math
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from rich.console import Console
from rich.text import Text

from gz_testauto import BITS_VERSION
from gz_testauto.analysis.intervals import Estimate, success_rate
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.json_file import finite_or_none
from gz_testauto.extras.standard_set.card import (
    BITS,
    CardTrial,
    ClassResult,
    ScoreCard,
    success,
)
from gz_testauto.extras.standard_set.classes import StandardSet
from gz_testauto.extras.standard_set.pairs import PlannerPair, compare_cards
from gz_testauto.report.latex import PACKAGES, best_indices, format_table
from gz_testauto.report.plain import interval_text, joined, number_text, p_text, plain_table

TOTAL = "all classes"
METHODS = (
    "Success rates have exact 95 % intervals. SPL counts failures as 0; time and least clearance "
    "are means over trials that reached the goal."
)
PAIRED = (
    "Differences of success in percentage points, over the worlds of all classes in which both "
    "planners have a valid trial: 95 % interval of Gaffke, exact McNemar test, p-values adjusted "
    "by Holm over all pairs."
)


def class_rows(card: ScoreCard) -> Iterator[Tuple[str, List[CardTrial]]]:
    for name, result in card.classes.items():
        yield name, list(result.trials.values())
    yield TOTAL, [trial for result in card.classes.values() for trial in result.trials.values()]


def percent(rate: Estimate) -> str:
    """Return a percentage with its interval, such as ``87 [79, 92]``."""
    return f"{number_text(100 * rate.value, 1)} {interval_text(rate, 1, 100)}".rstrip()


def mean_of(trials: Sequence[CardTrial], metric: str, completed: bool) -> float:
    """Return the mean of a metric over the valid trials; NaN without values.

    With ``completed``, only trials that reached the goal count.
    """
    chosen = [
        trial for trial in trials if trial.is_valid and (trial.outcome.success or not completed)
    ]
    values = [trial.metrics.get(metric) for trial in chosen]
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else math.nan


def notes(card: ScoreCard, standard: StandardSet) -> List[str]:
    sentences = []
    if card.is_subset:
        sentences.append(
            f"Subset: the first {card.most_worlds} worlds of each class, not the complete set."
        )
    omitted = [name for name in standard.classes if name not in card.classes]
    if omitted:
        sentences.append(f"Not included: {joined(omitted)}.")
    invalid_counts = {
        name: len(result.trials) - len(result.valid)
        for name, result in card.classes.items()
        if len(result.trials) > len(result.valid)
    }
    if invalid_counts:
        counts = joined([f"{count} in {name}" for name, count in invalid_counts.items()])
        sentences.append(
            f"Invalid trials, which do not count: {counts}. --retry-invalid repeats them."
        )
    version = card.versions.get(BITS, "unknown")
    if version != str(BITS_VERSION):
        sentences.append(f"The bits have version {version}; this installation has {BITS_VERSION}.")
    confirmation = card.about.get("confirmation")
    if confirmation:
        sentences.append(_confirmation_text(confirmation))
    return sentences


def _confirmation_text(confirmation: Dict[str, Any]) -> str:
    same_rate = success_rate(confirmation["same"], confirmation["trials"])
    of_classes = ", ".join(
        f"{name} {counts[0]} of {counts[1]}" for name, counts in confirmation["classes"].items()
    )
    return (
        f"Confirmed in {confirmation['simulator']} with the first {confirmation['worlds']} worlds "
        f"of each class: {confirmation['same']} of {confirmation['trials']} trials have the same "
        f"outcome, {percent(same_rate)} % ({of_classes})."
    )


def print_card(card: ScoreCard, standard: StandardSet, console: Console) -> None:
    """Print a card as a table with a width of at most 80 columns."""
    planner = card.planner
    title = f"{planner.name}, standard set version {card.set_version}"
    console.print(Text(escape_text(title), style="bold"))
    console.print(f"ID {card.id_of(standard)}")
    simulators = [name for name in card.versions if name.startswith("simulator ")]
    named = [f"{name[len('simulator ') :]} {card.versions[name]}" for name in simulators]
    bits = card.versions.get(BITS, "unknown")
    console.print(escape_text(f"{joined(named)}, gz_testauto with bits of version {bits}"))
    headings = ("worlds", "success %", "95 % CI", "collided", "other", "SPL", "time s", "clear. m")
    table = plain_table("class", *headings)
    for name, trials in class_rows(card):
        table.add_row(name, *_metric_cells(trials))
    console.print(table)
    for note in (METHODS, *notes(card, standard)):
        console.print(Text(escape_text(note)))


def _metric_cells(trials: Sequence[CardTrial]) -> List[str]:
    valid = [trial for trial in trials if trial.is_valid]
    rate = success(valid)
    reached = sum(trial.outcome.success for trial in valid)
    collided = sum(trial.outcome.declaration.crash for trial in valid)
    return [
        str(len(valid)),
        number_text(100 * rate.value, 1),
        interval_text(rate, 1, 100) or "-",
        str(collided),
        str(len(valid) - reached - collided),
        number_text(mean_of(valid, "spl", completed=False), 2),
        number_text(mean_of(valid, "time_s", completed=True), 1),
        number_text(mean_of(valid, "clearance_min_m", completed=True), 2),
    ]


def print_pairs(pairs: Sequence[PlannerPair], console: Console) -> None:
    console.print(Text("planners, paired by world", style="bold"))
    table = plain_table(
        "pair", "worlds", "only 1st", "only 2nd", "difference", "95 % CI", "p (Holm)"
    )
    for pair in pairs:
        table.add_row(escape_text(f"{pair.first} − {pair.second}"), *_pair_cells(pair))
    console.print(table)
    console.print(PAIRED)


def _pair_cells(pair: PlannerPair) -> List[str]:
    low, high = (number_text(100 * end, 1, "+") for end in pair.difference[1:3])
    return [
        str(pair.counts.worlds),
        str(pair.counts.first_only),
        str(pair.counts.second_only),
        number_text(100 * pair.difference.value, 1, "+"),
        f"[{low}, {high}]",
        p_text(pair.p_adjusted, prefix=""),
    ]


def markdown(
    cards: Sequence[ScoreCard], pairs: Sequence[PlannerPair], standard: StandardSet
) -> str:
    class_names = [name for name in standard.classes if any(name in card.classes for card in cards)]
    lines = [
        *_markdown_row("planner", *class_names, TOTAL),
        *_markdown_row(*(["---"] * (len(class_names) + 2))),
    ]
    for card in cards:
        cells = [_class_cell(card.classes.get(name)) for name in class_names]
        total = percent(success(list(class_rows(card))[-1][1]))
        lines += _markdown_row(f"`{card.planner.name}`", *cells, total)
    lines += ["", "| planner | experiment ID | note |", "|---|---|---|"]
    for card in cards:
        remarks = " ".join(notes(card, standard))
        lines += _markdown_row(f"`{card.planner.name}`", f"`{card.id_of(standard)}`", remarks)
    if pairs:
        lines += [
            "",
            "| pair | worlds | only first | only second | difference | 95 % interval | p |",
        ]
        lines += ["|---|---|---|---|---|---|---|"]
        for pair in pairs:
            lines += _markdown_row(f"`{pair.first}` − `{pair.second}`", *_pair_cells(pair))
    return "\n".join(lines) + "\n"


def _class_cell(result: Any) -> str:
    return percent(success(result.valid)) if isinstance(result, ClassResult) else ""


def _markdown_row(*cells: str) -> List[str]:
    return [f"| {' | '.join(cells)} |".replace("|  |", "| |")]


def latex(cards: Sequence[ScoreCard], standard: StandardSet) -> str:
    """Return tables for a paper: success in % by class and planner, and differences of planners.
    All numbers are of the worlds that all planners ran."""
    common_cards = [_in_worlds_of_all(card, cards) for card in cards]
    rows: List[List[str]] = []
    bold = set()
    trials_by_class = [dict(class_rows(card)) for card in common_cards]
    for name in trials_by_class[0]:
        rates = [success(trials[name]) for trials in trials_by_class]
        texts = [number_text(100 * rate.value, 1) for rate in rates]
        values = [rate.value for rate in rates]
        bold |= {(len(rows), column + 1) for column in best_indices(texts, values, "higher")}
        rows.append([name, *map(percent, rates)])
    worlds = sum(len(result.trials) for result in common_cards[0].classes.values())
    text = [
        f"Standard set version {standard.version}, {worlds} worlds that all planners ran. Exact "
        "95 % intervals. Bold: the best rate."
    ]
    for card in cards:
        text += [f"{card.planner.name}: experiment ID {card.id_of(standard)}."]
        text += notes(card, standard)
    head = ["class (%)", *(card.planner.name for card in cards)]
    tables = [format_table("Success in the standard set", head, rows, " ".join(text), bold=bold)]
    pairs = compare_cards(common_cards)
    if pairs:
        head = ["planners", "worlds", "only first", "only second", "difference"]
        head += ["95 % interval", "p (Holm)"]
        rows = [
            [f"{pair.first} − {pair.second}", *(c.replace("-", "−") for c in _pair_cells(pair))]
            for pair in pairs
        ]
        tables.append(format_table("Differences in the standard set", head, rows, PAIRED))
    return "\n".join([PACKAGES, *tables])


def _in_worlds_of_all(card: ScoreCard, cards: Sequence[ScoreCard]) -> ScoreCard:
    classes = {}
    for name, result in card.classes.items():
        others = [other.classes[name].trials if name in other.classes else {} for other in cards]
        trials = {w: trial for w, trial in result.trials.items() if all(w in o for o in others)}
        if trials:
            classes[name] = replace(result, trials=trials)
    return replace(card, classes=classes)


def to_json(cards: Sequence[ScoreCard], pairs: Sequence[PlannerPair], standard: StandardSet) -> str:
    content = {
        "set_version": standard.version,
        "cards": [_card_summary(card, standard) for card in cards],
        "pairs": [
            {
                "first": pair.first,
                "second": pair.second,
                **pair.counts._asdict(),
                "difference": _json_estimate(pair.difference),
                "p_value": finite_or_none(pair.p_value),
                "p_adjusted": finite_or_none(pair.p_adjusted),
                "significant": pair.significant,
            }
            for pair in pairs
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _card_summary(card: ScoreCard, standard: StandardSet) -> Dict[str, Any]:
    classes = {}
    for name, trials in class_rows(card):
        valid = [trial for trial in trials if trial.is_valid]
        outcomes = [trial.outcome.value for trial in trials]
        classes[name] = {
            "worlds": len(valid),
            "invalid": len(trials) - len(valid),
            "success": _json_estimate(success(valid)),
            "outcomes": {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))},
            "spl": finite_or_none(mean_of(valid, "spl", completed=False)),
            "time_s": finite_or_none(mean_of(valid, "time_s", completed=True)),
            "clearance_min_m": finite_or_none(mean_of(valid, "clearance_min_m", completed=True)),
        }
    total = classes.pop(TOTAL)
    return {
        "id": card.id_of(standard),
        "planner": card.planner.name,
        "is_subset": card.is_subset,
        "versions": dict(card.versions),
        "classes": classes,
        "total": total,
        "notes": notes(card, standard),
        "about": dict(card.about),
    }


def _json_estimate(estimate: Estimate) -> Dict[str, Any]:
    return {
        "value": finite_or_none(estimate.value),
        "low": finite_or_none(estimate.low),
        "high": finite_or_none(estimate.high),
        "method": estimate.method,
    }
