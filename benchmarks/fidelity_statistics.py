#!/usr/bin/env python3
"""How often intervals cover, and how often two records of one process tie.

    python3 benchmarks/fidelity_statistics.py [--sets 1000] [--repetitions 5]

Synthetic drives whose noise differs from repetition to repetition; the true value of a measure is
its mean over 4,000 pairs that are drawn anew.
"""

import argparse

import numpy as np

from gz_testauto.fidelity.estimates import measure_entry
from gz_testauto.fidelity.measures.interface import measure_named
from gz_testauto.fidelity.recordings.recording import Recording, Series

RATE_HZ, DURATION_S = 100.0, 3.0
OWN_NOISE, OTHER_NOISE = 0.3, 0.2
"""m/s²"""
TRUTH_PAIRS = 4000
MEASURES = ("imu_linear_error", "vertical_wasserstein", "linear_bias", "vertical_spectrum")


def main():
    """Print a row for each measure."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--sets", type=int, default=1000)
    arguments.add_argument("--repetitions", type=int, default=5)
    given = arguments.parse_args()
    for name in MEASURES:
        covered, tied = judge(measure_named(name), given.sets, given.repetitions)
        print(f"{name}: intervals cover {100 * covered:.1f} %, ties {100 * tied:.1f} %")


def judge(measure, sets, repetitions):
    """Shares of sets in which the interval covers, and in which two of one process tie."""
    random = np.random.default_rng(1)
    truth = np.mean(
        [
            measure.between(drive(random, OWN_NOISE), drive(random, OTHER_NOISE))
            for _ in range(TRUTH_PAIRS)
        ]
    )
    covered = tied = 0
    for number in range(sets):
        random = np.random.default_rng([2, number])
        own = [drive(random, OWN_NOISE) for _ in range(repetitions)]
        other = [drive(random, OTHER_NOISE) for _ in range(repetitions)]
        again = [drive(random, OTHER_NOISE) for _ in range(repetitions)]
        found = measure_entry(measure, "own", {"case": own}, {"case": other}, number).estimate
        covered += found.low <= truth <= found.high
        tied += measure_entry(measure, "again", {"case": again}, {"case": other}, number).ties
    return covered / sets, tied / sets


def drive(random, noise):
    """A drive that turns and shakes."""
    time_s = np.arange(round(DURATION_S * RATE_HZ)) / RATE_HZ
    values = 0.01 * random.standard_normal((len(time_s), 6))
    values[:, 2] += 0.5 * np.sin(1.3 * time_s)
    values[:, 3:] += (
        noise * (1 + 0.1 * random.standard_normal()) * random.standard_normal((len(time_s), 3))
    )
    values[:, 5] += 9.80665
    return Recording("made up", imu=Series(time_s, values))


if __name__ == "__main__":
    main()
