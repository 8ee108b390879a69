"""Fractional Brownian ground: the same roughness at every scale."""

import numpy as np
from pydantic import Field
from typing_extensions import Literal

from gz_testauto.extras.simulator_comparison.terrain.kind import TerrainKind
from gz_testauto.extras.simulator_comparison.terrain.spectrum import rough_field


class FractalTerrain(TerrainKind):
    """Ground with a spectrum along any line proportional to n^-(2H + 1), where H is ``hurst``; it
    is ``roughness_m3`` at 0.1 1/m. With H = 0.5 it is a road of ISO 8608."""

    kind: Literal["fbm"] = "fbm"
    hurst: float = Field(0.7, gt=0.0, lt=1.0)
    roughness_m3: float = Field(1024e-6, gt=0.0, le=1.0)

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """See :class:`TerrainKind`."""
        return rough_field(len(x_m), self.pitch_m, self.roughness_m3, self.hurst, draw)
