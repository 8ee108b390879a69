"""Compute the clearance: the exact planar distance from the robot's footprint to the obstacles.

Obstacles are the collision shapes of all models except the ground, at the heights that obstruct the
robot (:mod:`gz_testauto.sdf.floor`).
"""

import math
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np
import shapely
from shapely import affinity
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.arithmetic import matrix_product
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose, Pose2D, wrap_angle
from gz_testauto.sdf.floor import Heights
from gz_testauto.sdf.scene import SceneModel, WorldScene

# largest changes for which a model's outline is only moved in the plane
TILT_TOLERANCE_RAD = 1e-3
HEIGHT_TOLERANCE_M = 1e-3


class Nearest(NamedTuple):
    """Distance (m) to the nearest obstacle, ``inf`` if there is none, and its model's name."""

    distance_m: float
    name: str


def footprint_at(outline_m: np.ndarray, pose: Pose2D) -> shapely.Polygon:
    """Return the polygon of an outline, shape (n, 2) in the base frame, at ``pose``."""
    return footprints_at(outline_m, [pose])[0]


def footprints_at(outline_m: np.ndarray, poses: Sequence[Pose2D]) -> np.ndarray:
    """Return the polygons (p,) of an outline, shape (n, 2) in the base frame, at p ``poses``."""
    turns = [(math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)) for pose in poses]
    # The outline has one point per row, so the rotation matrices are transposed.
    turned_outlines = matrix_product(
        outline_m, np.array([[[cos, sin], [-sin, cos]] for cos, sin in turns])
    )
    placed_outlines = turned_outlines + np.array([[[pose.x_m, pose.y_m]] for pose in poses])
    return np.asarray(shapely.polygons(placed_outlines))


class ObstacleField:
    """The obstacles of one world at ``heights`` (m, world frame).

    Movable models are placed at their pose in each snapshot, without evaluating their joints.
    """

    def __init__(
        self, scene: WorldScene, heights: Heights, extra_models: Sequence[SceneModel] = ()
    ) -> None:
        self._fixed_names: List[str] = []
        self._fixed_outlines: Dict[str, BaseGeometry] = {}
        self._movers: List[_Mover] = []
        fixed_shapes: List[BaseGeometry] = []
        for model in (*scene.models.values(), *extra_models):
            outline = model.obstacle_footprint(*heights)
            if not model.static and not model.is_ground:
                self._movers.append(_Mover(model, outline, heights))
                continue
            parts = [part for part in shapely.get_parts(outline).tolist() if not part.is_empty]
            if parts:
                self._fixed_outlines[model.name] = outline
            fixed_shapes += parts
            self._fixed_names += [model.name] * len(parts)
        self._tree = shapely.STRtree(fixed_shapes)

    def nearest(self, shape: BaseGeometry, states: Mapping[str, ModelState]) -> Nearest:
        """Return the nearest obstacle and its exact distance to ``shape``, 0 if they overlap.

        All poses are in the world frame. A movable model without a state is ignored.
        """
        best = Nearest(math.inf, "")
        if self._fixed_names:
            index, distance = self._tree.query_nearest(
                shape, return_distance=True, all_matches=False
            )
            if len(index):
                best = Nearest(float(distance[0]), self._fixed_names[int(index[0])])
        for bound_m, mover, pose in self._by_bound(shape, states):
            # The remaining models are at least as far away as their bounds.
            if bound_m >= best.distance_m:
                break
            distance_m = mover.outline_at(pose).distance(shape)
            if distance_m < best.distance_m:
                best = Nearest(distance_m, mover.name)
        return best

    @property
    def is_fixed(self) -> bool:
        return not self._movers

    def distances_m(self, shapes: np.ndarray) -> np.ndarray:
        """Return the distance (m) of each of n shapes to the nearest obstacle, shape (n,). Requires
        :attr:`is_fixed`."""
        assert self.is_fixed, "movable models need their states"
        nearest_m = np.full(len(shapes), math.inf)
        if self._fixed_names:
            (shape, _), distance = self._tree.query_nearest(
                shapes, return_distance=True, all_matches=False
            )
            nearest_m[shape] = distance
        return nearest_m

    def touching(self, shape: BaseGeometry, states: Mapping[str, ModelState]) -> Tuple[str, ...]:
        """Return the sorted names of obstacles whose outlines intersect ``shape``."""
        hits = self._tree.query(shape, predicate="intersects")
        names = {self._fixed_names[int(index)] for index in hits}
        for bound_m, mover, pose in self._by_bound(shape, states):
            if bound_m > 0.0:
                break
            if mover.outline_at(pose).intersects(shape):
                names.add(mover.name)
        return tuple(sorted(names))

    @property
    def initial_states(self) -> Dict[str, ModelState]:
        """Return the states of movable models at their initial poses, by name."""
        return {mover.name: ModelState(mover.initial_pose) for mover in self._movers}

    def outlines(self) -> Dict[str, BaseGeometry]:
        """Return the outlines of all obstacles at their initial poses, by the name of the model."""
        return {**self._fixed_outlines, **{mover.name: mover.outline for mover in self._movers}}

    def _by_bound(
        self, shape: BaseGeometry, states: Mapping[str, ModelState]
    ) -> List[Tuple[float, "_Mover", Pose]]:
        """Return each movable model with its pose and a lower bound of its distance (m) to
        ``shape``, sorted by this bound. Models without a state are omitted.
        """
        if not self._movers:
            return []
        min_x, min_y, max_x, max_y = shape.bounds
        x_m, y_m = (min_x + max_x) / 2, (min_y + max_y) / 2
        radius_m = math.hypot(max_x - min_x, max_y - min_y) / 2
        bounds = []
        for mover in self._movers:
            state = states.get(mover.name)
            if state is not None:
                pose = state.pose
                # Circles around shape and model bound the distance from below.
                away_m = math.hypot(pose.position[0] - x_m, pose.position[1] - y_m)
                bounds.append((away_m - radius_m - mover.radius_m, mover, pose))
        bounds.sort(key=lambda entry: entry[0])
        return bounds


