#!/usr/bin/env python3
"""Measure the errors of metrics that differentiate, on trajectories with values known on paper.

Circles, a clothoid and lines, at constant and at oscillating speeds from 0.1 to 5 m/s, sampled at 2
to 50 Hz; then with independent normal noise of 1 mm in positions and 1 mrad in the yaw, and of 1
mm/s and 1 mrad/s in velocities.

    python3 benchmarks/metrics_on_paper.py [--cells METRIC] [--seed 0]

Prints the error of largest magnitude over all speeds and rates, and in brackets at 10 Hz and more:
in percent of the exact value, or in the metric's unit if the exact value is 0 and for a logarithm,
a count and a time. With --cells it prints the errors of one metric at each speed and rate. A last
table has the errors of signals that are short compared with the sample period.

The exit status is 1 if an error without noise is above 1 % (0.02 of the logarithm, a reversal, a
sample period at each stop) and its cause is not in EXPLAINED. Takes half a minute on one core.
"""

import argparse
import math
import sys
from dataclasses import replace

import numpy as np
from scipy.integrate import quad

from gz_testauto.metrics.interface import METRICS, MetricContext
from gz_testauto.testing.analytic_drives import (
    constant,
    drive,
    rest_to_rest,
    there_and_back,
    with_noise,
)

SPEEDS_MPS = (0.1, 0.2, 0.5, 0.8, 1.0, 1.3, 1.9, 5.0)
RATES_HZ = (2, 5, 10, 20, 50)
SWING_S = 20.0
CLOTHOID_M, CLOTHOID_1PM = 20.0, 0.5
CLOTHOID = "clothoid"
MOTIONS = {
    "circle, 2 m": lambda v, rate: drive(constant(v), 8 * math.pi / v, rate, 0.5),
    "circle, 0.5 m": lambda v, rate: drive(constant(v), 8 * math.pi / v, rate, 2.0),
    "circle, 2 m, swinging": lambda v, rate: drive(
        rest_to_rest(v, SWING_S), 2 * SWING_S, rate, 0.5
    ),
    CLOTHOID: lambda v, rate: drive(
        constant(v), CLOTHOID_M / v, rate, 0.0, CLOTHOID_1PM / CLOTHOID_M
    ),
    "line, swinging": lambda v, rate: drive(rest_to_rest(v, SWING_S), 2 * SWING_S, rate),
    "line, there and back": lambda v, rate: drive(there_and_back(v, SWING_S), 2 * SWING_S, rate),
}
"""Functions that return the drive of each motion for a speed (m/s) and a sampling rate (Hz). For an
oscillating speed, the argument is its maximum."""

NAMES = (
    "curvature_mean_1pm",
    "curvature_max_1pm",
    "heading_change_radpm",
    "comfort_mps2",
    "jerk_rms_mps3",
    "log_dimensionless_jerk",
    "reversals",
    "standing_s",
    "distance_m",
)
ABSOLUTE = {"log_dimensionless_jerk": 0.02, "reversals": 0.0}
"""Largest errors of metrics whose errors are not in percent."""

STOPS = 4
"""Largest number of changes between driving and standing; each is accurate to one sample period."""

EXPLAINED = {
    ("curvature_max_1pm", CLOTHOID): (
        "a curvature is a mean over 0.2 m, or over the distance of two samples where that is "
        "longer, and the clothoid is sharpest at its very end"
    ),
    ("jerk_rms_mps3", CLOTHOID): "at 5 m/s and 2 Hz the integral is one of eight trapezoids",
    ("log_dimensionless_jerk", CLOTHOID): "as the jerk",
    **{
        ("distance_m", motion): "the formula of the paper adds chords"
        for motion in MOTIONS
        if not motion.startswith("line")
    },
}
SHORT_RATES_HZ = (1, 2, 5, 10, 20, 50)
STOP_AND_GO_S = 4.0
PASS_S, PASS_MPS, SAFETY_DISTANCE_M = 30.0, 1.0, 1.0
CLEARANCES_M = (0.02, 0.05, 0.1, 0.2)
PHASES = 21
"""Number of times of the first sample, within one sample period, of which errors are the worst."""
NOISES = {
    "noise of 1 mm and 1 mrad in poses": {},
    "that and 1 mm/s and 1 mrad/s in velocities": {"speed_mps": 1e-3, "turn_radps": 1e-3},
}


