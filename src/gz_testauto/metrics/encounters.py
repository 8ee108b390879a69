"""Compute distances and times between the robot and moving objects with an outline, from ground
truth.

Sources: time to collision: Hayward 1972; TET, TIT: Minderhoud, Bovy 2001; deceleration to avoid a
crash: Cooper, Ferguson 1976, Almqvist, Hyden, Risser 1991; post-encroachment time: Allen, Shin,
Cooper 1978; personal space: Hall 1966; compliance: Francis et al. 2023; discomfort: Chen et al.
2019; social intrusion: Kirby 2010.
"""

import functools
import itertools
import math
from dataclasses import dataclass
from typing import List, Mapping, Tuple

import numpy as np
import shapely

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.metrics.recording import (
    ACTOR_SERIES,
    FOOTPRINT_SERIES,
    OUTLINE_SERIES,
    Recording,
)

TTC_LIMIT_S = 1.5  # time to collision, τ* in the literature, below which the robot is exposed

# Size of the grid cells, and number of interpolated steps between two samples, for the
# post-encroachment time.
CELL_M = 0.1
INTERPOLATED_STEPS = 4

CLOSING_MPS = 1e-3  # slower changes of the distance count as rounding errors

_ZERO_SPEED = 1e-12  # upper limit of projected speeds that count as 0


@dataclass(frozen=True, eq=False)
class Encounter:
    """A moving object and the robot at the n samples at which the object exists.

    ``distance_m`` is the distance of their outlines. ``ttc_s`` is the time to collision at constant
    velocities, or ``inf``. ``continued`` is true if the object also exists at the previous sample.
    All arrays have shape (n,).
    """

    name: str
    time_s: np.ndarray
    distance_m: np.ndarray
    ttc_s: np.ndarray
    continued: np.ndarray


@functools.lru_cache(maxsize=2)  # a dozen metrics use the same encounters
def encounters(recording: Recording) -> Tuple[Encounter, ...]:
    """Return one encounter per moving object with an outline. The result is () without a footprint
    of the robot, and for fewer than two samples."""
    series = recording.series
    footprint = series.get(FOOTPRINT_SERIES)
    if footprint is None or len(recording.time_s) < 2:
        return ()
    return tuple(_encounter_with(recording, footprint, name) for name in moving_objects(series))


def moving_objects(series: Mapping[str, np.ndarray]) -> List[str]:
    """Return the sorted names of the moving objects with an outline."""
    names = [key[len(ACTOR_SERIES) :] for key in series if key.startswith(ACTOR_SERIES)]
    return sorted(name for name in names if OUTLINE_SERIES + name in series)


def _encounter_with(recording: Recording, footprint: np.ndarray, name: str) -> Encounter:
    is_present, _, _, robot_outlines, object_outlines = _outlines(recording, footprint, name)
    time_s, trajectory = recording.time_s, recording.series[ACTOR_SERIES + name]
    distance = shapely.distance(shapely.polygons(robot_outlines), shapely.polygons(object_outlines))
    closing = (robot_velocity_mps(recording) - velocity_mps(trajectory, time_s))[is_present]
    ttc = time_to_collision_s(robot_outlines, object_outlines, closing)
    ttc = np.where(distance <= 0.0, 0.0, ttc)
    is_continued = np.append(False, is_present[:-1] & ~recording.kidnapped)[is_present]
    return Encounter(name, time_s[is_present], np.asarray(distance), ttc, is_continued)


def _outlines(recording: Recording, footprint: np.ndarray, name: str) -> Tuple[np.ndarray, ...]:
    """Return the presence of an object, shape (n,), and at its m samples the poses of robot and
    object, shape (m, 3), and their outlines, shape (m, k, 2)."""
    trajectory = recording.series[ACTOR_SERIES + name]
    is_present = np.isfinite(trajectory).all(axis=1)
    robot_poses, object_poses = recording.pose[is_present], trajectory[is_present]
    outline = recording.series[OUTLINE_SERIES + name]
    return (
        is_present,
        robot_poses,
        object_poses,
        placed(footprint, robot_poses),
        placed(outline, object_poses),
    )


