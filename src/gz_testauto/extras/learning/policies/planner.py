"""A learned policy as a planner."""

import hashlib
from pathlib import Path
from typing import Any

from gz_testauto.base.observation import Twist2D
from gz_testauto.extras.learning.policies.files import is_program, read_card, read_policy
from gz_testauto.extras.learning.policies.interface import PolicyInterface
from gz_testauto.planners.interface import (
    LocalPlanner,
    Observation,
    PlannerGaveUp,
    Provenance,
    Task,
)


class PolicyPlanner(LocalPlanner):
    """A planner that executes the policy in a file: this package's ``.npz``, ONNX, or
    Stable-Baselines3."""

    needs_warm_up = True

    def __init__(self, file: str, allow_training_worlds: bool = False) -> None:
        """
        file
            The policy; relative to the campaign if it starts with ``./`` or ``../``.
        allow_training_worlds
            Whether a campaign can have worlds in which the policy was trained.
        """
        self._policy, self.card = read_policy(Path(file))
        self._interface = PolicyInterface(self.card.terms)
        self.wants_objects = self._interface.encoder.wants_objects

    @classmethod
    def origin(cls, **parameters: Any) -> Provenance:
        """Return the provenance: training worlds and duration, from the card only."""
        path = Path(parameters.get("file", ""))
        training = read_card(path).training
        runs = (path,) if is_program(path) else ()
        if not training.worlds:
            return Provenance(runs=runs)
        worlds = hashlib.sha256("".join(sorted(training.worlds)).encode()).hexdigest()
        told = (
            f"trained in {training.environment}, {len(training.worlds)} worlds (SHA-256 of their "
            f"hashes {worlds}), seed {training.seed}, {training.steps} control periods"
        )
        allowed = parameters.get("allow_training_worlds", False)
        return Provenance(told, frozenset(() if allowed else training.worlds), runs)

    def begin(self, task: Task) -> None:
        """See :class:`LocalPlanner`."""
        self._interface.begin(task)
        self._policy.begin()

    def plan(self, observation: Observation) -> Twist2D:
        """See :class:`LocalPlanner`."""
        action = self._policy.act(self._interface.encode(observation))
        try:
            return self._interface.command(action, observation.twist)
        except ValueError as error:
            raise PlannerGaveUp(f"the policy failed: {error}") from error
