"""One world of a campaign, as its trials met it."""

from dataclasses import dataclass, field
from typing import Mapping, Optional, Tuple, Union

from gz_testauto.spec.worlds import PATH_M


@dataclass(frozen=True)
class WorldRecord:
    """One world of the campaign as its trials met it; ``path`` as given or generated."""

    world_index: int
    name: str
    path: str
    sha256: str
    shortest_path_m: Optional[float] = None
    published: Mapping[str, Union[float, str]] = field(default_factory=dict)
    """What a benchmark says of the world, by the names of the campaign."""
    missing: Tuple[str, ...] = ()
    """What the world names and was simulated without, as the campaign allows."""

    @property
    def published_path_m(self) -> Optional[float]:
        """Length (m) of the best way as published, where it is."""
        length_m = self.published.get(PATH_M)
        return length_m if isinstance(length_m, float) else None
