"""The worlds of a regression corpus that a gate judged, in a file next to the results.

These worlds were selected because a planner failed in them, so no rates and tests include them.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Tuple

from typing_extensions import Literal

from gz_testauto.base.errors import ResultsError
from gz_testauto.base.json_file import read_json_object, validate_as

JUDGED_CORPUS = "corpus.json"


@dataclass(frozen=True)
class CorpusTrial:
    """The result of one planner in one world of a regression corpus. ``outcome`` is empty without a
    valid trial, and ``detail`` then contains the cause."""

    world: str
    planner: str
    verdict: Literal["passed", "failed", "undecided"]
    outcome: str
    detail: str
    time_s: Optional[float] = None


@dataclass(frozen=True)
class JudgedCorpusFile:
    """The content of :data:`JUDGED_CORPUS`: the name of the corpus, and its worlds in the order of
    their trials."""

    directory: str
    worlds: Tuple[CorpusTrial, ...]


def read_judged_corpus(results: Path) -> Optional[JudgedCorpusFile]:
    path = results / JUDGED_CORPUS
    if not os.path.exists(path):
        return None
    return validate_as(
        JudgedCorpusFile, read_json_object(path, ResultsError), str(path), ResultsError
    )
