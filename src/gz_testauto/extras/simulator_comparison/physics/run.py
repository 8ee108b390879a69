"""Execution of the physics checks for one entry.

An entry that cannot execute a check is distinguished from one with a wrong result.
"""

import tempfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.extras.simulator_comparison.physics import (
    driving,
    falling,
    inertial,
    rolling,
    sliding,
    standing,
)
from gz_testauto.extras.simulator_comparison.physics.check import (
    PhysicsCheck,
    PhysicsCheckResult,
    PhysicsResult,
)
from gz_testauto.extras.simulator_comparison.physics.scenes import PhysicsSceneLoader
from gz_testauto.simulators import open_simulator, options_taken

CHECKS: Tuple[PhysicsCheck, ...] = (
    falling.FALL,
    rolling.ROLL,
    sliding.STICK,
    sliding.SLIDE,
    sliding.STOP,
    driving.LOCKED,
    driving.RADIUS,
    driving.SKID,
    standing.PITCH,
    inertial.REST,
    inertial.ARM,
)

STEPS_S = (0.001, 0.005)
"""Physics step of all checks, and a second one for checks of convergence."""


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
    outcomes = []
    for check in checks:
        finding, second = found.get(check.name), other.get(check.name)
        outcomes.append(
            PhysicsCheckResult(
                entry=entry,
                check=check.name,
                unit=check.unit,
                formula=check.formula,
                step_s=steps_s[0],
                value=finding.value if finding else None,
                exact=finding.exact if finding else None,
                scale=finding.scale if finding else None,
                other_step_s=steps_s[1] if second else None,
                other_value=second.value if second else None,
                refusal=why.get(check.name),
            )
        )
    return outcomes


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
