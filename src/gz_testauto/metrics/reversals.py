"""Reversals: how often the robot goes over from driving ahead to driving back, or the other way.

The direction is that of the base's true forward velocity wherever it is faster than standing
(0.02 m/s); standing in between changes nothing. The cusps of a path in Bench-MR.

E. Heiden et al., "Bench-MR: a motion planning benchmark for wheeled mobile robots", IEEE Robotics
and Automation Letters 6 (2021) 4536–4543.
"""

import numpy as np

from gz_testauto.metrics.duration import STANDING_MPS
from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording


def reversals(recording: Recording, context: MetricContext) -> float:
    """Changes of the driving direction."""
    forward_mps = recording.twist[:, 0]
    directions = np.sign(forward_mps[np.abs(forward_mps) > STANDING_MPS])
    return float(np.count_nonzero(np.diff(directions)))


REVERSALS = Metric(
    name="reversals",
    heading="reversals",
    decimals=1,
    better="lower",
    completed_only=True,
    in_table=False,
    in_comparison=False,
    description="changes between driving ahead and back",
    compute=reversals,
)
