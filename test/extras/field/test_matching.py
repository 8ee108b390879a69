"""Scans are matched to the map again after a stretch without anything in range."""

import numpy as np
import pytest

from gz_testauto.extras.field.matching import (
    Rays,
    Reference,
    composed,
    map_reference,
    match_scans,
    relative,
)
from gz_testauto.grid.map_server import MapFile

HALL_M, RANGE_M = 30.0, 8.0
ANGLES = np.linspace(-2.3, 2.3, 181)
TRUE = np.array([[3.0 + 0.07 * step, 3.0 + 0.07 * step, np.pi / 4] for step in range(343)])
RATE = 10  # scans for each correction of the localizer


def ranges_m(pose):
    """Return the ranges (m) to the walls of an empty square hall; inf out of range."""
    angles = ANGLES + pose[2]
    with np.errstate(divide="ignore"):
        to_walls = [
            np.maximum((HALL_M - position) / direction, -position / direction)
            for position, direction in ((pose[0], np.cos(angles)), (pose[1], np.sin(angles)))
        ]
    nearest = np.minimum(*to_walls)
    return np.where(nearest < RANGE_M, nearest, np.inf)


def walls():
    along = np.arange(0.0, HALL_M, 0.05)
    points = [np.column_stack([along, np.full_like(along, end)]) for end in (0.0, HALL_M)]
    points += [side[:, ::-1] for side in points]
    normals = np.repeat([[0, 1], [0, -1], [1, 0], [-1, 0]], len(along), axis=0)
    return [Reference.of(np.concatenate(points), normals.astype(float))]


def noisy(generator):
    """Return the poses of a drifting odometry, and those of a localizer that corrects them."""
    odometry, estimates = [TRUE[0]], []
    for step, pose in enumerate(TRUE):
        if step:
            error = generator.normal(0.0, [0.003, 0.003, 0.012])
            odometry.append(composed(odometry[-1], relative(TRUE[step - 1], pose) + error))
        if step % RATE == 0:
            corrected = pose + generator.normal(0.0, [0.05, 0.05, 0.03])
            origin = odometry[-1]
        estimates.append(composed(corrected, relative(origin, odometry[-1])))
    return np.array(odometry), np.array(estimates)


@pytest.mark.parametrize("seed", range(4))
def test_localizer_bounds_the_drift_in_the_open_and_the_walls_remove_it(seed):
    generator = np.random.default_rng(seed)
    odometry, estimates = noisy(generator)
    directions = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    ranges = np.array([ranges_m(pose) for pose in TRUE])
    ranges += generator.normal(0.0, 0.01, ranges.shape)
    rays = Rays(np.zeros(2), directions, ranges)
    times_s = 0.1 * np.arange(len(TRUE))
    in_the_open = ~np.isfinite(ranges).any(axis=1)
    assert in_the_open.sum() > 60
    match = match_scans(rays, times_s, estimates, odometry, True, walls(), lambda _: None)
    errors_m = np.hypot(*(match.poses - TRUE)[:, :2].T)
    estimate_errors_m = np.hypot(*(estimates - TRUE)[:, :2].T)
    assert errors_m.max() < estimate_errors_m.max()
    assert errors_m[in_the_open].mean() < 0.6 * estimate_errors_m[in_the_open].mean()
    assert errors_m[[0, -1]].max() < 0.01


def test_points_are_matched_to_the_side_of_a_wall_that_the_lidar_sees():
    # 15 cm off, the points of two walls of 20 cm are nearer to their outer sides.
    wall = np.ones((60, 60), dtype=bool)
    wall[4:-4, 4:-4] = False
    sides = map_reference(MapFile(wall, np.zeros_like(wall), 0.05, (0.0, 0.0, 0.0)))
    angles = np.linspace(-np.pi, np.pi, 180, endpoint=False)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    true = np.array([1.0, 1.5, 0.0])
    with np.errstate(divide="ignore"):
        ranges = np.min(np.maximum((0.2 - true[:2]) / directions, (2.8 - true[:2]) / directions), 1)
    rays = Rays(np.zeros(2), directions, np.tile(ranges, (6, 1)))
    start = np.tile(true - [0.15, 0.15, 0.0], (6, 1))
    match = match_scans(rays, np.arange(6.0), start, start, False, sides, lambda _: None)
    assert match.poses == pytest.approx(np.tile(true, (6, 1)), abs=0.01)