def overlapping(recording: Recording) -> np.ndarray:
    """Return whether the outlines of two moving objects overlap at each sample, shape (n,)."""
    series, overlap = recording.series, np.zeros(len(recording.time_s), dtype=bool)
    for first, second in itertools.combinations(moving_objects(series), 2):
        poses, other_poses = series[ACTOR_SERIES + first], series[ACTOR_SERIES + second]
        outlines = series[OUTLINE_SERIES + first], series[OUTLINE_SERIES + second]
        reach_m = sum(float(np.hypot(*outline.T).max()) for outline in outlines)
        with np.errstate(invalid="ignore"):  # NaN while an object is absent
            is_near = np.hypot(*(poses - other_poses)[:, :2].T) < reach_m
        if is_near.any():
            shapes = (
                shapely.polygons(placed(o, p[is_near]))
                for o, p in zip(outlines, (poses, other_poses))
            )
            overlap[is_near] |= shapely.area(shapely.intersection(*shapes)) > 0.0
    return overlap


def imminent(recording: Recording, speed_mps: float, within_s: float) -> np.ndarray:
    """Return at each sample, shape (n,), whether the robot would collide within ``within_s`` if it
    drove straight ahead at ``speed_mps`` and moving objects kept their velocities."""
    collides = np.zeros(len(recording.time_s), dtype=bool)
    footprint = recording.series.get(FOOTPRINT_SERIES)
    if footprint is None or len(recording.time_s) < 2:
        return collides
    for name in moving_objects(recording.series):
        is_present, robot_poses, _, first, second = _outlines(recording, footprint, name)
        trajectory = recording.series[ACTOR_SERIES + name]
        robot_velocity = speed_mps * np.column_stack(
            [np.cos(robot_poses[:, 2]), np.sin(robot_poses[:, 2])]
        )
        closing = robot_velocity - velocity_mps(trajectory, recording.time_s)[is_present]
        collides[is_present] |= time_to_collision_s(first, second, closing) < within_s
    return collides


