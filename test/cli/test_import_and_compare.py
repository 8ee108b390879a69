"""The verbs import and compare: results of other software, and campaigns of different days."""

import json
import re
from dataclasses import replace

import pytest
from published_trials import REACHED_OF_TEN, trials_csv

from gz_testauto.analysis.across import pair_campaigns
from gz_testauto.base.errors import ResultsError
from gz_testauto.cli.main import main
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.store import load_campaign
from gz_testauto.trial.outcome import Outcome


@pytest.fixture
def imported(tmp_path):
    """Return a function that imports a table; it returns the directory, or the status if not 0."""

    def start(text, *options, name="theirs"):
        file = tmp_path / f"{name}.csv"
        file.write_text(text, encoding="utf-8")
        out = tmp_path / name
        status = main(["import", str(file), "--out", str(out), *options])
        return status or out

    return start


def unwrapped(text):
    return " ".join(text.split())


@pytest.mark.slow
def test_the_report_of_imported_trials_has_the_interval_by_worlds_and_by_trials(imported, capsys):
    out = imported(trials_csv())
    assert main(["report", str(out)]) == 0
    text = unwrapped(capsys.readouterr().out)
    assert "dwa 425/500 85.0 [75.2, 90.9]" in text
    assert "ICC 0.40, design effect 4.6" in text
    assert "With trials as the unit, the interval would be [81.6, 88.0]." in text


@pytest.mark.slow
def test_two_imported_planners_are_compared_by_worlds(imported, capsys):
    better = tuple(min(count + (world % 4 == 0), 10) for world, count in enumerate(REACHED_OF_TEN))
    one = imported(trials_csv(), name="one")
    other = imported(trials_csv(better, planner="mine"), name="other")
    assert main(["compare", str(one), str(other)]) == 0
    text = unwrapped(capsys.readouterr().out)
    assert "dwa and mine 50 worlds with both" in text
    gained = sum(better) - sum(REACHED_OF_TEN)
    assert f"difference mine − dwa was +{abs(gained) / 5:.1f} percentage points" in text
    assert "Gaffke, mid-P, p" in text
    assert main(["compare", str(one), str(other), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [side["common"] for side in document["directories"]] == [50, 50]
    assert document["comparison"]["pairs"][0]["worlds"] == 50


def test_import_options_name_columns_and_ignored_columns_are_listed(imported, capsys):
    text = "w0 1 0 3.5 7\nw0 0 1 9.0 8\nw1 0 1 2.0 9\n"
    out = imported(
        text,
        *("--delimiter", "space", "--header", "map,ok,hit,seconds,score"),
        *("--world", "map", "--planner-name", "theirs", "--outcome-column", "ok=reached"),
        *("--outcome-column", "hit=collided", "--metric", "seconds=time_s", "--name", "paper"),
        *("--simulator", "gazebo 9"),
    )
    assert "ignored columns: score" in capsys.readouterr().err
    campaign = load_campaign(out)
    assert (campaign.results.name, campaign.manifest.simulator) == ("paper", "gazebo 9")
    found = [(t.world, t.planner, t.repetition, t.outcome) for t in campaign.results.trials]
    assert found == [
        ("w0", "theirs", 0, Outcome.REACHED),
        ("w0", "theirs", 1, Outcome.COLLIDED),
        ("w1", "theirs", 0, Outcome.COLLIDED),
    ]
    assert [trial.metrics["time_s"] for trial in campaign.results.trials] == [3.5, 9.0, 2.0]


def test_imported_metric_has_the_specified_direction(imported):
    text = "world,planner,outcome,energy\nw,p,reached,3\n"
    out = imported(text, "--metric", "energy=energy_j:lower")
    (metric,) = (m for m in load_campaign(out).results.metrics if m.name == "energy_j")
    assert metric.better == "lower"


def test_an_invalid_imported_trial_is_listed_and_not_counted(imported, capsys):
    out = imported("world,planner,outcome,detail\nw,p,1,\nv,p,invalid,gzserver died\n")
    assert main(["report", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "1/1" in printed
    assert "1 × gzserver died" in printed


def test_csv_export_of_a_report_can_be_imported_without_loss(imported, run, tmp_path):
    made = run(lambda trial: Outcome.COLLIDED if trial.planner == "fgm" else Outcome.REACHED)
    table = tmp_path / "ours.csv"
    assert main(["report", str(made.out), "--csv", str(table)]) == 0
    back = load_campaign(imported(table.read_text(encoding="utf-8"))).results
    assert len(back.trials) == len(made.results.trials)
    for there, here in zip(made.results.trials, back.trials):
        assert (there.world, there.planner, there.outcome) == (
            here.world,
            here.planner,
            here.outcome,
        )
        assert {n: v for n, v in there.metrics.items() if v == v} == {
            n: v for n, v in here.metrics.items() if v == v
        }


def test_line_ends_in_imported_names_become_spaces(imported):
    out = imported(
        'world,planner,outcome,detail\n"a\nb",p\u2028q,reached,"why\nso"\r\nc\x1dd,p,1,\n'
    )
    results = load_campaign(out).results
    assert [world.name for world in results.worlds] == ["a b", "c d"]
    assert results.planners == ("p q", "p")
    assert results.trials[0].detail == "why\nso"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"world,planner,outcome\n{'w' * 256},p,1\n", "csv:2: world has 256 characters"),
        ("", r"theirs\.csv: is empty"),
        ("world,planner,outcome\n", r"theirs\.csv: contains no trial"),
        ("world,planer,outcome\n", "unknown column 'planner'; did you mean 'planer'"),
        ("world,planner,outcome\nw,p,crash\n", r"csv:2: outcome is 'crash', .* --outcome-word"),
        ("world,planner,outcome\nw,p\n", r"csv:2: has 2 cells, not 3"),
        ("world,planner,outcome\n\n,p,1\n", r"csv:3: world is empty"),
        ("world,world,outcome\n", "column 'world' appears twice"),
        ("world,planner,outcome,repetition\nw,p,1,x\n", r"csv:2: repetition is 'x'"),
        (
            "world,planner,outcome,repetition\nw,p,1,0\nw,p,1,0\n",
            r"csv:3: world w, planner p, repetition 0 appears twice",
        ),
        ("world,planner,outcome,time_s\nw,p,1,fast\n", r"csv:2: time_s is 'fast'"),
        ('world,planner,outcome\n"w,p,1\n', r"csv:\d: "),
    ],
)
def test_error_for_a_damaged_table_contains_the_line(imported, tmp_path, capsys, text, problem):
    assert imported(text) == 2
    printed = capsys.readouterr().err
    assert re.search(problem, printed)
    assert printed.count("\n") == 1
    assert not (tmp_path / "theirs").exists()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--outcome-word", "crash"), "NAME=OUTCOME"),
        (("--outcome-column", "ok=won"), "unknown outcome 'won'"),
        (("--metric", "a=time s"), "is not a valid name"),
        (("--metric", "outcome=x:more"), "'more' is invalid; use lower"),
        (("--world-files", "/nowhere"), r"/nowhere/w\.world: cannot be read"),
    ],
)
def test_error_for_a_wrong_import_option_contains_the_option(imported, capsys, options, problem):
    assert imported("world,planner,outcome\nw,p,1\n", *options) == 2
    assert re.search(problem, capsys.readouterr().err)


