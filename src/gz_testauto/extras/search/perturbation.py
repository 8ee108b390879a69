"""Small changes of a trial, with which the robustness of its outcome is measured.

Each repeat has these changes, which are drawn independently:

- each random obstacle moves by 1 mm to 10 mm in any direction, and so does the start;
- the lidar has additional noise with a standard deviation of 10 mm;
- every second repeat has half of the physics step, if the simulator has an option for it.
"""

import math
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from gz_testauto.base.errors import PlacementError, SceneError, SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.campaign.trial_runner import MeasuredTrial, TrialRunner
from gz_testauto.extras.search.edited_world import EditedWorld
from gz_testauto.sampling import seeds
from gz_testauto.simulators import options_taken
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.trial.trial import Trial

SHIFT_M = (0.001, 0.01)

NOISE_M = 0.01

NOISE = "perturbation_noise"
STEP = "step_s"


class Perturbation:
    """A runner of repeats of trials with small changes.

    The changes depend only on the number of the repeat and the random numbers of the trial. The
    simulators run until :meth:`close`. Raises ``SpecError`` for a campaign with a stack.
    """

    def __init__(self, spec: CampaignSpec) -> None:
        self._runners = [TrialRunner(changed) for changed in _noisy(spec)]
        self._pattern = spec.worlds.obstacle_pattern
        self._world: Optional[Tuple[str, EditedWorld]] = None

    def close(self) -> None:
        with ExitStack() as at_exit:
            for runner in self._runners:
                at_exit.callback(runner.close)

    def run(self, trial: Trial, number: int) -> Optional[MeasuredTrial]:
        """Run repeat ``number`` (from 0) of a trial; return None if the scene is invalid."""
        random = seeds.child_generator(trial.numbers.seed, seeds.PERTURBATION, number)
        if self._world is None or self._world[0] != trial.world.sha256:
            self._world = trial.world.sha256, EditedWorld(trial.world.path, self._pattern)
        world = self._world[1]
        moved = {
            name: _shift_randomly(pose.planar, random) for name, pose in world.obstacles.items()
        }
        mission = replace(trial.mission, start=_shift_randomly(trial.mission.start, random))
        runner = self._runners[number % len(self._runners)]
        record = runner.record(world.content(list(moved), moved))
        try:
            return runner.execute(replace(trial, world=record, mission=mission))
        except (SceneError, SpecError, PlacementError):
            return None


def _shift_randomly(pose: Pose2D, random: np.random.Generator) -> Pose2D:
    distance_m, direction = random.uniform(*SHIFT_M), random.uniform(0.0, 2.0 * math.pi)
    x_m = pose.x_m + distance_m * math.cos(direction)
    y_m = pose.y_m + distance_m * math.sin(direction)
    return Pose2D(round(x_m, 6), round(y_m, 6), pose.yaw_rad)


def _noisy(spec: CampaignSpec) -> List[BuiltinCampaignSpec]:
    """Return a campaign with lidar noise and, if the simulator has an option for the step, a copy
    of it with half of the physics step."""
    spec = spec.without_stack("omit the perturbed trials")
    data: Dict[str, Any] = spec.model_dump(mode="json")
    if any(entry["name"] == NOISE for entry in data["randomize"]):
        raise SpecError(
            f"campaign {spec.name}: randomize has a term {NOISE!r}, which is the name of the noise "
            "of perturbed trials; rename it"
        )
    term = {"name": NOISE, "term": "scan_noise", "set": NOISE_M}
    noisy = BuiltinCampaignSpec.model_validate({**data, "randomize": [*data["randomize"], term]})
    parameter = options_taken(spec.simulator).get(STEP)
    step_s = spec.simulator_options.get(STEP, getattr(parameter, "default", None))
    if not isinstance(step_s, float):
        return [noisy]
    options = {**spec.simulator_options, STEP: step_s / 2}
    return [noisy, noisy.model_copy(update={"simulator_options": options})]
