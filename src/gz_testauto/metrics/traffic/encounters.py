"""How near robot and movers came to each other in space and in time.

Everything is computed from ground truth at every sample, of outlines seen from above: d is the
distance of two outlines, and the velocities are differences of poses. Only what has an outline in
the recording is looked at.

Sources: time to collision: Hayward 1972; TET, TIT: Minderhoud, Bovy 2001; deceleration to avoid a
crash: Cooper, Ferguson 1976, Almqvist, Hyden, Risser 1991; post-encroachment time: Allen, Shin,
Cooper 1978; personal space: Hall 1966; compliance: Francis et al. 2023; discomfort: Chen et al.
2019; social intrusion: Kirby 2010.
"""

import functools
from dataclasses import dataclass
from typing import List, Mapping, Tuple

import numpy as np
import shapely

from gz_testauto.metrics.recording import (
    ACTOR_SERIES,
    FOOTPRINT_SERIES,
    OUTLINE_SERIES,
    Recording,
)

TTC_LIMIT_S = 1.5
"""τ*: a shorter time to collision counts as exposed."""

CELL_M = 0.1
"""Of the ground that both pass over, for the post-encroachment time."""

FINER = 4
"""Poses between two samples, for the same."""

CLOSING_MPS = 1e-3
"""Slower than this nothing comes nearer: what is left is rounding."""

_OFF = 1e-12


@dataclass(frozen=True, eq=False)
class Encounter:
    """One mover and the robot, sample by sample, where both were present, (n,) each: the time (s),
    the distance of their outlines (m), the time to collision at constant velocities (s, ``inf``
    for none), and whether the mover was present one sample before as well."""

    mover: str
    time_s: np.ndarray
    distance_m: np.ndarray
    ttc_s: np.ndarray
    continued: np.ndarray


@functools.lru_cache(maxsize=2)  # a dozen metrics ask for those of the same recording
def encounters(recording: Recording) -> Tuple[Encounter, ...]:
    """Those of a recording, in order of names."""
    series = recording.series
    robot = series.get(FOOTPRINT_SERIES)
    if robot is None or len(recording.time_s) < 2:
        return ()
    return tuple(_encounter(recording, robot, name) for name in movers(series))


def movers(series: Mapping[str, np.ndarray]) -> List[str]:
    """Who moves and has an outline."""
    names = [key[len(ACTOR_SERIES) :] for key in series if key.startswith(ACTOR_SERIES)]
    return sorted(name for name in names if OUTLINE_SERIES + name in series)


def _encounter(recording: Recording, robot: np.ndarray, name: str) -> Encounter:
    there, _, _, first, second = _outlines(recording, robot, name)
    time_s, way = recording.time_s, recording.series[ACTOR_SERIES + name]
    distance = shapely.distance(shapely.polygons(first), shapely.polygons(second))
    closing = (_velocity(recording.pose, time_s) - _velocity(way, time_s))[there]
    ttc = np.where(distance <= 0.0, 0.0, time_to_collision_s(first, second, closing))
    continued = np.concatenate([[False], there[:-1]])[there]
    return Encounter(name, time_s[there], np.asarray(distance), ttc, continued)


def _outlines(recording: Recording, robot: np.ndarray, name: str) -> Tuple[np.ndarray, ...]:
    """At which samples (n,) a mover is there; the robot's poses then and its; both outlines."""
    way = recording.series[ACTOR_SERIES + name]
    there = np.isfinite(way).all(axis=1)
    ours, theirs = recording.pose[there], way[there]
    outline = recording.series[OUTLINE_SERIES + name]
    return there, ours, theirs, placed(robot, ours), placed(outline, theirs)


def imminent(recording: Recording, speed_mps: float, within_s: float) -> np.ndarray:
    """Whether at each sample (n,) somebody would be met ``within_s``, went the robot straight ahead
    at ``speed_mps`` and they on as they do."""
    found = np.zeros(len(recording.time_s), dtype=bool)
    robot = recording.series.get(FOOTPRINT_SERIES)
    if robot is None or len(recording.time_s) < 2:
        return found
    for name in movers(recording.series):
        there, ours, _, first, second = _outlines(recording, robot, name)
        way = recording.series[ACTOR_SERIES + name]
        ahead = speed_mps * np.column_stack([np.cos(ours[:, 2]), np.sin(ours[:, 2])])
        closing = ahead - _velocity(way, recording.time_s)[there]
        found[there] |= time_to_collision_s(first, second, closing) < within_s
    return found


