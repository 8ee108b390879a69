"""The record of a world: its file, its difficulty, and the campaign's data about it."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterable, List, Mapping, Optional, Tuple, Union

from gz_testauto.sampling.difficulty import Difficulty
from gz_testauto.sampling.placement import Obstacle
from gz_testauto.spec.worlds import PATH_M

SHOWN = 5
"""Largest number of names in one line."""

Progress = Callable[[int, int], None]
"""Called after each world with how many are done and how many there will be."""


@dataclass(frozen=True)
class ObstacleRecord:
    """An obstacle in the manifest. ``pose`` is x y z roll pitch yaw in the world frame (m, rad);
    ``size`` has the type's sizes by name (m; of a model its scale)."""

    name: str
    type: str
    pose: Tuple[float, float, float, float, float, float]
    size: Mapping[str, float]
    mass_kg: float
    static: bool

    @classmethod
    def of(cls, obstacle: Obstacle) -> "ObstacleRecord":
        """Return the record of a placed obstacle, with its pose as in the world's file."""
        size = dict(zip(obstacle.model.kind.size_names, obstacle.size))
        pose = obstacle.pose.values
        return cls(obstacle.name, obstacle.type, pose, size, obstacle.mass_kg, obstacle.static)


@dataclass(frozen=True)
class WorldRecord:
    """A world, from its generation to the results.

    ``world_index`` counts from 0 in the directory, or in the campaign. Unknown values, such as
    those of a file without manifest, are None or empty. Obstacles and difficulty are in
    ``worlds.json`` and not in the results.
    """

    world_index: int
    name: str
    path: Path
    sha256: str
    shortest_path_m: Optional[float] = None
    published: Mapping[str, Union[float, str]] = field(default_factory=dict)
    """Published numbers of the world, by the names of the campaign."""
    missing: Tuple[str, ...] = ()
    """Missing resources of the world that the campaign allows."""
    obstacles: Tuple[ObstacleRecord, ...] = ()
    difficulty: Optional[Difficulty] = None
    redrawn: int = 0
    """Number of sets of obstacles that were discarded before this one, as not solvable."""
    unmeasured: Tuple[str, ...] = ()
    """Elements of the world that clearance, collision and shortest path ignore."""

    @property
    def published_path_m(self) -> Optional[float]:
        """Return the length (m) of the published best path, if any."""
        length_m = self.published.get(PATH_M)
        return length_m if isinstance(length_m, float) else None


def unmeasured_notice(worlds: Iterable[WorldRecord]) -> str:
    """Return one line about the elements of worlds that are not measured; empty if all are."""
    found = unmeasured_in(worlds)
    if not found:
        return ""
    shown = ", ".join(found[:SHOWN])
    more = f", and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"not measured, as neither clearance nor shortest path includes it: {shown}{more}"


def unmeasured_in(worlds: Iterable[WorldRecord]) -> List[str]:
    """Return the elements of worlds that are not measured, the most frequent first, with counts."""
    counts = Counter(name for world in worlds for name in sorted(set(world.unmeasured)))
    return [
        f"{name} (in {count} world{'' if count == 1 else 's'})"
        for name, count in counts.most_common()
    ]
