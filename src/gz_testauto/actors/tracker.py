"""Tracked objects, computed from the true states of moving models.

Noise depends only on seed, object and time stamp, so it is identical for all planners.
"""

import functools
from collections import deque
from dataclasses import dataclass, replace
from typing import Deque, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry
from shapely.geometry.polygon import orient

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.creation import ObstacleOutlines
from gz_testauto.base.observation import Snapshot, TrackedObject
from gz_testauto.base.pose import Pose, Pose2D, wrap_angle
from gz_testauto.sampling.seeds import TRACKING, child_generator
from gz_testauto.sdf.scene import placed_model
from gz_testauto.simulators.interface import NamedModel
from gz_testauto.spec.actors import TrackingSpec

ROUNDING_S = 1e-9


@dataclass(frozen=True)
class TrackedScene:
    models: Tuple[NamedModel, ...]
    actors: Tuple[Actor, ...]
    obstacles: ObstacleOutlines
    seed: int
    world: int
    repetition: int


@dataclass(frozen=True)
class _ReceivedSnapshot:
    time_s: float
    robot: Pose2D
    poses: Mapping[str, Pose2D]


class _LastObservation(NamedTuple):
    time_s: float
    seen: TrackedObject
    true: Pose2D


class ObjectTracker:
    """A simulated tracker of the moving objects around a robot, which reports
    :class:`TrackedObject`."""

    def __init__(self, spec: TrackingSpec, robot: str, scene: TrackedScene) -> None:
        self._spec, self._robot, self._scene = spec, robot, scene
        self._outlines = {
            model.name: outline_m(model.sdf) for model in scene.models if model.name != robot
        }
        self._actors = {actor.name: actor for actor in scene.actors}
        self._times = spec.step_s * np.arange(round(spec.horizon_s / spec.step_s) + 1)
        self._past: Deque[_ReceivedSnapshot] = deque()
        self._observations: Dict[str, _LastObservation] = {}
        self._objects: Tuple[TrackedObject, ...] = ()

    @property
    def objects(self) -> Tuple[TrackedObject, ...]:
        """The tracked objects in the latest snapshot, sorted by name."""
        return self._objects

    def observe(self, snapshot: Snapshot) -> None:
        """Update the tracked objects. A snapshot that is not newer than the previous is ignored."""
        time_s = snapshot.time_s
        if self._past and time_s <= self._past[-1].time_s + ROUNDING_S:
            return
        self._past.append(
            _ReceivedSnapshot(
                time_s,
                snapshot.models[self._robot].pose.planar,
                {
                    name: snapshot.models[name].pose.planar
                    for name in self._outlines
                    if name in snapshot.models
                },
            )
        )
        latest_s = time_s - self._spec.delay_s + ROUNDING_S
        while len(self._past) > 2 and self._past[2].time_s <= latest_s:
            self._past.popleft()
        self._objects = self._update(time_s, latest_s)

    def _update(self, time_s: float, latest_s: float) -> Tuple[TrackedObject, ...]:
        """Return the objects observed at or before ``latest_s``, predicted from ``time_s`` on."""
        past = [received for received in self._past if received.time_s <= latest_s]
        if past:
            current_snapshot, previous_snapshot = past[-1], past[-2] if len(past) > 1 else None
            for name in self._visible_names(current_snapshot):
                observed_object = self._measure_object(name, current_snapshot, previous_snapshot)
                self._observations[name] = _LastObservation(
                    current_snapshot.time_s, observed_object, current_snapshot.poses[name]
                )
        oldest_s = (past[-1].time_s if past else time_s) - self._spec.hold_last_s - ROUNDING_S
        self._observations = {
            name: last for name, last in self._observations.items() if last.time_s >= oldest_s
        }
        return tuple(
            self._predict(self._observations[name], time_s) for name in sorted(self._observations)
        )

    def _visible_names(self, snapshot: _ReceivedSnapshot) -> List[str]:
        limit_m = np.inf if self._spec.range_m is None else self._spec.range_m
        x_m, y_m = snapshot.robot.x_m, snapshot.robot.y_m
        near_names = [
            name for name, pose in snapshot.poses.items() if pose.distance_to(x_m, y_m) <= limit_m
        ]
        if not self._spec.occlusion:
            return near_names
        bodies = {
            name: shapely.polygons(pose.apply(self._outlines[name]))
            for name, pose in snapshot.poses.items()
        }
        eye = np.array([x_m, y_m])
        return [name for name in near_names if self._is_in_sight(name, eye, bodies)]

    def _is_in_sight(self, name: str, eye: np.ndarray, bodies: Mapping[str, BaseGeometry]) -> bool:
        """Return whether a line from the robot to a corner or the center of the object crosses no
        obstacle and no other object."""
        outline = bodies[name]
        corners = shapely.get_coordinates(outline)[:-1]
        ends = np.vstack([corners, shapely.get_coordinates(outline.centroid)])
        lines = shapely.linestrings(np.stack([np.broadcast_to(eye, ends.shape), ends], axis=1))
        is_free = ~self._scene.obstacles.crossed(lines)
        for other_name, shape in bodies.items():
            if not is_free.any():
                return False
            if other_name != name:
                is_free &= ~shapely.intersects(shape, lines)
        return bool(is_free.any())

    def _measure_object(
        self,
        name: str,
        current_snapshot: _ReceivedSnapshot,
        previous_snapshot: Optional[_ReceivedSnapshot],
    ) -> TrackedObject:
        pose, velocity = current_snapshot.poses[name], (0.0, 0.0, 0.0)
        previous_pose = None if previous_snapshot is None else previous_snapshot.poses.get(name)
        if previous_snapshot is not None and previous_pose is not None:
            passed_s = current_snapshot.time_s - previous_snapshot.time_s
            velocity = (
                (pose.x_m - previous_pose.x_m) / passed_s,
                (pose.y_m - previous_pose.y_m) / passed_s,
                wrap_angle(pose.yaw_rad - previous_pose.yaw_rad) / passed_s,
            )
        noise = self._spec.noise
        if noise.position_m or noise.yaw_rad or noise.speed_mps:
            drawn = self._draw_noise(name, current_snapshot.time_s)
            x_m, y_m = (drawn[:2] * noise.position_m).tolist()
            vx_mps, vy_mps = (drawn[3:] * noise.speed_mps).tolist()
            yaw_rad = wrap_angle(pose.yaw_rad + float(drawn[2]) * noise.yaw_rad)
            pose = Pose2D(pose.x_m + x_m, pose.y_m + y_m, yaw_rad)
            velocity = (velocity[0] + vx_mps, velocity[1] + vy_mps, velocity[2])
        no_path = np.empty((0, 3))
        return TrackedObject(name, pose, velocity, self._outlines[name], no_path, self._spec.step_s)

    def _predict(self, observation: _LastObservation, now_s: float) -> TrackedObject:
        seen_object, age_s = observation.seen, now_s - observation.time_s
        actor = self._actors.get(seen_object.name)
        path: Optional[np.ndarray] = None
        if self._spec.prediction == "script" and actor is not None:
            path = actor.expected(now_s + self._times)
        pose = np.array(seen_object.pose)
        if path is None:
            path = pose + (age_s + self._times)[:, None] * np.array(seen_object.velocity)
        else:
            path = path + (pose - np.array(observation.true))  # the offset is 0 without noise
        return replace(seen_object, path=path, age_s=age_s)

    def _draw_noise(self, name: str, stamp_s: float) -> np.ndarray:
        """Return standard normal numbers for x, y, yaw and both components of the velocity, shape
        (5,)."""
        scene = self._scene
        path: Tuple[Union[int, str], ...] = (TRACKING, name, scene.world, scene.repetition)
        stamp = round(max(stamp_s, 0.0) * 1e6)
        return child_generator(scene.seed, *path, stamp).standard_normal(5)


@functools.lru_cache(maxsize=256)  # the actors of one entry have one model
def outline_m(sdf: str) -> np.ndarray:
    """Return the convex hull of a model's outline in the model frame, shape (n, 2),
    counter-clockwise, or three points at the origin without collision shapes."""
    footprint = placed_model(sdf, "model", Pose()).obstacle_footprint(-np.inf, np.inf)
    hull = footprint.convex_hull
    if not isinstance(hull, shapely.Polygon) or hull.is_empty:
        return np.zeros((3, 2))
    outline = shapely.get_coordinates(orient(hull))[:-1]
    outline.setflags(write=False)
    return np.asarray(outline)
