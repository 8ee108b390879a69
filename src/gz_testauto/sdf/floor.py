"""Rules for the ground of a world, and for the heights at which a model obstructs a robot.

The rules are used for clearance, collisions, shortest paths, solvability, the placement of
obstacles, and the parts of a robot above the ground. See :mod:`gz_testauto.trial.contacts` for
robots that *touch* the ground in a running simulation.
"""

from typing import NamedTuple, Tuple

import numpy as np

GROUND_TOLERANCE_M = 0.02
"""Height below which an object on the ground (a sheet, a marking, a seam) is no obstacle, and below
which a shape of a robot, measured from the robot's lowest point, is in contact with the ground."""

SLAB_TOP_M = 0.1
"""Maximum z of the top of a slab that is ground."""
SLAB_SIDE_M = 2.0
"""Minimum length and width of a slab that is ground."""
SLAB_FLATNESS = 0.1
"""Maximum thickness of a slab that is ground, as a share of its shorter side."""


class Heights(NamedTuple):
    """A closed range of heights (m)."""

    low_m: float
    high_m: float

    def above(self, ground_m: float) -> "Heights":
        """Return the heights relative to a ground at ``ground_m``."""
        return Heights(self.low_m - ground_m, self.high_m - ground_m)

    def overlap(self, low_m: float, high_m: float) -> bool:
        """Return whether the heights from ``low_m`` to ``high_m`` overlap this range."""
        return high_m >= self.low_m and low_m <= self.high_m


ANY_ROBOT = Heights(GROUND_TOLERANCE_M, 2.0)
"""Obstructing heights (m) if the robot is unknown. Lower objects count as ground, and higher ones
as ceiling."""


def obstructing_heights(body_m: Tuple[float, float]) -> Heights:
    """Return the heights (m, world frame) at which an object obstructs a robot.

    ``body_m`` has the lowest and the highest z of the robot's body in the model frame. The lowest
    point of the robot is assumed at height 0 if it is below the origin of the model; otherwise the
    origin is at height 0.
    """
    low_m, high_m = body_m
    lift_m = max(0.0, -low_m)
    return Heights(low_m + lift_m + GROUND_TOLERANCE_M, high_m + lift_m)


def is_floor_slab(bounds: np.ndarray) -> bool:
    """Return whether a shape with these bounds is ground, since it is wide, flat and near z = 0.

    ``bounds`` are in m in the world frame, shape (3, 2).
    """
    length, width, thickness = bounds[:, 1] - bounds[:, 0]
    shorter = min(length, width)
    flat = shorter >= SLAB_SIDE_M and thickness <= SLAB_FLATNESS * shorter
    return bool(flat and bounds[2, 1] <= SLAB_TOP_M)
