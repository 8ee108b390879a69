"""A terrain: one grid of heights, the same for every simulator.

The grid has 256 levels, the maximum of Gazebo's height maps. Heights between the points are
interpolated. The module of the kinds of terrain generates the heights.
"""

from dataclasses import dataclass
from typing import Union

import numpy as np
from scipy.interpolate import RegularGridInterpolator

LEVELS = 255
"""The highest level of 8 bits; the lowest is 0."""


@dataclass(frozen=True, eq=False)
class Terrain:
    """A square of ground around the world's origin.

    ``heights_m`` (n, n) are above the world's zero, at n = 2^k + 1 points per side, the first and
    the last of them on the edges. Row 0 is at the greatest y, column 0 at the least x. At the
    origin, where robots start, and around it the height is exactly 0. The heights are whole
    multiples of ``relief_m`` / 255.
    """

    name: str
    heights_m: np.ndarray
    size_m: float
    friction: float

    @property
    def relief_m(self) -> float:
        """Height difference between the lowest and the highest point."""
        return float(np.ptp(self.heights_m))

    @property
    def lowest_m(self) -> float:
        """Height of the lowest point above the world's zero; 0 or less."""
        return float(self.heights_m.min())

    @property
    def levels(self) -> np.ndarray:
        """Heights as a gray image (n, n) of 8 bits: 0 is the lowest point, 255 the highest."""
        if self.relief_m == 0.0:
            return np.zeros(self.heights_m.shape, np.uint8)
        share = (self.heights_m - self.lowest_m) / self.relief_m
        return np.rint(share * LEVELS).astype(np.uint8)

    @property
    def pixels(self) -> int:
        """Points per side."""
        return len(self.heights_m)

    @property
    def pitch_m(self) -> float:
        """Distance between neighboring points."""
        return self.size_m / (self.pixels - 1)

    @property
    def x_m(self) -> np.ndarray:
        """Coordinates of the columns (n,), increasing."""
        return grid_m(self.size_m, self.pixels)

    @property
    def y_m(self) -> np.ndarray:
        """Coordinates of the rows (n,), decreasing."""
        return grid_m(self.size_m, self.pixels)[::-1]

    def height_m(
        self, x_m: Union[float, np.ndarray], y_m: Union[float, np.ndarray]
    ) -> Union[float, np.ndarray]:
        """Return the height (m) above the world's zero, bilinear between the points of the grid;
        NaN beyond the edge. ``x_m`` and ``y_m`` have the same shape as the result."""
        axis = grid_m(self.size_m, self.pixels)
        interpolate = RegularGridInterpolator(
            (axis, axis), self.heights_m[::-1], bounds_error=False, fill_value=np.nan
        )
        heights = interpolate(np.stack(np.broadcast_arrays(y_m, x_m), axis=-1))
        return float(heights[0]) if np.ndim(x_m) == 0 and np.ndim(y_m) == 0 else heights


def grid_m(size_m: float, pixels: int) -> np.ndarray:
    """Return the coordinates of a grid's points along one axis (pixels,), increasing; the middle
    one is 0."""
    return (np.arange(pixels) - (pixels - 1) // 2) * (size_m / (pixels - 1))


def quantize(heights_m: np.ndarray) -> np.ndarray:
    """Return heights (n, n) on 256 levels between the lowest and the highest, shifted so that the
    middle one is exactly 0."""
    lowest, relief = float(heights_m.min()), float(np.ptp(heights_m))
    if relief == 0.0:
        return np.zeros_like(heights_m)
    levels = np.rint((heights_m - lowest) / relief * LEVELS)
    middle = len(levels) // 2
    return (levels - levels[middle, middle]) * (relief / LEVELS)
