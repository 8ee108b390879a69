"""The journal of a search: the answer of each finished simulation, in a file of JSON lines.

A killed command continues with the first missing answer, and has the same result.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Mapping, NamedTuple, Optional, Type

from pydantic import BaseModel

from gz_testauto.base.disk import disk_errors, make_directory, read_input, replace_file
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.json_file import Shape, parse_entry
from gz_testauto.trial.outcome import Outcome

JOURNAL = "journal.jsonl"
PERTURBED = " perturbed "  # separates the label of a trial from the number of a repeat in a key
REMEDY = "remove this line and all later lines, and run the same command again"


class StoredTrial(BaseModel, extra="allow", frozen=True):
    """The answer of a trial, in which other fields are metrics.

    ``outcome`` is None for an invalid scene.
    """

    outcome: Optional[Outcome]
    detail: str = ""
    __pydantic_extra__: Dict[str, Optional[float]]

    @property
    def metrics(self) -> Mapping[str, Optional[float]]:
        return self.model_extra or {}

    @property
    def word(self) -> str:
        return "no valid scene" if self.outcome is None else self.outcome.value


@dataclass(frozen=True)
class _Entry:
    key: str
    answer: Dict[str, Any]


@dataclass(frozen=True)
class _Inputs:
    inputs: Dict[str, Any]


class StoredAnswer(NamedTuple):
    """An answer of a journal; ``where`` is its file and line for messages."""

    answer: Mapping[str, Any]
    where: str

    def parse(self, shape: Type[Shape]) -> Shape:
        """Return the validated answer, or raise ``ResultsError``."""
        return parse_entry(shape, _json_line(self.answer), self.where, ResultsError, REMEDY)


class StoredJournal(NamedTuple):
    """The complete lines of a journal, which have ``size`` bytes."""

    inputs: Dict[str, Any]
    answers: Dict[str, StoredAnswer]
    size: int


def read_journal(path: Path) -> Optional[StoredJournal]:
    """Read a journal; return None if it is missing or has no complete line.

    Raises ``ResultsError`` with the number of a damaged line.
    """
    if not os.path.exists(path):
        return None
    if not os.path.isfile(path):
        raise ResultsError(
            f"{path}: the path is not a regular file; remove it, and run the same command again"
        )
    content = read_input(path, ResultsError)
    size = content.rfind(b"\n") + 1
    if not size:
        return None
    first, *lines = content[:size].splitlines()
    inputs = parse_entry(_Inputs, first, f"{path}:1", ResultsError, REMEDY).inputs
    answers = {}
    for number, line in enumerate(lines, 2):
        entry = parse_entry(_Entry, line, f"{path}:{number}", ResultsError, REMEDY)
        answers[entry.key] = StoredAnswer(entry.answer, f"{path}:{number}")
    return StoredJournal(inputs, answers, size)


class Journal:
    """The answers of a search, which are stored in the file ``path``.

    ``inputs`` are all inputs on which the answers depend. Raises ``ResultsError`` if the file
    exists and has other inputs.
    """

    def __init__(self, path: Path, inputs: Mapping[str, Any]) -> None:
        self.path = path
        self._answers: Dict[str, StoredAnswer] = {}
        stored = read_journal(path)
        if stored is None:
            with disk_errors(path.parent):
                make_directory(path.parent)
            with disk_errors(path):
                replace_file(path, _json_line({"inputs": dict(inputs)}))
            return
        if stored.inputs != json.loads(json.dumps(dict(inputs))):
            raise ResultsError(
                f"{path}: the file belongs to another trial, to other options, to another "
                "directory or to another version; remove it, or specify a new directory"
            )
        self._answers = stored.answers
        if os.path.getsize(path) > stored.size:  # a line that was incomplete at a kill
            with disk_errors(path):
                os.truncate(path, stored.size)

    def get(self, key: str, shape: Type[Shape]) -> Optional[Shape]:
        """Return the answer with this key, or None.

        Raises ``ResultsError`` if it is damaged.
        """
        stored = self._answers.get(key)
        return None if stored is None else stored.parse(shape)

    def add(self, key: str, answer: Mapping[str, Any]) -> None:
        self._answers[key] = StoredAnswer(answer, str(self.path))
        with disk_errors(self.path):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(descriptor, _json_line({"key": key, "answer": answer}))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _json_line(entry: Mapping[str, Any]) -> bytes:
    return (json.dumps(entry) + "\n").encode("utf-8")
