"""The report shows a judged corpus as a separate section, which changes no number."""

import json

import pytest
from page_results import make_page
from table_results import store_table

from gz_testauto.base.errors import ResultsError
from gz_testauto.cli.main import main
from gz_testauto.results.judged_corpus import JUDGED_CORPUS, read_judged_corpus

TABLE = "world,planner,outcome,time_s\nw0,fgm,reached,20\nw1,fgm,collided,5\n"
WORLD = {"planner": "fgm", "outcome": "reached", "detail": "after 4 s", "time_s": 4.0}
JUDGED = {
    "directory": "failures",
    "worlds": [
        {**WORLD, "world": "door", "verdict": "passed"},
        {**WORLD, "world": "corner", "verdict": "failed", "outcome": "stuck"},
    ],
}


@pytest.fixture
def results(tmp_path):
    return store_table(TABLE, tmp_path / "results")


def written(results, judged):
    (results / JUDGED_CORPUS).write_text(json.dumps(judged))


def test_corpus_is_a_separate_section_and_changes_no_number(results, capsys):
    assert main(["report", str(results)]) == 0
    before = capsys.readouterr().out
    page = make_page(results).html
    assert 'id="corpus"' not in page
    written(results, JUDGED)
    assert main(["report", str(results)]) == 0
    after = capsys.readouterr().out
    assert after.startswith(before)
    section = after[len(before) :]
    assert "failures" in section and "1 of 2 trials passed" in section
    assert "failed: corner fgm: stuck, after 4 s" in section and "door" not in section
    html = make_page(results).html
    section = html.partition('<section id="corpus">')[2].partition("</section>")[0]
    assert section.index("corner") < section.index("door")  # the failed ones first
    rates = [
        text.partition('<section id="rates">')[2].partition("</section>")[0]
        for text in (page, html)
    ]
    assert rates[0] == rates[1] and "1 of 2" in rates[0]


def test_damaged_corpus_is_reported_and_the_page_is_complete(results):
    written(results, {**JUDGED, "worlds": [{"world": "door"}]})
    with pytest.raises(ResultsError, match=r"corpus\.json.*worlds"):
        read_judged_corpus(results)
    page = make_page(results)
    assert any("corpus.json" in problem for problem in page.problems)
    assert 'id="rates"' in page.html
