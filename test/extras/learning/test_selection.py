"""The selection of the policy among the means of a search."""

import numpy as np
import pytest

from gz_testauto.extras.learning.rollouts import RolloutResult
from gz_testauto.extras.learning.selection import WORLDS, Selection, batch_of


def played(rewards, generations=8, limit=100_000, per_episode=200.0, noise=0.0, seed=0):
    """A selection among means with these expected rewards; those of their episodes are random."""
    random = np.random.default_rng(seed)
    selection, batches = Selection(generations, 50_000, limit, per_episode), []
    while True:
        means = selection.next()
        if means is None:
            return selection, batches
        driven = [
            RolloutResult(rewards[mean] + noise * random.standard_normal(), 200, True)
            for mean in means
            for _ in range(WORLDS)
        ]
        batches.append(batch_of(means, driven, selection.steps))
        selection.take(batches[-1])


def test_the_best_mean_is_selected_within_the_number_of_steps():
    selection, batches = played([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])
    assert selection.best == 5
    assert 90_000 < selection.steps <= 100_000
    assert len(batches[0].means) == 8
    assert set(batches[-1].means) == {5, 7}


def test_each_round_uses_the_same_share_of_the_steps():
    _, batches = played(list(range(8)))
    spent = dict.fromkeys((8, 4, 2), 0)
    for one in batches:
        spent[len(one.means)] += len(one.means) * WORLDS * 200
    assert all(abs(steps - 50_000 / 3) < 8 * WORLDS * 200 for steps in spent.values())


def test_policy_is_chosen_among_the_means_of_the_last_eight_generations():
    _, batches = played(list(range(20)), generations=20)
    assert batches[0].means == tuple(range(12, 20))


def test_the_selection_averages_random_differences_between_episodes():
    """Rewards have a standard deviation of 20, and the best mean is better by 6: a choice by one
    episode would find it in a quarter of all cases."""
    rewards = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 12.0]
    found = [played(rewards, noise=20.0, seed=seed)[0].best for seed in range(40)]
    assert found.count(7) >= 32


@pytest.mark.parametrize(("generations", "limit"), [(1, 100_000), (3, 50_100), (3, 50_000)])
def test_the_last_mean_is_selected_if_no_alternatives_or_steps_remain(generations, limit):
    selection, batches = played([5.0, 4.0, 3.0], generations=generations, limit=limit)
    assert (selection.best, batches) == (generations - 1, [])


def test_no_episodes_are_run_beyond_the_limit_of_steps():
    selection = Selection(2, 0, 2000, 100.0)
    first = selection.next()
    driven = [RolloutResult(1.0 - mean, 200, True) for mean in first for _ in range(WORLDS)]
    selection.take(batch_of(first, driven, 0))
    assert (selection.best, selection.steps, selection.next()) == (0, 1600, None)
    again = Selection(2, 0, 1500, 100.0)
    again.take(batch_of(again.next(), driven, 0))
    assert (again.best, again.steps, again.next()) == (1, 0, None)


def test_a_world_with_an_invalid_episode_is_omitted_for_all_means():
    invalid = RolloutResult(float("nan"), 0, False, valid=False)
    sound = RolloutResult(2.0, 100, True)
    batch = batch_of((0, 1), [sound, invalid, sound, sound], 0)
    assert (batch.rewards, batch.valid, batch.steps) == ((2.0, 2.0), (1, 1), 300)


@pytest.mark.parametrize("seed", range(3))
def test_a_selection_continues_identically_from_stored_batches(seed):
    rewards = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    whole, batches = played(rewards, noise=20.0, seed=seed)
    for count in range(len(batches) + 1):
        again = Selection(8, 50_000, 100_000, 200.0)
        for batch in batches[:count]:
            again.take(batch)
        due = again.next()
        assert due == (batches[count].means if count < len(batches) else None)
    assert (again.best, again.steps) == (whole.best, whole.steps)


def test_results_for_means_that_were_not_requested_are_rejected():
    selection = Selection(4, 0, 100_000, 200.0)
    driven = [RolloutResult(1.0, 200, True)] * 2 * WORLDS
    with pytest.raises(ValueError, match=r"\(0, 1, 2, 3\)"):
        selection.take(batch_of((0, 1), driven, 0))
