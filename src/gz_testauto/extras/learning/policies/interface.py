"""Between a policy and a robot: a vector of numbers in, two numbers out.

Owns what an action means: two numbers from -1 to 1, forward speed (from standing, or from driving
backwards where the robot can, to the greatest) and yaw rate (left is above 0), kept within what the
base can do from one control period to the next.
"""

import math
from typing import Sequence

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.extras.learning.policies.observations import Named, ObservationEncoder
from gz_testauto.planners.interface import Observation, Task
from gz_testauto.planners.limits import SpeedLimiter

ACTIONS = 2


class PolicyInterface:
    """What stands between a policy and the robot of a trial."""

    def __init__(self, terms: Sequence[Named]) -> None:
        """Raises ``SpecError`` as :class:`ObservationEncoder` does."""
        self.encoder = ObservationEncoder(terms)

    def begin(self, task: Task) -> None:
        """A new task."""
        self.encoder.begin(task)
        self._limits = task.limits
        self._limiter = SpeedLimiter(task.limits, task.control_period_s)

    def encode(self, observation: Observation) -> np.ndarray:
        """What the policy is shown, (size,)."""
        return self.encoder.encode(observation)

    def command(self, action: np.ndarray, measured: Twist2D) -> Twist2D:
        """What an action (2,) commands. Raises ``ValueError`` for another shape, and for what is no
        number."""
        numbers = np.asarray(action, dtype=float)
        if numbers.shape != (ACTIONS,):
            raise ValueError(f"an action has shape ({ACTIONS},); this one has {numbers.shape}")
        forward, turn = numbers.tolist()
        if not (math.isfinite(forward) and math.isfinite(turn)):
            raise ValueError(f"an action must be finite numbers; this one is [{forward}, {turn}]")
        forward, turn = min(max(forward, -1.0), 1.0), min(max(turn, -1.0), 1.0)
        limits = self._limits
        if not limits.can_reverse:
            forward = 0.5 * (forward + 1.0)
        wanted = Twist2D(forward * limits.max_linear_mps, turn * limits.max_angular_radps)
        return self._limiter.apply(wanted, measured)
