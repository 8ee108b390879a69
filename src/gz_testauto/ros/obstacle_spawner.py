"""A set of random obstacles in a running simulator: drawn, placed, replaced, written to a file.

Owns which obstacles stand and that a set is placed whole or not at all. Draw *k* of a seed is
what ``gz_testauto multiply`` draws for world *k* of that seed, on the same base world. Knows a
simulator as something with model names, poses, spawn and delete; no ROS.
"""

import dataclasses
from pathlib import Path
from typing import Dict, Iterable, List, Optional, Protocol, Set, Tuple

from shapely.geometry.base import BaseGeometry

from gz_testauto.errors import GzTestautoError, SpecError
from gz_testauto.geometry import Pose
from gz_testauto.sampling.draws import Roster
from gz_testauto.sampling.naming import is_obstacle, obstacle_name, parse_obstacle_name
from gz_testauto.sampling.placement import Obstacle, Placer
from gz_testauto.sampling.seeds import child_generator
from gz_testauto.sampling.sequences import UnitSequence
from gz_testauto.sampling.site import Site, walls_of
from gz_testauto.sdf.edit import add_model, remove_model
from gz_testauto.spec.obstacles import ObstacleSpec
from gz_testauto.spec.regions import Circle, KeepOut, Region
from gz_testauto.worlds.base import BaseWorld
from gz_testauto.worlds.multiply import drive_of


class World(Protocol):
    """What the spawner needs of a running simulator. Everything raises ``SimulatorError``."""

    def model_names(self) -> Set[str]:
        """Names of all models."""

    def poses(self, names: Iterable[str]) -> Dict[str, Pose]:
        """World poses of these models."""

    def spawn(self, name: str, sdf: str) -> None:
        """Add a model and see it there."""

    def delete(self, names: Iterable[str]) -> None:
        """Remove models and see them gone."""


@dataclasses.dataclass(frozen=True)
class Draw:
    """What a set was drawn from; ``label`` is how people call the specification."""

    spec: ObstacleSpec
    label: str
    seed: int
    number: int = 0


