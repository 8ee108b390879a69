"""Reading of recorded tracks: CSV and JSON files, and the text files of the ETH and UCY data."""

import csv
import functools
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.disk import read_text
from gz_testauto.base.errors import SpecError
from gz_testauto.spec.model import LARGEST

COLUMNS = ("time", "id", "x", "y")
HEADING = "heading"

# The columns of a row with this number of columns in a text file.
TEXT_COLUMNS = {
    4: ("frame", "id", "x", "y"),
    8: ("frame", "id", "x", "z", "y", "vx", "vz", "vy"),
}

MOST_BYTES = 20_000_000  # parsing takes up to 10 s and 0.5 GB of memory

SHOWN_IDS = 5


@dataclass(frozen=True, eq=False)
class RecordedTrack:
    """The samples of one person: times (n,) (s), positions (n, 2) (m), and, if they were recorded,
    headings (n,) (rad) without jumps."""

    id: str
    time_s: np.ndarray
    points_m: np.ndarray
    yaw_rad: Optional[np.ndarray] = None


class _Sample(NamedTuple):
    place: str  # the file and the line
    time_s: float
    id: str
    x_m: float
    y_m: float
    yaw_rad: float


def has_times(path: Path) -> bool:
    """Return whether a file has times in seconds, by its suffix; other files have frames."""
    return path.suffix.lower() in (".csv", ".json")


def read_tracks(
    path: Path, frame_rate_hz: Optional[float], scale: float, max_speed_mps: float
) -> Tuple[RecordedTrack, ...]:
    """Return the tracks of a file in the order of their first rows. ``scale`` is the length (m) of
    one unit. Raises ``SpecError`` for an invalid file."""
    if has_times(path) and frame_rate_hz is not None:
        raise SpecError(f"{path}: the file has times in seconds; remove 'frame_rate_hz'")
    if not has_times(path) and frame_rate_hz is None:
        raise SpecError(
            f"{path}: a file that is neither .csv nor .json has frames; add 'frame_rate_hz'"
        )
    try:
        status = path.stat()
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}; correct 'tracks'") from error
    if status.st_size > MOST_BYTES:
        raise SpecError(
            f"{path}: the file has {status.st_size / 1e6:.0f} MB, more than "
            f"{MOST_BYTES / 1e6:.0f} MB; keep fewer tracks or fewer samples in it"
        )
    version = (status.st_mtime_ns, status.st_size)
    return _read_version(path, version, frame_rate_hz, scale, max_speed_mps)


@functools.lru_cache(maxsize=8)
def _read_version(
    path: Path,
    version: Tuple[int, int],
    frame_rate_hz: Optional[float],
    scale: float,
    max_speed_mps: float,
) -> Tuple[RecordedTrack, ...]:
    text = read_text(path, SpecError, MOST_BYTES)
    if frame_rate_hz is not None:
        samples = _read_frames(path, text, frame_rate_hz)
    else:
        samples = (_read_json if path.suffix.lower() == ".json" else _read_csv)(path, text)
    by_id: Dict[str, List[_Sample]] = {}
    for sample in samples:
        by_id.setdefault(sample.id, []).append(sample)
    if not by_id:
        raise SpecError(f"{path}: the file has no samples; use another file")
    single = [id_ for id_, samples_of_id in by_id.items() if len(samples_of_id) == 1]
    if single:
        place = by_id[single[0]][0].place
        more = f", as {len(single) - 1} others" if len(single) > 1 else ""
        raise SpecError(
            f"{place}: the track {single[0]!r} has only one sample{more}; remove such tracks: "
            f"{', '.join(single[:SHOWN_IDS])}{', ...' if len(single) > SHOWN_IDS else ''}"
        )
    return tuple(_track(samples_of_id, scale, max_speed_mps) for samples_of_id in by_id.values())


