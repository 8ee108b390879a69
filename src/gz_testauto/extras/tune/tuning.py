"""The campaigns of a tuning: a race in training worlds, then a comparison in held-out worlds.

The held-out worlds are the worlds of the campaign, and the training worlds have other random
numbers. If the campaign lists its worlds, they are divided at random. Both parts are ordinary
campaigns in the output directory, which their own files continue after a stop.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.json_file import read_json_object, validate_as
from gz_testauto.base.scratch import scratch_directory
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.extras.tune.race import (
    Loss,
    Losses,
    RacePlan,
    largest_plan,
    least_plan,
    mean_loss,
    race,
)
from gz_testauto.extras.tune.space import Parameter, Values, draw_candidates
from gz_testauto.report.plain import count_text
from gz_testauto.results.comparability import list_differences, refuse_differences
from gz_testauto.results.directory import RunDirectory, write_atomically
from gz_testauto.results.manifest import campaign_inputs
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.sampling import seeds
from gz_testauto.spec.campaign import CampaignSpec, PlannerSpec
from gz_testauto.spec.worlds import WorldFileSpec, WorldsSpec, name_of_world
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import ALL, TrialSelection
from gz_testauto.trial.testbed import read_body
from gz_testauto.worlds.manifest import read_worlds
from gz_testauto.worlds.source import missions_of

TRAINING, HELD_OUT = "training", "held_out"  # directories of the two campaigns

LEAST_HELD_OUT = 2  # one world has no interval

REMEDY = "specify a new directory with --out"

RunTrials = Callable[[CampaignSpec, Path, TrialSelection], CampaignResults]
"""A function that runs the selected trials of a campaign in a directory."""


class TuningDirectory(RunDirectory):
    CONTENT, COMMAND, MARKER = "tuning", "gz_testauto tune", "tuning.json"
    EARLIER = ()
    UNFINISHED = ("tuning.json.partial", "*.yaml.partial", "result.json.partial")


@dataclass(frozen=True)
class _StoredTuning:
    inputs: Dict[str, Any]
    candidates: Tuple[Values, ...]


class TuningStopped(Exception):
    """A signal stopped the trials of a tuning."""


@dataclass(frozen=True)
class Tuning:
    """The campaign, the planner to tune, and the candidates; candidate 0 has the defaults."""

    spec: CampaignSpec
    entry: PlannerSpec
    plan: RacePlan
    candidates: Tuple[Values, ...]

    def name(self, number: int) -> str:
        """Return the name of a candidate in results; for the defaults, it is the planner's name."""
        return self.entry.name if number == 0 else f"{self.entry.name}_c{number:02d}"

    def entries(self) -> Tuple[PlannerSpec, ...]:
        return tuple(
            self.entry.with_settings(self.name(number), values)
            for number, values in enumerate(self.candidates)
        )

    def tuned_entry(self, number: int) -> PlannerSpec:
        return self.entry.with_settings(f"{self.entry.name}_tuned", self.candidates[number])


