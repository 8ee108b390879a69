"""Confidence intervals of measures, and ties with the reference."""

import math

import numpy as np
import pytest
from synthetic import drive

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.simulator_comparison.estimates import measure_entry
from gz_testauto.extras.simulator_comparison.measures.interface import Measure, find_measure
from gz_testauto.extras.simulator_comparison.recordings.recording import RunRecording, Series

LINEAR = find_measure("imu_linear_error")


def of_level(level, source="made up"):
    """Return a recording with a constant value, for the measure :data:`LEVEL_APART`."""
    return RunRecording(source, imu=Series(np.arange(2.0), np.full((2, 6), float(level))))


LEVEL_APART = Measure(
    name="level_apart",
    unit="m",
    better="lower",
    description="distance of the levels",
    formula="|x - x_ref|",
    source="made up",
    needs=("imu",),
    between=lambda first, second: float(abs(first.imu.values[0, 0] - second.imu.values[0, 0])),
)


def levels(random, mean, count):
    return [of_level(value) for value in random.normal(mean, 1.0, count)]


def test_entry_with_one_repetition_per_case_does_not_tie():
    """With one repetition per case, no permutations exist for any number of cases."""
    cases = [f"flat/{number}" for number in range(8)]
    reference = {case: [of_level(0.0)] for case in cases}
    far_off = {case: [of_level(100.0)] for case in cases}
    found = measure_entry(LEVEL_APART, "far_off", far_off, reference)
    assert math.isnan(found.p_tie)
    assert not found.ties


def test_ties_are_tested_only_with_enough_permutations():
    """With two repetitions of both, there are 3 different permutations in one case and 9 in two,
    too few for a p-value of 5 %."""
    random = np.random.default_rng(0)

    def p_tie(*sizes):
        own = {f"{n}/x": levels(random, 50.0, size[0]) for n, size in enumerate(sizes)}
        reference = {f"{n}/x": levels(random, 0.0, size[1]) for n, size in enumerate(sizes)}
        return measure_entry(LEVEL_APART, "own", own, reference).p_tie

    assert math.isnan(p_tie((2, 2), (2, 2)))
    assert math.isnan(p_tie((2, 2), (1, 3)))
    assert p_tie((2, 2), (2, 2), (2, 2)) == pytest.approx(1 / 27, abs=0.02)


def test_reference_with_one_repetition_has_neither_a_noise_floor_nor_ties():
    """With a floor and ties, an entry would incorrectly seem to have no error."""
    random = np.random.default_rng(1)
    cases = ["a/x", "b/x", "c/x"]
    reference = {case: levels(random, 0.0, 1) for case in cases}
    own = {case: levels(random, 0.0, 5) for case in cases}
    found = measure_entry(LEVEL_APART, "own", own, reference)
    assert math.isnan(found.floor)
    assert not found.ties


def test_only_equal_entries_tie_with_the_reference():
    drives = {
        "real": [drive(seed, noise=0.3) for seed in range(5)],
        "alike": [drive(seed, noise=0.3) for seed in range(5, 10)],
        "loud": [drive(seed, noise=0.6) for seed in range(10, 15)],
    }
    reference = {"flat/weave": drives["real"]}
    found = {
        name: measure_entry(LINEAR, name, {"flat/weave": drives[name]}, reference)
        for name in ("alike", "loud")
    }
    assert found["alike"].ties
    assert not found["loud"].ties
    assert found["loud"].estimate.low > found["loud"].floor


@pytest.mark.slow
def test_recordings_of_one_process_tie_in_95_percent_of_sets():
    random = np.random.default_rng(2)
    sets = 400
    tied = sum(
        measure_entry(
            LEVEL_APART,
            "own",
            {"a/x": levels(random, 0.0, 5)},
            {"a/x": levels(random, 0.0, 5)},
            seed,
        ).ties
        for seed in range(sets)
    )
    # the first percentile of a binomial with 0.95 is 369
    assert tied >= 369


def test_entry_with_a_distance_below_the_floor_ties():
    """The permutation test finds the smaller variance of the entry, but the distance is below the
    floor."""
    random = np.random.default_rng(4)
    reference = {"a/x": levels(random, 0.0, 10)}
    middle = {"a/x": [of_level(np.mean([r.imu.values[0, 0] for r in reference["a/x"]]))] * 10}
    found = measure_entry(LEVEL_APART, "own", middle, reference)
    assert found.p_tie < 0.05
    assert found.estimate.value < found.floor
    assert found.ties


def test_case_with_few_repetitions_does_not_widen_the_interval():
    """With cases of 20 and 2 repetitions of one process, the interval is that of 22 repetitions,
    approximately 2.1 / sqrt(22)."""
    random = np.random.default_rng(3)
    level = Measure("level", "d", "f", "s", ("imu",), own=lambda r: (r.imu.values[0, 0], 1.0))
    own = {"a/x": levels(random, 0.0, 20), "b/x": levels(random, 0.0, 2)}
    estimate = measure_entry(level, "own", own, None).estimate
    assert (estimate.high - estimate.low) / 2.0 == pytest.approx(2.1 / np.sqrt(22), rel=0.4)


def test_measure_between_recordings_must_be_a_distance():
    with pytest.raises(SpecError, match=r"likeness: 'better' must be 'lower'"):
        Measure("likeness", "d", "f", "s", ("imu",), better="higher", between=lambda a, b: 1.0)
