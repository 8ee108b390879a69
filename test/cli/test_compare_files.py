"""Files of the verb compare: one page, CSV, LaTeX and images of two campaigns."""

import csv
import io
import json

import pytest
from page_results import Parsed
from table_results import store_table

from gz_testauto.analysis.across import pair_campaigns
from gz_testauto.base.errors import SimulatorError
from gz_testauto.cli.main import main
from gz_testauto.results.store import load_campaign
from gz_testauto.trial.outcome import Outcome


@pytest.fixture
def two(run, tmp_path):
    """Two campaigns: ``fgm`` reaches the goal of both worlds only in the second one."""
    for name in ("a", "b"):
        run(
            lambda trial, name=name: (
                Outcome.COLLIDED if (trial.planner.name, name) == ("fgm", "a") else Outcome.REACHED
            ),
            out=tmp_path / name,
        )
    return [str(tmp_path / "a"), str(tmp_path / "b")]


@pytest.mark.slow
def test_page_of_two_campaigns_has_planners_and_worlds_of_both(two, tmp_path):
    page = tmp_path / "both.html"
    assert main(["compare", *two, "--html", str(page)]) == 0
    parsed = Parsed(page.read_text())
    text = " ".join(parsed.text.split())
    assert "a and b: campaign report" in text
    assert "Only fgm (b) (2): world_0000 world_0001" in text
    assert "fgm (a) minus fgm (b)" in text
    assert "planner fgm (a)plugin fgm" in text and "planner fgm (b)plugin fgm" in text
    data = json.loads(parsed.scripts["data"])
    assert data["planners"] == ["straight (a)", "fgm (a)", "straight (b)", "fgm (b)"]
    replay = data["replay"][data["planners"].index("fgm (b)")]
    assert replay == {"start": f"gz_testauto replay {two[1]}", "planner": "fgm", "worlds": {}}
    trials = json.loads(parsed.scripts["d1"])["trials"]
    assert [trial["planner"] for trial in trials] == [0, 1, 2, 3]
    assert all(trial["path"][0] for trial in trials)


@pytest.mark.slow
def test_page_lists_differences_and_unpaired_worlds(run, smoke, tmp_path):
    run(out=tmp_path / "a")
    limits = smoke.limits.model_copy(update={"timeout_s": 7.0})
    run(
        spec=smoke.model_copy(update={"limits": limits}),
        out=tmp_path / "b",
        should_stop=lambda: len(list((tmp_path / "b" / "trajectories").glob("*.npz"))) == 2,
    )
    page, command = tmp_path / "p.html", ["compare", str(tmp_path / "a"), str(tmp_path / "b")]
    assert main([*command, "--html", str(page), "--ignore-differences"]) == 0
    text = " ".join(Parsed(page.read_text()).text.split())
    assert "b: compared although it differs" in text and "limits.timeout_s" in text
    assert "With trials only in a, not compared: 1 world world_0001" in text
    assert "2 of 4" in text


def test_csv_of_two_campaigns_has_a_row_for_each_trial_with_its_campaign(two, capsys):
    assert main(["compare", *two, "--csv", "-"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["campaign"], row["planner"], row["outcome"]) for row in rows[:2]] == [
        ("a", "straight (a)", "reached"),
        ("a", "fgm (a)", "collided"),
    ]
    assert len(rows) == 8 and {row["campaign"] for row in rows} == {"a", "b"}


@pytest.mark.slow
def test_latex_of_two_campaigns_compares_equal_planners(two, tmp_path):
    assert main(["compare", *two, "--latex", str(tmp_path / "t.tex")]) == 0
    assert "fgm (a) $-$ fgm (b) & success (\\%, points)" in (tmp_path / "t.tex").read_text()


@pytest.mark.slow
def test_page_names_a_world_as_its_own_campaign_does_in_replay_commands(run, smoke, tmp_path):
    first = run(out=tmp_path / "a").out
    files = [
        {"file": "world_0001.world", "name": "one"},
        {"file": "world_0000.world", "name": "zero"},
    ]
    spec = smoke.model_validate(
        {
            **smoke.model_dump(exclude={"worlds"}),
            "worlds": {"directory": first / "worlds", "files": files},
        }
    )
    run(spec=spec, out=tmp_path / "b")
    page = tmp_path / "p.html"
    assert main(["compare", str(first), str(tmp_path / "b"), "--html", str(page)]) == 0
    data = json.loads(Parsed(page.read_text()).scripts["data"])
    assert data["replay"][2]["worlds"] == {"world_0000": "zero", "world_0001": "one"}
    assert [world["name"] for world in data["worlds"]] == ["world_0000", "world_0001"]


def test_page_of_imported_results_has_no_replay_commands(tmp_path):
    table = "world,planner,outcome\na,p,reached\nb,p,collided\n"
    paths = [str(store_table(table, tmp_path / name)) for name in ("one", "other")]
    page = tmp_path / "p.html"
    assert main(["compare", *paths, "--html", str(page)]) == 0
    parsed = Parsed(page.read_text())
    assert json.loads(parsed.scripts["data"])["replay"] == [None, None]
    assert "Some results were imported" in parsed.text


def test_no_page_is_written_if_no_campaign_remains_to_compare(run, smoke, tmp_path, capsys):
    run(out=tmp_path / "a")
    run(version="2", out=tmp_path / "b")
    page, command = tmp_path / "p.html", ["compare", str(tmp_path / "a"), str(tmp_path / "b")]
    assert main([*command, "--html", str(page)]) == 1
    assert not page.exists()
    assert "no file was written" in capsys.readouterr().err


def test_invalid_attempts_of_compared_trials_are_kept(run, smoke, tmp_path):
    limits = smoke.limits.model_copy(update={"max_attempts": 1})
    spec = smoke.model_copy(update={"limits": limits})
    run(spec=spec, out=tmp_path / "a")
    run(
        lambda trial: SimulatorError("died") if trial.index == 3 else Outcome.REACHED,
        spec=spec,
        out=tmp_path / "b",
    )
    across = pair_campaigns([load_campaign(tmp_path / name) for name in ("a", "b")])
    [attempt] = across.results.invalid_attempts
    trial = across.results.trials[attempt.trial]
    assert (trial.world, trial.planner, attempt.cause) == ("world_0001", "fgm (b)", "died")


@pytest.mark.slow
def test_images_of_two_campaigns_name_their_planners(two, tmp_path):
    pytest.importorskip("matplotlib")
    figures, plots = tmp_path / "figures", tmp_path / "plots"
    command = ["compare", *two, "--figures", str(figures), "--plots", str(plots)]
    assert main([*command, "--format", "svg"]) == 0
    assert (figures / "difference_fgm_a_minus_fgm_b_spl.svg").is_file()
    assert "fgm (b): reached" in (plots / "world_0001.svg").read_text()
