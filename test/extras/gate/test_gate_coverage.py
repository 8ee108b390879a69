"""Trials that a gate can judge, and missing worlds that a campaign's own rule explains."""

from dataclasses import replace

import pytest
from trials_from_letters import campaign

from gz_testauto.extras.gate.coverage import (
    GateSide,
    ended_by_rule,
    not_judged,
    repetition_notes,
    select_worlds,
    settled_worlds,
)
from gz_testauto.extras.gate.options import GateOptions
from gz_testauto.extras.gate.questions import GatePair
from gz_testauto.spec.campaign import StopSpec

TWENTY = 20


def side_of(results, planners=("a", "b")):
    worlds = tuple(world.name for world in results.worlds)
    settled = select_worlds(results, settled_worlds(results, planners)).trials
    return GateSide(
        "the results", planners, worlds, (), results.trials, settled, ended_by_rule(results)
    )


def missing(results):
    side = side_of(results)
    pair = GatePair("a", side.valid_trials("a"), "b", side.valid_trials("b"))
    return not_judged([side], [pair], (), GateOptions(max_invalid=0.2))


def stopped(judged, letters_a="R" * TWENTY, letters_b="C" * TWENTY):
    """Twenty worlds are planned, and the first ones judged."""
    results = campaign(a=letters_a, b=letters_b)
    worlds = tuple(f"w{number}" for number in judged)
    ended = tuple(t for t in results.trials if t.world_index <= max(judged))
    return replace(results, stop=StopSpec(when="decided"), judged=worlds, trials=ended)


def test_worlds_after_the_decision_of_a_campaign_are_allowed_and_listed():
    results = stopped(range(12))
    assert ended_by_rule(results)
    (gap,) = missing(results)
    assert gap.allowed
    assert gap.reason.startswith("8 of 20 worlds of the results are not judged because its camp")
    assert gap.worlds == tuple(f"w{number}" for number in range(12, 20))


def test_worlds_of_a_campaign_that_has_not_decided_yet_are_unfinished():
    results = stopped(range(3))
    assert not ended_by_rule(results)
    (gap,) = missing(results)
    assert not gap.allowed
    assert gap.reason.startswith("17 of 20 worlds of the results are unfinished")


def test_a_world_that_an_early_stop_skips_counts_once_as_invalid():
    judged = [number for number in range(13) if number != 4]
    results = stopped(judged, letters_a="RRRRI" + "R" * 15)
    gaps = missing(results)
    assert [gap.allowed for gap in gaps] == [True, True]
    assert gaps[0].reason.startswith("1 of 13 trials of a is invalid")
    assert gaps[0].worlds == ("w4",)
    assert "w4" not in gaps[1].worlds


def test_worlds_before_the_first_unfinished_trial_of_the_planners_can_be_evaluated():
    whole = campaign(a="RRRR", b="RRRR")
    last = [t for t in whole.trials if (t.world, t.planner) != ("w2", "b")]
    part = replace(whole, trials=tuple(last))
    assert settled_worlds(whole, ("a", "b")) == {"w0", "w1", "w2", "w3"}
    assert settled_worlds(part, ("a", "b")) == {"w0", "w1"}
    assert settled_worlds(part, ("a",)) == {"w0", "w1", "w2", "w3"}


def test_a_world_can_be_evaluated_when_all_its_repetitions_are_finished():
    whole = campaign(a="RR RR RR", b="RR RR RR")
    kept = [t for t in whole.trials if (t.world, t.planner, t.repetition) != ("w1", "a", 1)]
    part = replace(whole, trials=tuple(kept))
    assert settled_worlds(part, ("a", "b")) == {"w0"}


def test_worlds_that_are_not_generated_yet_are_not_settled():
    part = replace(campaign(a="RR RR", b="RR RR"), planned=20, further_worlds=3)
    assert part.further_names == ("world_0002", "world_0003", "world_0004")
    assert settled_worlds(part, ("a", "b")) == {"w0", "w1"}
    kept = [t for t in part.trials if (t.world, t.planner, t.repetition) != ("w1", "a", 1)]
    assert settled_worlds(replace(part, trials=tuple(kept)), ("a", "b")) == {"w0"}


def test_a_world_can_be_evaluated_when_the_trials_in_its_copies_are_finished():
    whole = replace(campaign(a="RRRRR", b="RRRRR"), copies=dict.fromkeys(("w1", "w2", "w3"), "w0"))

    def settled_without(world, planners):
        kept = [t for t in whole.trials if (t.world, t.planner) != (world, "b")]
        return settled_worlds(replace(whole, trials=tuple(kept)).without_copies, planners)

    assert settled_without("w4", ("a",)) == {"w0", "w4"}
    assert settled_without("w4", ("a", "b")) == {"w0"}
    assert settled_without("w3", ("a", "b")) == set()


def test_a_results_directory_without_planners_has_no_unsettled_worlds():
    assert side_of(campaign(a="RR", b="RR"), planners=()).unsettled() == ()


def test_planners_with_different_numbers_of_trials_are_noted():
    even, uneven = campaign(a="RR RR", b="RR RR"), campaign(a="RR R RRR", b="RR RR RR")
    assert repetition_notes([side_of(even)]) == []
    assert repetition_notes([side_of(uneven)]) == ["a has 1 to 3 trials per world"]


@pytest.mark.parametrize(("allowed", "share"), [(True, 0.25), (False, 0.24)])
def test_invalid_trials_are_allowed_up_to_their_share(allowed, share):
    side = side_of(campaign(a="RIRR", b="RRRR"))
    (gap,) = not_judged([side], [], (), GateOptions(max_invalid=share))
    assert (gap.allowed, gap.worlds, gap.planner) == (allowed, ("w1",), "a")
    assert gap.reason.startswith("1 of 4 trials of a is invalid (25 %")
    assert gap.remedy.endswith("--max-invalid 0.25")


@pytest.mark.parametrize("most", [1, 2, 3])
def test_missing_worlds_of_a_pair_are_added_to_those_missing_for_all_pairs(most):
    whole = campaign(a="RRRRRR", b="RRRRRR")
    trials = tuple(
        t for t in whole.trials if t.world != "w5" and (t.world, t.planner) != ("w1", "b")
    )
    results = replace(whole, trials=trials)
    side = replace(side_of(results), settled=trials)
    pair = GatePair("a", side.valid_trials("a"), "b", side.valid_trials("b"))
    options = GateOptions(allow_missing_worlds=most)
    unfinished, of_pair = not_judged([side], [pair], (), options)
    assert (unfinished.worlds, of_pair.worlds) == (("w5",), ("w1",))
    assert (unfinished.allowed, of_pair.allowed) == (True, most >= 2)
    assert of_pair.remedy.endswith("--allow-missing-worlds 2") == (most < 2)
