"""The plans that a stack published during one trial: times and lengths.

navfn publishes each plan twice, first without its last point. So two messages of a topic with the
same stamp are one plan, and the second is kept.
"""

from typing import List, Tuple

import numpy as np


class PublishedPlans:
    """Plans of one kind, in order of reception. Not thread-safe."""

    def __init__(self) -> None:
        self._heard: List[Tuple[float, float]] = []
        self._newest: Tuple[str, float] = ("", 0.0)

    def take(self, topic: str, stamp_s: float, after_s: float, points_m: np.ndarray) -> None:
        """Add a message received ``after_s`` after the goal; ``points_m`` has shape (n, 2).
        ``stamp_s`` is the stamp of its header, 0 if the publisher does not set it."""
        steps = np.diff(points_m, axis=0) if len(points_m) > 1 else np.zeros((0, 2))
        plan = (after_s, float(np.hypot(*steps.T).sum()))
        if stamp_s > 0.0 and self._heard and self._newest == (topic, stamp_s):
            self._heard[-1] = (self._heard[-1][0], plan[1])
        else:
            self._heard.append(plan)
        self._newest = (topic, stamp_s)

    @property
    def lengths_m(self) -> List[float]:
        """The length of each plan."""
        return [length_m for _, length_m in self._heard]

    def array(self) -> np.ndarray:
        """Return times since the goal (s) and lengths (m), shape (n, 2)."""
        return np.array(self._heard, dtype=float).reshape(-1, 2)
