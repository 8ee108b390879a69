"""The verb compare: campaigns of different days, and results of other software."""

from dataclasses import replace

import pytest
from table_results import store_table

from gz_testauto.analysis.across import pair_campaigns
from gz_testauto.base.errors import ResultsError
from gz_testauto.cli.main import main
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.store import load_campaign
from gz_testauto.trial.outcome import Outcome

WORLDS_A_AND_B = "world,planner,outcome\na,p,reached\nb,p,reached\n"


def unwrapped(text):
    return " ".join(text.split())


def test_comparison_of_two_equal_campaigns_compares_each_planner_with_itself(run, tmp_path, capsys):
    monday = run(out=tmp_path / "monday")
    tuesday = run(
        lambda t: Outcome.COLLIDED if t.planner.name == "fgm" else Outcome.REACHED,
        out=tmp_path / "tuesday",
    )
    assert main(["compare", str(monday.out), str(tuesday.out)]) == 0
    text = capsys.readouterr().out
    assert "fgm (monday) and fgm (tuesday)" in text
    assert "straight (monday) and straight (tuesday)" in text
    assert "straight (monday) and fgm (tuesday)" not in text
    assert " was +100.0 percentage points" in text


def test_compare_excludes_campaigns_with_a_different_robot_or_simulator(
    run, smoke, tmp_path, capsys
):
    one = run(out=tmp_path / "one")
    limits = smoke.limits.model_copy(update={"timeout_s": 7.0, "max_attempts": 9})
    robot = smoke.robot.model_copy(update={"max_linear_mps": 3.0})
    other = run(
        spec=smoke.model_copy(update={"limits": limits, "robot": robot, "seed": smoke.seed}),
        version="2",
        out=tmp_path / "other",
    )
    assert main(["compare", str(one.out), str(other.out)]) == 1
    text = unwrapped(capsys.readouterr().out)
    assert "other: is not comparable" in text
    assert "limits.timeout_s: " in text
    assert "robot.max_linear_mps: " in text
    assert "simulator: scripted 1, and scripted 2" in text
    assert "max_attempts" not in text
    assert "against" not in text
    assert main(["compare", str(one.out), str(other.out), "--ignore-differences"]) == 0
    text = unwrapped(capsys.readouterr().out)
    assert "compared although it differs" in text
    assert "fgm (one) and fgm (other)" in text


def test_compare_excludes_a_metric_with_different_parameters(run, smoke, tmp_path):
    one = load_campaign(run(out=tmp_path / "one").out)
    metrics = smoke.metrics.model_copy(update={"safety_distance_m": 0.3})
    changed = smoke.model_copy(update={"metrics": metrics})
    other = load_campaign(run(spec=changed, out=tmp_path / "other").out)
    across = pair_campaigns([one, other])
    assert not across.sides[1].left_out
    assert any("metrics.safety_distance_m" in note for note in across.sides[1].notes)
    compared = {metric.name for metric in across.results.metrics if metric.in_comparison}
    assert "safety" not in compared
    assert {"distance_m", "time_s"} <= compared


def test_compare_pairs_worlds_by_hash_and_lists_unpaired_worlds(tmp_path, capsys):
    files = {"first": ("a", "b"), "second": ("x", "y")}
    for folder, names in files.items():
        (tmp_path / folder).mkdir()
        for name, content in zip(names, ("same", f"only in {folder}")):
            (tmp_path / folder / f"{name}.world").write_text(content)
    one = store_table(WORLDS_A_AND_B, tmp_path / "one", tmp_path / "first")
    other = store_table(
        "world,planner,outcome\nx,q,collided\ny,q,reached\n",
        tmp_path / "other",
        tmp_path / "second",
    )
    assert main(["compare", str(one), str(other)]) == 0
    text = unwrapped(capsys.readouterr().out)
    assert "With trials only in one, not compared: 1 world b" in text
    assert "With trials only in other, not compared: 1 world y" in text
    assert "p and q 1 world with both" in text
    assert " was +100.0 percentage points" in text


def test_error_for_campaigns_without_common_worlds_names_different_seeds(
    run, smoke, tmp_path, capsys
):
    specs = {seed: smoke.model_copy(update={"seed": seed}) for seed in (7, 8)}
    one, other = (run(out=tmp_path / str(seed), spec=spec) for seed, spec in specs.items())
    assert main(["compare", str(one.out), str(other.out)]) == 2
    assert unwrapped(capsys.readouterr().err).rstrip().endswith("; the seeds are 7, 8")


def test_error_for_campaigns_without_common_worlds_has_remedies(run, tmp_path, capsys):
    one = run(out=tmp_path / "one")
    other = store_table("world,planner,outcome\nworld_0000,fgm,reached\n", tmp_path / "theirs")
    assert main(["compare", str(one.out), str(other)]) == 2
    printed = capsys.readouterr().err
    assert "have no world in common" in printed
    assert "import those trials again with --world-files" in printed


def test_error_for_no_common_worlds_names_different_start_poses_as_the_cause(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.world").write_text("the same")
    one, other = (
        load_campaign(
            store_table("world,planner,outcome\na,p,reached\n", tmp_path / name, tmp_path / "files")
        )
        for name in ("one", "other")
    )
    places = {"worlds.files[0].name": '"a"', "worlds.files[0].start.x_m": "1.0"}
    content = {**other.manifest.content, "inputs": {**other.manifest.inputs, **places}}
    moved = replace(other, manifest=Manifest(content))
    with pytest.raises(ResultsError, match="the same hash have another start or goal"):
        pair_campaigns([one, moved])


def test_error_without_common_worlds_states_different_world_names_as_the_cause(tmp_path):
    one, other = (
        load_campaign(store_table(f"world,planner,outcome\n{world},p,reached\n", tmp_path / name))
        for name, world in (("one", "a"), ("other", "b"))
    )
    with pytest.raises(ResultsError, match=r"one, other: .* no two worlds have the same name"):
        pair_campaigns([one, other])


@pytest.mark.parametrize("damage", ["empty", "no store", "other version", "cut short"])
def test_error_for_a_directory_without_results_contains_its_path(tmp_path, capsys, damage):
    good = store_table(WORLDS_A_AND_B, tmp_path / "good")
    bad = store_table(WORLDS_A_AND_B, tmp_path / "bad")
    store = bad / "results.sqlite"
    if damage == "empty":
        for file in (store, bad / "manifest.json"):
            file.unlink()
    elif damage == "no store":
        store.unlink()
    elif damage == "other version":
        manifest = bad / "manifest.json"
        manifest.write_text(manifest.read_text().replace('"format": 1', '"format": 99'))
    else:
        store.write_bytes(store.read_bytes()[:5000])
    assert main(["compare", str(good), str(bad)]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert str(bad) in printed
