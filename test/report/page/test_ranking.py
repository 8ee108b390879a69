"""The line at the head of the page says what is decided, and what is not."""

from dataclasses import replace

from lettered_trials import campaign

from gz_testauto.analysis.overview import analyze
from gz_testauto.report.page.ranking import ranking
from gz_testauto.spec.stopping import StopSpec


def said(stop=None, **ended):
    results = campaign(**ended)
    judged = tuple(world.name for world in results.worlds)
    return ranking(analyze(replace(results, stop=stop, judged=judged)))


def test_who_is_first_and_who_is_not_told_apart():
    assert said(a="C" * 12, b="R" * 12, c="C" * 11 + "R") == (
        "By success rate: b 100.0 %, c 8.3 %, a 0.0 %. "
        "b is first: it reaches the goal more often than every other planner. "
        "Not told apart: c and a."
    )


def test_of_two_the_first_is_ahead_of_the_other():
    assert said(a="C" * 12, b="R" * 12).endswith(
        "b is first: it reaches the goal more often than a."
    )


def test_a_rate_that_is_higher_decides_nothing():
    assert said(a="RRCC", b="RRRC") == (
        "By success rate: b 75.0 %, a 50.0 %. No planner is shown to be first. "
        "Not told apart: b and a."
    )


def test_nobody_is_first_who_is_not_told_from_the_next():
    assert said(a="R" * 12, b="R" * 11 + "C", c="C" * 12) == (
        "By success rate: a 100.0 %, b 91.7 %, c 0.0 %. No planner is shown to be first. "
        "More often at the goal: a than c; b than c. Not told apart: a and b."
    )


def test_two_that_differ_by_less_than_matters_are_not_called_open():
    rule = StopSpec(when="decided", equivalence_margin=0.3)
    assert said(rule, a="RC" * 100, b="RC" * 100) == (
        "By success rate: a 50.0 %, b 50.0 %. No planner is shown to be first. "
        "Equal but for less than what the campaign calls negligible: a and b."
    )


def test_one_planner_has_no_rank():
    assert said(a="RC") == ""
