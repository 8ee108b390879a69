"""Declare the metrics of campaigns with moving objects (movers) or lanes.

:mod:`gz_testauto.metrics.traffic.encounters` computes those of moving objects.
"""

import functools
import math
from typing import Callable, List, Sequence, Tuple

import numpy as np
import shapely

from gz_testauto.metrics.interface import Compute, Metric, MetricContext
from gz_testauto.metrics.recording import FOOTPRINT_SERIES, LANE_SERIES, Recording
from gz_testauto.metrics.traffic.encounters import (
    TTC_LIMIT_S,
    Encounter,
    encounters,
    greatest_drac_mps2,
    imminent,
    movers,
    placed,
    post_encroachment_s,
    social_intrusion,
)

PERSONAL_M, INTIMATE_M = 1.2, 0.45
COMPLIANT_M, DISCOMFORT_M = 0.5, 0.2
YIELD_SHARE, YIELD_S = 0.2, 3.0
STANDING_MPS = 0.02
"""Speed below which a robot counts as standing."""


def extra_metric(
    name: str, better: str, description: str, compute: Compute, unit: str = "", decimals: int = 2
) -> Metric:
    """Return a metric of only some campaigns: in results and exports, in no table or comparison."""
    return Metric(
        name=name,
        unit=unit,
        decimals=decimals,
        better=better,
        completed_only=False,
        description=description,
        compute=compute,
    )


def mover_metrics(people: Sequence[str]) -> Tuple[Metric, ...]:
    """Return the metrics of a campaign with moving objects; ``people`` are the names of persons."""
    found = [
        extra_metric(
            "mover_distance_min_m", "higher", "least distance to a mover", _least_distance, "m"
        ),
        extra_metric(
            "mover_ttc_min_s",
            "higher",
            "least time to collision with a mover, both going on as they do",
            _least_ttc,
            "s",
        ),
        extra_metric(
            "mover_tet_s",
            "lower",
            f"time with less than {TTC_LIMIT_S:g} s to a collision with a mover",
            _exposed,
            "s",
        ),
        extra_metric(
            "mover_tit_s2",
            "lower",
            f"what of {TTC_LIMIT_S:g} s to a collision with a mover was missing, over time",
            _integrated,
            "s²",
        ),
        extra_metric(
            "mover_drac_max_mps2",
            "lower",
            "greatest deceleration needed to avoid a mover",
            _greatest_drac,
            "m/s²",
        ),
        extra_metric(
            "mover_pet_min_s",
            "higher",
            "least time between one leaving the ground that both cover and the other entering it",
            _least_pet,
            "s",
        ),
        extra_metric(
            "space_compliance",
            "higher",
            f"share of the time {COMPLIANT_M:g} m and more from every mover",
            functools.partial(_share_apart, COMPLIANT_M),
        ),
        extra_metric(
            "discomfort_share",
            "lower",
            f"share of the time nearer than {DISCOMFORT_M:g} m to a mover",
            functools.partial(_share_within, DISCOMFORT_M, ()),
        ),
        extra_metric(
            "yielding_s",
            "neither",
            f"time below {YIELD_SHARE:g} of the greatest speed while somebody would be met within "
            f"{YIELD_S:g} s straight ahead at that speed",
            _yielding,
            "s",
        ),
        extra_metric(
            "struck_standing",
            "lower",
            f"collisions with movers in which the robot was slower than {STANDING_MPS:g} m/s",
            _struck_standing,
            decimals=0,
        ),
        extra_metric(
            "stl",
            "higher",
            "success weighted by time: the time of the shortest way, of the world without movers, "
            "at the robot's greatest speed, over that taken",
            _success_by_time,
        ),
    ]
    if people:
        names = tuple(people)
        for metric, limit_m in (("personal", PERSONAL_M), ("intimate", INTIMATE_M)):
            found.append(
                extra_metric(
                    f"{metric}_space_share",
                    "lower",
                    f"share of the time nearer than {limit_m:g} m to a person",
                    functools.partial(_share_within, limit_m, names),
                )
            )
        intrusion = functools.partial(_greatest_intrusion, names)
        what = "greatest intrusion into the space around a person, 1 at its middle"
        found.append(extra_metric("social_intrusion", "lower", what, intrusion))
    return tuple(found)


def lane_metrics() -> Tuple[Metric, ...]:
    """Return the metrics of a campaign that has a road."""
    return (
        extra_metric(
            "lane_departure_share",
            "lower",
            "share of the time with a part of the robot off all lanes",
            _off_lanes,
        ),
        extra_metric(
            "lane_error_mean_m",
            "lower",
            "mean distance of the base to the nearest lane's center",
            _mean_aside,
            "m",
        ),
        extra_metric(
            "lane_error_max_m",
            "lower",
            "greatest distance of the base to the nearest lane's center",
            _most_aside,
            "m",
        ),
    )


def _values(
    recording: Recording, value: Callable[[Encounter], float], names: Sequence[str] = ()
) -> List[float]:
    return [
        value(one)
        for one in encounters(recording)
        if len(one.time_s) and (not names or one.mover in names)
    ]


def _least_distance(recording: Recording, context: MetricContext) -> float:
    return min(_values(recording, lambda one: float(one.distance_m.min())), default=math.nan)


