"""Reading and writing of channels in CSV files.

The first line names the columns. Files of trajectories in which a comment names the columns, or
without names, are also supported. Stamps are decimal numbers, so that stamps of the Unix epoch keep
their nanoseconds.
"""

import csv
import io
import itertools
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Dict, Iterable, List, Sequence, TextIO, Tuple

import numpy as np

from gz_testauto.base.disk import read_text, replace_file
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.registry import unknown_name
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording, Series

Stamps = List[Decimal]

MOST_DIGITS = 30  # largest number of digits of a stamp before the decimal point

CANONICAL: Dict[str, Sequence[str]] = {
    "imu": ("wx_radps", "wy_radps", "wz_radps", "ax_mps2", "ay_mps2", "az_mps2"),
    "odometry": ("x_m", "y_m", "yaw_rad"),
    "wheels": ("left_mps", "right_mps"),
    "command": ("linear_mps", "angular_radps"),
    "box": ("x_m", "y_m"),
}
"""Names of the columns after ``time_s``."""


def read_columns(path: Path, time: str, names: Sequence[str]) -> Tuple[Stamps, np.ndarray]:
    """Return stamps (n,) in the unit of the file, and the values (n, k) of the named columns. Rows
    in which all these columns are empty are omitted."""
    stamps: Stamps = []
    values: List[List[float]] = []
    line = 1
    try:
        with io.StringIO(read_text(path, ResultsError), newline="") as file:
            heading, offset, rows = _table(file)
            indices = []
            for name in (time, *names):
                if _clean_heading(name) not in heading:
                    raise ResultsError(
                        f"{path}:{max(1, offset)}: {unknown_name('column', name, heading)}"
                    )
                indices.append(heading.index(_clean_heading(name)))
            for row in rows:
                line = offset + rows.line_num
                if not row:
                    continue
                if len(row) < len(heading):
                    raise ResultsError(
                        f"{path}:{line}: the row has {len(row)} columns, but the heading has "
                        f"{len(heading)}; correct the row"
                    )
                stamp, *cells = (row[index] for index in indices)
                if any(map(str.strip, cells)):  # else a sample of another channel
                    stamps.append(_parse_stamp(stamp.strip()))
                    values.append([float(cell) for cell in cells])
    except csv.Error as error:
        raise ResultsError(f"{path}: the file cannot be read as CSV: {error}") from error
    except (ValueError, InvalidOperation) as error:
        raise ResultsError(f"{path}:{line}: a value is not a number: {error}") from error
    return stamps, np.array(values, dtype=float).reshape(len(values), len(names))


def column_names(path: Path) -> List[str]:
    with io.StringIO(read_text(path, ResultsError), newline="") as file:
        return _table(file)[0]


def _parse_stamp(text: str) -> Decimal:
    stamp = Decimal(text)
    if not stamp.is_finite() or stamp.adjusted() > MOST_DIGITS:
        raise ValueError(f"the time {text[:40]!r} is not finite")
    return stamp


def _table(file: TextIO) -> Tuple[List[str], int, Any]:
    """Return the column names, the number of lines before the rows, and the rows.

    The separator is the comma, semicolon or tab in the first line that is not a comment, otherwise
    the space. If that line has only numbers, the previous comment has the names, or they are 1, 2,
    3 and so on.
    """
    comment, line, offset = "", "", 0
    for line in file:
        if line.strip() and not line.startswith("#"):
            break
        comment = line if line.startswith("#") else comment
        offset += 1
    separator = next((mark for mark in ",;\t" if mark in line), " ")

    def rows_of(lines: Iterable[str]) -> Any:
        return csv.reader(lines, delimiter=separator, skipinitialspace=True)

    first: List[str] = next(rows_of([line.strip()]), [])
    commented: List[str] = next(rows_of([_clean_heading(comment)]), [])
    if not first or line.startswith("#"):
        return [_clean_heading(name) for name in commented], offset, rows_of([])
    if not all(map(_is_number, first)):
        return [_clean_heading(name) for name in first], offset + 1, rows_of(file)
    numbered = [str(number + 1) for number in range(len(first))]
    heading = (
        [_clean_heading(name) for name in commented] if len(commented) == len(first) else numbered
    )
    return heading, offset, rows_of(itertools.chain([line], file))


def _clean_heading(name: str) -> str:
    return name.strip().lstrip("#").strip()


def _is_number(text: str) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True


def write_channels(recording: RunRecording, folder: Path) -> Dict[str, Path]:
    """Write ``folder/CHANNEL.csv`` for each channel without loss of digits, and return the paths.
    Reading these files needs no settings."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, series in recording.channels.items():
        path = folder / f"{name}.csv"
        text = io.StringIO(newline="")
        rows = csv.writer(text)
        rows.writerow(["time_s", *CANONICAL[name]])
        for time_s, values in zip(series.time_s.tolist(), series.values.tolist()):
            rows.writerow([repr(time_s), *map(repr, values)])
        replace_file(path, text.getvalue().encode())
        written[name] = path
    return written


def as_series(stamps: Stamps, unit_s: float, values: np.ndarray, zero: Decimal) -> Series:
    """Return a series with stamps (s) since ``zero``."""
    scale = Decimal(repr(unit_s))
    return Series(np.array([float((stamp - zero) * scale) for stamp in stamps]), values)
