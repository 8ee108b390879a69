"""The trials of a campaign, with their order and seeds.

The plan is worlds × repetitions × planners; worlds change slowest. All planners run in a world
before the next world starts, so that an unfinished campaign has complete pairs.
"""

from dataclasses import dataclass
from typing import FrozenSet, List, Optional, Sequence, Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.sampling import seeds
from gz_testauto.spec.campaign import CampaignSpec


@dataclass(frozen=True)
class Trial:
    """One world × one planner × one repetition.

    ``index`` is its place in the plan, from 0, and its identity in the results. ``world_index``
    counts worlds from 0, in the plan's order. ``seed`` seeds the simulator and the planner's random
    numbers. All planners share it in the same world and repetition, so that they have the same
    noise (common random numbers) and the comparison is paired.
    """

    index: int
    world: str
    world_index: int
    planner: str
    repetition: int
    seed: int

    @property
    def label(self) -> str:
        """Return a name for files and messages, ``world_0003--fgm--0``."""
        return f"{self.world}--{self.planner}--{self.repetition}"


@dataclass(frozen=True)
class TrialSelection:
    """The part of the plan to run now: the first ``worlds`` worlds, these ``planners``, these
    ``trials`` by index.

    None means all. The plan, its seeds and its indices do not change, so the other trials can run
    later with the same results directory.
    """

    worlds: Optional[int] = None
    planners: Optional[Tuple[str, ...]] = None
    trials: Optional[FrozenSet[int]] = None

    def covers(self, trial: Trial) -> bool:
        """Return whether the trial is part of the selection."""
        return (
            (self.worlds is None or trial.world_index < self.worlds)
            and (self.planners is None or trial.planner in self.planners)
            and (self.trials is None or trial.index in self.trials)
        )

    def check(self, spec: CampaignSpec) -> None:
        """Raise ``SpecError`` for a planner that the campaign does not have, or for no world."""
        known = [planner.name for planner in spec.planners]
        for name in self.planners or ():
            if name not in known:
                raise SpecError(f"campaign {spec.name}: {unknown_name('planner', name, known)}")
        if self.worlds is not None and self.worlds < 1:
            raise SpecError(f"campaign {spec.name}: worlds is {self.worlds}; it must be at least 1")


ALL = TrialSelection()


def may_be_run(spec: CampaignSpec, trial: Trial) -> bool:
    """Return whether the trial's world is within the limit of the campaign
    (``stop.max_worlds``)."""
    return spec.most_worlds is None or trial.world_index < spec.most_worlds


def plan_trials(spec: CampaignSpec, worlds: Sequence[str]) -> Tuple[Trial, ...]:
    """Return every trial of a campaign over the named worlds, in the order of execution."""
    trials: List[Trial] = []
    for world_index, world in enumerate(worlds):
        for repetition in range(spec.repetitions):
            seed = seeds.child_seed(spec.seed, seeds.TRIAL, world_index, repetition)
            for planner in spec.planners:
                trials.append(
                    Trial(len(trials), world, world_index, planner.name, repetition, seed)
                )
    return tuple(trials)
