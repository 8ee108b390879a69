"""Compute metrics of gates, tracks, regions, moving objects and lanes, for each outcome."""

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

LEAST_CLOSING_MPS = 1e-3  # slower changes of the clearance count as rounding errors


def task_metrics(spec: CampaignSpec) -> Tuple[Metric, ...]:
    """Return the metrics that only this campaign has, in addition to the installed ones."""
    metrics: List[Metric] = []
    tasks = spec.metrics
    if tasks.gates_m:
        metrics.append(
            extra_metric(
                "gates_passed",
                "higher",
                f"number of the {len(tasks.gates_m)} gates that were passed in order",
                functools.partial(_gates_passed, tuple(tasks.gates_m)),
                decimals=0,
            )
        )
    if tasks.track is not None:
        share_off_track = functools.partial(_time_share_outside, union_of(tasks.track))
        metrics.append(
            extra_metric(
                "off_track_share", "lower", "share of the time outside the track", share_off_track
            )
        )
    for name, region in tasks.regions.items():
        time_inside_s = functools.partial(_time_inside, union_of(region))
        description = f"time in the region {name}"
        metrics.append(
            extra_metric(f"time_in_{name}_s", "neither", description, time_inside_s, unit="s")
        )
    if spec.others_move:
        description = "smallest ratio of the clearance to the speed at which it decreases"
        metrics.append(
            extra_metric("ttc_min_s", "higher", description, least_time_to_collision_s, unit="s")
        )
        people = [actor for actor in spec.actors if PERSON in actor.tags]
        names = [name for actor in people for name in actor.names]
        groups = [group for actor in people for group in actor.groups]
        metrics.extend(moving_object_metrics(names, groups))
    if spec.has_road:
        metrics.extend(LANE_METRICS)
    return tuple(metrics)


def _gates_passed(
    gates: Sequence[Tuple[Tuple[float, float], Tuple[float, float]]],
    recording: Recording,
    context: MetricContext,
) -> float:
    """Return the number of gates crossed in order. ``gates`` are the two ends of each gate (m,
    world frame)."""
    positions = recording.pose[:, :2]
    if len(positions) < 2:
        return 0.0
    steps = shapely.linestrings(np.stack([recording.step_starts_m, positions[1:]], axis=1))
    index = gate_count = 0
    for gate in gates:
        crossings = np.flatnonzero(shapely.intersects(steps[index:], shapely.LineString(gate)))
        if not len(crossings):
            break
        index, gate_count = index + int(crossings[0]), gate_count + 1
    return float(gate_count)


def _time_inside(region: BaseGeometry, recording: Recording, context: MetricContext) -> float:
    """Return the time (s) for which the robot's base is in a region (world frame).

    Each sample applies until the next sample.
    """
    time_s = recording.time_s
    if len(time_s) < 2:
        return 0.0
    is_inside = shapely.intersects_xy(region, *recording.pose[:-1, :2].T)
    return float(np.diff(time_s)[is_inside].sum())


def _time_share_outside(
    region: BaseGeometry, recording: Recording, context: MetricContext
) -> float:
    if recording.duration_s <= 0.0:
        return math.nan
    return 1.0 - _time_inside(region, recording, context) / recording.duration_s


def least_time_to_collision_s(recording: Recording, context: MetricContext) -> float:
    """Return the smallest ratio (s) of the clearance to the speed at which it decreases, or NaN if
    it never decreases."""
    clearance, time_s = recording.clearance_m, recording.time_s
    if len(time_s) < 2:
        return math.nan
    with np.errstate(invalid="ignore"):  # infinite minus infinite
        closing = -np.diff(clearance) / np.diff(time_s)
    # When an object appears or the robot is kidnapped, the clearance changes abruptly without an
    # approach.
    is_abrupt = _is_object_new(recording) | recording.kidnapped
    nearer = np.isfinite(closing) & (closing > LEAST_CLOSING_MPS) & ~is_abrupt
    remaining_s = clearance[1:][nearer] / closing[nearer]
    return float(remaining_s.min()) if len(remaining_s) else math.nan


def _is_object_new(recording: Recording) -> np.ndarray:
    """Return at each sample after the first whether a moving object appears, shape (n − 1,)."""
    is_new = np.zeros(len(recording.time_s) - 1, dtype=bool)
    for name, trajectory in recording.series.items():
        if name.startswith(ACTOR_SERIES):
            is_present = np.isfinite(trajectory).all(axis=1)
            is_new |= is_present[1:] & ~is_present[:-1]
    return is_new