def test_import_rejects_a_directory_with_results(imported, capsys):
    out = imported("world,planner,outcome\nw,p,1\n")
    before = (out / "results.sqlite").read_bytes()
    assert imported("world,planner,outcome\nw,p,0\n") == 2
    assert "is not empty" in capsys.readouterr().err
    assert (out / "results.sqlite").read_bytes() == before


def test_an_imported_trial_cannot_be_replayed(imported, capsys, tmp_path):
    out = imported("world,planner,outcome\nw,p,1\n")
    assert main(["replay", str(out), "w", "p"]) == 2
    assert "results were imported" in capsys.readouterr().err


def test_comparison_of_two_equal_campaigns_compares_each_planner_with_itself(run, tmp_path, capsys):
    monday = run(out=tmp_path / "monday")
    tuesday = run(
        lambda t: Outcome.COLLIDED if t.planner == "fgm" else Outcome.REACHED,
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


def test_compare_pairs_worlds_by_hash_and_lists_unpaired_worlds(imported, tmp_path, capsys):
    files = {"first": ("a", "b"), "second": ("x", "y")}
    for folder, names in files.items():
        (tmp_path / folder).mkdir()
        for name, content in zip(names, ("same", f"only in {folder}")):
            (tmp_path / folder / f"{name}.world").write_text(content)
    one = imported(
        "world,planner,outcome\na,p,1\nb,p,1\n",
        "--world-files",
        str(tmp_path / "first"),
        name="one",
    )
    other = imported(
        "world,planner,outcome\nx,q,0\ny,q,1\n",
        "--world-files",
        str(tmp_path / "second"),
        name="other",
    )
    assert main(["compare", str(one), str(other)]) == 0
    text = unwrapped(capsys.readouterr().out)
    assert "Only in one, not compared: 1 world b" in text
    assert "Only in other, not compared: 1 world y" in text
    assert "p and q 1 world with both" in text
    assert " was +100.0 percentage points" in text


def test_error_for_campaigns_without_common_worlds_has_remedies(imported, run, tmp_path, capsys):
    one = run(out=tmp_path / "one")
    other = imported("world,planner,outcome\nworld_0000,fgm,1\n")
    assert main(["compare", str(one.out), str(other)]) == 2
    printed = capsys.readouterr().err
    assert "have no world in common" in printed
    assert "import those trials again with --world-files" in printed


def test_error_without_common_worlds_states_a_different_start_as_the_cause(imported, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.world").write_text("the same")
    options = ("--world-files", str(tmp_path / "files"))
    one, other = (
        load_campaign(imported("world,planner,outcome\na,p,1\n", *options, name=name))
        for name in ("one", "other")
    )
    places = {"worlds.files[0].name": '"a"', "worlds.files[0].start.x_m": "1.0"}
    content = {**other.manifest.content, "inputs": {**other.manifest.inputs, **places}}
    moved = replace(other, manifest=Manifest(content))
    with pytest.raises(ResultsError, match="the same hash have another start or goal"):
        pair_campaigns([one, moved])


def test_error_without_common_worlds_states_different_world_names_as_the_cause(imported):
    one = load_campaign(imported("world,planner,outcome\na,p,1\n", name="one"))
    other = load_campaign(imported("world,planner,outcome\nb,p,1\n", name="other"))
    with pytest.raises(ResultsError, match=r"one, other: .* no two worlds have the same name"):
        pair_campaigns([one, other])


@pytest.mark.parametrize("damage", ["empty", "no store", "other version", "cut short"])
def test_error_for_a_directory_without_results_contains_its_path(
    imported, tmp_path, capsys, damage
):
    good = imported(trials_csv(REACHED_OF_TEN[:2]), name="good")
    bad = imported(trials_csv(REACHED_OF_TEN[:2]), name="bad")
    capsys.readouterr()
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
