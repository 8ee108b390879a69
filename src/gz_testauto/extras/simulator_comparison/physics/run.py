"""Runs the checks of physics for one entry.

Owns which checks there are, and that an entry which cannot do one of them is told from one that
does it badly.
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
"""The physics step of all checks, and the other of those that are to show convergence."""


def check_physics(
    entry: str,
    simulator: str,
    options: Mapping[str, Any],
    checks: Sequence[PhysicsCheck] = CHECKS,
    steps_s: Tuple[float, float] = STEPS_S,
) -> List[PhysicsCheckResult]:
    """Measure in the simulator registered under a name, opened with these options, and with
    ``step_s`` where it takes that. ``entry`` is what it is called in the outcomes, which are in
    the order of the checks."""
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
    """Findings, and why there are none, by the names of checks."""
    given = dict(options)
    if "step_s" in options_taken(simulator):
        given["step_s"] = step_s
    found: Dict[str, PhysicsResult] = {}
    why: Dict[str, Optional[str]] = {}
    with tempfile.TemporaryDirectory() as folder, open_simulator(simulator, **given) as opened:
        loader = PhysicsSceneLoader(opened, step_s, Path(folder))
        for check in checks:
            try:
                found[check.name] = check.measure(loader)
            except GzTestautoError as error:
                why[check.name] = str(error)
    return found, why
