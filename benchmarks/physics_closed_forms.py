#!/usr/bin/env python3
"""Compare the physics of the simulators with values known on paper.

    python3 benchmarks/physics_closed_forms.py [--entry NAME ...] [--json FILE] [--markdown]

Runs every check of gz_testauto.extras.simulator_comparison.physics for each entry whose simulator
is installed, and prints value, exact value and deviation. A skid-steer turn is measured at two
physics steps; values that differ by more than 5 % are marked as not converged.
"""

import argparse
import dataclasses
import json
import sys
import time

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.extras.simulator_comparison.physics.run import CHECKS, STEPS_S, check_physics
from gz_testauto.simulators import SIMULATORS, options_taken

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
"""Entries without masses, and the checks that they support."""
PROMISED = {"gazebo ode", "embedded", "embedded, wheels"}
WITHIN = 0.02


def main():
    """Measure and print; what is off although it is promised is marked."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--entry", action="append", choices=list(ENTRIES))
    arguments.add_argument("--json", help="write all outcomes to this file")
    arguments.add_argument("--markdown", action="store_true", help="print a table for docs/")
    given = arguments.parse_args()
    outcomes = []
    for entry in given.entry or ENTRIES:
        outcomes += measured(entry)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump([told(outcome) for outcome in outcomes], file, indent=1)
    print_table(outcomes) if given.markdown else print_all(outcomes)


def measured(entry):
    """The outcomes of an entry; none, with a line on stderr, where its simulator is not there."""
    simulator, options = ENTRIES[entry]
    if simulator not in SIMULATORS.names():
        print(f"{entry}: no simulator {simulator!r} here", file=sys.stderr)
        return []
    if options.get("engine") == "ode" and "engine" not in options_taken(simulator):
        options = {}
    asked = WITHOUT_MASSES.get(entry, [check.name for check in CHECKS])
    checks = [check for check in CHECKS if check.name in asked]
    start = time.process_time()
    try:
        outcomes = check_physics(entry, simulator, options, checks)
    except GzTestautoError as error:
        print(f"{entry}: {error}", file=sys.stderr)
        return []
    print(f"{entry}: {time.process_time() - start:.0f} s of CPU here", file=sys.stderr)
    return outcomes


def told(outcome):
    """All that is known of an outcome, for a program to read."""
    known = dataclasses.asdict(outcome)
    return {**known, "deviation": outcome.deviation, "converged": outcome.converged}


def print_all(outcomes):
    """A line for each outcome."""
    for outcome in outcomes:
        print(f"{outcome.entry:18} {outcome.check:14} {said(outcome)}")


def said(outcome):
    """Value, exact value and deviation, in words."""
    if outcome.value is None:
        return f"not measured: {outcome.refusal}"
    line = f"{outcome.value:9.4f} {outcome.exact:9.4f} {outcome.unit:6} {outcome.deviation:+7.2%}"
    if outcome.other_value is not None:
        line += f"  {outcome.other_value:.4f} at {1000 * outcome.other_step_s:g} ms"
        line += "" if outcome.converged else ", not converged"
    off = outcome.entry in PROMISED and abs(outcome.deviation) > WITHIN
    return line + ("  <-- off" if off else "")


def print_table(outcomes):
    """A row for each check, a column for each entry, as Markdown."""
    entries = list(dict.fromkeys(outcome.entry for outcome in outcomes))
    by = {(outcome.check, outcome.entry): outcome for outcome in outcomes}
    print("| | exact | " + " | ".join(entries) + " |")
    print("|---|--:|" + "--:|" * len(entries))
    for check in CHECKS:
        row = [by.get((check.name, entry)) for entry in entries]
        exact = next((o.exact for o in row if o and o.exact is not None), float("nan"))
        cells = [cell(outcome) for outcome in row]
        print(f"| {check.description} | {exact:.4f} {check.unit} | " + " | ".join(cells) + " |")


def cell(outcome):
    """Return the cell of the table for a result, if it exists."""
    if outcome is None or outcome.value is None:
        return "–" if outcome is None else "not measured"
    text = f"{outcome.value:.4f} ({outcome.deviation:+.1%})"
    if outcome.other_value is not None and not outcome.converged:
        text += f"; {outcome.other_value:.4f} at {1000 * STEPS_S[1]:g} ms: not converged"
    elif outcome.other_value is not None:
        text += f"; {outcome.other_value:.4f} at {1000 * STEPS_S[1]:g} ms"
    return text


if __name__ == "__main__":
    main()
