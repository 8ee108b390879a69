"""A trial as a value, before it is run."""

from dataclasses import dataclass
from typing import FrozenSet, Optional

from gz_testauto.sampling import seeds
from gz_testauto.spec.campaign import PlannerSpec
from gz_testauto.spec.worlds import RandomNumbers
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import Mission


@dataclass(frozen=True)
class Trial:
    """One planner in one world, once.

    ``numbers`` identify the random numbers. They are the same for all planners in a world and
    repetition (common random numbers), so that the comparison is paired. ``index`` is the position
    in the plan, from 0, and identifies the trial in the results.
    """

    world: WorldRecord
    mission: Mission
    planner: PlannerSpec
    numbers: RandomNumbers
    repetition: int = 0
    index: int = 0
    omitted: FrozenSet[str] = frozenset()
    """Names of actors, robots, effects, hooks and terms of ``randomize`` that the executor omits
    by ``TestBed.without``."""
    timeout_s: Optional[float] = None
    """Simulated time after which the trial ends as ``timed_out``; default: the test bed's."""

    def __hash__(self) -> int:  # parameters of planners are mappings, which have no hash
        return hash((self.index, self.world.sha256, self.planner.name, self.numbers))

    @property
    def seed(self) -> int:
        """The seed of the simulator, from which that of the planner derives."""
        numbers = self.numbers
        return seeds.child_seed(numbers.seed, seeds.TRIAL, numbers.world, numbers.repetition)

    @property
    def label(self) -> str:
        """The name in file names and messages, such as ``world_0003--fgm--0``."""
        return trial_label(self.world.name, self.planner.name, self.repetition)


def trial_label(world: str, planner: str, repetition: int) -> str:
    return f"{world}--{planner}--{repetition}"
