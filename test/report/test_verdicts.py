"""The wording and signs of verdicts."""

import math

import pytest

from gz_testauto.analysis.comparison import Comparison, MetricComparison
from gz_testauto.analysis.intervals import Estimate
from gz_testauto.analysis.paired_median import METHOD, TEST
from gz_testauto.metrics.interface import Metric
from gz_testauto.report import verdicts
from gz_testauto.report.metric_tables import differences_note

SAFETY = Metric(
    name="safety", unit="1/m", decimals=3, better="lower", completed_only=True, description=""
)


def pair_with(
    shift, low, high, p_adjusted=0.038, worlds=20, smallest=0.1, success=0.0, means=(1.0, 1.0)
):
    found = MetricComparison(
        "safety",
        worlds,
        *means,
        Estimate(shift, low, high, METHOD),
        TEST,
        p_adjusted / 2,
        smallest,
        p_adjusted,
        significant=p_adjusted < 0.05,
        relevant=abs(shift) >= smallest,
    )
    return Comparison(
        "fgm",
        "dwa",
        20,
        None,
        0.5 + success,
        0.5,
        Estimate(success, success - 0.1, success + 0.1, "Gaffke"),
        p_adjusted,
        "exact McNemar test",
        (),
        (),
        (found,),
        smallest,
        p_adjusted,
        significant=p_adjusted < 0.05,
        relevant=abs(success) >= smallest,
    )


@pytest.mark.parametrize(
    ("shift", "low", "high", "said"),
    [
        (-0.2, -0.5, 0.1, "fgm − dwa was -0.200 1/m in 20 worlds (95 % CI -0.500 to +0.1"),
        (0.2, -0.1, 0.5, "dwa − fgm was -0.200 1/m in 20 worlds (95 % CI -0.500 to +0.1"),
    ],
)
def test_interval_of_a_metric_has_the_sign_of_its_sentence(shift, low, high, said):
    pair = pair_with(shift, low, high)
    (verdict,) = verdicts.metric_verdicts(pair, {"safety": SAFETY})
    better = "fgm" if shift < 0 else "dwa"
    other = "dwa" if shift < 0 else "fgm"
    assert verdict.lead == (
        f"In the typical world, safety was 0.200 1/m lower for {better} than for {other}, which is "
        "better."
    )
    assert verdict.evidence.startswith(f"The median difference {said}")
    assert verdict.evidence.endswith("The means in these worlds were 1.000 and 1.000 1/m.")


def test_a_planner_that_is_better_only_in_the_typical_world_is_not_called_better():
    pair = pair_with(-0.2, -0.5, -0.1, means=(1.4, 1.0))
    (verdict,) = verdicts.metric_verdicts(pair, {"safety": SAFETY})
    assert verdict.lead == (
        "In the typical world, safety was 0.200 1/m lower for fgm than for dwa, but its mean was "
        "not."
    )
    assert verdict.evidence.endswith("The means in these worlds were 1.400 and 1.000 1/m.")
    assert not verdict.decided
    assert verdicts.advantage(pair, SAFETY, pair.metrics[0]) == (
        "better for fgm in the typical world, not on average"
    )


@pytest.mark.parametrize(
    ("shift", "p_adjusted", "said"),
    [
        (-0.2, 0.01, "better for fgm in the typical world"),
        (-0.05, 0.01, ""),
        (-0.2, 0.3, ""),
        (-0.05, 0.3, ""),
        (-0.05, math.nan, ""),
    ],
)
def test_a_metric_is_better_only_where_significant_and_relevant(shift, p_adjusted, said):
    pair = pair_with(shift, shift - 0.1, shift + 0.1, p_adjusted)
    assert verdicts.advantage(pair, SAFETY, pair.metrics[0]) == said


def test_a_significant_but_irrelevant_difference_is_stated_as_such():
    pair = pair_with(-0.05, -0.09, -0.01, 0.01)
    (verdict,) = verdicts.metric_verdicts(pair, {"safety": SAFETY})
    assert verdict.lead == (
        "In the typical world, safety was 0.050 1/m lower for fgm than for dwa, less than the "
        "relevant difference of 0.100 1/m."
    )
    assert not verdict.decided


@pytest.mark.parametrize(
    ("success", "p_adjusted", "lead", "better"),
    [
        (
            0.2,
            0.01,
            "The success rate of fgm was significantly higher than that of dwa.",
            "fgm",
        ),
        (
            -0.06,
            0.01,
            "The success rate of dwa was significantly higher than that of fgm, but by less than "
            "the relevant difference of 10 percentage points.",
            "",
        ),
        (0.2, 0.2, "The success rates of fgm and dwa did not differ significantly.", ""),
    ],
)
def test_success_is_decided_where_significant_and_relevant(success, p_adjusted, lead, better):
    verdict = verdicts.success_verdict(pair_with(0.0, 0.0, 0.0, p_adjusted, success=success))
    assert (verdict.lead, verdict.better) == (lead, better)
    assert verdict.decided == bool(better)


def test_metric_without_common_worlds_is_distinguished_from_one_without_difference():
    pair = pair_with(math.nan, math.nan, math.nan, math.nan, worlds=0)
    said = verdicts.undecided(pair, {"safety": SAFETY})
    assert said == "No world has a value of both planners for these metrics: safety."


def test_note_on_differences_states_no_method_if_no_world_has_a_value_of_both():
    pair = pair_with(math.nan, math.nan, math.nan, math.nan, worlds=0)
    note = differences_note([pair], {"safety": SAFETY})
    assert note == "No world has a value of both for safety."
