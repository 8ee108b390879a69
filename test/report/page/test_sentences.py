"""What the verdicts say, in words and signs."""

import math

import pytest

from gz_testauto.analysis.comparison import Comparison, MetricComparison
from gz_testauto.analysis.intervals import Estimate
from gz_testauto.metrics.interface import Metric
from gz_testauto.report.page import sentences

SAFETY = Metric(
    name="safety", unit="1/m", decimals=3, better="lower", completed_only=True, description=""
)


def pair_with(shift, low, high, p_adjusted=0.038, worlds=20):
    estimate = Estimate(shift, low, high, "Hodges–Lehmann")
    found = MetricComparison("safety", worlds, estimate, p_adjusted / 2, p_adjusted)
    difference = Estimate(0.0, -0.1, 0.1, "Newcombe, paired")
    return Comparison(
        "fgm", "dwa", 20, None, difference, 1.0, "exact McNemar", (), (), (found,), 1.0
    )


@pytest.mark.parametrize(
    ("shift", "low", "high", "said"),
    [
        (-0.2, -0.5, 0.1, "fgm minus dwa: -0.200 1/m, 95 % interval -0.500 to +0.100 1/m"),
        (0.2, -0.1, 0.5, "dwa minus fgm: -0.200 1/m, 95 % interval -0.500 to +0.100 1/m"),
        (0.2, 0.0, 0.5, "dwa minus fgm: -0.200 1/m, 95 % interval -0.500 to +0.000 1/m"),
    ],
)
def test_an_interval_of_a_metric_is_signed_as_its_sentence_is_said(shift, low, high, said):
    pair = pair_with(shift, low, high)
    (verdict,) = sentences.metric_verdicts(pair, {"safety": SAFETY})
    better = "fgm" if shift < 0 else "dwa"
    other = "dwa" if shift < 0 else "fgm"
    assert verdict.lead == f"Safety is better for {better}: lower by 0.200 1/m than for {other}."
    assert verdict.evidence.startswith(said)


def test_a_difference_that_is_told_from_chance_but_has_no_size_is_explained():
    pair = pair_with(0.0, 0.0, 0.1)
    metrics = {"safety": SAFETY}
    assert sentences.metric_verdicts(pair, metrics) == []
    said = sentences.undecided(pair, metrics)
    assert said.startswith("The test finds a difference, but the shift is 0, as the two are equal")
    assert said.endswith("in: safety.") and "No difference" not in said
    assert sentences.advantage(pair, SAFETY, pair.metrics[0]) == "not decided: the shift is 0"
    not_told = pair_with(0.0, 0.0, 0.1, p_adjusted=0.2)
    assert sentences.undecided(not_told, metrics) == "No difference is shown in: safety."
    assert sentences.advantage(not_told, SAFETY, not_told.metrics[0]) == "not decided"


def test_a_metric_that_no_world_has_for_both_is_told_apart_from_one_without_difference():
    pair = pair_with(math.nan, math.nan, math.nan, math.nan, worlds=0)
    said = sentences.undecided(pair, {"safety": SAFETY})
    assert said == "In no world both have a number in: safety."
