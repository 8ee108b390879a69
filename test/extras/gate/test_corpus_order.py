"""The order of the worlds of a regression corpus, and the history of their failures."""

import json
import math

import pytest

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.extras.gate import corpus_order
from gz_testauto.extras.gate.corpus_order import (
    HISTORY,
    MOST_FAULTS,
    add_to_history,
    apfd,
    order_by_failures,
    read_history,
)


def test_apfd_known_on_paper():
    assert apfd([1, 3], 5) == pytest.approx(1 - 4 / 10 + 1 / 10)
    assert apfd([6], 5) == pytest.approx(1 - 6 / 5 + 1 / 10)  # a fault that no test detects
    assert math.isnan(apfd([], 5))


def test_next_world_detects_most_of_the_faults_that_no_world_has_detected():
    past = ["cd", "cd", "bd", "bc", "a"]
    # c and d detect three faults each, and c is first. Then d detects only one of the other two.
    assert order_by_failures("abcd", past) == ["c", "a", "b", "d"]


def test_detected_faults_count_again_after_all_are_detected():
    assert order_by_failures("abcd", ["cd", "d", "b"]) == ["d", "b", "c", "a"]


def test_worlds_without_past_faults_keep_their_order():
    assert order_by_failures("dacb", []) == ["d", "a", "c", "b"]
    assert order_by_failures("dacb", ["x", "b"]) == ["b", "d", "a", "c"]


def test_history_contains_each_set_of_failed_worlds_once_the_latest_last(tmp_path):
    assert read_history(tmp_path) == ()
    add_to_history(tmp_path, [["b", "a"], ["c"], []])
    add_to_history(tmp_path, [["a", "b"]])
    assert read_history(tmp_path) == (("c",), ("a", "b"))


def test_history_without_failures_writes_no_file(tmp_path):
    add_to_history(tmp_path, [[], []])
    assert not (tmp_path / HISTORY).exists()


def test_oldest_faults_are_removed_from_the_history(tmp_path):
    add_to_history(tmp_path, [[f"{number:03}"] for number in range(MOST_FAULTS + 2)])
    assert read_history(tmp_path)[0] == ("002",)
    assert len(read_history(tmp_path)) == MOST_FAULTS


def test_unchanged_history_is_not_written_again(tmp_path, monkeypatch):
    add_to_history(tmp_path, [["a"]])

    def refuse(path, content):
        raise ResultsError(f"{path}: cannot be written")

    monkeypatch.setattr(corpus_order, "write_atomically", refuse)
    add_to_history(tmp_path, [["a"]])
    with pytest.raises(ResultsError):
        add_to_history(tmp_path, [["b"]])


def test_damaged_history_is_rejected(tmp_path):
    (tmp_path / HISTORY).write_text(json.dumps({"failed_worlds": [1]}))
    with pytest.raises(SpecError, match=r"history\.json: the file is damaged: failed_worlds\.0"):
        read_history(tmp_path)
