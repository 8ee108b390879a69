"""A vertical step across the path."""

from typing import Optional

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import Literal, Self

from gz_testauto.extras.simulator_comparison.terrain.kind import TerrainKind


class StepTerrain(TerrainKind):
    """Ground that is ``height_m`` higher from x = ``at_m``, up to the edge or for ``length_m``. It
    rises within one cell of the grid, which ends at ``at_m``."""

    kind: Literal["step"] = "step"
    height_m: float = Field(0.05, gt=0.0, le=2.0)
    at_m: float = Field(2.0, ge=0.0, le=1000.0)
    length_m: Optional[float] = Field(None, gt=0.0, le=1000.0)

    @model_validator(mode="after")
    def _on_the_square(self) -> Self:
        if not self.clear_m + self.blend_m < self.at_m < self.size_m / 2:
            raise ValueError(
                f"at_m is {self.at_m:g}; it must be above clear_m + blend_m "
                f"({self.clear_m + self.blend_m:g}) and below size_m / 2 ({self.size_m / 2:g})"
            )
        return self

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """See :class:`TerrainKind`."""
        slack = self.pitch_m / 1000
        high = x_m >= self.at_m - slack
        if self.length_m is not None:
            high &= x_m <= self.at_m + self.length_m + slack
        return np.where(high, self.height_m, 0.0)
