"""The race drops the worse half of the candidates, and never the defaults."""

import pytest

from gz_testauto.extras.tune.race import (
    Loss,
    RacePlan,
    largest_plan,
    least_plan,
    mean_losses,
    plan_race,
    race,
)


def test_worlds_double_and_candidates_halve():
    assert plan_race(30, 30) == RacePlan((30, 15, 7, 3), (4, 8, 15, 30))
    assert plan_race(2, 8) == RacePlan((2, 1), (4, 8))
    assert plan_race(3, 5) == RacePlan((3,), (5,))


def test_trials_of_a_plan_contain_those_of_the_defaults():
    assert RacePlan((2, 1), (4, 8)).trials == 8 + 2 * 4 + 1 * 4
    assert RacePlan((3,), (5,)).trials == 4 * 5


@pytest.mark.parametrize("worlds", [4, 7, 30, 100])
def test_largest_plan_uses_the_budget(worlds):
    least = least_plan(worlds)
    assert least.candidates[-1] == 1
    for budget in (least.trials, least.trials + 1, 10 * least.trials + 3):
        plan = largest_plan(budget, worlds)
        assert plan.trials <= budget
        assert plan_race(plan.candidates[0] + 1, worlds).trials > budget


def in_all(worlds, failed):
    return {str(world): Loss(failed, 0.0, 10.0) for world in range(worlds)}


def test_race_keeps_the_best_and_the_defaults():
    shares = [0.9, 0.5, 0.2, 0.7, 0.1]  # of the defaults and four candidates
    calls = []

    def run(alive, worlds):
        calls.append((list(alive), worlds))
        return [in_all(worlds, shares[number]) for number in alive]

    assert race(RacePlan((4, 2, 1), (4, 8, 16)), run) == [4, 0]
    assert calls == [([0, 1, 2, 3, 4], 4), ([0, 2, 4], 8), ([0, 4], 16)]


def test_equal_candidates_are_ranked_by_collisions_then_time_then_number():
    losses = [(0.5, 0.5, 9.0), (0.5, 0.0, 9.0), (0.5, 0.0, 8.0), (0.5, 0.0, 8.0)]
    run = lambda alive, worlds: [{"a": Loss(*losses[number])} for number in alive]  # noqa: E731
    assert race(RacePlan((3,), (4,)), run) == [2, 3, 1, 0]


def test_only_worlds_with_valid_trials_of_all_candidates_count():
    one = {"a": Loss(0.0, 0.0, 5.0), "b": Loss(1.0, 0.0, 60.0)}
    other = {"b": Loss(0.0, 0.0, 7.0), "c": Loss(1.0, 1.0, 60.0)}
    assert mean_losses([one, other]) == [Loss(1.0, 0.0, 60.0), Loss(0.0, 0.0, 7.0)]
    with pytest.raises(ValueError, match="no world"):
        mean_losses([{"a": one["a"]}, {"b": one["b"]}])
