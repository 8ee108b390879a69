"""One world: its file, what is known of it, and what a campaign says of it beside."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterable, List, Mapping, Optional, Tuple, Union

from gz_testauto.sampling.difficulty import Difficulty
from gz_testauto.sampling.placement import Obstacle
from gz_testauto.spec.worlds import PATH_M

SHOWN = 5
"""So many things are named in one line."""

Progress = Callable[[int, int], None]
"""Called after each world with how many are done and how many there will be."""


@dataclass(frozen=True)
class ObstacleRecord:
    """One obstacle as the manifest has it. ``pose`` is x y z roll pitch yaw in the world frame
    (m, rad); ``size`` has the type's sizes by name (m; of a model its scale)."""

    name: str
    type: str
    pose: Tuple[float, float, float, float, float, float]
    size: Mapping[str, float]
    mass_kg: float
    static: bool

    @classmethod
    def of(cls, obstacle: Obstacle) -> "ObstacleRecord":
        """The record of a placed obstacle; its pose as the world's file has it."""
        size = dict(zip(obstacle.model.kind.size_names, obstacle.size))
        pose = obstacle.pose.values
        return cls(obstacle.name, obstacle.type, pose, size, obstacle.mass_kg, obstacle.static)


@dataclass(frozen=True)
class WorldRecord:
    """One world, the same record from its making to the results.

    ``world_index`` counts from 0 in the directory, or in the campaign. What is not known, as of a
    file without manifest, is None or empty; obstacles and difficulty are in ``worlds.json`` and
    not in the results.
    """

    world_index: int
    name: str
    path: Path
    sha256: str
    shortest_path_m: Optional[float] = None
    published: Mapping[str, Union[float, str]] = field(default_factory=dict)
    """What a benchmark says of the world, by the names of the campaign."""
    missing: Tuple[str, ...] = ()
    """What the world names and is simulated without, as the campaign allows."""
    obstacles: Tuple[ObstacleRecord, ...] = ()
    difficulty: Optional[Difficulty] = None
    redrawn: int = 0
    """How many sets of obstacles were discarded before this one, as not solvable."""
    unmeasured: Tuple[str, ...] = ()
    """What the world holds that no clearance, collision or shortest path knows of."""

    @property
    def published_path_m(self) -> Optional[float]:
        """Length (m) of the best way as published, where it is."""
        length_m = self.published.get(PATH_M)
        return length_m if isinstance(length_m, float) else None


def unmeasured_notice(worlds: Iterable[WorldRecord]) -> str:
    """One line that says what worlds hold and nothing measures; empty where all is measured."""
    found = unmeasured_in(worlds)
    if not found:
        return ""
    shown = ", ".join(found[:SHOWN])
    more = f", and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"not measured, as neither clearance nor shortest path knows of it: {shown}{more}"


def unmeasured_in(worlds: Iterable[WorldRecord]) -> List[str]:
    """What worlds hold and nothing measures, the most frequent first, each with in how many."""
    counts = Counter(name for world in worlds for name in sorted(set(world.unmeasured)))
    return [
        f"{name} (in {count} world{'' if count == 1 else 's'})"
        for name, count in counts.most_common()
    ]
