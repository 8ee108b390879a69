"""The verb prints and stores an explanation, which the report then contains."""

import json
import math
import shutil

import numpy as np
import pytest
from explain_data import store
from page_results import make_page

from gz_testauto.cli.main import main
from gz_testauto.extras.explain import explain_cli
from gz_testauto.report.sections import SECTIONS


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    random = np.random.default_rng(1)
    paths_m = list(random.uniform(10.0, 20.0, 80).round(2))
    failed = [random.random() < (0.1 if one < 15.0 else 0.7) for one in paths_m]
    out = store(tmp_path_factory.mktemp("explained") / "out", [*paths_m, None], [*failed, True])
    assert main(["explain", str(out)]) == 0
    return out


def test_terminal_has_80_columns_and_all_numbers(explained, capsys):
    assert main(["explain", str(explained), "fgm", "--features", "shortest_path_m"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if line.startswith("shortest path (m)"))
    assert row.rstrip().endswith("larger")
    assert any("1 trial without a finite value of shortest_path_m" in line for line in lines)


def test_json_and_csv_contain_the_stored_effects(explained, capsys):
    assert main(["explain", str(explained), "--json"]) == 0
    printed = capsys.readouterr().out
    assert printed == (explained / "explain.json").read_text()
    effect = json.loads(printed)["effects"][0]
    assert main(["explain", str(explained), "--csv", "-"]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert dict(zip(heading.split(","), row.split(",")))["odds_ratio"] == str(effect["odds_ratio"])


def test_page_and_report_contain_the_section(explained, capsys):
    html = make_page(explained).html
    assert '<section id="section-what-makes-it-fail">' in html
    assert "shortest path (m)" in html
    assert main(["report", str(explained)]) == 0
    assert "What makes it fail" in capsys.readouterr().out
    assert (explained / "report.html").read_text() == html


def test_changed_results_and_damaged_files_are_reported(explained, tmp_path, capsys):
    other = store(tmp_path / "other", [10.0, 11.0], [True, False])
    content = (explained / "explain.json").read_text()
    (other / "explain.json").write_text(content)
    assert main(["report", str(other)]) == 0
    assert "The results have changed" in " ".join(capsys.readouterr().out.split())
    (other / "explain.json").write_text(content.replace('"trials": 80', '"trials": "x"'))
    assert main(["report", str(other)]) == 0
    assert "explain.json: the file is damaged: trials" in capsys.readouterr().err
    assert any("explain.json" in problem for problem in make_page(other).problems)


def test_command_killed_before_the_page_continues(explained, tmp_path, monkeypatch):
    out = tmp_path / "out"
    shutil.copytree(explained, out)
    complete = {name: (out / name).read_bytes() for name in ("explain.json", "report.html")}
    for name in complete:
        (out / name).unlink()

    def killed(directory):
        raise KeyboardInterrupt

    with monkeypatch.context() as changed:
        changed.setattr(explain_cli, "write_final_page", killed)
        assert main(["explain", str(out)]) == 130
    assert main(["explain", str(out)]) == 0
    assert (out / "explain.json").read_bytes() == complete["explain.json"]
    page = (out / "report.html").read_text()
    assert page.replace(str(out), str(explained)).encode() == complete["report.html"]


def test_unlimited_odds_ratio_is_stored_as_null(tmp_path, capsys):
    paths_m = [10.0 + 0.1 * at for at in range(40)]
    out = store(tmp_path / "out", paths_m, [at >= 20 for at in range(40)])
    assert main(["explain", str(out)]) == 0
    assert "∞]" in capsys.readouterr().out
    effect = json.loads((out / "explain.json").read_text())["effects"][0]
    assert effect["high"] is None
    assert math.isfinite(effect["odds_ratio"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["dwa"], "unknown planner 'dwa'"),
        (["--features", "shortest_path"], "did you mean 'shortest_path_m'"),
        (["--features", "density"], "unknown feature 'density'"),
    ],
)
def test_unknown_names_are_rejected(explained, options, words, capsys):
    assert main(["explain", str(explained), *options]) == 2
    assert words in capsys.readouterr().err


def test_worlds_without_figures_and_selected_failures_are_rejected(tmp_path, capsys):
    out = store(tmp_path / "none", [None] * 30, [at % 2 for at in range(30)])
    assert main(["explain", str(out)]) == 2
    assert "no figures of difficulty" in capsys.readouterr().err
    selection = "trials that failed in monday (--failed-of)"
    out = store(tmp_path / "selected", [1.0, 2.0], [1, 1], selection=selection)
    assert main(["explain", str(out)]) == 2
    assert "failures cannot be compared with successes" in capsys.readouterr().err


def test_section_is_registered():
    assert "explain" in SECTIONS.names()


def test_unreadable_list_of_worlds_is_reported(explained, tmp_path, capsys):
    out = tmp_path / "out"
    shutil.copytree(explained, out)
    (out / "worlds").mkdir()
    (out / "worlds" / "worlds.json").write_text("{")
    assert main(["explain", str(out), "--features", "shortest_path_m"]) == 0
    assert "worlds.json" in capsys.readouterr().err
