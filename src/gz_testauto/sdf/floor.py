"""What of a world is floor, and between which heights what stands in it obstructs a robot.

Owns these two rules for everybody: clearance and collisions, the shortest way and "solvable",
the placing of obstacles, and what of a robot stands on the floor. Which collision of a robot
*touches* the floor in a running simulation is :mod:`gz_testauto.trial.contacts`' to say.
"""

from typing import FrozenSet, Mapping, NamedTuple, Tuple

import numpy as np

FLOOR_SKIN_M = 0.02
"""What rises less than this above the floor (a sheet, a marking, a seam) is no obstacle; a shape of
a robot that reaches down to less than this above its lowest point stands on the floor."""

SLAB_TOP_M = 0.1
"""A slab is a floor only when its top is no higher than this above the world's zero ..."""
SLAB_SIDE_M = 2.0
"""... and it is at least this long and wide ..."""
SLAB_FLATNESS = 0.1
"""... and no thicker than this share of its shorter side."""


class Heights(NamedTuple):
    """Two heights (m) between which something lies, both included."""

    low_m: float
    high_m: float

    def above(self, ground_m: float) -> "Heights":
        """The same heights, measured from ``ground_m`` up."""
        return Heights(self.low_m - ground_m, self.high_m - ground_m)

    def overlap(self, low_m: float, high_m: float) -> bool:
        """Whether something that reaches from ``low_m`` to ``high_m`` reaches in between."""
        return high_m >= self.low_m and low_m <= self.high_m


ANY_ROBOT = Heights(FLOOR_SKIN_M, 2.0)
"""What obstructs where no robot is known: lower is floor, higher is ceiling."""


def obstructing_heights(body_m: Tuple[float, float]) -> Heights:
    """Between which heights, in the world frame, what stands there obstructs a robot.

    ``body_m`` has the lowest and the highest point of its body above its model's origin. That
    origin is at height 0, or, of a body that reaches below it, so high that the body stands there.
    """
    low_m, high_m = body_m
    lift_m = max(0.0, -low_m)
    return Heights(low_m + lift_m + FLOOR_SKIN_M, high_m + lift_m)


def is_floor_slab(bounds: np.ndarray) -> bool:
    """Whether something of these bounds (m, shape (3, 2), world frame) is a floor: wide, flat,
    and its top about the world's zero."""
    length, width, thickness = bounds[:, 1] - bounds[:, 0]
    shorter = min(length, width)
    flat = shorter >= SLAB_SIDE_M and thickness <= SLAB_FLATNESS * shorter
    return bool(flat and bounds[2, 1] <= SLAB_TOP_M)


def parts_above_floor(lowest_m: Mapping[str, float]) -> FrozenSet[str]:
    """Which parts of a robot do not stand on the floor, of all by name with the height of their
    lowest point (m)."""
    floor_m = min(lowest_m.values(), default=0.0)
    return frozenset(name for name, low in lowest_m.items() if low - floor_m > FLOOR_SKIN_M)
