"""Random obstacles in a running simulator: they are drawn, placed, replaced and saved.

An obstacle set is placed either completely or not at all. Draw *k* of a seed results in the
obstacles of world *k* of ``gz_testauto multiply`` with the same seed and base world.
"""

import dataclasses
import math
import os
from pathlib import Path
from typing import (
    Callable,
    ClassVar,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Protocol,
    Sequence,
    Set,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from gz_testauto.base.errors import GzTestautoError, PlacementError, SimulatorError, SpecError
from gz_testauto.base.pose import Pose, wrap_angle
from gz_testauto.base.registry import Registry
from gz_testauto.sampling.draws import ObstacleSampler
from gz_testauto.sampling.naming import is_obstacle, obstacle_name, parse_obstacle_name
from gz_testauto.sampling.placement import Obstacle, Placer
from gz_testauto.sampling.regions import spec_for_site
from gz_testauto.sampling.seeds import WORLD, child_generator
from gz_testauto.sampling.sequences import UnitSequence
from gz_testauto.sampling.site import Site
from gz_testauto.sdf.edit import add_model, remove_model
from gz_testauto.sdf.floor import ANY_ROBOT
from gz_testauto.spec.model import Spec
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.spec.regions import Circle, KeepOut, Region
from gz_testauto.worlds.base import BaseWorld
from gz_testauto.worlds.multiply import required_mission

# Largest accepted difference between the requested pose of an obstacle and its pose after it was
# spawned.
POSE_TOLERANCE_M = 0.05
POSE_TOLERANCE_RAD = 0.05

# Number of obstacles between two reports of the progress.
BATCH = 100  # simulators need about the same time for one obstacle as for this number


class World(Protocol):
    """The methods of a running simulator that the spawner needs, which raise ``SimulatorError``."""

    def model_names(self) -> Set[str]:
        """Return the names of all models."""

    def poses(self, names: Iterable[str]) -> Dict[str, Pose]:
        """Return the poses of models by name, in the world frame."""

    def spawn(self, models: Mapping[str, str]) -> None:
        """Add models (SDF texts by name), and wait until they exist."""

    def delete(self, names: Iterable[str]) -> None:
        """Remove models and wait until they no longer exist."""


class _WrongPoseError(SimulatorError):
    """A spawned obstacle has a wrong pose."""

    # If the initial world file contained a model of the same name, Gazebo 11 re-uses the pose of
    # this model, even if it was deleted.


class SetSource(Protocol):
    """A source of obstacle sets that do not depend on the base world, such as a Scenic program.
    ``spec_type`` is the type of the constructor's argument."""

    spec_type: ClassVar[Type[Spec]]

    @classmethod
    def of_file(cls, path: Path, called: str) -> "SetSource":
        """Read a file in the format of this source. ``called`` is the name of the file in error
        messages. Raises ``SpecError`` for an invalid file."""

    def draw(self, seed: int, number: int) -> Tuple[Obstacle, ...]:
        """Return the obstacle set with index ``number`` of a seed, in the order of placement, with
        names of random obstacles. Raises ``GzTestautoError`` if it cannot be drawn."""


# Registered subclasses of ``SetSource``, by the suffix of the files that they read.
SET_SOURCES = Registry("set source", {})


@dataclasses.dataclass(frozen=True)
class Draw:
    """The specification, the seed and the index of an obstacle set. ``label`` is the name of the
    specification in messages."""

    spec: Union[ObstacleSpec, SetSource]
    label: str
    seed: int
    number: int = 0


class ObstacleSpawner:
    """The random obstacles in one running simulator.

    ``base_world`` is the world file of the simulator. Obstacles keep gaps to its walls, and are
    placed at least ``keep_out_radius_m`` away from models that it does not contain, such as a
    robot. ``report`` is called with a sentence about the progress.
    """

    def __init__(
        self,
        world: World,
        base_world: Optional[Path] = None,
        keep_out_radius_m: float = 1.0,
        report: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._world = world
        self._base_world = base_world
        self._keep_out_radius_m = keep_out_radius_m
        self._report = report
        self._obstacles: Dict[str, Obstacle] = {}
        self._used_names: Set[str] = set()
        self._avoided_names: Set[str] = set()
        self.draw: Optional[Draw] = None

    @property
    def last_known(self) -> Tuple[Obstacle, ...]:
        """Return the obstacles at their last known poses, without a query of the simulator."""
        return tuple(self._obstacles.values())

    def obstacles(self) -> Tuple[Obstacle, ...]:
        """Return this spawner's obstacles that still exist, at their current poses."""
        model_names = self._read_names()
        poses = self._world.poses([name for name in self._obstacles if name in model_names])
        self._obstacles = {
            name: dataclasses.replace(self._obstacles[name], pose=pose)
            for name, pose in poses.items()
        }
        return self.last_known

    def spawn(self, draw: Draw, replace: bool) -> Tuple[Obstacle, ...]:
        """Draw an obstacle set and place it, after deleting all obstacles if ``replace`` is True.

        After an error, new obstacles are removed and deleted obstacles are restored. Returns the
        obstacles with their final names. Raises ``SpecError``, ``PlacementError``, ``SdfError`` or
        ``SimulatorError``.
        """
        if draw.seed < 0:
            raise SpecError(f"seed is {draw.seed}; it must be >= 0")
        names = self._read_names()
        obstacle_names = {name for name in names if is_obstacle(name)}
        previous_obstacles = self.obstacles()
        remaining_names = names - obstacle_names if replace else names
        try:
            obstacle_set = self._draw_set(
                draw, remaining_names, () if replace else previous_obstacles
            )
        except PlacementError as error:
            raise PlacementError(f"no obstacle was spawned or deleted: {error}") from error
        used_names = set() if replace else obstacle_names
        try:
            if replace:
                self._remove(obstacle_names)
            new_obstacles = self._place_under_unused_names(obstacle_set, used_names)
        except GzTestautoError:
            if replace:
                self._restore(previous_obstacles)
            raise
        self.draw = draw
        return new_obstacles

    def respawn(self) -> Tuple[Obstacle, ...]:
        """Replace the current obstacles by the next draw of the same specification and seed. Raises
        the errors of :meth:`spawn`, and ``SpecError`` if no obstacles were spawned before."""
        if self.draw is None:
            raise SpecError("no obstacles have been spawned; call spawn first")
        return self.spawn(dataclasses.replace(self.draw, number=self.draw.number + 1), True)

    def clear(self) -> int:
        """Delete all random obstacles, also of other nodes, and return their number."""
        obstacle_names = {name for name in self._read_names() if is_obstacle(name)}
        self._remove(obstacle_names)
        return len(obstacle_names)

    def save_world(self, path: Path) -> None:
        """Write the base world with the obstacles at their current poses. Raises ``SpecError`` if
        the base world is unknown, if the directory does not exist, or if other nodes also placed
        obstacles."""
        if self._base_world is None:
            raise SpecError(
                "the base world is not known; set the parameter ~base_world to its file"
            )
        if not os.path.isdir(path.parent):
            raise SpecError(f"{path}: the directory {path.parent} does not exist; create it")
        current = self.obstacles()
        known_names, names = {obstacle.name for obstacle in current}, self._read_names()
        base = _read_matching_base(self._base_world, names)
        document = base.scene.document.copy()
        unknown_names = set(filter(is_obstacle, names)) - known_names - set(base.scene.models)
        if unknown_names:
            raise SpecError(
                f"{', '.join(sorted(unknown_names))}: other nodes placed these obstacles, so their "
                "shapes are not known; call spawn with replace, or clear, before save_world"
            )
        for name in _removed_names(base, names, known_names):
            remove_model(document, name)
        for obstacle in current:
            add_model(document, obstacle.element_text())
        document.write(path)

    def _draw_set(
        self, draw: Draw, names: Set[str], current: Tuple[Obstacle, ...]
    ) -> Tuple[Obstacle, ...]:
        """Return a new obstacle set with gaps to all models of the simulator. ``names`` are the
        names of these models, and ``current`` are the obstacles of this spawner."""
        if not isinstance(draw.spec, ObstacleSpec):
            return draw.spec.draw(draw.seed, draw.number)
        mission = required_mission(draw.spec.mission)
        site, keep_out = Site((), mission), list(draw.spec.keep_out)
        if self._base_world is not None:
            base = _read_matching_base(self._base_world, names)
            known_names = {obstacle.name for obstacle in current}
            site = Site.of(
                base.scene, mission, excluded_names=_removed_names(base, names, known_names)
            )
            keep_out += self._keep_outs_around(names - known_names - set(base.scene.models))
        spec = spec_for_site(draw.spec.model_copy(update={"keep_out": keep_out}), site)
        sampler = ObstacleSampler.of_spec(spec)
        numbers = UnitSequence(spec.sampling, sampler.dimensions, draw.seed)
        placer = Placer(spec, _with_obstacles(site, current), sampler)
        generator = child_generator(draw.seed, WORLD, draw.number)
        return placer.place(generator, numbers.point(draw.number)).obstacles

    def _keep_outs_around(self, names: Iterable[str]) -> List[KeepOut]:
        discs = []
        for pose in self._world.poses(names).values():
            x_m, y_m = pose.position[:2]
            circle = Circle(x_m=x_m, y_m=y_m, radius_m=self._keep_out_radius_m)
            discs.append(KeepOut(shape=Region(circle=circle)))
        return discs

    def _place_under_unused_names(
        self, obstacle_set: Tuple[Obstacle, ...], used_names: Set[str]
    ) -> Tuple[Obstacle, ...]:
        # If a pose is wrong, the obstacles are placed again under names that were never used.
        renamed_obstacles = _renamed(obstacle_set, used_names | self._avoided_names)
        try:
            self._place(renamed_obstacles)
        except _WrongPoseError:
            self._avoided_names |= self._used_names | {
                obstacle.name for obstacle in renamed_obstacles
            }
            renamed_obstacles = _renamed(obstacle_set, used_names | self._avoided_names)
            self._place(renamed_obstacles)
        return renamed_obstacles

    def _place(self, obstacles: Sequence[Obstacle]) -> None:
        """Spawn all obstacles, or none after an error."""
        placed_names: List[str] = []
        try:
            for batch in _batches(obstacles):
                placed_names += [obstacle.name for obstacle in batch]
                self._world.spawn({obstacle.name: obstacle.sdf() for obstacle in batch})
                poses = self._world.poses([obstacle.name for obstacle in batch])
                for obstacle in batch:
                    pose = _check_pose(obstacle, poses.get(obstacle.name))
                    self._obstacles[obstacle.name] = dataclasses.replace(obstacle, pose=pose)
                self._report(f"spawned {len(placed_names)} of {len(obstacles)} obstacles")
        except GzTestautoError:
            self._remove(set(placed_names) & self._read_names())
            raise

    def _restore(self, obstacles: Iterable[Obstacle]) -> None:
        existing_names = self._read_names()
        self._place(tuple(o for o in obstacles if o.name not in existing_names))

    def _read_names(self) -> Set[str]:
        """Return the names of all models, and record the names of obstacles as used."""
        names = self._world.model_names()
        self._used_names.update(filter(is_obstacle, names))
        return names

    def _remove(self, names: Set[str]) -> None:
        # If some obstacles cannot be deleted, the others are deleted before the error is raised.
        deleted_count, errors = 0, []
        for batch in _batches(sorted(names)):
            try:
                self._world.delete(batch)
            except GzTestautoError as error:
                errors.append(error)
                continue
            for name in batch:
                self._obstacles.pop(name, None)
            deleted_count += len(batch)
            self._report(f"deleted {deleted_count} of {len(names)} obstacles")
        if errors:
            raise errors[0]


Item = TypeVar("Item")


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


def _check_pose(obstacle: Obstacle, pose: Optional[Pose]) -> Pose:
    if pose is None:
        raise SimulatorError(f"{obstacle.name} was spawned, but it does not exist in the simulator")
    x, y, yaw = pose.planar
    requested_x, requested_y, requested_yaw = obstacle.pose.planar
    error_m = math.hypot(x - requested_x, y - requested_y)
    if error_m > POSE_TOLERANCE_M or abs(wrap_angle(yaw - requested_yaw)) > POSE_TOLERANCE_RAD:
        raise _WrongPoseError(f"{obstacle.name} is {error_m:.2f} m from its requested position")
    return pose


def _renamed(obstacles: Iterable[Obstacle], used_names: Set[str]) -> Tuple[Obstacle, ...]:
    """Return the obstacles with unused names, numbered after the highest used number."""
    highest: Dict[str, int] = {}
    for used_parts in filter(None, map(parse_obstacle_name, used_names)):
        highest[used_parts.label] = max(highest.get(used_parts.label, -1), used_parts.index)
    renamed_obstacles = []
    for obstacle in obstacles:
        parts = parse_obstacle_name(obstacle.name)
        assert parts is not None  # placement assigns names of this form
        name = obstacle_name(parts.label, highest.get(parts.label, -1) + 1 + parts.index)
        renamed_obstacles.append(dataclasses.replace(obstacle, name=name))
    return tuple(renamed_obstacles)


def _read_matching_base(path: Path, names: Set[str]) -> BaseWorld:
    base = BaseWorld(path)
    obstacles = {model.name for model in base.obstacles}
    absent_names = sorted(set(base.scene.models) - obstacles - names)
    if absent_names:
        raise SpecError(
            f"the base world {path} has models that the simulator does not have "
            f"({', '.join(absent_names)}); set the parameter ~base_world to the world of the "
            "simulator, or to an empty text if it is not known"
        )
    return base


def _removed_names(base: BaseWorld, names: Set[str], known_names: Set[str]) -> List[str]:
    """Return the names of the obstacles of the base world that were deleted or replaced."""
    obstacle_names = [model.name for model in base.obstacles]
    return [name for name in obstacle_names if name not in names or name in known_names]


def _with_obstacles(site: Site, obstacles: Iterable[Obstacle]) -> Site:
    """Return the site with the current obstacles as walls, at their current poses."""
    heights = ANY_ROBOT if site.mission is None else site.mission.heights
    walls, mission_walls = list(site.walls), list(site.obstructing)
    for obstacle in obstacles:
        outline = obstacle.model.outline(obstacle.size).moved(*obstacle.pose.planar)
        obstructing_outline = dataclasses.replace(obstacle, outline=outline).obstructing(heights)
        walls.append(outline.polygon)
        if not obstructing_outline.core.is_empty:
            mission_walls.append(obstructing_outline.polygon)
    return Site(tuple(walls), site.mission, tuple(mission_walls))
