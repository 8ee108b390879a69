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
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.analysis.intervals import Estimate, repeated_share
from gz_testauto.base.errors import PlacementError, SceneError, SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.registry import unknown_name
from gz_testauto.campaign.trial_runner import TrialRunner, TrialSeed
from gz_testauto.sampling import seeds
from gz_testauto.simulators import options_taken
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.edited import EditedWorld

SHIFT_M = (0.001, 0.01)
"""Least and largest distance (m) by which an obstacle or the start is moved."""

NOISE_M = 0.01
"""Standard deviation (m) of the additional noise of the lidar."""

NOISE = "perturbation_noise"
STEP = "step_s"


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
        return repeated_share(self.same, self.valid)

    @property
    def summary(self) -> str:
        """Return one sentence with the share, such as ``9 of 10 small changes: stuck``."""
        share = self.share
        if not self.valid:
            return f"none of {len(self.outcomes)} perturbed scenes is valid"
        return (
            f"{self.same} of {self.valid} perturbed trials: {self.outcome.value} "
            f"({100 * share.value:.0f} %, 95 % interval {100 * share.low:.0f} to "
            f"{100 * share.high:.0f} %)"
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
    with ExitStack() as at_exit:
        runners = [at_exit.enter_context(TrialRunner(one)) for one in _noisy(spec)]
        for number in range(count):
            random = seeds.child_generator(trial.seed.seed, seeds.PERTURBATION, number)
            moved = {name: _shifted(pose.planar, random) for name, pose in _obstacles(trial)}
            start = _shifted(trial.start, random)
            content = trial.world.content(list(moved), moved)
            try:
                result = runners[number % len(runners)].run(
                    content, trial.planner, seed=trial.seed, start=start, goals=trial.goals
                )
                found.append(result.outcome)
            except (SceneError, SpecError, PlacementError):
                found.append(None)
            progress(number + 1, found[-1])
    return Robustness(outcome, tuple(found))


def _obstacles(trial: PerturbedTrial) -> Sequence[Tuple[str, Any]]:
    return list(trial.world.obstacles.items())


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
