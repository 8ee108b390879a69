"""Record the snapshots of a trial as a :class:`~gz_testauto.metrics.recording.Recording`."""

import functools
import math
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.polygon import orient

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.metrics.recording import (
    ACTOR_SERIES,
    FOOTPRINT_SERIES,
    KIDNAPPING_SERIES,
    LANE_SERIES,
    OUTLINE_SERIES,
    ContactEpisode,
    Recording,
)
from gz_testauto.metrics.traffic import surface_of
from gz_testauto.planners.interface import Lane
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.trial.clearance import ObstacleField, footprint_at, footprints_at
from gz_testauto.trial.contacts import ContactClassifier, EpisodeLog
from gz_testauto.worlds.record import WorldRecord

# Columns of the sampled rows. A pose is x, y and yaw.
_COLUMNS = 14
_TIME, _POSITION, _POSE, _ROLL_PITCH, _TILT = 0, slice(1, 4), [1, 2, 4], slice(5, 7), 7
_TWIST, _COMMAND, _CLEARANCE = slice(8, 11), slice(11, 13), 13

ROUNDING_M = 1e-6  # upper bound of the rounding error of a distance


class CycleTimes(NamedTuple):
    """Wall and CPU time (s) per planner cycle, shape (m,); empty if unknown."""

    wall_s: np.ndarray = np.empty(0)
    cpu_s: np.ndarray = np.empty(0)


