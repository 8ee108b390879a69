"""In which physics steps a sensor measures that has a rate of its own.

Owns the rule that every simulator follows which counts its own steps: sample *k* is of the first
step that ends at *k* periods or later.
"""

import math
from typing import Set

ROUNDING = 1e-6
"""A sensor's rate times a number of ticks that is this near to a whole number is one."""


def due_ticks(start: int, end: int, per_tick: float) -> Set[int]:
    """The ticks after ``start`` and up to ``end`` in which a sensor measures that does so
    ``per_tick`` times in each; in all of them when that is 0, as in SDF, or more than 1."""
    if not 0.0 < per_tick < 1.0:
        return set(range(start + 1, end + 1))
    first = math.floor(start * per_tick + ROUNDING) + 1
    last = math.floor(end * per_tick + ROUNDING)
    return {math.ceil(count / per_tick - ROUNDING) for count in range(first, last + 1)}
