"""Flat ground, such as a laboratory's floor or artificial grass, which differ in friction."""

import numpy as np
from typing_extensions import Literal

from gz_testauto.extras.simulator_comparison.terrain.kind import TerrainKind


class FlatTerrain(TerrainKind):
    """A plane."""

    kind: Literal["flat"] = "flat"

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """See :class:`TerrainKind`."""
        return np.zeros_like(x_m)
