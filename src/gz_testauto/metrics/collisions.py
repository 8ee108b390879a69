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


COLLISIONS = Metric(
    name="collisions",
    decimals=0,
    better="lower",
    completed_only=False,
    in_table=False,
    in_comparison=False,
    description="contact episodes",
    compute=collisions,
)
IMPACT_SPEED = Metric(
    name="impact_speed_mps",
    heading="impact speed",
    unit="m/s",
    better="lower",
    completed_only=False,
    in_table=False,
    in_comparison=False,
    description="speed at the first touch",
    compute=impact_speed_mps,
)
