"""Which trials a gate can judge, and which missing worlds a campaign's own rule explains."""

from dataclasses import replace

from lettered_trials import campaign

from gz_testauto.analysis.decisions.gate import GatePair
from gz_testauto.analysis.decisions.gate_coverage import (
    GateAllowances,
    GateSide,
    ended_by_rule,
    in_worlds,
    not_judged,
    settled_worlds,
)
from gz_testauto.spec.stopping import StopSpec

TWENTY = 20


def side_of(results, planners=("a", "b")):
    worlds = tuple(world.name for world in results.worlds)
    settled = in_worlds(results, settled_worlds(results, planners)).trials
    return GateSide(
        "the results", planners, worlds, (), results.trials, settled, ended_by_rule(results)
    )


def missing(results):
    side = side_of(results)
    pair = GatePair("a", side.valid_trials("a"), "b", side.valid_trials("b"))
    return not_judged([side], [pair], (), GateAllowances(max_invalid=0.2), "--{}".format)


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


def test_a_world_that_a_decision_passed_over_counts_as_invalid_and_not_twice():
    judged = [number for number in range(13) if number != 4]
    results = stopped(judged, letters_a="RRRRI" + "R" * 15)
    gaps = missing(results)
    assert [gap.allowed for gap in gaps] == [True, True]
    assert gaps[0].reason.startswith("1 of 13 trials of a is invalid")
    assert gaps[0].worlds == ("w4",)
    assert "w4" not in gaps[1].worlds


def test_worlds_are_settled_until_the_first_one_with_an_unfinished_trial_of_the_planners():
    whole = campaign(a="RRRR", b="RRRR")
    last = [t for t in whole.trials if (t.world, t.planner) != ("w2", "b")]
    part = replace(whole, trials=tuple(last))
    assert settled_worlds(whole, ("a", "b")) == {"w0", "w1", "w2", "w3"}
    assert settled_worlds(part, ("a", "b")) == {"w0", "w1"}
    assert settled_worlds(part, ("a",)) == {"w0", "w1", "w2", "w3"}


def test_with_repetitions_every_one_has_to_be_finished():
    whole = campaign(a="RR RR RR", b="RR RR RR")
    kept = [t for t in whole.trials if (t.world, t.planner, t.repetition) != ("w1", "a", 1)]
    part = replace(whole, trials=tuple(kept))
    assert settled_worlds(part, ("a", "b")) == {"w0"}


def test_a_side_without_a_planner_to_judge_lacks_nothing():
    assert side_of(campaign(a="RR", b="RR"), planners=()).unsettled() == ()
