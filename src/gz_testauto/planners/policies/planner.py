"""A learned policy as a planner."""

import hashlib
from pathlib import Path
from typing import FrozenSet

from gz_testauto.observation import Twist2D
from gz_testauto.planners.interface import LocalPlanner, Observation, PlannerGaveUp, Task
from gz_testauto.planners.policies.files import read_policy
from gz_testauto.planners.policies.interface import PolicyInterface


class PolicyPlanner(LocalPlanner):
    """Drives by the policy in a file: this package's ``.npz``, ONNX, or Stable-Baselines3's."""

    rehearses = True

    def __init__(self, file: str, allow_training_worlds: bool = False) -> None:
        """
        file
            The policy; relative to the campaign where it begins with ``./`` or ``../``.
        allow_training_worlds
            Whether a campaign may have worlds that it was trained in.
        """
        self._policy, self.card = read_policy(Path(file))
        self._interface = PolicyInterface(self.card.terms)
        self.wants_objects = self._interface.encoder.wants_objects
        self._allow_training_worlds = allow_training_worlds

    @property
    def trained_in(self) -> FrozenSet[str]:
        """SHA-256 of the worlds that it must not be judged in."""
        return frozenset(() if self._allow_training_worlds else self.card.training.worlds)

    @property
    def provenance(self) -> str:
        """What it was trained in, and for how long."""
        training = self.card.training
        if not training.worlds:
            return ""
        worlds = hashlib.sha256("".join(sorted(training.worlds)).encode()).hexdigest()
        return (
            f"trained in {training.environment}, {len(training.worlds)} worlds (SHA-256 of their "
            f"hashes {worlds}), seed {training.seed}, {training.steps} control periods"
        )

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
