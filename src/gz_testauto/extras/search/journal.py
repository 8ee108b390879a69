"""The journal of a search: the answer of each finished simulation, in a file of JSON lines.

The search is a function of these answers. A command that was killed at any moment therefore
continues with the first missing answer, and finishes with the same result.
"""

import json
import os
from pathlib import Path
from typing import Any, Dict, Mapping, Optional

from gz_testauto.base.disk import disk_errors, make_directory, read_text, replace_file
from gz_testauto.base.errors import ResultsError

JOURNAL = "journal.jsonl"


class Journal:
    """The answers of a search in ``path``, by their keys.

    ``inputs`` identify the search. Raises ``ResultsError`` if the file contains another search.
    """

    def __init__(self, path: Path, inputs: Mapping[str, Any]) -> None:
        self.path = path
        self._answers: Dict[str, Any] = {}
        lines = []
        if os.path.exists(path):
            lines = read_text(path, ResultsError).split("\n")[:-1]  # a line can be incomplete
        if not lines:
            with disk_errors(path.parent):
                make_directory(path.parent)
            with disk_errors(path):
                replace_file(path, _line({"inputs": dict(inputs)}))
            return
        if self._parsed(lines[0]).get("inputs") != json.loads(json.dumps(dict(inputs))):
            raise ResultsError(
                f"{path}: the file belongs to another trial or to other options; use a new "
                "directory for --out"
            )
        for line in lines[1:]:
            entry = self._parsed(line)
            self._answers[entry["key"]] = entry["answer"]
        self._truncate(lines)

    def get(self, key: str) -> Optional[Any]:
        """Return the answer of a finished simulation, or None."""
        return self._answers.get(key)

    def add(self, key: str, answer: Any) -> None:
        """Store an answer, and write it to the disk."""
        self._answers[key] = answer
        self._append({"key": key, "answer": answer})

    def _parsed(self, line: str) -> Dict[str, Any]:
        try:
            return dict(json.loads(line))
        except ValueError as error:
            raise ResultsError(
                f"{self.path}: the file is damaged; remove it to start again"
            ) from error

    def _truncate(self, lines: Any) -> None:
        """Remove an incomplete last line."""
        complete = sum(len(line.encode("utf-8")) + 1 for line in lines)
        if os.path.getsize(self.path) > complete:
            with disk_errors(self.path):
                os.truncate(self.path, complete)

    def _append(self, entry: Mapping[str, Any]) -> None:
        with disk_errors(self.path):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(descriptor, _line(entry))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _line(entry: Mapping[str, Any]) -> bytes:
    return (json.dumps(entry) + "\n").encode("utf-8")
