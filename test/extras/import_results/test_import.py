"""The verb import: results of other software, which report and compare read."""

import json
import re

import pytest
from published_trials import REACHED_OF_TEN, trials_csv

from gz_testauto.cli.main import main
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
    assert "Gaffke, p" in text
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


def test_options_state_the_outcome_of_trials_with_no_flag_or_several(imported):
    text = "world,planner,ok,hit\na,p,1,1\nb,p,0,0\nc,p,1,0\n"
    flags = ("--outcome-column", "ok=reached", "--outcome-column", "hit=collided")
    out = imported(text, *flags, "--otherwise", "timed_out", "--precedence", "hit, ok")
    assert [trial.outcome for trial in load_campaign(out).results.trials] == [
        Outcome.COLLIDED,
        Outcome.TIMED_OUT,
        Outcome.REACHED,
    ]


def test_imported_metric_has_the_specified_direction(imported):
    text = "world,planner,outcome,energy\nw,p,reached,3\n"
    out = imported(text, "--metric", "energy=energy_j:lower")
    (metric,) = (m for m in load_campaign(out).results.metrics if m.name == "energy_j")
    assert metric.better == "lower"


@pytest.mark.parametrize("name", ["wall_s", "campaign", "world_length"])
def test_metric_with_the_name_of_a_column_is_rejected(imported, capsys, name):
    text = "mission,result,wall_s\neast,1,58.6\n"
    columns = ("--world", "mission", "--outcome", "result", "--planner-name", "nav2")
    assert imported(text, *columns, "--metric", f"wall_s={name}:lower") == 2
    message = unwrapped(capsys.readouterr().err)
    assert f"{name!r} is the name of a column" in message and f"wall_s=own_{name}" in message


def test_imported_metric_of_a_reserved_column_survives_export_and_import(imported, tmp_path):
    text = "mission,result,wall_s\neast,1,58.6\nhome,0,23.8\n"
    columns = ("--world", "mission", "--outcome", "result", "--planner-name", "nav2")
    out = imported(text, *columns, "--metric", "wall_s=own_wall_s:lower")
    table = tmp_path / "exported.csv"
    assert main(["report", str(out), "--csv", str(table)]) == 0
    header = table.read_text(encoding="utf-8").splitlines()[0].split(",")
    assert len(header) == len(set(header))
    exported = table.read_text(encoding="utf-8")
    again = imported(exported, "--metric", "own_wall_s:lower", name="again")
    trials = load_campaign(again).results.trials
    assert [trial.metrics["own_wall_s"] for trial in trials] == [58.6, 23.8]


@pytest.mark.parametrize("options", [("--outcome", "ok"), ("--outcome-column", "ok=reached")])
def test_flags_that_pandas_writes_as_numbers_are_read(imported, options):
    """A column of flags with a missing value is a column of floating-point numbers in pandas."""
    text = "world,planner,ok,hit\na,p,1.0,0.0\nb,p,0.0,1.0\n"
    more = ("--outcome-column", "hit=collided") if "ok=reached" in options else ()
    trials = load_campaign(imported(text, *options, *more)).results.trials
    failed = Outcome.COLLIDED if more else Outcome.FAILED
    assert [trial.outcome for trial in trials] == [Outcome.REACHED, failed]


def test_an_invalid_imported_trial_is_listed_and_not_counted(imported, capsys):
    out = imported("world,planner,outcome,detail\nw,p,1,\nv,p,invalid,gzserver died\n")
    assert main(["report", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "1/1" in printed
    assert "1 × gzserver died" in printed


def test_csv_export_of_a_report_can_be_imported_without_loss(imported, run, tmp_path):
    made = run(lambda trial: Outcome.COLLIDED if trial.planner.name == "fgm" else Outcome.REACHED)
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


def test_line_breaks_in_imported_names_are_replaced_by_spaces(imported):
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
        (("--otherwise", "failed"), "add --outcome-column"),
        (("--outcome-column", "a=reached", "--otherwise", "won"), "--otherwise: unknown outcome"),
        (("--outcome-column", "a=reached", "--precedence", "b"), "unknown outcome column 'b'"),
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


def test_a_custom_outcome_can_be_imported(declare_outcome, imported):
    declare_outcome(crash=True, rare=True)
    out = imported("world,planner,outcome\nw,fgm,drowned\n")
    assert [one.outcome.value for one in load_campaign(out).results.trials] == ["drowned"]
