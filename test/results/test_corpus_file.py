"""The results of a regression corpus in a results directory."""

import json

import pytest

from gz_testauto.base.errors import ResultsError
from gz_testauto.results.judged_corpus import (
    JUDGED_CORPUS,
    CorpusTrial,
    JudgedCorpusFile,
    read_judged_corpus,
)

WORLD = {"world": "door", "planner": "fgm", "verdict": "failed", "outcome": "stuck", "detail": "d"}


def test_results_of_a_corpus_are_read_in_their_order(tmp_path):
    assert read_judged_corpus(tmp_path) is None
    worlds = [{**WORLD, "time_s": 4.5}, {**WORLD, "world": "corner", "verdict": "passed"}]
    content = {"directory": "failures", "worlds": worlds}
    (tmp_path / JUDGED_CORPUS).write_text(json.dumps(content))
    expected = (
        CorpusTrial("door", "fgm", "failed", "stuck", "d", 4.5),
        CorpusTrial("corner", "fgm", "passed", "stuck", "d"),
    )
    assert read_judged_corpus(tmp_path) == JudgedCorpusFile("failures", expected)


@pytest.mark.parametrize("change", [{"verdict": "maybe"}, {"time_s": "late"}, {"planner": None}])
def test_damaged_results_of_a_corpus_are_rejected(tmp_path, change):
    content = {"directory": "failures", "worlds": [{**WORLD, **change}]}
    (tmp_path / JUDGED_CORPUS).write_text(json.dumps(content))
    with pytest.raises(ResultsError, match=rf"corpus\.json: .*worlds.*{next(iter(change))}"):
        read_judged_corpus(tmp_path)
