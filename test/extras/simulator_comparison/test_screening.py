"""The selection of trials to run again, with reasons."""

from dataclasses import replace

from scripted import record

from gz_testauto.extras.simulator_comparison.agreement import choose_trials
from gz_testauto.results.records import CampaignResults
from gz_testauto.trial.outcome import Outcome

PLANNERS = ("a", "b")


def campaign(*outcomes_of_worlds, clearances=()):
    """Both planners' trials, world by world; clearances (m) by index where not 1 m."""
    trials = []
    for world, outcomes in enumerate(outcomes_of_worlds):
        for planner, outcome in zip(PLANNERS, outcomes):
            index = len(trials)
            trials.append(
                replace(
                    record(index),
                    world=f"world_{world:04d}",
                    world_index=world,
                    planner=planner,
                    outcome=outcome,
                    metrics={"clearance_min_m": dict(clearances).get(index, 1.0)},
                )
            )
    return CampaignResults("c", PLANNERS, (), len(trials), tuple(trials))


FINE = (Outcome.REACHED, Outcome.REACHED)


def test_each_trial_is_selected_once_with_the_first_matching_reason():
    results = campaign(
        FINE,
        (Outcome.REACHED, Outcome.STUCK),
        (Outcome.COLLIDED, Outcome.COLLIDED),
        (Outcome.COLLIDED, Outcome.REACHED),
        (Outcome.INVALID, Outcome.REACHED),
        (Outcome.STUCK, Outcome.TIPPED_OVER),
    )
    found = choose_trials(results, seed=1, closest=0, control=0)
    assert found == {
        2: "planners disagree",
        3: "planners disagree",
        4: "collided",
        5: "collided",
        6: "planners disagree",
        7: "planners disagree",
        8: "invalid",
        11: "tipped over",
    }


def test_lowest_clearances_of_the_others_are_selected():
    disagree = (Outcome.REACHED, Outcome.STUCK)
    clearances = ((0, 0.01), (3, 0.2), (4, 0.3), (5, 0.25))
    found = choose_trials(
        campaign(disagree, FINE, FINE, clearances=clearances), seed=1, closest=2, control=0
    )
    assert {i for i, reason in found.items() if reason == "lowest clearance"} == {3, 5}


def test_control_sample_is_drawn_from_the_remaining_trials_with_the_seed():
    results = campaign(*[FINE] * 50, (Outcome.REACHED, Outcome.STUCK))
    first, again, other = (choose_trials(results, seed, 5, 10) for seed in (1, 1, 2))
    drawn = {i for i, reason in first.items() if reason == "control sample"}
    assert len(drawn) == 10 and drawn.isdisjoint({100, 101})
    assert first == again
    assert first != other
    assert max(drawn) > 20 and min(drawn) < 80  # not just the first or the last


def test_a_larger_number_than_trials_selects_all_trials():
    found = choose_trials(campaign(FINE, FINE), seed=1, closest=1, control=50)
    assert set(found) == {0, 1, 2, 3}


def test_trials_with_a_custom_crash_are_selected(declare_outcome):
    drowned = declare_outcome(crash=True, rare=True)
    found = choose_trials(campaign((drowned, drowned)), seed=1, closest=0, control=0)
    assert found == {0: "drowned", 1: "drowned"}
