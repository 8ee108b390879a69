"""The robustness of an outcome: how often it repeats after small changes of the trial.

An outcome that changes with millimeters is no property of planner and world. Each repeat has these
changes, which are drawn independently:

- each random obstacle moves by 1 mm to 10 mm in any direction, and so does the start;
- the lidar has additional noise with a standard deviation of 10 mm;
- every second repeat has half of the physics step, if the simulator has an option for it.
"""

import math
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from gz_testauto.analysis.intervals import Estimate, success_rate
from gz_testauto.base.errors import PlacementError, SceneError, SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.registry import unknown_name
from gz_testauto.campaign.trial_runner import MeasuredTrial, TrialRunner, TrialSeed
from gz_testauto.sampling import seeds
from gz_testauto.simulators import options_taken
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import Trial
from gz_testauto.trial.setup import PreparedCampaign
from gz_testauto.worlds.edited import EditedWorld

SHIFT_M = (0.001, 0.01)
"""Least and largest distance (m) by which an obstacle or the start is moved."""

NOISE_M = 0.01
"""Standard deviation (m) of the additional noise of the lidar."""

NOISE = "perturbation_noise"
STEP = "step_s"


def share_text(share: Estimate) -> str:
    """Return a share with its interval, such as ``90 %, 95 % interval 60 to 98 %``."""
    low, high = 100 * share.low, 100 * share.high
    return f"{100 * share.value:.0f} %, 95 % interval {low:.0f} to {high:.0f} %"


@dataclass(frozen=True)
class Robustness:
    """The outcomes of a perturbed trial. ``outcomes`` contains None for a repeat whose scene is
    invalid, for example because models overlap; it is not counted.
    """

    outcome: Outcome
    outcomes: Tuple[Optional[Outcome], ...]

    @property
    def valid(self) -> int:
        """Return the number of repeats with an outcome."""
        return sum(one is not None for one in self.outcomes)

    @property
    def same(self) -> int:
        """Return the number of repeats with the outcome of the unchanged trial."""
        return sum(one is self.outcome for one in self.outcomes)

    @property
    def share(self) -> Estimate:
        """Return the share of repeats with the same outcome, with its interval."""
        return success_rate(self.same, self.valid)

    @property
    def summary(self) -> str:
        """Return one sentence with the share, such as ``9 of 10 small changes: stuck``."""
        if not self.valid:
            return f"none of {len(self.outcomes)} perturbed scenes is valid"
        return (
            f"{self.same} of {self.valid} perturbed trials: {self.outcome.value} "
            f"({share_text(self.share)})"
        )


@dataclass(frozen=True)
class PerturbedTrial:
    """The unchanged trial whose robustness is measured: its world, planner, random numbers, and
    where the robot starts and must drive."""

    world: EditedWorld
    planner: str
    seed: TrialSeed
    start: Pose2D
    goals: Tuple[Pose2D, ...]

    @classmethod
    def of_trial(cls, campaign: PreparedCampaign, trial: Trial) -> "PerturbedTrial":
        """Return the inputs of a trial of a campaign."""
        return cls(
            EditedWorld(campaign.world(trial).path, campaign.spec.worlds.obstacle_pattern),
            trial.planner,
            TrialSeed.of_trial(campaign.spec, trial.world_index, trial.repetition),
            campaign.missions.start_in(trial.world),
            tuple(campaign.missions.goals_in(trial.world)),
        )


class Perturbation:
    """A function of a trial and a number: the result of the repeat with this number.

    The changes depend only on the random numbers of the trial and on the number. The simulators run
    until the end of the ``with`` statement. Raises ``SpecError`` for a campaign with a stack.
    """

    def __init__(self, spec: CampaignSpec) -> None:
        self._runners = [TrialRunner(one) for one in _noisy(spec)]

    def __enter__(self) -> "Perturbation":
        return self

    def __exit__(self, *error: Any) -> None:
        with ExitStack() as at_exit:
            for runner in self._runners:
                at_exit.callback(runner.close)

    def outcome(self, trial: PerturbedTrial, number: int) -> Optional[Outcome]:
        """Return the outcome of a repeat, or None if its scene is invalid. ``number`` starts at
        0."""
        result = self.run(trial, number)
        return None if result is None else result.outcome

    def run(self, trial: PerturbedTrial, number: int) -> Optional[MeasuredTrial]:
        """Return the result of a repeat, or None if its scene is invalid. ``number`` starts at
        0."""
        random = seeds.child_generator(trial.seed.seed, seeds.PERTURBATION, number)
        moved = {
            name: _shifted(pose.planar, random) for name, pose in trial.world.obstacles.items()
        }
        start = _shifted(trial.start, random)
        content = trial.world.content(list(moved), moved)
        runner = self._runners[number % len(self._runners)]
        try:
            return runner.run(
                content, trial.planner, seed=trial.seed, start=start, goals=trial.goals
            )
        except (SceneError, SpecError, PlacementError):
            return None


def measure_robustness(
    spec: CampaignSpec,
    trial: PerturbedTrial,
    outcome: Outcome,
    count: int,
    progress: Callable[[int, Optional[Outcome]], None] = lambda number, found: None,
) -> Robustness:
    """Run ``count`` perturbed repeats of a trial with the ``outcome``.

    The changes depend only on the random numbers of the trial and on the number of the repeat.
    ``progress`` receives the number of each finished repeat, from 1, and its outcome. Raises
    ``SpecError`` if ``count`` is less than 1.
    """
    if count < 1:
        raise SpecError(f"the number of perturbed trials is {count}; it must be at least 1")
    found: List[Optional[Outcome]] = []
    with Perturbation(spec) as perturbation:
        for number in range(count):
            found.append(perturbation.outcome(trial, number))
            progress(number + 1, found[-1])
    return Robustness(outcome, tuple(found))


def _shifted(pose: Pose2D, random: np.random.Generator) -> Pose2D:
    distance_m, direction = random.uniform(*SHIFT_M), random.uniform(0.0, 2.0 * math.pi)
    x_m = pose.x_m + distance_m * math.cos(direction)
    y_m = pose.y_m + distance_m * math.sin(direction)
    return Pose2D(round(x_m, 6), round(y_m, 6), pose.yaw_rad)


def _noisy(spec: CampaignSpec) -> List[BuiltinCampaignSpec]:
    """Return the campaign with noise, and with half of the step if the simulator has the option."""
    if not isinstance(spec, BuiltinCampaignSpec):
        raise SpecError(
            f"campaign {spec.name}: perturbed trials are supported only with planners of this "
            "package, not with a stack; replay the trial without this option"
        )
    data: Dict[str, Any] = spec.model_dump(mode="json")
    names = [entry["name"] for entry in data["randomize"]]
    if NOISE in names:
        raise SpecError(f"campaign {spec.name}: {unknown_name('term', NOISE, names)}")
    term = {"name": NOISE, "term": "scan_noise", "set": NOISE_M}
    noisy = BuiltinCampaignSpec.model_validate({**data, "randomize": [*data["randomize"], term]})
    parameter = options_taken(spec.simulator).get(STEP)
    step_s = spec.simulator_options.get(STEP, getattr(parameter, "default", None))
    if not isinstance(step_s, float):
        return [noisy]
    options = {**spec.simulator_options, STEP: step_s / 2}
    return [noisy, noisy.model_copy(update={"simulator_options": options})]
