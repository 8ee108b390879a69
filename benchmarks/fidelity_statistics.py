#!/usr/bin/env python3
"""Measure the coverage of the intervals of measures, and how often two records of one process tie.

    python3 benchmarks/fidelity_statistics.py [--sets 1000] [--repetitions 5] [--cases 1]
        [--measures gain delay]
    python3 benchmarks/fidelity_statistics.py --noise-density

Noise, bias, delay, gain, path and load of synthetic recordings differ between repetitions. The true
value of a measure is its mean over 20,000 other recordings or pairs of recordings. The second
command compares the measured density of white noise with the true one, by the length of a record.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from gz_testauto.extras.simulator_comparison.estimates import measure_entry
from gz_testauto.extras.simulator_comparison.measures.inertial import comparable, inertial
from gz_testauto.extras.simulator_comparison.measures.interface import MEASURES, find_measure
from gz_testauto.extras.simulator_comparison.recordings.recording import (
    RunRecording,
    Series,
    SimulatorCost,
)
from gz_testauto.extras.simulator_comparison.signals import noise_density

RATE_HZ, DURATION_S = 100.0, 3.0
REFERENCE = {"noise": 0.2, "gain": 1.0, "delay_s": 0.0, "bias": 0.0, "turns": 0.0, "slow": 1.0}
OWN = {"noise": 0.3, "gain": 1.1, "delay_s": 0.1, "bias": 0.1, "turns": 0.05, "slow": 1.3}
"""Mean values of the repetitions of the compared entry: noise and bias in m/s², gain and delay of
the yaw rate, drift of the heading in rad/s, and a factor on the load."""
TRUTH = 20_000
SYNTHETIC_CHANNELS = {"imu", "odometry", "load"}
"""Channels of the synthetic recordings. Measures that need other channels run only if they are
specified."""
RECORDS_S = (8, 10, 20, 30, 60)
"""Durations (s) of the synthetic records at rest."""
SETS_PER_TASK = 25
"""Number of sets of recordings that a process generates in one task."""


def main():
    """Print a row for each measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--cases", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    measurable = [
        name for name in MEASURES.names() if SYNTHETIC_CHANNELS.issuperset(find_measure(name).needs)
    ]
    parser.add_argument("--measures", nargs="+", default=measurable)
    parser.add_argument("--noise-density", action="store_true")
    arguments = parser.parse_args()
    if arguments.noise_density:
        print_noise_density(arguments.sets)
        return
    names = arguments.measures
    with ProcessPoolExecutor(arguments.workers) as pool:
        blocks = list(pool.map(truths, [(block, names) for block in range(TRUTH // 500)]))
        truth = {name: total(find_measure(name), blocks, name, arguments.cases) for name in names}
        jobs = [
            (
                first,
                min(first + SETS_PER_TASK, arguments.sets),
                arguments.repetitions,
                arguments.cases,
                truth,
            )
            for first in range(0, arguments.sets, SETS_PER_TASK)
        ]
        counts = sum(pool.map(count_coverage, jobs))
    print(f"{arguments.sets} sets of {arguments.cases} × {arguments.repetitions} repetitions")
    for name, (covered, tied) in zip(names, 100.0 * counts / arguments.sets):
        ties = "" if find_measure(name).between is None else f", ties {tied:.1f} %"
        print(f"{name}: intervals cover {covered:.1f} %{ties}")


def print_noise_density(sets):
    """Print the accuracy of the measured density of white noise of 1 / √Hz, by the length of the
    record."""
    random = np.random.default_rng(0)
    for length_s in RECORDS_S:
        records = np.sqrt(RATE_HZ) * random.standard_normal((sets, round(length_s * RATE_HZ)))
        found = np.array([noise_density(record, RATE_HZ) for record in records])
        near = 100.0 * np.mean(np.abs(found - 1.0) <= 0.1)
        print(f"{length_s} s: within 10 % in {near:.1f} %, mean {found.mean():.3f}")


def truths(job):
    """Return by measure the mean numerator and denominator (2,) over 500 recordings or pairs of
    recordings."""
    block, names = job
    random = np.random.default_rng([1, block])
    found = {name: np.zeros(2) for name in names}
    for _ in range(500):
        own, other = drive(random, OWN), drive(random, REFERENCE)
        for name in found:
            measure = find_measure(name)
            between = measure.between is not None
            found[name] += [measure.between(own, other), 1.0] if between else measure.own(own)
    clear_caches()
    return {name: sums / 500 for name, sums in found.items()}


def total(measure, blocks, name, cases):
    """Return the true value of a measure over ``cases`` cases."""
    sums = np.sum([block[name] for block in blocks], axis=0)
    return sums[0] / sums[1] * (cases if measure.summed else 1)


def count_coverage(job):
    """Return by measure (measures, 2) in how many sets the interval contains the true value, and in
    how many two entries of one process tie. Sets are counted from ``first``."""
    first, last, repetitions, cases, truth = job
    counts = np.zeros((len(truth), 2))
    for number in range(first, last):
        random = np.random.default_rng([2, number])
        own, other, again = (
            [[drive(random, kind) for _ in range(repetitions)] for _ in range(cases)]
            for kind in (OWN, REFERENCE, REFERENCE)
        )
        for row, (name, value) in enumerate(truth.items()):
            measure = find_measure(name)
            one, reference, same = (named(measure, drives) for drives in (own, other, again))
            found = measure_entry(measure, "own", one, reference, number).estimate
            counts[row, 0] += found.low <= value <= found.high
            if measure.between is not None:
                counts[row, 1] += measure_entry(measure, "again", same, reference, number).ties
        clear_caches()
    return counts


def named(measure, drives):
    """Return recordings under names of cases with the terrain and maneuver of the measure."""
    names = (
        f"{measure.terrain or f'terrain_{number}'}/{measure.maneuver or f'maneuver_{number}'}"
        for number in range(len(drives))
    )
    if measure.terrain and measure.maneuver and len(drives) > 1:
        raise SystemExit(f"{measure.name} is for one case; --cases 1 is for it")
    return dict(zip(names, drives))


def drive(random, kind):
    """Return a synthetic recording of a robot that turns and vibrates."""
    time_s = np.arange(round(DURATION_S * RATE_HZ)) / RATE_HZ
    late = time_s - kind["delay_s"] - 0.02 * random.standard_normal()
    yaw_rate = kind["gain"] * (1 + 0.05 * random.standard_normal()) * 0.5 * np.sin(2.6 * late)
    noise = kind["noise"] * (1 + 0.1 * random.standard_normal())
    values = 0.01 * random.standard_normal((len(time_s), 6))
    values[:, 2] += yaw_rate
    values[:, 3:] += noise * random.standard_normal((len(time_s), 3))
    values[:, 3:] += 0.05 * random.standard_normal(3)
    values[:, 5] += 9.80665 + kind["bias"]
    heading = np.cumsum(yaw_rate + kind["turns"] + 0.03 * random.standard_normal()) / RATE_HZ
    speed = 0.5 * (1 + 0.05 * random.standard_normal())
    positions = np.cumsum(speed * np.stack([np.cos(heading), np.sin(heading)]), axis=1) / RATE_HZ
    wall_s, cpu_s, memory = kind["slow"] * np.exp(0.2 * random.standard_normal(3))
    return RunRecording(
        "made up",
        imu=Series(time_s, values),
        odometry=Series(time_s, np.column_stack([*positions, heading])),
        load=SimulatorCost(DURATION_S, wall_s, cpu_s, memory * 2**28),
    )


def clear_caches():
    """Clear the caches of recordings that are not used again."""
    inertial.cache_clear()
    comparable.cache_clear()


if __name__ == "__main__":
    main()
