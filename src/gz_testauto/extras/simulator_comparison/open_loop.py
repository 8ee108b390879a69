"""Maneuvers of ``simulators agreement``, on level ground. The first simulator is the reference."""

import math
from typing import Any, Dict, List

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.simulator_comparison.maneuvers import BenchRobotSpec
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.extras.simulator_comparison.steps import (
    physics_step_s,
    simulator_fault,
    step_fault,
)
from gz_testauto.spec.campaign import BuiltinCampaignSpec

REPETITIONS = 3
DURATION_S = 5.0
MARGIN_M = 5.0  # distance between the longest possible path and the edge of the ground

PIXELS = 257

WORLD_STEP_S = 0.001

MEASURES = (  # names in the order of the report
    "pose_drift",
    "relative_pose",
    "box_pushed",
    "imu_angular_error",
    "imu_linear_error",
    "vertical_spectrum",
    "vertical_wasserstein",
    "yaw_rate_rmse",
    "linear_rmse",
    "delay",
    "noise_density",
)


def open_loop_bench(first: BuiltinCampaignSpec, second: BuiltinCampaignSpec) -> BenchSpec:
    robot = first.robot
    if robot.model is None:
        raise SpecError("'robot.model' is missing; specify the SDF model of the robot")
    for campaign in (first, second):
        reason = simulator_fault(campaign.simulator)
        if reason is not None:
            raise SpecError(f"--simulators: {campaign.simulator} {reason}")
        step_s = physics_step_s(campaign.simulator, campaign.simulator_options, WORLD_STEP_S)
        fault = step_fault(step_s)
        if fault is not None:
            raise SpecError(f"simulator_options.step_s of {campaign.simulator} {fault}")
    return BenchSpec.model_validate(
        {
            "name": "open_loop",
            "seed": first.seed,
            "robot": {
                name: getattr(robot, name) for name in BenchRobotSpec.model_fields if name != "name"
            },
            "terrains": [
                {
                    "name": "flat",
                    "kind": "flat",
                    "size_m": 2.0 * (robot.max_linear_mps * DURATION_S + MARGIN_M),
                    "pixels": PIXELS,
                }
            ],
            "maneuvers": _maneuvers(first),
            "repetitions": REPETITIONS,
            "step_s": WORLD_STEP_S,
            "measure_load": False,
            "entries": [
                {
                    "name": campaign.simulator,
                    "simulator": campaign.simulator,
                    "options": dict(campaign.simulator_options),
                }
                for campaign in (first, second)
            ],
            "reference": first.simulator,
            "weights": dict.fromkeys(MEASURES, 1.0),
        }
    )


def _maneuvers(spec: BuiltinCampaignSpec) -> List[Dict[str, Any]]:
    fast, half = spec.robot.max_linear_mps, spec.robot.max_linear_mps / 2
    turning = spec.robot.max_angular_radps / 2
    maneuvers: List[Dict[str, Any]] = [
        {"name": "rest"},
        {"name": "straight", "linear_mps": fast},
        {"name": "stop", "linear_mps": fast},
        {"name": "push", "linear_mps": half},
    ]
    steering = spec.robot.steering
    if steering is None:
        maneuvers.append({"name": "turn", "angular_radps": turning})
    else:
        turning = min(turning, half * math.tan(steering.max_rad) / steering.wheelbase_m / 2)
    maneuvers.append({"name": "circle", "linear_mps": half, "angular_radps": turning})
    return [{"duration_s": DURATION_S, **maneuver} for maneuver in maneuvers]
