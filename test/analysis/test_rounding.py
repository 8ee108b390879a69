import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gz_testauto.analysis.paired_median import median_difference, sign_test
from gz_testauto.analysis.rounding import differences, mean, without_noise

GRID_S = st.integers(10, 900).map(lambda tenths: tenths / 10.0)
WORLDS = st.lists(
    st.tuples(st.lists(GRID_S, min_size=3, max_size=3), st.lists(GRID_S, min_size=3, max_size=3)),
    min_size=1,
    max_size=12,
)


def p_and_median(worlds):
    first, second = ([mean(world[side]) for world in worlds] for side in (0, 1))
    found = differences(first, second)
    return sign_test(found), median_difference(found)


@settings(max_examples=40)
@given(WORLDS, st.randoms(use_true_random=False))
def test_the_order_of_repetitions_changes_nothing(worlds, random):
    mixed = [[random.sample(side, len(side)) for side in world] for world in worlds]
    assert p_and_median(mixed)[0] == p_and_median(worlds)[0]


@settings(max_examples=40)
@given(WORLDS, st.integers(1, 10_000).map(lambda tenths: tenths / 10.0))
def test_a_constant_that_is_added_to_all_times_changes_nothing(worlds, constant):
    later = [[[value + constant for value in side] for side in world] for world in worlds]
    (p_value, center), (p_later, center_later) = p_and_median(worlds), p_and_median(later)
    assert p_later == p_value
    assert center_later[:3] == pytest.approx(center[:3], abs=1e-6, nan_ok=True)


def test_equal_mean_times_are_equal_however_they_are_summed():
    """The sum of c − 0.1, c and c + 0.1 is not 3c to the bit."""
    centers = [10.0 + 0.7 * world for world in range(30)]
    worlds = [([c - 0.1, c, c + 0.1], [c, c, c]) for c in centers]
    p_value, center = p_and_median(worlds)
    assert p_value == 1.0
    assert (center.value, center.has_interval) == (0.0, False)


def test_values_around_a_step_of_any_grid_stay_equal():
    step = 0.1 + 0.2  # 0.30000000000000004
    assert len(set(np.abs(without_noise([0.3, step, -0.3, -step])))) == 1


def test_real_differences_and_infinite_values_are_not_changed():
    values = np.array([0.0, 1e-3, -1e-3, 5.0, math.inf, -math.inf, math.nan])
    assert without_noise(values) == pytest.approx(values, nan_ok=True)
    assert without_noise([]).size == 0


def test_equal_infinite_values_do_not_differ():
    found = differences([math.inf, 1.0, math.nan], [math.inf, 3.0, 1.0])
    assert found[:2].tolist() == [0.0, -2.0]
    assert math.isnan(found[2])


def test_values_within_the_tolerance_of_zero_are_zero():
    assert without_noise([1e-12, -1e-12, 1.0]).tolist() == [0.0, 0.0, 1.0]
    assert not np.signbit(without_noise([-1e-12, 1.0])[0])


def test_the_mean_of_no_values_is_nan():
    assert math.isnan(mean([]))
