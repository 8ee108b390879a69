"""A campaign with several robots as a parallel PettingZoo environment (pip extra ``learning``)."""

from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np

from gz_testauto.base.errors import SpecError
from gz_testauto.base.installation import importing
from gz_testauto.extras.learning.episode import Episode, EpisodeRunner, PreparedEnvironment
from gz_testauto.extras.learning.policies.policy import ACTIONS

with importing("environments with several robots need pettingzoo", "learning"):
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
    from pettingzoo import ParallelEnv


class ParallelNavigationEnv(ParallelEnv):  # type: ignore[misc]
    """A PettingZoo environment whose agents are the robots without a planner, with their names.

    The other robots use their planners. Observations, actions, rewards and the end of an agent's
    episode are as in :class:`~gz_testauto.extras.learning.navigation.NavigationEnv`. A robot whose
    trial has ended does not move until the trials of all agents have ended.
    """

    metadata: Dict[str, Any] = {"render_modes": [], "name": "gz_testauto_v0"}  # noqa: RUF012

    def __init__(
        self,
        environment: Union[str, Path, PreparedEnvironment],
        worlds: Union[str, Path, None] = None,
    ) -> None:
        """Prepare an environment as ``NavigationEnv`` does. Raise ``SpecError`` also for a campaign
        with only one robot without a planner."""
        self.prepared = prepared = PreparedEnvironment.of(environment, worlds)
        self.render_mode = None
        if len(prepared.learners) < 2:
            raise SpecError(
                f"campaign {prepared.spec.name}: only one robot has no planner; add robots without "
                "a planner to the key robots, or use NavigationEnv"
            )
        self._runner = EpisodeRunner(prepared)
        self._episode: Optional[Episode] = None
        self._steps = 0
        self._random = np.random.default_rng()
        robots = prepared.bed.robots
        self.possible_agents: List[str] = [robots[index].robot.name for index in prepared.learners]
        self.agents: List[str] = []
        size = prepared.interface().encoder.size
        self.observation_spaces = {
            name: spaces.Box(-1.0, 1.0, (size,), np.float32) for name in self.possible_agents
        }
        self.action_spaces = {
            name: spaces.Box(-1.0, 1.0, (ACTIONS,), np.float32) for name in self.possible_agents
        }

    def observation_space(self, agent: str) -> spaces.Box:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Box:
        return self.action_spaces[agent]

    def reset(
        self, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None
    ) -> Tuple[Dict[str, np.ndarray], Dict[str, Dict[str, Any]]]:
        """Start an episode as ``NavigationEnv.reset`` does."""
        if seed is not None:
            self._random = np.random.default_rng(seed)
        trial = self.prepared.drawn_trial(self._random, self._steps, options)
        self._episode = episode = self._runner.begin(trial, every=True)
        self.agents = list(self.possible_agents)
        agents = dict(zip(self.agents, episode.agents))
        return (
            {name: agent.vector for name, agent in agents.items()},
            {name: episode.info(agent) for name, agent in agents.items()},
        )

    def step(
        self, actions: Dict[str, np.ndarray]
    ) -> Tuple[
        Dict[str, np.ndarray],
        Dict[str, float],
        Dict[str, bool],
        Dict[str, bool],
        Dict[str, Dict[str, Any]],
    ]:
        """Execute one control period. Raise ``ValueError`` for an invalid or missing action."""
        episode = self._episode
        if episode is None or episode.has_ended:
            raise ResetNeeded("the episode has ended; call reset before step")
        missing = [name for name in self.agents if name not in actions]
        if missing:
            raise ValueError(f"the actions do not contain the agents {', '.join(missing)}")
        zero_action = np.zeros(ACTIONS)
        ordered_actions = [
            np.asarray(actions.get(name, zero_action)) for name in self.possible_agents
        ]
        self._steps += 1
        rewards = dict(zip(self.possible_agents, episode.step(*ordered_actions)))
        agents = dict(zip(self.possible_agents, episode.agents))
        stepped = {name: agents[name] for name in self.agents}
        infos = {name: episode.info(agent) for name, agent in stepped.items()}
        self.agents = [name for name in self.agents if agents[name].verdict is None]
        if episode.has_ended:
            episode.close()
        return (
            {name: agent.vector for name, agent in stepped.items()},
            {name: rewards[name] for name in stepped},
            {name: agent.terminated for name, agent in stepped.items()},
            {name: agent.truncated for name, agent in stepped.items()},
            infos,
        )

    def render(self) -> None:
        """Do nothing: the environment has no render mode."""

    def close(self) -> None:
        self._episode = None
        self._runner.close()
