"""Select the trials of a campaign by the names of worlds, or by the failures of another campaign.

The selected trials keep the indices and seeds that they have in the complete campaign.
"""

from dataclasses import replace
from pathlib import Path
from typing import List, Optional, Sequence, Set, Tuple

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.base.truncation import join_truncated
from gz_testauto.results.paper_log import world_number
from gz_testauto.results.records import CampaignResults, TrialRecord
from gz_testauto.results.store import LoadedCampaign, load_campaign
from gz_testauto.spec.model import SpecPath
from gz_testauto.spec.options import Names, Options, option
from gz_testauto.spec.worlds import SEEDS
from gz_testauto.trial.plan import TrialSelection
from gz_testauto.trial.trial import Trial
from gz_testauto.worlds.record import WorldRecord

# World, planner and repetition: a trial of any campaign in the same worlds.
Identity = Tuple[str, str, int]


class CampaignOptions(Options):
    """Options of commands and nodes that run a campaign."""

    simulator: str = option("", "NAME", "simulator that replaces the simulator of the campaign")
    seed: Optional[int] = option(
        None,
        "N",
        "seed that replaces the seed of the campaign; it changes generated worlds, noise and the "
        "random numbers of planners",
        ge=0,
        lt=SEEDS,
    )
    planners: Optional[Names] = option(
        None, "A,B", "run only these planners (default: all); the other planners can run later"
    )
    worlds: Optional[int] = option(
        None,
        "N",
        "run only the first N worlds (default: all); the other worlds can run later",
        ge=1,
    )

    @property
    def selection(self) -> TrialSelection:
        return TrialSelection(self.worlds, self.planners or None)


class RunOptions(CampaignOptions):
    """Options of the command ``run`` and of the node ``campaign``."""

    only: Optional[Names] = option(
        None,
        "W1,W2",
        "run only the worlds with these names or numbers, with the same seeds as in the complete "
        "campaign",
    )
    failed_of: Optional[SpecPath] = option(
        None,
        "DIR",
        "run only the trials that failed in this results directory, with the same seeds; planners "
        "that it does not contain run in the worlds in which other planners failed",
    )
    retry_invalid: bool = option(False, "", "repeat the trials that are stored as invalid")

    @property
    def selection(self) -> TrialSelection:
        return replace(super().selection, only=self.only or None)


def world_name(text: str, worlds: Sequence[WorldRecord]) -> str:
    """Return the name of a world from its name or number, or raise ``SpecError``."""
    names = [world.name for world in worlds]
    if text in names:
        return text
    by_number = {world_number(world.name, world.world_index): world.name for world in worlds}
    if text not in by_number:
        raise SpecError(unknown_name("world", text, names))
    return by_number[text]


def load_failed(directory: Path, out: Path) -> LoadedCampaign:
    """Return the campaign whose failed trials are to run again in ``out``.

    Raises ``SpecError`` for equal directories, and the errors of :func:`require_failures`.
    """
    if directory.resolve() == out.resolve():
        raise SpecError(
            f"the failed trials and the results would both be in {out}; finished trials are never "
            "run again in their directory: specify a new results directory (out)"
        )
    earlier_campaign = load_campaign(directory)
    require_failures(earlier_campaign)
    return earlier_campaign


def valid_trials(
    results: CampaignResults,
    worlds: Optional[Sequence[str]] = None,
    planners: Optional[Sequence[str]] = None,
) -> List[TrialRecord]:
    """Return the valid trials of some worlds and planners, by default of all.

    ``worlds`` are names or numbers.
    Raises ``SpecError`` for an unknown world or planner, and ``ResultsError`` if one of ``worlds``
    has no valid trial.
    """
    for planner in planners or ():
        if planner not in results.planners:
            raise SpecError(unknown_name("planner", planner, results.planners))
    records = [
        record
        for record in results.trials
        if record.outcome.valid and (planners is None or record.planner in planners)
    ]
    if worlds is None:
        return records
    names = [world_name(world, results.worlds) for world in worlds]
    for name in names:
        if not any(record.world == name for record in records):
            raise ResultsError(f"{name}: no trial is valid, so there is no recording")
    return [record for record in records if record.world in names]


