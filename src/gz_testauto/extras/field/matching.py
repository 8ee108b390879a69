"""Refine the poses of scans by matching points to lines of the map and of earlier scans.

Each scan starts from the previous pose and the motion of the odometry. The nearest reference point
and its normal define the error of a point, which the Gauss-Newton method minimizes with robust
weights. As in a Kalman filter, the covariance of the pose grows with the motion, so that the poses
of a localizer have the more weight, the longer nothing was in range. The errors that a later scan
removes are then also removed from the poses before it.
"""

from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from scipy.spatial import cKDTree

from gz_testauto.grid.map_server import MapFile

WALL_M = 0.15  # distance from walls of the map within which only the map is a reference
MATCHED_SHARE = 0.4  # least share of matched points of a scan that is not lost
LEAST_POINTS = 20  # of a scan whose share of matched points is measured
NEAR_M = 0.3  # largest distance of matched points
SIGMA_M = 0.03  # error at which the weight of a point is a half
# For an uncertain pose, points within a larger distance are matched first.
UNCERTAIN_M, MOST_NEAR_M, ARM_M = 0.1, 0.8, 5.0
MOST_POINTS = 240  # of one scan in matching
ITERATIONS = 12
KEY_M, KEY_RAD, KEY_S = 0.15, 0.1, 0.5  # motion or time until points of another scan are added
CONFIRMED_S, FORGOTTEN_S = 0.8, 8.0  # age at which points hit again are static, or forgotten
CONFIRMED_M = 0.04
NEW_WEIGHT = 0.2  # of points that can belong to a moving object
THIN_M = 0.025  # least distance between two reference points
# standard deviations of the motion between two scans by odometry, and of estimated poses
PRIOR_M, PRIOR_RAD = 0.01, 0.01
ESTIMATE_M, ESTIMATE_RAD = 0.1, 0.05
MOTION = np.array([PRIOR_M, PRIOR_M, PRIOR_RAD]) ** 2
ESTIMATE = np.array([ESTIMATE_M, ESTIMATE_M, ESTIMATE_RAD]) ** 2
STILL_M, STILL_RAD = 1e-3, 1e-3
NEIGHBORS = 8
SEEN_WALLS = 5  # least number of key scans with walls, for poses relative to the map
WALL_SHARE = 0.2  # of the points of a scan that are near walls


class Rays(NamedTuple):
    """The rays of n scans in the base frame: their origin (2,), unit directions (k, 2), and ranges
    (n, k) in m; inf without a return, NaN if invalid."""

    origin_m: np.ndarray
    directions: np.ndarray
    ranges_m: np.ndarray

    def points_m(self, scan: int) -> np.ndarray:
        """Return the points that the rays of a scan hit, shape (m, 2), in the base frame."""
        hits = np.isfinite(self.ranges_m[scan])
        points = self.directions[hits] * self.ranges_m[scan, hits, None]
        return np.asarray(self.origin_m + points, dtype=float)


class Match(NamedTuple):
    """Refined poses (n, 3), the median distance (m) of matched points to their lines, and the share
    of points of each scan (n,) that match. The share is 1 for a scan with few points."""

    poses: np.ndarray
    residual_m: float
    matched: np.ndarray


class Reference(NamedTuple):
    """Points (n, 2) on surfaces, with their normals. Those of walls have one normal, ``side``: only
    rays against it hit them."""

    points: np.ndarray
    normals: np.ndarray
    tree: Optional[cKDTree]
    weight: float = 1.0
    side: Optional[np.ndarray] = None

    @classmethod
    def of(cls, points: np.ndarray, normals: np.ndarray) -> "Reference":
        return cls(points, normals, cKDTree(points) if len(points) else None)

    def extended(self, points: np.ndarray, normals: np.ndarray) -> "Reference":
        if not len(points):
            return self
        return Reference.of(
            np.concatenate([self.points, points]), np.concatenate([self.normals, normals])
        )


