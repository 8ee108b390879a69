"""An outcome that is only declared appears in every output."""

import io
import json
import re
from html import unescape
from pathlib import Path

import pytest
from page_results import make_page, results
from rich.console import Console
from scripted import record, short_recording

import gz_testauto.report.page
from gz_testauto.analysis.overview import analyze
from gz_testauto.campaign.progress import Progress
from gz_testauto.cli.main import main
from gz_testauto.cli.progress import BarListener, LineListener
from gz_testauto.report.latex import to_latex
from gz_testauto.report.table import print_report
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.paper_log import CampaignLog
from gz_testauto.results.store import ResultStore, load_campaign
from gz_testauto.trial.outcome import Color, Outcome


@pytest.fixture
def drowned(declare_outcome):
    return declare_outcome(crash=True, rare=True)


@pytest.fixture
def out(drowned, tmp_path):
    """Return results in which dwa drowned in the third world."""
    out = results(tmp_path / "out", later=("world_0002",))
    ended = record(
        4,
        world="world_0002",
        world_index=2,
        planner="dwa",
        outcome=drowned,
        metrics={"distance_m": 2.0, "spl": 0.0, "clearance_min_m": 0.5},
    )
    with ResultStore.open(CampaignDirectory(out)) as store:
        store.finish(ended, short_recording(False))
    return out


def test_terminal_and_latex_have_a_column_for_a_custom_outcome(out):
    analysis = analyze(load_campaign(out).results)
    stream = io.StringIO()
    print_report(analysis, Console(file=stream, width=80))
    lines = [line.split() for line in stream.getvalue().splitlines()]
    head = next(line for line in lines if line[:1] == ["planner"])
    counts = {line[0]: line[-1] for line in lines if line[-1:] in (["0"], ["1"])}
    assert head[-1] == "drowned"
    assert counts["fgm"] == "0"
    assert counts["dwa"] == "1"
    rows = [line.rstrip("\\ ").split(" & ") for line in to_latex(analysis).splitlines()]
    head = next(row for row in rows if row[0].strip() == "planner")
    dwa = next(row for row in rows if row[0].strip() == "dwa")
    assert dict(zip(head, dwa))["drowned"] == "1"


def test_the_page_counts_and_explains_a_custom_outcome(out):
    text = make_page(out).html
    block = json.loads(re.search(r'id="data">(.*?)</script>', text).group(1))
    kinds = [outcome["kind"] for outcome in block["outcomes"]]
    assert block["worlds"][2]["ended"] == [[1, kinds.index("drowned")]]
    assert [outcome["kind"] for outcome in block["outcomes"] if outcome["crash"]] == [
        "collided",
        "tipped_over",
        "drowned",
    ]
    assert "where a robot collided or tipped over or drowned" in text
    assert f".cell.drowned {{ background: var(--{Color.GREY.value}); }}" in text
    shown = unescape(text)
    assert '<th scope="col">drowned</th>' in shown
    cell = re.search(r'<td class="cell drowned">.*?</td>', shown).group(0)
    assert re.sub("<[^>]*>", "", cell) == "≈ drowned"
    assert '<span class="cell drowned">≈</span> drowned' in shown


def test_csv_and_json_contain_the_name_of_a_custom_outcome(out, capsys):
    assert main(["report", str(out), "--csv", "-"]) == 0
    assert ",drowned," in capsys.readouterr().out
    assert main(["report", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["trials"][-1]["outcome"] == "drowned"
    assert document["planners"][1]["outcomes"] == {"collided": 2, "drowned": 1}


def test_log_and_progress_have_the_name_of_a_custom_outcome(drowned, tmp_path):
    ended, progress = record(outcome=drowned), Progress(1, 1, 0.0, 1)
    log = CampaignLog(tmp_path / "campaign.log", lambda world: ())
    log.rewrite([ended])
    assert "\nRobot drowned! || " in (tmp_path / "campaign.log").read_text()
    for listener in (LineListener, lambda stream: BarListener(Console(file=stream))):
        stream = io.StringIO()
        listener(stream).trial_ended(ended, progress)
        assert "drowned" in stream.getvalue()


def test_every_color_is_defined_for_light_and_dark_pages():
    style = (Path(gz_testauto.report.page.__file__).parent / "page.css").read_text()
    assert all(style.count(f"--{color.value}: #") == 2 for color in Color)


def test_symbols_and_lines_of_the_log_differ():
    declared = [outcome.declaration for outcome in Outcome]
    assert len({one.symbol for one in declared}) == len({one.log for one in declared})
    assert len({one.symbol for one in declared}) == len(declared)
