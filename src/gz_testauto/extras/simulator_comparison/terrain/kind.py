"""Common properties of all kinds of terrain, as specified in YAML.

These are the square, its grid, its friction, and the flat area in its middle where robots start.
"""

from abc import abstractmethod

import numpy as np
from pydantic import Field, field_validator

from gz_testauto.spec.model import Spec
from gz_testauto.spec.stack import NAME


class TerrainKind(Spec):
    """A square of ground around the world's origin.

    ``size_m`` is its side and ``pixels`` the number of grid points per side, 2^n + 1. It is flat up
    to ``clear_m`` from the origin along x and y, for a robot to start on. Over the next ``blend_m``
    the relief increases to its full height.
    """

    name: str = Field(pattern=NAME)
    friction: float = Field(1.0, ge=0.0, le=10.0)
    size_m: float = Field(12.8, ge=1.0, le=1000.0)
    pixels: int = Field(513, ge=17, le=2049)
    clear_m: float = Field(0.8, ge=0.0, le=100.0)
    blend_m: float = Field(0.4, ge=0.0, le=100.0)

    @field_validator("pixels")
    @classmethod
    def _a_power_of_two_and_one(cls, pixels: int) -> int:
        if (pixels - 1) & (pixels - 2):
            raise ValueError(f"is {pixels}; it must be 2^n + 1, such as 257 or 513")
        return pixels

    @property
    def pitch_m(self) -> float:
        """Distance between neighboring points of the grid."""
        return self.size_m / (self.pixels - 1)

    @abstractmethod
    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """Return heights (m) at the points of a grid with the coordinates ``x_m`` and ``y_m`` (both
        (n, n)): rows of decreasing y, columns of increasing x. Only differences of heights are
        used."""
