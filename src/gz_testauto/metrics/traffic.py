"""Declare the metrics of campaigns with moving objects or lanes."""

import functools
import math
from typing import Callable, List, Sequence, Tuple

import numpy as np
import shapely

from gz_testauto.base.registry import Registry
from gz_testauto.metrics.efficiency import STANDING_MPS
from gz_testauto.metrics.encounters import (
    TTC_LIMIT_S,
    Encounter,
    encounters,
    greatest_drac_mps2,
    imminent,
    moving_objects,
    overlapping,
    placed,
    post_encroachment_s,
    social_intrusion,
)
from gz_testauto.metrics.interface import Compute, Metric, MetricContext
from gz_testauto.metrics.recording import FOOTPRINT_SERIES, LANE_SERIES, Recording

PERSONAL_M, INTIMATE_M = 1.2, 0.45
COMPLIANT_M, DISCOMFORT_M = 0.5, 0.2
YIELD_SHARE, YIELD_S = 0.2, 3.0

# Functions that return further metrics, for the arguments of ``moving_object_metrics``.
PERSON_METRICS = Registry("person metric", {})


def extra_metric(
    name: str, better: str, description: str, compute: Compute, unit: str = "", decimals: int = 2
) -> Metric:
    """Return a metric that exists only in some campaigns. It is part of results and exports, but
    not of tables and comparisons."""
    return Metric(
        name=name,
        unit=unit,
        decimals=decimals,
        better=better,
        completed_only=False,
        description=description,
        compute=compute,
    )


def _declare_extra(
    better: str, description: str, unit: str = "", decimals: int = 2
) -> Callable[[Compute], Metric]:
    """Return a decorator that creates an extra metric with the name of the decorated function."""
    return lambda compute: extra_metric(
        compute.__name__, better, description, compute, unit, decimals
    )


def _value_per_encounter(
    recording: Recording, compute: Callable[[Encounter], float]
) -> List[float]:
    return [compute(encounter) for encounter in encounters(recording) if len(encounter.time_s)]


@_declare_extra("higher", "smallest distance to a moving object", "m")
def object_distance_min_m(recording: Recording, context: MetricContext) -> float:
    """Return the smallest distance (m) between the outlines of the robot and a moving object, or
    NaN without moving objects."""
    return min(
        _value_per_encounter(recording, lambda encounter: float(encounter.distance_m.min())),
        default=math.nan,
    )


@_declare_extra(
    "higher", "smallest time to collision with a moving object at constant velocities", "s"
)
def object_ttc_min_s(recording: Recording, context: MetricContext) -> float:
    """Return the smallest time (s) to collision with a moving object, or NaN without moving
    objects. If no collision would occur, it is ``inf``, which is stored as NaN."""
    return min(
        _value_per_encounter(recording, lambda encounter: float(encounter.ttc_s.min())),
        default=math.nan,
    )


def _least_ttc_by_sample(recording: Recording) -> np.ndarray:
    least_ttc_s = np.full(len(recording.time_s), np.inf)
    for encounter in encounters(recording):
        rows = np.searchsorted(recording.time_s, encounter.time_s)
        least_ttc_s[rows] = np.minimum(least_ttc_s[rows], encounter.ttc_s)
    return least_ttc_s


def _integrate(recording: Recording, values: np.ndarray) -> float:
    """Return the integral over time of one value per sample, which applies until the next
    sample."""
    return float((np.diff(recording.time_s) * values[:-1]).sum())


def _mean_over_time(recording: Recording, values: np.ndarray) -> float:
    duration_s = recording.duration_s
    return _integrate(recording, values) / duration_s if duration_s > 0.0 else math.nan


@_declare_extra("lower", f"time with a time to collision below {TTC_LIMIT_S:g} s", "s")
def object_tet_s(recording: Recording, context: MetricContext) -> float:
    """Return the time-exposed time to collision (TET): the time with a time to collision below
    1.5 s, or NaN without moving objects."""
    if not encounters(recording):
        return math.nan
    return _integrate(recording, (_least_ttc_by_sample(recording) < TTC_LIMIT_S).astype(float))


@_declare_extra(
    "lower", f"integral of {TTC_LIMIT_S:g} s minus the time to collision below that", "s²"
)
def object_tit_s2(recording: Recording, context: MetricContext) -> float:
    """Return the time-integrated time to collision (TIT): the integral of 1.5 s minus the time to
    collision while this is positive, or NaN without moving objects."""
    if not encounters(recording):
        return math.nan
    return _integrate(recording, np.maximum(0.0, TTC_LIMIT_S - _least_ttc_by_sample(recording)))


@_declare_extra("lower", "largest deceleration that is needed to avoid a moving object", "m/s²")
def object_drac_max_mps2(recording: Recording, context: MetricContext) -> float:
    """Return the largest deceleration (m/s²) needed to avoid a crash (DRAC), or NaN without moving
    objects."""
    return max(_value_per_encounter(recording, greatest_drac_mps2), default=math.nan)


