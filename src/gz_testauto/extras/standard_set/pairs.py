"""Paired comparison of the planners of several score cards, over all classes together."""

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Dict, List, Mapping, Sequence, Tuple

from gz_testauto.analysis.comparison import (
    ALPHA,
    PairedCounts,
    holm,
    mcnemar,
    rate_difference,
)
from gz_testauto.analysis.intervals import Estimate
from gz_testauto.base.errors import ResultsError
from gz_testauto.extras.standard_set.card import ScoreCard
from gz_testauto.report.plain import joined
from gz_testauto.results.comparability import differing_names

Key = Tuple[str, str, str]  # class, name and hash of a world


@dataclass(frozen=True)
class PlannerPair:
    """The comparison of two planners over all worlds in which both have a valid trial.

    ``difference`` is the success rate of ``first`` minus that of ``second``. ``p_value`` is that of
    the exact McNemar test, and ``p_adjusted`` is Holm-adjusted over all pairs.
    """

    first: str
    second: str
    counts: PairedCounts
    difference: Estimate
    p_value: float
    p_adjusted: float

    @property
    def significant(self) -> bool:
        return self.p_adjusted < ALPHA


def require_comparable(cards: Sequence[ScoreCard], paths: Sequence[Path]) -> None:
    """Raise ``ResultsError`` for equal names of planners, or different files of a common class.

    ``paths`` are the files of the last cards.
    """
    file_names = [*([""] * (len(cards) - len(paths))), *map(str, paths)]
    seen: Dict[str, Mapping[str, str]] = {}
    names: List[str] = []
    for card, path in zip(cards, file_names):
        if card.planner.name in names:
            raise ResultsError(
                f"{path}: the planner {card.planner.name!r} appears twice; omit the card, or set "
                "another 'name' in the file of your planner"
            )
        names.append(card.planner.name)
        for name, result in card.classes.items():
            known = seen.setdefault(name, result.files)
            different = differing_names(known, result.files)
            if different:
                raise ResultsError(
                    f"{path}: class {name} was run with another {different[0]}, so its trials "
                    "cannot be paired; run the planner again with this version"
                )


def version_note(cards: Sequence[ScoreCard]) -> str:
    """Return a sentence on versions that differ between the cards; "" if none do."""
    differing = set()
    for first, second in itertools.combinations(cards, 2):
        differing.update(differing_names(first.versions, second.versions))
    if not differing:
        return ""
    return (
        f"The cards differ in {joined(sorted(differing))}, so a difference of planners can also be "
        "one of versions."
    )


def compare_cards(cards: Sequence[ScoreCard]) -> List[PlannerPair]:
    successes = [_successes(card) for card in cards]
    pairs = []
    for (first, first_successes), (second, second_successes) in itertools.combinations(
        zip(cards, successes), 2
    ):
        common = [key for key in first_successes if key in second_successes]
        cells = [(first_successes[key], second_successes[key]) for key in common]
        counts = PairedCounts(
            cells.count((True, True)),
            cells.count((True, False)),
            cells.count((False, True)),
            cells.count((False, False)),
        )
        p_value = mcnemar(counts) if common else float("nan")
        difference = rate_difference(counts) if common else Estimate.unknown()
        names = first.planner.name, second.planner.name
        pairs.append(PlannerPair(*names, counts, difference, p_value, p_value))
    adjusted = holm([pair.p_value for pair in pairs])
    return [replace(pair, p_adjusted=p) for pair, p in zip(pairs, adjusted)]


def _successes(card: ScoreCard) -> Dict[Key, bool]:
    return {
        (name, world, trial.world_sha256): trial.outcome.success
        for name, result in card.classes.items()
        for world, trial in result.trials.items()
        if trial.is_valid
    }
