"""Training of a policy by CMA-ES in parallel processes. A training can be interrupted and continued
at any time.

This module runs the generations and writes the journals. All candidates of a generation run in the
same worlds, and the better half of them in as many other worlds, since the ranking of the best
candidates matters most. The last control periods are used to select the policy among the means of
the generations (``selection.py``).

``generations.jsonl`` and ``selection.jsonl`` store the results. A continued training repeats the
search with the stored results, so the policy is the same file for any interruptions and any number
of processes.
"""

import hashlib
import json
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
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
)

import numpy as np

from gz_testauto.base.disk import PARTIAL_SUFFIX, read_input
from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.json_file import parse_entry, read_json_object
from gz_testauto.extras.learning.episode import WORLDS_OF, PreparedEnvironment, require_apart
from gz_testauto.extras.learning.policies.files import write_policy
from gz_testauto.extras.learning.policies.policy import WEIGHTED
from gz_testauto.extras.learning.rollouts import (
    Place,
    Rollout,
    RolloutResult,
    RolloutWorker,
    drawn_places,
    mean_reward,
    share_reached,
)
from gz_testauto.extras.learning.search import WeightSearch
from gz_testauto.extras.learning.selection import WORLDS, Selection, SelectionBatch, batch_of
from gz_testauto.extras.learning.spec import EnvironmentCampaignSpec
from gz_testauto.processes import TaskPool
from gz_testauto.results.comparability import flatten, list_differences, refuse_differences
from gz_testauto.results.directory import RunDirectory, reporting_disk, write_atomically
from gz_testauto.sampling.seeds import child_generator

SEARCH, DRAWS, SELECTION = "search", "draws", "selection"
"""Purposes of the random generators."""

REMEDY = "remove this line and all later lines, and run the same command again"

Pool = TaskPool[Rollout, RolloutResult]


@dataclass(frozen=True)
class TrainingOptions:
    """The options of a training."""

    seed: int = 0
    steps: int = 200_000
    """Largest number of control periods of the training."""
    kind: str = "mirrored"
    population: int = 12
    episodes: int = 4
    """Number of worlds in which every candidate of a generation runs; the better half runs in as
    many other worlds."""
    sigma: float = 0.2
    """Standard deviation of the weights of the first candidates."""
    selection: float = 0.25
    """Share of the steps for the selection among the means; with 0 the last mean is the policy."""
    eval_worlds: int = 0
    """Number of held-out worlds in which the mean of every generation is evaluated; these control
    periods do not count as steps."""

    @property
    def better(self) -> int:
        """Return the number of candidates in the better half."""
        return (self.population + 1) // 2


@dataclass(frozen=True)
class Generation:
    """The results of one generation.

    ``rewards`` has the mean reward of each candidate, ``ranking`` the indices of the candidates,
    the best first. ``steps`` is the total number of control periods so far. ``reached`` is the
    share of episodes that reached the goal; ``held_out`` is that share for the mean in held-out
    worlds, None without an evaluation. ``mean`` is the start of the SHA-256 of the mean's weights.
    """

    number: int
    rewards: Tuple[float, ...]
    ranking: Tuple[int, ...]
    steps: int
    reached: float
    mean: str
    held_out: Optional[float] = None
    invalid: int = 0
    """Number of episodes in which the simulator failed; they do not count."""


Report = Callable[[Union[Generation, SelectionBatch]], None]
"""A function that receives each generation of a training, and each batch of the selection."""


class TrainingDirectory(RunDirectory):
    """The results directory of a training."""

    CONTENT, COMMAND, MARKER = "training", "gz_testauto train", "training.json"
    EARLIER = ("worlds", "held_out_worlds", f"*worlds{WORLDS_OF}")
    UNFINISHED = (f"*{PARTIAL_SUFFIX}", ".worlds.*", ".held_out_worlds.*")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.worlds = self.path / "worlds"
        self.held_out = self.path / "held_out_worlds"
        self.generations = self.path / "generations.jsonl"
        self.selection = self.path / "selection.jsonl"
        self.policy = self.path / "policy.npz"


