"""Tiles with flat patches on them, some stacked on others.

The tile of 1 m, the heights of 38 and 76 mm, and the friction are those of A. Farley, J. Wang, J.
A. Marshall, "How to pick a mobile robot simulator", 2022. Positions and sizes of the patches are
drawn; they are not those of the paper's tiles.
"""

from typing import List, Tuple

import numpy as np
from pydantic import Field
from typing_extensions import Literal

from gz_testauto.extras.simulator_comparison.terrain.kind import TerrainKind

PATCHES = 2
"""Patches of the first layer on a tile; each has one of the second on it."""
SIDES_M = (0.2, 0.45)
"""Shortest and longest side of a patch of the first layer on a tile of 1 m."""
UPPER_SHARE = (0.4, 0.7)
"""Sides of a patch as shares of those of the patch below it."""

Rectangle = Tuple[float, float, float, float]
"""Least x, least y, length along x and along y."""


class BumpsTerrain(TerrainKind):
    """Tiles of ``tile_m``; their patches are ``layer_m`` above the plate or above the patch below.
    Their sides rise within one cell of the grid."""

    kind: Literal["bumps"] = "bumps"
    friction: float = Field(0.95, ge=0.0, le=10.0)
    blend_m: float = Field(0.0, ge=0.0, le=100.0)
    tile_m: float = Field(1.0, ge=0.2, le=100.0)
    layer_m: float = Field(0.038, gt=0.0, le=1.0)

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """See :class:`TerrainKind`."""
        layers = np.zeros(x_m.shape)
        tiles = int(np.ceil(self.size_m / self.tile_m))
        for row in range(tiles):
            for column in range(tiles):
                west = column * self.tile_m - self.size_m / 2
                south = row * self.tile_m - self.size_m / 2
                for layer, patches in enumerate(_tile(self.tile_m, draw), 1):
                    for patch in patches:
                        inside = _covered(x_m, y_m, patch, west, south)
                        layers[inside] = np.maximum(layers[inside], layer)
        return layers * self.layer_m


def _tile(side_m: float, draw: np.random.Generator) -> Tuple[List[Rectangle], List[Rectangle]]:
    """Return the patches of a tile relative to its corner: those of the first layer and of the
    second."""
    low, high = [], []
    for _ in range(PATCHES):
        length, width = draw.uniform(*SIDES_M, size=2) * side_m
        west, south = draw.uniform(0.0, 1.0, size=2) * (side_m - length, side_m - width)
        low.append((west, south, length, width))
        shorter, narrower = draw.uniform(*UPPER_SHARE, size=2) * (length, width)
        along, across = draw.uniform(0.0, 1.0, size=2) * (length - shorter, width - narrower)
        high.append((west + along, south + across, shorter, narrower))
    return low, high


def _covered(
    x_m: np.ndarray, y_m: np.ndarray, patch: Rectangle, west_m: float, south_m: float
) -> Tuple[slice, slice]:
    """Return the rows and columns of the grid that a patch covers."""
    left, bottom, length, width = patch
    columns = np.searchsorted(x_m[0], [west_m + left, west_m + left + length])
    rows = len(y_m) - np.searchsorted(y_m[::-1, 0], [south_m + bottom + width, south_m + bottom])
    return slice(*rows), slice(*columns)
