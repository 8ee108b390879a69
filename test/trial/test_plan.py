from pathlib import Path
from types import SimpleNamespace

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.spec.campaign import BuiltinCampaignSpec
from gz_testauto.trial.plan import TrialSelection, plan_trials
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import Missions

WORLDS = [
    WorldRecord(index, f"world_000{index}", Path(f"world_000{index}.world"), "")
    for index in range(3)
]


def campaign(**changes):
    return BuiltinCampaignSpec.model_validate(
        {
            "name": "test",
            "seed": 7,
            "worlds": {"directory": "/nowhere"},
            "robot": {"model": "/nowhere/model.sdf", "start": {"x_m": 0.0, "y_m": 0.0}},
            "goal": {"x_m": 1.0, "y_m": 1.0},
            "planners": ["fgm", "straight"],
            "repetitions": 2,
            **changes,
        }
    )


def plan(spec, worlds):
    return plan_trials(spec, worlds, Missions(spec))


def test_all_planners_run_in_a_world_before_the_next_one():
    trials = plan(campaign(), WORLDS)
    assert [(t.world.name, t.repetition, t.planner.name) for t in trials[:5]] == [
        ("world_0000", 0, "fgm"),
        ("world_0000", 0, "straight"),
        ("world_0000", 1, "fgm"),
        ("world_0000", 1, "straight"),
        ("world_0001", 0, "fgm"),
    ]
    assert [t.index for t in trials] == list(range(12))


def test_only_planners_in_the_same_world_and_repetition_share_a_seed():
    trials = plan(campaign(), WORLDS)
    seeds = {}
    for trial in trials:
        seeds.setdefault((trial.world.name, trial.repetition), set()).add(trial.seed)
    assert all(len(shared) == 1 for shared in seeds.values())
    assert len({next(iter(shared)) for shared in seeds.values()}) == len(seeds)


def test_seed_of_a_trial_depends_neither_on_other_worlds_nor_on_planners():
    many = {t.label: t.seed for t in plan(campaign(), WORLDS)}
    few = plan(campaign(planners=["straight"]), WORLDS[:1])
    assert all(many[t.label] == t.seed for t in few)
    assert plan(campaign(seed=8), WORLDS)[0].seed != plan(campaign(), WORLDS)[0].seed


def test_trial_seeds_fit_a_signed_32_bit_integer():
    assert all(0 <= t.seed < 2**31 for t in plan(campaign(repetitions=50), WORLDS))


def test_selection_of_trials_keeps_their_indices():
    trials = plan(campaign(), WORLDS)
    chosen = [t.index for t in trials if TrialSelection(worlds=1, planners=("straight",)).covers(t)]
    assert chosen == [1, 3]


def test_selection_of_an_unknown_planner_is_rejected_with_a_hint():
    with pytest.raises(SpecError, match="unknown planner 'fmg'; did you mean 'fgm'"):
        TrialSelection(planners=("fmg",)).check(campaign())
    with pytest.raises(SpecError, match="at least 1"):
        TrialSelection(worlds=0).check(campaign())


@pytest.mark.parametrize(
    ("selection", "most_worlds", "count"),
    [
        (TrialSelection(), None, None),
        (TrialSelection(), 5, 5),
        (TrialSelection(worlds=3), None, 3),
        (TrialSelection(worlds=3, planners=("a",)), 5, 3),
        (TrialSelection(worlds=9), 5, 5),
        (TrialSelection(worlds=3, only=("world_0007",)), 8, 8),
        (TrialSelection(trials=frozenset([4])), None, None),
    ],
)
def test_the_first_worlds_that_a_selection_needs(selection, most_worlds, count):
    assert selection.world_count(SimpleNamespace(most_worlds=most_worlds)) == count