def placed(outline: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """An outline (k, 2) at each pose (n, 3), (n, k, 2)."""
    cos, sin = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    turns = np.stack([np.stack([cos, sin], axis=-1), np.stack([-sin, cos], axis=-1)], axis=-2)
    return np.asarray(outline @ turns + poses[:, None, :2])


def _velocity(poses: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    """Return the velocity in the period before each sample, (n, 2).

    Where a mover was absent (NaN) before, it is that of the period after; where also after, 0. So
    no velocity leads from where a mover disappeared to where it appears again.
    """
    periods = np.full((len(poses) + 1, 2), np.nan)
    periods[1:-1] = np.diff(poses[:, :2], axis=0) / np.diff(time_s)[:, None]
    before, after = periods[:-1], periods[1:]
    return np.nan_to_num(np.where(np.isnan(before), after, before))


def time_to_collision_s(first: np.ndarray, second: np.ndarray, closing: np.ndarray) -> np.ndarray:
    """When convex outlines, (n, k, 2) and (n, m, 2), meet where the first moves at ``closing``
    (n, 2) as the second sees it, (n,): ``inf`` where they never do.

    By separating axes: two convex outlines touch while they overlap along the normals of all
    edges, and along each that begins and ends at times that are known.
    """
    enters = np.full(len(first), -np.inf)
    leaves = np.full(len(first), np.inf)
    edges = np.concatenate(
        [np.roll(one, -1, axis=1) - one for one in (first, second)], axis=1
    )  # (n, k + m, 2)
    for edge in range(edges.shape[1]):
        normal = np.stack([edges[:, edge, 1], -edges[:, edge, 0]], axis=-1)
        ours = np.einsum("nkd,nd->nk", first, normal)
        theirs = np.einsum("nkd,nd->nk", second, normal)
        speed = np.einsum("nd,nd->n", closing, normal)
        # ours + speed t overlaps theirs from `begin` to `end`
        gap_below = theirs.min(axis=1) - ours.max(axis=1)
        gap_above = theirs.max(axis=1) - ours.min(axis=1)
        still = np.abs(speed) < _OFF
        divisor = np.where(still, 1.0, speed)
        times = np.stack([gap_below / divisor, gap_above / divisor])
        apart = (gap_below > 0.0) | (gap_above < 0.0)
        begin = np.where(still, np.where(apart, np.inf, -np.inf), times.min(axis=0))
        end = np.where(still, np.where(apart, -np.inf, np.inf), times.max(axis=0))
        enters, leaves = np.maximum(enters, begin), np.minimum(leaves, end)
    meets = (enters <= leaves) & (leaves >= 0.0)
    return np.where(meets, np.maximum(enters, 0.0), np.inf)


def greatest_drac_mps2(encounter: Encounter) -> float:
    """The greatest deceleration that would just have avoided a crash: c²/2d, where the distance d
    shrinks at c; 0 where it never does."""
    if len(encounter.time_s) < 2:
        return 0.0
    distance = encounter.distance_m
    closing = -np.diff(distance) / np.diff(encounter.time_s)
    after = distance[1:]
    counts = (closing > CLOSING_MPS) & (after > 0.0) & encounter.continued[1:]
    if not counts.any():
        return 0.0
    return float((closing[counts] ** 2 / (2.0 * after[counts])).max())


def post_encroachment_s(recording: Recording, name: str) -> float:
    """Over cells of the ground that both cover, the least time from the first one's leaving to the
    second one's entering (s); 0 where they are there together, ``inf`` where there is no such
    cell."""
    way = recording.series[ACTOR_SERIES + name]
    there = np.isfinite(way).all(axis=1)
    if there.sum() < 2:
        return np.inf
    samples = np.flatnonzero(there)
    time_s, ours = _between(samples, recording.time_s, recording.pose)
    _, theirs = _between(samples, recording.time_s, way)
    outlines = (recording.series[FOOTPRINT_SERIES], recording.series[OUTLINE_SERIES + name])
    near = _near(ours, theirs, sum(float(np.hypot(*one.T).max()) for one in outlines))
    if not near[0].any():
        return np.inf
    times = [time_s[rows] for rows in near]
    places = [placed(one, poses[rows]) for one, poses, rows in zip(outlines, (ours, theirs), near)]
    both = shapely.intersection(*(shapely.union_all(shapely.polygons(one)) for one in places))
    if both.is_empty or both.area <= 0.0:
        return np.inf
    x_low, y_low, x_high, y_high = both.bounds
    grid = np.meshgrid(
        np.arange(x_low + CELL_M / 2, x_high, CELL_M), np.arange(y_low + CELL_M / 2, y_high, CELL_M)
    )
    cells = np.column_stack([axis.ravel() for axis in grid])
    cells = cells[shapely.contains_xy(both, *cells.T)]
    least = np.inf
    covers = [_covers(one, cells) for one in places]
    for cell in range(len(cells)):
        mine, others = (stamps[cover[:, cell]] for stamps, cover in zip(times, covers))
        if len(mine) and len(others):
            place = np.searchsorted(others, mine)
            after = others[np.minimum(place, len(others) - 1)]
            before = others[np.maximum(place - 1, 0)]
            gaps = np.minimum(np.abs(after - mine), np.abs(mine - before))
            least = min(least, float(gaps.min()))
    return least


def _between(
    samples: np.ndarray, time_s: np.ndarray, poses: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return times and poses at these samples, and further ones between each two in a row."""
    present = poses[samples]
    places = np.arange(FINER * (len(samples) - 1) + 1) / FINER
    followed = np.append(np.diff(samples) == 1, False)
    places = places[followed[places.astype(int)] | (places % 1.0 == 0.0)]
    columns = [time_s[samples], present[:, 0], present[:, 1], np.unwrap(present[:, 2])]
    finer = [np.interp(places, np.arange(len(samples)), column) for column in columns]
    return finer[0], np.column_stack(finer[1:])


def _near(ours: np.ndarray, theirs: np.ndarray, reach_m: float) -> Tuple[np.ndarray, np.ndarray]:
    """Which poses of each, (n,) each, are within reach of one that the other has at any time."""
    from scipy.spatial import cKDTree

    found = cKDTree(ours[:, :2]).query_ball_tree(cKDTree(theirs[:, :2]), reach_m)
    first = np.array([bool(one) for one in found])
    second = np.zeros(len(theirs), dtype=bool)
    second[np.unique(np.concatenate([np.array(one, dtype=int) for one in found]))] = True
    return first, second


def _covers(outlines: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Which cells' middles (c, 2) lie in which of the convex, counter-clockwise outlines (n, k, 2),
    (n, c)."""
    inside = np.ones((len(outlines), len(cells)), dtype=bool)
    for corner in range(outlines.shape[1]):
        here = outlines[:, corner]
        along = outlines[:, (corner + 1) % outlines.shape[1]] - here
        offset = cells[None] - here[:, None]
        inside &= along[:, None, 0] * offset[..., 1] - along[:, None, 1] * offset[..., 0] >= 0.0
    return inside


def social_intrusion(recording: Recording, name: str) -> float:
    """The greatest intrusion into the space around a person, 1 at its middle: a bell about the
    person that reaches 2 v, or 0.5 m, ahead, half of that behind and two thirds to the sides."""
    way = recording.series[ACTOR_SERIES + name]
    there = np.isfinite(way).all(axis=1)
    if not there.any():
        return 0.0
    pose, ours = way[there], recording.pose[there]
    speed = np.hypot(*_velocity(way, recording.time_s)[there].T)
    dx, dy = (ours[:, :2] - pose[:, :2]).T
    cos, sin = np.cos(pose[:, 2]), np.sin(pose[:, 2])
    along, across = cos * dx + sin * dy, cos * dy - sin * dx
    ahead = np.maximum(2.0 * speed, 0.5)
    sigma = np.where(along >= 0.0, ahead, ahead / 2.0)
    return float(np.exp(-0.5 * ((along / sigma) ** 2 + (across / (2.0 * ahead / 3.0)) ** 2)).max())
