"""Success weighted by path length: ``S · L / max(P, L)``, in [0, 1].

S is 1 for a trial that reached the goal and 0 otherwise, P the path driven and L the shortest
path for this footprint in this world. Failures count as 0, so that a planner which only solves
the easy worlds gains nothing by it. Anderson et al., "On evaluation of embodied navigation
agents", arXiv:1807.06757, 2018.
"""

import math

from gz_testauto.metrics.distance import distance_m
from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording


def spl(recording: Recording, context: MetricContext) -> float:
    """``S · L / max(P, L)``; NaN when a trial succeeded and the shortest path is not known."""
    if not recording.completed:
        return 0.0
    shortest_m = recording.shortest_path_m
    if shortest_m is None or shortest_m <= 0.0:
        return math.nan
    return shortest_m / max(distance_m(recording, context), shortest_m)


SPL = Metric(
    name="spl",
    heading="SPL",
    decimals=3,
    better="higher",
    smallest_relevant=0.05,
    completed_only=False,
    description="success weighted by path length, failures 0",
    compute=spl,
)
