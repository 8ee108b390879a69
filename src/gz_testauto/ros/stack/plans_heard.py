"""The plans that a stack published during one trial: when each came and how long it is.

Owns what counts as one plan. navfn publishes each of its plans twice, first without its last point:
two messages of a topic with the same stamp are one plan, and the second is kept.
"""

from typing import List, Tuple

import numpy as np


class PlansHeard:
    """Plans of one kind, in the order in which they came. Not locked."""

    def __init__(self) -> None:
        self._heard: List[Tuple[float, float]] = []
        self._newest: Tuple[str, float] = ("", 0.0)

    def take(self, topic: str, stamp_s: float, after_s: float, points_m: np.ndarray) -> None:
        """A message ``after_s`` after the goal, its points shape (n, 2). ``stamp_s``, that of its
        header, is 0 where the publisher leaves it out, and then tells nothing."""
        steps = np.diff(points_m, axis=0) if len(points_m) > 1 else np.zeros((0, 2))
        plan = (after_s, float(np.hypot(*steps.T).sum()))
        if stamp_s > 0.0 and self._heard and self._newest == (topic, stamp_s):
            self._heard[-1] = (self._heard[-1][0], plan[1])
        else:
            self._heard.append(plan)
        self._newest = (topic, stamp_s)

    @property
    def lengths_m(self) -> List[float]:
        """Of each plan."""
        return [length_m for _, length_m in self._heard]

    def array(self) -> np.ndarray:
        """Shape (n, 2): time since the goal (s) and length (m)."""
        return np.array(self._heard, dtype=float).reshape(-1, 2)