class _Mover:
    def __init__(self, model: SceneModel, outline: BaseGeometry, heights: Heights) -> None:
        self.name = model.name
        self.outline = outline
        self.initial_pose = model.pose
        self.radius_m = _bounding_radius_m(model)
        self._model = model
        self._heights = heights
        self._computed_pose = self._pose = model.pose
        self._computed_outline = self._outline = outline

    def outline_at(self, pose: Pose) -> BaseGeometry:
        # The last outline is cached: most models do not move from one snapshot to the next.
        if pose == self._pose:
            return self._outline
        self._pose = pose
        if not _differs_in_plane_only(pose, self._computed_pose):
            self._computed_pose = pose
            self._computed_outline = self._outline = self._model.footprint_at(pose, *self._heights)
        else:
            self._outline = _moved_in_plane(
                self._computed_outline, self._computed_pose.planar, pose.planar
            )
        return self._outline


def _bounding_radius_m(model: SceneModel) -> float:
    """Return the radius of a sphere about the model's origin that contains its shapes."""
    bounds = model.bounds
    if bounds is None:
        return 0.0
    origin = np.asarray(model.pose.position)
    return float(np.linalg.norm(np.abs(bounds - origin[:, None]).max(axis=1)))


def _differs_in_plane_only(pose: Pose, base: Pose) -> bool:
    if abs(pose.position[2] - base.position[2]) > HEIGHT_TOLERANCE_M:
        return False
    (roll, pitch, _), (base_roll, base_pitch, _) = pose.rpy, base.rpy
    return (
        abs(wrap_angle(roll - base_roll)) <= TILT_TOLERANCE_RAD
        and abs(wrap_angle(pitch - base_pitch)) <= TILT_TOLERANCE_RAD
    )


def _moved_in_plane(outline: BaseGeometry, start: Pose2D, end: Pose2D) -> BaseGeometry:
    turn = wrap_angle(end.yaw_rad - start.yaw_rad)
    cos, sin = math.cos(turn), math.sin(turn)
    shift_x = end.x_m - cos * start.x_m + sin * start.y_m
    shift_y = end.y_m - sin * start.x_m - cos * start.y_m
    return affinity.affine_transform(outline, [cos, -sin, sin, cos, shift_x, shift_y])
