"""Compare the recording of a repeated trial with that of its first run.

The recordings are compared bit for bit. If they differ, the size and the start of the difference
are computed.
"""

from dataclasses import dataclass
from typing import Tuple

import numpy as np

from gz_testauto.metrics.recording import Recording


@dataclass(frozen=True)
class ReplayComparison:
    """The comparison of two recordings of the same trial.

    ``identical`` is true if every stamp, pose and command is bit-identical. Otherwise
    ``first_difference_s`` is the simulated time of the first sample that differs. ``deviation_m``
    is the largest distance between the two paths at the same sample, over the samples that both
    recordings contain. ``samples`` are the numbers of samples of both.
    """

    identical: bool
    first_difference_s: float
    deviation_m: float
    samples: Tuple[int, int]


def compare_recordings(first: Recording, second: Recording) -> ReplayComparison:
    """Compare two recordings of the same trial, each of which must contain at least one sample."""
    common = min(len(first.time_s), len(second.time_s))
    same = np.ones(common, dtype=bool)
    for name in ("time_s", "pose", "command"):
        a, b = getattr(first, name)[:common], getattr(second, name)[:common]
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        same &= equal.reshape(common, -1).all(axis=1)
    lengths = (len(first.time_s), len(second.time_s))
    identical = bool(same.all()) and lengths[0] == lengths[1]
    differing = np.flatnonzero(~same)
    begin = int(differing[0]) if len(differing) else common - 1
    offset = first.pose[:common, :2] - second.pose[:common, :2]
    return ReplayComparison(
        identical,
        float("nan") if identical else float(first.time_s[begin]),
        float(np.hypot(offset[:, 0], offset[:, 1]).max()),
        lengths,
    )
