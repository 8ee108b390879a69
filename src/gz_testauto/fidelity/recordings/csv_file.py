"""Channels in CSV files: the columns that a specification names, in SI.

Stamps are read as decimal numbers and counted from the first one, so that those of the Unix epoch
keep their nanoseconds.
"""

import csv
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

import numpy as np

from gz_testauto.errors import ResultsError
from gz_testauto.fidelity.recordings.recording import CHANNELS, Recording, Series
from gz_testauto.registry import unknown_name

Stamps = List[Decimal]

CANONICAL: Dict[str, Sequence[str]] = {
    "imu": ("wx_radps", "wy_radps", "wz_radps", "ax_mps2", "ay_mps2", "az_mps2"),
    "odometry": ("x_m", "y_m", "yaw_rad"),
    "wheels": ("left_mps", "right_mps"),
    "command": ("linear_mps", "angular_radps"),
}
"""Columns beside ``time_s`` of the files that :func:`write_channels` writes."""


def read_columns(path: Path, time: str, names: Sequence[str]) -> Tuple[Stamps, np.ndarray]:
    """Stamps (n,) in the file's unit and columns (n, k). Raises ``ResultsError`` with file, line
    and column."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            heading = [name.strip() for name in next(rows, [])]
            for name in (time, *names):
                if name not in heading:
                    raise ResultsError(f"{path}:1: {unknown_name('column', name, heading)}")
            places = [heading.index(name) for name in names]
            stamps: Stamps = []
            values: List[List[float]] = []
            for row in rows:
                if not row:
                    continue
                if len(row) < len(heading):
                    raise ResultsError(
                        f"{path}:{rows.line_num}: has {len(row)} columns; the heading has "
                        f"{len(heading)}"
                    )
                stamps.append(Decimal(row[heading.index(time)].strip()))
                values.append([float(row[place]) for place in places])
    except (ValueError, InvalidOperation) as error:
        raise ResultsError(f"{path}:{rows.line_num}: is no number: {error}") from error
    except (OSError, UnicodeError, csv.Error) as error:
        raise ResultsError(f"{path}: cannot be read as CSV: {error}") from error
    return stamps, np.array(values, dtype=float).reshape(len(values), len(names))


def write_channels(recording: Recording, folder: Path) -> Dict[str, Path]:
    """Write each channel to ``folder/CHANNEL.csv`` as it is read without any setting; every digit
    is kept. Raises ``OSError``."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, series in recording.channels.items():
        path = folder / f"{name}.csv"
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["time_s", *CANONICAL[name]])
            for time_s, values in zip(series.time_s.tolist(), series.values.tolist()):
                rows.writerow([repr(time_s), *map(repr, values)])
        written[name] = path
    assert set(written) <= set(CHANNELS)
    return written


def as_series(stamps: Stamps, unit_s: float, values: np.ndarray, zero: Decimal) -> Series:
    """Stamps in seconds since ``zero``."""
    scale = Decimal(repr(unit_s))
    return Series(np.array([float((stamp - zero) * scale) for stamp in stamps]), values)
