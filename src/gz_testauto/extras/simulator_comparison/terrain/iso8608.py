"""Roads of the classes of ISO 8608, as an isotropic surface.

The spectrum along any line is G_d(n) = G_d(n0) (n / n0)^-2, n0 = 0.1 1/m, with the geometric mean
of the class. The standard defines it from 0.011 to 2.83 1/m; here it extends to the shortest wave
of the grid.
"""

import numpy as np
from typing_extensions import Literal

from gz_testauto.extras.simulator_comparison.terrain.kind import TerrainKind
from gz_testauto.extras.simulator_comparison.terrain.spectrum import rough_field

CLASS_M3 = {"A": 16e-6, "B": 64e-6, "C": 256e-6, "D": 1024e-6, "E": 4096e-6}
"""G_d(n0) of the classes, their geometric means; the limits are at half and double."""


class RoadTerrain(TerrainKind):
    """A road of a ``road_class`` from A, very good, to E, very poor."""

    kind: Literal["iso8608"] = "iso8608"
    road_class: Literal["A", "B", "C", "D", "E"] = "C"

    def relief(self, x_m: np.ndarray, y_m: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        """See :class:`TerrainKind`."""
        return rough_field(len(x_m), self.pitch_m, CLASS_M3[self.road_class], 0.5, draw)
