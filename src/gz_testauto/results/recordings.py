"""Write and read recordings: one ``.npz`` file per trial, written atomically.

A file contains every array of :class:`~gz_testauto.metrics.recording.Recording` under its name,
contact episodes as columns ``contact_*``, and further series and numbers as ``series_*`` and
``number_*``. ``numpy.load`` reads it without ``allow_pickle``.
"""

import functools
import io
import math
import re
import tokenize
import zipfile
from pathlib import Path
from typing import Dict, Optional, Tuple, get_type_hints

import numpy as np

from gz_testauto.base.disk import read_file
from gz_testauto.base.errors import ResultsError
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
_OPTIONAL_ARRAYS = ("z_m", "roll_pitch_rad", "goal_times_s")
# Largest accepted header of an array. ``numpy.savez`` writes a few hundred bytes.
_HEADER_BYTES = 16_384
_MAGIC_BYTES = np.lib.format.MAGIC_LEN
# Size of the field with the header's length, by the version of numpy's format.
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4}
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_LENGTHS = ("shortest_path_m", "published_path_m")  # arrays with a length, NaN if unknown

_SERIES, _NUMBER, _CONTACT = "series_", "number_", "contact_"
_CONTACT_FIELDS = get_type_hints(ContactEpisode)


def write_trajectory(path: Path, recording: Recording) -> None:
    """Write a recording durably. Raises ``ResultsError`` if the file cannot be written."""
    contacts = recording.contacts
    stream = io.BytesIO()
    np.savez(
        stream,
        format=np.array(FORMAT),
        **{name: getattr(recording, name) for name in _ARRAYS},
        **{
            name: array
            for name, array in ((name, getattr(recording, name)) for name in _OPTIONAL_ARRAYS)
            if array is not None
        },
        **{_SERIES + name: series for name, series in recording.series.items()},
        **{_NUMBER + name: np.array(number) for name, number in recording.numbers.items()},
        **{
            _CONTACT + name: np.array([getattr(episode, name) for episode in contacts], dtype=kind)
            for name, kind in _CONTACT_FIELDS.items()
        },
        wall_time_s=np.array(recording.wall_time_s),
        completed=np.array(recording.completed),
        **{name: np.array(_none_as_nan(getattr(recording, name))) for name in _LENGTHS},
    )
    write_atomically(path, stream.getvalue())


def read_trajectory(path: Path) -> Recording:
    """Read a recording, bit-identical to the stored one. Raises ``ResultsError`` if the file cannot
    be read."""
    try:
        data = read_arrays(path)
        if int(data["format"]) != FORMAT:
            raise ResultsError(f"{path}: has format {int(data['format'])}, not {FORMAT}")
        contacts = zip(*(data[_CONTACT + name].tolist() for name in _CONTACT_FIELDS))
        return Recording(
            **{name: data[name] for name in _ARRAYS},
            **{name: data[name] for name in _OPTIONAL_ARRAYS if name in data},
            contacts=tuple(ContactEpisode(*episode) for episode in contacts),
            wall_time_s=float(data["wall_time_s"]),
            completed=bool(data["completed"]),
            **{name: _nan_as_none(float(data[name])) for name in _LENGTHS},
            series={name[len(_SERIES) :]: data[name] for name in data if name.startswith(_SERIES)},
            numbers={
                name[len(_NUMBER) :]: float(data[name]) for name in data if name.startswith(_NUMBER)
            },
        )
    except (
        OSError,
        EOFError,
        LookupError,
        NotImplementedError,
        TypeError,
        ValueError,
        zipfile.BadZipFile,
    ) as error:
        raise ResultsError(f"{path}: the file cannot be read as a trajectory: {error}") from error


def read_arrays(path: Path, most_unpacked: int = 0) -> Dict[str, np.ndarray]:
    """Return every array of an ``.npz`` file, by its name.

    Compressed arrays are accepted only if ``most_unpacked`` is positive. It limits the size (bytes)
    of all arrays together. Raises ``OSError``, ``ValueError`` or ``zipfile.BadZipFile`` unless the
    arrays contain numbers or text, and have the sizes in their headers.
    """
    # numpy.load would allocate the memory that a damaged header states, even if it exceeds the size
    # of the file. It is also several times slower for the many small arrays of a recording.
    content = read_file(path)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        for entry in entries:
            is_stored = entry.compress_type == zipfile.ZIP_STORED
            if not (is_stored or most_unpacked) or entry.flag_bits & 1:
                raise ValueError(f"{entry.filename} is compressed or encrypted")
            if is_stored and entry.file_size != entry.compress_size:
                raise ValueError(f"the size of {entry.filename} exceeds the size of its file")
        size, most_bytes = sum(entry.file_size for entry in entries), most_unpacked or len(content)
        if size > most_bytes:
            raise ValueError(
                f"the size of its arrays is {size} bytes; it must be at most {most_bytes}"
            )
        arrays = {}
        for entry in entries:
            with archive.open(entry) as stream:  # without a size, more than stated is unpacked
                array = _parse_npy(entry.filename, stream.read(entry.file_size))
            arrays[re.sub(r"\.npy$", "", entry.filename)] = array
        return arrays


def _parse_npy(name: str, content: bytes) -> np.ndarray:
    version = np.lib.format.read_magic(io.BytesIO(content[:_MAGIC_BYTES]))
    if version not in _LENGTH_BYTES:
        raise ValueError(
            f"{name} uses version {version} of the NumPy file format, which is not supported"
        )
    header_start = _MAGIC_BYTES + _LENGTH_BYTES[version]
    data_start = header_start + int.from_bytes(content[_MAGIC_BYTES:header_start], "little")
    if data_start > _HEADER_BYTES:
        raise ValueError(f"{name} has no valid header")
    try:
        shape, is_column_major, dtype = _header(version, content[_MAGIC_BYTES:data_start])
    except (SyntaxError, tokenize.TokenError, MemoryError, RecursionError) as error:
        raise ValueError(f"{name} has no valid header") from error
    value_count = math.prod(shape)
    if dtype.kind not in "biufU" or (value_count and not dtype.itemsize):
        raise ValueError(f"{name} contains neither numbers nor text")
    if value_count * dtype.itemsize != len(content) - data_start:
        raise ValueError(f"the size of {name} differs from the size in its header")
    if not value_count:
        return np.empty(shape, dtype)
    values = np.frombuffer(content, dtype, offset=data_start)
    return values.reshape(shape, order="F" if is_column_major else "C").copy(order="K")


@functools.lru_cache(maxsize=256)  # cached, since most arrays of a recording have the same shape
def _header(version: Tuple[int, int], text: bytes) -> Tuple[Tuple[int, ...], bool, np.dtype]:
    """Parse the header of an array: its shape, whether it is in Fortran order, and its type."""
    return _HEADER_READERS[version](io.BytesIO(text))  # type: ignore[no-any-return]


def _none_as_nan(length_m: Optional[float]) -> float:
    return np.nan if length_m is None else length_m


def _nan_as_none(length_m: float) -> Optional[float]:
    return None if np.isnan(length_m) else length_m
