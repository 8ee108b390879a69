"""Measures of planners, from campaigns with the same worlds in two simulators."""

import math

import pytest
import yaml
from page_results import results

from gz_testauto.extras.simulator_comparison.findings import evaluate_bench
from gz_testauto.extras.simulator_comparison.score import compute_scores
from gz_testauto.extras.simulator_comparison.spec import BenchSpec
from gz_testauto.spec.loader import load

WORLDS = tuple(f"world_{i:04d}" for i in range(4))


def bench(folder, **entries):
    file = folder / "bench.yaml"
    named = [{"name": name, **entry} for name, entry in entries.items()]
    weights = {"planner_same_winner": 1, "planner_srcc": 1}
    file.write_text(
        yaml.safe_dump({"name": "b", "entries": named, "reference": "real", "weights": weights})
    )
    return load(file, BenchSpec)


def test_simulator_with_a_different_best_planner_has_planner_score_0(tmp_path):
    results(tmp_path / "real", WORLDS)  # the first planner reaches every goal, the others none
    results(tmp_path / "same", WORLDS)
    results(tmp_path / "turned", WORLDS, planners=("dwa", "fgm"))
    names = ("real", "same", "turned")
    found = evaluate_bench(bench(tmp_path, **{name: {"campaign": name} for name in names}))
    same, turned = (found.measured[name] for name in names[1:])
    for name in ("planner_srcc", "planner_success_srcc", "planner_spearman"):
        for found_in, value in ((same, 1.0), (turned, -1.0)):
            assert found_in[name].estimate.value == pytest.approx(value)
            assert "the same in each draw" in found_in[name].estimate.method
    assert same["planner_same_winner"].estimate.value == 1.0
    assert turned["planner_same_winner"].estimate.value == 0.0
    assert found.ranking.table.totals == pytest.approx([2.0, 0.0])
    assert found.ranking.verdict.winner == "same"
    shown = {measure.name for measure in found.measures}
    assert "planner_srcc" in shown and "imu_linear_error" not in shown


def test_planner_measures_require_a_campaign_with_two_planners(tmp_path):
    results(tmp_path / "real", WORLDS)
    results(tmp_path / "alone", WORLDS, planners=("fgm",))
    entries = {"real": {"campaign": "real"}, "alone": {"campaign": "alone"}, "none": {}}
    found = evaluate_bench(bench(tmp_path, **entries))
    alone, none = (found.measured[name]["planner_srcc"] for name in ("alone", "none"))
    assert "two planners" in alone.missing and alone.missing.endswith(": fgm")
    assert none.missing == "the entry has no campaign"
    assert found.ranking.table.left_out.keys() == {"planner_same_winner", "planner_srcc"}


def test_negative_correlation_of_planners_has_score_0():
    assert compute_scores([0.8, -0.4], "higher") == pytest.approx([1.0, 0.0])
    assert math.isnan(compute_scores([0.8, math.nan], "higher")[1])
