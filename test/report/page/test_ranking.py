"""The line at the head of the page lists decided and undecided pairs of planners."""

from dataclasses import replace

from trials_from_letters import campaign

from gz_testauto.analysis.overview import analyze
from gz_testauto.report.page.content import ranking
from gz_testauto.spec.campaign import StopSpec


def said(stop=None, **ended):
    results = campaign(**ended)
    judged = tuple(world.name for world in results.worlds)
    return ranking(analyze(replace(results, stop=stop, judged=judged)))


def test_best_planner_and_pairs_without_significant_difference():
    assert said(a="C" * 12, b="R" * 12, c="C" * 11 + "R") == (
        "The success rates were 100.0 % for b, 8.3 % for c and 0.0 % for a. "
        "b reached the goal significantly more often than every other planner. "
        "No significant difference in success rate was found between c and a."
    )


def test_the_better_of_two_planners_is_named():
    assert said(a="C" * 12, b="R" * 12).endswith(
        "b reached the goal significantly more often than a."
    )


def test_a_higher_rate_alone_decides_no_pair():
    assert said(a="RRCC", b="RRRC") == (
        "The success rates were 75.0 % for b and 50.0 % for a. "
        "No planner reached the goal significantly more often than all others. "
        "No significant difference in success rate was found between b and a."
    )


def test_no_planner_is_best_without_a_significant_difference_from_the_second():
    assert said(a="R" * 12, b="R" * 11 + "C", c="C" * 12) == (
        "The success rates were 100.0 % for a, 91.7 % for b and 0.0 % for c. "
        "No planner reached the goal significantly more often than all others. "
        "The success rate was significantly higher for a than for c, and for b than for c. "
        "No significant difference in success rate was found between a and b."
    )


def test_equivalent_planners_are_listed_as_equivalent():
    rule = StopSpec(when="decided", equivalence_margin=0.3)
    assert said(rule, a="RC" * 100, b="RC" * 100) == (
        "The success rates were 50.0 % for a and 50.0 % for b. "
        "No planner reached the goal significantly more often than all others. "
        "The success rates were equivalent within the margin of the campaign for a and b."
    )


def test_a_single_planner_has_no_ranking():
    assert said(a="RC") == ""