def plan_of(spec: CampaignSpec, budget: int, worlds: int) -> RacePlan:
    """Return the race with the most candidates that needs at most ``budget`` trials in ``worlds``
    training worlds, or raise ``SpecError`` if the budget is too small.
    """
    least = least_plan(worlds)
    needed = least.trials * spec.repetitions
    if budget < needed:
        raise SpecError(
            f"--budget is {budget}; with {worlds} training worlds it must be at least {needed}, "
            f"for {least.candidates[0]} candidates; increase it, or reduce --training-worlds"
        )
    return largest_plan(budget // spec.repetitions, worlds)


def divided(spec: CampaignSpec, training_worlds: int) -> Tuple[CampaignSpec, CampaignSpec]:
    """Return the campaigns with the training and with the held-out worlds, or raise ``SpecError``
    if there are too few worlds."""
    spec = spec.model_copy(update={"stop": None})
    seed = seeds.child_seed(spec.seed, seeds.TUNING, seeds.TRAINING)
    worlds = spec.worlds
    if worlds.directory is None:
        if (worlds.count or 0) < LEAST_HELD_OUT:
            raise SpecError(
                f"campaign {spec.name}: worlds.count is {worlds.count}; these worlds are held out, "
                f"so it must be at least {LEAST_HELD_OUT}"
            )
        changed = worlds.model_copy(update={"count": training_worlds})
        return spec.model_copy(update={"worlds": changed, "seed": seed}), spec
    entries = _list_world_files(worlds)
    if len(entries) - training_worlds < LEAST_HELD_OUT:
        raise SpecError(
            f"campaign {spec.name}: it has {len(entries)} worlds, of which {training_worlds} are "
            f"for training and at least {LEAST_HELD_OUT} are held out; reduce --training-worlds, "
            "or add worlds"
        )
    generator = seeds.child_generator(spec.seed, seeds.TUNING, seeds.SPLIT)
    order = generator.permutation(len(entries)).tolist()
    training = [entries[index] for index in order[:training_worlds]]
    held_out = [entries[index] for index in sorted(order[training_worlds:])]
    return (
        spec.model_copy(update={"worlds": _with_files(worlds, training), "seed": seed}),
        spec.model_copy(update={"worlds": _with_files(worlds, held_out)}),
    )


def _list_world_files(worlds: WorldsSpec) -> List[WorldFileSpec]:
    if worlds.files is not None:
        entries = list(worlds.files)
    else:
        assert worlds.directory is not None, "checked by the caller"
        # An empty name means the name of the file.
        entries = [
            WorldFileSpec(
                file=world.path.name,
                name=world.name if world.name != name_of_world(world.path.name) else "",
            )
            for world in read_worlds(worlds.directory)
        ]
    return entries[: worlds.count]


def _with_files(worlds: WorldsSpec, files: List[WorldFileSpec]) -> WorldsSpec:
    return worlds.model_copy(update={"files": files, "count": None})


def require_separate_worlds(
    training: CampaignSpec, held_out: CampaignSpec, world_workers: int = 1
) -> None:
    """Raise ``SpecError`` if a held-out world equals a training world.

    Equal worlds have the same content, start and goals and, if actors or ``randomize`` change the
    worlds, random numbers.
    """
    known: Dict[Any, str] = {}
    for spec in (training, held_out):
        robot = read_body(spec)
        with scratch_directory() as folder:
            records = gather_worlds(spec, robot, folder, world_workers)
            missions = missions_of(spec, folder)
            for record in records:
                mission = missions.of(record.name)
                key: Tuple[Any, ...] = (
                    record.sha256,
                    mission.start,
                    mission.goals,
                )
                if spec.changes_worlds:
                    numbers = spec.random_numbers(record.world_index, 0)
                    key = (*key, numbers.seed, numbers.world, numbers.repetition)
                if spec is held_out and key in known:
                    raise SpecError(
                        f"campaign {spec.name}: the held-out world {record.name} equals the "
                        f"training world {known[key]}, so its result would not be independent of "
                        "the training; use worlds that differ in file, start or goal"
                    )
                if spec is training:
                    known[key] = record.name


def open_tuning(
    directory: TuningDirectory,
    spec: CampaignSpec,
    entry: PlannerSpec,
    parameters: Tuple[Parameter, ...],
    budget: int,
    training_worlds: int,
) -> Tuning:
    """Create or continue a tuning in the directory, of which the caller must hold the lock.

    Raises ``ResultsError`` if it has other inputs.
    """
    plan = plan_of(spec, budget, training_worlds)
    inputs = {
        **campaign_inputs(spec),
        "planner": entry.name,
        "budget": budget,
        "training_worlds": training_worlds,
        **{f"parameters.{parameter.name}": parameter.text for parameter in parameters},
    }
    if directory.is_begun:
        stored = _read_stored(directory.marker)
        differences = list_differences(stored.inputs, inputs)
        refuse_differences(directory.path, "a tuning with other inputs", differences)
        if len(stored.candidates) != plan.candidates[0] + 1:
            raise ResultsError(
                f"{directory.marker}: the file is damaged: candidates has "
                f"{len(stored.candidates)} entries instead of {plan.candidates[0] + 1}; {REMEDY}"
            )
        return Tuning(spec, entry, plan, stored.candidates)
    drawn_values = draw_candidates(parameters, entry, spec.seed, plan.candidates[0])
    candidates: Tuple[Values, ...] = ({}, *drawn_values)
    # Stored before the first trial, so that the same command continues with the same candidates.
    text = json.dumps({"inputs": inputs, "candidates": candidates}, indent=1)
    write_atomically(directory.marker, (text + "\n").encode("utf-8"))
    return Tuning(spec, entry, plan, candidates)


def _read_stored(path: Path) -> _StoredTuning:
    try:
        content = read_json_object(path, ResultsError)
        return validate_as(_StoredTuning, content, str(path), ResultsError)
    except ResultsError as error:
        raise ResultsError(f"{error}; {REMEDY}") from error


def run_race(
    tuning: Tuning, training: CampaignSpec, out: Path, run: RunTrials
) -> Tuple[List[int], CampaignResults]:
    """Run the race, and return the numbers of the candidates that ran in all training worlds, best
    first, and all results. Raises ``ResultsError`` if no world allows a comparison."""
    spec = training.model_copy(update={"planners": tuning.entries()})
    timeout_s = spec.limits.timeout_s
    latest: List[CampaignResults] = []

    def run_stage(remaining: Sequence[int], worlds: int) -> List[Losses]:
        stage = tuning.plan.worlds.index(worlds) + 1
        print(
            f"race, stage {stage} of {len(tuning.plan.worlds)}: "
            f"{count_text(len(remaining) - 1, 'candidate')} and the defaults in {worlds} worlds",
            file=sys.stderr,
            flush=True,
        )
        names = tuple(tuning.name(number) for number in remaining)
        results = run(spec, out / TRAINING, TrialSelection(worlds=worlds, planners=names))
        latest[:] = [results]
        first = [world.name for world in results.worlds[:worlds]]
        return [losses_of(results.of(name), first, timeout_s) for name in names]

    try:
        return race(tuning.plan, run_stage), latest[0]
    except ValueError as error:
        raise ResultsError(
            f"{out / TRAINING}: there is {error}, so the candidates cannot be compared; repeat the "
            "invalid trials with --retry-invalid"
        ) from error


def run_held_out(
    tuning: Tuning, best: int, held_out: CampaignSpec, out: Path, run: RunTrials
) -> CampaignResults:
    planners = (tuning.tuned_entry(best), tuning.entry)
    print(
        f"held-out worlds: {planners[0].name} and {planners[1].name}", file=sys.stderr, flush=True
    )
    return run(held_out.model_copy(update={"planners": planners}), out / HELD_OUT, ALL)


def losses_of(records: Sequence[TrialRecord], worlds: Sequence[str], timeout_s: float) -> Losses:
    """Return the mean loss over the repetitions, for each of ``worlds`` with a valid trial."""
    losses: Dict[str, List[Loss]] = {}
    for record in records:
        if record.world in worlds and record.outcome.valid:
            failed = not record.completed
            time_s = timeout_s if failed else record.metrics["time_s"]
            collided = record.outcome is Outcome.COLLIDED
            losses.setdefault(record.world, []).append(
                Loss(float(failed), float(collided), float(time_s))
            )
    return {world: mean_loss(repetitions) for world, repetitions in losses.items()}
