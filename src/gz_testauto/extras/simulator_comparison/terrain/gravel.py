"""Fixed stones.

A drawn relief that resembles gravel: the upper envelope of half ellipsoids of drawn positions,
diameters and heights, scaled to 97 mm, the relief of the mesh of A. Farley, J. Wang, J. A.
Marshall, "How to pick a mobile robot simulator", 2022. It is not that mesh. The stones do not roll,
and details smaller than the grid's pitch are missing.
"""

from typing import Tuple

import numpy as np
from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Annotated, Literal, Self

from gz_testauto.extras.simulator_comparison.terrain.kind import TerrainKind
from gz_testauto.spec.model import as_tuple

COVERED = 2.0
"""Area of all stones divided by that of the ground, so that few gaps remain."""
FLATTEST, TALLEST = 0.5, 1.0
"""Heights of a stone as shares of its radius."""

Diameters = Annotated[
    Tuple[Annotated[float, Field(gt=0.0, le=10.0)], Annotated[float, Field(gt=0.0, le=10.0)]],
    BeforeValidator(as_tuple),
]


class GravelTerrain(TerrainKind):
    """Stones with diameters uniform in ``stone_m``, ``relief_m`` from the lowest gap to the top of
    the highest."""

    kind: Literal["gravel"] = "gravel"
    friction: float = Field(0.55, ge=0.0, le=10.0)
    relief_m: float = Field(0.097, gt=0.0, le=2.0)
    stone_m: Diameters = (0.1, 0.24)

    @model_validator(mode="after")
    def _wider_than_cells(self) -> Self:
        least, greatest = self.stone_m
        if least > greatest:
            raise ValueError(f"stone_m is [{least:g}, {greatest:g}]; specify the least first")
        if least < 2 * self.pitch_m:
            raise ValueError(
                f"stone_m is from {least:g}; a stone must be at least two cells of the grid "
                f"wide ({2 * self.pitch_m:g} m): specify more pixels or larger stones"
            )
        return self

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """See :class:`TerrainKind`."""
        least, greatest = self.stone_m
        mean_area = np.pi / 12 * (least**2 + least * greatest + greatest**2)
        count = int(np.ceil(COVERED * self.size_m**2 / mean_area))
        heights = np.zeros(x_m.shape)
        half = self.size_m / 2
        stones = np.column_stack(
            [
                draw.uniform(-half, half, (count, 2)),
                draw.uniform(least / 2, greatest / 2, count),
                draw.uniform(FLATTEST, TALLEST, count),
            ]
        )
        for east, north, radius, tall in stones:
            columns = slice(*np.searchsorted(x_m[0], [east - radius, east + radius]))
            rising = np.searchsorted(y_m[::-1, 0], [north + radius, north - radius])
            rows = slice(*(len(y_m) - rising))
            apart = (x_m[rows, columns] - east) ** 2 + (y_m[rows, columns] - north) ** 2
            dome = tall * np.sqrt(np.maximum(radius**2 - apart, 0.0))
            np.maximum(heights[rows, columns], dome, out=heights[rows, columns])
        return heights * (self.relief_m / np.ptp(heights))
