"""Compute the world that a robot saw in a window of a bag, or reject data that do not fit."""

import sys
import time
from pathlib import Path
from typing import Callable, List, NamedTuple, Optional, Tuple

import numpy as np
import shapely

from gz_testauto.actors.localization import compose, inverse
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.pose import Pose2D
from gz_testauto.extras.field.evidence import (
    BEHIND,
    MOVING,
    STATIC,
    WALL,
    Evidence,
    collect_evidence,
    in_map_cells,
)
from gz_testauto.extras.field.matching import (
    MATCHED_SHARE,
    Match,
    Rays,
    composed,
    map_reference,
    match_scans,
    relative,
    turned,
)
from gz_testauto.extras.field.obstacles import Seen, SolidPart, fit_obstacles
from gz_testauto.extras.field.rays import cast_rays
from gz_testauto.extras.field.topics import PROGRESS_S, BagContent, Scans
from gz_testauto.extras.field.tracks import SeenTrack, find_tracks
from gz_testauto.extras.field.window import Window
from gz_testauto.grid.map_server import MapFile
from gz_testauto.grid.occupancy import cells_with_center_inside

RESIDUAL_M, CROSSING_SHARE, INSIDE_SHARE = 0.05, 0.2, 0.1  # limits
LOST_SCANS = 3  # number of successive scans without a match that are rejected
MOST_RAYS = 2_000_000  # of a window, for which the computation needs less than 1 GB of memory
GAP_S = 0.5  # largest distance of two transforms of the odometry around a scan
JUMP_M, JUMP_RAD = 1.0, 0.7  # of the estimated pose between two scans
OFFSETS_S = np.round(np.arange(-1.0, 1.01, 0.05), 2)
SHARPER = 0.85  # ratio of occupied cells from which other poses of the scans are better
MIRRORED = 0.75
SPREAD_CELL_M, SPREAD_SCANS, SPREAD_STEP = 0.05, 30, 3
MAP_CAUSES = "the map of another building or floor, or a wrong initial pose"
EXPLAINED_M, EXPLAINED_CELL_M, EXPLAINED_SCANS, MOST_CELLS = 0.05, 0.01, 150, 3e7
COARSE_M, COARSE_SHARE = (
    0.2,
    0.6,
)  # least share of returns that a world repeats within this distance


class Reconstruction(NamedTuple):
    """The reconstructed world. ``poses`` (n, 3) of the base are refined, ``estimates`` are those of
    the bag, at the times of the scans. ``has_localizer`` is False if the bag has no poses in the
    map. ``explained_share`` is the share of static returns that the world repeats within 5 cm.
    ``guesses`` are assumptions that a person can check."""

    window: Window
    scans: Scans
    rays: Rays
    map_file: MapFile
    estimates: np.ndarray
    has_localizer: bool
    match: Match
    evidence: Evidence
    obstacles: List[Seen]
    tracks: List[SeenTrack]
    start_scan: int
    goal: Pose2D
    explained_share: float
    guesses: List[str]

    @property
    def poses(self) -> np.ndarray:
        return self.match.poses

    @property
    def start(self) -> Pose2D:
        return Pose2D(*map(float, self.poses[self.start_scan]))

    @property
    def start_s(self) -> float:
        return float(self.scans.times_s[self.start_scan])

    @property
    def localization_errors(self) -> np.ndarray:
        """The time (s) since the start, and the errors of x, y (m) and yaw (rad) in the poses of
        the bag, in the map frame, shape (n, 4)."""
        errors = self.estimates - self.poses
        errors[:, 2] = np.unwrap(np.remainder(errors[:, 2] + np.pi, 2 * np.pi) - np.pi)
        return np.column_stack([self.scans.times_s - self.start_s, errors])

    @property
    def seen_m2(self) -> float:
        return self.evidence.seen_m2(self.map_file)

    @property
    def noise_m(self) -> float:
        """The standard deviation of ranges, from the median distance of points from lines."""
        return 1.48 * self.match.residual_m


class _Frames(NamedTuple):
    estimates: np.ndarray
    odometry: np.ndarray
    gaps_s: np.ndarray