@_declare_extra("higher", "smallest post-encroachment time with a moving object", "s")
def object_pet_min_s(recording: Recording, context: MetricContext) -> float:
    """Return the smallest post-encroachment time (PET): the time (s) between robot and object at
    the same position, or NaN without moving objects. It is ``inf``, which is stored as NaN, if they
    share no position."""
    if FOOTPRINT_SERIES not in recording.series:
        return math.nan
    names = moving_objects(recording.series)
    return min((post_encroachment_s(recording, name) for name in names), default=math.nan)


def _share_within(
    limit_m: float, names: Sequence[str], recording: Recording, context: MetricContext
) -> float:
    """Return the share of the time in which the robot is nearer than ``limit_m`` to an object in
    ``names``, or to any object if ``names`` is empty; NaN without these objects."""
    near_values = np.zeros(len(recording.time_s))
    relevant = [
        encounter for encounter in encounters(recording) if not names or encounter.name in names
    ]
    for encounter in relevant:
        near_values[
            np.searchsorted(recording.time_s, encounter.time_s[encounter.distance_m < limit_m])
        ] = 1.0
    return _mean_over_time(recording, near_values) if relevant else math.nan


@_declare_extra("higher", f"share of the time at least {COMPLIANT_M:g} m from every moving object")
def space_compliance(recording: Recording, context: MetricContext) -> float:
    """Return the share of the time at least 0.5 m from all moving objects, or NaN without any."""
    return 1.0 - _share_within(COMPLIANT_M, (), recording, context)


@_declare_extra("lower", f"share of the time nearer than {DISCOMFORT_M:g} m to a moving object")
def discomfort_share(recording: Recording, context: MetricContext) -> float:
    """Return the share of the time nearer than 0.2 m to a moving object, or NaN without any."""
    return _share_within(DISCOMFORT_M, (), recording, context)


@_declare_extra(
    "neither",
    f"time below {YIELD_SHARE:g} of the greatest speed while the robot would collide within "
    f"{YIELD_S:g} s straight ahead at the greatest speed",
    "s",
)
def yielding_s(recording: Recording, context: MetricContext) -> float:
    """Return the time (s) for which the robot yields to a moving object, or NaN without objects. It
    yields below 0.2 times its top speed, if it would collide within 3 s at top speed."""
    if len(recording.time_s) < 2 or not moving_objects(recording.series):
        return math.nan
    steps_m = np.hypot(*recording.steps_m.T)
    slow = steps_m < YIELD_SHARE * context.max_linear_mps * np.diff(recording.time_s)
    is_blocked = imminent(recording, context.max_linear_mps, YIELD_S)
    return _integrate(recording, np.append(slow, False) & is_blocked)


@_declare_extra(
    "lower",
    f"collisions with moving objects while the robot was slower than {STANDING_MPS:g} m/s",
    decimals=0,
)
def struck_standing(recording: Recording, context: MetricContext) -> float:
    names = moving_objects(recording.series)
    struck = [contact for contact in recording.contacts if contact.partner in names]
    return float(sum(contact.speed_mps < STANDING_MPS for contact in struck))


@_declare_extra(
    "higher",
    "success weighted by time: time of the shortest path at the greatest speed over time driven",
)
def stl(recording: Recording, context: MetricContext) -> float:
    """Return the success weighted by time (STL), 0 to 1, or NaN if the shortest path is unknown."""
    if recording.shortest_path_m is None:
        return math.nan
    if not recording.completed:
        return 0.0
    fastest_s = recording.shortest_path_m / context.max_linear_mps
    return fastest_s / max(recording.duration_s, fastest_s)


@_declare_extra("lower", "time in which two moving objects overlap", "s")
def objects_overlap_s(recording: Recording, context: MetricContext) -> float:
    """Return the time (s) in which moving objects overlap, or NaN for fewer than two objects."""
    # Moving objects do not block each other, so they can overlap where their paths cross.
    if len(moving_objects(recording.series)) < 2:
        return math.nan
    return _integrate(recording, overlapping(recording).astype(float))


def _greatest_intrusion(
    names: Sequence[str], recording: Recording, context: MetricContext
) -> float:
    present_names = [name for name in moving_objects(recording.series) if name in names]
    return max((social_intrusion(recording, name) for name in present_names), default=math.nan)


def moving_object_metrics(
    people: Sequence[str], groups: Sequence[Sequence[str]] = ()
) -> Tuple[Metric, ...]:
    """Return the metrics of a campaign with moving objects. ``people`` are the names of the objects
    that are people, and ``groups`` are the groups of these names."""
    metrics = [
        object_distance_min_m,
        object_ttc_min_s,
        object_tet_s,
        object_tit_s2,
        object_drac_max_mps2,
        object_pet_min_s,
        space_compliance,
        discomfort_share,
        yielding_s,
        struck_standing,
        objects_overlap_s,
        stl,
    ]
    if people:
        names = tuple(people)
        for space, limit_m in (("personal", PERSONAL_M), ("intimate", INTIMATE_M)):
            description = f"share of the time nearer than {limit_m:g} m to a person"
            share = functools.partial(_share_within, limit_m, names)
            metrics.append(extra_metric(f"{space}_space_share", "lower", description, share))
        intrusion = functools.partial(_greatest_intrusion, names)
        description = "largest intrusion into the space around a person, 1 at its center"
        metrics.append(extra_metric("social_intrusion", "lower", description, intrusion))
        for name in PERSON_METRICS.names():
            metrics.extend(PERSON_METRICS.get(name)(people, groups))
    return tuple(metrics)


