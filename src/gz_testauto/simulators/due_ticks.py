"""The physics steps in which a sensor with an update rate measures.

Simulators that count their steps share this rule: sample *k* belongs to the first step that ends at
*k* periods or later.
"""

import math
from typing import Set

ROUNDING = 1e-6
"""If update rate times ticks differs from a whole number by less than this, it is that number."""


def due_ticks(start: int, end: int, per_tick: float) -> Set[int]:
    """Return the ticks after ``start`` and up to ``end`` in which a sensor with ``per_tick``
    samples per tick measures: every tick if that is 0, as in SDF, or more than 1."""
    if not 0.0 < per_tick < 1.0:
        return set(range(start + 1, end + 1))
    first = math.floor(start * per_tick + ROUNDING) + 1
    last = math.floor(end * per_tick + ROUNDING)
    return {math.ceil(count / per_tick - ROUNDING) for count in range(first, last + 1)}
