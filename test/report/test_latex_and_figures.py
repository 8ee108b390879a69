import dataclasses
import re
import warnings

import pytest
from lxml import etree
from page_results import HOSTILE, results
from test_report import campaign

from gz_testauto.analysis.overview import analyze
from gz_testauto.cli.main import main
from gz_testauto.report.figures import write_figures
from gz_testauto.report.latex import latex_text, to_latex
from gz_testauto.report.page.difficulty import success_curves
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import load_campaign


def test_latex_has_the_tables_with_intervals_and_notes():
    text = to_latex(analyze(campaign()))
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 3
    assert r"fgm\_improved & " in text
    assert re.search(r"fgm & 2/10 & 20\.0 & \d+\.\d to \d+\.\d", text)
    assert "Clopper--Pearson" in text and "Gaffke; sign test" in text
    assert r"95 \% interval" in text
    labels = ("success-rates", "means", "differences")
    assert [text.count(rf"\label{{tab:{label}}}") for label in labels] == [1, 1, 1]
    assert text.count(r"\begin{table}[tb]") == 3


def test_every_row_of_a_table_has_its_columns():
    text = to_latex(analyze(campaign(planners=("fgm", "dwa"))))
    for table in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.S):
        rows = [line for line in table[1].splitlines() if line.endswith(r"\\")]
        assert rows and {row.count(" & ") + 1 for row in rows} == {len(table[0])}


def test_names_do_nothing_in_latex():
    assert latex_text(r"a_b\input{x}%$&#^~") == (
        r"a\_b\textbackslash{}input\{x\}\%\$\&\#\textasciicircum{}\textasciitilde{}"
    )
    hostile = campaign(planners=(r"\input{x}", "fgm"))
    assert r"\input" not in to_latex(analyze(hostile))


def of(out):
    return analyze(load_campaign(out).results)


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["pdf", "svg", "png"])
def test_every_chart_is_drawn_and_the_same_each_time(tmp_path, file_format):
    pytest.importorskip("matplotlib")
    out = results(tmp_path / "out", planners=("fgm", f"$p{HOSTILE}"))
    drawn = [
        write_figures(CampaignDirectory(out), of(out), tmp_path / name, file_format)[0]
        for name in ("one", "two")
    ]
    names = [path.name for path in drawn[0]]
    assert names[0] == f"success_rates.{file_format}"
    assert any(re.fullmatch(rf"difference_fgm_minus_p\w+_spl.{file_format}", one) for one in names)
    assert [p.read_bytes() for p in drawn[0]] == [p.read_bytes() for p in drawn[1]]


@pytest.mark.slow
def test_control_characters_in_a_name_are_shown_and_the_figure_is_xml(tmp_path):
    pytest.importorskip("matplotlib")
    out = results(tmp_path / "out", planners=("fgm", "p\x1b[31m\x07"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as of a character that no font has
        paths, _ = write_figures(CampaignDirectory(out), of(out), tmp_path / "figures", "svg")
    for path in paths:
        etree.parse(str(path))
    assert r"p\x1b[31m\x07" in paths[0].read_text()


@pytest.mark.slow
def test_the_command_writes_both(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    out = results(tmp_path / "out")
    figures, latex = tmp_path / "figures", tmp_path / "tables.tex"
    command = ["report", str(out), "--figures", str(figures), "--format", "svg"]
    assert main([*command, "--latex", str(latex)]) == 0
    assert (figures / "success_rates.svg").is_file()
    assert "booktabs" in latex.read_text()
    assert "success_rates.svg" in capsys.readouterr().err


def test_no_curve_of_success_is_fitted_to_selected_trials():
    everything = campaign()
    difficulty = [float(number) for number in range(len(everything.worlds))]
    assert None not in success_curves(everything, difficulty)
    selected = dataclasses.replace(everything, selection="trials that failed in monday")
    assert success_curves(selected, difficulty) == [None] * len(everything.planners)


def test_copies_of_a_world_are_one_point_of_a_curve():
    everything = campaign()
    difficulty = [float(number) for number in range(len(everything.worlds))]
    first, *others = (world.name for world in everything.worlds)
    copied = dataclasses.replace(everything, copies=dict.fromkeys(others, first))
    assert success_curves(copied, difficulty) == [None] * len(everything.planners)