class Training:
    """A training and its results directory."""

    def __init__(
        self,
        training: PreparedEnvironment,
        held_out: Optional[PreparedEnvironment],
        options: TrainingOptions,
        directory: TrainingDirectory,
    ) -> None:
        """Read the journals and restore the search. Raises ``SpecError`` if a held-out world is
        also a training world, and for invalid options; ``ResultsError`` if the directory contains
        another training; and ``MissingDependencyError`` if the package cma is missing."""
        self._prepared, self._held_out, self.options = training, held_out, options
        self._directory = directory
        _require_valid(options)
        try:
            self._parts = training.interface().encoder.parts
            random = child_generator(options.seed, SEARCH)
            self._search = WeightSearch(
                WEIGHTED[options.kind], self._parts, options.population, options.sigma, random
            )
        except ValueError as error:
            raise SpecError(f"environment.observations: {error}") from error
        if held_out is not None:
            require_apart(
                training, [(world.name, world.sha256) for world in held_out.campaign.worlds]
            )
        self._means: List[np.ndarray] = []
        self._require_same()
        self.generations: List[Generation] = []
        for generation in _read_journal(directory.generations, Generation):
            number, ranked = len(self.generations), sorted(generation.ranking)
            place = f"{directory.generations}:{number + 1}"
            if generation.number != number or ranked != list(range(options.population)):
                raise SpecError(f"{place}: the entry is not generation {number}; {REMEDY}")
            self._search.ask()
            self._means.append(self._search.tell(generation.ranking))
            if generation.mean != _digest(self._means[-1]):
                raise SpecError(
                    f"{place}: the search does not reproduce the stored numbers, since another "
                    "version "
                    "of gz_testauto, cma or numpy is installed, or the processor rounds "
                    "differently; continue with the previous installation, or specify another --out"
                )
            self.generations.append(generation)

    @property
    def is_searched(self) -> bool:
        """Return whether the search has finished, because another generation as long as the last
        would exceed its share of the steps."""
        steps = [0, *(generation.steps for generation in self.generations)]
        bound = (1.0 - self.options.selection) * self.options.steps
        return bool(self.generations) and 2 * steps[-1] - steps[-2] > bound

    @property
    def _counted(self) -> List[Generation]:
        """Return the generations that count: the first, and all others that did not exceed the
        steps."""
        return [
            one for one in self.generations if one.steps <= self.options.steps or not one.number
        ]

    def run(self, workers: int, report: Report) -> Path:
        """Continue the training to its end, and return the path of the policy. ``report`` is called
        with every generation, and with every batch of the selection."""
        driver = RolloutWorker(self.options.kind, self._prepared, self._held_out)
        with TaskPool(driver, workers, "training") as pool:
            while not self.is_searched:
                generation = self._next(pool)
                self.generations.append(generation)
                self._append(self._directory.generations, generation)
                report(generation)
            selection = self._select(pool, report)
        return self._write(self._means[selection.best], selection.steps)

    def _next(self, pool: Pool) -> Generation:
        number, options = len(self.generations), self.options
        before = self.generations[-1].steps if number else 0
        random = child_generator(options.seed, DRAWS, number)
        allowed = self._prepared.worlds_after(before)
        candidates = self._search.ask()
        all_models = range(len(candidates))
        driven = self._drive(
            pool, candidates, all_models, drawn_places(random, allowed, options.episodes)
        )
        better = _ranked(driven, all_models)[: options.better]
        more = self._drive(
            pool, candidates, better, drawn_places(random, allowed, options.episodes)
        )
        for candidate, own in more.items():
            driven[candidate] += own
        rest = [candidate for candidate in all_models if candidate not in better]
        ranking = (*_ranked(driven, better), *_ranked(driven, rest))
        self._means.append(self._search.tell(ranking))
        every = [one for own in driven.values() for one in own]
        return Generation(
            number,
            tuple(mean_reward(driven[candidate]) for candidate in all_models),
            ranking,
            before + sum(one.steps for one in every),
            share_reached(every),
            _digest(self._means[-1]),
            self._share_held_out(pool, self._means[-1]),
            sum(not one.valid for one in every),
        )

    def _drive(
        self,
        pool: Pool,
        weights: Sequence[np.ndarray],
        who: Sequence[int],
        places: Sequence[Place],
    ) -> Dict[int, List[RolloutResult]]:
        drives = [Rollout(tuple(weights[one].tolist()), *place) for one in who for place in places]
        driven = list(pool.map(drives))
        return {
            one: driven[place * len(places) : (place + 1) * len(places)]
            for place, one in enumerate(who)
        }

    def _share_held_out(self, pool: Pool, mean: np.ndarray) -> Optional[float]:
        if self._held_out is None or not self.options.eval_worlds:
            return None
        count = min(self.options.eval_worlds, len(self._held_out.campaign.worlds))
        weights = tuple(mean.tolist())
        return share_reached(list(pool.map(Rollout(weights, one, 0, True) for one in range(count))))

    def _select(self, pool: Pool, report: Report) -> Selection:
        counted = self._counted
        begun = counted[-1].steps
        lately = begun - (counted[-2].steps if len(counted) > 1 else 0)
        options = self.options
        episodes = options.episodes * (options.population + options.better)
        limit = options.steps if options.selection else begun
        selection = Selection(len(counted), begun, limit, lately / episodes)
        journal = self._directory.selection
        taken = 0
        for batch in _read_journal(journal, SelectionBatch):
            taken += 1
            try:
                selection.take(batch)
            except ValueError as error:
                raise SpecError(f"{journal}:{taken}: {error}; {REMEDY}") from error
        every = range(len(self._prepared.campaign.worlds))
        while True:
            means = selection.next()
            if means is None:
                return selection
            random = child_generator(options.seed, SELECTION, taken)
            driven = self._drive(pool, self._means, means, drawn_places(random, every, WORLDS))
            together = [one for mean in means for one in driven[mean]]
            mean_reward(together)  # raises an error if the simulator failed in all
            batch = batch_of(means, together, selection.steps)
            self._append(journal, batch)
            selection.take(batch)
            report(batch)
            taken += 1

    def _append(self, journal: Path, entry: Any) -> None:
        with reporting_disk(self._directory.path), open(journal, "a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(entry)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _require_same(self) -> None:
        own = {
            "options": asdict(self.options),
            "campaign": _identity(self._prepared.spec),
            "worlds": self._prepared.world_hashes,
        }
        own = json.loads(json.dumps(own))
        if not self._directory.is_begun:
            text = json.dumps(own, indent=1, sort_keys=True)
            write_atomically(self._directory.marker, text.encode())
            return
        stored = read_json_object(self._directory.marker, ResultsError)
        differences = list_differences(dict(flatten(stored)), dict(flatten(own)))
        refuse_differences(self._directory.path, "another training", differences)

    def _write(self, weights: np.ndarray, steps: int) -> Path:
        options, path = self.options, self._directory.policy
        policy = WEIGHTED[options.kind](weights, self._parts)
        card = self._prepared.card(options.kind, options.seed, steps)
        with reporting_disk(path):
            write_policy(path, policy, card)
        return path


Entry = TypeVar("Entry")


def _read_journal(journal: Path, kind: Type[Entry]) -> Iterator[Entry]:
    """Yield the entries of a journal. An incomplete last line is removed. Raises ``SpecError`` for
    any other damage."""
    if not journal.is_file():
        return
    content = read_input(journal, SpecError)
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        write_atomically(journal, whole)
    for number, line in enumerate(whole.splitlines(), 1):
        yield parse_entry(kind, line, f"{journal}:{number}", SpecError, REMEDY)


def _digest(weights: np.ndarray) -> str:
    return hashlib.sha256(weights.tobytes()).hexdigest()[:16]


def _ranked(driven: Mapping[int, Sequence[RolloutResult]], who: Sequence[int]) -> List[int]:
    """Return the candidates sorted by mean reward, the best first, and equal candidates by
    index."""
    return sorted(who, key=lambda one: (-mean_reward(driven[one]), one))


def _require_valid(options: TrainingOptions) -> None:
    if options.kind not in WEIGHTED:
        raise SpecError(
            f"--kind is {options.kind!r}; it must be one of {', '.join(sorted(WEIGHTED))}"
        )
    for name in ("steps", "episodes", "sigma"):
        if not getattr(options, name) > 0:
            raise SpecError(f"--{name} is {getattr(options, name)}; it must be above 0")
    if options.population < 4:
        raise SpecError(f"--population is {options.population}; it must be at least 4")
    if options.eval_worlds < 0:
        raise SpecError(f"--eval-worlds is {options.eval_worlds}; it must be at least 0")
    if not 0 <= options.selection < 1:
        raise SpecError(f"--selection is {options.selection:g}; it must be at least 0 and below 1")


def _identity(spec: EnvironmentCampaignSpec) -> Mapping[str, Any]:
    return spec.model_dump(mode="json", exclude={"environment": {"held_out"}})
