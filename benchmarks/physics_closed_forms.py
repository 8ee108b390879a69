#!/usr/bin/env python3
"""Compare the physics of the simulators with exact values.

    python3 benchmarks/physics_closed_forms.py [--entry NAME ...] [--json FILE] [--markdown]

A check measures one number in scenes of its own and compares it with the exact value. The error of
an engine's integrator (semi-implicit Euler adds g t dt/2 to a fall) is part of the deviation. Each
check runs in each simulator that is installed. The turn of a skid-steer robot is measured at two
physics steps; values that differ by more than 5 % are marked as not converged.
"""

import argparse
import dataclasses
import json
import math
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import physics_bodies
import physics_robots
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
    """A measurement with a known exact value. ``formula`` is the closed form, with its source
    unless it is elementary. ``converges`` requests a second run at another physics step."""

    name: str
    description: str
    unit: str
    formula: str
    measure: Callable[[PhysicsSceneLoader], PhysicsResult]
    converges: bool = False


CHECKS = (
    PhysicsCheck(
        "free_fall", "distance that a box falls in 0.7 s", "m", "g t²/2", physics_bodies.free_fall
    ),
    PhysicsCheck(
        "rolling_ball",
        "a ball on a slope of 10°",
        "m/s²",
        "5/7 g sin θ",
        physics_bodies.rolling_ball,
    ),
    PhysicsCheck(
        "stick",
        "a box on a slope 5° below atan μ, creep in 1 s",
        "m",
        "0",
        physics_bodies.sticking_box,
    ),
    PhysicsCheck(
        "slide",
        "a box on a slope 5° above atan μ",
        "m/s²",
        "g (sin θ - μ cos θ)",
        physics_bodies.sliding_box,
    ),
    PhysicsCheck(
        "sliding_stop",
        "a box that slides at 2 m/s stops",
        "m",
        "v²/(2 μ g)",
        physics_bodies.stopping_box,
    ),
    PhysicsCheck(
        "locked_wheels",
        "a Husky at 1 m/s stops on μ = 0.5",
        "m",
        "v²/(2 μ g)",
        physics_robots.locked_wheels,
    ),
    PhysicsCheck(
        "circle",
        "a differential drive at 0.5 m/s and 0.5 rad/s",
        "m",
        "v/ω",
        physics_robots.circle_radius,
    ),
    PhysicsCheck(
        "skid_turn",
        "a Husky commanded to turn on the spot at 0.5 rad/s, μ = 1",
        "rad/s",
        "motion of least friction power (Alexander, Maddocks 1989)",
        physics_robots.skid_turn,
        converges=True,
    ),
    PhysicsCheck(
        "pitch_on_step",
        "a Husky with its front axle on a step of 76 mm",
        "rad",
        "asin(h/L)",
        physics_robots.pitch_on_step,
    ),
    PhysicsCheck(
        "imu_at_rest",
        "acceleration of a robot's IMU at rest",
        "m/s²",
        "g",
        physics_robots.imu_at_rest,
    ),
    PhysicsCheck(
        "imu_arm",
        "an IMU 0.5 m from the axis, at 2 rad/s",
        "m/s²",
        "-ω² r",
        physics_robots.imu_on_arm,
    ),
)

STEPS_S = (0.001, 0.005)
"""Physics steps (s): of all checks, and of the second run of checks of convergence."""

MAX_STEP_DIFFERENCE = 0.05
"""Largest difference of the values at two physics steps, as a share of the larger one, at which a
check counts as converged."""


@dataclass(frozen=True)
class PhysicsCheckResult:
    """Result of a check for an entry at a physics step (s).

    ``value`` and ``exact`` have the unit ``unit``. Both are None if the check could not be
    executed; ``refusal`` then has the reason. ``other_value`` is the value at ``other_step_s``, if
    the check requests a second step.
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
        """(value - exact) divided by the exact value, or by the scale if that is specified. None
        without a value."""
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
    that option. ``entry`` is the name in the results. The results have the order of the checks."""
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
    """Return the results by name of the check, and the reasons of checks that could not be
    executed."""
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


def main():
    """Measure all selected entries and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entry", action="append", choices=list(ENTRIES))
    parser.add_argument("--json", help="write all results to this file")
    parser.add_argument("--markdown", action="store_true", help="print a table for docs/")
    arguments = parser.parse_args()
    results = []
    for entry in arguments.entry or ENTRIES:
        results += measure_entry(entry)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump([as_dictionary(result) for result in results], file, indent=1)
    print_markdown(results) if arguments.markdown else print_results(results)


def measure_entry(entry):
    """Return the results of all checks of an entry; none if its simulator is not installed, which
    is printed to standard error."""
    simulator, options = ENTRIES[entry]
    if simulator not in SIMULATORS.names():
        print(f"{entry}: the simulator {simulator!r} is not installed", file=sys.stderr)
        return []
    if options.get("engine") == "ode" and "engine" not in options_taken(simulator):
        options = {}
    supported = WITHOUT_MASSES.get(entry, [check.name for check in CHECKS])
    checks = [check for check in CHECKS if check.name in supported]
    start = time.process_time()
    try:
        results = check_physics(entry, simulator, options, checks)
    except GzTestautoError as error:
        print(f"{entry}: {error}", file=sys.stderr)
        return []
    cpu_s = time.process_time() - start
    print(f"{entry}: {cpu_s:.0f} s of CPU time in this process", file=sys.stderr)
    return results


def as_dictionary(result):
    """Return all fields of a result with its deviation and convergence, for JSON."""
    fields = dataclasses.asdict(result)
    return {**fields, "deviation": result.deviation, "converged": result.converged}


def print_results(results):
    """Print one line for each result."""
    for result in results:
        print(f"{result.entry:18} {result.check:14} {format_result(result)}")


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


def print_markdown(results):
    """Print a Markdown table with a row for each check and a column for each entry."""
    entries = list(dict.fromkeys(result.entry for result in results))
    by_name = {(result.check, result.entry): result for result in results}
    print("| | exact | " + " | ".join(entries) + " |")
    print("|---|--:|" + "--:|" * len(entries))
    for check in CHECKS:
        row = [by_name.get((check.name, entry)) for entry in entries]
        exact = next((o.exact for o in row if o and o.exact is not None), float("nan"))
        cells = " | ".join(map(format_cell, row))
        print(f"| {check.description} | {exact:.4f} {check.unit} | {cells} |")


def format_cell(result):
    """Return the text of a table cell for a result, a dash if the check was not executed."""
    if result is None or result.value is None:
        return "–" if result is None else "not measured"
    text = f"{result.value:.4f} ({result.deviation:+.1%})"
    if result.other_value is not None:
        text += f"; {result.other_value:.4f} at {1000 * STEPS_S[1]:g} ms"
        text += "" if result.converged else ": not converged"
    return text


if __name__ == "__main__":
    main()
