"""Training a policy by CMA-ES, in processes side by side, to be gone on with after any end.

Owns the search: every generation, all candidates drive the same worlds, and the journal
``generations.jsonl`` takes down what each was worth. The policy is the best of the generations'
means, by drives that are the same for all. Going on asks the search for the same
candidates again and tells it what the journal has, so that the policy is the same file whether it
was interrupted or not, and whatever the number of processes. Hansen 2016, arXiv:1604.00772.
"""

import json
import logging
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np
from threadpoolctl import threadpool_limits

from gz_testauto.environments.episode import (
    MOST_REPETITIONS,
    EpisodeRunner,
    PreparedEnvironment,
    require_apart,
)
from gz_testauto.environments.spec import EnvironmentCampaignSpec
from gz_testauto.errors import MissingDependencyError, SimulatorError, SpecError
from gz_testauto.json_file import read_json_object
from gz_testauto.planners.policies.files import write_policy
from gz_testauto.planners.policies.policy import WEIGHTED, WeightedPolicy
from gz_testauto.processes import TaskPool
from gz_testauto.results.directory import reporting_disk, write_atomically
from gz_testauto.sampling.seeds import child_generator
from gz_testauto.trial.outcome import Outcome

LOGGER = logging.getLogger(__name__)
SEARCH, DRAWS, VALIDATION = "search", "draws", "validation"
"""Paths of the generators."""

ATTEMPTS = 2
"""At an episode in which the simulator fails, with a fresh one each, before it is left out."""


@dataclass(frozen=True)
class TrainingOptions:
    """How it is searched. A change of one of these is another training."""

    seed: int = 0
    steps: int = 200_000
    """Control periods to drive at most."""
    kind: str = "mirrored"
    population: int = 12
    episodes: int = 6
    """Worlds that every candidate of a generation drives."""
    sigma: float = 0.35
    """How far the first candidates lie from the start."""
    validated: int = 25
    """Episodes, always the same, that the mean of every generation drives in worlds to train in;
    the best mean is the policy."""
    judged: int = 0
    """Held-out worlds in which the mean of every generation is judged; these steps do not count."""


class Rollout(NamedTuple):
    """One episode to be driven: the weights, and where. Held-out worlds are of another
    environment."""

    weights: Tuple[float, ...]
    world: int
    repetition: int
    held_out: bool = False


class RolloutResult(NamedTuple):
    """What an episode was worth, how long it took (control periods), and whether it reached its
    goal; with several robots, which all have the policy, their mean, sum, and whether all did. One
    in which the simulator failed is not ``valid``, and says nothing of the weights."""

    reward: float
    steps: int
    reached: bool
    valid: bool = True


class RolloutWorker:
    """Drives episodes; made once in each process, where its simulators then stay."""

    def __init__(
        self, kind: str, training: PreparedEnvironment, held_out: Optional[PreparedEnvironment]
    ) -> None:
        self._kind, self._training, self._held_out = kind, training, held_out
        self._runners: Dict[bool, EpisodeRunner] = {}

    def __reduce__(self) -> Tuple[Any, ...]:
        """Without simulators."""
        return type(self), (self._kind, self._training, self._held_out)

    def __call__(self, drive: Rollout) -> RolloutResult:
        """Drive an episode to its end."""
        for _ in range(ATTEMPTS):
            try:
                return self._drive(drive)
            except SimulatorError as error:
                LOGGER.warning("world %d: %s", drive.world, error)
                self._runners[drive.held_out].close()
        return RolloutResult(math.nan, 0, False, valid=False)

    def _drive(self, drive: Rollout) -> RolloutResult:
        prepared = self._held_out if drive.held_out else self._training
        assert prepared is not None, "who judges has brought worlds"
        if drive.held_out not in self._runners:
            self._runners[drive.held_out] = EpisodeRunner(prepared)
        runner = self._runners[drive.held_out]
        parts, kind = prepared.interface().encoder.parts, WEIGHTED[self._kind]
        worth, steps = 0.0, 0
        episode = runner.begin(prepared.trial(drive.world, drive.repetition), every=True)
        policies = [kind(np.array(drive.weights), parts) for _ in episode.agents]
        while not episode.has_ended:
            for agent, policy in zip(episode.agents, policies):
                if agent.goal_is_new:
                    policy.begin()
            steps += sum(agent.verdict is None for agent in episode.agents)
            driving = zip(policies, episode.agents)
            worth += sum(episode.step(*(one.act(agent.shown) for one, agent in driving)))
        runner.end()
        verdicts = [agent.verdict for agent in episode.agents]
        reached = all(one is not None and one.outcome is Outcome.REACHED for one in verdicts)
        return RolloutResult(worth / len(policies), steps, reached)

    def close(self) -> None:
        """End the simulators."""
        for runner in self._runners.values():
            runner.close()


