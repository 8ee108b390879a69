"""A campaign as a Gymnasium environment, or as several parallel environments (pip extra
``learning``).

Gymnasium 1.0 and later do not search for entry points. The name of a module before the name of the
environment imports the module, which registers the environment::

    gymnasium.make(
        "gz_testauto.extras.learning.navigation:gz_testauto/Navigation-v0",
        environment="config/learning/arena.yaml",
    )
"""

import functools
from pathlib import Path
from typing import Any, Dict, Optional, Tuple, Union

import numpy as np

from gz_testauto.base.errors import SpecError
from gz_testauto.base.installation import importing
from gz_testauto.extras.learning.episode import Episode, EpisodeRunner, PreparedEnvironment
from gz_testauto.extras.learning.policies.policy import ACTIONS

with importing("environments need gymnasium", "learning"):
    import gymnasium
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
    from gymnasium.vector import AsyncVectorEnv, AutoresetMode

ID = "gz_testauto/Navigation-v0"


class NavigationEnv(gymnasium.Env):  # type: ignore[misc]
    """A Gymnasium environment in which one robot navigates through the worlds of a campaign.

    A step is one control period. Observations are vectors of 32-bit floating point numbers from -1
    to 1, as specified by ``environment.observations``. An action is forward speed and yaw rate,
    each from -1 to 1 (:mod:`gz_testauto.extras.learning.policies.planner`). ``reset`` draws world
    and repetition from its seed, unless ``options`` specify them as ``world`` and ``repetition``. A
    stuck robot and a timeout truncate the episode; all other outcomes terminate it. Each ``info``
    has ``world``, ``repetition``, ``time_s`` and ``goal_is_new``, which is True at the start and
    when the robot receives its next goal. The last ``info`` also has ``outcome``, ``detail`` and
    ``metrics``.
    """

    metadata: Dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        environment: Union[str, Path, PreparedEnvironment],
        worlds: Union[str, Path, None] = None,
    ) -> None:
        """Prepare an environment, a YAML file (``docs/learning.md``) or a prepared environment.
        Generated worlds are stored in the folder ``worlds``; the default is a folder next to the
        file, with the name of the file. Raise ``SpecError`` with file, line and field for an
        invalid file."""
        self.prepared = prepared = PreparedEnvironment.of(environment, worlds)
        self._runner = EpisodeRunner(prepared)
        self._episode: Optional[Episode] = None
        self._steps = 0
        size = prepared.interface().encoder.size
        self.observation_space = spaces.Box(-1.0, 1.0, (size,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (ACTIONS,), np.float32)

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None
    ) -> Tuple[np.ndarray, Dict[str, Any]]:
        """Start an episode. Raise ``SimulatorError``, and ``SpecError`` for an unknown world."""
        super().reset(seed=seed)
        trial = self.prepared.drawn_trial(self.np_random, self._steps, options)
        self._episode = self._runner.begin(trial)
        return self._episode.agents[0].vector, self._episode.info(self._episode.agents[0])

    def step(self, action: np.ndarray) -> Tuple[np.ndarray, float, bool, bool, Dict[str, Any]]:
        """Execute one control period. Raise ``ValueError`` for an action with a wrong shape or
        without finite numbers, ``ResetNeeded`` after the end of the episode, and ``SimulatorError``
        if the simulator fails."""
        episode = self._episode
        if episode is None or episode.has_ended:
            raise ResetNeeded("the episode has ended; call reset before step")
        self._steps += 1
        (reward,), (agent,) = episode.step(np.asarray(action)), episode.agents
        info = episode.info(agent)
        if episode.has_ended:
            episode.close()
        return agent.vector, reward, agent.terminated, agent.truncated, info

    def close(self) -> None:
        self._episode = None
        self._runner.close()


def vector_env(
    environment: Union[str, Path, PreparedEnvironment],
    count: int,
    autoreset: Union[str, AutoresetMode] = AutoresetMode.NEXT_STEP,
    worlds: Union[str, Path, None] = None,
    **options: Any,
) -> AsyncVectorEnv:
    """Return ``count`` environments in parallel, each in a process with its own simulator.

    ``environment`` and ``worlds`` are those of :class:`NavigationEnv`. ``autoreset`` specifies what
    follows the last step of an episode: with ``NextStep`` the next step starts another episode,
    with ``SameStep`` the same step does, and ``Disabled`` waits for
    ``reset(options={"reset_mask": ...})``. ``options`` are those of ``AsyncVectorEnv``. Raise
    ``SpecError`` for an invalid argument or file.

    Observations are in shared memory, one row for each environment. With ``copy=False``, a step
    returns this buffer, which must be read before the next step. ``reset(seed=s)`` seeds
    environment ``i`` with ``s + i``.
    """
    if count < 1:
        raise SpecError(f"count is {count}; it must be at least 1")
    prepared = PreparedEnvironment.of(environment, worlds)  # before the processes start
    try:
        mode = AutoresetMode(autoreset)
    except ValueError as error:
        known = ", ".join(sorted(mode.value for mode in AutoresetMode))
        raise SpecError(f"autoreset is {autoreset!r}; it must be one of {known}") from error
    make = functools.partial(NavigationEnv, prepared)
    return AsyncVectorEnv([make] * count, context="spawn", autoreset_mode=mode, **options)


if ID not in gymnasium.registry:
    gymnasium.register(ID, f"{__name__}:{NavigationEnv.__name__}")