def placed(outline: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Return an outline, shape (k, 2), at each of n poses (x, y, yaw), as shape (n, k, 2)."""
    cos, sin = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    rotations = np.stack([np.stack([cos, sin], axis=-1), np.stack([-sin, cos], axis=-1)], axis=-2)
    return matrix_product(outline, rotations) + poses[:, None, :2]


def velocity_mps(poses: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    """Return the mean velocity, shape (n, 2), in the period before each of n poses, shape (n, 3).

    If the previous pose is unknown (NaN), it is the velocity in the period after the sample, or 0.
    """
    return _mean_velocity_mps(np.diff(poses[:, :2], axis=0), time_s)


def robot_velocity_mps(recording: Recording) -> np.ndarray:
    """Return the robot's mean velocity as in :func:`velocity_mps`, without kidnappings."""
    return _mean_velocity_mps(recording.steps_m, recording.time_s)


def _mean_velocity_mps(steps_m: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    periods = np.full((len(time_s) + 1, 2), np.nan)
    periods[1:-1] = steps_m / np.diff(time_s)[:, None]
    period_starts, period_ends = periods[:-1], periods[1:]
    return np.nan_to_num(np.where(np.isnan(period_starts), period_ends, period_starts))


def time_to_collision_s(first: np.ndarray, second: np.ndarray, closing: np.ndarray) -> np.ndarray:
    """Return the times (s), shape (n,), until two convex outlines touch. They are 0 for outlines
    that overlap, and ``inf`` for outlines that do not meet.

    ``first`` has shape (n, k, 2), ``second`` (n, m, 2), and the velocity ``closing`` of the first
    relative to the second (n, 2).
    """
    # Separating axes: two convex outlines touch while their projections onto the normals of all
    # edges overlap.
    enters = np.full(len(first), -np.inf)
    leaves = np.full(len(first), np.inf)
    edges = np.concatenate(
        [np.roll(outline, -1, axis=1) - outline for outline in (first, second)], axis=1
    )  # (n, k + m, 2)
    for edge in range(edges.shape[1]):
        normal = np.stack([edges[:, edge, 1], -edges[:, edge, 0]], axis=-1)
        robot_extent = np.einsum("nkd,nd->nk", first, normal)
        object_extent = np.einsum("nkd,nd->nk", second, normal)
        speed = np.einsum("nd,nd->n", closing, normal)
        # The projections overlap from the time `begin` to `end`.
        gap_below = object_extent.min(axis=1) - robot_extent.max(axis=1)
        gap_above = object_extent.max(axis=1) - robot_extent.min(axis=1)
        is_still = np.abs(speed) < _ZERO_SPEED
        divisor = np.where(is_still, 1.0, speed)
        times = np.stack([gap_below / divisor, gap_above / divisor])
        is_apart = (gap_below > 0.0) | (gap_above < 0.0)
        begin = np.where(is_still, np.where(is_apart, np.inf, -np.inf), times.min(axis=0))
        end = np.where(is_still, np.where(is_apart, -np.inf, np.inf), times.max(axis=0))
        enters, leaves = np.maximum(enters, begin), np.minimum(leaves, end)
    meets = (enters <= leaves) & (leaves >= 0.0)
    return np.where(meets, np.maximum(enters, 0.0), np.inf)


def greatest_drac_mps2(encounter: Encounter) -> float:
    """Return the largest deceleration c²/(2d) (m/s²) that is needed to avoid the object. The
    distance d decreases at the speed c. The result is 0 if it never decreases."""
    if len(encounter.time_s) < 2:
        return 0.0
    distance = encounter.distance_m
    closing = -np.diff(distance) / np.diff(encounter.time_s)
    next_distance = distance[1:]
    is_approaching = (closing > CLOSING_MPS) & (next_distance > 0.0) & encounter.continued[1:]
    if not is_approaching.any():
        return 0.0
    return float((closing[is_approaching] ** 2 / (2.0 * next_distance[is_approaching])).max())


def post_encroachment_s(recording: Recording, name: str) -> float:
    """Return the smallest time (s) between the presence of the robot and of the object ``name`` on
    the same grid cell, or ``inf`` if they share no cell."""
    trajectory = recording.series[ACTOR_SERIES + name]
    is_present = np.isfinite(trajectory).all(axis=1)
    if is_present.sum() < 2:
        return np.inf
    samples = np.flatnonzero(is_present)
    time_s, robot_poses = _interpolate(samples, recording, recording.pose)
    _, object_poses = _interpolate(samples, recording, trajectory)
    outlines = (recording.series[FOOTPRINT_SERIES], recording.series[OUTLINE_SERIES + name])
    near_samples = _poses_in_reach(
        robot_poses, object_poses, sum(float(np.hypot(*outline.T).max()) for outline in outlines)
    )
    if not near_samples[0].any():
        return np.inf
    times = [time_s[rows] for rows in near_samples]
    sweeps = [
        placed(outline, poses[rows])
        for outline, poses, rows in zip(outlines, (robot_poses, object_poses), near_samples)
    ]
    shared_area = shapely.intersection(
        *(shapely.union_all(shapely.polygons(swept)) for swept in sweeps)
    )
    if shared_area.is_empty or shared_area.area <= 0.0:
        return np.inf
    x_low, y_low, x_high, y_high = shared_area.bounds
    grid = np.meshgrid(
        np.arange(x_low + CELL_M / 2, x_high, CELL_M), np.arange(y_low + CELL_M / 2, y_high, CELL_M)
    )
    cells = np.column_stack([axis.ravel() for axis in grid])
    cells = cells[shapely.contains_xy(shared_area, *cells.T)]
    least_s = np.inf
    covers = [_covers(swept, cells) for swept in sweeps]
    for cell in range(len(cells)):
        robot_s, object_s = (stamps[cover[:, cell]] for stamps, cover in zip(times, covers))
        if len(robot_s) and len(object_s):
            index = np.searchsorted(object_s, robot_s)
            next_s = object_s[np.minimum(index, len(object_s) - 1)]
            previous_s = object_s[np.maximum(index - 1, 0)]
            gaps = np.minimum(np.abs(next_s - robot_s), np.abs(robot_s - previous_s))
            least_s = min(least_s, float(gaps.min()))
    return least_s


def _interpolate(
    samples: np.ndarray, recording: Recording, poses: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return times and poses at the row indices ``samples``. Steps between consecutive rows, except
    kidnappings, are divided into :data:`INTERPOLATED_STEPS` interpolated steps."""
    sampled_poses = poses[samples]
    indices = np.arange(INTERPOLATED_STEPS * (len(samples) - 1) + 1) / INTERPOLATED_STEPS
    has_next_row = np.append((np.diff(samples) == 1) & ~recording.kidnapped[samples[:-1]], False)
    indices = indices[has_next_row[indices.astype(int)] | (indices % 1.0 == 0.0)]
    columns = [
        recording.time_s[samples],
        sampled_poses[:, 0],
        sampled_poses[:, 1],
        np.unwrap(sampled_poses[:, 2]),
    ]
    interpolated = [np.interp(indices, np.arange(len(samples)), column) for column in columns]
    return interpolated[0], np.column_stack(interpolated[1:])


def _poses_in_reach(
    robot_poses: np.ndarray, object_poses: np.ndarray, reach_m: float
) -> Tuple[np.ndarray, np.ndarray]:
    """Return whether each robot pose is within ``reach_m`` of an object pose, shape (n,), and
    the reverse, shape (m,)."""
    from scipy.spatial import cKDTree

    neighbors = cKDTree(robot_poses[:, :2]).query_ball_tree(cKDTree(object_poses[:, :2]), reach_m)
    is_robot_near = np.array([bool(indices) for indices in neighbors])
    is_object_near = np.zeros(len(object_poses), dtype=bool)
    near_objects = np.concatenate([np.array(indices, dtype=int) for indices in neighbors])
    is_object_near[np.unique(near_objects)] = True
    return is_robot_near, is_object_near


def _covers(outlines: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return whether each outline, shape (n, k, 2), convex and counter-clockwise, contains each of
    the cell centers ``cells``, shape (c, 2), as shape (n, c)."""
    is_inside = np.ones((len(outlines), len(cells)), dtype=bool)
    for corner in range(outlines.shape[1]):
        corners = outlines[:, corner]
        edges = outlines[:, (corner + 1) % outlines.shape[1]] - corners
        offset = cells[None] - corners[:, None]
        is_inside &= edges[:, None, 0] * offset[..., 1] - edges[:, None, 1] * offset[..., 0] >= 0.0
    return is_inside


def social_intrusion(recording: Recording, name: str) -> float:
    """Return the largest intrusion of the robot into the space around the person ``name``, from 0
    to 1 at the center.

    It is a Gaussian function of the robot's position. Its standard deviation ahead of the person is
    2 s times the person's speed, but at least 0.5 m. It is half of that behind the person, and two
    thirds of it to the sides.
    """
    trajectory = recording.series[ACTOR_SERIES + name]
    is_present = np.isfinite(trajectory).all(axis=1)
    if not is_present.any():
        return 0.0
    pose, robot_poses = trajectory[is_present], recording.pose[is_present]
    speed = np.hypot(*velocity_mps(trajectory, recording.time_s)[is_present].T)
    dx, dy = (robot_poses[:, :2] - pose[:, :2]).T
    cos, sin = np.cos(pose[:, 2]), np.sin(pose[:, 2])
    along_m, across_m = cos * dx + sin * dy, cos * dy - sin * dx
    sigma_ahead = np.maximum(2.0 * speed, 0.5)
    sigma = np.where(along_m >= 0.0, sigma_ahead, sigma_ahead / 2.0)
    squared_distance = (along_m / sigma) ** 2 + (across_m / (2.0 * sigma_ahead / 3.0)) ** 2
    return math.exp(-0.5 * float(squared_distance.min()))