@dataclass(frozen=True)
class Generation:
    """What is known of one generation: what each candidate was worth, and the mean after it; the
    control periods driven so far, the share of the mean's episodes that reached the goal, and of
    its held-out ones, None where these are not judged."""

    number: int
    worth: Tuple[float, ...]
    mean_worth: float
    steps: int
    reached: float
    held_out: Optional[float] = None
    invalid: int = 0
    """Episodes in which the simulator failed; they are left out."""


class Training:
    """One training in its directory."""

    def __init__(
        self,
        training: PreparedEnvironment,
        held_out: Optional[PreparedEnvironment],
        options: TrainingOptions,
        folder: Path,
    ) -> None:
        """Raises ``SpecError`` where a held-out world is among those to train in, for options that
        make no sense, and for a directory that holds another training; ``MissingDependencyError``
        without cma."""
        self._prepared, self._held_out, self.options = training, held_out, options
        self._folder = folder
        if options.kind not in WEIGHTED:
            raise SpecError(f"--kind is {options.kind!r}; there are {', '.join(sorted(WEIGHTED))}")
        given = {"validate": options.validated}
        given.update({name: getattr(options, name) for name in ("steps", "episodes", "sigma")})
        for name, value in given.items():
            if not value > 0:
                raise SpecError(f"--{name} is {value}; it must be above 0")
        if options.population < 4:
            raise SpecError(f"--population is {options.population}; it must be at least 4")
        if held_out is not None:
            require_apart(
                training, [(world.name, world.sha256) for world in held_out.campaign.worlds]
            )
        try:
            self._parts = training.interface().encoder.parts
            self._start = WEIGHTED[options.kind].start(self._parts)
        except ValueError as error:
            raise SpecError(f"environment.observations: {error}") from error
        self._search = _make_search(self._start, options)
        self._means: List[np.ndarray] = []
        with reporting_disk(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._require_same()
        self.generations: List[Generation] = list(self._remembered())

    @property
    def policy(self) -> WeightedPolicy:
        """The best mean of a generation, and the start before there is one."""
        weights, best = self._start, -math.inf
        for generation in self._counted:
            if generation.mean_worth >= best:
                weights, best = self._means[generation.number], generation.mean_worth
        return WEIGHTED[self.options.kind](weights, self._parts)

    @property
    def is_done(self) -> bool:
        """Whether another generation as long as the last would pass the steps."""
        steps = [0, *(generation.steps for generation in self.generations)]
        return bool(self.generations) and 2 * steps[-1] - steps[-2] > self.options.steps

    @property
    def _counted(self) -> List[Generation]:
        """The generations within the steps, and the first. One that took longer than that before
        it, and passed them, does not count."""
        return [
            one for one in self.generations if one.steps <= self.options.steps or not one.number
        ]

    def run(self, workers: int, tell: Callable[[Generation], None]) -> Path:
        """Go on until all steps are driven; returns the policy's file. ``tell`` is told of every
        generation."""
        driver = RolloutWorker(self.options.kind, self._prepared, self._held_out)
        with TaskPool(driver, workers, "training") as pool:
            while not self.is_done:
                generation = self._next(pool)
                self.generations.append(generation)
                self._remember(generation)
                tell(generation)
        return self._write()

    def _next(self, pool: "TaskPool[Rollout, RolloutResult]") -> Generation:
        number = len(self.generations)
        places = self._places(number)
        candidates = self._ask()
        drives = [
            Rollout(tuple(weights.tolist()), *place) for weights in candidates for place in places
        ]
        driven = list(pool.map(drives))
        of_each = [driven[i : i + len(places)] for i in range(0, len(driven), len(places))]
        worth = tuple(_mean_worth(own) for own in of_each)
        self._tell(candidates, worth)
        mean = tuple(self._means[-1].tolist())
        validated = list(pool.map(Rollout(mean, *place) for place in self._validation()))
        held_out = None
        if self._held_out is not None and self.options.judged:
            count = min(self.options.judged, len(self._held_out.campaign.worlds))
            judged = list(pool.map(Rollout(mean, world, 0, True) for world in range(count)))
            held_out = _share_reached(judged)
        before = self.generations[-1].steps if self.generations else 0
        return Generation(
            number,
            worth,
            _mean_worth(validated),
            before + sum(one.steps for one in (*driven, *validated)),
            _share_reached(validated),
            held_out,
            sum(not one.valid for one in (*driven, *validated)),
        )

    def _places(self, number: int) -> List[Tuple[int, int]]:
        """The worlds and repetitions of a generation, drawn by its number alone."""
        random = child_generator(self.options.seed, DRAWS, number)
        allowed = self._prepared.worlds_after(self.generations[-1].steps if number else 0)
        return _drawn_places(random, allowed, self.options.episodes)

    def _validation(self) -> List[Tuple[int, int]]:
        """The worlds and repetitions of all means."""
        random = child_generator(self.options.seed, VALIDATION)
        every = range(len(self._prepared.campaign.worlds))
        return _drawn_places(random, every, self.options.validated)

    def _ask(self) -> List[np.ndarray]:
        with threadpool_limits(limits=1):
            return list(self._search.ask())

    def _tell(self, candidates: Sequence[np.ndarray], worth: Sequence[float]) -> None:
        with threadpool_limits(limits=1):  # the same bits on any machine's number of cores
            self._search.tell(candidates, [-value for value in worth])
        self._means.append(np.array(self._search.mean, dtype=float))

    @property
    def _journal(self) -> Path:
        return self._folder / "generations.jsonl"

    def _remember(self, generation: Generation) -> None:
        with reporting_disk(self._folder), open(self._journal, "a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(generation)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _remembered(self) -> Iterator[Generation]:
        """What the journal has, told to the search again; a line that was cut off is left out."""
        if not self._journal.is_file():
            return
        text = self._journal.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            write_atomically(self._journal, whole.encode())
        for number, line in enumerate(whole.splitlines()):
            try:
                data = json.loads(line)
                generation = Generation(**{**data, "worth": tuple(data["worth"])})
            except (ValueError, TypeError, KeyError) as error:
                raise SpecError(f"{self._journal}:{number + 1}: is damaged ({error})") from error
            self._tell(self._ask(), generation.worth)
            yield generation

    def _require_same(self) -> None:
        """Raise ``SpecError`` where the directory holds another training."""
        file = self._folder / "training.json"
        own = {
            "options": asdict(self.options),
            "campaign": _identity(self._prepared.spec),
            "worlds": self._prepared.world_hashes,
        }
        own = json.loads(json.dumps(own))
        if not file.is_file():
            write_atomically(file, json.dumps(own, indent=1, sort_keys=True).encode())
            return
        stored = read_json_object(file, SpecError)
        changed = [name for name in own if stored.get(name) != own[name]]
        if changed:
            raise SpecError(
                f"{self._folder}: holds a training with other {' and '.join(changed)}; give "
                "another --out, or the same again to go on"
            )

    def _write(self) -> Path:
        options = self.options
        card = self._prepared.card(options.kind, options.seed, self._counted[-1].steps)
        path = self._folder / "policy.npz"
        with reporting_disk(self._folder):
            write_policy(path, self.policy, card)
        return path


def _drawn_places(
    random: np.random.Generator, worlds: Sequence[int], wanted: int
) -> List[Tuple[int, int]]:
    """So many worlds, each once as long as there are enough, and a repetition of each."""
    chosen = random.choice(worlds, size=wanted, replace=wanted > len(worlds))
    return list(zip(chosen.tolist(), random.integers(MOST_REPETITIONS, size=wanted).tolist()))


def _mean_worth(driven: Sequence[RolloutResult]) -> float:
    """Over the valid ones. Raises ``SimulatorError`` where there are none."""
    valid = [one.reward for one in driven if one.valid]
    if not valid:
        raise SimulatorError(
            f"the simulator failed in all of {len(driven)} episodes, {ATTEMPTS} times each; what "
            "is driven before is kept, and the same command goes on"
        )
    return math.fsum(valid) / len(valid)


def _share_reached(driven: Sequence[RolloutResult]) -> float:
    valid = [one.reached for one in driven if one.valid]
    return sum(valid) / len(valid) if valid else math.nan


def _make_search(start: np.ndarray, options: TrainingOptions) -> Any:
    try:
        import cma
    except ImportError as error:
        raise MissingDependencyError(
            f"training needs cma ({error}): python3 -m pip install 'gz_testauto[rl]'"
        ) from error
    random = child_generator(options.seed, SEARCH)

    def normal(*size: int) -> np.ndarray:
        return random.standard_normal(size)

    chosen = {"popsize": options.population, "verbose": -9, "seed": math.nan, "randn": normal}
    return cma.CMAEvolutionStrategy(start, options.sigma, chosen)


def _identity(spec: EnvironmentCampaignSpec) -> Mapping[str, Any]:
    return spec.model_dump(mode="json", exclude={"environment": {"held_out"}})
