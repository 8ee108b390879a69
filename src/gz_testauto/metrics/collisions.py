"""Collisions: how many contact episodes there were, and how fast the first one was.

What a collision is, and when two touches are one, is decided where they are recorded: see
:class:`~gz_testauto.metrics.recording.ContactEpisode`.
"""

import math

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import Recording


def collisions(recording: Recording, context: MetricContext) -> float:
    """Number of contact episodes."""
    return float(len(recording.contacts))


def impact_speed_mps(recording: Recording, context: MetricContext) -> float:
    """The robot's speed (m/s) at its first touch; NaN when it touched nothing."""
    return recording.contacts[0].speed_mps if recording.contacts else math.nan


COLLISIONS = Metric("collisions", "", "lower", False, collisions, "contact episodes", 0)
IMPACT_SPEED = Metric(
    "impact_speed_mps", "m/s", "lower", False, impact_speed_mps, "speed at the first touch"
)
