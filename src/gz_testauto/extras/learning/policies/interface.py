"""The interface between a policy and a robot: a vector of numbers in, two numbers out.

This module defines the meaning of an action: forward speed and yaw rate, each from -1 to 1. Forward
speed ranges from rest, or from the largest reverse speed if the robot can reverse, to the largest
speed. A positive yaw rate turns left. Both are limited to what the base can execute from one
control period to the next.
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
    """The conversion of observations and actions between a policy and the robot of a trial."""

    def __init__(self, terms: Sequence[Named]) -> None:
        """Create the encoder. Raises ``SpecError`` as :class:`ObservationEncoder` does."""
        self.encoder = ObservationEncoder(terms)

    def begin(self, task: Task) -> None:
        """Start a task."""
        self.encoder.begin(task)
        self._limits = task.limits
        self._limiter = SpeedLimiter(task.limits, task.control_period_s)

    def encode(self, observation: Observation) -> np.ndarray:
        """Return the policy's input vector, (size,)."""
        return self.encoder.encode(observation)

    def command(self, action: np.ndarray, measured: Twist2D) -> Twist2D:
        """Return the velocity command of an action (2,). Raises ``ValueError`` for another shape,
        and for numbers that are not finite."""
        numbers = np.asarray(action, dtype=float)
        if numbers.shape != (ACTIONS,):
            raise ValueError(f"the action has shape {numbers.shape}; it must be ({ACTIONS},)")
        forward, turn = numbers.tolist()
        if not (math.isfinite(forward) and math.isfinite(turn)):
            raise ValueError(f"the action is [{forward}, {turn}]; it must be finite")
        forward, turn = min(max(forward, -1.0), 1.0), min(max(turn, -1.0), 1.0)
        limits = self._limits
        if not limits.can_reverse:
            forward = 0.5 * (forward + 1.0)
        wanted = Twist2D(forward * limits.max_linear_mps, turn * limits.max_angular_radps)
        return self._limiter.apply(wanted, measured)