class Recorder:
    """A recorder of one trial, whose time starts with the first snapshot.

    Call :meth:`sample` for every snapshot in order of time, and :meth:`commanded` after it.
    """

    def __init__(
        self,
        body: RobotBody,
        obstacles: ObstacleField,
        contacts: ContactClassifier,
        actors: Optional[Mapping[str, np.ndarray]] = None,
        lanes: Sequence[Lane] = (),
    ) -> None:
        """``actors`` are the models whose poses are also recorded, with their outlines, shape
        (k, 2) (m, in the model's frame)."""
        self.body = body
        self._constants = _constant_series(body, {} if actors is None else actors, lanes)
        self._actors = tuple(actors or ())
        self._actor_poses: List[List[Tuple[float, float, float]]] = [[] for _ in self._actors]
        self._lanes = lanes
        self._outline = np.asarray(body.footprint_m, dtype=float)
        self._obstacles = obstacles
        self._contacts = contacts
        self._episodes = EpisodeLog()
        self._rows = np.empty((512, _COLUMNS))
        self._row_count = 0
        self._start_s = 0.0
        self._last_pose: Optional[Pose] = None
        self._planar_pose, self._twist = Pose2D(0.0, 0.0), (0.0, 0.0, 0.0)
        self._speed_mps = 0.0
        self._free_space: Optional[_FreeSpace] = None
        self._unmeasured_rows: List[int] = []
        self._kidnappings: List[Tuple[float, ...]] = []
        self._radius_m = float(np.hypot(*self._outline.T).max())

    def sample(self, snapshot: Snapshot) -> None:
        """Record a snapshot, or raise ``SimulatorError`` if it does not contain the robot."""
        state = snapshot.models.get(self.body.name)
        if state is None:
            raise SimulatorError(
                f"the robot {self.body.name!r} is not in the simulation at {snapshot.time_s:.2f} s"
            )
        if self._row_count == 0:
            self._start_s = snapshot.time_s
        time_s = snapshot.time_s - self._start_s
        placed = snapshot.placed.get(self.body.name)
        if placed is not None and self._row_count:
            self._kidnappings.append((float(self.time_s[-1]), *placed.planar))
            self._last_pose = placed  # the robot moves from there
        self._planar_pose = pose = state.pose.planar
        self._twist = twist = self._twist_in_base_frame(time_s, pose.yaw_rad, state)
        nan = math.nan
        self._append_row()[:] = (
            time_s,
            *state.pose.position,
            pose.yaw_rad,
            *state.pose.rpy[:2],
            state.pose.tilt_rad,
            *twist,
            *(nan, nan),
            nan,
        )
        for name, poses in zip(self._actors, self._actor_poses):
            actor = snapshot.models.get(name)
            poses.append((nan, nan, nan) if actor is None else actor.pose.planar)
        self._record_contacts(snapshot, state.pose)
        if all(map(math.isfinite, pose)):
            self._record_clearance(time_s, pose, snapshot)
        self._speed_mps = math.hypot(*twist[:2])
        self._last_pose = state.pose

    def commanded(self, command: Twist2D) -> None:
        self._rows[self._row_count - 1, _COMMAND] = command

    @property
    def time_s(self) -> np.ndarray:
        """Simulated times (s) since the first sample, shape (n,)."""
        return self._rows[: self._row_count, _TIME]

    @property
    def position_m(self) -> np.ndarray:
        """Positions of the base, shape (n, 3), in the world frame."""
        return self._rows[: self._row_count, _POSITION]

    @property
    def pose(self) -> Pose2D:
        """The latest pose of the base, in the world frame."""
        return self._planar_pose

    @property
    def off_road_m(self) -> float:
        """The largest distance (m) of a corner of the footprint from the lanes; 0 without lanes."""
        if not self._lanes:
            return 0.0
        footprint = footprint_at(self._outline, self._planar_pose)
        corners = shapely.points(shapely.get_coordinates(footprint))
        return float(shapely.distance(self._road_surface, corners).max())

    @functools.cached_property
    def _road_surface(self) -> shapely.Geometry:
        surface = shapely.union_all([surface_of(_lane_array(lane)) for lane in self._lanes])
        shapely.prepare(surface)
        return surface

    @property
    def span_m(self) -> Tuple[float, float]:
        """The lowest and highest z (m, world frame) of the robot at the latest sample."""
        assert self._last_pose is not None, "sample comes first"
        return self.body.span_m(self._last_pose)

    @property
    def tilt_rad(self) -> np.ndarray:
        """The angle of the robot's vertical axis to the world's at each sample, shape (n,)."""
        return self._rows[: self._row_count, _TILT]

    @property
    def twist(self) -> Twist2D:
        forward_mps, _, turn_radps = self._twist
        return Twist2D(forward_mps, turn_radps)

    @property
    def collision(self) -> Optional[ContactEpisode]:
        return self._episodes.first

    def recording(
        self,
        completed: bool,
        cycles: CycleTimes,
        wall_time_s: float = math.nan,
        world: Optional[WorldRecord] = None,
    ) -> Recording:
        self._compute_remaining_clearances()
        rows = self._rows[: self._row_count].copy()
        kidnappings = {KIDNAPPING_SERIES: np.array(self._kidnappings)} if self._kidnappings else {}
        return Recording(
            time_s=rows[:, _TIME],
            pose=np.ascontiguousarray(rows[:, _POSE]),
            twist=rows[:, _TWIST],
            command=rows[:, _COMMAND],
            clearance_m=rows[:, _CLEARANCE],
            z_m=rows[:, _POSITION][:, 2],
            roll_pitch_rad=rows[:, _ROLL_PITCH],
            cycle_time_s=cycles.wall_s,
            cycle_cpu_s=cycles.cpu_s,
            contacts=self._episodes.episodes,
            wall_time_s=wall_time_s,
            completed=completed,
            shortest_path_m=None if world is None else world.shortest_path_m,
            published_path_m=None if world is None else world.published_path_m,
            series={
                **{
                    ACTOR_SERIES + name: np.array(poses, dtype=float).reshape(-1, 3)
                    for name, poses in zip(self._actors, self._actor_poses)
                },
                **self._constants,
                **kidnappings,
            },
        )

    def _append_row(self) -> np.ndarray:
        if self._row_count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._row_count += 1
        return self._rows[self._row_count - 1]

    def _twist_in_base_frame(
        self, time_s: float, yaw: float, state: ModelState
    ) -> Tuple[float, float, float]:
        cos, sin = math.cos(yaw), math.sin(yaw)
        if state.linear_mps is not None and state.angular_radps is not None:
            x_mps, y_mps, turn_radps = *state.linear_mps[:2], state.angular_radps[2]
        elif self._last_pose is None:
            return (0.0, 0.0, 0.0)
        else:
            elapsed_s = time_s - float(self._rows[self._row_count - 1, _TIME])
            if elapsed_s <= 0.0:
                return (0.0, 0.0, 0.0)
            previous_pose = self._last_pose
            x_mps = (state.pose.position[0] - previous_pose.position[0]) / elapsed_s
            y_mps = (state.pose.position[1] - previous_pose.position[1]) / elapsed_s
            turn_radps = math.remainder(yaw - previous_pose.yaw_rad, 2 * math.pi) / elapsed_s
        # Rotate from the world frame to the base frame.
        return (cos * x_mps + sin * y_mps, -sin * x_mps + cos * y_mps, turn_radps)

    def _record_contacts(self, snapshot: Snapshot, pose: Pose) -> None:
        bottom_m = pose.position[2] + self.body.height_m[0]
        for contact in snapshot.contacts:
            partner = self._contacts.partner(contact, bottom_m)
            if partner is not None:
                contact_s = max(contact.stamp_s - self._start_s, 0.0)
                self._episodes.touch(contact_s, partner, self._speed_mps, "contact")

    def _record_clearance(self, time_s: float, pose: Pose2D, snapshot: Snapshot) -> None:
        # Without a possible collision, the clearance is computed at the end, for all such samples
        # in one call.
        if self._free_space is not None and self._free_space.contains(pose):
            self._unmeasured_rows.append(self._row_count - 1)
            return
        footprint = footprint_at(self._outline, pose)
        clearance_m = self._obstacles.nearest(footprint, snapshot.models).distance_m
        self._rows[self._row_count - 1, _CLEARANCE] = clearance_m
        if self._obstacles.is_fixed:
            self._free_space = _FreeSpace(pose, clearance_m, self._radius_m)
        if clearance_m <= 0.0:
            for name in self._obstacles.touching(footprint, snapshot.models):
                self._episodes.touch(time_s, name, self._speed_mps, "geometry")

    def _compute_remaining_clearances(self) -> None:
        rows, self._unmeasured_rows = self._unmeasured_rows, []
        if rows:
            poses = [Pose2D(*pose) for pose in self._rows[np.ix_(rows, _POSE)].tolist()]
            footprints = footprints_at(self._outline, poses)
            self._rows[rows, _CLEARANCE] = self._obstacles.distances_m(footprints)


