"""Rules for which shapes of a world are ground, and at which heights a model obstructs a robot.

See :mod:`gz_testauto.trial.contacts` for robots that *touch* the ground in a running simulation.
"""

from typing import NamedTuple, Tuple

import numpy as np

# Height below which a flat object on the ground, such as a marking, is not an obstacle, and a
# shape of a robot touches the ground.
GROUND_TOLERANCE_M = 0.02

SLAB_TOP_M = 0.1  # largest z of the top of a slab that counts as ground
SLAB_SIDE_M = 2.0  # smallest length and width of a slab that counts as ground
SLAB_FLATNESS = 0.1  # largest ratio of thickness to shorter side of a slab that counts as ground


class Heights(NamedTuple):
    """A closed range of heights."""

    low_m: float
    high_m: float

    def above(self, ground_m: float) -> "Heights":
        """Return this range relative to a ground at ``ground_m``."""
        return Heights(self.low_m - ground_m, self.high_m - ground_m)

    def overlap(self, low_m: float, high_m: float) -> bool:
        return high_m >= self.low_m and low_m <= self.high_m


ANY_ROBOT = Heights(GROUND_TOLERANCE_M, 2.0)  # at which objects obstruct a robot of unknown size


def obstructing_heights(body_m: Tuple[float, float]) -> Heights:
    """Return the heights (world frame) at which objects obstruct a robot. ``body_m`` is its lowest
    and highest z in the model frame."""
    # If the lowest point is below the origin of the model, it is on the ground (z = 0). Otherwise,
    # the origin is on the ground.
    low_m, high_m = body_m
    lift_m = max(0.0, -low_m)
    return Heights(low_m + lift_m + GROUND_TOLERANCE_M, high_m + lift_m)


def is_floor_slab(bounds: np.ndarray) -> bool:
    """Return whether a shape is wide, flat and near z = 0. ``bounds``, shape (3, 2), contains its
    lowest and highest x, y and z (m, world frame)."""
    length, width, thickness = bounds[:, 1] - bounds[:, 0]
    shorter = min(length, width)
    flat = shorter >= SLAB_SIDE_M and thickness <= SLAB_FLATNESS * shorter
    return bool(flat and bounds[2, 1] <= SLAB_TOP_M)
