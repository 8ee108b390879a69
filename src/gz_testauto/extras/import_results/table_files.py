"""Read the cells of a table from a CSV file or from JSON records; imported.py interprets them."""

import collections
import csv
import io
import json
from pathlib import Path
from typing import Dict, Iterator, List, Sequence, Tuple

from gz_testauto.base.disk import read_text
from gz_testauto.base.errors import ResultsError

MOST_BYTES = 20_000_000  # largest size of a table; its trials need up to 50 times this memory
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
_BLANKS = " \t\r\n"  # as in the grammar of JSON

NumberedRows = Iterator[Tuple[int, List[str]]]


def read_cells(path: Path, header: Sequence[str], delimiter: str) -> Tuple[List[str], NumberedRows]:
    """Return the names of the columns, and the line number and the cells of each row.

    ``header`` contains the names if the file has none. Raise ``ResultsError`` for a damaged file.
    """
    text = read_text(path, ResultsError, MOST_BYTES)
    if path.suffix.lower() in JSON_SUFFIXES:
        if header:
            raise ResultsError(f"{path}: JSON records name their columns; omit the header")
        return _table_of_records(path, list(_records(path, text)))
    names = list(header)
    rows = _csv_rows(path, text, delimiter)
    if not names:
        _, names = next(rows, (0, []))
    duplicates = [name for name, count in collections.Counter(names).items() if count > 1]
    if not names or duplicates:
        fault = f"column {duplicates[0]!r} appears twice" if duplicates else "is empty"
        raise ResultsError(f"{path}: {fault}")
    return names, rows


def _csv_rows(path: Path, text: str, delimiter: str) -> NumberedRows:
    # Only CR and LF terminate a line; in quotes they are part of a name.
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                yield reader.line_num, stripped
    except csv.Error as error:
        raise ResultsError(f"{path}:{reader.line_num}: {error}") from error


def _table_of_records(
    path: Path, records: Sequence[Tuple[int, Dict[str, str]]]
) -> Tuple[List[str], NumberedRows]:
    """Return a table whose columns are all fields. The cell of a missing field is empty."""
    if not records:
        raise ResultsError(f"{path}: is empty")
    names = list(dict.fromkeys(name for _, record in records for name in record))
    return names, ((line, [record.get(name, "") for name in names]) for line, record in records)


def _records(path: Path, text: str) -> Iterator[Tuple[int, Dict[str, str]]]:
    """Yield the line and the fields of each object of a list, or of objects in separate lines."""
    # Numbers keep their text, so that they are read as those of a CSV file.
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique_fields, parse_int=str, parse_float=str, parse_constant=str
    )
    position = _after_blanks(text, 0)
    in_list = text.startswith("[", position)
    position = _after_blanks(text, position + 1) if in_list else position
    line, counted = 1, 0
    while position < len(text) and not (in_list and text[position] == "]"):
        line += text.count("\n", counted, position)
        counted = position
        try:
            record, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise ResultsError(f"{path}:{error.lineno}: is not JSON: {error.msg}") from error
        except (ValueError, RecursionError) as error:
            raise ResultsError(f"{path}:{line}: {error}") from error
        if not isinstance(record, dict):
            raise ResultsError(
                f"{path}:{line}: is not an object; the file must contain a list of objects, or one "
                "object per line, and each object must be a trial"
            )
        yield line, {name: _cell(f"{path}:{line}", name, value) for name, value in record.items()}
        position = _after_blanks(text, position)
        if in_list and text.startswith(",", position):
            position = _after_blanks(text, position + 1)
        elif in_list and not text.startswith("]", position):
            break
    if in_list and text[position:].strip(_BLANKS) != "]":
        line += text.count("\n", counted, position)
        raise ResultsError(f"{path}:{line}: is not JSON: the list of objects must end with ']'")


def _after_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANKS:
        position += 1
    return position


def _unique_fields(pairs: Sequence[Tuple[str, object]]) -> Dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        counts = collections.Counter(name for name, _ in pairs)
        raise ValueError(f"field {counts.most_common(1)[0][0]!r} appears twice in an object")
    return fields


def _cell(where: str, name: str, value: object) -> str:
    """Return the text of a value as in a CSV file. A missing value, null, is an empty cell."""
    if value is None:
        return ""
    text = value.strip() if isinstance(value, str) else json.dumps(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ResultsError(f"{where}: {name!r} contains half of a surrogate pair") from None
    return text
