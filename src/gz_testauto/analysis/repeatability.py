"""Compare the recording of a repeated trial with that of its first run, bit for bit."""

import hashlib
from dataclasses import dataclass
from typing import Dict, Tuple

import numpy as np

from gz_testauto.metrics.recording import Recording


@dataclass(frozen=True)
class ReplayComparison:
    """The result of the comparison of two recordings of the same trial.

    ``identical`` is true if all :func:`compared_arrays` are bit-identical. ``first_difference_s``
    is the time of the first sample that differs, or NaN. ``deviation_m`` is the largest distance
    between the paths at the same sample. ``samples`` are the numbers of samples.
    """

    identical: bool
    first_difference_s: float
    deviation_m: float
    samples: Tuple[int, int]


def compared_arrays(recording: Recording) -> Dict[str, np.ndarray]:
    """Return the arrays of a recording, by name, that must be equal in each repetition of a
    trial."""
    names = ("time_s", "pose", "twist", "command", "clearance_m", "z_m", "roll_pitch_rad")
    arrays = {name: getattr(recording, name) for name in (*names, "goal_times_s")}
    arrays.update({f"series {name}": array for name, array in recording.series.items()})
    return {name: np.asarray(array) for name, array in arrays.items() if array is not None}


def recording_bits(recording: Recording) -> str:
    """Return 16 hexadecimal digits of a hash of :func:`compared_arrays`."""
    digest = hashlib.sha256()
    for name, array in sorted(compared_arrays(recording).items()):
        values = np.ascontiguousarray(array)
        if values.dtype.kind == "f":  # NaN has several representations
            values = np.where(np.isnan(values), np.nan, values)
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()[:16]


def compare_recordings(first: Recording, second: Recording) -> ReplayComparison:
    """Compare two recordings, each with at least one sample."""
    lengths = (len(first.time_s), len(second.time_s))
    common_length = min(lengths)
    is_same = np.ones(common_length, dtype=bool)
    first_arrays, second_arrays = compared_arrays(first), compared_arrays(second)
    identical = lengths[0] == lengths[1] and first_arrays.keys() == second_arrays.keys()
    for name in first_arrays.keys() & second_arrays.keys():
        a, b = first_arrays[name], second_arrays[name]
        if (len(a), len(b)) == lengths and a.shape[1:] == b.shape[1:]:
            a, b = a[:common_length], b[:common_length]
            equal = (a == b) | (np.isnan(a) & np.isnan(b))
            is_same &= equal.reshape(common_length, -1).all(axis=1)
        else:
            identical &= np.array_equal(a, b, equal_nan=True)
    identical &= bool(is_same.all())
    differing = np.flatnonzero(~is_same)
    first_index = int(differing[0]) if len(differing) else common_length - 1
    offset = first.pose[:common_length, :2] - second.pose[:common_length, :2]
    return ReplayComparison(
        identical,
        float("nan") if identical else float(first.time_s[first_index]),
        float(np.hypot(offset[:, 0], offset[:, 1]).max()),
        lengths,
    )