def require_failures(earlier_campaign: LoadedCampaign) -> None:
    """Raise ``ResultsError`` if no valid trial failed, or if the seeds are unknown."""
    if earlier_campaign.manifest.is_imported:
        raise ResultsError(
            f"{earlier_campaign.label}: these results were imported, so the seeds of their trials "
            "are unknown; select worlds with --only instead"
        )
    if not _failures(earlier_campaign.results.trials):
        raise ResultsError(
            f"{earlier_campaign.label}: none of the {len(earlier_campaign.results.trials)} "
            "finished trials failed, so there is no trial to run again (invalid trials do not "
            "count)"
        )


def selected_trials(
    plan: Sequence[Trial],
    selection: TrialSelection,
    worlds: Sequence[WorldRecord],
    failed_in: Optional[LoadedCampaign] = None,
) -> List[Trial]:
    """Return the selected trials, with ``failed_in`` only those that failed in that campaign.

    A planner that ``failed_in`` does not contain runs where another planner failed. Raises
    ``SpecError`` for an unknown world, or if failed trials have another world file or seed here.
    """
    if selection.only is not None:
        names = tuple(world_name(text, worlds) for text in selection.only)
        selection = replace(selection, only=names)
    trials = [trial for trial in plan if selection.covers(trial)]
    if failed_in is None:
        return trials
    failures = _failures(failed_in.results.trials)
    failed_repetitions = {(world, repetition) for world, _, repetition in failures}
    repeated_trials = [
        trial
        for trial in trials
        if (trial.world.name, trial.planner.name, trial.repetition) in failures
        or (
            trial.planner.name not in failed_in.results.planners
            and (trial.world.name, trial.repetition) in failed_repetitions
        )
    ]
    _require_same_files_and_seeds(repeated_trials, failed_in, failures)
    return repeated_trials


def selection_text(selection: TrialSelection, failed_in: Optional[LoadedCampaign]) -> str:
    texts = []
    if failed_in is not None:
        texts.append(f"trials that failed in {failed_in.label} (--failed-of)")
    if selection.only is not None:
        texts.append("worlds that were selected by name (--only)")
    return " and ".join(texts)


def _failures(trials: Sequence[TrialRecord]) -> Set[Identity]:
    return {
        (record.world, record.planner, record.repetition)
        for record in trials
        if record.outcome.valid and not record.completed
    }


def _require_same_files_and_seeds(
    repeated_trials: Sequence[Trial],
    earlier_campaign: LoadedCampaign,
    failures: Set[Identity],
) -> None:
    label = earlier_campaign.label
    if not repeated_trials:
        failed_worlds = join_truncated(sorted({world for world, _, _ in failures}))
        raise SpecError(
            f"--failed-of {label}: the selected worlds and planners of this campaign include none "
            f"of the failed trials, which are in {failed_worlds}"
        )
    earlier_hashes = {world.name: world.sha256 for world in earlier_campaign.results.worlds}
    seeds = {
        (record.world, record.repetition): record.seed for record in earlier_campaign.results.trials
    }
    for trial in repeated_trials:
        world = trial.world
        if world.sha256 != earlier_hashes[world.name]:
            raise SpecError(
                f"--failed-of {label}: the file of {world.name} has a different content in this "
                "campaign, so its trials would not be the same; use the 'worlds' and the 'seed' of "
                f"{label}"
            )
        seed = seeds[world.name, trial.repetition]
        if seed != trial.seed:
            raise SpecError(
                f"--failed-of {label}: {trial.label} has the seed {seed} in {label} and "
                f"{trial.seed} in this campaign, so its random numbers would differ; use the "
                f"'seed' and the complete list of worlds of {label}, and select worlds with --only"
            )
