"""The decision of a campaign that ends early, against the bets written out one by one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gz_testauto.analysis.early_stop import DecisionScreen, decide
from gz_testauto.spec.campaign import StopSpec

SHARES = st.sampled_from([0.0, 0.5, 1.0])
WORLDS = st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=15)
NAMES = [f"w{index}" for index in range(300)]


def capitals(values, mean):
    """Return the largest capitals so far of one unit on either side, spread over 64 bets."""
    up, down = np.ones(64), np.ones(64)
    shares = np.sin((np.arange(64) + 0.5) * math.pi / 128.0)
    largest = [1.0, 1.0]
    for value in values:
        up *= 1.0 + shares * (value - mean) / (mean + 1.0)
        down *= 1.0 - shares * (value - mean) / (1.0 - mean)
        largest = [max(largest[0], up.mean()), max(largest[1], down.mean())]
    return largest


def decision(worlds, **rule):
    rates = {
        name: dict(zip(NAMES, (world[side] for world in worlds)))
        for side, name in enumerate(("a", "b"))
    }
    (found,) = decide(StopSpec(when="decided", **rule), ("a", "b"), NAMES[: len(worlds)], rates)
    return found


@pytest.mark.slow
@settings(max_examples=15)
@given(WORLDS)
def test_the_p_value_is_two_over_the_largest_capital_so_far(worlds):
    values = [first - second for first, second in worlds]
    largest = max(capitals(values, 0.0))
    assert decision(worlds).p_value == pytest.approx(min(1.0, 2.0 / largest), rel=1e-9)


@pytest.mark.slow
@settings(max_examples=25)
@given(WORLDS)
def test_the_interval_is_where_no_capital_ever_reached_its_limit(worlds):
    values = [first - second for first, second in worlds]
    found = decision(worlds, alpha=0.1)
    for end, outside in ((found.difference.low, -1e-6), (found.difference.high, 1e-6)):
        if abs(end) < 1.0 - 1e-5:
            assert max(capitals(values, end + outside)) > 20.0
            assert max(capitals(values, end - outside)) < 20.0


@pytest.mark.parametrize(("worlds", "better"), [([(1.0, 0.0)] * 12, "a"), ([(0.0, 1.0)] * 12, "b")])
def test_a_planner_that_wins_each_world_is_better(worlds, better):
    found = decision(worlds)
    assert (found.better, found.decided) == (better, True)


def test_the_side_that_decided_first_remains_the_better_one():
    """The mean of all worlds can later have the other sign."""
    found = decision([(1.0, 0.0)] * 12 + [(0.0, 1.0)] * 13)
    assert found.difference.value < 0.0
    assert found.better == "a"


@pytest.mark.parametrize("baseline", ["", "a"])
@pytest.mark.parametrize("margin", [None, 0.2])
@pytest.mark.parametrize("chances", [(0.9, 0.5, 0.3), (0.3, 0.6, 0.95), (0.99, 0.99, 0.97)])
def test_the_screen_agrees_with_the_decision_after_each_world(chances, margin, baseline):
    rule = StopSpec(when="decided", equivalence_margin=margin, baseline=baseline)
    generator = np.random.default_rng(3)
    rates = {
        planner: dict(zip(NAMES, (generator.uniform(size=120) < chance).astype(float)))
        for planner, chance in zip("abc", chances)
    }
    screen = DecisionScreen(rule, "abc")
    for count, world in enumerate(NAMES[:120], start=1):
        screen.add(world, rates)
        if count % 6 == 0:
            pairs = decide(rule, "abc", NAMES[:count], rates)
            assert screen.can_be_decided == all(pair.decided for pair in pairs)


@pytest.mark.parametrize("worlds", [[(1.0, 1.0)] * 200, [(0.0, 0.0)] * 200, [(1.0, 0.0)], []])
def test_equal_planners_one_world_and_none_decide_nothing(worlds):
    found = decision(worlds)
    assert (found.better, found.decided) == ("", False)
    assert 0.05 <= found.p_value <= 1.0


def test_a_difference_within_the_equivalence_margin_is_a_decision():
    found = decision([(1.0, 1.0)] * 200, equivalence_margin=0.1)
    assert (found.better, found.negligible, found.decided) == ("", True, True)


@pytest.mark.slow
def test_equal_planners_rarely_differ_significantly_at_any_number_of_worlds():
    generator = np.random.default_rng(11)
    wrong = 0
    for _ in range(100):
        hard = generator.uniform(size=60)
        ended = generator.uniform(size=(60, 2)) < np.column_stack([hard, hard])
        wrong += decision([tuple(map(float, world)) for world in ended]).p_value <= 0.05
    assert wrong <= 0.05 * 100