def main():
    """Measure and print all errors; return 1 if an error above its limit is not explained."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", choices=NAMES, help="print each cell of this metric")
    parser.add_argument("--seed", type=int, default=0, help="of the noise (default: 0)")
    arguments = parser.parse_args()
    broken = print_all("without noise", errors({}, None), arguments.cells)
    print("\nCauses of what is above 1 %")
    for name in NAMES:
        for cause in sorted({EXPLAINED[pair] for pair in EXPLAINED if pair[0] == name}):
            print(f"{name}: {cause}")
    for title, noise in NOISES.items():
        rng = np.random.default_rng(arguments.seed)
        print_all(title, errors(noise, rng), arguments.cells)
    print_short_signals()
    for name, motion in broken:
        print(f"UNEXPLAINED: {name}, {motion}", file=sys.stderr)
    sys.exit(1 if broken else 0)


def errors(noise, rng):
    """Return the error of each metric, motion, speed and rate as ``(value, whether it is in
    percent)``."""
    found = {}
    for motion, build in MOTIONS.items():
        for speed in SPEEDS_MPS:
            for rate in RATES_HZ:
                recording, exact = build(speed, rate)
                if rng is not None:
                    recording = with_noise(recording, rng, **noise)
                for name in NAMES:
                    value = METRICS.get(name).compute(recording, MetricContext())
                    found[name, motion, speed, rate] = error(name, value, exact[name])
    return found


def error(name, value, exact):
    """Return the error of a value: in percent, or absolute if the exact value is 0."""
    if name in ABSOLUTE or name == "standing_s" or abs(exact) < 1e-12:
        return value - exact, False
    return 100.0 * (value - exact) / exact, True


def print_all(title, found, cells):
    """Print the table; return the errors that are above their limits and not explained."""
    print(f"\n{title}\n")
    if cells:
        print_cells(found, cells)
        return []
    print("| metric | " + " | ".join(MOTIONS) + " |")
    print("|---|" + "---|" * len(MOTIONS))
    for name in NAMES:
        row = (largest(found, name, motion) for motion in MOTIONS)
        print(f"| `{name}` | " + " | ".join(row) + " |")
    above = [
        (name, motion)
        for name in NAMES
        for motion in MOTIONS
        if not all(
            kept(name, found[name, motion, speed, rate], rate)
            for speed in SPEEDS_MPS
            for rate in RATES_HZ
        )
    ]
    return [pair for pair in above if pair not in EXPLAINED]


def kept(name, one, rate):
    """Return whether an error is within its limit."""
    value, in_percent = one
    if math.isnan(value):  # no jerk, no logarithm
        return name == "log_dimensionless_jerk"
    if in_percent:
        return abs(value) <= 1.0
    if name == "standing_s":
        return abs(value) <= STOPS / rate
    return abs(value) <= ABSOLUTE.get(name, 1e-6)


def largest(found, name, motion):
    """Return the error of largest magnitude at all rates, and at 10 Hz and more, as text."""
    texts = []
    for least_hz in (0, 10):
        some = [
            found[name, motion, speed, rate]
            for speed in SPEEDS_MPS
            for rate in RATES_HZ
            if rate >= least_hz
        ]
        texts.append(shown(*max(some, key=lambda one: abs(one[0]))))
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} ({texts[1]})"


def shown(value, in_percent):
    """Return an error as text."""
    if math.isnan(value):
        return "none"
    if abs(value) < (0.005 if in_percent else 0.0005):
        return "0"
    return f"{value:+.2f} %" if in_percent else f"{value:+.3f}"


def print_short_signals():
    """Print the errors of ``comfort_mps2`` for a short stop-and-go, and of ``safety`` near a
    point."""
    print("\nshort signals\n")
    print("| metric and motion | " + " | ".join(f"{rate} Hz" for rate in SHORT_RATES_HZ) + " |")
    print("|---|" + "---|" * len(SHORT_RATES_HZ))
    row = []
    for rate in SHORT_RATES_HZ:
        recording, exact = drive(rest_to_rest(1.0, STOP_AND_GO_S), 10 * STOP_AND_GO_S, rate)
        value = METRICS.get("comfort_mps2").compute(recording, MetricContext())
        row.append(shown(*error("comfort_mps2", value, exact["comfort_mps2"])))
    print(f"| `comfort_mps2`, stop-and-go every {STOP_AND_GO_S:g} s | {' | '.join(row)} |")
    for clearance_m in CLEARANCES_M:
        row = (" to ".join(safety_errors(clearance_m, rate)) for rate in SHORT_RATES_HZ)
        print(f"| `safety`, a point at {clearance_m:g} m | {' | '.join(row)} |")


def safety_errors(clearance_m, rate):
    """Return the least and the greatest error of ``safety``, over the times of the first sample."""

    def distance_m(time_s):
        return np.hypot(PASS_MPS * (time_s - PASS_S / 2), clearance_m)

    def squared(time_s):
        return max(0.0, 1.0 / distance_m(time_s) - 1.0 / SAFETY_DISTANCE_M) ** 2

    middle, near = PASS_S / 2, clearance_m / PASS_MPS
    area = 2 * quad(squared, middle, middle + 1.0, points=[middle + near], limit=400)[0]
    found = []
    for phase in np.linspace(0.0, 1.0 / rate, PHASES):
        recording, _ = drive(constant(PASS_MPS), PASS_S - 1.0 / rate, rate)
        recording = replace(recording, clearance_m=distance_m(recording.time_s + phase))
        context = MetricContext(safety_distance_m=SAFETY_DISTANCE_M)
        value = METRICS.get("safety").compute(recording, context)
        found.append(error("safety", value, math.sqrt(area / recording.duration_s)))
    return [shown(*one) for one in (min(found), max(found))]


def print_cells(found, name):
    """Print each error of one metric, by speed and rate."""
    for motion in MOTIONS:
        print(f"| {motion} | " + " | ".join(f"{rate} Hz" for rate in RATES_HZ) + " |")
        print("|---|" + "---|" * len(RATES_HZ))
        for speed in SPEEDS_MPS:
            row = (shown(*found[name, motion, speed, rate]) for rate in RATES_HZ)
            print(f"| {speed:g} m/s | " + " | ".join(row) + " |")
        print()


if __name__ == "__main__":
    main()
