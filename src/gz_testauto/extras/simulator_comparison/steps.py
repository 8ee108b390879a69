"""Physics steps of simulators in a comparison, which must divide the period of the IMU samples."""

import math
from typing import Any, Mapping, Optional

from gz_testauto.simulators import SIMULATORS, chosen_simulator, options_taken

SAMPLE_S = 0.01  # period over which an IMU sample is averaged

REMEDIES_S = (0.01, 0.005, 0.0025, 0.002, 0.00125, 0.001, 0.0005, 0.00025, 0.0002, 0.0001)
"""Suggested physics steps. Half of each one is also valid."""


def takes_step(simulator: str) -> bool:
    return "step_s" in options_taken(simulator)


def simulator_fault(simulator: str) -> Optional[str]:
    """Return why a simulator cannot be sampled at exact times, as the end of a sentence, or None if
    it can."""
    if SIMULATORS.get(chosen_simulator(simulator)).steps_exactly:
        return None
    return (
        f"cannot be stepped by exactly {SAMPLE_S:g} s (its steps_exactly is False), so its samples "
        "and commands would not be at the same times; use another simulator (gazebo for the same "
        "Gazebo), or record its runs and specify them as recording"
    )


def physics_step_s(simulator: str, options: Mapping[str, Any], world_step_s: float) -> float:
    if not takes_step(simulator):
        return world_step_s
    return float(options.get("step_s", options_taken(simulator)["step_s"].default))


def step_fault(step_s: float) -> Optional[str]:
    """Return the error of a physics step that does not divide the period of IMU samples, as the end
    of a sentence, or None."""
    count = round(SAMPLE_S / step_s)
    if count >= 1 and math.isclose(count * step_s, SAMPLE_S, rel_tol=1e-9):
        return None
    below = max((remedy for remedy in REMEDIES_S if remedy < step_s), default=min(REMEDIES_S))
    above = min((remedy for remedy in REMEDIES_S if remedy > step_s), default=max(REMEDIES_S))
    near = " or ".join(f"{remedy:g}" for remedy in sorted({below, above}))
    return (
        f"is {step_s:g} s, which does not divide {SAMPLE_S:g} s, the period of the averaged IMU "
        f"samples; use {near}"
    )
