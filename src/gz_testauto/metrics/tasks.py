"""Compute metrics of tasks: passed gates, share of time outside a track, time in regions, and
others.

The metrics exist only in some campaigns. Metrics of gates, tracks and regions exist if the section
``metrics`` of the campaign defines them. Metrics of moving objects exist if objects move, and
metrics of lanes if there is a road. The position of the robot is that of its base. The metrics are
computed for the whole trajectory, whatever the outcome.
"""

import functools
import math
from typing import List, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import ACTOR_SERIES, Recording
from gz_testauto.metrics.traffic import LANE_METRICS, extra_metric, moving_object_metrics
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.regions import union_of

PERSON = "person"
"""The tag that marks actors as people."""

LEAST_CLOSING_MPS = 1e-3
"""Smallest closing speed (m/s). Slower changes of the clearance count as rounding errors."""


def task_metrics(spec: CampaignSpec) -> Tuple[Metric, ...]:
    """Return the metrics that exist in a campaign in addition to the installed ones."""
    found: List[Metric] = []
    wanted = spec.metrics
    if wanted.gates_m:
        found.append(
            extra_metric(
                "gates_passed",
                "higher",
                f"number of the {len(wanted.gates_m)} gates that were passed in order",
                functools.partial(_gates_passed, tuple(wanted.gates_m)),
                decimals=0,
            )
        )
    if wanted.track is not None:
        off = functools.partial(_share_outside, union_of(wanted.track))
        found.append(
            extra_metric("off_track_share", "lower", "share of the time outside the track", off)
        )
    for name, region in wanted.regions.items():
        inside = functools.partial(_time_inside, union_of(region))
        what = f"time in the region {name}"
        found.append(extra_metric(f"time_in_{name}_s", "neither", what, inside, unit="s"))
    if spec.others_move:
        what = "smallest ratio of the clearance to the speed at which it decreases"
        found.append(extra_metric("ttc_min_s", "higher", what, least_time_to_collision_s, unit="s"))
        people = [one for one in spec.actors if PERSON in one.tags]
        names = [name for one in people for name in one.names]
        groups = [group for one in people for group in one.groups]
        found.extend(moving_object_metrics(names, groups))
    if spec.has_road:
        found.extend(LANE_METRICS)
    return tuple(found)


def _gates_passed(
    gates: Sequence[Tuple[Tuple[float, float], Tuple[float, float]]],
    recording: Recording,
    context: MetricContext,
) -> float:
    """Return the number of gates that the robot crossed in order. A gate is a segment between two
    points.
    """
    places = recording.pose[:, :2]
    if len(places) < 2:
        return 0.0
    steps = shapely.linestrings(np.stack([places[:-1], places[1:]], axis=1))
    at = passed = 0
    for gate in gates:
        crossed = np.flatnonzero(shapely.intersects(steps[at:], shapely.LineString(gate)))
        if not len(crossed):
            break
        at, passed = at + int(crossed[0]), passed + 1
    return float(passed)


def _time_inside(region: BaseGeometry, recording: Recording, context: MetricContext) -> float:
    """Return the time (s) in which the robot was in a region. Each sample counts until the next
    one.
    """
    time_s = recording.time_s
    if len(time_s) < 2:
        return 0.0
    inside = shapely.intersects_xy(region, *recording.pose[:-1, :2].T)
    return float(np.diff(time_s)[inside].sum())


def _share_outside(region: BaseGeometry, recording: Recording, context: MetricContext) -> float:
    if recording.duration_s <= 0.0:
        return math.nan
    return 1.0 - _time_inside(region, recording, context) / recording.duration_s


def least_time_to_collision_s(recording: Recording, context: MetricContext) -> float:
    """Return the smallest time to collision (s), computed from the clearance.

    For each period in which the clearance decreases, it is the ratio of the clearance to the speed
    of the decrease. The result is NaN if the clearance never decreases.

    The nearest obstacle can change between two samples. Periods in which a moving object appears
    are excluded, because the clearance then changes abruptly without an approach.
    """
    clearance, time_s = recording.clearance_m, recording.time_s
    if len(time_s) < 2:
        return math.nan
    with np.errstate(invalid="ignore"):  # infinite minus infinite
        closing = -np.diff(clearance) / np.diff(time_s)
    nearer = np.isfinite(closing) & (closing > LEAST_CLOSING_MPS) & ~_appears(recording)
    left = clearance[1:][nearer] / closing[nearer]
    return float(left.min()) if len(left) else math.nan


def _appears(recording: Recording) -> np.ndarray:
    """Return whether a moving object appears in each period, shape (n − 1,).

    An object appears if it is present at the end and absent at the start of the period.
    """
    found = np.zeros(len(recording.time_s) - 1, dtype=bool)
    for name, trajectory in recording.series.items():
        if name.startswith(ACTOR_SERIES):
            present = np.isfinite(trajectory).all(axis=1)
            found |= present[1:] & ~present[:-1]
    return found