def lanes_of(recording: Recording) -> List[np.ndarray]:
    """Return the lanes of the recording, each of shape (n, 3): x, y and width (m)."""
    return [array for name, array in recording.series.items() if name.startswith(LANE_SERIES)]


@_declare_extra("lower", "share of the time with a part of the robot outside all lanes")
def lane_departure_share(recording: Recording, context: MetricContext) -> float:
    """Return the share of the time in which the robot is not completely on lanes, or NaN without
    lanes."""
    lanes, outline = lanes_of(recording), recording.series.get(FOOTPRINT_SERIES)
    if not lanes or outline is None:
        return math.nan
    surface = shapely.union_all([surface_of(lane) for lane in lanes])
    shapely.prepare(surface)
    outlines = shapely.polygons(placed(outline, recording.pose))
    return _mean_over_time(recording, (~shapely.covers(surface, outlines)).astype(float))


def surface_of(lane: np.ndarray) -> shapely.Geometry:
    """Return the polygon of a lane with center points of shape (n, 3): x, y and width (m)."""
    ends = shapely.buffer(shapely.points(lane[:, :2]), lane[:, 2] / 2)
    pieces = [shapely.MultiPolygon(pair).convex_hull for pair in zip(ends, ends[1:])]
    return shapely.union_all(pieces)


def _lane_error(recording: Recording) -> np.ndarray:
    """Return the distance (m) of the base to the nearest lane's center line at each sample, shape
    (n,), or an empty array without lanes."""
    positions = shapely.points(recording.pose[:, :2])
    lines = [shapely.LineString(lane[:, :2]) for lane in lanes_of(recording)]
    distances = [shapely.distance(line, positions) for line in lines]
    return np.asarray(np.min(distances, axis=0)) if distances else np.empty(0)


@_declare_extra("lower", "mean distance of the base to the nearest lane's center", "m")
def lane_error_mean_m(recording: Recording, context: MetricContext) -> float:
    """Return the mean distance (m) to the nearest lane's center line, or NaN without lanes."""
    errors = _lane_error(recording)
    return _mean_over_time(recording, errors) if len(errors) else math.nan


@_declare_extra("lower", "largest distance of the base to the nearest lane's center", "m")
def lane_error_max_m(recording: Recording, context: MetricContext) -> float:
    """Return the largest distance (m) to the nearest lane's center line, or minus infinity, which
    is stored as NaN, without lanes."""
    return float(np.max(_lane_error(recording), initial=-math.inf))


@_declare_extra(
    "lower", "share of the time in which the robot drives against the direction of its lane"
)
def wrong_way_share(recording: Recording, context: MetricContext) -> float:
    """Return the share of the time on the wrong side of the road, or NaN without lanes.

    The robot drives on the wrong side if its base is on lanes whose directions are all more than
    90° from its motion.
    """
    lanes = lanes_of(recording)
    if not lanes or len(recording.time_s) < 2:
        return math.nan
    points = shapely.points(recording.pose[:, :2])
    moves = recording.steps_m
    is_on_lane, is_along_lane = (np.zeros(len(moves), dtype=bool) for _ in range(2))
    for lane in lanes:
        is_inside = shapely.covers(surface_of(lane), points)[:-1]
        directions = _directions(lane, recording.pose[:-1, :2])
        is_on_lane |= is_inside
        is_along_lane |= is_inside & ((directions * moves).sum(axis=1) >= 0.0)
    speeds = np.hypot(*moves.T) / np.diff(recording.time_s)
    is_wrong, is_moving = is_on_lane & ~is_along_lane, speeds > STANDING_MPS
    # A stationary robot keeps the state of its latest motion.
    latest_sample = np.maximum.accumulate(np.where(is_moving, np.arange(len(moves)), -1))
    is_wrong_kept = np.where(latest_sample >= 0, is_wrong[latest_sample], False)
    return _mean_over_time(recording, np.append(is_wrong_kept, False).astype(float))


def _directions(lane: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return the unit direction of a lane, shape (n, 2), at the points nearest to ``positions``."""
    starts, legs = lane[:-1, :2], np.diff(lane[:, :2], axis=0)
    offsets = positions[:, None] - starts
    fractions = np.clip((offsets * legs).sum(axis=2) / (legs**2).sum(axis=1), 0.0, 1.0)
    distances_m = np.hypot(*np.moveaxis(offsets - fractions[..., None] * legs, 2, 0))
    units = legs / np.hypot(*legs.T)[:, None]
    return np.asarray(units[distances_m.argmin(axis=1)])


LANE_METRICS = (lane_departure_share, lane_error_mean_m, lane_error_max_m, wrong_way_share)
