import numpy as np
import pytest
from scipy import stats

from gz_testauto.sampling.seeds import (
    CONTROL_SAMPLE,
    SCENARIO,
    TRIAL,
    WORLD,
    child_generator,
    child_seed,
)
from gz_testauto.sampling.sequences import UnitSequence
from gz_testauto.spec.obstacles import SamplingSpec

METHODS = ("uniform", "lhs", "sobol")


def points(method, count, seed=3, dimensions=5, block=20):
    sequence = UnitSequence(SamplingSpec(method=method, block=block), dimensions, seed)
    return np.array([sequence.point(index) for index in range(count)])


def test_child_generators_of_other_paths_and_seeds_are_different():
    paths = [(), ("world", 0), ("world", 1), ("trial", 0), ("world", 0, "first"), (0,)]
    first = {child_generator(0, *path).random() for path in paths}
    first |= {child_generator(1, *path).random() for path in paths}
    assert len(first) == 12


def test_child_generators_of_the_same_path_give_the_same_numbers():
    one, other = child_generator(0, "world", 5), child_generator(0, "world", 5)
    assert np.array_equal(one.random(10), other.random(10))


def test_the_seed_of_a_scenario_never_changes():
    """Worlds of a scenario are generated again from their seed."""
    assert child_seed(7, SCENARIO) == 1041900023


def test_random_numbers_are_those_of_version_0_1_0():
    """Campaigns of that version can be continued, with the same worlds."""
    assert child_generator(7, WORLD, 3).integers(1000, size=4).tolist() == [436, 61, 237, 253]
    assert [child_seed(7, TRIAL, 3, 1), child_seed(1, TRIAL, 499, 0)] == [200369258, 2066977727]
    assert child_generator(7, CONTROL_SAMPLE).permutation(12).tolist() == [
        6,
        11,
        1,
        0,
        2,
        7,
        8,
        10,
        3,
        4,
        9,
        5,
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"), [((0, "world", -1), "must be >= 0, not -1"), ((-1,), "negative")]
)
def test_a_negative_seed_or_index_is_rejected(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        child_generator(*arguments)


@pytest.mark.parametrize("method", METHODS)
def test_random_numbers_of_a_world_depend_only_on_seed_and_index(method):
    forwards = points(method, 300)
    sequence = UnitSequence(SamplingSpec(method=method, block=20), 5, 3)
    for index in (299, 0, 257, 19, 20):
        assert np.array_equal(sequence.point(index), forwards[index])
    assert not np.array_equal(points(method, 5, seed=4), forwards[:5])


@pytest.mark.parametrize("method", METHODS)
def test_points_are_uniform_in_the_unit_cube(method):
    drawn = points(method, 400)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    for column in drawn.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-4


def test_latin_hypercube_has_one_point_per_layer_in_every_block():
    for block in points("lhs", 60).reshape(3, 20, 5):
        for column in block.T:
            assert sorted((column * 20).astype(int)) == list(range(20))


def test_sobol_sequence_has_one_point_per_dyadic_layer():
    for column in points("sobol", 256).T:
        assert sorted((column * 256).astype(int)) == list(range(256))


def test_stratified_points_cover_better_than_independent_ones():
    for method in ("lhs", "sobol"):
        sequence = UnitSequence(SamplingSpec(method=method, block=128), 5, 3)
        coverage = sequence.coverage(128)
        assert coverage.discrepancy < 0.5 * coverage.independent


def test_independent_points_have_the_expected_discrepancy():
    found = [UnitSequence(SamplingSpec(), 6, seed).coverage(64) for seed in range(60)]
    mean = np.mean([coverage.discrepancy for coverage in found])
    assert mean == pytest.approx(found[0].independent, rel=0.1)


def test_two_blocks_of_a_sobol_sequence_have_one_point_per_finer_layer():
    for column in points("sobol", 512, dimensions=2).T:
        assert sorted((column * 512).astype(int)) == list(range(512))


def test_blocks_of_a_latin_hypercube_differ():
    drawn = points("lhs", 40)
    assert not np.array_equal(drawn[:20], drawn[20:])
    assert len(np.unique(drawn[:, 0])) == 40


@pytest.mark.parametrize(("dimensions", "expected"), [(1, 1 / 6), (2, 7 / 18), (5, 7 / 18)])
def test_independent_points_have_a_known_mean_discrepancy(dimensions, expected):
    # Hickernell 1998: (5/4)^d - (13/12)^d over the number of points, d at most 2
    coverage = UnitSequence(SamplingSpec(), dimensions, 3).coverage(10)
    assert coverage.independent == pytest.approx(expected / 10)


def test_coverage_is_the_mean_over_neighboring_dimensions():
    sequence = UnitSequence(SamplingSpec(), 3, 3)
    drawn = points("uniform", 16, dimensions=3)
    pairs = [stats.qmc.discrepancy(drawn[:, d : d + 2], method="CD") for d in (0, 1)]
    assert sequence.coverage(16).discrepancy == pytest.approx(np.mean(pairs))