class ObstacleSpawner:
    """The random obstacles of one simulator.

    ``base_world`` is the file that the simulator was started with: for the gaps to its walls
    and for :meth:`save_world`. ``keep_off_m`` is kept free around every model that is neither
    in it nor an obstacle, such as a robot.
    """

    def __init__(
        self, world: World, base_world: Optional[Path] = None, keep_off_m: float = 1.0
    ) -> None:
        self._world = world
        self._base_world = base_world
        self._keep_off_m = keep_off_m
        self._standing: Dict[str, Obstacle] = {}
        self.draw: Optional[Draw] = None

    def obstacles(self) -> Tuple[Obstacle, ...]:
        """Those placed here that the simulator still shows, each where it is now."""
        shown = self._world.model_names()
        poses = self._world.poses([name for name in self._standing if name in shown])
        return tuple(
            dataclasses.replace(self._standing[name], pose=pose) for name, pose in poses.items()
        )

    def spawn(self, draw: Draw, replace: bool) -> Tuple[Obstacle, ...]:
        """Draw a set and place it, in place of all obstacles that stand or beside them.

        Whatever fails, what is new is taken away again; what was replaced is put back.
        Returns what was placed. Raises ``SpecError``, ``PlacementError``, ``SdfError`` or
        ``SimulatorError``.
        """
        if draw.seed < 0:
            raise SpecError(f"seed is {draw.seed}; it must be >= 0")
        names = self._world.model_names()
        present = {name for name in names if is_obstacle(name)}
        before = self.obstacles()
        drawn = self._draw_set(draw, names, () if replace else before)
        if not replace:
            drawn = _renamed(drawn, present)
        else:
            self._remove(present)
        try:
            self._place(drawn)
        except GzTestautoError:
            if replace:
                self._place(before)
            raise
        self.draw = draw
        return drawn

    def respawn(self) -> Tuple[Obstacle, ...]:
        """Place the next draw of the same specification and seed instead. Raises as
        :meth:`spawn`, and ``SpecError`` when nothing was spawned before."""
        if self.draw is None:
            raise SpecError("nothing was spawned yet; call spawn first")
        return self.spawn(dataclasses.replace(self.draw, number=self.draw.number + 1), True)

    def clear(self) -> int:
        """Delete all random obstacles, whoever placed them; returns how many."""
        present = {name for name in self._world.model_names() if is_obstacle(name)}
        self._remove(present)
        return len(present)

    def save_world(self, path: Path) -> None:
        """Write the base world with the obstacles where they are now. Raises ``SpecError``
        without a base world, or for a directory that is not there."""
        if self._base_world is None:
            raise SpecError("the base world is not known: set ~base_world to its file")
        if not path.parent.is_dir():
            raise SpecError(f"{path}: there is no directory {path.parent}")
        base = BaseWorld(self._base_world)
        document = base.scene.document.copy()
        for model in base.obstacles:
            remove_model(document, model.name)
        for obstacle in self.obstacles():
            add_model(document, obstacle.element_text())
        document.write(path)

    def _draw_set(
        self, draw: Draw, names: Set[str], standing: Iterable[Obstacle]
    ) -> Tuple[Obstacle, ...]:
        base = None if self._base_world is None else BaseWorld(self._base_world)
        walls = [_outline_now(obstacle) for obstacle in standing]
        keep_out = list(draw.spec.keep_out)
        if base is not None:
            found = [model.name for model in base.obstacles]
            walls = [*walls_of(base.scene, without=found), *walls]
            keep_out += self._around({name for name in names if name not in base.scene.models})
        spec = draw.spec.model_copy(update={"keep_out": keep_out})
        roster = Roster.of_spec(spec)
        numbers = UnitSequence(spec.sampling, roster.dimensions, draw.seed)
        placer = Placer(spec, Site(tuple(walls), drive_of(spec.drive)), roster)
        generator = child_generator(draw.seed, "world", draw.number)
        return placer.place(generator, numbers.point(draw.number)).obstacles

    def _around(self, names: Iterable[str]) -> List[KeepOut]:
        """Discs about models that came after the base world: not on the robot."""
        strangers = [name for name in names if not is_obstacle(name)]
        discs = []
        for pose in self._world.poses(strangers).values():
            x_m, y_m = pose.position[:2]
            circle = Circle(x_m=x_m, y_m=y_m, radius_m=self._keep_off_m)
            discs.append(KeepOut(shape=Region(circle=circle)))
        return discs

    def _place(self, obstacles: Iterable[Obstacle]) -> None:
        """Spawn all, or take away again those that were."""
        placed: List[str] = []
        try:
            for obstacle in obstacles:
                placed.append(obstacle.name)
                self._world.spawn(obstacle.name, obstacle.sdf())
                self._standing[obstacle.name] = obstacle
        except GzTestautoError:
            self._remove(set(placed) & self._world.model_names())
            raise

    def _remove(self, names: Set[str]) -> None:
        if names:
            self._world.delete(names)
        for name in names:
            self._standing.pop(name, None)


def _renamed(drawn: Iterable[Obstacle], taken: Set[str]) -> Tuple[Obstacle, ...]:
    """The same obstacles under names that nobody has: numbers go on after the highest."""
    highest: Dict[str, int] = {}
    for parsed in filter(None, map(parse_obstacle_name, taken)):
        highest[parsed.label] = max(highest.get(parsed.label, -1), parsed.index)
    renamed = []
    for obstacle in drawn:
        parsed = parse_obstacle_name(obstacle.name)
        name = obstacle_name(parsed.label, highest.get(parsed.label, -1) + 1 + parsed.index)
        renamed.append(dataclasses.replace(obstacle, name=name))
    return tuple(renamed)


def _outline_now(obstacle: Obstacle) -> BaseGeometry:
    """What an obstacle covers where it is now, which may be where it was pushed."""
    x, y, yaw = obstacle.pose.planar
    return obstacle.model.outline(obstacle.size).moved(x, y, yaw).polygon