def _lane_array(lane: Lane) -> np.ndarray:
    """Return the center points and widths (m) of a lane, shape (n, 3)."""
    return np.column_stack([lane.center_m, lane.width_m])


def _constant_series(
    body: RobotBody, actors: Mapping[str, np.ndarray], lanes: Sequence[Lane]
) -> Dict[str, np.ndarray]:
    series = {OUTLINE_SERIES + name: outline for name, outline in actors.items()}
    for number, lane in enumerate(lanes):
        series[f"{LANE_SERIES}{number}"] = _lane_array(lane)
    if series:
        hull = orient(shapely.MultiPoint(body.footprint_m).convex_hull)
        series[FOOTPRINT_SERIES] = shapely.get_coordinates(hull)[:-1]
    return series


class _FreeSpace(NamedTuple):
    """The poses near a measured pose at which the footprint cannot touch an obstacle.

    A point of the footprint moves by at most the motion of the base plus the rotation times
    ``radius_m``.
    """

    pose: Pose2D
    clearance_m: float
    radius_m: float

    def contains(self, pose: Pose2D) -> bool:
        turned_rad = abs(math.remainder(pose.yaw_rad - self.pose.yaw_rad, 2 * math.pi))
        moved_m = self.pose.distance_to(pose.x_m, pose.y_m) + self.radius_m * turned_rad
        return moved_m + ROUNDING_M < self.clearance_m
