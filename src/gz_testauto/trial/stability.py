"""Check that a scene is physically possible within its first simulated second.

The measurement is invalid if, for example, a model sinks or the robot starts inside a model.
"""

import logging
import math
from dataclasses import dataclass
from typing import Dict, List, Optional, Set, Tuple

import numpy as np

from gz_testauto.base.errors import SceneError
from gz_testauto.base.observation import Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.metrics.recording import ContactEpisode
from gz_testauto.sdf.meshes.surfaces import Heightmap
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.sdf.scene import SceneModel, WorldScene
from gz_testauto.sdf.shapes import Plane
from gz_testauto.trial.contacts import ContactClassifier

DURATION_S = 1.0

GRAVITY_MPS2 = 9.81

# largest displacement when bodies settle, topple, or are separated since they overlap slightly
SETTLE_M = 0.3

DRIVEN_MPS = 10.0  # largest speed of a model that a plug-in drives, such as a car in a town
SUNK_M = 0.1  # largest depth of a body below the lowest floor; heavy bodies sink by millimeters
DEEP_M = 0.05  # largest depth of a contact that a motion can cause
UPRIGHT_RAD = 0.3  # largest tilt at which the height of a robot's lowest point is accurate

CREEP_MPS = (0.5e-3, 25e-3)  # lowest and highest horizontal speed of a model that creeps
CREEP_START_S, CREEP_DURATION_S = 0.5, 0.3  # start, shortest duration of the check for creeping

BOUNDS_TOLERANCE_M = 0.01

CREEP_RISE_M = 0.5e-3  # largest change of height of a model that creeps

LISTED = 3  # largest number of models in a message

MIN_UPWARD = 1e-6  # smallest z component of the normal of a plane that can carry a body

LOGGER = logging.getLogger(__name__)
_LOGGED: Set[Tuple[str, str]] = set()


class LowestLevels:
    """The lowest heights (m, world frame) in one world; a model below them has fallen out of it."""

    def __init__(self, scene: WorldScene) -> None:
        self._planes: List[Tuple[List[float], List[float]]] = []
        self._bottom_m, self._floor_m = math.inf, math.inf
        for model in scene.models.values():
            for shape in model.collisions:
                if isinstance(shape.geometry, Plane):
                    normal = shape.geometry.world_normal
                    if normal[2] > MIN_UPWARD:
                        point = shape.geometry.surface_point(shape.pose)
                        self._planes.append((normal.tolist(), point.tolist()))
                    continue
                low_m, high_m = map(float, shape.bounds[2])
                self._bottom_m = min(self._bottom_m, low_m)
                if shape.is_ground:
                    surface_m = low_m if isinstance(shape.geometry, Heightmap) else high_m
                    self._floor_m = min(self._floor_m, surface_m)

    def bottom_m(self, x_m: float, y_m: float) -> float:
        """Return the height (m) of the lowest collision shape; ``-inf`` for a world without any.

        Infinite planes, which can be inclined, have the height that they have at (x, y).
        """
        return _min_height_m([self._bottom_m, *self._plane_heights_m(x_m, y_m)])

    def floor_m(self, x_m: float, y_m: float) -> float:
        return _min_height_m([self._floor_m, *self._plane_heights_m(x_m, y_m)])

    def _plane_heights_m(self, x_m: float, y_m: float) -> List[float]:
        return [
            point[2] - (normal[0] * (x_m - point[0]) + normal[1] * (y_m - point[1])) / normal[2]
            for normal, point in self._planes
        ]


def _min_height_m(levels_m: List[float]) -> float:
    lowest_m = min(levels_m)
    # Nothing can fall below a world without shapes.
    return -math.inf if lowest_m == math.inf else lowest_m