def _least_ttc(recording: Recording, context: MetricContext) -> float:
    """Return the least time to collision (s); without any collision ``inf``, stored as NaN."""
    return min(_values(recording, lambda one: float(one.ttc_s.min())), default=math.nan)


def _least_by_sample(recording: Recording) -> np.ndarray:
    """Return the least time (s) to a collision with any moving object at each sample, (n,)."""
    least = np.full(len(recording.time_s), np.inf)
    for one in encounters(recording):
        rows = np.searchsorted(recording.time_s, one.time_s)
        least[rows] = np.minimum(least[rows], one.ttc_s)
    return least


def _held(recording: Recording, values: np.ndarray) -> float:
    """Return the integral over time of ``values``, each of which holds until the next sample."""
    return float((np.diff(recording.time_s) * values[:-1]).sum())


def _exposed(recording: Recording, context: MetricContext) -> float:
    if not encounters(recording):
        return math.nan
    return _held(recording, (_least_by_sample(recording) < TTC_LIMIT_S).astype(float))


def _integrated(recording: Recording, context: MetricContext) -> float:
    if not encounters(recording):
        return math.nan
    return _held(recording, np.maximum(0.0, TTC_LIMIT_S - _least_by_sample(recording)))


def _greatest_drac(recording: Recording, context: MetricContext) -> float:
    return max(_values(recording, greatest_drac_mps2), default=math.nan)


def _least_pet(recording: Recording, context: MetricContext) -> float:
    if FOOTPRINT_SERIES not in recording.series:
        return math.nan
    return min(
        (post_encroachment_s(recording, name) for name in movers(recording.series)),
        default=math.nan,
    )


def _share_within(
    limit_m: float, names: Sequence[str], recording: Recording, context: MetricContext
) -> float:
    near = np.zeros(len(recording.time_s))
    found = [one for one in encounters(recording) if not names or one.mover in names]
    if not found or recording.duration_s <= 0.0:
        return math.nan
    for one in found:
        near[np.searchsorted(recording.time_s, one.time_s[one.distance_m < limit_m])] = 1.0
    return _held(recording, near) / recording.duration_s


def _share_apart(limit_m: float, recording: Recording, context: MetricContext) -> float:
    return 1.0 - _share_within(limit_m, (), recording, context)


def _yielding(recording: Recording, context: MetricContext) -> float:
    if len(recording.time_s) < 2 or not movers(recording.series):
        return math.nan
    way_m = np.hypot(*np.diff(recording.pose[:, :2], axis=0).T)
    slow = way_m < YIELD_SHARE * context.max_linear_mps * np.diff(recording.time_s)
    met = imminent(recording, context.max_linear_mps, YIELD_S)
    return _held(recording, np.append(slow, False) & met)


def _struck_standing(recording: Recording, context: MetricContext) -> float:
    names = movers(recording.series)
    return float(
        sum(
            episode.partner in names and episode.speed_mps < STANDING_MPS
            for episode in recording.contacts
        )
    )


def _success_by_time(recording: Recording, context: MetricContext) -> float:
    if recording.shortest_path_m is None:
        return math.nan
    if not recording.completed:
        return 0.0
    fastest_s = recording.shortest_path_m / context.max_linear_mps
    return fastest_s / max(recording.duration_s, fastest_s)


def _greatest_intrusion(
    names: Sequence[str], recording: Recording, context: MetricContext
) -> float:
    there = [name for name in movers(recording.series) if name in names]
    return max((social_intrusion(recording, name) for name in there), default=math.nan)


def lanes_of(recording: Recording) -> List[np.ndarray]:
    """Return the center and width of each lane, (k, 3): x, y, width (m)."""
    return [array for name, array in recording.series.items() if name.startswith(LANE_SERIES)]


def _off_lanes(recording: Recording, context: MetricContext) -> float:
    lanes, outline = lanes_of(recording), recording.series.get(FOOTPRINT_SERIES)
    if not lanes or outline is None or recording.duration_s <= 0.0:
        return math.nan
    surface = shapely.union_all([surface_of(lane) for lane in lanes])
    shapely.prepare(surface)
    bodies = shapely.polygons(placed(outline, recording.pose))
    off = ~shapely.covers(surface, bodies)
    return _held(recording, off.astype(float)) / recording.duration_s


def surface_of(lane: np.ndarray) -> shapely.Geometry:
    """Return the area that a lane covers; ``lane`` is x, y and width (m), (k, 3)."""
    ends = shapely.buffer(shapely.points(lane[:, :2]), lane[:, 2] / 2)
    pieces = [shapely.MultiPolygon(pair).convex_hull for pair in zip(ends, ends[1:])]
    return shapely.union_all(pieces)


def _aside(recording: Recording) -> np.ndarray:
    """Return the distances (m), (n,), of base and nearest lane's center; empty without lanes."""
    places = shapely.points(recording.pose[:, :2])
    lines = [shapely.LineString(lane[:, :2]) for lane in lanes_of(recording)]
    apart = [shapely.distance(line, places) for line in lines]
    return np.asarray(np.min(apart, axis=0)) if apart else np.empty(0)


def _mean_aside(recording: Recording, context: MetricContext) -> float:
    aside = _aside(recording)
    if not len(aside) or recording.duration_s <= 0.0:
        return math.nan
    return _held(recording, aside) / recording.duration_s


def _most_aside(recording: Recording, context: MetricContext) -> float:
    return float(np.max(_aside(recording), initial=-math.inf))