def reconstruct(
    path: Path,
    content: BagContent,
    scans: Scans,
    window: Window,
    map_file: MapFile,
    mount: Optional[Pose2D] = None,
    start: Optional[Pose2D] = None,
) -> Reconstruction:
    """Return the world of a window. ``mount`` is the pose of the lidar in the base frame, and
    ``start`` the first pose of the base in the map, if tf lacks them.

    Raises ``ResultsError`` with the cause if tf is incomplete, or if scans, poses and map do not
    fit.
    """
    guesses: List[str] = []
    step = -(-scans.ranges_m.size // MOST_RAYS)
    if step > 1:
        guesses.append(f"the window is long; one of {step} scans was used")
        scans = scans._replace(times_s=scans.times_s[::step], ranges_m=scans.ranges_m[::step])
    _complete_tf(content, scans, window, mount, start)
    chain = content.transforms.chain(scans.frame, content.map_frame)
    base = _base_of(content, chain)
    rays = _rays(content, scans, base, window)
    frames = _frames(content, chain, base, scans.times_s, window)
    usable = frames.gaps_s <= GAP_S
    if usable.sum() < max(2, 0.5 * len(usable)):
        raise ResultsError(
            f"{path}: tf has gaps of more than {GAP_S:g} s around {(~usable).sum()} of "
            f"{len(usable)} scans; the largest is {frames.gaps_s.max():.1f} s. Select another "
            "window with --from and --to, or check that the clocks of lidar and odometry are equal"
        )
    if not usable.all():
        guesses.append(f"{(~usable).sum()} scans in gaps of tf were omitted")
        scans = scans._replace(times_s=scans.times_s[usable], ranges_m=scans.ranges_m[usable])
        rays = rays._replace(ranges_m=scans.ranges_m)
    offset_s = _clock_offset_s(content, chain, base, scans, rays, window)
    frames = _frames(content, chain, base, scans.times_s + offset_s, window)
    if offset_s:
        guesses.append(
            f"the clock of the scans is {abs(offset_s):.2f} s "
            f"{'behind' if offset_s > 0 else 'ahead of'} that of tf; this offset was removed"
        )
    _require_mount(path, rays, frames.odometry)
    has_localizer = _require_steady(path, scans.times_s, frames)
    walls = map_reference(map_file)

    def match_to_map(matched_rays: Rays) -> Tuple[Match, Evidence]:
        match = match_scans(
            matched_rays,
            scans.times_s,
            frames.estimates,
            frames.odometry,
            has_localizer,
            walls,
            _progress(),
        )
        return match, collect_evidence(rays, scans.range_max_m, match.poses, map_file)

    match, evidence = match_to_map(rays)
    _require_matched(path, scans.times_s, match)
    # Moving people, who displace the poses where little else is in range, are not matched again.
    match, evidence = match_to_map(_without_moving(rays, evidence))
    _require_fit(path, match.poses, evidence, map_file)
    obstacles = fit_obstacles(evidence)
    start_s = window.from_s if window.goal is None else max(window.goal.time_s, window.from_s)
    start_scan = min(int(np.searchsorted(scans.times_s, start_s - 1e-6)), len(scans.times_s) - 1)
    trial_start_s = float(scans.times_s[start_scan])
    tracks = [track.since(trial_start_s) for track in find_tracks(evidence, scans.times_s)]
    goal = _goal(content, window, match.poses, guesses)
    if not np.isin(evidence.kinds, (STATIC, WALL)).any():
        raise ResultsError(
            f"{path}: no ray of the lidar hits a static surface, so that nothing shows whether "
            "the map fits; select another window with --from and --to"
        )
    behind = float((evidence.kinds == BEHIND).mean())
    if behind > 0.01:
        guesses.append(
            f"{100 * behind:.1f} % of returns are behind walls (glass?) and were omitted"
        )
    errors_m = repeat_errors_m(evidence, map_file, obstacles, scans.range_max_m)
    explained, coarse = (float((errors_m <= most_m).mean()) for most_m in (EXPLAINED_M, COARSE_M))
    if coarse < COARSE_SHARE:
        raise ResultsError(
            f"{path}: the world repeats only {100 * coarse:.0f} % of the static returns within "
            f"{100 * COARSE_M:g} cm (limit {100 * COARSE_SHARE:g} %), with a median error of "
            f"{100 * match.residual_m:.1f} cm of scans. Usual causes: {MAP_CAUSES}"
        )
    if explained < COARSE_SHARE:
        guesses.append(
            f"the map is inaccurate: {100 * coarse:.0f} % of the static returns are repeated "
            f"within {100 * COARSE_M:g} cm, but fewer within {100 * EXPLAINED_M:g} cm"
        )
    return Reconstruction(
        window,
        scans,
        rays,
        map_file,
        frames.estimates,
        has_localizer,
        match,
        evidence,
        obstacles,
        [track for track in tracks if len(track.times_s) > 1],
        start_scan,
        goal,
        explained,
        guesses,
    )


def _complete_tf(
    content: BagContent,
    scans: Scans,
    window: Window,
    mount: Optional[Pose2D],
    start: Optional[Pose2D],
) -> None:
    transforms = content.transforms
    if mount is not None:
        transforms.place(scans.frame, transforms.base, mount)
    odom = transforms.root(transforms.base)
    if start is None or odom == transforms.base:
        return
    if odom == content.map_frame:
        odom = transforms.chain(transforms.base, content.map_frame)[-1]
    first, _ = _planar(content, transforms.base, odom, scans.times_s[:1], window)
    transforms.place(odom, content.map_frame, compose(start, inverse(Pose2D(*first[0].tolist()))))


def _base_of(content: BagContent, chain: List[str]) -> str:
    """Return the first frame that moves in its parent: the frame of the robot."""
    return next((frame for frame in chain if not content.transforms.is_static(frame)), chain[-1])


def _planar(
    content: BagContent, frame: str, parent: str, times_s: np.ndarray, window: Window
) -> Tuple[np.ndarray, np.ndarray]:
    frame_poses = content.transforms.poses(frame, parent, times_s, (window.from_s, window.to_s))
    x_axes = frame_poses.rotations.apply(np.array([1.0, 0.0, 0.0]))
    yaw = np.unwrap(np.arctan2(x_axes[:, 1], x_axes[:, 0]))
    return np.column_stack([frame_poses.positions_m[:, :2], yaw]), frame_poses.gaps_s


def _frames(
    content: BagContent, chain: List[str], base: str, times_s: np.ndarray, window: Window
) -> _Frames:
    estimates, gaps_s = _planar(content, base, content.map_frame, times_s, window)
    odometry = estimates
    if chain[-1] != base:  # a localizer corrects the frame of the odometry
        odometry, _ = _planar(content, base, chain[-1], times_s, window)
    return _Frames(estimates, odometry, gaps_s)


def _rays(content: BagContent, scans: Scans, base: str, window: Window) -> Rays:
    origin, directions = np.zeros(2), np.zeros((len(scans.angles_rad), 3))
    directions[:, 0], directions[:, 1] = np.cos(scans.angles_rad), np.sin(scans.angles_rad)
    if scans.frame != base:
        bounds = (window.from_s, window.to_s)
        mount = content.transforms.poses(scans.frame, base, scans.times_s[:1], bounds)
        origin = mount.positions_m[0, :2]
        directions = mount.rotations[0].apply(directions)
    return Rays(origin, directions[:, :2], scans.ranges_m)


def _without_moving(rays: Rays, evidence: Evidence) -> Rays:
    ranges_m = np.array(rays.ranges_m)
    hits = np.argwhere(np.isfinite(ranges_m))
    ranges_m[tuple(hits[evidence.kinds == MOVING].T)] = np.nan
    return rays._replace(ranges_m=ranges_m)


def _spread(rays: Rays, odometry: np.ndarray) -> int:
    """Return the number of cells that the points of nearby scans occupy. It is small if rays and
    poses fit."""
    count = 0
    for first in range(0, len(odometry), SPREAD_SCANS):
        selected = range(first, min(first + SPREAD_SCANS, len(odometry)), SPREAD_STEP)
        points = [turned(odometry[scan], rays.points_m(scan)[::2]) for scan in selected]
        cells = np.floor(np.concatenate(points) / SPREAD_CELL_M).astype(np.int64)
        count += len(np.unique(cells[:, 0] * 2**31 + cells[:, 1]))
    return count


def _clock_offset_s(
    content: BagContent,
    chain: List[str],
    base: str,
    scans: Scans,
    rays: Rays,
    window: Window,
) -> float:
    def spread(offset_s: float) -> int:
        times_s = scans.times_s + offset_s
        return _spread(rays, _frames(content, chain, base, times_s, window).odometry)

    spreads = np.array([spread(float(offset_s)) for offset_s in OFFSETS_S])
    best = int(spreads.argmin())
    is_sharper = spreads[best] < SHARPER * spreads[len(OFFSETS_S) // 2]
    return float(OFFSETS_S[best]) if is_sharper else 0.0


def _require_mount(path: Path, rays: Rays, odometry: np.ndarray) -> None:
    mirrored = rays._replace(directions=rays.directions * np.array([1.0, -1.0]))
    if _spread(mirrored, odometry) < MIRRORED * _spread(rays, odometry):
        raise ResultsError(
            f"{path}: the scans fit the odometry only if they are mirrored: the lidar is upside "
            "down, but tf lacks its roll of 180°; correct the transform of its frame"
        )


def _require_steady(path: Path, times_s: np.ndarray, frames: _Frames) -> bool:
    """Return whether a localizer corrects the odometry. Raises ``ResultsError`` if it jumps."""
    is_corrected = False
    for scan in range(1, len(times_s)):
        motion = relative(frames.odometry[scan - 1], frames.odometry[scan])
        jump = relative(composed(frames.estimates[scan - 1], motion), frames.estimates[scan])
        is_corrected |= bool(np.abs(jump).max() > 1e-4)
        if np.hypot(*jump[:2]) > JUMP_M or abs(jump[2]) > JUMP_RAD:
            raise ResultsError(
                f"{path}: the estimated pose jumps by {np.hypot(*jump[:2]):.1f} m and "
                f"{np.degrees(jump[2]):.0f}° at {times_s[scan]:.1f} s: the robot was carried or "
                "localized again, or the odometry is faulty; select a window before or after that "
                "with --from and --to"
            )
    return is_corrected


def _require_matched(path: Path, times_s: np.ndarray, match: Match) -> None:
    bad = match.matched < MATCHED_SHARE
    is_lost = len(bad) >= LOST_SCANS and bool(
        np.lib.stride_tricks.sliding_window_view(bad, LOST_SCANS).all(axis=1).any()
    )
    if match.residual_m > RESIDUAL_M or is_lost:
        since = float(times_s[bad.argmax()]) if bad.any() else float(times_s[0])
        raise ResultsError(
            f"{path}: the scans do not fit each other: the median error is "
            f"{100 * match.residual_m:.1f} cm (limit {100 * RESIDUAL_M:g} cm), and less than "
            f"{100 * MATCHED_SHARE:g} % of the points match in {bad.sum()} of {len(bad)} scans, "
            f"first at {since:.1f} s. Usual causes: the robot was carried, a wrong transform of "
            "the lidar, or different clocks of lidar and odometry"
        )


def _require_fit(path: Path, poses: np.ndarray, evidence: Evidence, map_file: MapFile) -> None:
    cells = np.floor(in_map_cells(poses[:, :2], map_file)).astype(int)
    rows, columns = map_file.occupied.shape
    column, row = cells.T
    is_inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    is_occupied = np.ones(len(row), dtype=bool)
    is_occupied[is_inside] = map_file.occupied[row[is_inside], column[is_inside]]
    if evidence.crossing_share > CROSSING_SHARE or is_occupied.mean() > INSIDE_SHARE:
        raise ResultsError(
            f"{path}: the map does not fit: {100 * evidence.crossing_share:.0f} % of the returns "
            f"are behind its walls (limit {100 * CROSSING_SHARE:g} %), and "
            f"{100 * is_occupied.mean():.0f} % of the poses are in walls or outside (limit "
            f"{100 * INSIDE_SHARE:g} %). Usual causes: {MAP_CAUSES}"
        )


def _goal(content: BagContent, window: Window, poses: np.ndarray, guesses: List[str]) -> Pose2D:
    if window.goal is None:
        guesses.append("the bag has no goal; the goal is the last pose of the robot")
        return Pose2D(*map(float, poses[-1]))
    goal = window.goal
    if goal.frame in ("", content.map_frame):
        return goal.pose
    times_s = np.array([goal.time_s])
    parent, _ = _planar(content, goal.frame, content.map_frame, times_s, window)
    return Pose2D(*map(float, composed(parent[0], np.array(goal.pose))))


def part_outline(part: SolidPart) -> shapely.Geometry:
    """Return the outline of a part in the map frame."""
    center = shapely.Point(part.x_m, part.y_m)
    if part.radius_m:
        return center.buffer(part.radius_m, quad_segs=16)
    half_x, half_y = 0.5 * part.sides_m[0], 0.5 * part.sides_m[1]
    corners = np.array([[-half_x, -half_y], [half_x, -half_y], [half_x, half_y], [-half_x, half_y]])
    return shapely.Polygon(turned(np.array([part.x_m, part.y_m, part.yaw_rad]), corners))


def repeat_errors_m(
    evidence: Evidence, map_file: MapFile, obstacles: List[Seen], range_max_m: float
) -> np.ndarray:
    """Return the range errors (m) of the world, for n static returns of a sample of scans."""
    is_static = np.isin(evidence.kinds, (STATIC, WALL))
    scans = np.unique(evidence.scans[is_static])
    scans = scans[:: max(len(scans) // EXPLAINED_SCANS, 1)]
    selected = is_static & np.isin(evidence.scans, scans)
    points, origins = evidence.points_m[selected], evidence.origins_m[selected]
    low = np.minimum(points.min(axis=0), origins.min(axis=0)) - 1.0
    high = np.maximum(points.max(axis=0), origins.max(axis=0)) + 1.0
    cell_m = max(EXPLAINED_CELL_M, float(np.sqrt((high - low).prod() / MOST_CELLS)))
    columns, rows = np.ceil((high - low) / cell_m).astype(int)
    occupied = _walls(map_file, low, (int(rows), int(columns)), cell_m)
    outlines = np.array([part_outline(part) for seen in obstacles for part in seen.parts])
    if len(outlines):
        origin = (float(low[0]), float(low[1]))
        occupied |= cells_with_center_inside(outlines, origin, (int(rows), int(columns)), cell_m)
    ranges = np.hypot(*(points - origins).T)
    directions = (points - origins) / ranges[:, None]
    again = cast_rays(occupied, (origins - low) / cell_m, directions, range_max_m / cell_m) * cell_m
    return np.asarray(np.abs(again - ranges))


def _walls(map_file: MapFile, low: np.ndarray, shape: Tuple[int, int], cell_m: float) -> np.ndarray:
    """Return the occupied cells of the map on a finer grid."""
    occupied = np.zeros(shape, dtype=bool)
    x = low[0] + (np.arange(shape[1]) + 0.5) * cell_m
    for row in range(shape[0]):
        y = np.full(shape[1], low[1] + (row + 0.5) * cell_m)
        cells = np.floor(in_map_cells(np.column_stack([x, y]), map_file)).astype(int)
        rows, columns = map_file.occupied.shape
        inside = (cells >= 0).all(axis=1) & (cells[:, 0] < columns) & (cells[:, 1] < rows)
        occupied[row, inside] = map_file.occupied[cells[inside, 1], cells[inside, 0]]
    return occupied


def _progress() -> Callable[[str], None]:
    """Return a function that prints a text, at most once in :data:`PROGRESS_S` seconds."""
    shown_s = time.monotonic()

    def show(text: str) -> None:
        nonlocal shown_s
        if time.monotonic() > shown_s + PROGRESS_S:
            shown_s = time.monotonic()
            print(text, file=sys.stderr)

    return show


def map_of_bag(path: Path, content: BagContent, specified: Optional[MapFile]) -> MapFile:
    map_file = content.map_file if specified is None else specified
    if map_file is None:
        raise ResultsError(f"{path}: the bag has no map; specify the map of the robot with --map")
    return map_file
