"""Training of a policy by PPO of Stable-Baselines3 (pip extra ``train``)."""

import collections
import io
import json
import logging
import math
from pathlib import Path
from typing import Any, Callable, Counter, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from gz_testauto.base.disk import PARTIAL_SUFFIX, read_input, read_text
from gz_testauto.base.errors import (
    GzTestautoError,
    ResultsError,
    SimulatorError,
    SpecError,
)
from gz_testauto.base.installation import importing
from gz_testauto.base.json_file import read_json_object
from gz_testauto.extras.learning.episode import (
    WORLDS_OF,
    Episode,
    EpisodeRunner,
    PreparedEnvironment,
)
from gz_testauto.extras.learning.policies.files import (
    PolicyCard,
    TrainingCard,
    read_card,
    write_policy,
)
from gz_testauto.extras.learning.policies.policy import ACTIONS, NetworkPolicy
from gz_testauto.results.attempts import FAILURES
from gz_testauto.results.comparability import (
    file_sha256,
    flatten,
    list_differences,
    refuse_differences,
)
from gz_testauto.results.directory import RunDirectory, reporting_disk, write_atomically
from gz_testauto.sampling.seeds import child_generator

with importing("training needs Stable-Baselines3", "train"):
    import torch
    from gymnasium import spaces
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecEnv

LOGGER = logging.getLogger(__name__)

NETWORK, ITERATION = "network", "iteration"  # purposes of the random generators

MOST_FAILURES = 10  # number of successive failed episodes after which a training stops


class TrainingDirectory(RunDirectory):
    """The results directory of a training: worlds, journal, checkpoint and trained policy."""

    CONTENT, COMMAND, MARKER = "training", "gz_testauto train", "training.json"
    EARLIER = ("worlds", f"worlds{WORLDS_OF}")
    UNFINISHED = (f"*{PARTIAL_SUFFIX}", ".worlds.*")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.worlds = self.path / "worlds"
        self.iterations = self.path / "iterations.jsonl"
        self.checkpoint = self.path / "checkpoint.pt"
        self.policy = self.path / "policy.npz"


class LearnersEnv(VecEnv):  # type: ignore[misc]
    """The robots of an environment that learn one policy, as environments of Stable-Baselines3.

    All robots drive in the same episode. A robot whose trial has ended observes zeros until the
    episode ends. An episode in which the simulator fails is truncated.
    """

    render_mode = None

    def __init__(self, prepared: PreparedEnvironment) -> None:
        self.steps = 0  # number of control periods so far, which determines the worlds
        self._prepared, self._runner = prepared, EpisodeRunner(prepared)
        self._failures = 0
        shape = (prepared.interface().encoder.size,)
        super().__init__(
            len(prepared.learners),
            spaces.Box(-1.0, 1.0, shape, np.float32),
            spaces.Box(-1.0, 1.0, (ACTIONS,), np.float32),
        )

    def seed(self, seed: Optional[int] = None) -> Sequence[Optional[int]]:
        """Seed the draws of worlds and repetitions, and clear the statistics."""
        self._random = np.random.default_rng(seed)
        self.outcomes: Counter[str] = collections.Counter()
        self.rewards: List[float] = []
        return [None] * self.num_envs

    def reset(self) -> np.ndarray:
        self._episode = self._begin_episode()
        return self._vectors_of_agents()

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> Tuple[np.ndarray, np.ndarray, np.ndarray, List[Dict[str, Any]]]:
        agents = self._episode.agents
        was_active = [agent.verdict is None for agent in agents]
        self.steps += self.num_envs
        has_failed = False
        rewards = [0.0] * self.num_envs
        try:
            rewards = self._episode.step(*self._actions)
        except FAILURES as error:
            self._handle_failure(error)
            has_failed = True
        has_ended = has_failed or self._episode.has_ended
        self._reward += sum(rewards)
        dones, infos = [], []
        for agent, active in zip(agents, was_active):
            dones.append(has_ended or (active and agent.verdict is not None))
            truncated = active and (has_failed or agent.truncated)
            infos.append({"terminal_observation": agent.vector, "TimeLimit.truncated": truncated})
        if has_ended and not has_failed:
            self._failures = 0
            self.rewards.append(self._reward / self.num_envs)
            verdicts = [agent.verdict for agent in agents]
            self.outcomes.update(verdict.outcome.value for verdict in verdicts if verdict)
        if has_ended:
            self._episode = self._begin_episode()
        return self._vectors_of_agents(), np.array(rewards, np.float32), np.array(dones), infos

    def _vectors_of_agents(self) -> np.ndarray:
        # The vector of an agent that has ended is zero.
        agents = self._episode.agents
        return np.array([agent.vector * np.float32(agent.verdict is None) for agent in agents])

    def _begin_episode(self) -> Episode:
        self._reward = 0.0
        while True:
            trial = self._prepared.drawn_trial(self._random, self.steps, None)
            try:
                return self._runner.begin(trial, every=True)
            except FAILURES as error:
                self._handle_failure(error)

    def _handle_failure(self, error: GzTestautoError) -> None:
        LOGGER.warning("an episode has no result: %s", error)
        self._runner.close()  # the next episode starts a new simulator
        self._failures += 1
        if self._failures == MOST_FAILURES:
            raise SimulatorError(
                f"the simulator failed in {MOST_FAILURES} successive episodes; finished iterations "
                "are stored, and the same command continues the training"
            ) from error

    def close(self) -> None:
        self._runner.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> List[Any]:
        return [getattr(self, attr_name)] * self.num_envs

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> List[bool]:
        return [False] * self.num_envs

    set_attr = env_method = None  # the robots have no separate environments


