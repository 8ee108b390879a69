"""Physics steps, and the period of the IMU's samples, which they must divide.

Owns which step an entry's simulator takes: by its option ``step_s`` where it has one, else that of
the worlds, which a bench gives.
"""

import math
from typing import Any, Mapping, Optional

from gz_testauto.simulators import SIMULATORS, chosen_simulator, options_taken

SAMPLE_S = 0.01
"""Over which an IMU's sample is the mean."""

REMEDIES_S = (0.01, 0.005, 0.0025, 0.002, 0.00125, 0.001, 0.0005, 0.00025, 0.0002, 0.0001)
"""Steps that divide :data:`SAMPLE_S`, of which an error names those next to what was given. Half of
a step that divides it does so too."""


def takes_step(simulator: str) -> bool:
    """Whether a simulator takes its physics step as an option."""
    return "step_s" in options_taken(simulator)


def simulator_fault(simulator: str) -> Optional[str]:
    """Why a simulator cannot be sampled, to be said behind its name; None where it can."""
    if SIMULATORS.get(chosen_simulator(simulator)).steps_exactly:
        return None
    return (
        f"cannot be stepped by exactly {SAMPLE_S:g} s (its steps_exactly is False), so its samples "
        "and commands would be at other times than the others'; drive another simulator (gazebo "
        "for the same Gazebo), or record the drives and give them as recording"
    )


def physics_step_s(simulator: str, options: Mapping[str, Any], world_step_s: float) -> float:
    """The physics step of a simulator that is opened with these options and loads a world with
    such a step."""
    if not takes_step(simulator):
        return world_step_s
    return float(options.get("step_s", options_taken(simulator)["step_s"].default))


def divides_sample(step_s: float) -> bool:
    """Whether a sample of the IMU is of a whole number of physics steps, one or more."""
    count = round(SAMPLE_S / step_s)
    return count >= 1 and math.isclose(count * step_s, SAMPLE_S, rel_tol=1e-9)


def step_fault(step_s: float) -> Optional[str]:
    """What is wrong with a physics step, to be said behind its name; None where nothing is."""
    if divides_sample(step_s):
        return None
    below = max((one for one in REMEDIES_S if one < step_s), default=min(REMEDIES_S))
    above = min((one for one in REMEDIES_S if one > step_s), default=max(REMEDIES_S))
    near = " or ".join(f"{one:g}" for one in sorted({below, above}))
    return (
        f"is {step_s:g} s, which does not divide {SAMPLE_S:g} s, over which samples of the IMU are "
        f"averaged; give {near}"
    )
