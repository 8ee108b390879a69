"""Recordings as files: one ``.npz`` per trial, whole or absent.

Every array of :class:`~gz_testauto.metrics.recording.Recording` under its own name, contact
episodes as columns ``contact_*``, further series and numbers as ``series_*`` and ``number_*``.
Plain arrays only, so that ``numpy.load`` reads them without trusting anyone.
"""

import io
import math
import tokenize
import zipfile
from pathlib import Path
from typing import Optional

import numpy as np

from gz_testauto.errors import ResultsError
from gz_testauto.metrics.recording import ContactEpisode, Recording
from gz_testauto.results.directory import write_atomically

FORMAT = 1

_ARRAYS = (
    "time_s",
    "pose",
    "twist",
    "command",
    "clearance_m",
    "cycle_time_s",
    "cycle_cpu_s",
)
_LATER_ARRAYS = ("z_m", "roll_pitch_rad")
"""Those that recordings of before lack."""
_HEADER_BYTES = 16_384
"""Of an array's file; what ``numpy.savez`` writes before the numbers takes some hundred."""
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_LENGTHS = ("shortest_path_m", "published_path_m")
"""Not known is NaN; recordings of before have none that is published."""

_SERIES, _NUMBER = "series_", "number_"


def write_trajectory(path: Path, recording: Recording) -> None:
    """Write a recording durably. Raises ``ResultsError`` when the disk refuses."""
    contacts = recording.contacts
    stream = io.BytesIO()
    np.savez(
        stream,
        format=np.array(FORMAT),
        **{name: getattr(recording, name) for name in _ARRAYS},
        **{
            name: array
            for name, array in ((name, getattr(recording, name)) for name in _LATER_ARRAYS)
            if array is not None
        },
        **{_SERIES + name: series for name, series in recording.series.items()},
        **{_NUMBER + name: np.array(number) for name, number in recording.numbers.items()},
        contact_start_s=np.array([episode.start_s for episode in contacts], dtype=float),
        contact_end_s=np.array([episode.end_s for episode in contacts], dtype=float),
        contact_partner=np.array([episode.partner for episode in contacts], dtype=str),
        contact_speed_mps=np.array([episode.speed_mps for episode in contacts], dtype=float),
        contact_source=np.array([episode.source for episode in contacts], dtype=str),
        wall_time_s=np.array(recording.wall_time_s),
        completed=np.array(recording.completed),
        **{name: np.array(_or_nan(getattr(recording, name))) for name in _LENGTHS},
    )
    write_atomically(path, stream.getvalue())


def read_trajectory(path: Path) -> Recording:
    """Read a recording back, every bit. Raises ``ResultsError`` naming the file."""
    try:
        _require_plain_arrays(path)
        with np.load(path, allow_pickle=False) as data:
            if int(data["format"]) != FORMAT:
                raise ResultsError(f"{path}: has format {int(data['format'])}, not {FORMAT}")
            contacts = zip(
                data["contact_start_s"].tolist(),
                data["contact_end_s"].tolist(),
                data["contact_partner"].tolist(),
                data["contact_speed_mps"].tolist(),
                data["contact_source"].tolist(),
            )
            return Recording(
                **{name: data[name] for name in _ARRAYS},
                **{name: data[name] for name in _LATER_ARRAYS if name in data.files},
                contacts=tuple(ContactEpisode(*episode) for episode in contacts),
                wall_time_s=float(data["wall_time_s"]),
                completed=bool(data["completed"]),
                **{name: _or_none(float(data[name])) for name in _LENGTHS if name in data.files},
                series={
                    name[len(_SERIES) :]: data[name]
                    for name in data.files
                    if name.startswith(_SERIES)
                },
                numbers={
                    name[len(_NUMBER) :]: float(data[name])
                    for name in data.files
                    if name.startswith(_NUMBER)
                },
            )
    except (OSError, EOFError, LookupError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise ResultsError(f"{path}: cannot be read as a trajectory: {error}") from error


def _require_plain_arrays(path: Path) -> None:
    """Raise ``ValueError`` unless the file is what :func:`write_trajectory` writes: arrays that
    are as large as their headers say, and not compressed.

    Headers that say more than the file holds would have numpy ask for that much memory.
    """
    size = path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
                raise ValueError(f"{entry.filename} is compressed or encrypted")
            if entry.file_size != entry.compress_size or entry.file_size > size:
                raise ValueError(f"{entry.filename} is larger than its file")
            with archive.open(entry) as stream:
                header = stream.read(_HEADER_BYTES)
            _require_whole_array(entry, io.BytesIO(header))


def _require_whole_array(entry: zipfile.ZipInfo, stream: io.BytesIO) -> None:
    version = np.lib.format.read_magic(stream)
    if version not in _HEADER_READERS:
        raise ValueError(f"{entry.filename} is of numpy's format {version}")
    try:
        shape, _, dtype = _HEADER_READERS[version](stream)
    except (SyntaxError, tokenize.TokenError, MemoryError, RecursionError) as error:
        raise ValueError(f"{entry.filename} has no header of numpy's") from error
    count = math.prod(shape)
    if dtype.kind not in "biufU" or (count and not dtype.itemsize):
        raise ValueError(f"{entry.filename} holds no numbers or text")
    if count * dtype.itemsize != entry.file_size - stream.tell():
        raise ValueError(f"{entry.filename} is not as large as its header says")


def _or_nan(length_m: Optional[float]) -> float:
    return np.nan if length_m is None else length_m


def _or_none(length_m: float) -> Optional[float]:
    return None if np.isnan(length_m) else length_m
