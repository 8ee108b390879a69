"""Compare the physics of the simulators with exact values.

    python3 benchmarks/physics_closed_forms.py [--entry NAME ...]

The error of an engine's integrator (semi-implicit Euler adds g t dt/2 to a fall) is part of the
deviation. Each check runs in each simulator that is installed. The turn of a skid-steer robot is
measured at two physics steps; values that differ by more than 5 % are marked as not converged.
"""

import argparse
import math
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import physics_bodies as bodies
import physics_robots as robots
from physics_bodies import PhysicsResult, PhysicsSceneLoader

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.simulators import SIMULATORS, open_simulator, options_taken

ENTRIES = {
    "gazebo ode": ("gazebo", {"engine": "ode"}),
    "gazebo bullet": ("gazebo", {"engine": "bullet"}),
    "gazebo dart": ("gazebo", {"engine": "dart"}),
    "embedded": ("embedded", {}),
    "embedded, wheels": ("embedded", {"skid": "wheels"}),
    "pybullet": ("pybullet", {}),
    "kinematic": ("kinematic", {}),
}
WITHOUT_MASSES = {"kinematic": ("circle", "skid_turn", "imu_at_rest")}
"""Entries without masses, with the checks that they support."""
ACCURATE_ENTRIES = {"gazebo ode", "embedded", "embedded, wheels"}
"""Entries whose deviations are marked if they exceed the limit."""
MAX_DEVIATION = 0.02
"""Largest relative deviation that is not marked."""


@dataclass(frozen=True)
class PhysicsCheck:
    """A measurement with a known exact value. ``formula`` is the closed form. ``converges``
    requests a second run at another physics step."""

    name: str
    unit: str
    formula: str
    measure: Callable[[PhysicsSceneLoader], PhysicsResult]
    converges: bool = False


CHECKS = (
    PhysicsCheck("free_fall", "m", "g t²/2", bodies.free_fall),
    PhysicsCheck("rolling_ball", "m/s²", "5/7 g sin θ", bodies.rolling_ball),
    PhysicsCheck("stick", "m", "0", bodies.sticking_box),
    PhysicsCheck("slide", "m/s²", "g (sin θ - μ cos θ)", bodies.sliding_box),
    PhysicsCheck("sliding_stop", "m", "v²/(2 μ g)", bodies.stopping_box),
    PhysicsCheck("locked_wheels", "m", "v²/(2 μ g)", robots.locked_wheels),
    PhysicsCheck("circle", "m", "v/ω", robots.circle_radius),
    PhysicsCheck(
        "skid_turn",
        "rad/s",
        "motion of least friction power (Alexander, Maddocks 1989)",
        robots.skid_turn,
        converges=True,
    ),
    PhysicsCheck("pitch_on_step", "rad", "asin(h/L)", robots.pitch_on_step),
    PhysicsCheck("imu_at_rest", "m/s²", "g", robots.imu_at_rest),
    PhysicsCheck("imu_arm", "m/s²", "-ω² r", robots.imu_on_arm),
)

STEPS_S = (0.001, 0.005)
"""Physics steps (s): of all checks, and of the second run of checks of convergence."""

MAX_STEP_DIFFERENCE = 0.05
"""Largest relative difference of the values at two physics steps of a converged check."""


@dataclass(frozen=True)
class PhysicsCheckResult:
    """Result of a check for an entry at a physics step (s).

    ``value`` and ``exact`` are None if the check could not be executed; ``refusal`` then has the
    reason. ``other_value`` is the value at ``other_step_s``.
    """

    entry: str
    check: str
    unit: str
    step_s: float
    value: Optional[float] = None
    exact: Optional[float] = None
    scale: Optional[float] = None
    other_step_s: Optional[float] = None
    other_value: Optional[float] = None
    refusal: Optional[str] = None

    @property
    def deviation(self) -> Optional[float]:
        """(value - exact) divided by the exact value, or by the scale if that is specified."""
        if self.value is None or self.exact is None:
            return None
        return (self.value - self.exact) / (self.scale or abs(self.exact))

    @property
    def converged(self) -> Optional[bool]:
        """True if the values at both physics steps are close; None if there is one step only."""
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
    """Run the checks in a simulator with these options, and with ``step_s`` if the simulator has
    that option. ``entry`` is the name in the results."""
    results, reasons = _measure(simulator, options, checks, steps_s[0])
    converging = [check for check in checks if check.converges]
    others, _ = _measure(simulator, options, converging, steps_s[1]) if converging else ({}, {})
    return [
        PhysicsCheckResult(
            entry,
            check.name,
            check.unit,
            steps_s[0],
            other_step_s=steps_s[1] if check.name in others else None,
            other_value=others[check.name].value if check.name in others else None,
            refusal=reasons.get(check.name),
            **(results[check.name]._asdict() if check.name in results else {}),
        )
        for check in checks
    ]


def _measure(
    simulator: str, options: Mapping[str, Any], checks: Sequence[PhysicsCheck], step_s: float
) -> Tuple[Dict[str, PhysicsResult], Dict[str, str]]:
    """Return the results, and the reasons of failures, by name of the check."""
    all_options = dict(options)
    if "step_s" in options_taken(simulator):
        all_options["step_s"] = step_s
    results: Dict[str, PhysicsResult] = {}
    reasons: Dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, open_simulator(
        simulator, **all_options
    ) as opened:
        loader = PhysicsSceneLoader(opened, step_s, Path(folder))
        for check in checks:
            try:
                results[check.name] = check.measure(loader)
            except GzTestautoError as error:
                reasons[check.name] = str(error)
    return results, reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entry", action="append", choices=list(ENTRIES))
    arguments = parser.parse_args()
    for entry in arguments.entry or ENTRIES:
        for result in measure_entry(entry):
            print(f"{result.entry:18} {result.check:14} {format_result(result)}", flush=True)


def measure_entry(entry):
    """Return the results of all checks of an entry, or none if its simulator is not installed."""
    simulator, options = ENTRIES[entry]
    if simulator not in SIMULATORS.names():
        print(f"{entry}: the simulator {simulator!r} is not installed", file=sys.stderr)
        return []
    if options.get("engine") == "ode" and "engine" not in options_taken(simulator):
        options = {}
    supported = WITHOUT_MASSES.get(entry, [check.name for check in CHECKS])
    checks = [check for check in CHECKS if check.name in supported]
    try:
        return check_physics(entry, simulator, options, checks)
    except GzTestautoError as error:
        print(f"{entry}: {error}", file=sys.stderr)
        return []


def format_result(result):
    """Return the value, the exact value and the deviation of a result as text."""
    if result.value is None:
        return f"not measured: {result.refusal}"
    line = f"{result.value:9.4f} {result.exact:9.4f} {result.unit:6} {result.deviation:+7.2%}"
    if result.other_value is not None:
        line += f"  {result.other_value:.4f} at {1000 * result.other_step_s:g} ms"
        line += "" if result.converged else ", not converged"
    wrong = result.entry in ACCURATE_ENTRIES and abs(result.deviation) > MAX_DEVIATION
    return line + ("  <-- deviates" if wrong else "")


if __name__ == "__main__":
    main()
