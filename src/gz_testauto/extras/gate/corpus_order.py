"""The order in which the worlds of a regression corpus are judged.

Worlds in which the same fault caused a failure find similar faults. Of the remaining worlds, the
next one is therefore always the one that failed for most of the past faults of which no world was
judged yet. A past fault is a planner that failed in a past gate; a file in the directory of the
corpus contains the worlds in which it failed.

The rule is "additional" prioritization, and the figure APFD, the average percentage of faults
detected, measures such an order: Rothermel, Untch, Chu and Harrold, IEEE Transactions on Software
Engineering 27(10), 2001.
"""

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import FrozenSet, Iterable, List, Sequence, Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.base.json_file import read_json_object, validate_as
from gz_testauto.results.directory import write_atomically

HISTORY = "history.json"
"""Name of the file with the failures of past gates, in the directory of the corpus."""

MOST_FAULTS = 100
"""Largest number of past faults in the file. The oldest are removed."""


@dataclass(frozen=True)
class _HistoryFile:
    """The content of the file: the worlds in which each past planner failed, the latest last."""

    failed_worlds: Tuple[Tuple[str, ...], ...]


def apfd(first_failures: Sequence[int], tests: int) -> float:
    """Return the average percentage of faults detected, between 0 and 1.

    ``first_failures`` contains, for each fault, the position of the first of the ``tests`` that
    detects it, from 1, or ``tests + 1`` if none does. The value is NaN without faults.
    """
    if not first_failures:
        return math.nan
    return 1.0 - sum(first_failures) / (tests * len(first_failures)) + 1.0 / (2.0 * tests)


def order_by_failures(worlds: Sequence[str], past: Iterable[Iterable[str]]) -> List[str]:
    """Return the names of the worlds in the order of the additional past faults that they detect.

    ``past`` contains, for each past fault, the worlds that failed. If each fault is detected by a
    world of the order, all faults count again. Equal worlds keep their order.
    """
    faults: List[FrozenSet[str]] = [frozenset(failed) for failed in past]
    order: List[str] = []
    remaining, missed = list(worlds), faults
    while remaining:
        if not any(fault.intersection(remaining) for fault in missed):
            missed = faults
        detected = [sum(world in fault for fault in missed) for world in remaining]
        chosen = remaining.pop(detected.index(max(detected)))
        order.append(chosen)
        missed = [fault for fault in missed if chosen not in fault]
    return order


def read_history(corpus: Path) -> Tuple[Tuple[str, ...], ...]:
    """Return the worlds in which each past planner failed. Raises ``SpecError`` if the file in the
    directory of the corpus is damaged."""
    path = corpus / HISTORY
    if not os.path.exists(path):
        return ()
    content = read_json_object(path, SpecError)
    return validate_as(_HistoryFile, content, str(path), SpecError).failed_worlds


def add_to_history(corpus: Path, failed_worlds: Iterable[Sequence[str]]) -> None:
    """Add the worlds in which each planner failed to the file in the directory of the corpus.

    Planners without a failure are omitted, since they have no known fault. Planners that failed in
    the same worlds are one fault. Raises ``ResultsError`` if the file cannot be written.
    """
    before = read_history(corpus)
    new = [tuple(sorted(failed)) for failed in failed_worlds if failed]
    after = [*dict.fromkeys(reversed([*before, *new]))][:MOST_FAULTS][::-1]
    if after != list(before):
        text = json.dumps({"failed_worlds": after}, indent=1, ensure_ascii=False)
        write_atomically(corpus / HISTORY, (text + "\n").encode("utf-8"))
