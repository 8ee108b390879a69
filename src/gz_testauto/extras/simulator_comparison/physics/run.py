"""Checks of a simulator's physics against exact values, and their execution.

A check measures one number in its own scenes and compares it with the exact value. The error of an
engine's integrator (semi-implicit Euler adds g t dt/2 to a fall) is part of the deviation. An entry
that cannot execute a check is distinguished from one with a wrong result.
"""

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.extras.simulator_comparison.physics import bodies, robots
from gz_testauto.extras.simulator_comparison.physics.scenes import (
    PhysicsResult,
    PhysicsSceneLoader,
)
from gz_testauto.simulators import open_simulator, options_taken


@dataclass(frozen=True)
class PhysicsCheck:
    """One measurement. ``formula`` is the closed form, with its source unless it is elementary.
    ``converges`` requests a second run at another physics step."""

    name: str
    description: str
    unit: str
    formula: str
    measure: Callable[[PhysicsSceneLoader], PhysicsResult]
    converges: bool = False


CHECKS = (
    PhysicsCheck(
        "free_fall", "distance that a box falls in 0.7 s", "m", "g t²/2", bodies.free_fall
    ),
    PhysicsCheck(
        "rolling_ball", "a ball on a slope of 10°", "m/s²", "5/7 g sin θ", bodies.rolling_ball
    ),
    PhysicsCheck(
        "stick", "a box on a slope 5° below atan μ, creep in 1 s", "m", "0", bodies.sticking_box
    ),
    PhysicsCheck(
        "slide",
        "a box on a slope 5° above atan μ",
        "m/s²",
        "g (sin θ - μ cos θ)",
        bodies.sliding_box,
    ),
    PhysicsCheck(
        "sliding_stop", "a box that slides at 2 m/s stops", "m", "v²/(2 μ g)", bodies.stopping_box
    ),
    PhysicsCheck(
        "locked_wheels",
        "a Husky at 1 m/s stops on μ = 0.5",
        "m",
        "v²/(2 μ g)",
        robots.locked_wheels,
    ),
    PhysicsCheck(
        "circle", "a differential drive at 0.5 m/s and 0.5 rad/s", "m", "v/ω", robots.circle_radius
    ),
    PhysicsCheck(
        "skid_turn",
        "a Husky commanded to turn on the spot at 0.5 rad/s, μ = 1",
        "rad/s",
        "motion of least friction power (Alexander, Maddocks 1989)",
        robots.skid_turn,
        converges=True,
    ),
    PhysicsCheck(
        "pitch_on_step",
        "a Husky with its front axle on a step of 76 mm",
        "rad",
        "asin(h/L)",
        robots.pitch_on_step,
    ),
    PhysicsCheck(
        "imu_at_rest", "acceleration of a robot's IMU at rest", "m/s²", "g", robots.imu_at_rest
    ),
    PhysicsCheck(
        "imu_arm", "an IMU 0.5 m from the axis, at 2 rad/s", "m/s²", "-ω² r", robots.imu_on_arm
    ),
)

STEPS_S = (0.001, 0.005)
"""Physics step of all checks, and a second one for checks of convergence."""


MAX_STEP_DIFFERENCE = 0.05
"""Largest difference between values at two physics steps that count as converged, as a share of the
larger value."""


@dataclass(frozen=True)
class PhysicsCheckResult:
    """Result of a check for an entry at a physics step (s).

    ``value`` and ``exact`` are in ``unit``; both are None if ``refusal`` has a reason why nothing
    was measured. ``other_value`` is the value at ``other_step_s``, for checks that request it.
    """

    entry: str
    check: str
    unit: str
    formula: str
    step_s: float
    value: Optional[float] = None
    exact: Optional[float] = None
    scale: Optional[float] = None
    other_step_s: Optional[float] = None
    other_value: Optional[float] = None
    refusal: Optional[str] = None

    @property
    def deviation(self) -> Optional[float]:
        """(value - exact) divided by the exact value, or by the scale; None without a value."""
        if self.value is None or self.exact is None:
            return None
        return (self.value - self.exact) / (self.scale or abs(self.exact))

    @property
    def converged(self) -> Optional[bool]:
        """True if the values at two steps agree; None with one step only."""
        if self.value is None or self.other_value is None:
            return None
        return math.isclose(self.value, self.other_value, rel_tol=MAX_STEP_DIFFERENCE)


def check_physics(
    entry: str,
    simulator: str,
    options: Mapping[str, Any],
    checks: Sequence[PhysicsCheck] = CHECKS,
    steps_s: Tuple[float, float] = STEPS_S,
) -> List[PhysicsCheckResult]:
    """Run the checks in a registered simulator with these options, and with ``step_s`` if it has
    that option. ``entry`` is its name in the results, which are in the order of the checks."""
    found, why = _measure(simulator, options, checks, steps_s[0])
    again = [check for check in checks if check.converges]
    other, _ = _measure(simulator, options, again, steps_s[1]) if again else ({}, {})
    results = []
    for check in checks:
        first, second = found.get(check.name), other.get(check.name)
        results.append(
            PhysicsCheckResult(
                entry,
                check.name,
                check.unit,
                check.formula,
                steps_s[0],
                other_step_s=steps_s[1] if second else None,
                other_value=second.value if second else None,
                refusal=why.get(check.name),
                **(first._asdict() if first else {}),
            )
        )
    return results


def _measure(
    simulator: str, options: Mapping[str, Any], checks: Sequence[PhysicsCheck], step_s: float
) -> Tuple[Dict[str, PhysicsResult], Dict[str, Optional[str]]]:
    """Return results, and reasons for missing ones, by name of the check."""
    all_options = dict(options)
    if "step_s" in options_taken(simulator):
        all_options["step_s"] = step_s
    found: Dict[str, PhysicsResult] = {}
    why: Dict[str, Optional[str]] = {}
    with tempfile.TemporaryDirectory() as folder, open_simulator(
        simulator, **all_options
    ) as opened:
        loader = PhysicsSceneLoader(opened, step_s, Path(folder))
        for check in checks:
            try:
                found[check.name] = check.measure(loader)
            except GzTestautoError as error:
                why[check.name] = str(error)
    return found, why