def _track(samples: List[_Sample], scale: float, max_speed_mps: float) -> RecordedTrack:
    samples = sorted(samples, key=lambda sample: sample.time_s)
    for before, after in zip(samples, samples[1:]):
        passed_s = after.time_s - before.time_s
        moved_m = scale * math.hypot(after.x_m - before.x_m, after.y_m - before.y_m)
        if not passed_s:
            raise SpecError(
                f"{after.place}: the track {after.id!r} has a second sample at the time "
                f"{after.time_s:g} s; remove one of them"
            )
        if moved_m > max_speed_mps * passed_s:
            raise SpecError(
                f"{after.place}: the track {after.id!r} moves {moved_m:.2f} m in {passed_s:.3g} s, "
                f"faster than 'max_speed_mps', {max_speed_mps:g} m/s; correct the samples or the "
                "frame rate and scale, or increase 'max_speed_mps'"
            )
    values = np.array([sample[3:] for sample in samples])
    time_s = np.array([sample.time_s for sample in samples])
    has_heading = not np.isnan(values[:, 2]).any()
    yaw_rad = np.unwrap(values[:, 2]) if has_heading else None
    return RecordedTrack(samples[0].id, time_s, scale * values[:, :2], yaw_rad)


def _read_csv(path: Path, text: str) -> Iterator[_Sample]:
    rows = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    try:
        names = _require_columns(f"{path}:1", [name.strip() for name in next(rows, [])])
        for row in rows:
            if row:
                place = f"{path}:{rows.line_num}"
                yield _sample(place, _cells(place, names, row))
    except csv.Error as error:
        raise SpecError(f"{path}:{rows.line_num}: {error}; correct the row") from error


def _read_json(path: Path, text: str) -> Iterator[_Sample]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{path}: the file is not JSON: {error}; correct it") from error
    if isinstance(content, dict):
        names = _require_columns(str(path), list(content))
        columns = list(content.values())
        if (
            not all(isinstance(column, list) for column in columns)
            or len(set(map(len, columns))) != 1
        ):
            raise SpecError(f"{path}: the columns must be arrays of one length; correct them")
        content = [dict(zip(names, row)) for row in zip(*columns)]
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise SpecError(
            f"{path}: the file must have an array of objects, or an object of arrays; correct it"
        )
    for number, row in enumerate(content, 1):
        place = f"{path}: sample {number}"
        _require_columns(place, list(row))
        yield _sample(place, row)


def _read_frames(path: Path, text: str, frame_rate_hz: float) -> Iterator[_Sample]:
    names: Sequence[str] = ()
    for line, row in enumerate(text.splitlines(), 1):
        values = row.replace(",", " ").split()
        if not values or values[0].startswith("#"):
            continue
        place = f"{path}:{line}"
        names = names or TEXT_COLUMNS.get(len(values), ())
        if not names:
            expected = " or ".join(" ".join(columns) for columns in TEXT_COLUMNS.values())
            raise SpecError(f"{place}: the row has {len(values)} columns; they must be {expected}")
        cells: Dict[str, Any] = dict(_cells(place, names, values))
        cells["time"] = _number(place, "frame", cells["frame"]) / frame_rate_hz
        cells["id"] = f"{_number(place, 'id', cells['id']):.15g}"
        yield _sample(place, cells)


def _require_columns(place: str, names: List[str]) -> List[str]:
    if sorted(names) not in (sorted(COLUMNS), sorted((*COLUMNS, HEADING))):
        raise SpecError(
            f"{place}: the columns are {','.join(names)[:80] or 'missing'}; they must be "
            f"{','.join(COLUMNS)} or {','.join((*COLUMNS, HEADING))}"
        )
    return names


def _cells(place: str, names: Sequence[str], values: Sequence[str]) -> Mapping[str, str]:
    if len(values) != len(names):
        raise SpecError(
            f"{place}: the row has {len(values)} columns, but the first row has {len(names)}; "
            "correct the row"
        )
    return dict(zip(names, values))


def _sample(place: str, cells: Mapping[str, Any]) -> _Sample:
    id_ = cells["id"]
    if not isinstance(id_, (str, int)) or isinstance(id_, bool) or not str(id_).strip():
        raise SpecError(f"{place}: id is {id_!r}; it must be a text or a whole number")
    time_s, x_m, y_m = (_number(place, name, cells[name]) for name in ("time", "x", "y"))
    yaw_rad = _number(place, HEADING, cells[HEADING]) if HEADING in cells else math.nan
    return _Sample(place, time_s, str(id_).strip(), x_m, y_m, yaw_rad)


def _number(place: str, name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not abs(number) <= LARGEST:
        raise SpecError(
            f"{place}: {name} is {str(value)[:40]!r}; it must be a number from {-LARGEST:g} to "
            f"{LARGEST:g}; correct the row, or subtract an offset from all rows"
        )
    return number
