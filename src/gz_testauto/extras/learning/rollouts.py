"""Episodes with the policies of a search, in parallel processes.

This module computes the reward of an episode. An episode in which the simulator failed does not
count.
"""

import logging
import math
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.errors import GzTestautoError, SimulatorError
from gz_testauto.extras.learning.episode import (
    MOST_REPETITIONS,
    EpisodeRunner,
    PreparedEnvironment,
)
from gz_testauto.extras.learning.policies.policy import WEIGHTED
from gz_testauto.results.attempts import FAILURES, run_attempts

LOGGER = logging.getLogger(__name__)

Place = Tuple[int, int]
"""Index of a world, and a repetition."""


class Rollout(NamedTuple):
    """An episode to run: the weights of the policy, the world and the repetition. ``held_out`` is
    True for a held-out world."""

    weights: Tuple[float, ...]
    world: int
    repetition: int
    held_out: bool = False


class RolloutResult(NamedTuple):
    """The result of an episode: the reward, the number of control periods (``steps``), and whether
    the robot reached its goal.

    If several robots use the policy, these are the mean reward, the sum of the control periods, and
    whether all robots reached their goals. An episode in which the simulator failed is not
    ``valid``.
    """

    reward: float
    steps: int
    reached: bool
    valid: bool = True


class RolloutWorker:
    """A callable that runs episodes. There is one instance in each process, which keeps its
    simulators open."""

    def __init__(
        self, kind: str, training: PreparedEnvironment, held_out: Optional[PreparedEnvironment]
    ) -> None:
        self._kind, self._training, self._held_out = kind, training, held_out
        self._runners: Dict[bool, EpisodeRunner] = {}

    def __reduce__(self) -> Tuple[Any, ...]:
        """Pickle the worker without its simulators."""
        return type(self), (self._kind, self._training, self._held_out)

    def __call__(self, drive: Rollout) -> RolloutResult:
        """Run an episode to its end, and return the result."""

        def failed(error: GzTestautoError, _follows: bool) -> None:
            LOGGER.warning("world %d: %s", drive.world, error)
            self._runners[drive.held_out].close()

        try:
            return run_attempts(lambda: self._drive(drive), failed)
        except FAILURES:
            return RolloutResult(math.nan, 0, False, valid=False)

    def _drive(self, drive: Rollout) -> RolloutResult:
        prepared = self._held_out if drive.held_out else self._training
        assert prepared is not None, "an evaluation has held-out worlds"
        if drive.held_out not in self._runners:
            self._runners[drive.held_out] = EpisodeRunner(prepared)
        runner = self._runners[drive.held_out]
        parts, kind = prepared.interface().encoder.parts, WEIGHTED[self._kind]
        reward, steps = 0.0, 0
        episode = runner.begin(prepared.trial(drive.world, drive.repetition), every=True)
        policies = [kind(np.array(drive.weights), parts) for _ in episode.agents]
        while not episode.has_ended:
            for agent, policy in zip(episode.agents, policies):
                if agent.goal_is_new:
                    policy.begin()
            steps += sum(agent.verdict is None for agent in episode.agents)
            driving = zip(policies, episode.agents)
            reward += sum(episode.step(*(one.act(agent.shown) for one, agent in driving)))
        runner.end()
        verdicts = [agent.verdict for agent in episode.agents]
        reached = all(one is not None and one.outcome.success for one in verdicts)
        return RolloutResult(reward / len(policies), steps, reached)

    def close(self) -> None:
        """Close the simulators."""
        for runner in self._runners.values():
            runner.close()


def drawn_places(random: np.random.Generator, worlds: Sequence[int], wanted: int) -> List[Place]:
    """Draw ``wanted`` pairs of a world and a repetition. No world is drawn twice if there are
    enough worlds."""
    chosen = random.choice(worlds, size=wanted, replace=wanted > len(worlds))
    return list(zip(chosen.tolist(), random.integers(MOST_REPETITIONS, size=wanted).tolist()))


def mean_reward(driven: Sequence[RolloutResult]) -> float:
    """Return the mean reward of the valid episodes. Raises ``SimulatorError`` if no episode is
    valid."""
    valid = [one.reward for one in driven if one.valid]
    if not valid:
        raise SimulatorError(
            f"the simulator failed in all of {len(driven)} episodes; finished generations are "
            "stored, and the same command continues the training"
        )
    return math.fsum(valid) / len(valid)


def share_reached(driven: Sequence[RolloutResult]) -> float:
    """Return the share of the valid episodes that reached the goal; NaN without valid episodes."""
    valid = [one.reached for one in driven if one.valid]
    return sum(valid) / len(valid) if valid else math.nan
