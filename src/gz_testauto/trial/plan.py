"""Plan the trials of a campaign, with their order and seeds.

The plan contains each combination of world, repetition and planner. All planners run in a world
before the next world starts, so that even an unfinished campaign contains trials of all planners in
the same worlds.
"""

from dataclasses import dataclass
from typing import FrozenSet, List, Optional, Sequence, Tuple

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.sampling import seeds
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.worlds import RandomNumbers


@dataclass(frozen=True)
class Trial:
    """A trial of a campaign: one planner in one world, in one repetition.

    ``index`` is the position of the trial in the plan, from 0, and identifies the trial in the
    results. ``world_index`` is the position of the world, from 0. ``seed`` is for the random
    numbers of simulator and planner. It is the same for all planners in one world and repetition,
    so that all planners get the same noise (common random numbers) and the comparison is paired.
    """

    index: int
    world: str
    world_index: int
    planner: str
    repetition: int
    seed: int

    @property
    def label(self) -> str:
        """Return the name of the trial in file names and messages, such as
        ``world_0003--fgm--0``.
        """
        return trial_label(self.world, self.planner, self.repetition)


def trial_label(world: str, planner: str, repetition: int) -> str:
    """Return the name of a trial in file names and messages; see :attr:`Trial.label`."""
    return f"{world}--{planner}--{repetition}"


@dataclass(frozen=True)
class TrialSelection:
    """The part of the plan to run: the first ``worlds`` worlds, the planners with the names
    ``planners``, the trials with the indices ``trials``, and the worlds with the names ``only``.

    A field that is None selects all. Seeds and indices of trials do not depend on the selection, so
    that the other trials can run later in the same results directory, and a trial is the same trial
    in any selection.
    """

    worlds: Optional[int] = None
    planners: Optional[Tuple[str, ...]] = None
    trials: Optional[FrozenSet[int]] = None
    only: Optional[Tuple[str, ...]] = None

    def covers(self, trial: Trial) -> bool:
        """Return whether the trial is part of the selection."""
        return (
            (self.worlds is None or trial.world_index < self.worlds)
            and (self.planners is None or trial.planner in self.planners)
            and (self.trials is None or trial.index in self.trials)
            and (self.only is None or trial.world in self.only)
        )

    def check(self, spec: CampaignSpec) -> None:
        """Raise ``SpecError`` if a selected planner is unknown, or less than one world is
        selected.
        """
        known = [planner.name for planner in spec.planners]
        for name in self.planners or ():
            if name not in known:
                raise SpecError(f"campaign {spec.name}: {unknown_name('planner', name, known)}")
        if self.worlds is not None and self.worlds < 1:
            raise SpecError(
                f"campaign {spec.name}: --worlds is {self.worlds}; it must be at least 1"
            )


ALL = TrialSelection()


def may_be_run(spec: CampaignSpec, trial: Trial) -> bool:
    """Return whether the world of the trial is within ``stop.max_worlds`` of the campaign."""
    return spec.most_worlds is None or trial.world_index < spec.most_worlds


def trial_seed(numbers: RandomNumbers) -> int:
    """Return the seed (:attr:`Trial.seed`) of a trial with these random numbers."""
    return seeds.child_seed(numbers.seed, seeds.TRIAL, numbers.world, numbers.repetition)


def plan_trials(spec: CampaignSpec, worlds: Sequence[str]) -> Tuple[Trial, ...]:
    """Return all trials of a campaign in the worlds with the names ``worlds``, in order of
    execution.
    """
    trials: List[Trial] = []
    for world_index, world in enumerate(worlds):
        for repetition in range(spec.repetitions):
            seed = trial_seed(spec.random_numbers(world_index, repetition))
            for planner in spec.planners:
                trials.append(
                    Trial(len(trials), world, world_index, planner.name, repetition, seed)
                )
    return tuple(trials)
