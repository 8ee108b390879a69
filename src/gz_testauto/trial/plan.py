"""Plan the trials of a campaign, with their seeds. They are sorted by world, then by repetition,
then by planner."""

from dataclasses import dataclass
from typing import FrozenSet, List, Optional, Sequence, Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.testbed import TestBed
from gz_testauto.trial.trial import Trial
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import Missions


@dataclass(frozen=True)
class TrialSelection:
    """The part of the plan to run; a field that is None selects all.

    ``worlds`` is the number of first worlds. ``only`` are names of worlds, and ``trials`` are
    indices in the complete plan.
    """

    worlds: Optional[int] = None
    planners: Optional[Tuple[str, ...]] = None
    trials: Optional[FrozenSet[int]] = None
    only: Optional[Tuple[str, ...]] = None

    def covers(self, trial: Trial) -> bool:
        return (
            (self.worlds is None or trial.world.world_index < self.worlds)
            and (self.planners is None or trial.planner.name in self.planners)
            and (self.trials is None or trial.index in self.trials)
            and (self.only is None or trial.world.name in self.only)
        )

    def world_count(self, spec: CampaignSpec) -> Optional[int]:
        """Return the number of first worlds that contain all selected trials, or None for all."""
        if self.only is not None or self.trials is not None:
            return spec.most_worlds
        counts = [count for count in (self.worlds, spec.most_worlds) if count is not None]
        return min(counts, default=None)

    def check(self, spec: CampaignSpec) -> None:
        """Raise ``SpecError`` for an unknown planner or a number of worlds below 1."""
        names = [planner.name for planner in spec.planners]
        for name in self.planners or ():
            if name not in names:
                raise SpecError(f"campaign {spec.name}: {unknown_name('planner', name, names)}")
        if self.worlds is not None and self.worlds < 1:
            raise SpecError(
                f"campaign {spec.name}: --worlds is {self.worlds}; it must be at least 1"
            )


ALL = TrialSelection()


def is_within_max_worlds(spec: CampaignSpec, trial: Trial) -> bool:
    return spec.most_worlds is None or trial.world.world_index < spec.most_worlds


class PreparedCampaign:
    """A campaign that is ready to run: its test bed, and its trials in the order of execution."""

    def __init__(
        self, bed: TestBed, worlds: Sequence[WorldRecord], missions: Optional[Missions] = None
    ) -> None:
        self.bed, self.spec = bed, bed.spec
        self.worlds = tuple(worlds)
        self.missions = missions or Missions(bed.spec)
        self.trials = plan_trials(self.spec, self.worlds, self.missions)


def plan_trials(
    spec: CampaignSpec, worlds: Sequence[WorldRecord], missions: Missions
) -> Tuple[Trial, ...]:
    # All planners run in a world before the next one, so that an unfinished campaign is comparable.
    trials: List[Trial] = []
    for world in worlds:
        mission = missions.of(world.name)
        for repetition in range(spec.repetitions):
            numbers = spec.random_numbers(world.world_index, repetition)
            for planner in spec.planners:
                trials.append(Trial(world, mission, planner, numbers, repetition, len(trials)))
    return tuple(trials)