class StabilityCheck:
    """The stability check of one trial. Call :meth:`check` for all snapshots in order of time."""

    def __init__(
        self,
        scene: WorldScene,
        levels: LowestLevels,
        body: RobotBody,
        contacts: ContactClassifier,
        max_linear_mps: float,
    ) -> None:
        # A world plug-in can drive all models.
        world = scene.document.world
        world_is_driven = world is not None and world.find("plugin") is not None
        self._models = [
            _MovableModel.of(model, world_is_driven)
            for model in scene.models.values()
            if not model.static and model.collisions
        ]
        self.levels, self._body, self._contacts = levels, body, contacts
        self._max_linear_mps = max_linear_mps
        self._start: Dict[str, np.ndarray] = {}
        self._source = scene.document.source
        self._settled_state: Optional[Tuple[float, Dict[str, np.ndarray]]] = None
        self._robot_start: Optional[Pose] = None

    def check(
        self, snapshot: Snapshot, time_s: float, collision: Optional[ContactEpisode] = None
    ) -> None:
        """Raise ``SceneError`` if the scene is physically impossible within :data:`DURATION_S`.

        ``time_s`` is relative to the first snapshot. ``collision`` is the robot's first collision.
        """
        if time_s > DURATION_S:
            return
        self._check_robot(snapshot, time_s, collision)
        candidates = (self._impossible_motion(m, snapshot, time_s, collision) for m in self._models)
        motions = [motion for motion in candidates if motion]
        if motions:
            others = f"; so did {len(motions) - LISTED} others" if len(motions) > LISTED else ""
            raise SceneError(
                f"{'; '.join(motions[:LISTED])}{others}: in the world file, the model is inside "
                "another model or has no ground below; change its <pose>, or make the model static"
            )
        self._log_creeping(snapshot, time_s, collision)

    def _log_creeping(
        self, snapshot: Snapshot, time_s: float, collision: Optional[ContactEpisode]
    ) -> None:
        # Models can creep on another dynamic model in Gazebo's ODE; the trial remains valid.
        if time_s < CREEP_START_S or collision is not None:
            return
        middles = {
            model.name: snapshot.models[model.name].pose.apply(model.middle_m)
            for model in self._models
            if model.name in snapshot.models and not model.is_driven
        }
        if self._settled_state is None:
            self._settled_state = (time_s, middles)
            return
        since_s, settled_middles = self._settled_state
        passed_s = time_s - since_s
        if passed_s < CREEP_DURATION_S:
            return
        for model in self._models:
            if model.name not in middles or model.name not in settled_middles:
                continue
            shift_m = middles[model.name] - settled_middles[model.name]
            speed_mps = math.hypot(shift_m[0], shift_m[1]) / passed_s
            creeps = CREEP_MPS[0] < speed_mps < CREEP_MPS[1] and abs(shift_m[2]) < CREEP_RISE_M
            carrier = self._find_carrier(model) if creeps else None
            key = (self._source, model.name)
            if carrier is not None and key not in _LOGGED:
                _LOGGED.add(key)
                LOGGER.warning(
                    "%s: %s creeps on %s at %.1f mm/s; put <min_depth>0.001</min_depth> into "
                    "<surface><contact><ode> of the collisions of both, or make %s static "
                    "(docs/scenic.md)",
                    *(*key, carrier, 1000 * speed_mps, carrier),
                )

    def _find_carrier(self, model: "_MovableModel") -> Optional[str]:
        # The carrier's bounds contain the middle of the model's bottom.
        bottom = np.append(model.bounds_m[:2].mean(axis=1), model.bounds_m[2, 0])
        for carrier in self._models:
            low, high = (
                carrier.bounds_m[:, 0] - BOUNDS_TOLERANCE_M,
                carrier.bounds_m[:, 1] + BOUNDS_TOLERANCE_M,
            )
            if carrier is not model and (low < bottom).all() and (bottom < high).all():
                return carrier.name
        return None

    def _impossible_motion(
        self,
        model: "_MovableModel",
        snapshot: Snapshot,
        time_s: float,
        collision: Optional[ContactEpisode],
    ) -> str:
        """Return a message if the motion since the first snapshot is impossible, else ""."""
        state = snapshot.models.get(model.name)
        if state is None:
            return ""
        middle = state.pose.apply(model.middle_m)
        if not np.isfinite(middle).all():
            return f"the position of {model.name} is not finite after {time_s:.2f} s"
        start = self._start.setdefault(model.name, middle)
        shift_m = middle - start
        hit = collision is not None and collision.partner == model.name
        if model.is_driven or hit:
            across_m = up_m = SETTLE_M + DRIVEN_MPS * time_s
        else:
            # Gravity moves a body sideways by at most g/4 t², as on a slope of 45° without
            # friction, and never up.
            across_m, up_m = SETTLE_M + GRAVITY_MPS2 / 4 * time_s**2, SETTLE_M
        if math.hypot(shift_m[0], shift_m[1]) > across_m or shift_m[2] > up_m:
            touch = "" if hit else " without being touched by the robot"
            return f"{model.name} moved {math.hypot(*shift_m):.2f} m in {time_s:.2f} s{touch}"
        x_m, y_m, z_m = middle.tolist()
        under_floor = z_m < self.levels.floor_m(x_m, y_m) - SUNK_M
        if shift_m[2] < -SUNK_M and (
            under_floor or z_m + model.radius_m < self.levels.bottom_m(x_m, y_m)
        ):
            return f"{model.name} sank by {-shift_m[2]:.2f} m in {time_s:.2f} s, to z = {z_m:.2f} m"
        return ""

    def _check_robot(
        self, snapshot: Snapshot, time_s: float, collision: Optional[ContactEpisode]
    ) -> None:
        pose = snapshot.models[self._body.name].pose
        first = self._robot_start is None
        start = self._robot_start = self._robot_start or pose
        if first and collision is not None:
            raise SceneError(
                f"the robot is inside {collision.partner} at its start, according to "
                f"{collision.source}; move robot.start"
            )
        low_m, _ = self._body.span_m(pose)
        for contact in snapshot.contacts:
            partner = self._contacts.partner(contact, low_m)
            deep_m = max(contact.depths_m, default=0.0)
            if partner is not None and deep_m > DEEP_M:
                raise SceneError(
                    f"the robot is {deep_m:.2f} m deep in {partner} after {time_s:.2f} s: it "
                    f"starts inside {partner}, or the collision shapes in this simulator differ "
                    "from the visuals; move robot.start"
                )
        rise_m = pose.position[2] - start.position[2]
        if rise_m > SETTLE_M + self._max_linear_mps * time_s:
            raise SceneError(
                f"the robot was thrown up by {rise_m:.2f} m in {time_s:.2f} s: it starts in the "
                "ground or in another model; move robot.start"
            )
        if rise_m < -SUNK_M and pose.tilt_rad < UPRIGHT_RAD:
            floor_m = self.levels.floor_m(*pose.position[:2])
            if low_m < floor_m - SUNK_M:
                raise SceneError(
                    f"the robot sank by {-rise_m:.2f} m in {time_s:.2f} s, to z = "
                    f"{pose.position[2]:.2f} m, {floor_m - low_m:.2f} m below the ground; check "
                    "that its model has collision shapes that touch the ground, that the ground is "
                    "a static model, and that no model presses the robot down"
                )


@dataclass(frozen=True, eq=False)
class _MovableModel:
    """A model that can move.

    ``middle_m`` is the center of the collision shapes in the model's frame, and ``radius_m`` the
    radius of a ball around it that contains them. ``bounds_m``, shape (3, 2), are their bounds in
    the world frame at the start.
    """

    name: str
    middle_m: np.ndarray
    bounds_m: np.ndarray
    radius_m: float
    is_driven: bool

    @classmethod
    def of(cls, model: SceneModel, world_is_driven: bool) -> "_MovableModel":
        bounds = model.bounds
        assert bounds is not None, "it has collision shapes"
        middle = model.pose.inverse().apply(bounds.mean(axis=1))
        nodes = (node for _, node, _ in model.node.walk())
        is_driven = world_is_driven or any(
            node.element.find("plugin") is not None for node in nodes
        )
        radius_m = math.dist(*bounds.T) / 2
        return cls(model.name, middle, bounds, radius_m, is_driven)
