"""A learned policy as a planner, and the conversion between policy and robot.

An action is forward speed and yaw rate, each from -1 to 1. The smallest forward speed is rest, or
the largest reverse speed if the robot can reverse. A positive yaw rate turns left. Both are limited
to the change of speed that the robot can execute within one control period. A safety filter
(:mod:`~.safety`) can replace the resulting command.
"""

import hashlib
from pathlib import Path
from typing import Any, List, Optional, Sequence

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.extras.learning.policies.files import STABLE_BASELINES, read_card, read_policy
from gz_testauto.extras.learning.policies.observations import Named, ObservationEncoder
from gz_testauto.extras.learning.policies.policy import ACTIONS
from gz_testauto.extras.learning.policies.safety import SafetyFilter, SafetyFilterSpec
from gz_testauto.planners.interface import (
    LocalPlanner,
    Observation,
    PlannerAborted,
    Provenance,
    Task,
)
from gz_testauto.planners.limits import SpeedLimiter


class PolicyInterface:
    def __init__(
        self, terms: Sequence[Named], safety_filter: Optional[SafetyFilterSpec] = None
    ) -> None:
        """Raise ``SpecError`` for invalid terms."""
        self.encoder = ObservationEncoder(terms)
        self._filter = None if safety_filter is None else SafetyFilter(safety_filter)

    def begin(self, task: Task) -> None:
        self.encoder.begin(task)
        self._limits = task.limits
        self._limiter = SpeedLimiter(task.limits, task.control_period_s)
        if self._filter is not None:
            self._filter.begin(task)

    def encode(self, observation: Observation) -> np.ndarray:
        return self.encoder.encode(observation)

    def command(self, action: np.ndarray, observation: Observation) -> Twist2D:
        """Return the command of an action (2,) that was computed for ``observation``.

        Raises ``ValueError`` for a wrong shape, or for numbers that are not finite.
        """
        numbers = np.asarray(action, dtype=float)
        if numbers.shape != (ACTIONS,):
            raise ValueError(f"the action has shape {numbers.shape}; it must be ({ACTIONS},)")
        if not np.isfinite(numbers).all():
            raise ValueError(f"the action is {numbers.tolist()}; both numbers must be finite")
        forward, turn = np.clip(numbers, -1.0, 1.0).tolist()
        limits = self._limits
        if not limits.can_reverse:
            forward = 0.5 * (forward + 1.0)
        desired = Twist2D(forward * limits.max_linear_mps, turn * limits.max_angular_radps)
        measured = observation.twist
        if self._filter is not None:
            previous = self._limiter.previous(measured)
            permitted = self._limiter.permitted(desired, measured)
            desired = self._filter.apply(permitted, previous, observation)
        return self._limiter.apply(desired, measured)

    def action(self, command: Twist2D) -> List[float]:
        """Return the action (2,) that results in a velocity command."""
        limits = self._limits
        forward = command.linear_mps / limits.max_linear_mps
        if not limits.can_reverse:
            forward = 2.0 * forward - 1.0
        return [forward, command.angular_radps / limits.max_angular_radps]


class PolicyPlanner(LocalPlanner):
    """A planner that executes the policy in a file: an ``.npz`` file of this package, an ONNX
    model, or a policy of Stable-Baselines3."""

    needs_warm_up = True

    def __init__(self, file: str, allow_training_worlds: bool = False) -> None:
        """
        file
            The policy; relative to the campaign if it starts with ``./`` or ``../``.
        allow_training_worlds
            Whether a campaign can have worlds in which the policy was trained.
        """
        self._policy, self.card = read_policy(Path(file))
        self._interface = PolicyInterface(self.card.terms, self.card.safety_filter)
        self.wants_objects = self._interface.encoder.wants_objects

    @classmethod
    def origin(cls, **parameters: Any) -> Provenance:
        path = Path(parameters.get("file", ""))
        card = read_card(path)
        training, needs_objects = card.training, ObservationEncoder(card.terms).wants_objects
        runs = (path,) if path.suffix == STABLE_BASELINES else ()  # it is read with pickle
        if not training.worlds:
            return Provenance(runs=runs, needs_objects=needs_objects)
        worlds = hashlib.sha256("".join(sorted(training.worlds)).encode()).hexdigest()
        description = (
            f"trained in {training.environment}, {len(training.worlds)} worlds (SHA-256 of their "
            f"hashes {worlds}), seed {training.seed}, {training.steps} control periods"
        )
        allowed = parameters.get("allow_training_worlds", False)
        return Provenance(
            description, frozenset(() if allowed else training.worlds), runs, needs_objects
        )

    def begin(self, task: Task) -> None:
        self._interface.begin(task)

    def plan(self, observation: Observation) -> Twist2D:
        action = self._policy.act(self._interface.encode(observation))
        try:
            return self._interface.command(action, observation)
        except ValueError as error:
            raise PlannerAborted(f"the policy failed: {error}") from error
