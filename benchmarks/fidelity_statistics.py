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
"""Of the mean repetition: noise and bias in m/s², a gain and a delay of the yaw rate, a drift of
the heading in rad/s, and a factor on the load."""
TRUTH = 20_000
MADE_UP = {"imu", "odometry", "load"}
"""Channels of the synthetic recordings; measures that need others run only if specified."""
RECORDS_S = (8, 10, 20, 30, 60)
"""Lengths of records at rest."""
A_BLOCK = 25
"""Sets that a process makes at a time."""


def main():
    """Print a row for each measure."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--sets", type=int, default=1000)
    arguments.add_argument("--repetitions", type=int, default=5)
    arguments.add_argument("--cases", type=int, default=1)
    arguments.add_argument("--workers", type=int, default=2)
    askable = [name for name in MEASURES.names() if MADE_UP.issuperset(find_measure(name).needs)]
    arguments.add_argument("--measures", nargs="+", default=askable)
    arguments.add_argument("--noise-density", action="store_true")
    given = arguments.parse_args()
    if given.noise_density:
        print_noise_density(given.sets)
        return
    names = given.measures
    with ProcessPoolExecutor(given.workers) as pool:
        blocks = list(pool.map(truths, [(block, names) for block in range(TRUTH // 500)]))
        truth = {name: total(find_measure(name), blocks, name, given.cases) for name in names}
        jobs = [
            (first, min(first + A_BLOCK, given.sets), given.repetitions, given.cases, truth)
            for first in range(0, given.sets, A_BLOCK)
        ]
        counts = sum(pool.map(judged, jobs))
    print(f"{given.sets} sets of {given.cases} × {given.repetitions} repetitions")
    for name, (covered, tied) in zip(names, 100.0 * counts / given.sets):
        ties = "" if find_measure(name).between is None else f", ties {tied:.1f} %"
        print(f"{name}: intervals cover {covered:.1f} %{ties}")


def print_noise_density(sets):
    """Of records of white noise of 1 / √Hz, by their length."""
    random = np.random.default_rng(0)
    for length_s in RECORDS_S:
        records = np.sqrt(RATE_HZ) * random.standard_normal((sets, round(length_s * RATE_HZ)))
        found = np.array([noise_density(record, RATE_HZ) for record in records])
        near = 100.0 * np.mean(np.abs(found - 1.0) <= 0.1)
        print(f"{length_s} s: within 10 % in {near:.1f} %, mean {found.mean():.3f}")


def truths(job):
    """By measure the mean (2,) over 500 pairs or drives: numerator and denominator."""
    block, names = job
    random = np.random.default_rng([1, block])
    found = {name: np.zeros(2) for name in names}
    for _ in range(500):
        own, other = drive(random, OWN), drive(random, REFERENCE)
        for name in found:
            measure = find_measure(name)
            between = measure.between is not None
            found[name] += [measure.between(own, other), 1.0] if between else measure.own(own)
    forget()
    return {name: sums / 500 for name, sums in found.items()}


def total(measure, blocks, name, cases):
    """The true value over so many cases."""
    sums = np.sum([block[name] for block in blocks], axis=0)
    return sums[0] / sums[1] * (cases if measure.summed else 1)


def judged(job):
    """Of sets from ``first`` on, by measure, in how many (measures, 2) the interval covers and two
    of one process tie."""
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
        forget()
    return counts


def named(measure, drives):
    """Under names of cases that the measure is for: it may be for one terrain or drive."""
    names = (
        f"{measure.terrain or f'terrain_{number}'}/{measure.drive or f'drive_{number}'}"
        for number in range(len(drives))
    )
    if measure.terrain and measure.drive and len(drives) > 1:
        raise SystemExit(f"{measure.name} is for one case; --cases 1 is for it")
    return dict(zip(names, drives))


def drive(random, kind):
    """A drive that turns and shakes."""
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
    way = np.cumsum(speed * np.stack([np.cos(heading), np.sin(heading)]), axis=1) / RATE_HZ
    wall_s, cpu_s, memory = kind["slow"] * np.exp(0.2 * random.standard_normal(3))
    return RunRecording(
        "made up",
        imu=Series(time_s, values),
        odometry=Series(time_s, np.column_stack([*way, heading])),
        load=SimulatorCost(DURATION_S, wall_s, cpu_s, memory * 2**28),
    )


def forget():
    """Clear the caches of recordings that are not used again."""
    inertial.cache_clear()
    comparable.cache_clear()


if __name__ == "__main__":
    main()
