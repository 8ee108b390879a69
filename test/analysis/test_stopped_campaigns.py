"""Comparisons across campaigns of which at least one has an early stop."""

import numpy as np
import pytest
from table_results import store_table

from gz_testauto.analysis import anytime
from gz_testauto.analysis.across import pair_campaigns
from gz_testauto.analysis.overview import analyze
from gz_testauto.cli.main import main
from gz_testauto.results.store import load_campaign
from gz_testauto.spec.campaign import StopSpec

NAMES = [f"w{number}" for number in range(12)]


def campaign(path, outcomes, judged=None, names=NAMES, planner="p"):
    """Write a campaign in which ``planner`` has the given outcomes (r: reached, c: collided, i:
    invalid). If ``judged`` is not None, its early stop evaluated these worlds."""
    words = {"r": "reached", "c": "collided", "i": "invalid"}
    lines = [f"{name},{planner},{words[one]}" for name, one in zip(names, outcomes)]
    text = "\n".join(["world,planner,outcome", *lines, ""])
    stop = None if judged is None else StopSpec(when="decided")
    return store_table(text, path, stop=stop, judged=judged or ())


def compared(*directories):
    across = pair_campaigns([load_campaign(path) for path in directories], with_trials=True)
    (pair,) = analyze(across.results, across.pairs).comparisons.pairs
    return across.results, pair


def test_comparison_with_a_stopped_campaign_is_valid_at_every_number_of_worlds(tmp_path):
    one = campaign(tmp_path / "one", "rrrrrrrrrrrr", judged=NAMES)
    other = campaign(tmp_path / "other", "ccccccrrrrrr")
    _, pair = compared(one, other)
    differences = np.repeat([1.0, 0.0], 6)
    assert pair.test == anytime.TEST
    assert pair.p_value == anytime.p_value(differences, 0.0, anytime.DIFFERENCE)
    assert pair.difference == anytime.interval(differences, anytime.DIFFERENCE)


def test_comparisons_have_the_levels_and_decisions_of_the_early_stop(tmp_path):
    outcomes = {"a": "r" * 24, "b": "c" * 24, "d": "r" * 16 + "c" * 8}
    worlds = [f"w{number}" for number in range(24)]
    words = {"r": "reached", "c": "collided"}
    rows = [
        f"{world},{planner},{words[text[number]]}"
        for number, world in enumerate(worlds)
        for planner, text in outcomes.items()
    ]
    text = "\n".join(["world,planner,outcome", *rows, ""])
    stop = StopSpec(when="decided")
    path = store_table(text, tmp_path / "three", stop=stop, judged=worlds)
    analysis = analyze(load_campaign(path).results)
    pairs = list(zip(analysis.comparisons.pairs, analysis.early_stop.pairs))
    assert [bool(decision.better) for _, decision in pairs] == [True, False, True]
    for pair, decision in pairs:
        assert pair.difference[:3] == decision.difference[:3]
        assert pair.difference.method == f"{anytime.METHOD}, 98.33 %"
        assert pair.significant == bool(decision.better)
        assert pair.p_adjusted == min(1.0, 3 * pair.p_value)
        assert pair.significant == (pair.p_adjusted <= 0.05)


def test_comparison_without_stop_keeps_the_tests_for_a_fixed_number(tmp_path):
    one = campaign(tmp_path / "one", "rrrrrrrrrrrr")
    _, pair = compared(one, campaign(tmp_path / "other", "ccccccrrrrrr"))
    assert pair.test == "exact McNemar test"


def test_trials_after_the_decision_are_not_compared(tmp_path):
    one = campaign(tmp_path / "one", "rrrrrrrrrrrr", judged=NAMES[:8])
    results, pair = compared(one, campaign(tmp_path / "other", "rrrrrrrrrrcc"))
    assert len(results.worlds) == 12
    assert pair.worlds == 8
    assert pair.first_won == ()


def test_worlds_are_bet_on_in_the_order_of_the_stopped_campaign(tmp_path):
    order = [*NAMES[6:], *NAMES[:6]]
    one = campaign(tmp_path / "one", "rrrrrrrrrrrr")
    other = campaign(tmp_path / "other", "ccccccrrrrcc", judged=order)
    results, pair = compared(one, other)
    assert results.judged == tuple(order)
    differences = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1.0])
    assert pair.p_value == anytime.p_value(differences, 0.0, anytime.DIFFERENCE)


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (NAMES[:5], NAMES[:9], NAMES[:5]),
        (["w0", "w1", "w3", "w4", "w2"], NAMES[:6], ["w0", "w1", "w3", "w4"]),
        (NAMES[:6], ["w0", "w2", "w3", "w1"], ["w0", "w2", "w3"]),
        ([], NAMES, []),
    ],
    ids=["shorter", "late in the first", "late in the second", "none"],
)
def test_two_stopped_campaigns_are_compared_in_the_worlds_before_both_stops(
    tmp_path, first, second, kept
):
    one = campaign(tmp_path / "one", "rrrrrrrrrrrr", judged=first)
    results, pair = compared(one, campaign(tmp_path / "other", "rrrrrrrrrrrr", judged=second))
    assert results.judged == tuple(kept)
    assert pair.worlds == len(kept)


def test_worlds_after_the_first_difference_of_two_orders_are_excluded(tmp_path):
    other_order = ["w0", "w1", *NAMES[:1:-1]]
    one = campaign(tmp_path / "one", "rrrrrrrrrrrr", judged=NAMES)
    other = campaign(tmp_path / "other", "rrrrrrrrrrrr", judged=other_order, names=other_order)
    assert compared(one, other)[0].judged == ("w0", "w1")


def test_compare_prints_which_campaign_stopped_and_what_is_excluded(tmp_path, capsys):
    one = campaign(tmp_path / "monday", "rrrrrrrrrrrr", judged=NAMES[:9])
    other = campaign(tmp_path / "tuesday", "ccccccrrrrrr")
    assert main(["compare", str(one), str(other)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "With early stop (`stop`): monday." in text
    assert "3 are not compared" in text
    assert "9 worlds with both" in text
    assert anytime.TEST in text
    assert "McNemar" not in text


def test_more_than_two_planners_have_no_overall_test_after_a_stop(tmp_path):
    paths = [
        campaign(tmp_path / label, "rrrrrrcccccc", judged=NAMES if label == "b" else None)
        for label in "abc"
    ]
    across = pair_campaigns([load_campaign(path) for path in paths])
    assert analyze(across.results, across.pairs).comparisons.overall_test == ""