class Training:
    def __init__(
        self,
        prepared: PreparedEnvironment,
        directory: TrainingDirectory,
        seed: int = 0,
        start: Optional[Path] = None,
    ) -> None:
        """Restore the last iteration. ``start`` is the directory of a finished training that this
        training continues in another environment. Raise ``SpecError`` if the policy of ``start``
        has other observations or another network, and ``ResultsError`` if the directory contains
        another training. PyTorch then has one thread and deterministic algorithms in the whole
        process."""
        torch.set_num_threads(1)  # results are then identical, bit by bit
        torch.use_deterministic_algorithms(True)
        self._prepared, self._directory, self._seed = prepared, directory, seed
        self._settings = settings = prepared.spec.environment.ppo
        self._environment = LearnersEnv(prepared)
        self._model = PPO(
            "MlpPolicy",
            self._environment,
            seed=_draw_seed(seed, NETWORK),
            device="cpu",
            policy_kwargs={"net_arch": list(settings.hidden)},
            **settings.model_dump(exclude={"steps", "hidden", "log_std"}),
        )
        network = {"hidden": list(settings.hidden)}
        self._card = prepared.card("network", seed).model_copy(update=network)
        self._start, checkpoint = None, None
        if start is not None:
            earlier = TrainingDirectory(start)
            self._start = _require_same_network(earlier.policy, self._card)
            self._load_checkpoint(earlier.checkpoint)
            checkpoint = file_sha256(earlier.checkpoint)
        if settings.log_std is not None:
            self._model.policy.log_std.data.fill_(settings.log_std)
        self._require_same_training(checkpoint)
        self.finished = (
            self._load_checkpoint(directory.checkpoint) if directory.checkpoint.exists() else 0
        )

    @property
    def iterations(self) -> int:
        return math.ceil(self._settings.steps / self._periods)

    @property
    def _periods(self) -> int:
        """Return the number of control periods of an iteration."""
        return self._settings.n_steps * self._environment.num_envs

    @property
    def policy(self) -> NetworkPolicy:
        network = self._model.policy
        layers = [*network.mlp_extractor.policy_net, network.action_net]
        numbers = [
            np.column_stack([layer.weight.detach().numpy(), layer.bias.detach().numpy()]).ravel()
            for layer in layers
            if hasattr(layer, "weight")
        ]
        size = self._prepared.interface().encoder.size
        return NetworkPolicy(np.concatenate(numbers), size, self._settings.hidden)

    def run(self, report: Callable[[Dict[str, Any]], None]) -> Path:
        """Continue the training to its end, and return the path of the policy. After each
        iteration, ``report`` receives its entry of the journal."""
        journal: List[str] = []
        if self.finished:
            journal = read_text(self._directory.iterations, ResultsError).splitlines()
        environment, model = self._environment, self._model
        try:
            for number in range(self.finished, self.iterations):
                environment.steps = number * self._periods
                # The first episode of an iteration starts with it, and its random numbers depend
                # only on the seed and its number. So the checkpoint, the network with its
                # optimizer, is the complete state, and a continued training has the same policy.
                model.set_random_seed(_draw_seed(self._seed, ITERATION, number))
                model.learn(self._periods)
                rewards = environment.rewards
                entry = {
                    "steps": (number + 1) * self._periods,
                    "outcomes": dict(sorted(environment.outcomes.items())),
                    "reward": sum(rewards) / len(rewards) if rewards else None,
                }
                journal = [*journal[:number], json.dumps(entry)]
                lines = "".join(f"{line}\n" for line in journal)
                write_atomically(self._directory.iterations, lines.encode())
                self._save_checkpoint(number + 1)
                report(entry)
        finally:
            environment.close()
        return self._write_trained_policy()

    def _save_checkpoint(self, finished: int) -> None:
        content = io.BytesIO()
        torch.save({"finished": finished, "state": self._model.get_parameters()}, content)
        write_atomically(self._directory.checkpoint, content.getvalue())

    def _load_checkpoint(self, path: Path) -> int:
        """Set the network and its optimizer, and return the number of finished iterations."""
        content = io.BytesIO(read_input(path, ResultsError))
        try:
            stored = torch.load(content, weights_only=True)
            self._model.set_parameters(stored["state"])
            return int(stored["finished"])
        except Exception as error:  # readers of archives raise errors of many types
            raise ResultsError(
                f"{path}: the file is damaged ({error}); restore the file, or train again with "
                "another --out"
            ) from error

    def _require_same_training(self, start: Optional[str]) -> None:
        """Store the inputs, or raise ``ResultsError`` if they differ from the stored ones."""
        current = {
            "seed": self._seed,
            "campaign": self._prepared.spec.model_dump(mode="json"),
            "worlds": self._prepared.world_hashes,
            "start": start,
        }
        if not self._directory.is_begun:
            text = json.dumps(current, indent=1, sort_keys=True)
            write_atomically(self._directory.marker, text.encode())
            return
        stored = read_json_object(self._directory.marker, ResultsError)
        differences = list_differences(dict(flatten(stored)), dict(flatten(current)))
        refuse_differences(self._directory.path, "another training", differences)

    def _write_trained_policy(self) -> Path:
        path, training = self._directory.policy, self._card.training
        steps, worlds = self.iterations * self._periods, set(training.worlds)
        if self._start is not None:
            steps, worlds = steps + self._start.steps, worlds | {*self._start.worlds}
        update = {"steps": steps, "worlds": sorted(worlds)}
        card = self._card.model_copy(update={"training": training.model_copy(update=update)})
        with reporting_disk(path):
            write_policy(path, self.policy, card)
        return path


def _require_same_network(path: Path, card: PolicyCard) -> TrainingCard:
    earlier = read_card(path)
    if (earlier.kind, earlier.terms, earlier.hidden) != (card.kind, card.terms, card.hidden):
        raise SpecError(
            f"--start: the policy {path} has other observations or another network than this "
            "environment; use equal keys observations and ppo.hidden in both environments"
        )
    return earlier.training


def _draw_seed(seed: int, *path: Union[int, str]) -> int:
    return int(child_generator(seed, *path).integers(2**31))