def turned(poses: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Map points (m, 2) from the frame of one pose (x, y, yaw) to its parent."""
    cos, sin = np.cos(poses[2]), np.sin(poses[2])
    return np.asarray(points @ np.array([[cos, sin], [-sin, cos]]) + poses[:2])


def relative(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the pose ``second`` in the frame of the pose ``first``."""
    cos, sin = np.cos(first[2]), np.sin(first[2])
    x, y = second[:2] - first[:2]
    yaw = np.remainder(second[2] - first[2] + np.pi, 2 * np.pi) - np.pi
    return np.array([cos * x + sin * y, -sin * x + cos * y, yaw])


def composed(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.array([*turned(first, second[None, :2])[0], first[2] + second[2]])


def map_reference(map_file: MapFile) -> Tuple[Reference, ...]:
    """Return the surfaces of walls, separately for each of the four sides of cells. The points are
    the middles of edges between occupied and other cells. Normals point to the other cells."""
    occupied = np.pad(map_file.occupied, 1)
    turn = np.array([0.0, 0.0, map_file.origin[2]])
    sides = []
    for step in ((0, 1), (0, -1), (1, 0), (-1, 0)):  # rows, columns
        beyond = np.roll(occupied, (-step[0], -step[1]), axis=(0, 1))
        cells = np.argwhere(occupied & ~beyond)[:, ::-1] - 1
        normal = np.array([step[1], step[0]], dtype=float)
        points = map_file.resolution_m * (cells + 0.5 + 0.5 * normal)
        side = turned(turn, normal[None])
        reference = Reference.of(
            turned(np.array(map_file.origin), points), np.repeat(side, len(points), axis=0)
        )
        sides.append(reference._replace(side=side[0]))
    return tuple(sides)


def match_scans(
    rays: Rays,
    times_s: np.ndarray,
    start: np.ndarray,
    odometry: np.ndarray,
    has_localizer: bool,
    walls: Sequence[Reference],
    progress: Callable[[str], None],
) -> Match:
    """Return the refined poses of all scans. ``start`` (n, 3) are the estimated poses in the map,
    which correct the odometry (n, 3) if there is a localizer."""
    poses = np.array(start)
    surfaces = _Surfaces(walls)
    errors: List[np.ndarray] = []
    matched, latest = np.ones(len(poses)), np.zeros((0, 2))
    covariance = np.diag(ESTIMATE)
    guesses, gains = [poses[0]], [np.zeros((3, 3))]
    for scan, time_s in enumerate(times_s):
        progress(f"match scan {scan} of {len(poses)}")
        points = rays.points_m(scan)
        thinned = _thinned(points)
        guess = poses[0]
        is_still = False
        if scan:
            motion = relative(odometry[scan - 1], odometry[scan])
            guess = composed(poses[scan - 1], motion)
            is_still = np.hypot(*motion[:2]) < STILL_M and abs(motion[2]) < STILL_RAD
            gain = np.eye(3)
            if not is_still:
                covariance, gain = _moved(covariance, guess - poses[scan - 1])
            guesses.append(guess)
            gains.append(gain)
        if is_still:
            poses[scan] = guess
        else:
            estimate = start[scan] if has_localizer else None
            poses[scan], covariance = _match(
                thinned, rays.origin_m, guess, covariance, estimate, surfaces.references
            )
        placed = turned(poses[scan], points)
        if scan and len(points) >= LEAST_POINTS:
            _, error, _, is_matched, _ = _errors(
                thinned, poses[scan], surfaces.references, 0.5 * NEAR_M
            )
            errors.append(np.abs(error))
            matched[scan] = max(is_matched.mean(), _share_near(latest, placed))
        if matched[scan] >= MATCHED_SHARE:
            latest = placed
            surfaces.add(time_s, poses[scan], placed)
    poses = _smoothed(poses, guesses, gains)
    if surfaces.walls_seen < SEEN_WALLS:
        poses = _aligned(poses, start)
    residual_m = float(np.median(np.concatenate(errors))) if errors else 0.0
    return Match(poses, residual_m, matched)


def _share_near(points: np.ndarray, points_again: np.ndarray) -> float:
    """Return the share of ``points``, from the latest matched scan, that another scan hits again; 1
    for few points. In an open area, a new surface matches nothing, but earlier points are hit."""
    if len(points) < LEAST_POINTS:
        return 1.0
    return float((cKDTree(points_again).query(points)[0] < 0.5 * NEAR_M).mean())


def _thinned(points: np.ndarray) -> np.ndarray:
    step = -(-len(points) // MOST_POINTS)
    return points[:: max(step, 1)]


def _moved(covariance: np.ndarray, motion: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Return the covariance of a pose after a motion in the map's frame by odometry, and the gain
    by which a correction of that pose corrects the one before the motion."""
    jacobian = np.eye(3)
    jacobian[:2, 2] = -motion[1], motion[0]
    moved = jacobian @ covariance @ jacobian.T + np.diag(MOTION)
    return moved, covariance @ jacobian.T @ np.linalg.inv(moved)


def _smoothed(
    poses: np.ndarray, guesses: Sequence[np.ndarray], gains: Sequence[np.ndarray]
) -> np.ndarray:
    """Return poses that also use the scans after them (Rauch, Tung, Striebel 1965). ``guesses`` are
    the poses by the odometry from the pose before, and ``gains`` those of each motion."""
    smoothed = np.array(poses)
    for scan in range(len(poses) - 2, -1, -1):
        correction = _wrapped(smoothed[scan + 1] - guesses[scan + 1])
        smoothed[scan] += gains[scan + 1] @ correction
    return smoothed


def _match(
    points: np.ndarray,
    origin: np.ndarray,
    guess: np.ndarray,
    covariance: np.ndarray,
    estimate: Optional[np.ndarray],
    references: Sequence[Reference],
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the pose for which points are near the references, and its covariance. ``guess`` is
    the pose by odometry with its covariance, and ``estimate`` that of a localizer."""
    pose = np.array(guess)
    priors = [(guess, SIGMA_M**2 * np.linalg.inv(covariance))]
    if estimate is not None:
        priors.append((estimate, SIGMA_M**2 * np.diag(1.0 / ESTIMATE)))
    uncertainty_m = float(np.sqrt(covariance[[0, 1], [0, 1]].sum() + ARM_M**2 * covariance[2, 2]))
    widening = max(1.0, min(uncertainty_m / UNCERTAIN_M, MOST_NEAR_M / NEAR_M))
    for iteration in range(ITERATIONS):
        # Far errors need the side of a wall that the lidar sees. For near ones, both sides are
        # references: maps of thin walls can differ from these by more than the thickness.
        wide = widening if iteration < 4 else 1.0
        near_m = NEAR_M * wide if iteration < 4 else 0.5 * NEAR_M
        placed, errors, normals, is_matched, weights = _errors(
            points, pose, references, near_m, origin if iteration < 4 else None
        )
        arm = placed[is_matched] - pose[:2]
        jacobian = np.column_stack([normals, normals[:, 1] * arm[:, 0] - normals[:, 0] * arm[:, 1]])
        weights = weights / (1.0 + (errors / (SIGMA_M * wide)) ** 2)
        matrix = (jacobian * weights[:, None]).T @ jacobian
        vector = -jacobian.T @ (weights * errors)
        for prior_pose, weight in priors:
            matrix += weight
            vector -= weight @ _wrapped(pose - prior_pose)
        step = np.linalg.solve(matrix, vector)
        pose = pose + step
        if np.abs(step).max() < 2e-4 and wide == 1.0:
            break
    return pose, SIGMA_M**2 * np.linalg.inv(matrix)


def _wrapped(difference: np.ndarray) -> np.ndarray:
    difference[2] = np.remainder(difference[2] + np.pi, 2 * np.pi) - np.pi
    return difference


def _errors(
    points: np.ndarray,
    pose: np.ndarray,
    references: Sequence[Reference],
    near_m: float,
    origin: Optional[np.ndarray] = None,
) -> Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Place ``points`` (n, 2) of the base frame at ``pose``, and match them to the references.
    Return the placed points (n, 2), the errors (m) and normals of matched points, the mask (n,) of
    these, and their weights. With the ``origin`` of the rays in the base frame, only sides of walls
    that they can hit are matched.
    """
    placed = turned(pose, points)
    nearest = np.full(len(points), np.inf)
    targets, normals = np.zeros_like(placed), np.zeros_like(placed)
    weights = np.ones(len(points))
    for reference in references:
        if reference.tree is None or not len(points):
            continue
        distance, index = reference.tree.query(placed, distance_upper_bound=near_m)
        if origin is not None and reference.side is not None:
            rays = placed - turned(pose, origin[None])
            distance[(rays * reference.side).sum(axis=1) >= 0] = np.inf
        # new points are used only where nothing else is near
        is_nearer = np.isfinite(distance) & (
            (distance < nearest) & (reference.weight == 1.0) | np.isinf(nearest)
        )
        nearest[is_nearer] = distance[is_nearer]
        targets[is_nearer] = reference.points[index[is_nearer]]
        normals[is_nearer] = reference.normals[index[is_nearer]]
        weights[is_nearer] = reference.weight
    is_matched = np.isfinite(nearest)
    errors = ((placed - targets)[is_matched] * normals[is_matched]).sum(axis=1)
    return placed, errors, normals[is_matched], is_matched, weights[is_matched]


class _Surfaces:
    """The references that matching uses: walls of the map, static points of earlier scans, and new
    points, which can belong to a moving object until a later scan hits them again."""

    def __init__(self, walls: Sequence[Reference]) -> None:
        self.walls_seen = 0
        self._walls, self._static, self._new = walls, _empty(), _empty()
        self._ages_s = np.zeros(0)
        self._key: Optional[Tuple[float, np.ndarray]] = None

    @property
    def references(self) -> Tuple[Reference, ...]:
        return (*self._walls, self._static, self._new._replace(weight=NEW_WEIGHT))

    def add(self, time_s: float, pose: np.ndarray, points: np.ndarray) -> None:
        """Add the points (n, 2) of a scan, in the map frame, if the robot has moved or some time
        has passed since the last addition."""
        if self._key is not None:
            moved = relative(self._key[1], pose)
            is_near = np.hypot(*moved[:2]) < KEY_M and abs(moved[2]) < KEY_RAD
            if is_near and time_s < self._key[0] + KEY_S:
                return
        self._key = (time_s, pose)
        if len(points) < 3:
            return
        away = _away_from(self._walls, points)
        self.walls_seen += len(away) < (1.0 - WALL_SHARE) * len(points)
        ages_s = time_s - self._ages_s
        is_old = ages_s > CONFIRMED_S
        hit_again = np.zeros(len(ages_s), dtype=bool)
        if len(ages_s):
            hit_again = is_old & (cKDTree(points).query(self._new.points)[0] < CONFIRMED_M)
        self._static = self._static.extended(
            self._new.points[hit_again], self._new.normals[hit_again]
        )
        kept = ~hit_again & (ages_s < FORGOTTEN_S)
        self._ages_s = self._ages_s[kept]
        self._new = Reference.of(self._new.points[kept], self._new.normals[kept])
        is_new = np.ones(len(away), dtype=bool)
        for reference in (self._static, self._new):
            if reference.tree is not None and len(away):
                is_new &= reference.tree.query(away)[0] > THIN_M
        if len(away) < 3:
            return
        normals, is_flat = _normals(away, away)
        selected = is_new & is_flat
        self._new = self._new.extended(away[selected], normals[selected])
        self._ages_s = np.append(self._ages_s, np.full(selected.sum(), time_s))


def _empty() -> Reference:
    return Reference.of(np.zeros((0, 2)), np.zeros((0, 2)))


def _away_from(walls: Sequence[Reference], points: np.ndarray) -> np.ndarray:
    """Return the points that are farther than :data:`WALL_M` from the walls of the map."""
    is_away = np.ones(len(points), dtype=bool)
    for side in walls:
        if side.tree is not None:
            is_away &= side.tree.query(points)[0] > WALL_M
    return points[is_away]


def _normals(points: np.ndarray, around: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Return normals (n, 2) of lines through the points ``around`` each point, and a mask (n,) of
    the points whose neighbors are on a line."""
    count = min(NEIGHBORS, len(around))
    distance, index = cKDTree(around).query(points, k=count)
    is_near = distance < NEAR_M
    weights = is_near / is_near.sum(axis=1, keepdims=True)
    neighbors = around[index]
    offsets = neighbors - (neighbors * weights[..., None]).sum(axis=1, keepdims=True)
    covariance = np.einsum("nki,nkj,nk->nij", offsets, offsets, weights)
    values, vectors = np.linalg.eigh(covariance)
    return vectors[:, :, 0], (is_near.sum(axis=1) >= 3) & (values[:, 0] < 0.3 * values[:, 1])


def _aligned(poses: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return ``poses``, moved together so that their median difference from ``start`` vanishes. The
    errors of single estimates are large, and that of their median is small."""
    turn = float(np.median(np.remainder(start[:, 2] - poses[:, 2] + np.pi, 2 * np.pi) - np.pi))
    center = np.median(poses[:, :2], axis=0)
    moved = np.column_stack(
        [turned(np.array([0.0, 0.0, turn]), poses[:, :2] - center), poses[:, 2] + turn]
    )
    moved[:, :2] += np.median(start[:, :2] - moved[:, :2], axis=0)
    return moved
