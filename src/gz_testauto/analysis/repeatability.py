"""Whether a trial that was run again ended the same.

Owns the comparison of two recordings of one trial: bit for bit, and where that fails, by how
much and from when on.
"""

from dataclasses import dataclass
from typing import Tuple

import numpy as np

from gz_testauto.metrics.recording import Recording


@dataclass(frozen=True)
class Agreement:
    """How far two recordings agree.

    ``identical`` means every stamp, pose and command is the same, every bit. Otherwise
    ``first_difference_s`` is the simulated time of the first sample that is not, and
    ``deviation_m`` the largest distance between the two paths at the same sample, over the
    samples that both have; ``samples`` are the lengths of the two.
    """

    identical: bool
    first_difference_s: float
    deviation_m: float
    samples: Tuple[int, int]


def compare_recordings(first: Recording, second: Recording) -> Agreement:
    """Compare two recordings of what should be the same trial; both hold a sample."""
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
    return Agreement(
        identical,
        float("nan") if identical else float(first.time_s[begin]),
        float(np.hypot(offset[:, 0], offset[:, 1]).max()),
        lengths,
    )
