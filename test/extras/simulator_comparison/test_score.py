"""Scores, totals, and stability of the first rank."""

import numpy as np
import pytest

from gz_testauto.base.resources import share_directory
from gz_testauto.extras.simulator_comparison.findings import evaluate_bench
from gz_testauto.extras.simulator_comparison.score import (
    PAPER_WEIGHTS,
    FeaturesSpec,
    ScoreTable,
    compute_scores,
    feature_score,
)
from gz_testauto.extras.simulator_comparison.sensitivity import (
    acceptability,
    rank_reversal_weights,
    ranking_verdict,
)
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.spec.loader import load

PAPER = share_directory() / "config" / "simulator_comparison" / "farley_2022.yaml"


@pytest.fixture(scope="module")
def paper():
    return evaluate_bench(load(PAPER, BenchSpec))


@pytest.mark.slow
def test_published_scores_of_the_paper_give_its_totals(paper):
    table = paper.published_ranking.table
    assert table.entries == ("coppeliasim", "gazebo", "morse", "webots")
    assert table.totals == pytest.approx([49.100, 49.087, 32.145, 44.226], abs=0.001)
    assert table.weights.sum() == 56.0


@pytest.mark.slow
def test_measurements_of_the_paper_give_a_different_winner(paper):
    table = paper.ranking.table
    assert table.totals == pytest.approx([49.094, 49.224, 31.629, 43.485], abs=0.001)
    assert table.entries[table.order[0]] == "gazebo"
    assert paper.ranking.verdict.winner is None


def test_first_rank_in_the_paper_depends_on_the_weights(paper):
    printed = paper.published_ranking
    assert printed.near_ranks[:2, 0] == pytest.approx([0.51, 0.49], abs=0.01)
    assert printed.any_ranks[:, 0] == pytest.approx([0.26, 0.39, 0.0, 0.35], abs=0.01)
    turning = {change.criterion: change for change in printed.reversals}
    assert printed.reversals[0].criterion == "imu_linear_error"
    assert turning["imu_linear_error"].needed == pytest.approx(9.955, abs=0.001)
    assert turning["imu_linear_error"].winner == "gazebo"
    needed = {"ros": 6.065, "open_source": 2.013, "imu_angular_error": 10.104, "languages": 2.961}
    for name, weight in needed.items():
        assert turning[name].needed == pytest.approx(weight, abs=0.001)


def test_rank_reversal_weight_changes_the_first_entry(paper):
    for change in paper.published_ranking.reversals:
        table = paper.published_ranking.table
        beyond = 1e-6 * np.sign(change.needed - change.specified)
        weights = dict(zip(table.criteria, table.weights))
        weights[change.criterion] = change.needed + beyond
        totals = table.scores @ np.array(list(weights.values()))
        assert table.entries[int(np.argmax(totals))] == change.winner


@pytest.mark.parametrize(
    ("features", "name", "score"),
    [
        ({"free": True}, "free", 1.0),
        ({"ros": "plugin"}, "ros", 0.8),
        ({"languages": ["C++", "Python"]}, "languages", 0.667),
        ({"languages": ["python"]}, "languages", 0.333),
        ({"languages": ["c", "python", "matlab"]}, "languages", 0.667),
        ({"languages": ["c", "python", "matlab", "lua"]}, "languages", 1.0),
        ({"formats": ["urdf", "sdf"]}, "formats", 0.5),
        ({"formats": ["urdf", "sdf", "obj"]}, "formats", 1.0),
        ({"formats": [], "formats_by_plugin": ["urdf"]}, "formats", 0.25),
        ({"engines": ["ode"]}, "engines", 0.0),
        ({"engines": ["ode", "bullet"]}, "engines", 1.0),
        ({"additional": {"cloud": 0.5}}, "cloud", 0.5),
        ({}, "ui", None),
    ],
)
def test_features_are_scored_by_the_rules_of_the_paper(features, name, score):
    assert feature_score(FeaturesSpec.model_validate(features), name) == score


def test_scores_are_relative_to_the_lowest_or_highest_value():
    assert compute_scores(np.array([2.0, 4.0]), "lower") == pytest.approx([1.0, 0.5])
    assert compute_scores(np.array([2.0, 4.0]), "higher") == pytest.approx([0.5, 1.0])
    assert compute_scores(np.array([0.0, 4.0]), "lower").tolist() == [1.0, 0.0]
    assert compute_scores(np.array([1.0, 2.0, 6.0]), "lower", floor=3.0) == pytest.approx(
        [1, 1, 0.5]
    )


def test_missing_value_does_not_count_as_0():
    scores = {"a": {"x": 1.0, "y": None}, "b": {"x": 0.5, "y": 1.0}}
    table = ScoreTable.of(scores, {"x": 1.0, "y": 1.0})
    assert table.totals.tolist() == [1.0, 0.5]
    assert table.left_out == {"y": ("a",)}
    assert table.bounds.tolist() == [[1.0, 2.0], [1.5, 1.5]]


def test_equal_entries_share_the_first_rank():
    table = ScoreTable.of({"a": {"x": 1.0}, "b": {"x": 1.0}}, {"x": 3.0})
    assert acceptability(table) == pytest.approx(np.full((2, 2), 0.5))
    assert ranking_verdict(table).winner is None


def test_entry_that_is_first_in_all_draws_is_the_winner():
    table = ScoreTable.of({"a": {"x": 1.0, "y": 1.0}, "b": {"x": 0.2, "y": 0.9}}, {"x": 3, "y": 1})
    verdict = ranking_verdict(table)
    assert (verdict.winner, verdict.share) == ("a", 1.0)
    assert rank_reversal_weights(table) == []


def test_uncertain_measurements_give_no_winner():
    table = ScoreTable.of({"a": {"x": 1.0}, "b": {"x": 0.9}}, {"x": 1.0})
    random = np.random.default_rng(0)
    drawn = np.stack([1.0 + 0.2 * random.standard_normal((2000, 2))], axis=2)
    verdict = ranking_verdict(table, drawn)
    assert verdict.winner is None
    assert verdict.by_weights == 1.0
    assert "More repetitions can decide" in verdict.text


def test_default_weights_are_those_of_the_paper():
    spec = BenchSpec.model_validate({"name": "x", "entries": [{"name": "a"}]})
    assert spec.weights == dict(PAPER_WEIGHTS)
