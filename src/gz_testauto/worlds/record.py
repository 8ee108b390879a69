"""The record of a world: its file, its difficulty, and the data of the campaign for this world."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from pydantic import NonNegativeInt

from gz_testauto.sampling.difficulty import Difficulty
from gz_testauto.sampling.placement import Obstacle
from gz_testauto.spec.worlds import PATH_M

SHOWN = 5

GPU_LIDAR = (
    "the lidar is a gpu_ray or gpu_lidar, which sees visuals in Gazebo and collision shapes here"
)
OTHER_VISUALS = f"{GPU_LIDAR}; at its height, they differ by more than 5 cm in"

Progress = Callable[[int, int], None]  # receives the numbers of finished worlds and of all worlds


def generated_name(index: int) -> str:
    return f"world_{index:04d}"


@dataclass(frozen=True)
class ObstacleRecord:
    """An obstacle in the manifest of worlds.

    ``pose`` contains x, y, z, roll, pitch and yaw in the world frame (m, rad). ``size`` maps the
    names of the sizes of this type to their values (m; for the type ``model`` a factor).
    """

    name: str
    type: str
    pose: Tuple[float, float, float, float, float, float]
    size: Mapping[str, float]
    mass_kg: float
    static: bool

    @classmethod
    def of(cls, obstacle: Obstacle) -> "ObstacleRecord":
        size = dict(zip(obstacle.model.kind.size_names, obstacle.size))
        pose = obstacle.pose.values
        return cls(obstacle.name, obstacle.type, pose, size, obstacle.mass_kg, obstacle.static)


@dataclass(frozen=True)
class WorldRecord:
    """A world with the data of the campaign for this world.

    ``world_index`` is the position, counted from 0, in the directory or in the campaign. Unknown
    values are None or empty. Obstacles and difficulty are not written to the results.
    """

    world_index: NonNegativeInt
    name: str
    path: Path
    sha256: str
    shortest_path_m: Optional[float] = None
    published: Mapping[str, Union[float, str]] = field(default_factory=dict)
    """Published numbers of the world, by the names that the campaign assigns."""
    missing: Tuple[str, ...] = ()
    """Missing files of the world that the campaign allows to be missing."""
    obstacles: Tuple[ObstacleRecord, ...] = ()
    difficulty: Optional[Difficulty] = None
    redrawn: int = 0
    """Number of obstacle sets that were discarded before this one because no path existed, or an
    obstacle did not fit at its constant position."""
    unmeasured: Tuple[str, ...] = ()
    """Names of elements that are ignored in clearance, collisions and shortest paths."""
    other_visuals: Tuple[str, ...] = ()
    """Models whose visuals differ from their collision shapes at the height of a lidar that sees
    visuals in Gazebo."""
    mission: Tuple[Tuple[float, float, float], ...] = ()
    """The drawn start and goals: x (m), y (m) and yaw (rad) in the world frame."""
    content_sha256: str = ""
    """Hash of the file without comments, superfluous blanks and the world's name; "" if unknown."""

    @property
    def published_path_m(self) -> Optional[float]:
        length_m = self.published.get(PATH_M)
        return length_m if isinstance(length_m, float) else None


def unmeasured_notice(worlds: Iterable[WorldRecord]) -> str:
    """Return a line that lists the elements that clearance and path do not include, or ""."""
    text = "not measured, as neither clearance nor shortest path includes it"
    return listed(text, unmeasured_in(worlds))


def visuals_notice(worlds: Iterable[WorldRecord]) -> str:
    """Return a line that lists the models with other visuals than collision shapes, or ""."""
    return listed(OTHER_VISUALS, other_visuals_in(worlds))


def listed(text: str, names: Sequence[str]) -> str:
    ending = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{text}: {', '.join(names[:SHOWN])}{ending}" if names else ""


def unmeasured_in(worlds: Iterable[WorldRecord]) -> List[str]:
    """Return the elements that are not measured, each with its number of worlds, by frequency."""
    return _counted(world.unmeasured for world in worlds)


def other_visuals_in(worlds: Iterable[WorldRecord]) -> List[str]:
    """Return the models with other visuals than collision shapes, as :func:`unmeasured_in`."""
    return _counted(world.other_visuals for world in worlds)


def _counted(names_by_world: Iterable[Sequence[str]]) -> List[str]:
    counts = Counter(name for names in names_by_world for name in sorted(set(names)))
    return [
        f"{name} (in {count} world{'' if count == 1 else 's'})"
        for name, count in counts.most_common()
    ]
