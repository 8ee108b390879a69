"""The stored outcomes of perturbed trials of a campaign, and their section of the report."""

from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from gz_testauto.analysis.intervals import Estimate
from gz_testauto.analysis.repeats import (
    FRAGILE,
    LABELS,
    LEAST_ROBUST,
    NO_REPEATS,
    ROBUST,
    UNDECIDED,
    UNTESTED,
    RepeatCount,
)
from gz_testauto.analysis.summary import clustered_rate
from gz_testauto.extras.search.journal import PERTURBED, StoredTrial, read_journal
from gz_testauto.report.plain import interval_text, number_text
from gz_testauto.report.sections import Section, SectionTable
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.trial import trial_label

REPEATS = 20  # default number; if all have the same outcome, 17 are enough to label it

ANSWERS = "robustness.jsonl"  # journal of `gz_testauto perturb` in a results directory

OF_SEARCH = "search.jsonl"  # journal of `gz_testauto search`

SHOWN = 20


def read_outcomes(directory: Path) -> Dict[str, Dict[int, Optional[Outcome]]]:
    """Return the outcome of each repeat by the label of its trial and its number.

    The outcome is None for an invalid scene. Raises ``ResultsError`` if a file is damaged.
    """
    outcomes: Dict[str, Dict[int, Optional[Outcome]]] = {}
    for name in (OF_SEARCH, ANSWERS):
        journal = read_journal(directory / name)
        for key, stored in journal.answers.items() if journal else ():
            label, _, number = key.rpartition(PERTURBED)
            if label:
                outcomes.setdefault(label, {})[int(number)] = stored.parse(StoredTrial).outcome
    return outcomes


def read_counts(directory: Path, results: CampaignResults) -> Dict[int, RepeatCount]:
    """Return how many repeats have the outcome of their trial, by the index of the trial.

    Raises ``ResultsError`` if a file is damaged.
    """
    outcomes = read_outcomes(directory)
    counts = {}
    for record in results.trials:
        label = trial_label(record.world, record.planner, record.repetition)
        if record.outcome.valid and label in outcomes:
            repeats = list(outcomes[label].values())
            same = repeats.count(record.outcome)
            counts[record.trial] = RepeatCount(same, len(repeats) - repeats.count(None))
    return counts


def section(directory: Path, results: CampaignResults) -> Optional[Section]:
    """Return the section of the report about robustness, or None if no trial was repeated.

    Raises ``ResultsError`` if a file is damaged.
    """
    counts = read_counts(directory, results)
    if not counts:
        return None
    valid = [record for record in results.trials if record.outcome.valid]
    listed = [record for record in valid if record.trial in counts or not record.completed]
    order = [FRAGILE, UNDECIDED, ROBUST, UNTESTED]
    labels = {record.trial: counts.get(record.trial, NO_REPEATS).label for record in valid}
    listed.sort(
        key=lambda record: (record.completed, order.index(labels[record.trial]), record.trial)
    )
    rows = tuple(_trial_row(record, counts.get(record.trial, NO_REPEATS)) for record in listed)
    marks = {trial: FRAGILE for trial, count in counts.items() if count.label == FRAGILE}
    return Section(
        "Robustness of outcomes",
        (
            f"An outcome is robust if at least {100 * LEAST_ROBUST:.0f} % of trials with small "
            "changes have it, and otherwise fragile. It is undecided if the exact 95 % interval of "
            "this share allows both. The share of fragile outcomes is that of the tested trials, "
            "without and with the undecided ones; its interval contains the intervals of both. "
            "Successes that were not tested are not listed.",
        ),
        (
            SectionTable(
                "",
                ("trials", *LABELS, "fragile %", "95 % CI"),
                tuple(_summary_rows(results.planners, valid, labels)),
            ),
            SectionTable(
                "Trials",
                ("trial", "outcome", "same outcome", "95 % CI of the share, %", "is"),
                rows,
                on_page_only=len(rows) > SHOWN,
            ),
        ),
        marks,
    )


def _summary_rows(
    planners: Sequence[str], valid: Sequence[TrialRecord], labels: Dict[int, str]
) -> List[Tuple[str, ...]]:
    rows = []
    for planner in planners:
        for kind, completed in (("failures", False), ("successes", True)):
            trials = [
                record
                for record in valid
                if record.planner == planner and record.completed == completed
            ]
            trial_labels = [labels[record.trial] for record in trials]
            least, most = (
                _label_share(trials, trial_labels, counted)
                for counted in ((FRAGILE,), (FRAGILE, UNDECIDED))
            )
            shares = dict.fromkeys(number_text(100 * share.value, 0) for share in (least, most))
            rows.append(
                (
                    f"{planner}, {kind}",
                    *(str(trial_labels.count(label)) for label in LABELS),
                    " to ".join(shares),
                    interval_text(least._replace(high=most.high), 0, 100) or "-",
                )
            )
    return rows


def _label_share(
    trials: Sequence[TrialRecord], trial_labels: Sequence[str], counted: Sequence[str]
) -> Estimate:
    worlds: Dict[str, List[bool]] = {}
    for record, label in zip(trials, trial_labels):
        if label != UNTESTED:
            worlds.setdefault(record.world, []).append(label in counted)
    counts = worlds.values()
    return clustered_rate(
        [sum(matches) for matches in counts], [len(matches) for matches in counts]
    )


def _trial_row(record: TrialRecord, counts: RepeatCount) -> Tuple[str, ...]:
    label = trial_label(record.world, record.planner, record.repetition)
    share = interval_text(counts.share, 0, 100)
    same = f"{counts.same} of {counts.valid}" if counts.valid else "-"
    return label, record.outcome.label, same, share or "-", counts.label
