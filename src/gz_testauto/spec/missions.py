"""The section ``missions`` of ``worlds``: a start and goals that are drawn for each world."""

from typing import Any, Optional, Tuple, Union

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from typing_extensions import Annotated, Literal

from gz_testauto.spec.model import NotNegative, Positive, Spec, as_tuple
from gz_testauto.spec.regions import Regions

MOST_MISSIONS = 10_000
"""Largest number of missions in one world."""


def _place_tag(value: Any) -> str:
    return "name" if isinstance(value, str) else "regions"


Place = Annotated[
    Union[Annotated[Literal["free"], Tag("name")], Annotated[Regions, Tag("regions")]],
    Discriminator(_place_tag),
]
"""``free`` for the free area of the world, or the union of regions."""


class MissionsSpec(Spec):
    """Missions that are drawn in each world: a start and goals between which a path exists. They
    depend on the seed of the campaign and the index of the world, and are the same for all
    planners. The keys ``robot.start``, ``goal.x_m``, ``goal.y_m`` and ``goal.via`` are omitted."""

    count: int = Field(1, ge=1, le=MOST_MISSIONS)
    """Number of missions in each world. Several missions have the names of the world with the
    endings ``_m0``, ``_m1``, …, with leading zeros, and count as different worlds."""
    start: Place = "free"
    """The area of the start: ``free`` or a region, of which the free part is used. The free area
    is inside the bounds of all shapes of the world. If the largest connected part of it is enclosed
    by shapes, as in a building, the parts that are open to the outside are not used."""
    goal: Place = "free"
    """The area of all goals, as ``start``."""
    path_m: Annotated[Tuple[NotNegative, Positive], BeforeValidator(as_tuple)] = (0.0, 1e6)
    """Lowest and highest length (m) of the shortest path through all goals. The path is that of
    the robot's circumscribed circle."""
    clearance_m: Optional[Positive] = None
    """Least distance (m) of the start and the goals from all shapes that obstruct the robot.
    Default: the radius of the robot's circumscribed circle plus 0.3 m."""
    heading: Literal["drawn", "along_path"] = "drawn"
    """The heading at the start: drawn uniformly, or along the shortest path. That at the goals,
    which planners receive, is chosen in the same way."""
    via: int = Field(0, ge=0, le=100)
    """Number of intermediate goals."""

    @model_validator(mode="after")
    def _require_ordered(self) -> "MissionsSpec":
        if not self.path_m[0] < self.path_m[1]:
            raise ValueError(f"path_m {list(self.path_m)} is empty; write [lowest, highest]")
        return self
